"""Connections: a server stays reachable while others hold theirs open, and reads each request one
way only."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from mcp_process import MAIN, written_config
from served import JSON, Reply, Site, raw, serving, still_open
from tables import each
from vestig.surfaces.http import server
from vestig.surfaces.http.access import Bodies, Refusal
from vestig.surfaces.http.listener import Connections, Limits

HALF_HEAD = b"POST /api/memory/recall HTTP/1.1\r\nHost: local"
HALF_BODY = (
    b"POST /api/memory/recall HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)


@contextmanager
def held(port: int, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """So many connections that have sent something and wait."""
    with ExitStack() as stack:
        links = []
        for _ in range(count):
            link = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            with contextlib.suppress(OSError):
                link.sendall(sent)
            links.append(link)
        yield links


# --- how many ------------------------------------------------------------------------------------


@pytest.mark.slow
@each("sent", [b"", HALF_HEAD, HALF_BODY], ids=["idle", "head", "body"])
@each("key", ["connections_max", "connections_per_client_max"])
def test_those_that_wait_longest_make_room(sent: bytes, key: str) -> None:
    with serving(None, **{key: 6}) as site, held(site.port, 20, sent) as links:
        assert site.post("recall", {"query": "when do deploys run?"}).status == 200
        time.sleep(0.2)
        assert still_open(links[:14]) == 0, "the oldest made room"
        assert 4 <= still_open(links[14:]) <= 6


def test_where_every_connection_is_being_answered_a_new_one_is_told_so() -> None:
    with serving(None, connections_max=2, max_concurrent=4) as site:
        go = threading.Event()
        count = site.store.count
        site.store.count = lambda **_: 0 if go.wait(10) else 1  # type: ignore[method-assign,assignment]
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(site.get("count").status))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        while site.service.running < 2:
            time.sleep(0.01)
        refused = raw(site.port, b"")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in refused
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["type"].endswith(":not-ready")
        go.set()
        for thread in threads:
            thread.join(timeout=20)
        assert found == [200, 200]
        site.store.count = count  # type: ignore[method-assign]
        assert site.get("count").status == 200, "every connection was counted out"


def test_connections_leave_room_for_the_descriptors_of_a_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vestig.config.service_sections import ServeSettings

    for descriptors, expected in ((1_048_576, 512), (300, 204), (64, 8)):
        pair = (descriptors, descriptors)
        monkeypatch.setattr(resource, "getrlimit", lambda _, pair=pair: pair)
        limits = Limits.of(ServeSettings())
        assert (limits.connections, limits.per_client) == (expected, min(expected, 128))


def test_a_client_makes_room_among_its_own_connections() -> None:
    class Link:
        def __init__(self, address: str) -> None:
            self.address = address
            self.dropped = False

        def drop(self) -> None:
            self.dropped = True
            connections.leave(self)

    limits = Limits(connections=3, per_client=2, head_s=1, body_s=1)
    connections = Connections(limits)
    other, first, second, third = Link("b"), Link("a"), Link("a"), Link("a")
    for link in (other, first, second, third):
        assert connections.enter(link)
    assert [link.dropped for link in (other, first, second, third)] == [False, True, False, False]
    connections.works(second)
    connections.works(third)
    assert not connections.enter(Link("a")), "neither of its own waits"
    assert connections.enter(Link("c"))
    assert other.dropped


# --- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "told"),
    [(b"", b""), (HALF_HEAD, b"HTTP/1.1 408 "), (HALF_BODY, b"HTTP/1.1 408 ")],
    ids=["idle", "head", "body"],
)
def test_a_client_has_to_ask_in_time(sent: bytes, told: bytes) -> None:
    with serving(None, request_timeout_s=0.5) as site:
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", site.port), timeout=10) as link:
            link.sendall(sent)
            answer = link.recv(4_096)
        assert answer.startswith(told)
        assert bool(answer) == bool(told)
        if told:
            assert b"application/problem+json" in answer
        assert 0.3 < time.monotonic() - began < 10


@pytest.mark.parametrize("sent", [HALF_HEAD, HALF_BODY], ids=["head", "body"])
def test_what_comes_in_drops_has_no_more_time(sent: bytes) -> None:
    with (
        serving(None, request_timeout_s=0.5) as site,
        socket.create_connection(("127.0.0.1", site.port), timeout=10) as link,
    ):
        link.sendall(sent)
        began = time.monotonic()
        link.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() - began < 10:
            with contextlib.suppress(TimeoutError):
                link.sendall(b" " if sent == HALF_BODY else b"a")
                answer = link.recv(4_096)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 10


def test_the_next_request_on_a_connection_has_to_come_in_time_too() -> None:
    with serving(None, request_timeout_s=0.5) as site:
        link = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
        link.request("GET", "/health")
        link.getresponse().read()
        assert link.sock is not None
        link.sock.sendall(HALF_HEAD)
        assert link.sock.recv(100).startswith(b"HTTP/1.1 408 ")
        link.close()


@pytest.mark.slow
def test_an_answer_that_nobody_reads_is_given_up() -> None:
    with serving(None, request_timeout_s=0.5) as site:
        for n in range(40):
            site.store.commit(f"Note {n}: " + f"word{n} " * 400)
        asked = b"GET /api/memory/list?limit=40 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.socket() as link:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            link.settimeout(10)
            link.connect(("127.0.0.1", site.port))
            link.sendall(asked * 60)
            time.sleep(8)  # a busy machine takes some seconds to write as far as it can
            found = 0
            with contextlib.suppress(OSError):
                while part := link.recv(1_000_000):
                    found += len(part)
            assert found < 60 * 40 * 2_000, "the rest was never written"
        assert site.get("count").status == 200


def test_slow_bodies_take_no_place() -> None:
    with serving(None) as site, held(site.port, 100, HALF_BODY):
        for _ in range(5):
            assert site.post("recall", {"query": "when do deploys run?"}).status == 200


def test_bodies_share_a_bounded_memory() -> None:
    async def main() -> None:
        bodies = Bodies(held_max=100)

        def slow(first: int) -> Callable[[], object]:
            sent = False

            async def receive() -> dict[str, object]:
                nonlocal sent
                if sent:
                    await asyncio.sleep(60)
                sent = True
                return {"type": "http.request", "body": b"a" * first, "more_body": True}

            return receive

        async def quick() -> dict[str, object]:
            return {"type": "http.request", "body": b"b" * 30, "more_body": False}

        oldest = asyncio.create_task(bodies.read(slow(60), 1_000))  # type: ignore[arg-type]
        newer = asyncio.create_task(bodies.read(slow(30), 1_000))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert await bodies.read(quick, 1_000) == b"b" * 30
        with pytest.raises(Refusal) as refused:
            await oldest
        assert refused.value.status == 503
        assert not newer.done()
        with pytest.raises(Refusal) as refused:
            await bodies.read(quick, 20)
        assert refused.value.status == 413
        assert await bodies.read(quick, 20, cut=True) == b"b" * 21
        newer.cancel()

    asyncio.run(main())


# --- one reading ---------------------------------------------------------------------------------

SECOND = b"GET /api/memory/count HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKS = b'14\r\n{"query": "deploys"}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        ("1.1", ["Content-Length: 27", "Transfer-Encoding: chunked"]),
        ("1.1", ["Transfer-Encoding: chunked", "Content-Length: 0"]),
        ("1.1", ["transfer-encoding: Chunked", "X-Between: a", "CONTENT-LENGTH: 1000"]),
        ("1.0", ["Transfer-Encoding: chunked"]),
    ],
)
def test_a_body_with_two_ends_is_refused_and_nothing_behind_it_is_read(
    site: Site, version: str, lines: list[str]
) -> None:
    head = [f"POST /api/memory/recall HTTP/{version}", "Host: localhost"]
    head += ["Content-Type: application/json", "Connection: keep-alive", *lines]
    answer = raw(site.port, "\r\n".join(head).encode() + b"\r\n\r\n" + CHUNKS + SECOND)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["type"].endswith(":validation")


# --- servers as processes ------------------------------------------------------------------------


@contextmanager
def process(
    folder: Path, transport: str, descriptors: int
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server that may open so many files, and its port."""
    words = ["serve"] if transport == "serve" else ["mcp", "--transport", "http"]
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_NOFILE, ({descriptors},) * 2); {MAIN}"
    command = [sys.executable, "-c", limited, *words, "--port", "0"]
    command += ["--config", str(written_config(folder))]
    with (folder / "stderr").open("wb") as errors:
        running = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors if transport == "serve" else subprocess.STDOUT,
            env={**os.environ, "XDG_CONFIG_HOME": str(folder)},
        )
    try:
        assert running.stdout is not None
        found = re.search(rb":(\d+)(/mcp)?\n", running.stdout.readline())
        assert found is not None
        yield running, int(found[1])
    finally:
        running.kill()
        running.wait()
        assert running.stdout is not None
        running.stdout.close()


