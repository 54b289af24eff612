"""Keys of `telemetry`: logs of a command, and the file of traces."""

from __future__ import annotations

from typing import Annotated, Literal

from vestig.config.kinds import Count, Section, Text, doc

__all__ = ["TelemetrySettings"]


class TelemetrySettings(Section, frozen=True, kw_only=True):
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        doc("Least level of the log records that a command or server writes.", shown=True),
    ] = "WARNING"
    log_format: Annotated[
        Literal["text", "json"], doc("How a command or server writes log records.")
    ] = "text"
    trace_file: Annotated[
        Text | None,
        doc("File that gets one line of JSON for each operation; null: none.", shown=True),
    ] = None
    trace_max_bytes: Annotated[
        Count, doc("A line that would make the file of traces larger begins a new one.")
    ] = 10_485_760
    trace_keep: Annotated[Count, doc("Earlier files of traces that are kept.")] = 5
