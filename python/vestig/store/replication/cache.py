"""Folders of copies on this machine: built from a snapshot, found again, thrown away."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

import apsw
import msgspec

from vestig.errors import StoreDamagedError
from vestig.private_folder import make_private_folder
from vestig.store.ledger import migrations
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records import settings
from vestig.store.replication.copy import Copy, PositionPoller, apply_changes
from vestig.store.replication.postgres import Database
from vestig.store.replication.rows import ID_BYTES, Place
from vestig.store.replication.snapshot import unpack
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file
from vestig.store.sqlite.statements import damaged

_SERVER_BYTES: Final = 8


class CacheFolders:
    """Copies of the tenants of one database, below a folder of this machine.

    Args:
        root: the folder; copies of several databases may lie in it.
    """

    def __init__(self, root: Path, poller: PositionPoller) -> None:
        self._database = poller.database
        name = blake2b(str(self._database.address).encode(), digest_size=_SERVER_BYTES).hexdigest()
        self.folder = root / name

    def path(self, tenant: str) -> Path:
        """The folder of a copy."""
        return self.folder / tenant

    def open_ledger(self, copy: Copy, *, lock_timeout_s: float, build: bool = False) -> Ledger:
        """The ledger of the copy. It is built from the snapshot where there is none, where it is
        damaged, and where asked.

        Raises:
            NotFoundError: there is no such tenant.
            StoreLockedError: PostgreSQL does not answer, and there is no copy; or the tenant is of
                another schema, or in another database.
            StoreDamagedError: the snapshot is not what was written.
        """
        place = self.path(copy.tenant)
        with self._building(copy.tenant):
            if build or not (place / files.LEDGER_FILE).exists():
                self._build(copy.tenant)
            try:
                ledger = self._open(copy, lock_timeout_s)
            except StoreDamagedError as error:
                copy.report("copy_rebuilt", f"the copy on this machine was damaged: {error}")
                self._build(copy.tenant)
                ledger = self._open(copy, lock_timeout_s)
        copy.follow(ledger)
        return ledger

    def _open(self, copy: Copy, lock_timeout_s: float) -> Ledger:
        return open_ledger(
            self.path(copy.tenant),
            lock_timeout_s=lock_timeout_s,
            durability="normal",
            without_store="refuse",
            upstream=copy,
        )

    @contextmanager
    def _building(self, tenant: str) -> Iterator[None]:
        """One process of this machine at a time."""
        make_private_folder(self.folder)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(self.folder / f".{tenant}.lock", flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _build(self, tenant: str) -> None:
        fresh = self.folder / f".{tenant}.new-{os.urandom(4).hex()}"
        make_private_folder(fresh)
        try:
            with self._database.snapshot(tenant) as (row, parts):
                row.check_readable(migrations.newest_version(migrations.MIGRATIONS))
                unpack(parts, row.snapshot_digest, fresh)
            cache = os.urandom(ID_BYTES)
            ledger = fresh / files.LEDGER_FILE
            self._mark(ledger, tenant, cache)
            # The projection need not be synced: what of it is damaged is made anew.
            files.sync(ledger)
            self.register(tenant, cache, row.snapshot)
            self._discard(tenant)
            os.rename(fresh, self.path(tenant))
            files.sync_folder(self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def register(self, tenant: str, cache: bytes, position: int) -> None:
        """Tells the database of a copy on this machine, and up to which position its files hold
        nothing that was forgotten."""
        self._database.register(tenant, cache, socket.gethostname(), position)

    def _mark(self, path: Path, tenant: str, cache: bytes) -> None:
        """Says in the ledger whose copy it is: an ordinary open refuses it."""
        with changing_file(path, synced=False) as conn:
            row = settings.read_upstream(conn)
            if row is None:
                raise damaged(str(path), "a snapshot that says of no tenant")
            address = str(self._database.address)
            marked = msgspec.structs.replace(row, address=address, tenant=tenant, cache=cache)
            settings.write_upstream(conn, marked)

    def discard(self, tenant: str) -> None:
        """Removes the copy of a tenant that is here no more."""
        with self._building(tenant):
            self._discard(tenant)

    def _discard(self, tenant: str) -> None:
        place = self.path(tenant)
        if not place.exists():
            return
        old = self.folder / f".{tenant}.old-{os.urandom(4).hex()}"
        os.rename(place, old)
        cache = _read_cache(old / files.LEDGER_FILE)
        shutil.rmtree(old)
        if cache is not None:
            self._database.drop_cache(tenant, cache)


def _read_cache(ledger: Path) -> bytes | None:
    """The id of the copy in a file; None where it is too damaged to say."""
    try:
        conn = apsw.Connection(str(ledger), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return None
    try:
        row = settings.read_upstream(conn)
        return None if row is None else row.cache
    except apsw.Error:
        return None
    finally:
        conn.close()


def cache_of(ledger: Ledger) -> bytes:
    """The id of a copy."""
    with ledger.read() as view:
        row = settings.read_upstream(view.connection)
        assert row is not None, "a copy of a tenant says so"
        return row.cache


def detach(path: Path, database: Database, tenant: str) -> Place:
    """Makes the ledger of an unpacked snapshot a store of its own, with all changes of the tenant.

    Raises:
        StoreDamagedError: a change is not what was written.
    """
    with changing_file(path) as conn:
        place = apply_changes(conn, database, tenant)
        settings.write_upstream(conn, None)
    return place
