"""Tenants in PostgreSQL: the statements that read and change them."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count, groupby
from typing import Final

import msgspec

from vestig.errors import ConflictError, NotFoundError, StoreDamagedError, StoreLockedError
from vestig.store.replication.connection import (
    Address,
    Answer,
    Binary,
    Connection,
    ConnectionLostError,
    RefusedError,
)
from vestig.store.replication.rows import (
    PART_BYTES,
    PARTITIONS,
    VERSION,
    Change,
    Place,
    TenantRow,
    hex_of,
    make_tables,
    plain_tenant_row,
    tenant_row,
    text_of,
)
from vestig.store.replication.tokens import TOKEN_TABLE

# Of a snapshot, asked for in one message and held in memory.
_PARTS_AT_ONCE: Final = 8
_IDLE_CONNECTIONS_MAX: Final = 8
# A larger change travels as parameters, in parts: text of it would be twice its size.
_INLINE_BYTES_MAX: Final = 64 << 10
_AWAY: Final = "the database of the store does not answer: nothing was written, ask again"
_REFUSED: Final = "the database refuses this server: nothing was written; its log says why"
# A worker that is stopped while it holds a tenant loses it after this time.
_HELD_S: Final = 8
# One that is stopped otherwise ends its transaction, which keeps removed rows in their pages.
_IDLE_S: Final = 60
# Within this time a ledger is brought to a newer schema.
_MIGRATED_S: Final = 600

# What a tenant takes along to another database; copies on machines are of one database.
_MOVED: Final = ("snapshots", "changes", "tokens")
_WITH_TEXT: Final = ("changes", "snapshots")
_ASK_REWRITE: Final = f"""
INSERT INTO vestig.rewrites SELECT one, clock_timestamp()
FROM generate_series(0, {PARTITIONS - 1}) AS one
WHERE satisfies_hash_partition('vestig.changes'::regclass, {PARTITIONS}, one, $1::text)
ON CONFLICT (remainder) DO UPDATE SET asked = excluded.asked
"""
# Who waits longer for a table keeps others waiting behind.
_REWRITE_WAIT_S: Final = 3


class SnapshotIsNewerError(LookupError):
    """The changes that a copy lacks are in the snapshot alone."""


# All parts of a change stand together: they have one position, so one sum of what is before.
_BATCH: Final = """
SELECT position::text, id, head, digest, patch FROM (
    SELECT *, sum(length(patch)) OVER (
        ORDER BY position RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
    FROM vestig.changes WHERE tenant = $1 AND position > $2 AND position <= $2 + 500
) AS newer WHERE coalesce(before, 0) < $3 ORDER BY newer.position, part
"""
_BATCH_BYTES: Final = 8 << 20
_COLUMNS: Final = (
    "tenant, identity, position::text, last_id, ledger_schema::text, state, snapshot::text,"
    " snapshot_digest, change_bytes::text, moved_to"
)


class Database:
    """The tenants of one database; thread-safe. A child of a fork opens connections of its own.

    Args:
        address: where it is.
        timeout_s: how long one question may take.
    """

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._idle: list[Connection] = []
        self._checked = False

    def close(self) -> None:
        """Closes the connections at rest."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._pid == os.getpid():
            for one in idle:
                one.close()

    # --- connections -------------------------------------------------------------------------

    @contextmanager
    def connection(self, deadline: float) -> Iterator[Connection]:
        """A connection; what it has not committed on leaving is undone.

        Raises:
            StoreLockedError: PostgreSQL does not answer, or refuses this user.
        """
        found = self._take(deadline)
        try:
            yield found
        finally:
            with self._lock:
                keep = found.at_rest and len(self._idle) < _IDLE_CONNECTIONS_MAX
                if keep:
                    self._idle.append(found)
            if not keep:
                found.close()

    def _take(self, deadline: float) -> Connection:
        with self._lock:
            if self._pid != os.getpid():
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                found = self._idle.pop()
                if found.at_rest and found.is_quiet:
                    return found
                found.close()
        try:
            fresh = Connection(self.address, deadline)
            try:
                if not self._checked:
                    self._check_version(fresh, deadline)
            except BaseException:
                fresh.close()
                raise
            return fresh
        except RefusedError as error:
            raise self.refused(error) from None
        except ConnectionLostError as error:
            # libpq does not say which of these it was
            raise StoreLockedError(
                f"{self.address}: expected PostgreSQL to answer and to let this user in, got"
                f" {error}; nothing was written: try again, or check the address, the user, the"
                " password and sslmode",
                shown=_AWAY,
            ) from None

    def _check_version(self, conn: Connection, deadline: float) -> None:
        if not _has_tables(conn, deadline):
            raise StoreLockedError(
                f"{self.address}: expected a database with tenants, this one has no tables of"
                f" Vestig; make them with `vestig fleet init --store {self.address}`"
            )
        rows = conn.run("SELECT max(version) FROM vestig.fleet", deadline)[0].rows
        version = int(rows[0][0] or 0)
        if version != VERSION:
            raise StoreLockedError(
                f"{self.address}: expected tables of version {VERSION}, found version {version};"
                " use the version of vestig that made them, or `vestig fleet init` of the newer one"
            )
        self._checked = True

    def away(self, error: Exception) -> StoreLockedError:
        """The error of a call that needs PostgreSQL when it does not answer."""
        return StoreLockedError(
            f"{self.address}: expected PostgreSQL to answer, got {error}; nothing was written,"
            " try again",
            shown=_AWAY,
        )

    def ask(self, statement: str, values: Sequence[int | bytes | str | None] = ()) -> Answer:
        """The answer to one statement in a transaction of its own.

        Raises:
            StoreLockedError: no answer in time, or it was refused.
        """
        deadline = time.monotonic() + self.timeout_s
        with self._faults(), self.connection(deadline) as conn:
            return conn.run_with(statement, values, deadline)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turns faults of a connection into the errors that callers of a store know."""
        try:
            yield
        except ConnectionLostError as error:
            raise self.away(error) from None
        except RefusedError as error:
            raise self.refused(error) from None

    def refused(self, error: RefusedError) -> StoreLockedError:
        """The error of a statement that PostgreSQL refused."""
        if error.state in ("25006", "57P03"):
            return StoreLockedError(
                f"{self.address}: expected the leading server, this one takes no writes"
                f" ({error}); name the leader, or target_session_attrs=read-write",
                shown="the database of the store takes no writes now: nothing was written, ask"
                " again",
            )
        if error.state == "42501":
            return StoreLockedError(
                f"{self.address}: expected a user who may do this, got {error}; log in as a"
                " member of vestig_worker, or as the one who owns the tables",
                shown=_REFUSED,
            )
        if error.state[:2] == "53":
            return StoreLockedError(
                f"{self.address}: expected room in PostgreSQL, got {error}; nothing was written",
                shown="the database of the store has no room: nothing was written",
            )
        problem = f"{self.address}: PostgreSQL refused a statement: {error}"
        return StoreLockedError(problem, shown=_REFUSED)

    # --- the database ------------------------------------------------------------------------

    def create_tables(self) -> bool:
        """Makes the tables, and the role `vestig_worker` that owns nothing; False where they are.

        Raises:
            StoreLockedError: PostgreSQL does not answer, or refuses it.
        """
        deadline = time.monotonic() + max(self.timeout_s, 30)
        try:
            conn = Connection(self.address, deadline)
        except (ConnectionLostError, RefusedError) as error:
            raise self.away(error) from None
        try:
            if _has_tables(conn, deadline):
                self._check_version(conn, deadline)
                return False
            conn.run(f"BEGIN; {make_tables()}; {TOKEN_TABLE}; COMMIT", deadline)
            return True
        except RefusedError as error:
            raise self.refused(error) from None
        finally:
            conn.close()

    # --- tenants -----------------------------------------------------------------------------

    def tenants(self) -> list[TenantRow]:
        """Every tenant by name.

        Raises:
            StoreLockedError: PostgreSQL does not answer, or shows this user no tenants but those
                that it names.
        """
        self.require_owner()
        rows = self.ask(f"SELECT {_COLUMNS} FROM vestig.tenants ORDER BY tenant").rows
        return [tenant_row(row) for row in rows]

    def require_owner(self) -> None:
        """Checks that this user owns the tables: row-level security hides rows from others without
        a word.

        Raises:
            StoreLockedError: it does not, or PostgreSQL does not answer.
        """
        if not self._is_owner():
            raise StoreLockedError(
                f"{self.address}: expected the user who owns the tables, this one does not; log in"
                " as the one who ran `vestig fleet init`"
            )

    def _is_owner(self) -> bool:
        owned = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = $1::regclass"
        return self.ask(owned, ("vestig.changes",)).rows == [(b"\x01",)]

    def find(self, tenant: str) -> TenantRow:
        """A tenant.

        Raises:
            NotFoundError: there is none of this name.
        """
        with self.session(tenant) as (conn, deadline):
            return self._row(conn, tenant, deadline)

    def _row(self, conn: Connection, tenant: str, deadline: float, lock: str = "") -> TenantRow:
        if lock:
            conn.run(_idle_limit(_HELD_S), deadline)
        sql = f"SELECT {_COLUMNS} FROM vestig.tenants WHERE tenant = $1 {lock}"
        rows = conn.run_with(sql, (tenant,), deadline).rows
        if not rows:
            raise NotFoundError("Tenant", tenant, f"in {self.address}")
        return tenant_row(rows[0])

    @contextmanager
    def session(
        self, tenant: str, deadline: float | None = None, *, isolation: str = "READ COMMITTED"
    ) -> Iterator[tuple[Connection, float]]:
        """A transaction that sees one tenant, undone on leaving unless it was committed.

        Args:
            isolation: `REPEATABLE READ`: every statement reads what there was at the first one.

        Raises:
            StoreLockedError: PostgreSQL does not answer, or refuses a statement.
        """
        until = time.monotonic() + self.timeout_s if deadline is None else deadline
        with self._faults(), self.connection(until) as conn:
            conn.run(
                f"BEGIN ISOLATION LEVEL {isolation}; {_idle_limit(_IDLE_S)}; {_seeing(tenant)}",
                until,
            )
            yield conn, until
            if conn.is_open and not conn.at_rest:
                conn.run("ROLLBACK", time.monotonic() + self.timeout_s)

    def create(self, row: TenantRow, parts: Sequence[bytes]) -> None:
        """A new tenant with its snapshot.

        Raises:
            ConflictError: there is one of this name.
        """
        with self.session(row.name) as (conn, deadline):
            self._insert_tenant(conn, row, deadline)
            self._insert_parts(conn, row.name, row.snapshot, parts)
            conn.run("COMMIT", time.monotonic() + self.timeout_s)

    def _insert_tenant(self, conn: Connection, row: TenantRow, deadline: float) -> None:
        try:
            conn.run_with(
                "INSERT INTO vestig.tenants (tenant, identity, position, last_id, ledger_schema,"
                " state, snapshot, snapshot_digest, change_bytes)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                (
                    row.name, row.identity, row.position, row.last_id, row.schema, row.state,
                    row.snapshot, row.snapshot_digest, row.change_bytes,
                ),
                deadline,
            )  # fmt: skip
        except RefusedError as error:
            if error.state == "23505":
                raise ConflictError(
                    f"tenant {row.name}: expected a name that is free in {self.address}, there is"
                    " a tenant of this name; nothing was changed there"
                ) from None
            raise

    def set_state(
        self,
        tenant: str,
        before: str,
        after: str,
        *,
        moved_to: str | None = None,
        place: Place | None = None,
    ) -> TenantRow:
        """The tenant as it is after its state was set; it stays as it is where it is not in the
        state `before`, or not at the place that is named.

        Raises:
            NotFoundError: there is none of this name.
        """
        with self.session(tenant) as (conn, deadline):
            row = self._row(conn, tenant, deadline, "FOR UPDATE")
            if row.state != before or place not in (None, row.place):
                return row
            sql = "UPDATE vestig.tenants SET state = $2, moved_to = $3 WHERE tenant = $1"
            conn.run_with(sql, (tenant, after, moved_to), deadline)
            conn.run("COMMIT", deadline)
            return msgspec.structs.replace(row, state=after, moved_to=moved_to)

    def receive(self, source: Database, row: TenantRow) -> None:
        """All rows of a tenant of another database, in one transaction; `row` is that of the
        tenant here. One that has moved away from here before makes room.

        Raises:
            ConflictError: there is another one of this name.
        """
        with self.session(row.name) as (conn, deadline):
            moved = "DELETE FROM vestig.tenants WHERE tenant = $1 AND state = 'moved'"
            if conn.run_with(moved, (row.name,), deadline).affected:
                self._delete_history(conn, row.name, deadline)
            self._insert_tenant(conn, row, deadline)
            for table in _MOVED:
                for values in source._rows_of(table, row.name):
                    numbers = ", ".join(f"${number + 1}" for number in range(len(values)))
                    conn.run_with(
                        f"INSERT INTO vestig.{table} VALUES ({numbers})",
                        [None if value is None else Binary(value) for value in values],
                        time.monotonic() + self.timeout_s,
                    )
            conn.run("COMMIT", time.monotonic() + self.timeout_s)

    def _rows_of(self, table: str, tenant: str) -> Iterator[tuple[bytes | None, ...]]:
        """The rows of a tenant in a table, as PostgreSQL sends them, a few MiB at a time."""
        with self.session(tenant, isolation="REPEATABLE READ") as (conn, deadline):
            conn.run(
                "DECLARE moved NO SCROLL CURSOR FOR"
                f" SELECT * FROM vestig.{table} WHERE tenant = '{tenant}'",
                deadline,
            )
            fetch = "FETCH 8 FROM moved"
            while found := conn.run_with(fetch, (), time.monotonic() + self.timeout_s).rows:
                yield from found

    def drop_moved(self, tenant: str) -> None:
        """Removes the snapshot and the changes of a tenant that has moved; its row stays."""
        with self.session(tenant) as (conn, deadline):
            if self._row(conn, tenant, deadline, "FOR UPDATE").state == "moved":
                self._delete_history(conn, tenant, deadline)
                conn.run_with(_ASK_REWRITE, (tenant,), deadline)
                conn.run("COMMIT", deadline)

    def _delete_history(self, conn: Connection, tenant: str, deadline: float) -> None:
        for table in _WITH_TEXT:
            conn.run_with(f"DELETE FROM vestig.{table} WHERE tenant = $1", (tenant,), deadline)

    def raise_schema(
        self, tenant: str, make: Callable[[TenantRow], tuple[TenantRow, Sequence[bytes]] | None]
    ) -> TenantRow:
        """The tenant with another ledger, of a newer schema, in one transaction that holds it while
        the ledger is made. None of the changes that were made before stays.

        Args:
            make: the row and the snapshot of the newer one; None: it stays as it is.

        Raises:
            NotFoundError: there is none of this name.
        """
        with self.session(tenant) as (conn, deadline):
            row = self._row(conn, tenant, deadline, "FOR UPDATE")
            conn.run(_idle_limit(_MIGRATED_S), deadline)
            made = make(row)
            if made is None:
                return row
            newer, parts = made
            until = time.monotonic() + self.timeout_s
            self._delete_history(conn, tenant, until)
            self._insert_parts(conn, tenant, newer.snapshot, parts)
            until = time.monotonic() + self.timeout_s
            conn.run_with(
                "UPDATE vestig.tenants SET position = $2, last_id = $3, ledger_schema = $4,"
                " snapshot = $2, snapshot_digest = $5, change_bytes = 0 WHERE tenant = $1",
                (tenant, newer.position, newer.last_id, newer.schema, newer.snapshot_digest),
                until,
            )
            conn.run("COMMIT", until)
            return newer

    def drop(self, tenant: str, state: str | None = None) -> None:
        """Removes all rows of a tenant, where it is in this state; None: in any.

        Raises:
            NotFoundError: there is none of this name.
        """
        with self.session(tenant) as (conn, deadline):
            row = self._row(conn, tenant, deadline, "FOR UPDATE")
            if state not in (None, row.state):
                return
            self._delete_history(conn, tenant, deadline)
            for table in ("caches", "tenants"):
                conn.run_with(f"DELETE FROM vestig.{table} WHERE tenant = $1", (tenant,), deadline)
            conn.run_with(_ASK_REWRITE, (tenant,), deadline)
            conn.run("COMMIT", deadline)

    def rows(self, tenants: Sequence[str]) -> dict[str, TenantRow]:
        """Each tenant as it is now; those that are gone are absent."""
        deadline = time.monotonic() + self.timeout_s
        with self._faults(), self.connection(deadline) as conn:
            answers = conn.run(
                f"BEGIN; {_seeing(*tenants)}; SELECT {_COLUMNS}"
                f" FROM vestig.tenants WHERE tenant IN ({_list(tenants)}); COMMIT",
                deadline,
            )
        return {row.name: row for row in map(plain_tenant_row, answers[-2].rows)}

    # --- changes -----------------------------------------------------------------------------

    def lock(self, conn: Connection, tenant: str, deadline: float) -> TenantRow:
        """Begins a transaction that holds the tenant: its row as it is now. One message, so that
        the server's own limit ends a transaction whose worker is stopped.

        Raises:
            NotFoundError: there is no such tenant.
            RefusedError: `55P03`, another worker holds it until the deadline.
            ConnectionLostError: no answer.
        """
        left = max(1, round((deadline - time.monotonic()) * 1000))
        answers = conn.run(
            f"BEGIN; SET LOCAL lock_timeout = '{left}ms';"
            f" {_idle_limit(_HELD_S)}; {_seeing(tenant)};"
            f" SELECT {_COLUMNS} FROM vestig.tenants WHERE tenant = '{tenant}' FOR UPDATE",
            deadline + self.timeout_s,
        )
        rows = answers[-1].rows
        if not rows:
            conn.run("ROLLBACK", deadline + self.timeout_s)
            raise NotFoundError("Tenant", tenant, f"in {self.address}")
        return plain_tenant_row(rows[0])

    def append(self, conn: Connection, before: TenantRow, change: Change, deadline: float) -> None:
        """Commits one change in the transaction that holds the tenant.

        Raises:
            ConflictError: the tenant is no longer as it was when it was locked.
            RefusedError: nothing was committed.
            ConnectionLostError: it is not known whether it was committed.
        """
        digest = change.digest(before.last_id)
        if len(change.patch) > _INLINE_BYTES_MAX:
            self._insert_patch(conn, before.name, change, digest)
            written = ""
        else:
            written = f" INSERT INTO vestig.changes {_change_row(before.name, change, digest)};"
        answers = conn.run(
            f"UPDATE vestig.tenants SET position = {change.position}, last_id ="
            f" {hex_of(change.id)}, change_bytes = change_bytes + {len(change.patch)}"
            f" WHERE tenant = '{before.name}'"
            f" AND position = {before.position} AND last_id = {hex_of(before.last_id)}"
            f" AND state = 'active';{written} COMMIT",
            deadline,
        )
        if answers[0].affected != 1:
            raise ConflictError(
                f"tenant {before.name}: expected position {before.position}, it changed"
                " meanwhile; nothing was written, try again"
            )

    def _insert_patch(self, conn: Connection, tenant: str, change: Change, digest: bytes) -> None:
        for part, at in enumerate(range(0, len(change.patch), PART_BYTES)):
            conn.run_with(
                "INSERT INTO vestig.changes (tenant, position, part, id, head, digest, patch)"
                " VALUES ($1, $2, $3, $4, $5, $6, $7)",
                (
                    tenant, change.position, part, change.id, change.head, digest,
                    change.patch[at : at + PART_BYTES],
                ),
                time.monotonic() + self.timeout_s,
            )  # fmt: skip

    def holds(self, conn: Connection, tenant: str, change: Change, deadline: float) -> bool:
        """Return whether the change was committed."""
        sql = "SELECT 1 FROM vestig.changes WHERE tenant = $1 AND position = $2 AND id = $3"
        rows = conn.run_with(sql, (tenant, change.position, change.id), deadline).rows
        return bool(rows)

    def changes(self, tenant: str, after: int, last_id: bytes, schema: int) -> Iterator[Change]:
        """The changes after a position, in order, for a ledger of this schema. The one at that
        position must have the id, unless the position is that of the snapshot or 0, where no change
        stands.

        Raises:
            SchemaVersionError: the tenant has another schema.
            StoreDamagedError: a row of a change is not what was written.
            LookupError: changes after the position are gone, or the id is another one.
        """
        with self.session(tenant, isolation="REPEATABLE READ") as (conn, deadline):
            sql = "SELECT id FROM vestig.changes WHERE tenant = $1 AND position = $2 LIMIT 1"
            at = conn.run_with(sql, (tenant, after), deadline).rows
            if at and at[0][0] != last_id:
                raise LookupError("of another history")
            newest = self._row(conn, tenant, deadline)
            newest.check_schema(schema)
            if newest.position < after or (newest.position == after and newest.last_id != last_id):
                raise LookupError("of another history")
            if not at and after < newest.snapshot:
                raise SnapshotIsNewerError("older than the snapshot")
            while after < newest.position:
                for change in self._batch(conn, tenant, after, last_id):
                    yield change
                    after, last_id = change.position, change.id

    def _batch(self, conn: Connection, tenant: str, after: int, last_id: bytes) -> Iterator[Change]:
        """At least one of the changes after a position, and more while they are small."""
        until = time.monotonic() + self.timeout_s
        rows = conn.run_with(_BATCH, (tenant, after, _BATCH_BYTES), until).rows
        if not rows:
            raise LookupError("a change is gone")
        for position, found in groupby(rows, key=lambda row: int(row[0] or 0)):
            parts = list(found)
            _position, id, head, digest = parts[0][:4]
            patch = b"".join(row[4] or b"" for row in parts)
            change = Change(position=position, id=id or b"", head=head or b"", patch=patch)
            if change.digest(last_id) != digest or position != after + 1:
                raise StoreDamagedError(
                    f"tenant {tenant}: expected change {after + 1} as it was written, its row in"
                    f" {self.address} was altered; restore it from a backup of PostgreSQL"
                )
            yield change
            after, last_id = position, change.id

    # --- snapshots ---------------------------------------------------------------------------

    def _insert_parts(
        self, conn: Connection, tenant: str, position: int, parts: Sequence[bytes]
    ) -> None:
        for part, data in enumerate(parts):
            conn.run_with(
                "INSERT INTO vestig.snapshots (tenant, position, part, data)"
                " VALUES ($1, $2, $3, $4)",
                (tenant, position, part, data),
                time.monotonic() + self.timeout_s,
            )

    def replace_snapshot(
        self, tenant: str, position: int, last_id: bytes, digest: bytes, parts: Sequence[bytes]
    ) -> bool:
        """A newer snapshot takes the place of the old one, and the changes before its position go;
        False where another worker was first. The tenant is held only while rows are switched.

        Raises:
            StoreLockedError: PostgreSQL does not answer.
        """
        with self.session(tenant) as (conn, deadline):
            key = int.from_bytes(blake2b(tenant.encode(), digest_size=7).digest(), "little")
            got = conn.run(f"SELECT pg_try_advisory_xact_lock({key})", deadline)[0].rows
            row = self._row(conn, tenant, deadline)
            if got != [(b"t",)] or row.snapshot >= position or row.position < position:
                return False
            self._insert_parts(conn, tenant, position, parts)
            until = time.monotonic() + self.timeout_s
            row = self._row(conn, tenant, until, "FOR UPDATE")
            row.check_writable(row.schema)
            sql = "SELECT id FROM vestig.changes WHERE tenant = $1 AND position = $2 LIMIT 1"
            if conn.run_with(sql, (tenant, position), until).rows != [(last_id,)]:
                return False
            for table in ("snapshots", "changes"):
                conn.run_with(
                    f"DELETE FROM vestig.{table} WHERE tenant = $1 AND position < $2",
                    (tenant, position),
                    until,
                )
            conn.run_with(
                "UPDATE vestig.tenants SET snapshot = $2, snapshot_digest = $3, change_bytes ="
                " (SELECT coalesce(sum(length(patch)), 0) FROM vestig.changes"
                " WHERE tenant = $1 AND position > $2) WHERE tenant = $1",
                (tenant, position, digest),
                until,
            )
            conn.run("COMMIT", until)
            return True

    @contextmanager
    def snapshot(self, tenant: str) -> Iterator[tuple[TenantRow, Iterator[bytes]]]:
        """The tenant, and the parts of its snapshot in order; another snapshot that takes its place
        meanwhile changes nothing of them.

        Raises:
            NotFoundError: there is no such tenant.
        """
        with self.session(tenant, isolation="REPEATABLE READ") as (conn, deadline):
            row = self._row(conn, tenant, deadline)
            yield row, self._parts(conn, tenant, row.snapshot)

    def _parts(self, conn: Connection, tenant: str, position: int) -> Iterator[bytes]:
        sql = "SELECT data FROM vestig.snapshots WHERE tenant = $1 AND position = $2"
        sql += " AND part >= $3 AND part < $4 ORDER BY part"
        for first in count(0, _PARTS_AT_ONCE):
            asked = (tenant, position, first, first + _PARTS_AT_ONCE)
            rows = conn.run_with(sql, asked, time.monotonic() + self.timeout_s).rows
            yield from (row[0] or b"" for row in rows)
            if len(rows) < _PARTS_AT_ONCE:
                return

    # --- pages -------------------------------------------------------------------------------

    def ask_rewrite(self, tenant: str) -> None:
        """Remembers that pages which a tenant shares with others may hold what was removed."""
        with self.session(tenant) as (conn, deadline):
            conn.run_with(_ASK_REWRITE, (tenant,), deadline)
            conn.run("COMMIT", deadline)

    def rewrite(self, limit_s: float) -> tuple[str, ...]:
        """Writes the partitions anew in whose pages removed rows may stand (VACUUM FULL): a plain
        VACUUM leaves their bytes there until the room is used again. While one is written, tenants
        whose rows lie in it take no writes.

        Args:
            limit_s: how long one table may take.

        Returns:
            Why each of those that are left was not.

        Raises:
            StoreLockedError: PostgreSQL does not answer.
        """
        asked = self.ask("SELECT remainder::text, asked::text FROM vestig.rewrites ORDER BY 1").rows
        if not asked:
            return ()
        if not self._is_owner():
            return (f"{len(asked)} partitions: this user does not own the tables",)
        left = []
        for remainder, moment in asked:
            for table in _WITH_TEXT:
                name = f"vestig.{table}_{text_of(remainder)}"
                why = self._write_anew(name, limit_s)
                if why:
                    left.append(f"{name}: {why}")
                    break
            else:
                sql = "DELETE FROM vestig.rewrites WHERE remainder = $1 AND asked = $2::timestamptz"
                self.ask(sql, (int(remainder or 0), text_of(moment)))
        return tuple(left)

    def _write_anew(self, table: str, limit_s: float) -> str:
        """Why a table was not written anew; "" where it was."""
        limits = f"SET lock_timeout = '{_REWRITE_WAIT_S}s'; SET statement_timeout = '{limit_s:g}s'"
        deadline = time.monotonic() + limit_s + self.timeout_s
        with self._faults():
            conn = Connection(self.address, deadline)
            try:
                conn.run(limits, deadline)
                conn.run(f"VACUUM (FULL, VERBOSE) {table}", deadline)
            except RefusedError as error:
                return str(error)
            finally:
                conn.close()
        kept = next((number for one in conn.notices for number in re.findall(r"\d+", one)), "0")
        return "" if kept == "0" else f"an older transaction still reads {kept} removed rows"


def _has_tables(conn: Connection, deadline: float) -> bool:
    sql = "SELECT to_regclass('vestig.fleet') IS NOT NULL"
    return conn.run(sql, deadline)[0].rows == [(b"t",)]


def _idle_limit(seconds: int) -> str:
    """The server ends a transaction whose worker says nothing for so long."""
    return f"SET LOCAL idle_in_transaction_session_timeout = '{seconds}s'"


def _seeing(*tenants: str) -> str:
    """Row-level security lets the transaction see these tenants only."""
    return f"SET LOCAL vestig.tenants = '{','.join(tenants)}'"


def _list(tenants: Sequence[str]) -> str:
    return ", ".join(f"'{tenant}'" for tenant in tenants) or "NULL"


def _change_row(tenant: str, change: Change, digest: bytes) -> str:
    values = (change.id, change.head, digest, change.patch)
    return (
        "(tenant, position, part, id, head, digest, patch)"
        f" VALUES ('{tenant}', {change.position}, 0, {', '.join(map(hex_of, values))})"
    )
