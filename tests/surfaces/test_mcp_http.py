"""`vestig mcp --transport http`: the same answers as on standard streams, to those who may ask."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forked import Process
from mcp_process import MODERN, VERSIONS, told_and_asked, written_config
from tables import each
from vestig.surfaces.cli import run

FACT = "The spare key of the office lies under the blue pot."
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
TOKEN = "token-of-this-test"
END_S = 2.0


class Site:
    """A server that listens on a free port."""

    def __init__(self, process: Process) -> None:
        self.process = process
        line = process.stderr.readline().decode()
        found = re.fullmatch(r"Listening on (http://127\.0\.0\.1:(\d+)/mcp)\n", line)
        assert found is not None, line
        self.url, self.port = found[1], int(found[2])

    def ask(
        self, body: bytes, path: str = "/mcp", method: str = "POST", **headers: str
    ) -> tuple[int, Any]:
        """Status and JSON of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        named = {**ACCEPT, **{name.replace("_", "-"): text for name, text in headers.items()}}
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        status, answer = self.ask(json.dumps(message).encode())
        assert status == 200, answer
        return answer["result"]


@contextmanager
def served(folder: Path, more: str = "", **environ: str) -> Iterator[Site]:
    """A server of a fresh store."""
    config = written_config(folder, more)
    words = ["mcp", "--transport", "http", "--port", "0", "--config", str(config)]
    process = Process(words, env={**os.environ, **environ})
    try:
        yield Site(process)
    finally:
        process.end()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("http")) as found:
        yield found


def test_a_tool_answers_as_on_standard_streams(site: Site) -> None:
    assert site.call("remember", text=FACT)["isError"] is False
    found = site.call("recall", query="where is the spare key?")
    assert FACT in found["content"][0]["text"]
    assert "structuredContent" not in found
    refused = site.call("recall", query="where is the spare key?", where={"tag": "a"})
    assert refused["isError"] is True
    assert "did you mean tags?" in refused["content"][0]["text"]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_with_a_handshake_is_spoken(site: Site, version: str) -> None:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    status, answer = site.ask(json.dumps(message).encode())
    assert (status, answer["result"]["protocolVersion"]) == (200, version)


def test_the_version_without_a_handshake_is_spoken(site: Site) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/list"}
    status, answer = site.ask(json.dumps(message).encode(), **headers)
    assert status == 200, answer
    assert {tool["name"] for tool in answer["result"]["tools"]} >= {"remember", "recall"}


def test_the_client_of_the_sdk_can_use_it(site: Site) -> None:
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def talk() -> str:
        async with (
            streamable_http_client(site.url) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            return await told_and_asked(session, FACT, "where is the key?")

    assert FACT in asyncio.run(talk())


@each(
    ("body", "id", "code"),
    [
        (b"", None, -32700),
        (b"no json", None, -32700),
        (b"[]", None, -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}', 7, -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": "\\ud800"}}', 7, -32700),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, -32600),
        (
            b'{"jsonrpc": "2.0", "id": 7, "params": {"a": "' + b"a" * 5_000_000 + b'"}}',
            7,
            -32600,
        ),
        (b'{"jsonrpc": "2.0", "id": "q", "params": ' + b"[" * 90_000, "q", -32700),
    ],
    ids=["nothing", "words", "a batch", "params", "surrogate", "null as id", "a huge body", "deep"],
)
def test_a_body_that_is_no_message_is_answered_as_a_line_is(
    site: Site, body: bytes, id: Any, code: int
) -> None:
    status, answer = site.ask(body)
    assert (status, answer["id"], answer["error"]["code"]) == (400, id, code)
    assert site.ask(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')[0] == 200


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        (403, {"Host": "example.org"}),
        (403, {"Origin": "https://example.org"}),
        (404, {"path": "/"}),
        (405, {"method": "GET"}),
        (405, {"method": "DELETE"}),
    ],
    ids=["host", "origin", "path", "get", "delete"],
)
def test_who_may_not_ask_is_told_so(site: Site, status: int, asked: dict[str, str]) -> None:
    got, problem = site.ask(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', **asked)
    assert (got, problem["status"]) == (status, status)
    assert problem["type"].startswith("urn:vestig:problem:")


def test_with_a_token_nobody_else_is_answered(tmp_path: Path) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    with served(tmp_path, "serve: {token_env: MCP_TOKEN}\n", MCP_TOKEN=TOKEN) as site:
        assert site.ask(ping)[0] == 401
        assert site.ask(ping, Authorization="Bearer other")[0] == 401
        assert site.ask(ping, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_an_address_that_others_reach_needs_a_token(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = str(written_config(tmp_path))
    words = ["mcp", "--transport", "http", "--host", "0.0.0.0", "--port", "0", "--config", config]
    assert run(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "--host: 0.0.0.0 is reached by other machines" in err


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_that_is_none_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], port: str
) -> None:
    config = str(written_config(tmp_path))
    assert run(["mcp", "--transport", "http", f"--port={port}", "--config", config]) == 2
    assert "an integer from 0 to 65535" in capfd.readouterr().err


def test_a_taken_port_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], site: Site
) -> None:
    config = str(written_config(tmp_path))
    words = ["mcp", "--transport", "http", "--port", str(site.port), "--config", config]
    assert run(words) == 2
    assert "--host, --port: expected an address to listen on" in capfd.readouterr().err


@pytest.mark.slow
def test_sigterm_ends_it_with_exit_0_and_nothing_on_standard_output(tmp_path: Path) -> None:
    with served(tmp_path) as site:
        site.call("stats")
        started = time.monotonic()
        site.process.terminate()
        assert site.process.wait(60) == 0
        assert time.monotonic() - started < END_S
        assert site.process.stdout.read() == b""
