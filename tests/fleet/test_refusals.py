"""Servers that let nobody in, take no writes, have no room or answer late: each says what was
expected, what came and what to do, and names no password."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vestig
from postgres_server import PostgresServer, find_programs, free_port, other_user
from vestig.fleet.tenants import create
from vestig.store.replication.connection import Address
from vestig.store.replication.postgres import Database
from vestig.testing import HashingEmbedder

SECRET = "hunter2-of-the-fleet"
TEXTS = ("The vault holds nine crates of tea", "The vault has a second door")
Opens = Callable[..., vestig.Vestig]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def strict() -> Iterator[PostgresServer]:
    """A server that asks one user for a password, and another one for TLS."""
    programs = find_programs()
    if programs is None:
        pytest.skip("expected the programs of PostgreSQL (initdb, postgres): none are installed")
    one = PostgresServer(programs)
    database = Database(Address(one.address), 5.0)
    database.create_tables()
    database.ask("CREATE ROLE app LOGIN PASSWORD 'another-one' IN ROLE vestig_worker")
    database.ask("CREATE ROLE stranger LOGIN")
    database.ask("CREATE ROLE tls LOGIN IN ROLE vestig_worker")
    rules = one.data / "pg_hba.conf"
    lines = (
        "host all app 127.0.0.1/32 scram-sha-256",
        "host all tls 127.0.0.1/32 reject",
        rules.read_text(),
    )
    rules.write_text("\n".join(lines))
    one.stop()
    one.start()
    yield one
    one.close()


@pytest.fixture
def tenant(strict: PostgresServer) -> str:
    """The name of a new, empty tenant of that server."""
    name = f"refused-{next(_numbers)}"
    create(Database(Address(strict.address), 5.0), name)
    return name


@pytest.fixture
def opens(strict: PostgresServer, tenant: str, tmp_path: Path) -> Iterator[Opens]:
    """Opens the tenant with another address in its place."""
    opened = []

    def one(address: str = strict.address, **config: object) -> vestig.Vestig:
        keys = {"fleet.cache_dir": str(tmp_path), "store.lock_timeout_s": 2, **config}
        store = vestig.open(address, tenant=tenant, config=keys, embedder=HashingEmbedder(64))
        opened.append(store)
        return store

    yield one
    for store in opened:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "rest", "got"),
    [
        ("app", "postgres", "password authentication failed"),
        ("absent", "postgres", 'role "absent" does not exist'),
        ("owner", "nothing", 'database "nothing" does not exist'),
        ("tls", "postgres", "no encryption"),
        ("owner", "postgres?sslmode=require", "server does not support SSL, but SSL was required"),
    ],
)
def test_a_server_that_lets_nobody_in(
    user: str, rest: str, got: str, strict: PostgresServer, opens: Opens
) -> None:
    with pytest.raises(vestig.StoreLockedError) as caught:
        opens(f"postgresql://{user}:{SECRET}@127.0.0.1:{strict.port}/{rest}")
    said = str(caught.value)
    name = rest.partition("?")[0]
    assert said.startswith(
        f"postgresql://{user}@127.0.0.1:{strict.port}/{name}: expected PostgreSQL to answer and to"
        " let this user in, got "
    )
    assert got in said
    assert said.endswith(
        "; nothing was written: try again, or check the address, the user, the password and sslmode"
    )
    assert SECRET not in said + repr(caught.value.__context__) + repr(caught.value.__cause__)


def test_a_role_without_rights(strict: PostgresServer, opens: Opens) -> None:
    with pytest.raises(vestig.StoreLockedError) as caught:
        opens(strict.address_of(f"stranger:{SECRET}"))
    assert str(caught.value) == (
        f"postgresql://stranger@127.0.0.1:{strict.port}/postgres: expected a user who may do this,"
        " got permission denied for schema vestig; log in as a member of vestig_worker, or as the"
        " one who owns the tables"
    )


def restarted(server: PostgresServer, *settings: str) -> Database:
    """The server after a restart, as a former leader or one that recovers would be."""
    database = Database(Address(server.address), 5.0)
    for one in settings:
        database.ask(one)
    database.close()
    server.stop()
    server.start()
    return Database(Address(server.address), 5.0)


def test_a_former_leader_is_read_and_not_written(strict: PostgresServer, opens: Opens) -> None:
    store = opens(**{"fleet.max_staleness_s": 0})
    kept = store.commit(TEXTS[0]).memory_id
    restarted(strict, "ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        with pytest.raises(vestig.StoreLockedError) as caught:
            store.commit(TEXTS[1], on_near_dup="insert")
        assert str(caught.value) == (
            f"{strict.address}: expected the leading server, this one takes no writes (cannot"
            " execute SELECT FOR UPDATE in a read-only transaction); name the leader, or"
            " target_session_attrs=read-write"
        )
        assert [hit.id for hit in store.recall("what does the vault hold?")] == [kept]
    finally:
        undo = Address(f"{strict.address}?options=-c%20default_transaction_read_only%3Doff")
        Database(undo, 5.0).ask("ALTER DATABASE postgres RESET default_transaction_read_only")
        restarted(strict)
    assert store.commit(TEXTS[1], on_near_dup="insert").memory_id


def test_a_server_without_room_stores_nothing(
    strict: PostgresServer, tenant: str, opens: Opens
) -> None:
    """The statement that writes the change fails as it does where the disk is full: a trigger
    raises the same error."""
    database = Database(Address(strict.address), 5.0)
    store = opens()
    database.ask(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION"
        " 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$"
    )
    database.ask(
        "CREATE TRIGGER full_disk BEFORE INSERT ON vestig.changes"
        " FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    before = database.find(tenant)
    try:
        with pytest.raises(vestig.StoreLockedError) as caught:
            store.commit(TEXTS[0])
        assert str(caught.value) == (
            f"{strict.address}: expected room in PostgreSQL, got could not extend file: No space"
            " left on device; nothing was written"
        )
        assert database.find(tenant) == before
        assert store.count() == 0
    finally:
        database.ask("DROP FUNCTION full_disk CASCADE")
    assert store.commit(TEXTS[0]).memory_id


def test_a_server_that_restarts_is_asked_again(strict: PostgresServer, opens: Opens) -> None:
    store = opens(**{"fleet.max_staleness_s": 0})
    store.commit(TEXTS[0])
    strict.stop()
    with pytest.raises(vestig.StoreLockedError, match=r"expected PostgreSQL to answer"):
        store.commit(TEXTS[1], on_near_dup="insert")
    assert store.count() == 1
    strict.start()
    started = time.monotonic()
    assert store.commit(TEXTS[1], on_near_dup="insert").memory_id
    assert time.monotonic() - started < 10
    assert store.count() == 2


def test_a_pool_that_gives_every_transaction_another_connection(
    strict: PostgresServer, opens: Opens, tmp_path: Path
) -> None:
    """pgbouncer in transaction mode: nothing is prepared, and no session keeps a state."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("expected the program pgbouncer: it is not installed")
    folder, port = strict.folder, free_port()
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\npostgres = host=127.0.0.1 port={strict.port} user=owner\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
        "pool_mode = transaction\ndefault_pool_size = 2\nunix_socket_dir =\n"
    )
    settings.chmod(0o644)
    pool = subprocess.Popen(
        [program, str(settings)], stderr=subprocess.DEVNULL, cwd="/", **other_user()
    )
    try:
        for _ in range(100):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        address = f"postgresql://owner@127.0.0.1:{port}/postgres"
        stores = []
        for name in "abc":
            keys = {"fleet.cache_dir": str(tmp_path / name), "store.lock_timeout_s": 10}
            stores.append(opens(address, **keys))
        ids = [
            store.commit(f"Crate {number} stands in row {number * 3}", on_near_dup="insert")
            for number, store in enumerate(stores * 3)
        ]
        for store in stores:
            store.fresh()
            assert store.count() == len(ids)
        stores[0].forget([one.memory_id or "" for one in ids])
    finally:
        pool.terminate()
        pool.wait()


def test_a_disk_of_copies_that_is_full(strict: PostgresServer, opens: Opens) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mounted = ["mount", "-t", "tmpfs", "-o", "size=96k", "none", folder]
        if (
            os.geteuid() != 0
            or subprocess.run(mounted, check=False, capture_output=True).returncode
        ):
            pytest.skip("expected the right to mount a small file system")
        try:
            with pytest.raises(vestig.StoreFullError, match="expected room to write") as caught:
                opens(**{"fleet.cache_dir": folder})
            assert str(caught.value).startswith(folder)
        finally:
            subprocess.run(["umount", folder], check=True)
