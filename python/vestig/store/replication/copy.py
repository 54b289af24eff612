"""A ledger that is a copy of a tenant: how it writes, and how it follows what others wrote."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw
import msgspec

from vestig.errors import (
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
)
from vestig.store.ledger import migrations
from vestig.store.ledger.ledger import Ledger
from vestig.store.records import store_rows
from vestig.store.replication.capture import (
    apply_patch,
    begin_capture,
    head_of,
    read_place,
)
from vestig.store.replication.connection import Connection, ConnectionLostError, RefusedError
from vestig.store.replication.postgres import Database, SnapshotIsNewerError
from vestig.store.replication.rows import ID_BYTES, Change, Place, TenantRow
from vestig.store.replication.snapshot import difference, mark_stale, scratch_folder, unpack
from vestig.store.sqlite.connections import room_in, store_faults

# A change is one message of a database, held in memory on both sides.
_CHANGE_BYTES_MAX: Final = 512 << 20
_RETRY_S: Final = 0.05
# While PostgreSQL does not answer, so long after one poll comes the next, at most.
_AWAY_PAUSE_S: Final = 10.0
_LOCK_NOT_AVAILABLE: Final = "55P03"
# Degradations of a copy that is not up to date: PostgreSQL is away, or it cannot be written.
_AWAY: Final = "upstream_away"
_STUCK: Final = "copy_behind"
_BEHIND: Final = (_AWAY, _STUCK)


class CopyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a copy follows its tenant, in seconds.

    Attributes:
        max_staleness_s: how old an answer may be.
        max_offline_s: for how long reads go on while PostgreSQL does not answer.
    """

    max_staleness_s: float = 1.0
    max_offline_s: float = 3600.0


class _Behind(msgspec.Struct, frozen=True):
    """Why a copy is not up to date: the code and the reason of a degradation, and the error."""

    code: str
    reason: str
    failure: str


def apply_changes(conn: apsw.Connection, database: Database, tenant: str) -> Place:
    """Writes the changes that a copy lacks, in the open transaction: how far it has come.

    Raises:
        LookupError: it is of another history, or older than what PostgreSQL keeps.
        StoreDamagedError: a change does not fit, or was altered.
    """
    place = before = read_place(conn)
    schema = migrations.version_of(conn)
    for change in database.changes(tenant, place.position, place.last_id, schema):
        apply_patch(conn, change.patch, change.head, f"tenant {tenant}")
        place = Place(position=change.position, last_id=change.id)
    if place != before:
        store_rows.move_upstream(conn, place.position, place.last_id)
    return place


def _own_schema() -> int:
    return migrations.newest_version(migrations.MIGRATIONS)


