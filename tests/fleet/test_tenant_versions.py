"""Workers of two versions: a tenant has one ledger schema, and only workers that write it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import apsw
import pytest
from test_tenants import in_state, rows

import vestig
from served import serving_store
from vestig.fleet.tenants import migrate
from vestig.store.ledger import migrations
from vestig.store.ledger.migrations import Migration
from vestig.store.replication.postgres import Database

Machines = Callable[..., vestig.Vestig]
NOW = migrations.newest_version(migrations.MIGRATIONS)
TEXTS = [f"Crate {number} stands in row {number * 3} of the vault" for number in range(5)]


def add_table(conn: apsw.Connection) -> None:
    conn.execute("CREATE TABLE extra (x INTEGER PRIMARY KEY) STRICT")
    conn.execute("INSERT INTO extra SELECT count(*) FROM memories")


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Makes this process one of the next version, or of this one again."""
    next_steps = (*migrations.MIGRATIONS, Migration(NOW + 1, add_table))

    def change(to_newer: bool) -> None:
        steps = next_steps if to_newer else next_steps[:-1]
        monkeypatch.setattr(migrations, "MIGRATIONS", steps)

    return change


Newer = Callable[[bool], None]


def refusal(tenant: str, writes: int, has: int) -> str:
    advice = f"; use the version of vestig that writes schema version {has}"
    if has < writes:
        advice += f", or raise it with `vestig tenant migrate {tenant}`"
    return (
        f"tenant {tenant}: expected a ledger of schema version {writes}, found version"
        f" {has}{advice}"
    )


def refuses(call: Callable[[], object]) -> str:
    with pytest.raises(vestig.SchemaVersionError) as caught:
        call()
    return str(caught.value)


def test_a_worker_of_another_version_is_refused_until_the_tenant_is_migrated(
    machine: Machines, database: Database, tenant: str, newer: Newer
) -> None:
    old = machine("a", config={"fleet.max_staleness_s": 0})
    for text in TEXTS:
        old.commit(text, on_near_dup="insert")
    before, position = rows(old), database.find(tenant).position
    newer(True)
    wanted = refusal(tenant, NOW + 1, NOW)
    assert refuses(lambda: machine("b")) == wanted
    assert refuses(lambda: machine("a")) == wanted
    assert refuses(lambda: list(database.changes(tenant, 0, b"", NOW + 1))) == wanted
    newer(False)
    assert old.count() == len(TEXTS)
    newer(True)
    report = migrate(database, tenant)
    assert (report.ledger_schema, report.position) == (NOW + 1, position + 1)
    assert (report.snapshot, report.change_bytes) == (position + 1, 0)
    assert migrate(database, tenant) == report
    # the files of the earlier schema are not migrated here, but made anew
    again, there = machine("a"), machine("b")
    for store in (again, there):
        store.fresh()
        assert rows(store) == before
        with store._session.ledger.read() as view:
            found = view.connection.execute("SELECT x FROM extra").fetchall()
        assert found == [(len(TEXTS),)]
        assert not [one for one in store.admin.doctor().findings if one.level == "damage"]
    again.commit("Crate 98 is new", on_near_dup="insert")
    there.commit("Crate 99 is new", on_near_dup="insert")
    again.fresh()
    assert rows(again) == rows(there)
    newer(False)
    wanted = refusal(tenant, NOW, NOW + 1)
    assert refuses(lambda: old.count()) == wanted  # noqa: PLW0108 - the message is that of a call
    assert refuses(lambda: old.commit("Crate 99 is lost")) == wanted
    assert refuses(lambda: machine("c")) == wanted
    assert refuses(lambda: migrate(database, tenant)) == wanted


def test_over_http_both_numbers_are_named(machine: Machines, tenant: str, newer: Newer) -> None:
    store = machine("a", config={"fleet.max_staleness_s": 0})
    with serving_store(store) as served:
        newer(True)
        for answer in (
            served.get("count"),
            served.post("commit", {"content": "The north gate opens at seven"}),
        ):
            assert (answer.status, answer.code) == (503, "schema-version")
            assert answer.document["detail"] == refusal(tenant, NOW + 1, NOW)


@pytest.mark.parametrize("state", ["moving", "moved", "arriving"])
def test_only_a_tenant_that_is_here_is_migrated(
    state: str, database: Database, tenant: str, newer: Newer
) -> None:
    in_state(database, tenant, state, "postgresql://db2.example:5432/vestig")
    newer(True)
    with pytest.raises(vestig.StoreLockedError, match=r"moving|has moved|on its way"):
        migrate(database, tenant)
    assert database.find(tenant).schema == NOW


KILLED = """
import os, signal, sys
from vestig.fleet.tenants import migrate
from vestig.store.ledger import migrations
from vestig.store.replication.connection import Address, Connection
from vestig.store.replication.postgres import Database

address, tenant, version, where = sys.argv[1:]

def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def step(conn):
    conn.execute("CREATE TABLE extra (x INTEGER PRIMARY KEY) STRICT")
    if where == "in the step":
        end()

run = Connection.run

def ends_before_commit(self, statements, deadline):
    if statements == "COMMIT":
        end()
    return run(self, statements, deadline)

if where == "before the commit":
    Connection.run = ends_before_commit
if where == "in the rows":
    Database._insert_parts = end
migrations.MIGRATIONS = (migrations.Migration(int(version), step),)
migrate(Database(Address(address), 5.0), tenant)
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["in the step", "in the rows", "before the commit"])
def test_a_migration_that_is_killed_changes_nothing(
    where: str, machine: Machines, database: Database, tenant: str, newer: Newer
) -> None:
    old = machine("a")
    for text in TEXTS[:-1]:
        old.commit(text, on_near_dup="insert")
    before = database.find(tenant)
    words = [sys.executable, "-c", KILLED, str(database.address), tenant, str(NOW + 1), where]
    assert subprocess.run(words, check=False, timeout=60).returncode == -signal.SIGKILL
    assert database.find(tenant) == before
    old.commit(TEXTS[-1], on_near_dup="insert")
    held = rows(old)
    newer(True)
    assert migrate(database, tenant).ledger_schema == NOW + 1
    store = machine("b")
    assert rows(store) == held
