"""Folders of copies on this machine: built from a snapshot, found again, thrown away."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import apsw
import msgspec

from vestig.errors import SchemaVersionError, StoreDamagedError, StoreLockedError
from vestig.private_folder import make_private_folder
from vestig.store.ledger import migrations
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records import store_rows
from vestig.store.replication.copy import Copy, PositionPoller, apply_changes
from vestig.store.replication.postgres import Database
from vestig.store.replication.rows import ID_BYTES, Place, TenantRow, text_of
from vestig.store.replication.snapshot import FolderLock, is_stale, scratch_folder, unpack
from vestig.store.sqlite import files
from vestig.store.sqlite.connections import changing_file, damaged, room_in

_SERVER_BYTES: Final = 8
# The files of all copies are measured after one was built, and at most so often when one is closed.
_MEASURE_S: Final = 60.0
# Its time says when.
_MEASURED: Final = ".measured"
_REGISTER: Final = (
    "INSERT INTO vestig.caches (tenant, cache, machine, position) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (tenant, cache) DO UPDATE SET machine = excluded.machine,"
    " position = greatest(caches.position, excluded.position), seen = now()"
)
_MACHINES: Final = (
    "SELECT machine || ' at ' || position || ', '"
    " || to_char(seen AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    " FROM vestig.caches WHERE tenant = $1 ORDER BY machine, position"
)


class CacheFolders:
    """Copies of the tenants of one database, below a folder of this machine. A copy that is open in
    any process is locked, shared, by its folder; where one is built or removed, by a file beside
    it, whose time says when it held all that PostgreSQL held.

    Args:
        root: the folder; copies of several databases may lie in it.
        max_bytes: of the files of all copies; those that were used longest ago are removed, unless
            they are open.
    """

    def __init__(self, root: Path, poller: PositionPoller, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._database = poller.database
        name = blake2b(str(self._database.address).encode(), digest_size=_SERVER_BYTES).hexdigest()
        self.folder = root / name

    def path(self, tenant: str) -> Path:
        """The folder of a copy."""
        return self.folder / tenant

    def open_ledger(
        self, copy: Copy, *, lock_timeout_s: float, build: bool = False
    ) -> tuple[Ledger, FolderLock]:
        """The ledger of the copy, and what keeps its files until the ledger is closed. It is
        built from the snapshot where there is none, where it is damaged, and where asked.

        Raises:
            NotFoundError: there is no such tenant.
            StoreLockedError: PostgreSQL does not answer, and there is no copy; or the tenant is in
                another database.
            SchemaVersionError: the tenant is of another schema.
            StoreDamagedError: the snapshot is not what was written.
        """
        place = self.path(copy.tenant)
        with self._building(copy.tenant):
            built = build or not (place / files.LEDGER_FILE).exists() or is_stale(place)
            if built:
                self._build(copy)
            try:
                ledger = self._open(copy, lock_timeout_s)
            except (SchemaVersionError, StoreDamagedError) as error:
                why = str(error).replace(str(place), "the copy")
                other = "damaged" if isinstance(error, StoreDamagedError) else "of another schema"
                copy.report("copy_rebuilt", f"the copy on this machine was {other}: {why}")
                self._build(copy)
                ledger, built = self._open(copy, lock_timeout_s), True
            held = FolderLock(place, fcntl.LOCK_SH)
        copy.follow(ledger)
        if built:
            self._make_room()
        return ledger, held

    def _open(self, copy: Copy, lock_timeout_s: float) -> Ledger:
        place = self.path(copy.tenant)
        ledger = open_ledger(
            place,
            lock_timeout_s=lock_timeout_s,
            durability="normal",
            without_store="refuse",
            upstream=copy,
        )
        if not copy.means(marks_of(ledger).identity):
            ledger.close()
            raise damaged(str(place), "a copy of another tenant that has or had the same name")
        return ledger

    def mark_current(self, tenant: str, moment: float) -> None:
        """Remembers as of when a copy holds all that PostgreSQL held, in seconds since the
        epoch."""
        with suppress(FileNotFoundError):  # somebody has deleted the folder of all copies
            os.utime(self._lock_file(tenant), (moment, moment))

    def last_current(self, tenant: str) -> float:
        """As of when the copy of a tenant is, in seconds since the epoch; 0 where there is none."""
        return _time_of(self._lock_file(tenant))

    def make_room_when_due(self, tenant: str) -> None:
        """Measures the files of all copies now and then, when one of them is closed."""
        if self.last_current(tenant) - _time_of(self.folder / _MEASURED) > _MEASURE_S:
            with suppress(FileNotFoundError):
                self._make_room()

    def _lock_file(self, tenant: str) -> Path:
        return self.folder / f".{tenant}.lock"

    def _building(self, tenant: str, *, wait: bool = True) -> FolderLock:
        """One process of this machine at a time."""
        make_private_folder(self.folder)
        lock = self._lock_file(tenant)
        if not lock.exists():
            lock.touch(0o600)
        return FolderLock(lock, fcntl.LOCK_EX, wait=wait)

    # --- room --------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Removes copies that nobody has open, those that were used longest ago first, until the
        files of all are within bounds; and what processes left that were killed."""
        (self.folder / _MEASURED).touch(0o600)
        sizes = dict(self._measured())
        total = sum(sizes.values())
        for tenant in sorted(sizes, key=self.last_current):
            if total <= self._max_bytes:
                return
            try:
                with self._building(tenant, wait=False), _unused(self.path(tenant)):
                    self._discard(tenant)
            except (BlockingIOError, FileNotFoundError):
                continue  # somebody opens it, has it open, or was first
            except StoreLockedError:
                return  # while PostgreSQL does not answer it cannot forget a copy, which stays
            total -= sizes[tenant]

    def _measured(self) -> Iterator[tuple[str, int]]:
        """Each copy with the bytes that its files take on the disk."""
        now = _time_of(self.folder / _MEASURED)
        with os.scandir(self.folder) as entries:
            folders = [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]
        for folder in folders:
            if not folder.name.startswith("."):
                yield folder.name, _bytes_of(folder)
            elif now - _time_of(folder) > _MEASURE_S:
                with (
                    suppress(BlockingIOError, FileNotFoundError),
                    FolderLock(folder, fcntl.LOCK_EX, wait=False),
                ):
                    shutil.rmtree(folder, ignore_errors=True)

    def _build(self, copy: Copy) -> None:
        tenant = copy.tenant
        with room_in(self.folder), scratch_folder(self.folder) as fresh:
            with self._database.snapshot(tenant) as (row, parts):
                copy.check_identity(row)
                row.check_readable(migrations.newest_version(migrations.MIGRATIONS))
                unpack(parts, row.snapshot_digest, fresh)
            cache = os.urandom(ID_BYTES)
            ledger = fresh / files.LEDGER_FILE
            self._mark(ledger, row, cache)
            # The projection need not be synced: what of it is damaged is made anew.
            files.sync(ledger)
            self.register(tenant, cache, row.snapshot)
            self._discard(tenant)
            os.rename(fresh, self.path(tenant))
            files.sync_folder(self.folder)
            os.utime(self._lock_file(tenant))

    def register(self, tenant: str, cache: bytes, position: int) -> None:
        """Tells the database of a copy on this machine, and up to which position its files hold
        nothing that was forgotten."""
        with self._database.session(tenant) as (conn, deadline):
            conn.run_with(_REGISTER, (tenant, cache, socket.gethostname(), position), deadline)
            conn.run("COMMIT", deadline)

    def _mark(self, path: Path, tenant: TenantRow, cache: bytes) -> None:
        """Says in the ledger whose copy it is: an ordinary open refuses it."""
        with changing_file(path, synced=False) as conn:
            row = store_rows.read_upstream(conn)
            if row is None:
                raise damaged(str(path), "a snapshot that says of no tenant")
            marked = msgspec.structs.replace(
                row,
                address=str(self._database.address),
                tenant=tenant.name,
                identity=tenant.identity,
                cache=cache,
            )
            store_rows.write_upstream(conn, marked)

    def discard(self, tenant: str) -> None:
        """Removes the copy of a tenant that is here no more."""
        with self._building(tenant):
            self._discard(tenant)

    def _discard(self, tenant: str) -> None:
        """Removes the files of a copy, and then its row: of files without one nobody would know."""
        place = self.path(tenant)
        if not place.exists():
            return
        cache = _read_cache(place / files.LEDGER_FILE)
        forgetting = (
            nullcontext() if cache is None else _record_dropped(self._database, tenant, cache)
        )
        with scratch_folder(self.folder) as old, forgetting:
            os.rename(place, old)
            shutil.rmtree(old)


