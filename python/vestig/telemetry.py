"""Records of operations, in names, counts and durations: spans, log records, the trace file.

Nothing in here takes text: no memory, query, name, tag, metadata value or secret can reach it.

A stage that runs inside of another one counts once: the outer one's duration is what is left. So
the durations of all spans of an operation never add up to more than it took. Stages of
background threads belong to no operation and are not gathered.

The logger is `vestig`, of the standard library. It is silent until a program attaches a handler to
it or to the root; each record has its fields in `record.vestig`, a mapping. `logging` itself is
imported when a record is wanted: a program that has not imported it has attached no handler, and a
command writes nothing below its level.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from vestig.errors import (
    ModelBudgetError,
    ModelCallError,
    ProviderTimeoutError,
    SchemaVersionError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    ValidationError,
    VestigError,
)
from vestig.private_folder import make_private_folder
from vestig.times import format_us, to_us
from vestig.types import _Value

if TYPE_CHECKING:
    from logging import Handler, Logger, LogRecord


# What a stage handled: name → number.
Counts = dict[str, int]


class Span(_Value, frozen=True, kw_only=True):
    """One stage: milliseconds without the stages inside of it, and what it handled by name.
    `error_type` is null where it went well."""

    name: str
    duration_ms: float
    ok: bool = True
    error_type: str | None = None
    counts: Counts


class Trace:
    """The stages of one operation, in the order in which they ended: those of what runs inside of
    it. What they are shown as is made when somebody looks at them."""

    __slots__ = ("_before", "_ended", "_running")

    def __init__(self) -> None:
        self._ended: list[_Stage] = []
        # the innermost stage that runs
        self._running: _Stage | None = None

    def __enter__(self) -> Trace:
        self._before = _trace.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _trace.reset(self._before)

    def __len__(self) -> int:
        return len(self._ended)

    @property
    def spans(self) -> list[Span]:
        """Each stage that has ended."""
        return [stage.shown() for stage in self._ended]

    def seconds(self) -> list[tuple[str, float]]:
        """Name and duration of each, without the stages inside of it."""
        return [(stage.name, stage.own_s) for stage in self._ended]


class _Stage:
    """A stage that runs, then one that has ended. A class, because a generator costs five times as
    much, and every recall has ten stages.

    `own_s`: its seconds, less those of the stages inside of it.
    """

    __slots__ = ("_counts", "_outer", "_started", "_trace", "error_type", "name", "own_s")

    def __init__(self, trace: Trace, name: str, counts: Counts) -> None:
        self._trace = trace
        self.name = name
        self._counts = counts
        self.own_s = 0.0
        self.error_type: str | None = None

    def __enter__(self) -> Counts:
        trace = self._trace
        self._outer = trace._running
        trace._running = self
        self._started = time.perf_counter()
        return self._counts

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        spent = time.perf_counter() - self._started
        self.own_s = max(0.0, self.own_s + spent)
        trace, outer = self._trace, self._outer
        trace._running = outer
        if outer is not None:
            # so that the outer one has less by what this one took
            outer.own_s -= spent
        if error is not None:
            self.error_type = error_type(error)
        trace._ended.append(self)

    def shown(self) -> Span:
        """As a value."""
        return Span(
            name=self.name,
            duration_ms=self.own_s * 1e3,
            ok=self.error_type is None,
            error_type=self.error_type,
            counts=self._counts,
        )


class _Untraced:
    """A stage of no operation."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def __enter__(self) -> Counts:
        return self._counts

    def __exit__(self, *error: object) -> None:
        pass


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """That of the operation that runs; None outside of one."""
    return _trace.get()


def span(name: str, **counts: int) -> AbstractContextManager[Counts]:
    """A stage of the operation that runs. What it yields takes further counts.

    Example:
        >>> with Trace() as trace, span("embed", texts=2) as counts:
        ...     counts["vectors"] = 2
        >>> trace.spans[0].name, trace.spans[0].counts
        ('embed', {'texts': 2, 'vectors': 2})
    """
    trace = _trace.get()
    return _Untraced(counts) if trace is None else _Stage(trace, name, counts)


_OF_THE_STORE: Final = (SchemaVersionError, StoreDamagedError, StoreFullError, StoreLockedError)


def error_type(error: BaseException) -> str:
    """network, timeout, llm, database, validation or unknown; wrapped causes are looked through.

    Example:
        >>> error_type(StoreLockedError("busy")), error_type(KeyError("x"))
        ('database', 'unknown')
    """
    for cause in _with_causes(error, implicit=True):
        if isinstance(cause, (ProviderTimeoutError, TimeoutError)):
            return "timeout"
        if isinstance(cause, (ModelCallError, ModelBudgetError)):
            return "llm"
        if isinstance(cause, (ConnectionError,)):
            return "network"
        if isinstance(cause, (ValidationError, TypeError)):
            return "validation"
        if isinstance(cause, _OF_THE_STORE):
            return "database"
    return "unknown"


def caused_by_interrupt(error: BaseException) -> bool:
    """Return whether an error was made of an interrupt: Python makes a RuntimeError of one that
    comes while the body of a class gives names to its members. Whoever takes the errors of other
    code for its faults raises an interrupt again.

    Example:
        >>> error = RuntimeError("while a name was given")
        >>> error.__cause__ = KeyboardInterrupt()
        >>> caused_by_interrupt(error), caused_by_interrupt(ValueError())
        (True, False)
    """
    return any(
        isinstance(cause, KeyboardInterrupt) for cause in _with_causes(error, implicit=False)
    )


