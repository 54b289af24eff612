"""A tenant on several machines: what one writes, the others read, and nothing else."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import vestig
from postgres_server import PostgresServer
from vestig.fleet import tenants
from vestig.fleet.tenants import create
from vestig.store.records import store_rows
from vestig.store.replication import copy
from vestig.store.replication.cache import CacheFolders
from vestig.store.replication.capture import SHARED, apply_patch, begin_capture, head_of
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.store.replication.snapshot import digest_of
from vestig.store.sqlite.connections import changing_file
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.testing import HashingEmbedder

Machines = Callable[..., vestig.Vestig]


def later() -> float:
    return time.monotonic() + 30


def rows(store: vestig.Vestig) -> dict[str, list[Any]]:
    """Every row of every table that machines share."""
    with store._session.ledger.read() as view:
        return {
            table: sorted(map(repr, view.connection.execute(f'SELECT * FROM "{table}"')))
            for table in SHARED
            if table != "new_vectors"
        }


def folder_of(store: vestig.Vestig) -> Path:
    found = store._session.directory
    assert found is not None
    return found


def test_machines_hold_equal_rows_whoever_wrote_them(machine: Machines) -> None:
    stores = [machine("a"), machine("b"), machine("c")]
    ids = []
    for number in range(12):
        writer = stores[number % 3]
        ids.append(writer.commit(f"Valve {number} of the north hall is serviced in May").memory_id)
    stores[1].supersede(ids[0], stores[1].commit("Valve 0 is serviced in June now").memory_id)
    stores[2].forget(ids[5])
    stores[0].deprecate(ids[6], reason="sold")
    stores[1].commit("The on-call phone is 4471", key="oncall.phone")
    stores[2].commit("The on-call phone is 4472", key="oncall.phone")
    stores[0].graph.link(ids[1], ids[2], edge_type="RELATED")
    for store in stores:
        store.fresh()
    assert rows(stores[0]) == rows(stores[1]) == rows(stores[2])
    for store in stores:
        assert {one.level for one in store.admin.doctor().findings} <= {"ok", "finding"}
        assert store.get("oncall.phone").content == "The on-call phone is 4472"
        found = [hit.id for hit in store.recall("valve of the north hall", limit=20)]
        assert ids[5] not in found
        assert ids[6] not in found


def test_a_read_lies_behind_no_longer_than_is_allowed(machine: Machines) -> None:
    writer = machine("a")
    lazy = machine("b", config={"fleet.max_staleness_s": 1_000})
    prompt = machine("c", config={"fleet.max_staleness_s": 0})
    writer.commit("The gate opens at seven in the morning")
    assert (lazy.count(), prompt.count()) == (0, 1)
    position = writer.position
    assert lazy.fresh(min_position=position) == position
    assert lazy.count() == 1


def test_a_position_that_is_not_there_is_refused(machine: Machines) -> None:
    store = machine("a")
    store.commit("The gate opens at seven in the morning")
    with pytest.raises(vestig.StoreLockedError, match=r"expected position 9 .* has 2"):
        store.fresh(min_position=9)


def test_a_store_of_one_machine_has_no_position(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        assert (store.position, store.fresh()) == (None, None)


def test_a_copy_is_no_store_of_its_own(machine: Machines, tenant: str) -> None:
    place = folder_of(machine("a"))
    with pytest.raises(vestig.ConflictError, match=f"copy of tenant {tenant}.*postgresql://"):
        vestig.open(place, embedder=HashingEmbedder(64))
    with contextlib.chdir(place.parent), pytest.raises(vestig.ConflictError):
        vestig.open(tenant, embedder=HashingEmbedder(64), read_only=True)


def test_nothing_shows_the_password(server: PostgresServer, machine: Machines) -> None:
    secret = "hunter2-of-the-fleet"
    address = server.address.replace("owner@", f"owner:{secret}@")
    store = machine("a", path=address)
    shown = [repr(store), str(store.admin.doctor())]
    for bad in (address.replace(str(server.port), "1"), f"postgresql://o:{secret}@[::bad/x"):
        with pytest.raises(vestig.VestigError) as caught:
            machine("b", path=bad)
        shown += [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)]
    assert not [text for text in shown if secret in text]


def test_a_store_moves_into_a_tenant_with_all_that_it_holds(
    database: Database, server: PostgresServer, tmp_path: Path
) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        for number in range(30):
            store.commit(f"Customer {number} pays by invoice within {number + 10} days")
        before = rows(store)
    create(database, f"moved-{os.getpid()}", tmp_path / "store")
    config = {"fleet.cache_dir": str(tmp_path / "cache")}
    with vestig.open(
        server.address, tenant=f"moved-{os.getpid()}", config=config, embedder=HashingEmbedder(64)
    ) as copy:
        after = rows(copy)
        assert copy.recall("customer 7 invoice")[0].content.startswith("Customer 7 pays")
    assert after == before


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "Acme", "a/b", "-a", "a" * 64, "a'b", None, 7])
def test_names_of_tenants(name: Any, server: PostgresServer) -> None:
    with pytest.raises(vestig.ValidationError, match="tenant"):
        vestig.open(server.address, tenant=name)


def test_a_tenant_is_named_with_an_address_only(tmp_path: Path) -> None:
    with pytest.raises(vestig.ValidationError, match="postgresql://… where a tenant is named"):
        vestig.open(tmp_path, tenant="acme")


def test_an_unknown_tenant(machine: Machines) -> None:
    with pytest.raises(vestig.NotFoundError, match="nobody"):
        machine("a", tenant="nobody")


def test_a_tenant_that_is_dropped_while_it_is_open(
    machine: Machines, database: Database, tenant: str
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    database.drop(tenant)
    with pytest.raises(vestig.NotFoundError, match=tenant):
        store.count()
    with pytest.raises(vestig.NotFoundError, match=tenant):
        store.commit("This is written for nobody any more")


def in_state(database: Database, tenant: str, state: str, moved_to: str | None = None) -> None:
    with database.session(tenant) as (conn, until):
        sql = "UPDATE vestig.tenants SET state = $2, moved_to = $3 WHERE tenant = $1"
        conn.run_with(sql, (tenant, state, moved_to), until)
        conn.run("COMMIT", until)


def test_a_tenant_that_is_moving_is_read_and_not_written(
    machine: Machines, database: Database, tenant: str
) -> None:
    store, late = machine("a"), machine("b")
    store.commit("The gate opens at seven in the morning")
    in_state(database, tenant, "moving", "postgresql://db2.example:5432/vestig")
    with pytest.raises(vestig.StoreLockedError) as caught:
        store.commit("The gate opens at eight in the morning")
    assert str(caught.value) == (
        f"tenant {tenant}: expected a tenant that takes writes, it is moving to another database;"
        " nothing was written, try again in 5 s"
    )
    late.fresh()
    for one in (store, late, machine("c")):
        assert len(one.recall("when does the gate open?")) == 1
    in_state(database, tenant, "active")
    store.commit("The gate opens at eight in the morning")


@pytest.mark.parametrize("state", ["moved", "arriving"])
def test_a_tenant_that_is_not_here_is_neither_read_nor_written(
    state: str, machine: Machines, database: Database, tenant: str
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    store.commit("The gate opens at seven in the morning")
    moved_to = "postgresql://db2.example:5432/vestig" if state == "moved" else None
    in_state(database, tenant, state, moved_to)
    wanted = {
        "moved": f"tenant {tenant}: expected a tenant of this database, it has moved to {moved_to};"
        " open it there",
        "arriving": f"tenant {tenant}: expected all of it, it is still on its way from another"
        " database; finish its move there, or remove what is here with `vestig tenant drop`",
    }[state]
    calls: list[Callable[[], object]] = [
        store.count,
        store.fresh,
        lambda: store.commit("The gate opens at eight in the morning"),
        lambda: machine("b"),
    ]
    for call in calls:
        with pytest.raises(vestig.StoreLockedError) as caught:
            call()
        assert str(caught.value) == wanted


def test_a_database_without_tables_and_one_of_another_version(
    server: PostgresServer, database: Database, tmp_path: Path
) -> None:
    database.ask("SELECT 1")
    for name, tables in (("bare", False), ("newer", True)):
        with database.connection(later()) as conn:
            conn.run(f"CREATE DATABASE {name}", later())
        address = Address(server.address.removesuffix("postgres") + name)
        other = Database(address, 5.0)
        if tables:
            other.create_tables()
            other.ask("UPDATE vestig.fleet SET version = 99")
            other = Database(address, 5.0)
        wanted = "found version 99" if tables else "vestig fleet init"
        with pytest.raises(vestig.StoreLockedError, match=wanted):
            other.find("acme")


def make_worker(database: Database) -> None:
    """A user `app` who owns nothing."""
    with database.connection(later()) as conn:
        conn.run(
            "DO $$ BEGIN CREATE ROLE app LOGIN IN ROLE vestig_worker;"
            " EXCEPTION WHEN duplicate_object THEN NULL; END $$",
            later(),
        )


def test_a_worker_sees_the_tenants_that_it_names_alone(
    server: PostgresServer, database: Database, tenant: str, machine: Machines
) -> None:
    make_worker(database)
    worker = Database(Address(server.address_of("app")), 5.0)
    with pytest.raises(vestig.StoreLockedError, match="expected the user who owns the tables"):
        worker.tenants()
    assert list(worker.rows([tenant])) == [tenant]
    with worker.session(tenant) as (conn, until):
        seen = conn.run("SELECT count(*) FROM vestig.tenants", until)[0].rows
    assert seen == [(b"1",)]
    store = machine("a", path=server.address_of("app"))
    assert store.commit("A worker that owns nothing wrote this").memory_id
    worker.ask_rewrite(tenant)
    assert "does not own the tables" in worker.rewrite(30)[0]
    worker.close()


# --- damage and other histories -----------------------------------------------------------------


def test_a_change_that_was_altered_is_found_before_it_is_served(
    machine: Machines, database: Database, tenant: str
) -> None:
    writer, reader = machine("a"), machine("b")
    writer.commit("The vault holds nine crates of tea")
    with database.session(tenant) as (conn, until):
        sql = "SELECT position::text, patch FROM vestig.changes WHERE tenant = $1 ORDER BY position"
        position, patch = conn.run_with(sql, (tenant,), until).rows[-1]
        assert patch is not None
        assert b"nine" in patch
        conn.run_with(
            "UPDATE vestig.changes SET patch = $2 WHERE tenant = $1 AND position = $3",
            (tenant, patch.replace(b"nine", b"four"), int(position or 0)),
            until,
        )
        conn.run("COMMIT", until)
    with pytest.raises(vestig.StoreDamagedError, match="altered"):
        reader.fresh()


def test_a_snapshot_that_was_altered_is_refused(
    machine: Machines, database: Database, tenant: str
) -> None:
    with database.session(tenant) as (conn, until):
        conn.run(
            "UPDATE vestig.snapshots SET data = set_byte(data, 20, get_byte(data, 20) # 1)"
            f" WHERE tenant = '{tenant}'; COMMIT",
            until,
        )
    with pytest.raises(vestig.StoreDamagedError, match=r"snapshot .* altered"):
        machine("a")


@pytest.mark.parametrize("harm", ["flip", "cut", "gone"])
def test_a_damaged_copy_is_built_anew(harm: str, machine: Machines) -> None:
    store = machine("a")
    kept = store.commit("The vault holds nine crates of tea").memory_id
    place = folder_of(store)
    store.close()
    ledger = place / LEDGER_FILE
    raw = bytearray(ledger.read_bytes())
    if harm == "flip":
        raw[16:24] = b"\xff" * 8
        ledger.write_bytes(raw)
    elif harm == "cut":
        ledger.write_bytes(raw[:5_000])
    else:
        ledger.unlink()
    again = machine("a")
    again.fresh()
    assert again.show(kept).memory.content == "The vault holds nine crates of tea"


def test_a_failover_that_lost_changes_is_seen(
    machine: Machines, database: Database, tenant: str
) -> None:
    store, other = machine("a", config={"fleet.max_staleness_s": 0}), machine("b")
    store.commit("The vault holds nine crates of tea")
    lost = store.commit("The vault has a second door").memory_id
    with database.session(tenant) as (conn, until):  # the state of a standby that was behind
        at = "SELECT max(position) FROM vestig.changes WHERE tenant = "
        conn.run(
            f"DELETE FROM vestig.changes WHERE position = ({at} '{tenant}');"
            " UPDATE vestig.tenants SET position = position - 1, last_id ="
            " (SELECT id FROM vestig.changes c WHERE c.tenant = vestig.tenants.tenant"
            f" ORDER BY c.position DESC LIMIT 1) WHERE tenant = '{tenant}'; COMMIT",
            until,
        )
    other.commit("The vault was painted green in March")
    result = store.recall("what does the vault hold?")
    assert "copy_rebuilt" in {one.code for one in result.degraded}
    assert lost not in [hit.id for hit in result]
    assert rows(store) == rows(other)


def test_a_writer_whose_copy_is_of_another_history_writes_nothing(
    machine: Machines, database: Database, tenant: str
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 1_000})
    store.commit("The vault holds nine crates of tea")
    with database.session(tenant) as (conn, until):
        conn.run(
            "UPDATE vestig.tenants SET last_id = '\\x00112233445566778899aabbccddeeff'"
            f" WHERE tenant = '{tenant}'; COMMIT",
            until,
        )
    with pytest.raises(vestig.StoreLockedError, match=r"another history.*nothing was written"):
        store.commit("The vault has a second door")


def test_changes_before_the_snapshot_go_and_a_copy_behind_is_built_anew(
    machine: Machines, database: Database, tenant: str
) -> None:
    writer = machine("a", config={"fleet.snapshot_bytes": 20_000})
    late = machine("b")
    for number in range(25):
        writer.commit(f"Crate {number} stands in row {number % 5} of the vault")
    writer.close()
    row = database.find(tenant)
    assert 0 < row.snapshot < row.position + 1
    with database.session(tenant) as (conn, until):
        sql = "SELECT min(position)::text FROM vestig.changes WHERE tenant = $1"
        first = conn.run_with(sql, (tenant,), until).rows[0][0]
    assert int(first or 0) == row.snapshot
    late.fresh()
    assert late.count() == 25
    fresh = machine("c")
    fresh.fresh()
    assert rows(late) == rows(fresh)


def test_a_snapshot_that_is_made_while_another_one_is_read(
    machine: Machines, database: Database, tenant: str
) -> None:
    writer = machine("a")
    writer.commit("The vault holds nine crates of tea")
    assert writer._session.tenant is not None
    with database.snapshot(tenant) as (row, parts):
        first = next(parts)
        assert writer._session.tenant.snapshot(writer._session.ledger)
        assert digest_of([first, *parts]) == row.snapshot_digest
    with database.snapshot(tenant) as (newer, parts):
        assert newer.snapshot > row.snapshot
        assert digest_of(parts) == newer.snapshot_digest


def test_a_snapshot_that_is_made_while_a_copy_takes_one(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, late = machine("a"), machine("b")
    made = writer._session.tenant
    assert made is not None
    writer.commit("Crate 0 stands in row 4 of the vault")
    writer.commit("Crate 1 stands in row 9 of the vault")
    assert made.snapshot(writer._session.ledger)
    writer.commit("Crate 2 stands in row 6 of the vault")
    unpack, taken = copy.unpack, []

    def unpack_and_go_on(*args: Any) -> None:
        unpack(*args)
        taken.append(made.snapshot(writer._session.ledger))

    monkeypatch.setattr(copy, "unpack", unpack_and_go_on)
    late.fresh()
    assert taken == [True, False]
    assert late.count() == 3
    assert rows(late) == rows(writer)


def test_a_store_that_is_copied_down_while_snapshots_are_made(
    machine: Machines,
    database: Database,
    tenant: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    writer = machine("a")
    writer.commit("The vault holds nine crates of tea")
    detach, once = tenants.detach, iter([1])

    def trim_and_detach(*args: Any) -> Any:
        for _ in once:
            writer.commit("The vault has a second door")
            assert writer._session.tenant is not None
            writer._session.tenant.snapshot(writer._session.ledger)
        return detach(*args)

    monkeypatch.setattr(tenants, "detach", trim_and_detach)
    tenants.down(database, tenant, tmp_path / "plain")
    with vestig.open(tmp_path / "plain", embedder=HashingEmbedder(64)) as plain:
        assert plain.count() == 2


def test_a_name_that_is_given_again_is_another_tenant(
    database: Database, server: PostgresServer, tmp_path: Path
) -> None:
    """A machine that missed the end of the first serves nothing of it as the second."""
    name = f"again-{os.getpid()}"
    config = {"fleet.cache_dir": str(tmp_path / "cache")}
    options: dict[str, Any] = {"tenant": name, "config": config, "embedder": HashingEmbedder(64)}
    for text in ("The first one keeps bees", "The second one keeps geese"):
        with vestig.open(tmp_path / text, embedder=HashingEmbedder(64)) as store:
            store.commit(text)
        create(database, name, tmp_path / text)
        with vestig.open(server.address, **options) as copy:
            copy.fresh()
            assert [memory.content for memory in copy.list()] == [text]
            if text.startswith("The first"):
                database.drop(name)
                continue
            assert copy.commit("It keeps a dog as well").memory_id
            assert copy.count() == 2
    database.drop(name)


def test_sessions_that_share_a_copy_build_it_anew_once(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one puts in the place of a copy is what the others go on with."""
    lazy = {"fleet.max_staleness_s": 0}
    stores = [machine("a", config=lazy) for _ in range(3)]
    stores[0].commit("The vault holds nine crates of tea")
    built: list[str] = []
    build = CacheFolders._build

    def counted(folders: CacheFolders, tenant: str) -> None:
        built.append(tenant)
        build(folders, tenant)

    monkeypatch.setattr(CacheFolders, "_build", counted)
    assert stores[0]._session.tenant is not None
    stores[0]._session.tenant.copy.rebuild_reason = "of another history"
    for _ in range(3):
        assert [store.count() for store in stores] == [1, 1, 1]
    assert len(built) == 1
    stores[2].commit("The vault has a second door")
    assert [store.count() for store in stores] == [2, 2, 2]


