"""What one machine forgets is gone from every machine, and from the pages of PostgreSQL."""

from __future__ import annotations

import random
import re
import string
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from test_faults import opened
from test_tenants import make_worker

import vestig
from postgres_server import Cut, PostgresServer
from vestig.fleet import tenants
from vestig.store.replication import snapshot
from vestig.store.replication.cache import CacheFolders, machines_behind, machines_of
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database

Machines = Callable[..., vestig.Vestig]


def test_the_record_of_a_lost_machine_is_dropped_and_one_that_lives_comes_back(
    machine: Machines, database: Database, tenant: str
) -> None:
    here, there = machine("a"), machine("b")
    gone = here.commit("The spare key lies under the third pot").memory_id
    there.fresh()
    assert len(machines_of(database, tenant)) == 2
    with pytest.raises(vestig.ValidationError, match="a time that has gone by"):
        tenants.doctor(database, lost_before="2999-01-01")
    tenants.doctor(database, lost_before="2020-01-01")
    assert len(machines_of(database, tenant)) == 2
    time.sleep(0.01)
    now = datetime.now(UTC)
    (found,) = [
        one for one in tenants.doctor(database, lost_before=now).findings if "lost" in one.detail
    ]
    assert int(found.detail.split()[-1]) >= 2
    assert machines_of(database, tenant) == ()
    assert here.forget(gone).machines_open == ()
    there.fresh()
    assert len(machines_of(database, tenant)) == 2


def test_what_one_machine_forgets_leaves_no_byte_on_any(
    machine: Machines, database: Database, tenant: str, tmp_path: Path
) -> None:
    here, there = machine("a"), machine("b")
    word = "Quillfeather"
    gone = here.commit(f"The duchess of {word} keeps the spare key").memory_id
    here.commit("The gardener keeps the other key")
    there.fresh()
    report = here.forget(gone)
    assert report.machines_open
    there.fresh()
    assert here._session.tenant is not None
    assert machines_behind(database, tenant, here.position or 0) == ()
    for store in (here, there):
        assert store.count() == 1
    holds = re.compile(re.escape(word).encode(), re.IGNORECASE)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if holds.search(path.read_bytes())]
    with database.session(tenant) as (conn, until):
        sql = "SELECT patch FROM vestig.changes WHERE tenant = $1"
        patches = [row[0] or b"" for row in conn.run_with(sql, (tenant,), until).rows]
    assert not [patch for patch in patches if holds.search(patch)]


def stored(database: Database, tenant: str) -> list[bytes]:
    """The bytes of every change and of every part of the snapshot, as PostgreSQL has them."""
    found = []
    for sql in ("SELECT patch FROM vestig.changes", "SELECT data FROM vestig.snapshots"):
        with database.session(tenant) as (conn, until):
            answer = conn.run_with(f"{sql} WHERE tenant = $1", (tenant,), until)
            found += [row[0] or b"" for row in answer.rows]
    return found


def babble(seed: int) -> str:
    """A long text that PostgreSQL stores as it is, for it does not get shorter."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choices(string.ascii_lowercase, k=6)) for _ in range(400))


def pieces(values: list[bytes]) -> set[bytes]:
    """What of these stands in a page in one piece, for larger values are cut every 1,996 bytes."""
    return {value[at : at + 64] for value in values for at in range(0, len(value) - 64, 1_996)}


def in_tables(server: PostgresServer, wanted: set[bytes]) -> list[bytes]:
    """Those of these bytes that stand in a file of a table."""
    everything = tables(server)
    return [one for one in wanted if one in everything]


def tables(server: PostgresServer) -> bytes:
    """The files of all tables, once all pages are written."""
    server.sql("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
    files = [path for path in (server.data / "base").rglob("*") if path.is_file()]
    assert files
    return b"\0".join(map(read_file, files))


def read_file(path: Path) -> bytes:
    """Its bytes; none of one that the server has removed meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def gone_from_all(marks: set[bytes], database: Database, others: bytes = b"") -> set[bytes]:
    """Those that no row of any tenant holds, wherever in it: what is the same in every new tenant
    stands there.

    Args:
        others: the tables before this tenant was made; rows of others that are no longer held may
            stand there.
    """
    rows = [
        *database.ask("SELECT patch FROM vestig.changes").rows,
        *database.ask("SELECT data FROM vestig.snapshots").rows,
    ]
    kept = [row[0] or b"" for row in rows]
    return {mark for mark in marks if not any(mark in value for value in (others, *kept))}


