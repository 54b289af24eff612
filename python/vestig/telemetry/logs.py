"""Structured log records: an event's name, with counts, codes and durations beside it.

The logger is `vestig`, of the standard library. It is silent until a program attaches a handler to
it or to the root; each record has its fields in `record.vestig`, a mapping.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any, Final

import msgspec

from vestig.telemetry.spans import Trace
from vestig.times import format_us, to_us

__all__ = ["JsonFormatter", "TextFormatter", "log_event", "log_operation", "logs_to"]

LOGGER: Final = logging.getLogger("vestig")
# Without a handler of its own, a library's warnings would go to stderr.
LOGGER.addHandler(logging.NullHandler())

_encode: Final = msgspec.json.Encoder().encode


def log_event(level: int, event: str, **fields: str | int | float | bool | None) -> None:
    """A record with these fields: names, codes, counts, durations, never text of a caller.

    Args:
        level: one of the numbers of `logging`.
    """
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={"vestig": fields})


def log_operation(
    operation: str, duration_ms: float, trace: Trace, failure: dict[str, str] | None
) -> None:
    """A finished call: DEBUG with its stages, INFO where it failed.

    Args:
        failure: `code` and `error_type` of its error.
    """
    level = logging.DEBUG if failure is None else logging.INFO
    if not LOGGER.isEnabledFor(level):
        return
    fields: dict[str, Any] = {"operation": operation, "ok": failure is None}
    fields |= (failure or {}) | {"duration_ms": round(duration_ms, 3)}
    fields["spans"] = [one.to_dict() for one in trace.spans]
    LOGGER.log(level, "operation", extra={"vestig": fields})


@contextmanager
def logs_to(stream: IO[str] | None, *, level: str, format: str) -> Iterator[None]:
    """Sends the records from a level on to a stream meanwhile; None: nowhere.

    Args:
        level: DEBUG, INFO, WARNING or ERROR.
        format: text or json.
    """
    if stream is None:
        yield
        return
    handler, before = _Handler(stream), LOGGER.level
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)


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