def alive(port: int, transport: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        if transport == "serve":
            link.request("POST", "/api/memory/recall", b'{"query": "deploys"}', JSON)
        else:
            ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
            accept = {"Accept": "application/json, text/event-stream"}
            link.request("POST", "/mcp", ping, {**JSON, **accept})
        return link.getresponse().status
    finally:
        link.close()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["serve", "mcp"])
def test_half_open_connections_neither_hold_a_server_nor_fill_its_stderr(
    tmp_path: Path, transport: str
) -> None:
    with process(tmp_path, transport, 140) as (running, port):
        with held(port, 400, b"POST /mcp HTTP/1.1\r\nHost: 127."):
            for _ in range(3):
                assert alive(port, transport) in (200, 202)
        assert alive(port, transport) in (200, 202)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=20) == 0
        assert running.stdout is not None
        said = running.stdout.read() + (tmp_path / "stderr").read_bytes()
        assert len(said) < 1_000, said[:1_000]


def test_a_request_that_the_end_cuts_off_is_answered_with_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_STOP_S", 1)
    inside, go = threading.Event(), threading.Event()
    found: list[Reply] = []
    with serving(None) as site:

        def slow(*_: object, **__: object) -> None:
            inside.set()
            go.wait(15)

        site.store.import_ = slow  # type: ignore[method-assign,assignment]
        lines = b'{"content": "A fact of a long file"}'
        kind = {"Content-Type": "application/jsonl"}
        thread = threading.Thread(target=lambda: found.append(site.post("import", lines, kind)))
        thread.start()
        assert inside.wait(10)
    thread.join(timeout=20)
    go.set()
    assert [(reply.status, reply.code) for reply in found] == [(503, "not-ready")]
    assert found[0].headers["retry-after"] == "1"
