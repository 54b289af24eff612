"""Tenants beside stores of one machine: commit, recall, catching up, new copies, many that are
open, and bytes in PostgreSQL.

Napkin: a commit asks PostgreSQL twice, to hold the tenant and to commit; a recall once in
`fleet.max_staleness_s`. A change is applied by SQLite in about a millisecond. A new copy of 20,000
memories is 140 MB that are decompressed, written and synced. `VESTIG_TEST_BENCH=full` has whole
sizes.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import vestig
from conftest import median_ms, note_line
from postgres_server import PostgresServer, find_programs
from vestig.testing import HashingEmbedder

pytest.importorskip("psycopg", reason="the extra fleet is not installed")

WHOLE = os.environ.get("VESTIG_TEST_BENCH") == "full"
COMMITS, CHANGES, BATCH = (150, 600, 6_000) if WHOLE else (30, 150, 1_000)
COLD = (1_000, 5_000, 20_000) if WHOLE else (1_000,)
OPEN = 200 if WHOLE else 20
IMPORTED = 10_000 if WHOLE else 500


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip("expected the programs of PostgreSQL (initdb, postgres): none are installed")
    one = PostgresServer(programs)
    yield one
    one.close()


@contextmanager
def database_of(server: PostgresServer) -> Iterator[Any]:
    """The database of tenants of a server."""
    from vestig.store.replication.connection import Address
    from vestig.store.replication.postgres import Database

    one = Database(Address(server.address), 60.0)
    one.create_tables()
    yield one
    one.close()


def tenant_on(server: PostgresServer, folder: Path, name: str, **config: Any) -> vestig.Vestig:
    """The tenant of this name, made where there is none."""
    from vestig.fleet.tenants import create

    with database_of(server) as database:
        if name not in [one.name for one in database.tenants()]:
            create(database, name)
    keys = {"fleet.cache_dir": str(folder), **config}
    return vestig.open(server.address, tenant=name, config=keys, embedder=HashingEmbedder(384))


def fact(number: int) -> str:
    return f"Pallet {number * 7919 % 100_003} went to hall {number % 17} on ramp {number % 5}"


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


class Taken:
    """Milliseconds by the clock and of this process's processor time, of several calls."""

    def __init__(self) -> None:
        self._both: list[tuple[float, float]] = []

    def call(self, what: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = what()
        self._both.append((time.perf_counter() - wall, time.process_time() - cpu))
        return result

    def median(self, which: int) -> float:
        return 1_000 * sorted(one[which] for one in self._both)[len(self._both) // 2]

    def __str__(self) -> str:
        return f"{self.median(0):.1f} ms, of processor time {self.median(1):.1f}"


def test_commit_and_recall(server: PostgresServer, tmp_path: Path) -> None:
    from vestig.store.replication.connection import Connection

    options = {"embedder": HashingEmbedder(384), "config": {"store.durability": "normal"}}
    looking = {"fleet.max_staleness_s": 0}
    with (
        vestig.open(tmp_path / "store", **options) as local,
        tenant_on(server, tmp_path / "a", "commit") as tenant,
        tenant_on(server, tmp_path / "b", "commit", **looking) as always,
        pytest.MonkeyPatch.context() as patch,
    ):
        trips: list[None] = []
        exchange = Connection._exchange
        patch.setattr(
            Connection, "_exchange", lambda *given: (trips.append(None), exchange(*given))[1]
        )
        numbers = iter(range(1_000_000))
        taken = {"local": Taken(), "tenant": Taken()}
        for _ in range(COMMITS):  # in turns, so that both meet the same machine
            for name, store in (("local", local), ("tenant", tenant)):
                text = fact(next(numbers))
                if name == "tenant":
                    store.count()  # looks at the position here, if it is due
                    trips.clear()
                taken[name].call(
                    lambda store=store, text=text: store.commit(text, on_near_dup="insert")
                )
        here, there = taken["local"], taken["tenant"]
        note_line(
            f"commit of a tenant: {there}; {there.median(0) / here.median(0):.2f} × local ({here})"
            f" · bar 2 ×, {len(trips)} round trips · bar 2, {load()}"
        )
        recalls = [
            median_ms(lambda store=store: store.recall("which hall has pallet 7919?"))
            for store in (local, tenant, always)
        ]
        note_line(
            f"recall of a tenant: {recalls[1] - recalls[0]:+.2f} ms within the time of a look"
            f" (bar +0.05), {recalls[2] - recalls[0]:+.2f} ms with one (bar +1), local"
            f" {recalls[0]:.2f} ms, {load()}"
        )


def test_catching_up(server: PostgresServer, tmp_path: Path) -> None:
    late = {"fleet.max_staleness_s": 1_000_000}
    with (
        tenant_on(server, tmp_path / "a", "catch-up") as writer,
        tenant_on(server, tmp_path / "b", "catch-up", **late) as reader,
    ):
        for number in range(CHANGES):
            writer.commit(fact(number), on_near_dup="insert")
        taken = Taken()
        taken.call(reader.fresh)
        rates = [1_000 * CHANGES / taken.median(which) for which in (0, 1)]
        note_line(
            f"catching up: {rates[0]:.0f} changes/s, {rates[1]:.0f} of processor time · bar 600,"
            f" {load()}"
        )
        for first in range(CHANGES, CHANGES + BATCH, 500):
            writer.commit_many([{"content": fact(number)} for number in range(first, first + 500)])
        taken = Taken()
        taken.call(reader.fresh)
        rates = [1_000 * BATCH / taken.median(which) for which in (0, 1)]
        note_line(
            f"catching up with batches: {rates[0]:.0f} memories/s, {rates[1]:.0f} of processor time"
            f" · bar 3,000, {load()}"
        )
        assert reader.count() == CHANGES + BATCH


@pytest.mark.parametrize("count", COLD)
def test_a_cold_copy_and_its_bytes_in_postgresql(
    count: int, server: PostgresServer, tmp_path: Path
) -> None:
    name = f"cold-{count}"
    with tenant_on(server, tmp_path / "a", name) as writer:
        for first in range(0, count, 1_000):
            numbers = range(first, min(count, first + 1_000))
            writer.commit_many([{"content": fact(number)} for number in numbers])
        tenant = writer._session.tenant
        assert tenant is not None
        tenant.snapshot(writer._session.ledger)
        kept = writer.count()
    taken = Taken()
    for run in range(3):
        with ExitStack() as opened:

            def ask(folder: Path = tmp_path / f"c{run}", opened: ExitStack = opened) -> Any:
                cold = opened.enter_context(tenant_on(server, folder, name))
                return cold.recall("which hall has pallet 7919?")

            assert len(taken.call(ask)) > 0
    note_line(
        f"a cold copy of {kept:6,} memories, opened and asked: {taken} · bar 100 ms at 1k, 300 at"
        f" 5k, 1,000 at 20k, {load()}"
    )
    with database_of(server) as database:
        stored = 0
        for table in ("changes", "snapshots"):
            sql = f"SELECT coalesce(sum(pg_column_size(one.*)), 0)::text FROM vestig.{table} one"
            rows = database.ask(f"{sql} WHERE tenant = $1", (name,)).rows
            stored += int(rows[0][0] or 0)
    note_line(f"PostgreSQL holds {stored / kept / 1_000:.2f} KB a memory of {kept} · bar 3.2")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_many_open_tenants(server: PostgresServer, tmp_path: Path) -> None:
    from vestig.config import load as load_config
    from vestig.fleet.pool import TenantPool
    from vestig.fleet.tenants import create

    names = [f"open-{number}" for number in range(OPEN + 1)]
    with database_of(server) as database:
        for name in names:
            create(database, name)
    keys = {
        "store.path": server.address,
        "fleet.cache_dir": str(tmp_path),
        "fleet.max_open": OPEN + 1,
    }
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_384), most))
    with TenantPool(load_config(overrides=keys), embedder=HashingEmbedder(384)) as pool:

        def use(name: str) -> None:
            with pool.lease(name) as store:
                store.commit(f"The gate of {name} opens at seven in the morning")
                assert len(store.recall("when does the gate open?")) == 1

        use(names[0])  # what all share is there
        before = resident_bytes(), len(os.listdir("/proc/self/fd"))
        for name in names[1:]:
            use(name)
        time.sleep(2)  # they rest
        after = resident_bytes(), len(os.listdir("/proc/self/fd"))
        each = [(late - early) / OPEN for early, late in zip(before, after, strict=True)]
        note_line(
            f"{OPEN} open tenants: {each[0] / 1e6:.2f} MB and {each[1]:.1f} descriptors each"
            f" · bar 2 and 6, {load()}"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


def test_an_import(server: PostgresServer, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text("".join(f'{{"content": "{fact(number)}"}}\n' for number in range(IMPORTED)))
    with tenant_on(server, tmp_path / "a", "import") as store, database_of(server) as database:
        taken = Taken()
        taken.call(lambda: store.import_(notes))
        sql = (
            "SELECT max(length(patch))::text, max(one.whole)::text, count(*)::text FROM"
            " vestig.changes JOIN (SELECT position, sum(length(patch)) AS whole FROM vestig.changes"
            " WHERE tenant = $1 GROUP BY 1) AS one USING (position) WHERE tenant = $1"
        )
        largest, change, parts = (int(one or 0) for one in database.ask(sql, ("import",)).rows[0])
        note_line(
            f"import of {store.count()} memories: the largest row of a change has"
            f" {largest / 2**20:.2f} MiB · bar 8, the largest change {change / 2**20:.1f} MiB,"
            f" {parts} rows, {taken}, {load()}"
        )
        assert largest <= 8 << 20
