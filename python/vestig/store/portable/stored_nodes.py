"""Which node of a store is a memory, source or entity of a file?"""

from __future__ import annotations

from typing import Any

import apsw

from vestig.errors import ConflictError
from vestig.ids import id_bytes
from vestig.store.portable.placement import id_conflict
from vestig.store.portable.records import EntityRecord, MemoryRecord, SourceRecord
from vestig.store.sqlite.lookups import fetch
from vestig.store.tables.schema import INDEX, columns_sql

_MEMORY = INDEX["memories"]


def stored_memory(
    conn: apsw.Connection, record: MemoryRecord, namespace: str
) -> tuple[Any, ...] | None:
    """The row of the memory of this id.

    Raises:
        ConflictError: another namespace holds the id, or the store has another text under it.
    """
    sql = f"SELECT {columns_sql('memories')} FROM memories WHERE id = ?"
    for row in fetch(conn, sql, (id_bytes(record.id),)):
        if row[_MEMORY["namespace"]] != namespace:
            raise id_conflict(record.id)
        if row[_MEMORY["content_hash"]].hex() != record.content_hash:
            raise ConflictError(
                f"{record.id}: expected the text that the store holds under this id, the"
                " export has another; nothing was written"
            )
        return row
    return None


def stored_text(conn: apsw.Connection, record: MemoryRecord, namespace: str) -> int | None:
    """The number of the unexpired memory that holds the text of an unexpired one of the file."""
    if record.t_expired is not None:
        return None
    found = fetch(
        conn,
        'SELECT "row" FROM memories WHERE content_hash = ? AND namespace = ?'
        " AND scope IS ? AND author IS ? AND t_expired_us IS NULL AND session_id IS ?"
        " AND (session_id IS NULL OR sequence IS ?)",
        (
            bytes.fromhex(record.content_hash), namespace, record.scope, record.author,
            record.session_id, record.sequence,
        ),
    )  # fmt: skip
    return found[0][0] if found else None


def stored_source(conn: apsw.Connection, record: SourceRecord, namespace: str) -> int | None:
    """The number of the source of this id, or of the agentic one of this agent and session.

    Raises:
        ConflictError: another namespace holds the id.
    """
    sql = 'SELECT "row", namespace FROM sources WHERE id = ?'
    found = fetch(conn, sql, (id_bytes(record.id),))
    if found and found[0][1] != namespace:
        raise id_conflict(record.id)
    found = found or fetch(
        conn,
        'SELECT "row", namespace FROM sources WHERE source_type = ? AND'
        " ? = 'agentic' AND namespace = ? AND agent IS ? AND session_id IS ?",
        (record.source_type,) * 2 + (namespace, record.agent, record.session_id),
    )
    return found[0][0] if found else None


def stored_entity(
    conn: apsw.Connection, record: EntityRecord, namespace: str
) -> tuple[int, str] | None:
    """Number and origin of the entity of this id, or of the unexpired one of this key.

    Raises:
        ConflictError: another namespace holds the id, or the store has another name under it.
    """
    sql = 'SELECT "row", origin, namespace, norm_key FROM entities WHERE id = ?'
    found = fetch(conn, sql, (id_bytes(record.id),))
    if found and found[0][2] != namespace:
        raise id_conflict(record.id)
    if found and found[0][3] != record.norm_key:
        raise ConflictError(
            f"{record.id}: expected the name that the store holds under this id, the export"
            " has another; nothing was written"
        )
    if not found and record.expired_at is None:
        sql = (
            'SELECT "row", origin FROM entities WHERE namespace = ? AND norm_key = ?'
            " AND expired_us IS NULL"
        )
        found = fetch(conn, sql, (namespace, record.norm_key))
    return (found[0][0], found[0][1]) if found else None