@contextmanager
def _record_dropped(database: Database, tenant: str, cache: bytes) -> Iterator[None]:
    """Drops the record of a copy whose files are gone at the end of the `with` block."""
    with database.session(tenant) as (conn, deadline):
        sql = "DELETE FROM vestig.caches WHERE tenant = $1 AND cache = $2"
        conn.run_with(sql, (tenant, cache), deadline)
        yield
        conn.run("COMMIT", time.monotonic() + database.timeout_s)


def machines_behind(database: Database, tenant: str, position: int) -> tuple[str, ...]:
    """The machines whose copies are not known to have come to a position.

    Raises:
        StoreLockedError: PostgreSQL does not answer.
    """
    with database.session(tenant) as (conn, deadline):
        sql = "SELECT machine FROM vestig.caches WHERE tenant = $1 AND position < $2 ORDER BY 1"
        rows = conn.run_with(sql, (tenant, position), deadline).rows
        return tuple(text_of(row[0]) for row in rows)


def machines_of(database: Database, tenant: str) -> tuple[str, ...]:
    """The machines with copies: how far each is known to have come, and when that was.

    Raises:
        StoreLockedError: PostgreSQL does not answer.
    """
    with database.session(tenant) as (conn, deadline):
        return tuple(text_of(row[0]) for row in conn.run_with(_MACHINES, (tenant,), deadline).rows)