def test_what_another_process_puts_in_the_place_of_a_copy_is_looked_at_too(
    machine: Machines, database: Database, tenant: str
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    store.commit("The vault holds nine crates of tea")
    place = folder_of(store)
    bad = place.with_name("bad")
    shutil.copytree(place, bad)
    with changing_file(bad / LEDGER_FILE) as conn:
        store_rows.move_upstream(conn, store.position or 0, bytes(16))
    place.rename(place.with_name("away"))
    bad.rename(place)
    assert store.count() == 1
    store.commit("The vault has a second door")
    assert store.count() == 2


# --- upkeep ------------------------------------------------------------------------------------


def test_a_backup_of_a_tenant_is_a_store_of_its_own(machine: Machines, tmp_path: Path) -> None:
    store = machine("a")
    kept = store.commit("The vault holds nine crates of tea").memory_id
    store.admin.backup(tmp_path / "copy")
    with vestig.open(tmp_path / "copy", embedder=HashingEmbedder(64)) as copy:
        assert copy.position is None
        assert not [one for one in copy.admin.doctor().findings if one.level == "damage"]
        copy.commit("The copy goes its own way from here on")
        assert copy.recall("vault crates")[0].id == kept
    assert store.count() == 1


def test_doctor_is_clean_on_a_tenant(machine: Machines) -> None:
    store = machine("a")
    store.commit("The vault holds nine crates of tea")
    assert {one.level for one in store.admin.doctor().findings} == {"ok"}


def test_a_tenant_gets_vectors_of_another_model(machine: Machines) -> None:
    store = machine("a")
    for number in range(5):
        store.commit(f"Crate {number} stands in row {number * 3} of the vault")
    store.close()
    other = HashingEmbedder(128)
    with pytest.raises(vestig.EmbeddingMismatchError):
        machine("a", embedder=other)
    changing = machine("a", embedder=other, change_embedder=True)
    changing.admin.rebuild(embeddings=True)
    changing.close()
    again, there = machine("a", embedder=other), machine("b", embedder=other)
    for one in (again, there):
        assert len(one.recall("crate in the vault", limit=5)) == 5
        assert {finding.level for finding in one.admin.doctor().findings} == {"ok"}
    assert rows(again) == rows(there)


def test_items_and_imports_reach_every_machine(machine: Machines, tmp_path: Path) -> None:
    here, there = machine("a"), machine("b")
    here.items.put("theme", {"dark": True}, scope="ui")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "vault.md").write_text("# Vault\n\nThe vault holds nine crates of tea.\n")
    here.import_(notes, recursive=True)
    there.fresh()
    item = there.items.get("theme", scope="ui")
    assert item is not None
    assert item.value == {"dark": True}
    assert "nine crates" in there.recall("what does the vault hold?")[0].content
    assert rows(here) == rows(there)