def test_no_page_of_postgresql_keeps_what_was_forgotten(
    machine: Machines, server: PostgresServer, database: Database, tenant: str
) -> None:
    """Neither the text, nor the snapshots and changes that held it, as they were stored."""
    others = tables(server)
    store = machine("a")
    word = "Marlinspike"
    for number in range(40):
        store.commit(f"Crate {number} stands in row {number * 7} of the vault", tags=["vault"])
    gone = store.commit(f"The duchess of {word} keeps the spare key").memory_id
    assert store._session.tenant is not None
    store._session.tenant.snapshot(store._session.ledger)
    other = store.commit(f"{word} was here twice: {babble(1)}", on_near_dup="insert")
    marks = pieces(stored(database, tenant)) | {word.encode()}
    assert len(in_tables(server, marks)) > 5
    report = store.forget([gone, other.memory_id])
    assert in_tables(server, gone_from_all(marks, database, others)) == []
    assert "write-ahead log" in report.outside
    assert "fleet doctor" not in report.outside


def test_a_log_whose_files_are_not_used_again_keeps_nothing_either(
    own: PostgresServer, tmp_path: Path
) -> None:
    own.sql("ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf()")
    store = opened(own, tmp_path / "a")
    text = f"The duchess of Quillfeather keeps the spare key: {babble(4)}"
    gone = store.commit(text).memory_id
    marks = pieces(stored(Database(Address(own.address), 5.0), "acme"))
    assert holding(own.data / "pg_wal", text[-64:])
    store.forget(gone)
    own.sql("CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT")
    marks = gone_from_all(marks, Database(Address(own.address), 5.0))
    everything = b"\0".join(map(read_file, filter(Path.is_file, own.data.rglob("*"))))
    assert [one for one in {text[-64:].encode(), *marks} if one in everything] == []


def test_a_dropped_tenant_leaves_no_bytes_in_tables(
    machine: Machines, server: PostgresServer, database: Database, tenant: str
) -> None:
    others = tables(server)
    store = machine("a")
    store.commit(f"The duchess of Marrowbone keeps the spare key: {babble(2)}")
    store.close()
    marks = pieces(stored(database, tenant))
    assert len(in_tables(server, marks)) > 3
    tenants.drop(database, tenant, lambda _plan: True)
    assert in_tables(server, gone_from_all(marks, database, others)) == []


def test_pages_that_could_not_be_written_anew_are_named_until_they_are(
    machine: Machines, server: PostgresServer, database: Database, tenant: str
) -> None:
    make_worker(database)
    store = machine("a", path=server.address_of("app"))
    of_every_new_tenant = pieces(stored(database, tenant))
    gone = store.commit(f"The duchess of Quillfeather keeps the spare key: {babble(3)}").memory_id
    marks = pieces(stored(database, tenant)) - of_every_new_tenant
    assert in_tables(server, marks)
    report = store.forget(gone)
    assert "does not own the tables" in report.outside
    assert "fleet doctor" in report.outside
    with database.session(tenant, isolation="REPEATABLE READ") as (conn, until):
        conn.run("SELECT count(*) FROM vestig.fleet", until)  # reads as of now, however long
        database.ask_rewrite(tenant)
        live = machine("b").forget(machine("b").commit("The other key is lost").memory_id)
        assert re.search(r"older transaction still reads \d+ removed rows", live.outside)
    assert database.rewrite(30) == ()
    assert in_tables(server, gone_from_all(marks, database)) == []


