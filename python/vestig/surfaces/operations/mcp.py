"""`mcp`: the server for agents, until its client goes."""

from __future__ import annotations

from typing import Any, Final

from vestig.surfaces.operation import Call, Operation

__all__ = ["MCP"]


def _prepare(_: Call) -> None:
    from vestig.surfaces.mcp.run import prepare

    prepare()


def _run(call: Call) -> Any:
    from vestig.surfaces.mcp.run import run

    run(call)


MCP: Final = Operation(
    name="mcp",
    help="Serve this store to an agent by the Model Context Protocol, on standard input and output,"
    " until the client goes. Clients start it themselves. Needs the extra `mcp`.",
    run=_run,
    alone=_prepare,
    document="served",
    text=lambda _, __: "",
    without_store="make",
    writes=True,
)
