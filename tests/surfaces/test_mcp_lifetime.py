"""How `vestig mcp` starts, which versions of the protocol it speaks, and when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import vestig
from installed_extra import line_for
from mcp_process import MAIN, MODERN, START_S, VERSIONS, McpProcess, text_of, written_config
from vestig.surfaces.cli import run
from vestig.testing import HashingEmbedder

FACT = "The spare key of the office lies under the blue pot."
# of which the last is slept through by the call of `slow`
END_S = 2.0
# an embedder that takes its time, as an installed entry point would
SLOW = """
import time
from vestig.testing import HashingEmbedder
class Slow(HashingEmbedder):
    def embed(self, texts):
        print("noise on standard output", flush=True)
        time.sleep(30 if any("slow" in text for text in texts) else 0)
        return super().embed(texts)
import vestig.registry
make = vestig.registry.make_embedder
vestig.registry.make_embedder = lambda *a, **k: Slow(64)
"""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


def slow_server(folder: Path) -> McpProcess:
    """A server whose embedder sleeps over texts with the word slow."""
    return McpProcess(written_config(folder), code=SLOW + MAIN)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_with_a_handshake_is_spoken(tmp_path: Path, version: str) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        greeting = server.initialize(version)
        assert greeting["protocolVersion"] == version
        assert greeting["serverInfo"]["name"] == "vestig"
        assert "recall" in greeting["instructions"]
        assert {"tools", "resources", "prompts"} <= set(greeting["capabilities"])
        names = {tool["name"] for tool in server.request("tools/list")["result"]["tools"]}
        assert {"remember", "recall"} <= names
        assert server.call("remember", text=FACT)["isError"] is False
        assert "blue pot" in text_of(server.call("recall", query="where is the spare key?"))


@pytest.mark.slow
def test_the_version_without_a_handshake_is_spoken(tmp_path: Path) -> None:
    def params(**more: Any) -> dict[str, Any]:
        return {"_meta": ENVELOPE, **more}

    with McpProcess(written_config(tmp_path)) as server:
        found = server.request("server/discover", params())["result"]
        assert MODERN in found["supportedVersions"]
        assert "recall" in found["instructions"]
        call = {"name": "remember", "arguments": {"text": FACT}}
        assert server.request("tools/call", params(**call))["result"]["isError"] is False
        call = {"name": "recall", "arguments": {"query": "where is the spare key?"}}
        assert "blue pot" in text_of(server.request("tools/call", params(**call))["result"])


@pytest.mark.slow
def test_a_version_that_nobody_knows_is_answered_with_one_that_is_spoken(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        assert server.initialize("1999-01-01")["protocolVersion"] in VERSIONS


def test_the_end_of_the_input_ends_it_when_all_is_answered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        ids = [server.send("tools/call", {"name": "stats"}) for _ in range(5)]
        server.process.stdin.close()
        assert sorted(server.read()["id"] for _ in ids) == ids
        code, seconds = server.ends()
        assert (code, server.errors()) == (0, "")
        assert seconds < END_S


@pytest.mark.slow
def test_input_that_ends_at_once_is_answered_first(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    lines = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n{"jsonrpc": "2.0", "id": 2, "me'
    ended = subprocess.run(
        [sys.executable, "-c", MAIN, "mcp", "--config", str(config)],
        input=lines,
        capture_output=True,
        timeout=START_S,
        check=False,
    )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [answer["id"] for answer in sorted(answers, key=str)] == [1, 2]
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "gone reader"])
def test_it_ends_in_time_during_a_call(tmp_path: Path, how: str) -> None:
    with slow_server(tmp_path) as server:
        server.initialize()
        server.call("remember", text=FACT)
        server.send("tools/call", {"name": "remember", "arguments": {"text": f"{FACT} slow"}})
        assert server.request("ping")["result"] == {}, "other requests are answered meanwhile"
        process = server.process
        if how == "end of input":
            process.stdin.close()
        elif how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
            process.stdout.close()
        code, seconds = server.ends()
        assert code == 0
        assert seconds < END_S
    with vestig.open(config=tmp_path / "mcp.yaml") as store:
        assert [memory.content for memory in store.list()] == [FACT]
        assert store.admin.doctor().exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("during", ["idle", "call"])
def test_sigterm_ends_it_with_exit_0(tmp_path: Path, during: str) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        if during == "call":
            server.send("tools/call", {"name": "stats"})
        server.process.terminate()
        code, seconds = server.ends()
        assert (code, server.errors()) == (0, "")
        assert seconds < END_S


def test_sigterm_before_the_first_request_ends_it_with_exit_0(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.request("ping")
        server.process.terminate()
        assert server.ends()[0] == 0


def test_an_interrupt_ends_it_with_its_own_code(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        server.process.send_signal(signal.SIGINT)
        assert server.ends()[0] == 130


@pytest.mark.slow
def test_it_ends_when_its_parent_has_gone_though_its_input_stays_open(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    source, held_open = os.pipe()
    answers, sink = os.pipe()
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            "child = subprocess.Popen(sys.argv[1:], stdin=0, stdout=1)\n"
            "print(child.pid, file=sys.stderr, flush=True)\n"
            "time.sleep(600)",
            *(sys.executable, "-c", MAIN, "mcp", "--config", str(config)),
        ],
        stdin=source,
        stdout=sink,
        stderr=subprocess.PIPE,
    )
    try:
        os.close(sink)
        assert parent.stderr is not None
        int(parent.stderr.readline())
        os.write(held_open, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        assert b'"id":1' in os.read(answers, 65_536)
        parent.kill()
        parent.wait()
        started = time.monotonic()
        # the server alone still holds the other end of its output
        assert os.read(answers, 65_536) == b""
        assert time.monotonic() - started < END_S
    finally:
        parent.kill()
        parent.wait()
        parent.stderr.close()
        for number in (source, held_open, answers):
            os.close(number)


def test_nothing_but_the_protocol_goes_to_standard_output(tmp_path: Path) -> None:
    with slow_server(tmp_path) as server:
        server.initialize()
        server.call("remember", text=FACT)
        server.call("recall", query="where is the spare key?")
        server.process.stdin.close()
        assert server.ends()[0] == 0
        assert server.lines.get(timeout=START_S) is None
        assert "noise on standard output" in server.errors()


def test_a_server_that_idles_holds_up_no_forget(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with McpProcess(config) as server, vestig.open(config=config) as store:
        server.initialize()
        id = text_of(server.call("remember", text=FACT)).removeprefix("Stored as ")[:8]
        server.call("remember", text="The printer of the office stands in the cellar.")
        assert "blue pot" in text_of(server.call("recall", query="where is the spare key?"))
        store.admin.compact()
        server.call("recall", query="where is the spare key?")
        started = time.monotonic()
        report = store.forget(id)
        assert report.residues == 0
        assert time.monotonic() - started < 4
        assert "blue pot" not in text_of(server.call("recall", query="where is the spare key?"))


def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vestig.surfaces.mcp.run.find_spec", lambda _: None)
    assert run(["mcp", "--config", str(written_config(tmp_path))]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert line_for("mcp") in err
    assert not (tmp_path / "store").exists()


def test_a_wrong_configuration_ends_it_before_it_serves(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = written_config(tmp_path, "mcp: {result_tokens: 5}\n")
    assert run(["mcp", "--config", str(config)]) == 2
    assert "mcp.result_tokens" in capfd.readouterr().err


class Broken(HashingEmbedder):
    """Gives no vectors today."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        raise ConnectionError(f"no vectors of {len(texts)} texts")


@pytest.mark.slow
def test_jobs_that_commits_left_are_done_while_it_serves(tmp_path: Path) -> None:
    config, deferred = written_config(tmp_path), {"embedding.on_failure": "defer"}
    with vestig.open(tmp_path / "store", embedder=Broken(64), config=deferred) as store:
        id = store.commit(FACT).memory_id
        assert store.show(id).memory.processing == "pending"
    with McpProcess(config) as server:
        server.initialize(VERSIONS[0])
        ends = time.monotonic() + START_S
        with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64), read_only=True) as store:
            while store.show(id).memory.processing != "ready":
                assert time.monotonic() < ends
                time.sleep(0.05)
