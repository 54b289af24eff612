"""Keys of the server for agents, each with what can be seen of it."""

from __future__ import annotations

import contextlib
from typing import Any, Final

from msgspec.structs import replace
from world import Act, World

from vestig.errors import ConfigError
from vestig.ids import repeatable_ids
from vestig.surfaces.http.access import Access
from vestig.surfaces.http.listener import listen
from vestig.surfaces.mcp.answers import OpenStore
from vestig.surfaces.mcp.run import run
from vestig.surfaces.mcp.server import offered_tools
from vestig.surfaces.mcp.tools import TOOLS
from vestig.surfaces.operation import Call

__all__ = ["MCP"]


def tools_offered(world: World) -> Any:
    """Names of the tools in the order of the list."""
    return list(offered_tools(world.config.settings.mcp.tools))


def recalled_length(world: World) -> Any:
    """Characters of a recall result over long texts."""
    store = world.open()
    # the digits of an id are counted too
    with repeatable_ids("mcp"):
        for number in range(5):
            store.commit(f"Plan {number} of the move to Oslo: " + "pack the boxes here. " * 80)
    at = OpenStore(store=store, session=store._session)
    return len(TOOLS["recall"].call(at, {"query": "when do we move to Oslo?"}))


def listened(world: World) -> Any:
    """What became of listening where the configuration says."""
    settings = world.config.settings
    own = replace(settings.serve, host=settings.mcp.host, port=settings.mcp.port)
    try:
        Access.of(own, "mcp")
        with listen(own.host, own.port, "mcp") as place:
            return place.getsockname()[1] == own.port
    except ConfigError as error:
        return str(error).partition(":")[0]


def spoken(world: World) -> Any:
    """What the command serves over."""
    served: list[str] = []

    async def on_streams(*_: object) -> int:
        served.append("stdio")
        return 0

    class Ended(BaseException):
        pass

    def end(_: int) -> None:
        raise Ended

    world.monkeypatch.setattr("vestig.surfaces.mcp.stdio.serve_stdio", on_streams)
    world.monkeypatch.setattr(
        "vestig.surfaces.mcp.http.serve_http", lambda *_: served.append("http")
    )
    world.monkeypatch.setattr("vestig.surfaces.mcp.run.os._exit", end)
    store = world.open()
    with contextlib.suppress(Ended):
        run(Call(args={}, config=world.config, store=store, session=store._session))
    return served


def free_port() -> int:
    with listen("127.0.0.1", 0) as place:
        return int(place.getsockname()[1])


MCP: Final = {
    "mcp.transport": Act("http", spoken),
    "mcp.host": Act("0.0.0.0", listened, {"mcp.port": 0}),
    "mcp.port": Act(free_port(), listened, {"mcp.port": 0}),
    "mcp.tools": Act(["recall", "show"], tools_offered),
    "mcp.result_tokens": Act(1_000, recalled_length),
}
