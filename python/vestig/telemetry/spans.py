"""Stages of an operation with their own durations and counts, gathered while it runs.

A stage that runs inside of another one counts once: the outer one's duration is what is left. So
the durations of all spans of an operation never add up to more than it took. Stages of
background threads belong to no operation and are not gathered.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from contextvars import ContextVar

from vestig.telemetry.error_types import error_type
from vestig.types import _Value

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
    """The stages of one operation, in the order in which they ended. What they are shown as is made
    when somebody looks at them."""

    __slots__ = ("_ended", "_running")

    def __init__(self) -> None:
        self._ended: list[_Stage] = []
        # the innermost stage that runs
        self._running: _Stage | None = None

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


class Traced:
    """See `traced`."""

    __slots__ = ("_token", "trace")

    def __init__(self) -> None:
        self.trace = Trace()

    def __enter__(self) -> Trace:
        self._token = _trace.set(self.trace)
        return self.trace

    def __exit__(self, *error: object) -> None:
        _trace.reset(self._token)


def traced() -> AbstractContextManager[Trace]:
    """Gathers the spans of what runs inside."""
    return Traced()


def span(name: str, **counts: int) -> AbstractContextManager[Counts]:
    """A stage of the operation that runs. What it yields takes further counts.

    Example:
        >>> with traced() as trace, span("embed", texts=2) as counts:
        ...     counts["vectors"] = 2
        >>> trace.spans[0].name, trace.spans[0].counts
        ('embed', {'texts': 2, 'vectors': 2})
    """
    trace = _trace.get()
    return _Untraced(counts) if trace is None else _Stage(trace, name, counts)
