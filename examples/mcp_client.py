"""A client of the Model Context Protocol: the tools that an agent has. Needs the extra `mcp`."""

import json
import subprocess
import sys
import tempfile
from typing import IO, Any


class Client:
    """Lines of JSON to a server on pipes; an agent's program does this for you."""

    def __init__(self, reads: IO[str], writes: IO[str]) -> None:
        self._reads, self._writes, self._id = reads, writes, 0

    def call(self, method: str, **params: Any) -> Any:
        """One request and its result."""
        self._id += 1
        self.send({"id": self._id, "method": method, "params": params})
        return json.loads(self._reads.readline())["result"]

    def send(self, message: dict[str, Any]) -> None:
        """One line."""
        self._writes.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._writes.flush()

    def tool(self, name: str, **arguments: Any) -> str:
        """The text that a tool answers."""
        result = self.call("tools/call", name=name, arguments=arguments)
        return str(result["content"][0]["text"])


with tempfile.TemporaryDirectory() as home:
    command = [sys.executable, "-m", "vestig", "mcp", "--store", f"{home}/store"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        client = Client(server.stdout, server.stdin)
        who = {"name": "example", "version": "1"}
        client.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        client.send({"method": "notifications/initialized"})
        print("tools:", "recall" in [tool["name"] for tool in client.call("tools/list")["tools"]])
        client.tool("remember", text="Deploys run on Fridays at noon.")
        answer = client.tool("recall", query="when do deploys run?")
        print("recalled:", "Deploys run on Fridays" in answer)
        server.stdin.close()
