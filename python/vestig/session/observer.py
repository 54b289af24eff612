"""The end of a call: counters, a log record, a line of the trace file."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from vestig.session.metrics import Metrics
from vestig.telemetry.error_types import error_code, error_type
from vestig.telemetry.logs import WARNING, log_event, log_operation
from vestig.telemetry.spans import Trace
from vestig.telemetry.trace_file import TraceFile
from vestig.times import format_us, to_us

TRACE_SCHEMA: Final = "vestig/trace/1"
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
