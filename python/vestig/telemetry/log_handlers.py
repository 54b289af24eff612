"""Where log records go in a command: a stream, as text or as JSON."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import IO, Any, Final

import msgspec

from vestig.times import format_us, to_us

_encode: Final = msgspec.json.Encoder().encode


def handler_for(stream: IO[str], format: str) -> logging.Handler:
    """Writes records to a stream; `format`: text or json."""
    handler = _Handler(stream)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    return handler


class _Handler(logging.StreamHandler[IO[str]]):
    """A record that cannot be written fails no call."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Drops the record."""


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "vestig", {})


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `at`, `level`, `event` and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        at = format_us(to_us(datetime.fromtimestamp(record.created, UTC)))
        line = {"at": at, "level": record.levelname, "event": record.getMessage()}
        return _encode(line | _fields(record)).decode()


class TextFormatter(logging.Formatter):
    """`LEVEL vestig: event name=value …`; stages as `name=milliseconds`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        words = [f"{record.levelname} {record.name}: {record.getMessage()}"]
        for name, value in _fields(record).items():
            if name == "spans":
                words += [f"{one['name']}={one['duration_ms']:.3f}" for one in value]
            else:
                words.append(f"{name}={value}")
        return " ".join(words)