class PositionPoller:
    """Asks one database for the positions of all open tenants at once."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()
        self._copies: weakref.WeakSet[Copy] = weakref.WeakSet()
        self._asking = threading.Lock()
        self._failed_s = -math.inf
        self._failure = ""

    def add(self, copy: Copy) -> None:
        """The copy is asked for from now on."""
        with self._lock:
            self._copies.add(copy)

    def remove(self, copy: Copy) -> None:
        """The copy is asked for no more."""
        with self._lock:
            self._copies.discard(copy)

    def poll(self, asking: Copy, since: float) -> None:
        """Tells every copy the position of its tenant, unless the one that asks was told as of this
        moment or later: threads that come meanwhile wait for the same answer.

        Raises:
            StoreLockedError: PostgreSQL does not answer.
        """
        entered = time.monotonic()
        with self._asking:
            if asking.asked_s >= since:
                return
            if self._failed_s >= entered:
                raise StoreLockedError(self._failure)
            with self._lock:
                copies = list(self._copies)
            asked = time.monotonic()
            try:
                found = self.database.rows(sorted({copy.tenant for copy in copies}))
            except StoreLockedError as error:
                self._failed_s, self._failure = time.monotonic(), str(error)
                for copy in copies:
                    copy.unanswered(asked, self._failed_s, self._failure)
                raise
            for copy in copies:
                copy.seen(asked, found.get(copy.tenant))


class _OpenWrite:
    """The right to write that a thread holds, and what it has written; see `UpstreamWrite`."""

    def __init__(self, copy: Copy, conn: Connection, row: TenantRow) -> None:
        self._copy = copy
        self.conn = conn
        self.row = row
        self.session: apsw.Session | None = None

    def begin(self, conn: apsw.Connection) -> None:
        self._copy.begin(self, conn)

    def commit(self, conn: apsw.Connection) -> None:
        stored = self._copy.publish(self, conn)
        try:
            conn.execute("COMMIT")
        except apsw.Error as error:
            if stored is None:
                raise
            problem = (
                f"tenant {self.row.name}: the change is stored in PostgreSQL, and the copy on this"
                f" machine had no room for it ({type(error).__name__}); do not repeat the call:"
                " the next one brings it, once some space is free"
            )
            raise StoreFullError(problem, shown=problem) from error
        if stored is not None:
            self._copy.has_come_to(stored)

    def close(self) -> None:
        if self.session is not None:
            self.session.close()


class Copy:
    """A copy of a tenant in a folder of this machine. Every transaction of its ledger is committed
    in PostgreSQL first, while this worker alone holds the tenant.

    Args:
        poller: asks for its position, with those of others.
        tenant: its name.
        identity: of the tenant that is meant; another one of the name is as good as none. By
            default any.
    """

    def __init__(
        self,
        poller: PositionPoller,
        tenant: str,
        rules: CopyRules,
        identity: bytes | None = None,
    ) -> None:
        self.tenant = tenant
        self._identity = identity
        self._poller = poller
        self._database = poller.database
        self._rules = rules
        self._ledger: Ledger | None = None
        self._reports: list[tuple[str, str]] = []
        self._tell: Callable[[str, str], None] | None = None
        self._withdraw: Callable[[Collection[str]], None] = lambda _: None
        # set where the copy is of another history than the tenant, or older than its snapshot
        self.rebuild_reason = ""
        self._known = Place(position=0, last_id=b"")
        self._newest: Place | None = None
        # the moments as of which the copy holds all that PostgreSQL held, and of the next question
        self._current_s = self._next_poll_s = time.monotonic()
        self.asked_s = -math.inf
        # reads are at least as new as the tenant was at this moment
        self._fresh_s = -math.inf
        # why the copy could not be brought up to date when that was tried last; None where it was
        self._behind: _Behind | None = None
        # as PostgreSQL had it when it was asked last; None: there is no such tenant
        self._row: TenantRow | None = None
        self._gone = False
        # a process may have ended before it proved what was forgotten
        self._forgotten = True
        # the files told of a forgetting without a proof when they were opened
        self.left_open = False
        # of the changes after the snapshot, as far as this worker knows
        self.change_bytes = 0

    def means(self, identity: bytes) -> bool:
        """Return whether a tenant of this identity is the one that is followed."""
        return self._identity in (None, identity)

    def check_identity(self, row: TenantRow) -> None:
        """Checks that a tenant is the one that is followed.

        Raises:
            NotFoundError: that one is gone, and another one has its name.
        """
        if not self.means(row.identity):
            raise NotFoundError("Tenant", self.tenant, f"in {self._database.address}")

    def follow(self, ledger: Ledger) -> None:
        """The ledger of this copy, which is open."""
        self._ledger = ledger
        with ledger.read() as view:
            self._known = read_place(view.connection)
            self.left_open = store_rows.unproved_count(view.connection) > 0
        self._poller.add(self)

    def report(self, code: str, detail: str) -> None:
        """Tells the next call of a degradation, without the places of the database and the copy:
        clients of a server are told it too."""
        detail = detail.replace(str(self._database.address), "PostgreSQL")
        if self._ledger is not None and self._ledger.path is not None:
            detail = detail.replace(str(self._ledger.path.parent), "the copy")
        if self._tell is None:
            self._reports.append((code, detail))
        else:
            self._tell(code, detail)

    def report_to(
        self, tell: Callable[[str, str], None], withdraw: Callable[[Collection[str]], None]
    ) -> None:
        """Degradations go there, and those that wait; those of these codes are taken back."""
        self._tell, self._withdraw = tell, withdraw
        while self._reports:
            tell(*self._reports.pop(0))

    def close(self) -> None:
        """It follows no more."""
        self._poller.remove(self)

    @property
    def age_s(self) -> float:
        """How many seconds ago the copy held all that PostgreSQL held."""
        return max(0.0, time.monotonic() - self._current_s)

    @age_s.setter
    def age_s(self, seconds: float) -> None:
        self._current_s = time.monotonic() - max(0.0, seconds)

    @property
    def _around(self) -> Path:
        """The folder of all copies."""
        assert self._ledger is not None
        assert self._ledger.path is not None
        return self._ledger.path.parent.parent

    @property
    def position(self) -> int:
        """The number of the tenant's changes that this copy holds."""
        assert self._ledger is not None
        with self._ledger.read() as view:
            self._known = read_place(view.connection)
        return self._known.position

    # --- reading -----------------------------------------------------------------------------

    def seen(self, at: float, row: TenantRow | None) -> None:
        """Takes what PostgreSQL said of the tenant at a moment; None: there is no such tenant. What
        comes after a newer answer is not taken."""
        if at < self.asked_s:
            return
        if row is not None and not self.means(row.identity):
            row = None
        self.asked_s = at
        self._next_poll_s = at + self._rules.max_staleness_s
        self._row, self._gone, self._behind = row, row is None, None
        if row is not None:
            self._newest = row.place
            if self._newest == self._known:
                self._current_s = at

    def has_come_to(self, place: Place) -> None:
        """Takes how far the ledger has come, once that is committed in it."""
        self._known = place
        if place == self._newest:
            self._current_s = self.asked_s

    def unanswered(self, asked: float, ended: float, failure: str) -> None:
        """PostgreSQL was asked and did not answer: it is asked again after a while."""
        self._wait(asked, ended, _Behind(_AWAY, "PostgreSQL does not answer", failure))

    def _wait(self, began: float, ended: float, behind: _Behind) -> None:
        self._behind = behind
        pause = max(self._rules.max_staleness_s, 4 * (ended - began))
        self._next_poll_s = ended + min(pause, _AWAY_PAUSE_S)

    @property
    def is_elsewhere(self) -> bool:
        """Return whether the tenant was dropped here, or has moved to another database."""
        return self._gone or (self._row is not None and self._row.state == "moved")

    def read_as_of_now(self) -> None:
        """The next `refresh` brings what PostgreSQL holds at this moment, at least."""
        self._fresh_s = time.monotonic()

    def refresh(self, min_position: int | None = None) -> None:
        """Brings the copy to what PostgreSQL holds, unless it was asked a moment ago.

        Args:
            min_position: the copy has at least this position afterwards.

        Raises:
            StoreLockedError: PostgreSQL has not answered for too long, the position is not there,
                or the tenant is in another database.
            SchemaVersionError: the tenant is of another schema.
            NotFoundError: the tenant is gone.
        """
        wanted = 0 if min_position is None else min_position
        now, since = time.monotonic(), self._fresh_s
        if wanted > self._known.position and wanted > self.position:
            self._poll(now)
        elif self.asked_s < since:
            self._poll(since)
        elif now >= self._next_poll_s:
            self._poll(now - self._rules.max_staleness_s)
        if self._gone:
            raise NotFoundError("Tenant", self.tenant, f"in {self._database.address}")
        if self._row is not None:
            self._row.check_readable(_own_schema())
        if self._behind is None and self._newest not in (None, self._known):
            self._try_to_catch_up()
        self._withdraw(_BEHIND)
        behind = self._behind
        if behind is not None and (since > self._current_s or wanted > self._known.position):
            self._fresh_s = -math.inf
            raise StoreLockedError(f"tenant {self.tenant}: {behind.failure}")
        if behind is not None:
            self._read_behind(behind)
        if wanted > self._known.position:
            problem = (
                f"tenant {self.tenant}: expected position {wanted} or a later one, PostgreSQL has"
                f" {self._known.position}; the position is of another tenant, or what it names is"
                " lost"
            )
            raise StoreLockedError(problem, shown=problem)

    def _poll(self, since: float) -> None:
        # What keeps it from an answer is told of by the caller.
        with suppress(StoreLockedError):
            self._poller.poll(self, since)

    def _read_behind(self, behind: _Behind) -> None:
        """Says that an answer may be older than is allowed otherwise.

        Raises:
            StoreLockedError: it is too old.
        """
        age_s = self.age_s
        if age_s > self._rules.max_offline_s:
            old = (
                f"The copy on this machine is as of {age_s:.0f} s ago, longer than"
                f" fleet.max_offline_s ({self._rules.max_offline_s:g}): reads are refused"
            )
            raise StoreLockedError(f"{behind.failure}. {old}", shown=f"{behind.reason}. {old}")
        self.report(behind.code, f"{behind.reason}; this answer is as of {age_s:.0f} s ago")

    def _try_to_catch_up(self) -> None:
        """Brings the copy up to date, where it can: reads go on from what is there."""
        began = time.monotonic()
        try:
            self._catch_up()
        except (StoreLockedError, StoreFullError) as error:
            reason = "newer changes could not be written to the copy on this machine"
            if isinstance(error, StoreFullError):
                reason += ", whose disk is full"
            self._wait(began, time.monotonic(), _Behind(_STUCK, reason, str(error)))

    def _catch_up(self) -> None:
        assert self._ledger is not None
        newest, moved = self._newest, True
        while moved:
            with self._ledger.writer(make=False, local=True) as conn:
                before = read_place(conn)
                try:
                    place = self._apply_newer(conn)
                except (LookupError, StoreDamagedError) as error:
                    self.rebuild_reason = str(error)
                    raise
                moved = place != before
                if moved:
                    with store_faults(self._ledger.where):
                        self._ledger.commit(conn)
                self.has_come_to(place)
            if newest is not None and place.position >= newest.position:
                return

    def _apply_newer(self, conn: apsw.Connection) -> Place:
        """Writes the changes that this copy lacks, or those up to the snapshot where PostgreSQL has
        no others: how far it has come. To be repeated after a commit until it comes no further.

        Raises:
            LookupError: it is of another history.
            StoreDamagedError: a change does not fit, or was altered.
        """
        assert self._ledger is not None
        erasures = store_rows.unproved_count(conn)
        with store_faults(self._ledger.where), room_in(self._around):
            try:
                place = apply_changes(conn, self._database, self.tenant)
            except SnapshotIsNewerError:
                place = self._take_snapshot(conn)
        if store_rows.unproved_count(conn) > erasures:
            self._forgotten = True
        return place

    def _take_snapshot(self, conn: apsw.Connection) -> Place:
        """Brings a copy that is older than the changes which PostgreSQL keeps to the snapshot."""
        assert self._ledger is not None
        assert self._ledger.path is not None
        with scratch_folder(self._around) as scratch:
            with self._database.snapshot(self.tenant) as (row, parts):
                self.check_identity(row)
                row.check_readable(migrations.version_of(conn))
                unpack(parts, row.snapshot_digest, scratch)
            newer = scratch / self._ledger.path.name
            patch, head, place = difference(self._ledger.path, newer)
        # Its files may hold what was forgotten, and the snapshot has no marks to search for.
        mark_stale(self._ledger.path.parent)
        self.rebuild_reason = "older than the snapshot"
        apply_patch(conn, patch, head, f"tenant {self.tenant}")
        store_rows.move_upstream(conn, place.position, place.last_id)
        return place

    def take_unproved(self) -> bool:
        """Return whether another machine has forgotten something since this was asked last."""
        forgotten, self._forgotten = self._forgotten, False
        return forgotten

    # --- writing -----------------------------------------------------------------------------

    @contextmanager
    def locked(self, deadline: float) -> Iterator[_OpenWrite]:
        """See `Upstream.locked`."""
        with ExitStack() as held:
            conn, row = self._locked_connection(held, deadline)
            self.check_identity(row)
            row.check_writable(_own_schema())
            write = _OpenWrite(self, conn, row)
            try:
                yield write
            finally:
                write.close()
                # Not committed: the server undoes it when the connection is closed or asked to.
                if conn.is_open and not conn.at_rest:
                    with suppress(ConnectionLostError, RefusedError):
                        conn.run("ROLLBACK", time.monotonic() + self._database.timeout_s)

    def _locked_connection(self, held: ExitStack, deadline: float) -> tuple[Connection, TenantRow]:
        """A connection that holds the tenant. One that was at rest may have been ended meanwhile;
        nothing is written yet, so another one is asked."""
        with ExitStack() as first:
            conn = first.enter_context(self._database.connection(deadline))
            try:
                row = self._lock_tenant(conn, deadline)
            except StoreLockedError:
                if conn.is_open:
                    raise
            else:
                held.push(first.pop_all())
                return conn, row
        conn = held.enter_context(self._database.connection(deadline))
        return conn, self._lock_tenant(conn, deadline)

    def _lock_tenant(self, conn: Connection, deadline: float) -> TenantRow:
        try:
            row = self._database.lock(conn, self.tenant, deadline)
        except ConnectionLostError as error:
            raise self._database.away(error) from None
        except RefusedError as error:
            if error.state != _LOCK_NOT_AVAILABLE:
                raise self._database.refused(error) from None
            problem = (
                f"tenant {self.tenant}: expected its turn to write before the deadline, another"
                " worker holds it; try again, or raise store.lock_timeout_s"
            )
            raise StoreLockedError(problem, shown=problem) from None
        return row

    def begin(self, write: _OpenWrite, conn: apsw.Connection) -> None:
        """See `UpstreamWrite.begin`."""
        wanted = write.row.place
        try:
            while (before := read_place(conn)) != wanted:
                place = self._apply_newer(conn)
                if place == before:
                    break
                # What others wrote is kept also where the caller's own writing fails.
                conn.execute("COMMIT")
                self.has_come_to(place)
                conn.execute("BEGIN IMMEDIATE")
        except LookupError as error:
            self.rebuild_reason = str(error)
        if read_place(conn) != wanted:
            self.rebuild_reason = self.rebuild_reason or "of another history"
            self.read_as_of_now()
            raise StoreLockedError(
                f"tenant {self.tenant}: the copy of this worker is {self.rebuild_reason}, and is"
                " built anew; nothing was written, try again",
                shown="the copy of this server is built anew: nothing was written, ask again",
            )
        write.session = begin_capture(conn)

    def publish(self, write: _OpenWrite, conn: apsw.Connection) -> Place | None:
        """Commits in PostgreSQL what a transaction has written: how far the copy comes with it.
        None: nothing was written."""
        assert write.session is not None
        patch = write.session.patchset()
        write.session.close()
        write.session = None
        if not patch:
            return None
        if len(patch) > _CHANGE_BYTES_MAX:
            raise ConflictError(
                f"tenant {self.tenant}: expected a change of at most {_CHANGE_BYTES_MAX >> 20} MiB,"
                f" got {len(patch) >> 20} MiB; do it in several calls"
            )
        change = Change(
            position=write.row.position + 1,
            id=os.urandom(ID_BYTES),
            head=head_of(conn),
            patch=patch,
        )
        place = Place(position=change.position, last_id=change.id)
        store_rows.move_upstream(conn, place.position, place.last_id)
        # On a full disk it ends here, and not after the commit there.
        conn.cache_flush()
        sent = time.monotonic()
        self._append(write, change)
        committed = msgspec.structs.replace(
            write.row, position=place.position, last_id=place.last_id
        )
        self.seen(sent, committed)
        self.change_bytes = write.row.change_bytes + len(patch)
        return place

    def _append(self, write: _OpenWrite, change: Change) -> None:
        until = time.monotonic() + self._database.timeout_s
        try:
            self._database.append(write.conn, write.row, change, until)
        except RefusedError as error:
            raise self._database.refused(error) from None
        except ConnectionLostError:
            # Perhaps it was committed before the answer was lost.
            self._resolve_outcome(write.row, change)

    def _resolve_outcome(self, before: TenantRow, change: Change) -> None:
        """Asks again until it is known, and stored."""
        deadline = time.monotonic() + 2 * self._database.timeout_s
        while time.monotonic() < deadline:
            with suppress(StoreLockedError, ConnectionLostError):
                if self._ensure_committed(before, change, deadline):
                    return
                break
            time.sleep(_RETRY_S)
        raise OutcomeUnknownError(
            f"tenant {self.tenant}: the connection to PostgreSQL was lost while the change was"
            " committed, and it does not answer; it is perhaps stored, whole or not at all."
            " Repeat the call, over HTTP with the same Idempotency-Key"
        )

    def _ensure_committed(self, before: TenantRow, change: Change, deadline: float) -> bool:
        """Return whether the change is stored now; False where it cannot be known any more.

        Raises:
            ConflictError: it is not, and others wrote.
        """
        with self._database.connection(deadline) as conn:
            row = self._lock_tenant(conn, deadline)
            if self._database.holds(conn, self.tenant, change, deadline):
                return True
            if (row.position, row.last_id) == (before.position, before.last_id):
                if (row.state, row.schema) != (before.state, before.schema):
                    raise ConflictError(
                        f"tenant {self.tenant}: the connection to PostgreSQL was lost and the"
                        f" tenant is {row.state} now; nothing was written, try again"
                    )
                try:
                    self._database.append(conn, row, change, deadline)
                except RefusedError as error:
                    raise self._database.refused(error) from None
                return True
            if row.snapshot <= before.position:
                raise ConflictError(
                    f"tenant {self.tenant}: the connection to PostgreSQL was lost and another"
                    " worker wrote meanwhile; nothing was written, try again"
                )
            return False
