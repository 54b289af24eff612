"""A tenant moves to another database, whatever ends the command that moves it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_tenants import rows

import vestig
from postgres_server import PostgresServer
from vestig.fleet.move import abandon, move
from vestig.fleet.tenants import create
from vestig.fleet.tokens import add_token, list_tokens
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database

Machines = Callable[..., vestig.Vestig]
TEXTS = [f"Customer {number} pays by invoice within {number + 10} days" for number in range(6)]


@pytest.fixture
def elsewhere(server: PostgresServer, database: Database) -> Iterator[Database]:
    """Another database of the server."""
    name = f"other_{os.getpid()}"
    address = Address(server.address.removesuffix("postgres") + name)
    if not database.ask("SELECT 1 FROM pg_database WHERE datname = $1", (name,)).rows:
        database.ask(f"CREATE DATABASE {name}")
    one = Database(address, 5.0)
    one.create_tables()
    yield one
    one.close()


def is_there(store: vestig.Vestig) -> bool:
    store.fresh()
    clean = not [one for one in store.admin.doctor().findings if one.level == "damage"]
    return clean and sorted(one.content for one in store.list(limit=99)) == sorted(TEXTS)


def test_a_tenant_moves_with_all_that_it_holds(
    machine: Machines, database: Database, elsewhere: Database, tenant: str, tmp_path: Path
) -> None:
    here = machine("a", config={"fleet.max_staleness_s": 0})
    for text in TEXTS[:3]:
        here.commit(text)
    assert here._session.tenant is not None
    here._session.tenant.snapshot(here._session.ledger)
    for text in TEXTS[3:]:
        here.commit(text, on_near_dup="insert")
    before, position = rows(here), here.position
    add_token(database, tenant, label="kiosk")
    report = move(database, tenant, elsewhere)
    assert [one.label for one in list_tokens(elsewhere, tenant)] == ["kiosk"]
    where = elsewhere.address.without_user
    assert (report.state, report.moved_to, report.position) == ("moved", where, position)
    there = machine("b", path=str(elsewhere.address))
    assert is_there(there)
    assert rows(there) == before
    assert there.position == position
    there.commit("Customer 99 pays cash")
    with database.session(tenant) as (conn, until):
        for table in ("changes", "snapshots"):
            sql = f"SELECT count(*)::text FROM vestig.{table} WHERE tenant = $1"
            assert conn.run_with(sql, (tenant,), until).rows == [(b"0",)]
    with pytest.raises(vestig.StoreLockedError, match=rf"it has moved to {re.escape(where)}; open"):
        here.count()
    # a worker that hears of it keeps no copy of what lies elsewhere now
    assert not list((tmp_path / "a").rglob("ledger.sqlite"))
    assert move(database, tenant, elsewhere).state == "moved"
    assert there.count() == len(TEXTS) + 1


def test_a_tenant_moves_there_and_back(
    machine: Machines, database: Database, elsewhere: Database, tenant: str
) -> None:
    store = machine("a")
    for text in TEXTS[:3]:
        store.commit(text)
    store.close()
    move(database, tenant, elsewhere)
    there = machine("b", path=str(elsewhere.address))
    for text in TEXTS[3:]:
        there.commit(text, on_near_dup="insert")
    there.close()
    assert move(elsewhere, tenant, database).moved_to == database.address.without_user
    assert is_there(machine("a"))
    left = machine("b", path=str(elsewhere.address))
    with pytest.raises(vestig.StoreLockedError, match="has moved to"):
        left.count()


# --- what is refused ---------------------------------------------------------------------------


def test_a_name_that_is_taken_there_changes_nothing(
    machine: Machines, database: Database, elsewhere: Database, tenant: str
) -> None:
    create(elsewhere, tenant)
    for to in (elsewhere, database):
        with pytest.raises(vestig.ConflictError) as caught:
            move(database, tenant, to)
        assert str(caught.value).startswith(
            f"tenant {tenant}: expected a name that is free in {to.address}, there is a tenant of"
            " this name, which is active; nothing was changed"
        )
    machine("a").commit(TEXTS[0])


def test_a_database_that_cannot_take_it_changes_nothing(
    machine: Machines, database: Database, server: PostgresServer, tenant: str
) -> None:
    nowhere = Database(Address("postgresql://owner:hunter2@127.0.0.1:1/postgres"), 1.0)
    bare = Database(Address(server.address.removesuffix("postgres") + "template1"), 2.0)
    for to, wanted in ((nowhere, "expected PostgreSQL to answer"), (bare, "vestig fleet init")):
        with pytest.raises(vestig.StoreLockedError, match=wanted) as caught:
            move(database, tenant, to)
        assert "hunter2" not in str(caught.value)
    assert database.find(tenant).state == "active"
    machine("a").commit(TEXTS[0])


def test_an_unknown_tenant_does_not_move(database: Database, elsewhere: Database) -> None:
    with pytest.raises(vestig.NotFoundError, match="nobody"):
        move(database, "nobody", elsewhere)


def test_one_that_moves_elsewhere_goes_on_there_alone(
    database: Database, elsewhere: Database, tenant: str
) -> None:
    database.set_state(tenant, "active", "moving", moved_to="postgresql://db9.example:5432/v")
    with pytest.raises(vestig.ConflictError, match=r"db9\.example.*--abandon"):
        move(database, tenant, elsewhere)
    assert abandon(database, tenant).state == "active"


# --- ends in between ---------------------------------------------------------------------------

MOVER = """
import os, signal, sys
from pathlib import Path
from vestig.fleet import move as moving
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database

