"""Records what a transaction of a ledger changes, as bytes, and writes it to another copy.

A patch is a patchset of SQLite's session extension. It holds the new values of the rows that were
written and only the keys of those that were removed, so that it repeats no text that a forgetting
erased. It does not notice other old values either: after each patch the head of the chain is
compared.
"""

from __future__ import annotations

from typing import Final

import apsw

from vestig.store.records import store_rows
from vestig.store.replication.rows import Place
from vestig.store.sqlite.connections import damaged, fetch
from vestig.store.tables.schema import TABLES
from vestig.store.tables.store import UPSTREAM

# They concern one copy: where it stands, and what it served.
_LOCAL: Final = frozenset((UPSTREAM.name, "requests"))
SHARED: Final = tuple(name for name in TABLES if name not in _LOCAL)


def read_place(conn: apsw.Connection) -> Place:
    """How far the ledger of this connection has come."""
    row = store_rows.read_upstream(conn)
    assert row is not None, "a copy of a tenant has its place"
    return Place(position=row.position, last_id=row.last_id)


def begin_capture(conn: apsw.Connection) -> apsw.Session:
    """Records what this connection writes from here on."""
    session = apsw.Session(conn, "main")
    for table in SHARED:
        session.attach(table)
    return session


def apply_patch(conn: apsw.Connection, patch: bytes, head: bytes, where: str) -> None:
    """Writes what another copy wrote, inside an open transaction.

    Raises:
        StoreDamagedError: it does not fit, or leads to another head of the chain.
    """
    try:
        apsw.Changeset.apply(patch, conn, filter=SHARED.__contains__, conflict=_conflict)
    except (apsw.AbortError, apsw.ConstraintError, apsw.SchemaChangeError) as error:
        raise damaged(where, "rows that a change of the tenant does not fit") from error
    if head_of(conn) != head:
        raise damaged(where, "another chain after a change than where it was made")


def _conflict(reason: int, change: apsw.TableChange) -> int:
    # A mark of an erasure that this copy has proved is gone already.
    if reason == apsw.SQLITE_CHANGESET_NOTFOUND and change.name == "erasures":
        return apsw.SQLITE_CHANGESET_OMIT
    return apsw.SQLITE_CHANGESET_ABORT


def head_of(conn: apsw.Connection) -> bytes:
    """The newest hash of the chain."""
    head: bytes = fetch(conn, "SELECT h FROM chain ORDER BY seq DESC LIMIT 1")[0][0]
    return head