def test_a_forgetting_waits_for_a_snapshot_of_an_older_state(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is being stored still holds the text, and would be the snapshot afterwards."""
    store, other = machine("a"), machine("b")
    gone = store.commit("The duchess of Quillfeather keeps the spare key").memory_id
    other.fresh()
    older = other._session.tenant
    assert older is not None
    insert, began, go_on = Database._insert_parts, threading.Event(), threading.Event()

    def insert_slowly(*args: Any) -> None:
        insert(*args)
        began.set()
        go_on.wait(20)

    slow = threading.Thread(target=older.snapshot, args=(other._session.ledger,))
    with monkeypatch.context() as patch:
        patch.setattr(Database, "_insert_parts", insert_slowly)
        slow.start()
        assert began.wait(20)
    threading.Timer(1.0, go_on.set).start()
    store.forget(gone)
    slow.join()
    row = database.find(tenant)
    assert row.snapshot == store.position
    held = b"".join(stored(database, tenant))
    with database.session(tenant) as (conn, until):
        sql = "SELECT count(*)::text FROM vestig.changes WHERE tenant = $1 AND position < $2"
        answer = conn.run_with(sql, (tenant, row.snapshot), until)
    assert answer.rows == [(b"0",)]
    assert b"Quillfeather" not in held


def test_a_forgetting_without_postgresql_is_finished_later(
    machine: Machines, cut: Cut, database: Database, tenant: str
) -> None:
    store = machine("a", path=cut.address, config={"store.lock_timeout_s": 1})
    gone = store.commit("The duchess of Quillfeather keeps the spare key").memory_id
    tenant_copy = store._session.tenant
    assert tenant_copy is not None
    record = tenant_copy.record_proof

    def lose(*args: Any) -> None:
        cut.refuse = True
        tenant_copy._poller.database.close()
        record(*args)

    tenant_copy.record_proof = lose  # type: ignore[method-assign]
    with pytest.raises(vestig.ForgetIncompleteError, match=r"deleted.*forget --finish"):
        store.forget(gone)
    cut.refuse = False
    tenant_copy.record_proof = record  # type: ignore[method-assign]
    assert store.count() == 0
    assert b"Quillfeather" in b"".join(stored(database, tenant))
    store.admin.forget_finish()
    assert b"Quillfeather" not in b"".join(stored(database, tenant))


def holding(folder: Path, wanted: str | bytes) -> list[Path]:
    """Files below a folder that hold a word, in whatever case, or bytes."""
    raw = wanted.encode() if isinstance(wanted, str) else wanted
    holds = re.compile(re.escape(raw), re.IGNORECASE if isinstance(wanted, str) else 0)
    return [path for path in folder.rglob("*") if holds.search(read_file_or_nothing(path))]


def read_file_or_nothing(path: Path) -> bytes:
    return read_file(path) if path.is_file() else b""


def unpacked(database: Database, tenant: str, folder: Path) -> Path:
    """The files of the snapshot of a tenant."""
    folder.mkdir()
    with database.snapshot(tenant) as (row, parts):
        snapshot.unpack(parts, row.snapshot_digest, folder)
    return folder


def before_the_snapshot(do: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Does something while a forgetting is a change that others take, and in no snapshot yet."""
    replace = Database.replace_snapshot

    def do_first(*args: Any) -> bool:
        monkeypatch.setattr(Database, "replace_snapshot", replace)
        do()
        return replace(*args)

    monkeypatch.setattr(Database, "replace_snapshot", do_first)


Removal = Callable[[vestig.Vestig], object]


def put(store: vestig.Vestig) -> Removal:
    store.items.put("keys", {"spare": "with the duchess of Quillfeather"})
    return lambda one: one.items.delete("keys")


def entity(store: vestig.Vestig) -> Removal:
    id = store.commit("The duchess of Quillfeather keeps the spare key").memory_id
    return lambda one: one.forget(id)


@pytest.mark.parametrize("store_it", [put, entity])
def test_whatever_is_removed_is_erased_on_every_machine(
    store_it: Callable[[vestig.Vestig], Removal],
    machine: Machines,
    database: Database,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = machine("a"), machine("b")
    remove = store_it(here)
    there.fresh()
    there.admin.rebuild()
    assert holding(tmp_path / "b", "Quillfeather")
    before_the_snapshot(there.fresh, monkeypatch)
    remove(here)
    assert holding(tmp_path, "Quillfeather") == []
    assert machines_behind(database, tenant, here.position or 0) == ()


def test_a_snapshot_of_a_machine_that_has_not_proved_its_files_carries_none_of_them(
    machine: Machines,
    database: Database,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own write has brought it what another one forgot."""
    here, there = machine("a"), machine("b", config={"fleet.max_staleness_s": 1_000})
    gone = here.commit("The duchess of Quillfeather keeps the spare key").memory_id or ""
    for number in range(5):
        here.commit(f"Crate {number} stands in row {number * 7} of the vault")
    there.fresh()
    there.admin.rebuild()
    with there._session.ledger.read() as view:
        vector = bytes(view.vectors(there._session.namespace, [gone])[gone][1])
    projection = there._session.directory
    assert projection is not None
    assert holding(projection / "projection", vector)

    def write() -> None:
        there.commit("The gardener keeps the other key")
        tenant_copy = there._session.tenant
        assert tenant_copy is not None
        # a segment stays as it is, as large ones do
        monkeypatch.setattr(there._session.keeper, "publish", lambda: None)
        assert tenant_copy.snapshot(there._session.ledger)

    before_the_snapshot(write, monkeypatch)
    here.forget(gone)
    assert database.find(tenant).snapshot == there.position
    assert holding(unpacked(database, tenant, tmp_path / "unpacked"), vector) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, vestig.StoreLockedError("away")])
def test_a_proof_that_could_not_be_recorded_is_recorded_later(
    failure: Any,
    machine: Machines,
    database: Database,
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The process ends, or PostgreSQL is away, between the proof and its record."""
    here, there = machine("a"), machine("b")
    gone = here.commit("The duchess of Quillfeather keeps the spare key").memory_id
    there.fresh()
    tenant_copy = there._session.tenant
    assert tenant_copy is not None
    record = tenant_copy.record_proof

    def fail(*_: Any) -> None:
        raise failure

    tenant_copy.record_proof = fail  # type: ignore[method-assign]
    with monkeypatch.context() as patch:
        before_the_snapshot(there.fresh, patch)
        with suppress(KeyboardInterrupt):
            here.forget(gone)
    if failure is not KeyboardInterrupt:
        (said,) = there.recall("who keeps the key?").degraded
        assert said.code == "forget_incomplete"
    assert machines_behind(database, tenant, here.position or 0)
    tenant_copy.record_proof = record  # type: ignore[method-assign]
    there.close()
    machine("b").count()
    assert machines_behind(database, tenant, here.position or 0) == ()
    assert holding(tmp_path, "Quillfeather") == []


def test_a_forgetting_whose_process_ends_is_ended_by_the_next_one(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = machine("a")
    gone = store.commit("The duchess of Quillfeather keeps the spare key").memory_id

    def fail(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Database, "replace_snapshot", fail)
        with pytest.raises(KeyboardInterrupt):
            store.forget(gone)
    assert b"Quillfeather" in b"".join(stored(database, tenant))
    store.close()
    again = machine("a")
    assert again.count() == 0
    assert b"Quillfeather" not in b"".join(stored(database, tenant))
    assert machines_behind(database, tenant, again.position or 0) == ()


@pytest.mark.parametrize("writes", [False, True])
def test_files_older_than_the_snapshot_are_made_anew_also_by_the_next_process(
    writes: bool,
    machine: Machines,
    database: Database,
    tenant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one that took its rows from the snapshot ends before it makes the files anew."""
    here, there = machine("a"), machine("b", config={"fleet.max_staleness_s": 1_000})
    gone = here.commit("The duchess of Quillfeather keeps the spare key").memory_id
    there.fresh()
    there.admin.rebuild()
    here.forget(gone)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    if writes:
        there.commit("The gardener keeps the other key")
    else:
        with monkeypatch.context() as patch:
            patch.setattr(CacheFolders, "_build", fail)
            with pytest.raises(KeyboardInterrupt):
                there.fresh()
    there.close()
    assert machine("b").count() == int(writes)
    assert holding(tmp_path, "Quillfeather") == []
    assert machines_behind(database, tenant, here.position or 0) == ()
