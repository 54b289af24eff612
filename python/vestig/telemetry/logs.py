"""Structured log records: an event's name, with counts, codes and durations beside it.

The logger is `vestig`, of the standard library. It is silent until a program attaches a handler to
it or to the root; each record has its fields in `record.vestig`, a mapping.

`logging` itself is imported when a record is wanted: a program that has not imported it has
attached no handler, and a command writes nothing below its level.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from vestig.telemetry.spans import Trace

if TYPE_CHECKING:
    from logging import Handler, Logger

# the numbers of `logging`
DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
_LEVELS: Final = {"DEBUG": DEBUG, "INFO": INFO, "WARNING": WARNING, "ERROR": 40}
_NAME: Final = "vestig"


class _Destination(msgspec.Struct):
    """Where the records of a command go. `handler` None: none was wanted so far."""

    stream: IO[str]
    level: int
    format: str
    level_before: int = 0
    handler: Handler | None = None

    def attach(self, to: Logger) -> None:
        """From here on the logger writes to the stream."""
        from vestig.telemetry.log_handlers import handler_for

        self.level_before, self.handler = to.level, handler_for(self.stream, self.format)
        to.addHandler(self.handler)
        to.setLevel(self.level)

    def detach(self) -> None:
        """The logger is as it was."""
        if self.handler is not None:
            found = logger()
            found.setLevel(self.level_before)
            found.removeHandler(self.handler)


_destinations: Final[list[_Destination]] = []
_attaching: Final = Lock()


def logger(name: str = _NAME) -> Logger:
    """The logger `vestig`, or one below it, with what a command has chosen for it."""
    top = _top()
    for destination in _destinations:
        if destination.handler is None:
            with _attaching:
                if destination.handler is None:
                    destination.attach(top)
    return top if name == _NAME else top.manager.getLogger(name)


@cache
def _top() -> Logger:
    import logging

    found = logging.getLogger(_NAME)
    # without a handler of its own, a library's warnings would go to stderr
    found.addHandler(logging.NullHandler())
    return found


def _wanted(level: int) -> Logger | None:
    """The logger, where somebody wants records of this level."""
    if "logging" not in sys.modules and all(level < one.level for one in _destinations):
        return None
    found = logger()
    return found if found.isEnabledFor(level) else None


def log_event(level: int, event: str, **fields: str | int | float | bool | None) -> None:
    """A record with these fields: names, codes, counts, durations, never text of a caller.

    Args:
        level: one of the numbers of `logging`.
    """
    wanted = _wanted(level)
    if wanted is not None:
        wanted.log(level, event, extra={"vestig": fields})


def log_operation(
    operation: str, duration_ms: float, trace: Trace, failure: dict[str, str] | None
) -> None:
    """A finished call: DEBUG with its stages, INFO where it failed.

    Args:
        failure: `code` and `error_type` of its error.
    """
    level = DEBUG if failure is None else INFO
    wanted = _wanted(level)
    if wanted is None:
        return
    fields: dict[str, Any] = {"operation": operation, "ok": failure is None}
    fields |= (failure or {}) | {"duration_ms": round(duration_ms, 3)}
    fields["spans"] = [one.to_dict() for one in trace.spans]
    wanted.log(level, "operation", extra={"vestig": fields})


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
    destination = _Destination(stream, _LEVELS[level], format)
    _destinations.append(destination)
    if "logging" in sys.modules:
        logger()
    try:
        yield
    finally:
        _destinations.remove(destination)
        destination.detach()
