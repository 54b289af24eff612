"""`vestig mcp` as a client sees it: a process, its lines, and when it ends."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forked import Process

MAIN = "from vestig.surfaces.cli import main; main()"
# Python, libraries and a store on a busy machine
START_S = 60.0
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"


def written_config(folder: Path, more: str = "") -> Path:
    """A configuration whose embedder needs no model."""
    config = folder / "mcp.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\nstore: {path: store}\n" + more,
        encoding="utf-8",
    )
    return config


class McpProcess:
    """One server on pipes. Lines that it writes are kept until they are read."""

    def __init__(
        self,
        config: Path,
        *words: str,
        code: str = MAIN,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.process = Process(
            ["mcp", "--config", str(config), *words],
            code=code,
            cwd=config.parent,
            env={**os.environ, "XDG_CONFIG_HOME": str(config.parent), **(env or {})},
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self._ids = 0
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def __enter__(self) -> McpProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.end()

    def write(self, line: bytes) -> None:
        """One line as it is."""
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self, timeout: float = START_S) -> dict[str, Any]:
        """The next line."""
        line = self.lines.get(timeout=timeout)
        assert line is not None, self.errors()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def errors(self) -> str:
        """What it wrote to standard error, once it has ended."""
        self.process.wait(START_S)
        return self.process.stderr.read().decode()

    def answer(self, line: bytes) -> dict[str, Any]:
        """What it answers to a line."""
        self.write(line)
        return self.read()

    def send(self, method: str, params: Any = None) -> int:
        """A request that is not waited for; its id."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method}
        self.write(
            json.dumps(message if params is None else {**message, "params": params}).encode()
        )
        return self._ids

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """The answer to a request."""
        id = self.send(method, params)
        found = self.read()
        assert found["id"] == id
        return found

    def initialize(self, version: str = VERSIONS[-1]) -> dict[str, Any]:
        """The answer to the handshake."""
        answer = self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        found = answer["result"]
        assert isinstance(found, dict)
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        found = answer["result"]
        assert isinstance(found, dict)
        return found

    def ends(self) -> tuple[int, float]:
        """The exit code, and how many seconds it took from now."""
        started = time.monotonic()
        code = self.process.wait(START_S)
        return code, time.monotonic() - started


def text_of(result: dict[str, Any]) -> str:
    """The text item of a result."""
    (item,) = result["content"]
    assert item["type"] == "text"
    text = item["text"]
    assert isinstance(text, str)
    return text


async def told_and_asked(session: Any, fact: str, query: str) -> str:
    """The text that a client of the SDK gets for a query, once a server has been told a fact."""
    await session.initialize()
    # the client checks structured content against the schema of the tool
    await session.list_tools()
    await session.call_tool("remember", {"text": fact})
    result = await session.call_tool("recall", {"query": query})
    return str(result.content[0].text)