def test_threads_build_a_copy_anew_once(
    machine: Machines, database: Database, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    store.commit("The vault holds nine crates of tea")
    assert store._session.tenant is not None
    folders = store._session.tenant.folders
    built: list[str] = []
    build = folders._build
    monkeypatch.setattr(folders, "_build", lambda name: (built.append(name), build(name))[1])
    store._session.tenant.copy.rebuild_reason = "of another history"
    gate = threading.Barrier(4)
    counts: list[int] = []

    def read() -> None:
        gate.wait()
        counts.append(store.count())

    threads = [threading.Thread(target=read) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert counts == [1, 1, 1, 1]
    assert len(built) == 1


def test_a_change_that_leads_to_another_head_of_the_chain_is_refused(machine: Machines) -> None:
    store = machine("a")
    store.commit("The vault holds nine crates of tea")
    empty = begin_capture(apsw.Connection(":memory:")).patchset()
    with store._session.ledger.writer(local=True) as conn:
        apply_patch(conn, empty, head_of(conn), "here")
        with pytest.raises(vestig.StoreDamagedError, match="another chain after a change"):
            apply_patch(conn, empty, bytes(32), "here")


def test_examples_of_the_page_run(
    server: PostgresServer, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    create(database, "acme")
    page = Path(__file__).parents[2] / "docs" / "fleet.md"
    blocks = re.findall(r"^```py\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    address = "postgresql://app@db.example/vestig"
    assert len(blocks) == 2
    for block in blocks:
        assert address in block
        exec(block.replace(address, server.address), {})
    with vestig.open(server.address, tenant="acme") as store:
        assert store.count() == 1
    tenants.drop(database, "acme", lambda _plan: True)
