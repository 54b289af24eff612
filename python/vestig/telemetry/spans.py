"""Stages of an operation with their own durations and counts, gathered while it runs.

A stage that runs inside of another one counts once: the outer one's duration is what is left. So
the durations of all spans of an operation never add up to more than it took. Stages of
background threads belong to no operation and are not gathered.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from vestig.telemetry.error_types import error_type
from vestig.types import _Value

__all__ = ["Counts", "Span", "Trace", "current_trace", "span", "traced"]

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


class _Open:
    """A stage that has begun; `inner_s`: seconds of the stages inside of it."""

    __slots__ = ("inner_s", "started")

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.inner_s = 0.0


class Trace:
    """The spans of one operation, in the order in which they ended."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: list[_Open] = []

    @contextmanager
    def span(self, name: str, counts: Counts) -> Iterator[Counts]:
        """See `span`."""
        stage = _Open()
        self._open.append(stage)
        failed: str | None = None
        try:
            yield counts
        except BaseException as error:
            failed = error_type(error)
            raise
        finally:
            spent = time.perf_counter() - stage.started
            self._open.pop()
            if self._open:
                self._open[-1].inner_s += spent
            self.spans.append(
                Span(
                    name=name,
                    duration_ms=max(0.0, spent - stage.inner_s) * 1e3,
                    ok=failed is None,
                    error_type=failed,
                    counts=counts,
                )
            )


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """That of the operation that runs; None outside of one."""
    return _trace.get()


@contextmanager
def traced() -> Iterator[Trace]:
    """Gathers the spans of what runs inside."""
    trace = Trace()
    token = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(token)


@contextmanager
def span(name: str, **counts: int) -> Iterator[Counts]:
    """A stage of the operation that runs. What it yields takes further counts.

    Example:
        >>> with traced() as trace, span("embed", texts=2) as counts:
        ...     counts["vectors"] = 2
        >>> trace.spans[0].name, trace.spans[0].counts
        ('embed', {'texts': 2, 'vectors': 2})
    """
    trace = _trace.get()
    if trace is None:
        yield counts
        return
    with trace.span(name, counts):
        yield counts
