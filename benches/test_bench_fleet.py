"""A tenant beside a store of one machine: commit, recall, catching up, and a copy that is made.

Napkin: a commit asks PostgreSQL twice, to hold the tenant and to commit; a recall once in
`fleet.max_staleness_s`. A change is applied by SQLite in about a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vestig
from conftest import median_ms, note_line
from postgres_server import PostgresServer, find_programs
from vestig.testing import HashingEmbedder

pytest.importorskip("psycopg", reason="the extra fleet is not installed")

COMMITS, CHANGES = 60, 300


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    programs = find_programs()
    if programs is None:
        pytest.skip("expected the programs of PostgreSQL (initdb, postgres): none are installed")
    one = PostgresServer(programs)
    yield one
    one.close()


def tenant_on(server: PostgresServer, folder: Path, name: str, **config: Any) -> vestig.Vestig:
    """The tenant of this name, made where there is none."""
    from vestig.fleet.tenants import create
    from vestig.store.replication.connection import Address
    from vestig.store.replication.postgres import Database

    database = Database(Address(server.address), 5.0)
    database.create_tables()
    if name not in [one.name for one in database.tenants()]:
        create(database, name)
    database.close()
    keys = {"fleet.cache_dir": str(folder), **config}
    return vestig.open(server.address, tenant=name, config=keys, embedder=HashingEmbedder(384))


def fact(number: int) -> str:
    return f"Pallet {number * 7919 % 100_003} went to hall {number % 17} on ramp {number % 5}"


def test_commit_and_recall(server: PostgresServer, tmp_path: Path) -> None:
    options = {"embedder": HashingEmbedder(384), "config": {"store.durability": "normal"}}
    looking = {"fleet.max_staleness_s": 0}
    with (
        vestig.open(tmp_path / "store", **options) as local,
        tenant_on(server, tmp_path / "a", "commit") as tenant,
        tenant_on(server, tmp_path / "b", "commit", **looking) as always,
    ):
        numbers = iter(range(1_000_000))
        commits: dict[str, list[float]] = {"local": [], "tenant": []}
        for _ in range(COMMITS):  # in turns, so that both meet the same machine
            for name, store in (("local", local), ("tenant", tenant)):
                text, start = fact(next(numbers)), time.perf_counter()
                store.commit(text, on_near_dup="insert")
                commits[name].append(1000 * (time.perf_counter() - start))
        here, there = (sorted(commits[name])[COMMITS // 2] for name in ("local", "tenant"))
        note_line(
            f"commit of a tenant: median {there:.2f} ms, {there / here:.2f} × local {here:.2f} ms"
            " · bar 2 ×"
        )
        recalls = [
            median_ms(lambda store=store: store.recall("which hall has pallet 7919?"))
            for store in (local, tenant, always)
        ]
        note_line(
            f"recall of a tenant: {recalls[1] - recalls[0]:+.2f} ms within the time of a look"
            f" (bar +0.05), {recalls[2] - recalls[0]:+.2f} ms with one (bar +1), local"
            f" {recalls[0]:.2f} ms"
        )


def test_catching_up_and_a_cold_copy(server: PostgresServer, tmp_path: Path) -> None:
    late = {"fleet.max_staleness_s": 1_000_000}
    with (
        tenant_on(server, tmp_path / "a", "catch-up") as writer,
        tenant_on(server, tmp_path / "b", "catch-up", **late) as reader,
    ):
        for number in range(CHANGES):
            writer.commit(fact(number), on_near_dup="insert")
        start = time.perf_counter()
        reader.fresh()
        rate = CHANGES / (time.perf_counter() - start)
        note_line(f"catching up: {rate:.0f} changes/s · bar 600")
        items = [{"content": fact(CHANGES + number)} for number in range(2_000)]
        writer.commit_many(items)
        start = time.perf_counter()
        reader.fresh()
        rate = len(items) / (time.perf_counter() - start)
        note_line(f"catching up with a batch: {rate:.0f} memories/s · bar 3,000")
        tenant = writer._session.tenant
        assert tenant is not None
        tenant.snapshot(writer._session.ledger)
    start = time.perf_counter()
    with tenant_on(server, tmp_path / "c", "catch-up") as cold:
        found = cold.recall("which hall has pallet 7919?")
        took = 1000 * (time.perf_counter() - start)
        note_line(
            f"a cold copy of {cold.count()} memories, opened and asked: {took:.0f} ms"
            " · bar 100 at 1k, 300 at 5k"
        )
    assert len(found) > 0