def drop_lost(database: Database, before_us: int) -> int:
    """Drops the records of copies that proved nothing since a time, for a user who owns the tables:
    their machines are gone. Whatever they left of their files is not proved.

    Returns:
        How many.

    Raises:
        StoreLockedError: PostgreSQL does not answer.
    """
    sql = "DELETE FROM vestig.caches WHERE seen < to_timestamp($1::bigint / 1000000.0)"
    return database.ask(sql, (before_us,)).affected


def _unused(folder: Path) -> FolderLock:
    """A lock that nobody else has; `BlockingIOError` where somebody has one."""
    return FolderLock(folder, fcntl.LOCK_EX, wait=False)


def _time_of(path: Path) -> float:
    """When a file was touched, or a folder changed; 0 where it is gone."""
    try:
        return os.lstat(path).st_mtime
    except FileNotFoundError:
        return 0.0


def _bytes_of(folder: Path) -> int:
    """Bytes that the files below a folder take on the disk; those that go meanwhile take none."""
    total = 0
    for around, _folders, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(around, name)).st_blocks * 512
    return total


def _read_cache(ledger: Path) -> bytes | None:
    """The id of the copy in a file; None where it is too damaged to say."""
    try:
        conn = apsw.Connection(str(ledger), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return None
    try:
        row = store_rows.read_upstream(conn)
        return None if row is None else row.cache
    except apsw.Error:
        return None
    finally:
        conn.close()


def marks_of(ledger: Ledger) -> store_rows.UpstreamRow:
    """Return whose copy a ledger is."""
    with ledger.read() as view:
        row = store_rows.read_upstream(view.connection)
        assert row is not None, "a copy of a tenant says so"
        return row


def detach(path: Path, database: Database, tenant: str) -> Place:
    """Makes the ledger of an unpacked snapshot a store of its own, with all changes of the tenant.

    Raises:
        StoreDamagedError: a change is not what was written.
    """
    with changing_file(path) as conn:
        place = apply_changes(conn, database, tenant)
        store_rows.write_upstream(conn, None)
    return place
