"""A session on a tenant: its copy on this machine, kept up to date between calls."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from vestig.arguments import is_address
from vestig.config.environment import cache_directory
from vestig.config.files import without_tilde
from vestig.config.schema import Settings
from vestig.errors import (
    Description,
    ForgetIncompleteError,
    StoreDamagedError,
    StoreLockedError,
    ValidationError,
    VestigError,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.store.erasure import OUTSIDE, ErasureProof, finish
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.records import store_rows
from vestig.store.replication.cache import CacheFolders, machines_behind, marks_of
from vestig.store.replication.connection import Address
from vestig.store.replication.copy import Copy, CopyRules, PositionPoller
from vestig.store.replication.postgres import Database
from vestig.store.replication.rows import check_tenant
from vestig.store.replication.snapshot import FolderLock, pack, scratch_folder
from vestig.store.sqlite.connections import room_in

# Of this process, by address and time limit: one poll asks for all open tenants of a database.
_pollers: Final[weakref.WeakValueDictionary[tuple[str, float], PositionPoller]] = (
    weakref.WeakValueDictionary()
)
_lock: Final = threading.Lock()
# A path, which names no password.
_PLAIN: Final = lazy_pattern(r"[\w./~ -]*")
# Rewriting a table takes its tenants' turn to write; a large one is left to `vestig fleet doctor`.
_REWRITE_LIMIT_S: Final = 10.0
_HISTORY_WAIT_S: Final = 30.0
# So often an open copy remembers as of when it is, for the next process.
_MARK_S: Final = 30.0
_HISTORY_POLL_S: Final = 0.1
_OUTSIDE: Final = (
    f"{OUTSIDE}. Standbys, backups and the write-ahead log of PostgreSQL keep it until their own"
    " retention ends"
)


def tenant_name(tenant: object) -> str:
    """The name of a tenant.

    Raises:
        ValidationError: it is none, or none is named.
    """
    if tenant is None:
        raise ValidationError(
            "tenant",
            None,
            "the name of one, for the store is an address of PostgreSQL",
            f"name it with {by_caller('tenant=…', '--tenant')} or store.tenant;"
            " `vestig tenant list` shows all",
        )
    try:
        return check_tenant(tenant)
    except ValueError as error:
        raise ValidationError("tenant", tenant, str(error)) from None


def poller_of(settings: Settings, path: str | None = None) -> PositionPoller:
    """The one object of this process that asks a database for positions: the one that `store.path`
    names, or another path in its place.

    Raises:
        ConfigError: the address cannot be read.
        ValidationError: it names a folder.
    """
    named = settings.store.path if path is None else path
    if not is_address(named):
        # what is meant as an address may name a password
        raise ValidationError(
            "store" if path is None else "to",
            named
            if _PLAIN.fullmatch(str(named))
            else Description("a text that may name a password"),
            "an address of PostgreSQL, postgresql://user@host/database",
        )
    address, timeout_s = Address(named), max(1.0, settings.store.lock_timeout_s)
    with _lock:
        found = _pollers.get((address.dsn, timeout_s))
        if found is None:
            found = _pollers[address.dsn, timeout_s] = PositionPoller(Database(address, timeout_s))
        return found


def cache_folder(configured: str | None) -> Path:
    """The folder of this machine's copies: `fleet.cache_dir`, or one in the user's cache folder."""
    if configured is None:
        return Path(cache_directory()) / "tenants"
    return Path(without_tilde(configured, "fleet.cache_dir"))


class TenantCopy:
    """The copy of a tenant that a session reads and writes.

    Args:
        path: of PostgreSQL, `postgresql://…`.
        open_keeper: makes the projection of a ledger in a folder.
        identity: of the tenant that is meant, where another one may have its name; by default any.
    """

    def __init__(
        self,
        path: str,
        tenant: object,
        settings: Settings,
        open_keeper: Callable[[Ledger, Path], ProjectionKeeper],
        identity: bytes | None = None,
    ) -> None:
        fleet, self._lock_timeout_s = settings.fleet, settings.store.lock_timeout_s
        name = tenant_name(tenant)
        self._poller = poller_of(settings, path)
        self.folders = CacheFolders(
            cache_folder(fleet.cache_dir), self._poller, fleet.max_cache_bytes
        )
        rules = CopyRules(max_staleness_s=fleet.max_staleness_s, max_offline_s=fleet.max_offline_s)
        self.copy = Copy(self._poller, name, rules, identity)
        self.snapshot_bytes = fleet.snapshot_bytes
        self._open_keeper = open_keeper
        self._changing = threading.Lock()
        self._opened: tuple[Ledger, ProjectionKeeper] | None = None
        # keeps the files of the copy
        self._held: FolderLock | None = None
        self._snapshotting: threading.Thread | None = None
        self._marked_s = time.monotonic()

    @property
    def directory(self) -> Path:
        """The folder of the copy."""
        return self.folders.path(self.copy.tenant)

    @property
    def text(self) -> str:
        """How errors and `repr` name it."""
        return f"{self._poller.database.address} tenant={self.copy.tenant}"

    def open(self, *, build: bool = False) -> tuple[Ledger, ProjectionKeeper]:
        """The ledger and the projection of the copy."""
        ledger, held = self.folders.open_ledger(
            self.copy, lock_timeout_s=self._lock_timeout_s, build=build
        )
        with ExitStack() as opened:
            opened.callback(held.close)
            opened.callback(ledger.close)
            try:
                keeper = self._open_keeper(ledger, self.directory)
                keeper.check_history()
            except StoreDamagedError:
                if build:
                    raise
                opened.close()
                return self.open(build=True)
            opened.pop_all()
        if self._held is not None:
            self._held.close()
        self._held = held
        self.copy.age_s = time.time() - self.folders.last_current(self.copy.tenant)
        self.copy.report_to(keeper.report, keeper.withdraw)
        self._opened = ledger, keeper
        return ledger, keeper

    def refresh(
        self, ledger: Ledger, min_position: int | None = None
    ) -> tuple[Ledger, ProjectionKeeper] | None:
        """Brings the copy up to date before a call.

        Returns:
            Another ledger and projection in the place of these, where the copy had to be built
            anew; else None.

        Raises:
            StoreLockedError: PostgreSQL has not answered for too long.
            NotFoundError: the tenant is gone.
        """
        reason = self._follow(ledger, min_position)
        if reason:
            with self._changing:
                if self._opened is None or self._opened[0] is ledger:
                    # one that another process has put in its place is taken as it is
                    fresh = self.open(build=not ledger.moved)
                    self.copy.rebuild_reason = ""
                    if self._follow(fresh[0], min_position):
                        fresh[1].close()
                        fresh[0].close()
                        fresh = self.open(build=True)
                        self.copy.rebuild_reason = ""
                        self.copy.refresh(min_position)
                    self.copy.report("copy_rebuilt", f"the copy on this machine was {reason}")
                    return fresh
        # another thread may have built it
        return None if self._opened is None or self._opened[0] is ledger else self._opened

    def _follow(self, ledger: Ledger, min_position: int | None) -> str:
        """Why the copy has to be built anew; "" where it is up to date."""
        copy = self.copy
        if copy.rebuild_reason or ledger.moved:
            return copy.rebuild_reason or "moved or deleted"
        try:
            copy.refresh(min_position)
            if time.monotonic() - self._marked_s > _MARK_S:
                self._mark_current()
        except (LookupError, StoreDamagedError, StoreLockedError) as error:
            if copy.is_elsewhere:
                self.folders.discard(copy.tenant)
            if not copy.rebuild_reason:
                raise
            return str(error)
        return copy.rebuild_reason

    # --- snapshots, and what was forgotten -------------------------------------------------------

    def snapshot(self, ledger: Ledger, *, proved: int = 0) -> bool:
        """Makes the snapshot of the tenant anew from this copy, and drops the changes before it;
        False where another worker was first. `proved`: see `pack`.

        Raises:
            StoreLockedError: PostgreSQL does not answer.
            StoreDamagedError: the copy is not what was written.
        """
        opened = self._opened
        if opened is not None and opened[0] is ledger:
            opened[1].publish()
        folder = self.folders.folder
        with room_in(folder), scratch_folder(folder) as scratch:
            place, parts, digest = pack(ledger, self.directory, scratch, proved=proved)
        return self._poller.database.replace_snapshot(
            self.copy.tenant, place.position, place.last_id, digest, parts
        )

    def snapshot_when_due(self, ledger: Ledger) -> None:
        """Makes a snapshot in the background when there are enough changes after the last one."""
        if self.copy.change_bytes < self.snapshot_bytes:
            return
        with self._changing:
            if self._snapshotting is not None and self._snapshotting.is_alive():
                return
            self.copy.change_bytes = 0
            self._snapshotting = threading.Thread(
                target=self._snapshot, args=(ledger,), name="vestig-snapshot", daemon=True
            )
            self._snapshotting.start()

    def _snapshot(self, ledger: Ledger) -> None:
        try:
            self.snapshot(ledger)
        except VestigError as error:
            # The changes stay, so nothing is lost; a later write makes it due again.
            self.copy.report("snapshot_failed", str(error))

    def erase_forgotten_elsewhere(self, ledger: Ledger, keeper: ProjectionKeeper) -> None:
        """Erases from the files of this copy what another machine has forgotten, and says so."""
        position = self.copy.position
        with ledger.read() as view:
            waiting = store_rows.unproved_count(view.connection)
        if not waiting:
            return
        try:
            finish(
                ledger,
                keeper,
                timeout_s=self._lock_timeout_s,
                proved=lambda count: self._record_or_go_on(ledger, position, count),
            )
        except (OSError, VestigError) as error:
            self.copy.report("forget_incomplete", str(error))

    def _record_or_go_on(self, ledger: Ledger, position: int, proved: int) -> None:
        """Records a proof. A process that has ended before it may have been the one that forgot:
        what it had left to do in PostgreSQL is done."""
        if self.copy.left_open:
            self._drop_history(ledger, position, proved)
            self.copy.left_open = False
        else:
            self.record_proof(ledger, position)

    def record_proof(self, ledger: Ledger, position: int) -> None:
        """Records that the files of this copy hold nothing that was forgotten up to a position.

        Raises:
            StoreLockedError: PostgreSQL does not answer.
        """
        self.folders.register(self.copy.tenant, marks_of(ledger).cache, position)

    def erase_history(self, ledger: Ledger, position: int, proved: int) -> ErasureProof:
        """After so many forgettings up to a position that are proved here: removes the changes and
        snapshots that hold the text, and says which machines have not proved theirs yet, and where
        it may still stand.

        Raises:
            ForgetIncompleteError: PostgreSQL keeps what was forgotten, or does not answer.
        """
        database = self._poller.database
        try:
            self._drop_history(ledger, position, proved)
            left = database.rewrite(_REWRITE_LIMIT_S)
            machines = machines_behind(database, self.copy.tenant, position)
        except (OSError, VestigError) as error:
            raise ForgetIncompleteError(
                f"tenant {self.copy.tenant}: expected the database to drop what was forgotten, got:"
                f" {error}. The memories are deleted; run `vestig memory forget --finish`"
            ) from error
        if left:
            pages = f"pages of PostgreSQL, until `vestig fleet doctor` ({'; '.join(left)})"
            return ErasureProof(machines_open=machines, outside=f"{_OUTSIDE}; {pages}")
        return ErasureProof(machines_open=machines, outside=_OUTSIDE)

    def _drop_history(self, ledger: Ledger, position: int, proved: int) -> None:
        self.record_proof(ledger, position)
        self._replace_history(ledger, position, proved)
        self._poller.database.ask_rewrite(self.copy.tenant)

    def _replace_history(self, ledger: Ledger, position: int, proved: int) -> None:
        """Makes a snapshot of this position or a later one, or waits for that of another worker.

        Raises:
            StoreLockedError: PostgreSQL does not answer, or there is none before the deadline.
        """
        deadline = time.monotonic() + max(self._lock_timeout_s, _HISTORY_WAIT_S)
        while not self.snapshot(ledger, proved=proved):
            if self._poller.database.find(self.copy.tenant).snapshot >= position:
                return
            if time.monotonic() > deadline:
                raise StoreLockedError(
                    "another worker makes a snapshot of an older state, and has not ended"
                )
            time.sleep(_HISTORY_POLL_S)

    def _mark_current(self) -> None:
        self._marked_s = time.monotonic()
        self.folders.mark_current(self.copy.tenant, time.time() - self.copy.age_s)

    def end_following(self) -> None:
        """The copy follows no more; waits for a snapshot that is being made."""
        self.copy.close()
        if self._snapshotting is not None:
            self._snapshotting.join()

    def close(self) -> None:
        """Lets go of the files, after ledger and projection are closed."""
        if self._held is not None:
            self._held.close()
        self._mark_current()
        self.folders.make_room_when_due(self.copy.tenant)
