"""Finds the node of a store that a memory, source or entity of a file is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.errors import ConflictError
from vestig.ids import id_text
from vestig.store.sqlite.connections import fetch
from vestig.store.tables.schema import INDEX, TABLES, columns_sql

_M: Final = INDEX["memories"]
# A column of a node that is the same as long as it has its id, and what it holds.
_IDENTITY: Final = {"memories": ("content_hash", "text"), "entities": ("norm_key", "name")}
# The node that a store has under another id: the unexpired memory of this text, with the same key
# or without one, the unexpired entity of this key, the agentic source of this agent and session.
_EQUAL: Final = {
    "memories": "t_expired_us IS NULL AND content_hash = :content_hash AND scope IS :scope"
    ' AND :t_expired_us IS NULL AND "key" IS :key AND ("key" IS NOT NULL OR (author IS :author'
    " AND session_id IS :session_id AND (session_id IS NULL OR sequence IS :sequence)))",
    "entities": "expired_us IS NULL AND norm_key = :norm_key AND :expired_us IS NULL",
    "sources": "source_type = 'agentic' AND source_type = :source_type AND agent IS :agent"
    " AND session_id IS :session_id",
}
# Columns that say nothing of what a memory is: they belong to a ledger, or to other memories.
_NOT_COMPARED: Final = frozenset(
    ("salt", "row", "id", "namespace", "scope", "seq", "wseq", "superseded_by", "revives")
)


def stored_node(
    conn: apsw.Connection, table: str, row: Sequence[Any], namespace: str
) -> tuple[int, bool] | None:
    """Return the row of the node that a row of a file is, and whether it has its id.

    Args:
        table: of the row; a tombstone is of a memory.

    Raises:
        ConflictError: another namespace holds the id, or the store has something else under it.
    """
    named = dict(zip(TABLES[table].names, row, strict=True))
    nodes = "memories" if table == "tombstones" else table
    column, what = _IDENTITY.get(table, ("id", ""))
    sql = f'SELECT "row", namespace, {column} FROM {nodes} WHERE id = ?'
    for number, space, value in fetch(conn, sql, (named["id"],)):
        id = id_text(TABLES[nodes].prefix or "", named["id"])
        if space != namespace:
            raise ConflictError(
                f"{id}: expected an id that is free in this store, another namespace holds it;"
                " nothing was written"
            )
        if value != named[column]:
            raise ConflictError(
                f"{id}: expected the {what} that the store holds under this id, the export has"
                " another; nothing was written"
            )
        return number, True
    if table not in _EQUAL:
        return None
    sql = f'SELECT "row" FROM {table} WHERE namespace = :space AND {_EQUAL[table]}'
    found: list[tuple[Any, ...]] = conn.execute(sql, named | {"space": namespace}).fetchall()
    return (found[0][0], False) if found else None


def stored_item(conn: apsw.Connection, row: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the row of the item that a row of a file is: that of its id, else that of its key.

    Raises:
        ConflictError: another namespace holds the id.
    """
    named = dict(zip(TABLES["items"].names, row, strict=True))
    select = f"SELECT {columns_sql('items')} FROM items WHERE "
    by_key = "\"key\" = :key AND namespace = :namespace AND IFNULL(scope, '') = IFNULL(:scope, '')"
    for condition in ("id = :id", by_key):
        rows: list[tuple[Any, ...]] = conn.execute(select + condition, named).fetchall()
        for found in rows:
            if found[INDEX["items"]["namespace"]] != named["namespace"]:
                raise ConflictError(
                    f"{id_text('item', named['id'])}: expected an id that is free in this store,"
                    " another namespace holds it; nothing was written"
                )
            return found
    return None


def same_memory(
    conn: apsw.Connection, theirs: apsw.Connection, stored: int, row: Sequence[Any]
) -> bool:
    """Return whether the store has a memory in the state that a row of a scratch ledger has."""
    sql = f'SELECT {columns_sql("memories")} FROM memories WHERE "row" = ?'
    mine = fetch(conn, sql, (stored,))[0]
    sql = "SELECT content FROM original_texts WHERE memory = ?"
    same_text = fetch(conn, sql, (stored,)) == fetch(theirs, sql, (row[_M["row"]],))
    return same_text and all(
        mine[at] == row[at] for name, at in _M.items() if name not in _NOT_COMPARED
    )
