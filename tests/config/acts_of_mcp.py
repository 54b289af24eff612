"""Keys of the server for agents, each with what can be seen of it."""

from __future__ import annotations

from typing import Any, Final

from world import Act, World

from vestig.ids import repeatable_ids
from vestig.surfaces.mcp.answers import OpenStore
from vestig.surfaces.mcp.tools import TOOLS

__all__ = ["MCP"]


def tools_offered(world: World) -> Any:
    """Names of the tools in the order of the list."""
    from vestig.surfaces.mcp.server import offered_tools  # slow to load

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


MCP: Final = {
    "mcp.tools": Act(["recall", "show"], tools_offered),
    "mcp.result_tokens": Act(1_000, recalled_length),
}
