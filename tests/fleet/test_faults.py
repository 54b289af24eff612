"""Workers that die, servers that stop, answers that are lost: nothing acknowledged is lost, nothing
is written twice."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_tenants import rows
from worker import STEPS, text_of

import vestig
from postgres_server import PostgresServer, find_programs
from vestig.errors import OutcomeUnknownError
from vestig.fleet.tenants import create
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.testing import HashingEmbedder

Machines = Callable[..., vestig.Vestig]
WORKER = Path(__file__).with_name("worker.py")


Worker = subprocess.Popen[str]


def start(address: str, tenant: str, folder: Path, name: str, *rest: object) -> Worker:
    command = [sys.executable, str(WORKER), address, tenant, str(folder), name, *map(str, rest)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(process: Worker) -> list[str]:
    out, _ = process.communicate(timeout=300)
    return [line[2:] for line in out.splitlines() if line.startswith("+ ")]


def check_all(stores: list[vestig.Vestig], texts: list[str]) -> None:
    """Every text is there once, on every machine, under one chain."""
    for store in stores:
        store.fresh()
        found = [memory.content for memory in store.list(limit=1_000)]
        assert sorted(found) == sorted(set(found))
        assert set(texts) <= set(found)
        assert not [one for one in store.admin.doctor().findings if one.level == "damage"]
    assert all(rows(store) == rows(stores[0]) for store in stores)


def test_writers_on_three_machines_lose_nothing(
    server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    names = ["ada", "ben", "cyd"]
    running = [start(server.address, tenant, tmp_path / one, one, 25) for one in names]
    texts = [text for process in running for text in acknowledged(process)]
    assert sorted(texts) == sorted(text_of(name, one) for name in names for one in range(25))
    check_all([machine(name) for name in names], texts)


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_is_killed_at_a_step(
    step: str, server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    dying = start(server.address, tenant, tmp_path / "a", "ada", 6, step, 3)
    texts = acknowledged(dying)
    assert dying.returncode == -signal.SIGKILL
    again = start(server.address, tenant, tmp_path / "a", "ada", 6)
    texts += acknowledged(again)
    assert again.returncode == 0
    assert set(texts) == {text_of("ada", number) for number in range(6)}
    check_all([machine("a"), machine("b")], texts)


def _end(*sockets: socket.socket) -> None:
    # one that another thread reads is not ended by `close`
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


class Cut:
    """A relay to the server that can be cut: before a message that commits reaches it, or before
    the answer comes back."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        # "message" or "answer": what is lost of the next commit
        self.lose = ""
        self.refuse = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            upstream = socket.create_connection(("127.0.0.1", self._target))
            for one in (client, upstream):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            mute = threading.Event()
            for relay in (self._ask, self._answer):
                threading.Thread(target=relay, args=(client, upstream, mute), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if b"UPDATE vestig.tenants SET position" in data and self.lose:
                    lost, self.lose = self.lose, ""
                    if lost == "message":
                        break
                    mute.set()
                server.sendall(data)
        _end(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while (data := server.recv(1 << 20)) and not mute.is_set():
                client.sendall(data)
        _end(client, server)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def cut(server: PostgresServer) -> Iterator[Cut]:
    one = Cut(server.port)
    yield one
    one.close()


@pytest.mark.parametrize("lost", ["message", "answer"])
def test_a_commit_whose_answer_is_lost_is_stored_once(
    lost: str, cut: Cut, server: PostgresServer, machine: Machines
) -> None:
    address = server.address.replace(str(server.port), str(cut.port))
    store, other = machine("a", path=address), machine("b")
    texts = []
    for number in range(4):
        cut.lose = lost if number % 2 else ""
        store.commit(text_of("eve", number), on_near_dup="insert")
        texts.append(text_of("eve", number))
    assert not cut.lose
    check_all([store, other], texts)
    assert store.count() == 4


def test_a_commit_of_which_nothing_is_known_says_so(
    cut: Cut, server: PostgresServer, machine: Machines
) -> None:
    address = server.address.replace(str(server.port), str(cut.port))
    config = {"store.lock_timeout_s": 0.5}
    store, other = machine("a", path=address, config=config), machine("b")
    store.commit(text_of("eve", 0))
    cut.lose, cut.refuse = "answer", True
    with pytest.raises(OutcomeUnknownError, match=r"perhaps stored, whole or not at all"):
        store.commit(text_of("eve", 1), on_near_dup="insert")
    cut.refuse = False
    time.sleep(0.1)
    outcome = store.commit(text_of("eve", 1), on_near_dup="insert")
    assert outcome.outcome.value == "EXACT_DUPE"
    check_all([store, other], [text_of("eve", 0), text_of("eve", 1)])


@pytest.fixture
def own(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    programs = find_programs()
    assert programs is not None
    one = PostgresServer(programs)
    Database(Address(one.address), 5.0).create_tables()
    create(Database(Address(one.address), 5.0), "acme")
    yield one
    one.close()


def opened(server: PostgresServer, folder: Path, **config: object) -> vestig.Vestig:
    keys = {"fleet.cache_dir": str(folder), "store.lock_timeout_s": 1, **config}
    return vestig.open(server.address, tenant="acme", config=keys, embedder=HashingEmbedder(64))


def test_while_postgresql_is_away_reads_go_on_and_writes_are_refused(
    own: PostgresServer, tmp_path: Path
) -> None:
    store = opened(own, tmp_path / "a", **{"fleet.max_staleness_s": 0})
    strict = opened(own, tmp_path / "b", **{"fleet.max_staleness_s": 0, "fleet.max_offline_s": 0})
    kept = store.commit(text_of("ada", 0)).memory_id
    assert strict.count() == 1
    own.stop(signal.SIGQUIT)
    found = store.recall("how many parcels?")
    assert [hit.id for hit in found] == [kept]
    assert "upstream_away" in {one.code for one in found.degraded}
    with pytest.raises(vestig.StoreLockedError, match="expected PostgreSQL to answer"):
        store.commit(text_of("ada", 1), on_near_dup="insert")
    with pytest.raises(vestig.StoreLockedError, match=r"fleet\.max_offline_s"):
        strict.recall("how many parcels?")
    own.start()
    store.commit(text_of("ada", 2), on_near_dup="insert")
    check_all([store, strict], [text_of("ada", 0), text_of("ada", 2)])
    store.close()
    strict.close()


def test_a_server_that_stands_still_blocks_no_longer_than_is_allowed(
    own: PostgresServer, tmp_path: Path
) -> None:
    store = opened(own, tmp_path / "a")
    store.commit(text_of("ada", 0))
    own.pause()
    try:
        started = time.monotonic()
        with pytest.raises(vestig.StoreLockedError):
            store.commit(text_of("ada", 1), on_near_dup="insert")
        assert time.monotonic() - started < 20
        assert len(store.recall("how many parcels?")) == 1
    finally:
        own.go_on()
    store.commit(text_of("ada", 1), on_near_dup="insert")
    check_all([store], [text_of("ada", 0), text_of("ada", 1)])
    store.close()


@pytest.mark.torture
def test_a_worker_that_is_stopped_loses_the_tenant(
    server: PostgresServer, tenant: str, tmp_path: Path, machine: Machines
) -> None:
    stopped = start(server.address, tenant, tmp_path / "a", "ada", 100_000)
    assert stopped.stdout is not None
    for _ in range(20):
        stopped.stdout.readline()
    # somewhere inside of a write, most of the time
    stopped.send_signal(signal.SIGSTOP)
    store = machine("b", config={"store.lock_timeout_s": 30})
    started = time.monotonic()
    store.commit(text_of("ben", 1))
    assert time.monotonic() - started < 12
    stopped.kill()
    stopped.communicate()
    check_all([store, machine("a")], [text_of("ben", 1)])
