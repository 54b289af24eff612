"""A leader that is lost under load: its synchronous standby takes over."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import vestig
from postgres_server import PostgresServer, find_programs
from vestig.errors import ConflictError
from vestig.fleet.tenants import create
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.testing import HashingEmbedder

_THREADS = 4


@pytest.fixture
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A leader and its synchronous standby."""
    programs = find_programs()
    if programs is None or not (programs / "pg_basebackup").exists():
        pytest.skip("expected the programs of PostgreSQL (initdb, pg_basebackup)")
    leader = PostgresServer(programs)
    standby = PostgresServer(programs, standby_of=leader)
    leader.await_standby()
    yield leader, standby
    leader.close()
    standby.close()


def text_of(tenant: str, number: int) -> str:
    """A fact of a tenant, with its canary."""
    return f"The canary of {tenant} sang {number * 7919 % 100_003} times on day {number}"


class Load:
    """Threads that write to all tenants until they are told to end."""

    def __init__(self, stores: dict[str, vestig.Vestig]) -> None:
        self._stores = stores
        self.acknowledged: dict[str, list[str]] = {tenant: [] for tenant in stores}
        # by `time.monotonic`, of each acknowledgement
        self.moments: list[float] = []
        self.lied: list[str] = []
        self._end = threading.Event()
        shares = [list(stores)[at::_THREADS] for at in range(_THREADS)]
        self._threads = [threading.Thread(target=self._write, args=(one,)) for one in shares]
        for one in self._threads:
            one.start()

    def _write(self, tenants: list[str]) -> None:
        number = 0
        while not self._end.is_set():
            for tenant in tenants:
                self._commit(tenant, text_of(tenant, number))
            number += 1

    def _commit(self, tenant: str, text: str) -> None:
        unknown = refused = False
        while not self._end.is_set():
            try:
                outcome = self._stores[tenant].commit(text, on_near_dup="insert").outcome.value
            except vestig.OutcomeUnknownError:
                unknown = True
            except (vestig.StoreLockedError, ConflictError):
                refused = True
                time.sleep(0.05)
            else:
                if outcome == "EXACT_DUPE" and refused and not unknown:
                    self.lied.append(text)
                self.acknowledged[tenant].append(text)
                self.moments.append(time.monotonic())
                return

    def end(self) -> None:
        """Returns when no thread writes any more."""
        self._end.set()
        for one in self._threads:
            one.join()


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.torture)])
def test_a_standby_takes_over_under_load(
    count: int, pair: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> None:
    leader, standby = pair
    address = (
        f"postgresql://owner@127.0.0.1:{leader.port},127.0.0.1:{standby.port}/postgres"
        "?target_session_attrs=read-write"
    )
    database = Database(Address(address), 10.0)
    database.create_tables()
    tenants = [f"acme-{number}" for number in range(count)]
    for tenant in tenants:
        create(database, tenant)

    def opened(tenant: str, machine: str) -> vestig.Vestig:
        config = {"fleet.cache_dir": str(tmp_path / machine), "store.lock_timeout_s": 10}
        return vestig.open(address, tenant=tenant, config=config, embedder=HashingEmbedder(64))

    stores = {tenant: opened(tenant, "a") for tenant in tenants}
    load = Load(stores)
    try:
        time.sleep(max(3.0, count / 20))
        lost = time.monotonic()
        leader.stop(signal.SIGQUIT)
        standby.promote()
        time.sleep(max(6.0, count / 20))
    finally:
        load.end()
    writable = [one for one in load.moments if one > lost + 0.5]
    assert writable
    assert min(writable) - lost <= 20
    assert load.lied == []
    chance = random.Random(33)
    crossed = recalls = 0
    for tenant, store in stores.items():
        other = opened(tenant, "b")
        other.fresh()
        for one in (store, other):
            one.fresh()
            found = [memory.content for memory in one.list(limit=1_000)]
            assert set(load.acknowledged[tenant]) <= set(found)
            assert len(found) == len(set(found))
            assert not [text for text in found if f"canary of {tenant} sang" not in text]
            for wanted in (tenant, *chance.sample(tenants, 4)):
                hits = one.recall(f"how often did the canary of {wanted} sing?", limit=20)
                crossed += sum(f"canary of {tenant} sang" not in hit.content for hit in hits)
                recalls += 1
        assert not [one for one in other.admin.doctor().findings if one.level == "damage"]
        other.close()
        store.close()
    assert crossed == 0
    sys.stderr.write(
        f"\n{count} tenants, {len(load.moments)} acknowledged, writable after"
        f" {min(writable) - lost:.1f} s, 0 lost, 0 crossed in {recalls} recalls\n"
    )
