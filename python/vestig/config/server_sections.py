"""Keys of the servers, `serve` and `mcp`, and of `telemetry`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vestig.config.kinds import Count, CountOrZero, Section, Text, Timeout, VariableName, doc

Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]


class RateLimit(Section, frozen=True, kw_only=True):
    requests: Annotated[
        Count | None,
        doc(
            "Retrievals that one client may ask for in a minute; null: any number from this"
            " machine, 10 from others."
        ),
    ] = None


class ServeSettings(Section, frozen=True, kw_only=True):
    host: Annotated[
        Text,
        doc(
            "Address to listen on. One that other machines reach needs serve.token_env.",
            shown=True,
        ),
    ] = "127.0.0.1"
    port: Annotated[Port, doc("Port to listen on; 0: a free one.", shown=True)] = 8765
    token_env: Annotated[
        VariableName | None,
        doc(
            "Name of the environment variable that holds the token which requests must carry;"
            " null: none is asked for.",
            shown=True,
        ),
    ] = None
    rate_limit: RateLimit = RateLimit()
    debug_endpoint: Annotated[
        bool, doc("Offer the route at which a retrieval is asked for with its trace.")
    ] = False
    audit: Annotated[
        bool, doc("Write each request to the log of requests: route, times, counts, no text.")
    ] = True
    audit_payloads: Annotated[
        bool, doc("Write bodies of requests and answers to that log too: they hold texts.")
    ] = False
    cors_origins: Annotated[
        tuple[Text, ...],
        doc("Origins beside the server's own whose pages may call it from a browser."),
    ] = ()
    allowed_hosts: Annotated[
        tuple[Text, ...],
        doc("Names in a request's Host beside those of this machine's loopback and serve.host."),
    ] = ()
    max_concurrent: Annotated[Count, doc("Requests that run at once.")] = 2
    max_waiting: Annotated[CountOrZero, doc("Requests that may wait for one of those to end.")] = 64
    max_wait_ms: Annotated[CountOrZero, doc("Milliseconds that a request waits at most.")] = 2_000
    request_timeout_s: Annotated[
        Timeout,
        doc(
            "Seconds after which a request is answered as not done in time, and in which its body"
            " has to come, beside the time for its size."
        ),
    ] = 30.0


ToolName = Literal[
    "remember", "recall", "search", "retrieve", "show", "supersede", "forget", "fetch", "stats"
]
_ALL_TOOLS: Final[tuple[ToolName, ...]] = (
    "remember",
    "recall",
    "search",
    "retrieve",
    "show",
    "supersede",
    "forget",
    "fetch",
    "stats",
)


class McpSettings(Section, frozen=True, kw_only=True):
    tools: Annotated[
        tuple[ToolName, ...],
        msgspec.Meta(min_length=1),
        doc("Tools that agents are offered; without forget, say, none can erase."),
    ] = _ALL_TOOLS
    result_tokens: Annotated[
        int,
        msgspec.Meta(ge=200, le=1_000_000),
        doc("Most tokens of a result of recall and of retrieve, without explain."),
    ] = 700


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
