"""`mcp`: the server for agents, until its client goes."""

from __future__ import annotations

from typing import Any, Final

from vestig.calls.argument import Choice, Integer, Label, Text
from vestig.surfaces.operation import Call, Operation


def _prepare(call: Call) -> None:
    from vestig.surfaces.mcp.run import prepare

    prepare(call)


def _run(call: Call) -> Any:
    from vestig.surfaces.mcp.run import run

    run(call)


_MCP: Final = Operation(
    name="mcp",
    options=(
        Choice(
            "Standard streams, or streamable HTTP at /mcp.",
            "--transport",
            name="transport",
            default_text="stdio",
            words=("stdio", "http"),
        ),
        Text(
            "Address on which it listens over HTTP.",
            "--host",
            name="host",
            default_text="127.0.0.1",
        ),
        Integer(
            "Port on which it listens over HTTP; 0: any that is free.",
            "--port",
            name="port",
            default_text="8766",
        ),
        Label(
            "Scope of what is remembered; reads see it and what has none. auto: the project of the"
            " folder.",
            "--scope",
            name="scope",
        ),
    ),
    run=_run,
    alone=_prepare,
    document="served",
    text=lambda _, __: "",
    without_store="make",
    writes=True,
    works_queue=True,
)

OPERATIONS: Final = (_MCP,)
