"""Calls of one client that come before the answers to the ones before them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest

from vestig.surfaces.mcp.server import Calls, _Handlers
from vestig.surfaces.mcp.tools import Tool


class Session:
    """One client."""


def tool(name: str, run: Callable[[], None], *, reads: bool) -> Tool:
    def answer(_: Any, __: Mapping[str, Any]) -> str:
        run()
        return name

    return Tool(name=name, title=name, help=name, run=answer, reads=reads)


@pytest.mark.parametrize("same", [True, False], ids=["one client", "two clients"])
def test_a_read_waits_for_the_writes_before_it_of_its_client(same: bool) -> None:
    read = threading.Event()
    done: list[str] = []

    def write() -> None:
        # of another client, a read answers while this is at work
        assert same or read.wait(30)
        done.append("write")

    def look() -> None:
        done.append("read")
        read.set()

    handlers: Any = _Handlers(None, (), Calls())  # type: ignore[arg-type]
    handlers._tools = {
        "write": tool("write", write, reads=False),
        "read": tool("read", look, reads=True),
    }
    first, second = Session(), Session()

    async def call(session: Session, name: str) -> None:
        params = types.CallToolRequestParams(name=name)
        result = await handlers.call_tool(SimpleNamespace(session=session), params)
        assert not result.is_error

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call, first, "write")
            group.start_soon(call, first, "write")
            group.start_soon(call, first if same else second, "read")

    anyio.run(both)
    assert done == (["write", "write", "read"] if same else ["read", "write", "write"])
