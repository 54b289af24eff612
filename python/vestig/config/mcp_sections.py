"""Keys of the server for agents: `mcp`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vestig.config.kinds import Section, Text, doc

__all__ = ["McpSettings"]

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
    transport: Annotated[
        Literal["stdio", "http"],
        doc(
            "stdio: the client starts the server and speaks over its standard streams; http: it"
            " listens, and speaks streamable HTTP at /mcp.",
            shown=True,
        ),
    ] = "stdio"
    host: Annotated[
        Text,
        doc(
            "Address on which it listens; one that other machines reach needs serve.token_env.",
            shown=True,
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        msgspec.Meta(ge=0, le=65_535),
        doc("Port on which it listens; 0: any that is free.", shown=True),
    ] = 8766
    result_tokens: Annotated[
        int,
        msgspec.Meta(ge=200, le=1_000_000),
        doc("Most tokens of a result of recall and of retrieve, without explain."),
    ] = 700
