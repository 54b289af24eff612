"""The snapshot of a tenant: what it holds, how it takes the place of the one before, and harm."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import vestig
from store.test_older_projection import aged
from vestig import _core
from vestig.errors import StoreDamagedError, StoreLockedError
from vestig.fleet.tenants import create, down
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.replication.connection import Connection
from vestig.store.replication.postgres import Database
from vestig.store.replication.snapshot import PART_BYTES, _parts, digest_of, unpack
from vestig.testing import HashingEmbedder

Machines = Callable[..., vestig.Vestig]


def filled(machine: Machines, count: int = 30) -> vestig.Vestig:
    store = machine("a")
    for number in range(count):
        store.commit(f"Crate {number} stands in row {number % 7}", on_near_dup="insert")
    return store


def make_snapshot(store: vestig.Vestig) -> bool:
    assert store._session.tenant is not None
    return store._session.tenant.snapshot(store._session.ledger)


def segments(store: vestig.Vestig) -> set[str]:
    assert store._session.directory is not None
    return {path.name for path in (store._session.directory / "projection").glob("seg-*")}


# --- what it holds ------------------------------------------------------------------------------


def test_a_cold_copy_takes_the_segments_of_the_snapshot(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = filled(machine)
    assert make_snapshot(writer)
    assert segments(writer)
    built: list[Any] = []
    fill = ProjectionKeeper._fill
    monkeypatch.setattr(
        ProjectionKeeper, "_fill", lambda self, *given: (built.append(given), fill(self, *given))[1]
    )
    cold = machine("b")
    found = cold.recall("which crate stands in row 3?", limit=30)
    assert found.degraded == ()
    assert [hit.id for hit in found] == [
        hit.id for hit in writer.recall("which crate stands in row 3?", limit=30)
    ]
    assert segments(cold) == segments(writer)
    assert built == []


def test_a_projection_of_another_format_is_made_again(
    database: Database, machine: Machines, tmp_path: Path
) -> None:
    name, folder = f"aged-{os.getpid()}", tmp_path / "store"
    with vestig.open(folder, embedder=HashingEmbedder(64)) as store:
        kept = store.commit("The harbor opens at nine").memory_id
    for path in (folder / "projection").iterdir():
        if path.name == "manifest" or path.name.startswith("seg-"):
            aged(path, _core.FORMAT_VERSION + 1)
    create(database, name, folder)
    found = machine("b", tenant=name).recall("when does the harbor open?")
    assert [hit.id for hit in found] == [kept]
    assert [one.code for one in found.degraded] == ["projection_rebuilt"]


@pytest.mark.parametrize(
    "sizes", [(0,), (1, 0, PART_BYTES), (PART_BYTES - 1, 2), (3 * PART_BYTES + 5, 7), ()]
)
def test_files_of_any_length_are_packed(sizes: Sequence[int], tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "projection").mkdir(parents=True)
    target.mkdir()
    held = {f"projection/seg-{at}": os.urandom(size) for at, size in enumerate(sizes)}
    held["ledger.sqlite"] = b"the ledger"
    for name, data in held.items():
        (source / name).write_bytes(data)
    parts = list(_parts(source))
    unpack(parts, digest_of(parts), target)
    paths = [path for path in target.rglob("*") if path.is_file()]
    assert {path.relative_to(target).as_posix(): path.read_bytes() for path in paths} == held
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}


def test_a_snapshot_of_more_parts_than_one_question_brings(database: Database) -> None:
    for count in (0, 1, 7, 8, 9, 24):
        name = f"parts-{os.getpid()}-{count}"
        create(database, name)
        parts = [os.urandom(100) for _ in range(count)]
        with database.session(name) as (conn, until):
            conn.run_with("DELETE FROM vestig.snapshots WHERE tenant = $1", (name,), until)
            database._insert_parts(conn, name, 0, parts)
            conn.run("COMMIT", until)
        with database.snapshot(name) as (_row, found):
            assert list(found) == parts


# --- harm ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["swapped", "cut", "repeated", "longer", "flipped", "nothing"])
def test_a_snapshot_that_is_not_what_was_packed_leaves_no_copy(
    harm: str, machine: Machines, database: Database, tenant: str, tmp_path: Path
) -> None:
    writer = filled(machine)
    make_snapshot(writer)
    with database.snapshot(tenant) as (row, found):
        parts = list(found)
    assert len(parts) >= 2
    harmed = {
        "swapped": parts[::-1],
        "cut": parts[:-1],
        "repeated": [*parts, parts[-1]],
        "longer": [*parts[:-1], parts[-1] + b"\0"],
        "flipped": [*parts[:-1], parts[-1][:-9] + bytes([parts[-1][-9] ^ 1]) + parts[-1][-8:]],
        "nothing": [],
    }[harm]
    with database.session(tenant) as (conn, until):
        conn.run_with("DELETE FROM vestig.snapshots WHERE tenant = $1", (tenant,), until)
        database._insert_parts(conn, tenant, row.snapshot, harmed)
        conn.run("COMMIT", until)
    with pytest.raises(StoreDamagedError, match=r"snapshot .* altered"):
        machine("b")
    with pytest.raises(StoreDamagedError, match=r"snapshot .* altered"):
        down(database, tenant, tmp_path / "plain")
    assert not (tmp_path / "plain").exists()
    assert not [path for path in (tmp_path / "b").rglob("*") if path.name == "ledger.sqlite"]
    assert writer.count() == 30


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "projection/../../x", "a/b", ""])
def test_a_snapshot_writes_into_its_folder_alone(name: str, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"
    target.mkdir(parents=True)
    parts = [zlib.compress(msgspec.msgpack.encode([(name, 1)])), zlib.compress(b"x")]
    with pytest.raises(StoreDamagedError):
        unpack(parts, digest_of(parts), target)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_part_that_unpacks_to_more_than_any_is_refused(tmp_path: Path) -> None:
    parts = [zlib.compress(bytes(PART_BYTES + 1))]
    with pytest.raises(StoreDamagedError):
        unpack(parts, digest_of(parts), tmp_path)


# --- the one before -----------------------------------------------------------------------------


def stored(database: Database, tenant: str) -> tuple[Any, list[Any], list[Any]]:
    """The row of a tenant, the positions of its changes, and those of its snapshot's parts."""
    with database.session(tenant) as (conn, until):
        found = [
            conn.run_with(sql, (tenant,), until).rows
            for sql in (
                "SELECT position::text FROM vestig.changes WHERE tenant = $1 ORDER BY 1",
                "SELECT DISTINCT position::text FROM vestig.snapshots WHERE tenant = $1",
            )
        ]
    numbers = [[int(row[0] or 0) for row in rows] for rows in found]
    return database.find(tenant), sorted(numbers[0]), numbers[1]