def _with_causes(error: BaseException, *, implicit: bool) -> Iterator[BaseException]:
    """The error, what it was raised from, and so on; each once, for they can go in a circle.

    Args:
        implicit: also what was being handled when it was raised, where it was raised from nothing.
    """
    seen = set[int]()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or (cause.__context__ if implicit else None)


def error_code(error: BaseException) -> str:
    """The stable code of an error, or the name of its class; never its message.

    Example:
        >>> error_code(StoreLockedError("busy")), error_code(KeyError("x"))
        ('store-locked', 'KeyError')
    """
    return error.code if isinstance(error, VestigError) else type(error).__name__


# the numbers of `logging`
DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
_LEVELS: Final = {"DEBUG": DEBUG, "INFO": INFO, "WARNING": WARNING, "ERROR": 40}
_NAME: Final = "vestig"
_encode: Final = msgspec.json.Encoder().encode


class _Destination(msgspec.Struct):
    """Where the records of a command go. `handler` None: none was wanted so far."""

    stream: IO[str]
    level: int
    format: str
    level_before: int = 0
    handler: Handler | None = None

    def attach(self, to: Logger) -> None:
        """From here on the logger writes to the stream."""

        self.level_before, self.handler = to.level, _handler_for(self.stream, self.format)
        to.addHandler(self.handler)
        to.setLevel(self.level)

    def detach(self) -> None:
        """The logger is as it was."""
        if self.handler is not None:
            found = logger()
            found.setLevel(self.level_before)
            found.removeHandler(self.handler)


_destinations: Final[list[_Destination]] = []
_attaching: Final = threading.Lock()


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


def _handler_for(stream: IO[str], format: str) -> Handler:
    """Return what writes records to a stream, one a line; `format`: text or json."""
    # imported here, as in `_top`
    import logging

    line_of = _json_line if format == "json" else _text_line

    class Lines(logging.StreamHandler[IO[str]]):
        def format(self, record: LogRecord) -> str:
            return line_of(record)

        def handleError(self, record: LogRecord) -> None:
            """Drops the record: one that cannot be written fails no call."""

    return Lines(stream)


def _json_line(record: LogRecord) -> str:
    """One JSON object: `at`, `level`, `event` and the fields."""
    at = format_us(to_us(datetime.fromtimestamp(record.created, UTC)))
    line = {"at": at, "level": record.levelname, "event": record.getMessage()}
    return _encode(line | _fields(record)).decode()


def _text_line(record: LogRecord) -> str:
    """`LEVEL vestig: event name=value …`; stages as `name=milliseconds`."""
    words = [f"{record.levelname} {record.name}: {record.getMessage()}"]
    for name, value in _fields(record).items():
        if name == "spans":
            words += [f"{one['name']}={one['duration_ms']:.3f}" for one in value]
        else:
            words.append(f"{name}={value}")
    return " ".join(words)


def _fields(record: LogRecord) -> dict[str, Any]:
    return getattr(record, "vestig", {})


# With them, a few days of a busy server lie in 60 MiB.
BYTES_MAX: Final = 10 * 1024 * 1024
KEPT: Final = 5


class TraceFile:
    """Appends lines; the file and its folder are made, for the owner alone.

    Args:
        path: the file; rotated ones lie beside it as `<name>.1` (the newest) to `<name>.<keep>`.
        max_bytes: a line that would make the file larger begins a new one.
        keep: rotated files that are kept beside the current one.
        begins: the first bytes of each of these files. One that begins otherwise is something
            else: it is neither added to nor renamed nor replaced.

    Raises:
        OSError: the file cannot be made, or it is something else.
    """

    def __init__(
        self, path: Path, *, max_bytes: int = BYTES_MAX, keep: int = KEPT, begins: bytes = b""
    ) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._begins = begins
        self._lock = threading.Lock()
        self._closed = False
        make_private_folder(path.parent)
        self._check_rotated()
        self._fd = self._opened()

    def write(self, line: bytes) -> None:
        """One line, without its end. After `close` nothing is written.

        Raises:
            OSError: no room, or the folder is gone.
        """
        with self._lock:
            if self._closed:
                return
            self._make_room(len(line) + 1)
            whole = line + b"\n"
            if os.write(self._fd, whole) < len(whole):
                os.write(self._fd, b"\n")  # the next line begins on one of its own
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._fd)

    def _opened(self) -> int:
        self._check(self.path)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o600)
        found = os.fstat(fd).st_mode
        if stat.S_ISREG(found) and found & 0o600 != 0o600:
            os.fchmod(fd, 0o600)  # the umask took the owner's rights
        return fd

    def _check(self, path: Path) -> None:
        """Refuses a file that is something else; devices and pipes take every line."""
        if not self._begins or not path.is_file():
            return
        with path.open("rb") as file:
            start = file.read(len(self._begins))
        if start not in (b"", self._begins):
            raise FileExistsError(
                errno.EEXIST, f"{path} that holds something else; choose another name"
            )

    def _check_rotated(self) -> None:
        for number in range(1, self._keep + 1):
            self._check(self._numbered(number))

    def _make_room(self, size: int) -> None:
        if not self._is_current():
            self._reopen()
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode) or not self._is_too_large(found.st_size, size):
            return
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            if self._is_current():  # no other process has rotated it meanwhile
                self._rotate()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._reopen()

    def _is_too_large(self, now: int, more: int) -> bool:
        return now > 0 and now + more > self._max_bytes

    def _is_current(self) -> bool:
        """Return whether the open file is the one of this name."""
        mine = os.fstat(self._fd)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)

    def _rotate(self) -> None:
        self._check_rotated()
        for number in range(self._keep - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))
        os.replace(self.path, self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _reopen(self) -> None:
        fresh = self._opened()
        os.close(self._fd)
        self._fd = fresh
