"""Counters of an open store, and the end of a call: a log record, a line of the trace file."""

from __future__ import annotations

import itertools
import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec

from vestig.telemetry import (
    INFO,
    WARNING,
    Trace,
    TraceFile,
    error_code,
    error_type,
    log_event,
    log_operation,
)
from vestig.times import format_us, to_us
from vestig.types import Degradation

DURATION_BOUNDS_S: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip

_Labels = tuple[tuple[str, str], ...]
_Key = tuple[str, _Labels]


# names of operations and stages are few
@cache
def _operation_key(operation: str, status: str) -> _Key:
    return "vestig_operations_total", (("operation", operation), ("status", status))


@cache
def _stage_key(operation: str, stage: str) -> _Key:
    return "vestig_operation_duration_seconds", (("operation", operation), ("stage", stage))


class Metrics:
    """Counters and duration histograms of one open store; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[_Key, float] = {}
        self._durations: dict[_Key, list[float]] = {}

    def add(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Adds to a counter."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + amount

    def finished(
        self, operation: str, stages: Iterable[tuple[str, float]], error_type: str | None
    ) -> None:
        """Counts a call and adds the seconds of its stages, `total` among them.

        Args:
            error_type: of what it raised; None = it went well.
        """
        counters = self._counters
        done = _operation_key(operation, "ok" if error_type is None else "error")
        with self._lock:
            counters[done] = counters.get(done, 0) + 1
            for stage, seconds in stages:
                self._add_duration(_stage_key(operation, stage), seconds)
        if error_type is not None:
            self.add("vestig_errors_total", operation=operation, error_type=error_type)

    def latency(self, name: str, seconds: float, /, **labels: str) -> None:
        """Adds one duration: a count per bucket (the last is beyond all bounds) and the sum."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._add_duration(key, seconds)

    def _add_duration(self, key: _Key, seconds: float) -> None:
        """Adds to a histogram; under the lock."""
        buckets = self._durations.get(key)
        if buckets is None:
            buckets = self._durations[key] = [0.0] * (len(DURATION_BOUNDS_S) + 2)
        buckets[bisect_left(DURATION_BOUNDS_S, seconds)] += 1
        buckets[-1] += seconds

    def degraded(self, entries: Iterable[Degradation]) -> None:
        """Adds every degradation of a result to its counter."""
        for entry in entries:
            self.add("vestig_degradations_total", entry.count, code=entry.code)
            log_event(INFO, "degraded", code=entry.code, count=entry.count)

    def snapshot(self) -> dict[str, float]:
        """`name{label="value",…}` → number.

        Example:
            >>> metrics = Metrics()
            >>> metrics.add("vestig_queries_total", source="recall")
            >>> metrics.snapshot()
            {'vestig_queries_total{source="recall"}': 1}
        """
        with self._lock:
            found = {_shown(name, labels): n for (name, labels), n in self._counters.items()}
            for (base, labels), buckets in self._durations.items():
                below = itertools.accumulate(buckets[:-1])
                for bound, n in zip((*DURATION_BOUNDS_S, "+Inf"), below, strict=True):
                    found[_shown(f"{base}_bucket", (*labels, ("le", str(bound))))] = n
                found[_shown(f"{base}_count", labels)] = sum(buckets[:-1])
                found[_shown(f"{base}_sum", labels)] = buckets[-1]
        return dict(sorted(found.items()))


def _shown(name: str, labels: _Labels) -> str:
    if not labels:
        return name
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in labels) + "}"


TRACE_SCHEMA: Final = "vestig/trace/1"
# The first bytes of every line.
TRACE_BEGINS: Final = f'{{"schema":"{TRACE_SCHEMA}"'.encode()
_encode: Final = msgspec.json.Encoder().encode


class Observer:
    """Of one open store.

    Args:
        metrics: takes counts and durations.
        trace_file: takes a line for each call; None = off.
        wall_clock: when a call ended.
    """

    def __init__(
        self, metrics: Metrics, trace_file: TraceFile | None, wall_clock: Callable[[], datetime]
    ) -> None:
        self._metrics = metrics
        self._trace_file = trace_file
        self._wall_clock = wall_clock
        self._unwritten = False

    def finished(
        self, operation: str, seconds: float, trace: Trace | None, error: BaseException | None
    ) -> None:
        """A call has ended.

        Args:
            trace: its stages; None for a call inside of another one, which has them.
            error: what it raised.
        """
        failure = None
        if error is not None:
            failure = {"code": error_code(error), "error_type": error_type(error)}
        error_name = None if failure is None else failure["error_type"]
        stages = [] if trace is None else trace.seconds()
        stages.append(("total", seconds))
        self._metrics.finished(operation, stages, error_name)
        if trace is None:
            return
        log_operation(operation, seconds * 1e3, trace, failure)
        if self._trace_file is not None:
            self._write(self._trace_file, operation, seconds, trace, failure)

    def _write(
        self,
        file: TraceFile,
        operation: str,
        seconds: float,
        trace: Trace,
        failure: dict[str, str] | None,
    ) -> None:
        """A line that cannot be written fails no call; it is counted, and said once."""
        line: dict[str, Any] = {
            "schema": TRACE_SCHEMA,
            "at": format_us(to_us(self._wall_clock())),
            "process": os.getpid(),
            "operation": operation,
            "ok": failure is None,
            "code": None if failure is None else failure["code"],
            "error_type": None if failure is None else failure["error_type"],
            "duration_ms": seconds * 1e3,
            "spans": [one.to_dict() for one in trace.spans],
        }
        try:
            file.write(_encode(line))
            self._unwritten = False
        except OSError as error:
            self._metrics.add("vestig_degradations_total", code="trace_unwritten")
            if not self._unwritten:
                log_event(WARNING, "trace_unwritten", errno=error.errno)
            self._unwritten = True

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._trace_file is not None:
            self._trace_file.close()