def test_the_change_at_its_position_stays(
    machine: Machines, database: Database, tenant: str
) -> None:
    writer = filled(machine, 5)
    before = stored(database, tenant)[0].position
    assert make_snapshot(writer)
    writer.commit("This is written after the snapshot")
    row, changes, snapshots = stored(database, tenant)
    assert row.snapshot == before
    assert changes == list(range(before, row.position + 1))
    assert snapshots == [before]
    assert not make_snapshot(machine("b", config={"fleet.max_staleness_s": 1_000}))


def test_it_is_switched_whole_or_not_at_all(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = filled(machine, 5)
    before = stored(database, tenant)
    run_with = Connection.run_with

    def refusing(self: Connection, statement: str, values: Any, deadline: float) -> Any:
        if statement.startswith("UPDATE vestig.tenants SET snapshot"):
            statement = "SELECT 1 / 0"
            values = ()
        return run_with(self, statement, values, deadline)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "run_with", refusing)
        with pytest.raises(StoreLockedError, match="division by zero"):
            make_snapshot(writer)
    assert stored(database, tenant) == before
    assert make_snapshot(writer)


def test_others_write_while_its_parts_are_sent(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, other = filled(machine, 5), machine("b", config={"store.lock_timeout_s": 2})
    insert = Database._insert_parts

    def sending(self: Database, *given: Any) -> None:
        other.commit("This is written while the parts of the snapshot are sent")
        insert(self, *given)

    monkeypatch.setattr(Database, "_insert_parts", sending)
    assert make_snapshot(writer)
    row, changes, _ = stored(database, tenant)
    assert row.position == row.snapshot + 1
    assert changes == [row.snapshot, row.position]
    assert machine("c").count() == 6


# --- large changes ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mebibytes", [0.03, 0.5, 3, 12])
def test_a_change_of_any_size_is_rows_of_a_mebibyte_at_most(
    mebibytes: float, machine: Machines, database: Database, tenant: str
) -> None:
    writer, reader = machine("a"), machine("b")
    start = writer.position or 0
    pieces = max(1, round(mebibytes * 2))
    length = round(mebibytes * 2**20 / pieces)
    values = [{"key": f"log-{at}", "value": os.urandom(length // 2).hex()} for at in range(pieces)]
    writer.items.put_many(values)
    sql = (
        "SELECT position::text, part::text, length(patch)::text FROM vestig.changes AS one"
        " WHERE tenant = $1 AND position > $2 ORDER BY one.position, one.part"
    )
    with database.session(tenant) as (conn, until):
        found = conn.run_with(sql, (tenant, start), until).rows
    rows = [tuple(int(one or 0) for one in row) for row in found]
    assert {row[0] for row in rows} == {start + 1}
    assert [row[1] for row in rows] == list(range(len(rows)))
    assert all(row[2] == PART_BYTES for row in rows[:-1])
    assert 0 < rows[-1][2] <= PART_BYTES
    assert sum(row[2] for row in rows) > mebibytes * 2**20
    reader.fresh()
    for one in values:
        item = reader.items.get(one["key"])
        assert item is not None
        assert item.value == one["value"]
