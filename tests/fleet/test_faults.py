"""Workers that die, servers that stop, answers that are lost: nothing acknowledged is lost, nothing
is written twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_tenants import rows
from worker import STEPS, text_of

import vestig
from postgres_server import Cut, PostgresServer
from vestig.errors import OutcomeUnknownError
from vestig.testing import HashingEmbedder

Machines = Callable[..., vestig.Vestig]
WORKER = Path(__file__).with_name("worker.py")


Worker = subprocess.Popen[str]


def start(*words: object) -> Worker:
    """A worker; see there. It is read when it has ended: its pipe holds all its lines."""
    command = [sys.executable, str(WORKER), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pipesize=1 << 20)


def acknowledged(process: Worker) -> list[str]:
    out, _ = process.communicate(timeout=300)
    return [line[2:] for line in out.splitlines() if line.startswith("+ ")]


def contents(store: vestig.Vestig) -> list[str]:
    """The texts of all memories."""
    pages = range(0, store.count() + 1, 1_000)
    return [one.content for at in pages for one in store.list(offset=at, limit=1_000)]


def check_all(stores: list[vestig.Vestig], texts: list[str]) -> None:
    """Every text is there once, on every machine, under one chain."""
    for store in stores:
        store.fresh()
        found = contents(store)
        assert sorted(found) == sorted(set(found))
        assert set(texts) <= set(found)
        assert not [one for one in store.admin.doctor().findings if one.level == "damage"]
    assert all(rows(store) == rows(stores[0]) for store in stores)


@pytest.mark.slow
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


@pytest.mark.parametrize("lost", ["message", "answer"])
def test_a_commit_whose_answer_is_lost_is_stored_once(
    lost: str, cut: Cut, machine: Machines
) -> None:
    store, other = machine("a", path=cut.address), machine("b")
    texts = []
    for number in range(4):
        cut.lose = lost if number % 2 else ""
        store.commit(text_of("eve", number), on_near_dup="insert")
        texts.append(text_of("eve", number))
    assert not cut.lose
    check_all([store, other], texts)
    assert store.count() == 4


def test_a_commit_of_which_nothing_is_known_says_so(cut: Cut, machine: Machines) -> None:
    config = {"store.lock_timeout_s": 0.5}
    store, other = machine("a", path=cut.address, config=config), machine("b")
    store.commit(text_of("eve", 0))
    cut.lose, cut.refuse = "answer", True
    with pytest.raises(OutcomeUnknownError, match=r"perhaps stored, whole or not at all"):
        store.commit(text_of("eve", 1), on_near_dup="insert")
    cut.refuse = False
    time.sleep(0.1)
    outcome = store.commit(text_of("eve", 1), on_near_dup="insert")
    assert outcome.outcome.value == "EXACT_DUPE"
    check_all([store, other], [text_of("eve", 0), text_of("eve", 1)])


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


@pytest.mark.slow
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