here, there, tenant, step, number = sys.argv[1:]
owner = moving if hasattr(moving, step) else Database
original, seen = getattr(owner, step), 0

def wrapped(*args, **options):
    global seen
    seen += 1
    if number == f"before {seen}":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*args, **options)
    if number == f"after {seen}":
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, step, wrapped)
moving.move(Database(Address(here), 5.0), tenant, Database(Address(there), 5.0))
"""
# step of the move, and which state its end leaves here and there
STEPS = [
    ("set_state", "before 1", "active", None),
    ("set_state", "after 1", "moving", None),
    ("_insert_tenant", "after 1", "moving", None),
    ("_rows_of", "before 2", "moving", None),
    ("receive", "after 1", "moving", "arriving"),
    ("_contents", "after 1", "moving", "arriving"),
    ("set_state", "before 2", "moving", "arriving"),
    ("set_state", "after 2", "moved", "arriving"),
    ("set_state", "before 3", "moved", "arriving"),
    ("set_state", "after 3", "moved", "active"),
    ("_delete_history", "after 1", "moved", "active"),
    ("drop_moved", "after 1", "moved", "active"),
]


def killed(database: Database, elsewhere: Database, tenant: str, step: str, number: str) -> None:
    words = [sys.executable, "-c", MOVER, database.address.dsn, elsewhere.address.dsn, tenant]
    done = subprocess.run([*words, step, number], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_move_that_is_killed_goes_on(
    step: tuple[str, str, str, str | None],
    machine: Machines,
    database: Database,
    elsewhere: Database,
    tenant: str,
) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    for text in TEXTS:
        store.commit(text, on_near_dup="insert")
    before = rows(store)
    killed(database, elsewhere, tenant, *step[:2])
    here, there = step[2:]
    assert database.find(tenant).state == here
    found = elsewhere.rows([tenant]).get(tenant)
    assert (None if found is None else found.state) == there
    if here == "moving":
        assert len(store.list(limit=99)) == len(TEXTS)
        with pytest.raises(vestig.StoreLockedError, match="is moving to another database"):
            store.commit("Customer 99 pays cash")
    assert move(database, tenant, elsewhere).state == "moved"
    copy = machine("b", path=str(elsewhere.address))
    assert is_there(copy)
    assert rows(copy) == before
    copy.commit("Customer 99 pays cash")


@pytest.mark.slow
@pytest.mark.parametrize("step", [step for step in STEPS if step[2] == "moving"])
def test_a_move_that_is_abandoned_takes_writes_where_it_is(
    step: tuple[str, str, str, str | None],
    machine: Machines,
    database: Database,
    elsewhere: Database,
    tenant: str,
) -> None:
    store = machine("a")
    for text in TEXTS[:3]:
        store.commit(text)
    killed(database, elsewhere, tenant, *step[:2])
    assert abandon(database, tenant).state == "active"
    for text in TEXTS[3:]:
        store.commit(text, on_near_dup="insert")
    if step[3] is not None:
        with pytest.raises(vestig.ConflictError, match=f"vestig tenant drop {tenant} --store"):
            move(database, tenant, elsewhere)
        elsewhere.drop(tenant)
    move(database, tenant, elsewhere)
    assert is_there(machine("b", path=str(elsewhere.address)))


def test_only_what_is_moving_can_be_abandoned(
    database: Database, elsewhere: Database, tenant: str
) -> None:
    with pytest.raises(vestig.ConflictError, match="one that is moving, it is active; nothing"):
        abandon(database, tenant)
    move(database, tenant, elsewhere)
    with pytest.raises(vestig.ConflictError, match=r"it is moved to .*; move it back from there"):
        abandon(database, tenant)


def test_a_copy_that_was_altered_on_its_way_is_not_taken(
    machine: Machines, database: Database, elsewhere: Database, tenant: str
) -> None:
    store = machine("a")
    for text in TEXTS:
        store.commit(text, on_near_dup="insert")
    killed(database, elsewhere, tenant, "receive", "after 1")
    with elsewhere.session(tenant) as (conn, until):
        sql = "UPDATE vestig.changes SET patch = set_byte(patch, 9, 0) WHERE tenant = $1"
        conn.run_with(sql, (tenant,), until)
        conn.run("COMMIT", until)
    with pytest.raises(
        vestig.StoreDamagedError, match=r"altered.*is removed there\. .*still moving.*--abandon"
    ):
        move(database, tenant, elsewhere)
    assert database.find(tenant).state == "moving"
    move(database, tenant, elsewhere)
    assert is_there(machine("b", path=str(elsewhere.address)))


def test_another_tenant_of_the_name_is_not_taken_for_it(
    machine: Machines, database: Database, elsewhere: Database, tenant: str
) -> None:
    store = machine("a")
    for text in TEXTS:
        store.commit(text, on_near_dup="insert")
    killed(database, elsewhere, tenant, "set_state", "after 2")
    elsewhere.drop(tenant)
    create(elsewhere, tenant)
    other: dict[str, Any] = {"path": str(elsewhere.address)}
    machine("c", **other).commit("This is another company")
    with pytest.raises(vestig.ConflictError, match=r"expected it in .* as it moved there"):
        move(database, tenant, elsewhere)
    elsewhere.drop(tenant)
    move(database, tenant, elsewhere)
    assert is_there(machine("b", **other))
