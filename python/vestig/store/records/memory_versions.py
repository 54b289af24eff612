"""New versions of a memory's row, the rows beside it that follow from it (tags, processing), and
the node of a store that a memory, source or entity of a file is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import apsw

from vestig.changes import MemoryPatch, NewOriginalText
from vestig.errors import ConflictError
from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import NodeRows
from vestig.store.records.rows import UniquenessCollision, stored_value
from vestig.store.sqlite.connections import fetch
from vestig.store.tables.schema import INDEX, INSERT, TABLES, columns_sql

_AT: Final = INDEX["memories"]
_AT_FIELD: Final = {one.field_name: _AT[one.name] for one in TABLES["memories"].columns}
_TAG_INSERT: Final = "INSERT INTO tags VALUES (?, ?)"
# Fields that never change, and those that only the transaction sets.
_FIXED: Final = frozenset(
    (
        "salt", "row", "id", "namespace", "seq", "wseq", "t_created", "content", "content_hash",
        "key",
    )
)  # fmt: skip


def patched_row(
    old: Sequence[Any],
    patch: MemoryPatch,
    *,
    seq: int,
    recorded_us: int,
    row_of: Callable[[str], int],
) -> list[Any]:
    """The row after a patch.

    Raises:
        ValueError: a field that the table does not have or that never changes.
    """
    new = list(old)
    for field, value in patch.fields.items():
        if field == "processing":
            continue
        if field not in _AT_FIELD or field in _FIXED:
            raise ValueError(f"a patch cannot set the field {field!r} of a memory")
        new[_AT_FIELD[field]] = stored_value(field, value, row_of)
    if patch.expired and new[_AT["t_expired_us"]] is None:
        new[_AT["t_expired_us"]] = recorded_us
    new[_AT["reinforce_count"]] += patch.reinforce
    if patch.seen_us is not None:
        seen = new[_AT["last_seen_us"]]
        new[_AT["last_seen_us"]] = patch.seen_us if seen is None else max(seen, patch.seen_us)
    if patch.bump_version:
        new[_AT["version"]] += 1
    new[_AT["wseq"]] = seq
    return new


def write_tags(
    conn: apsw.Connection, row: int, before: Sequence[str], after: Sequence[str]
) -> None:
    """Brings the index of tags in line with `metadata.tags`."""
    for tag in set(before) - set(after):
        conn.execute("DELETE FROM tags WHERE tag = ? AND memory = ?", (tag, row))
    for tag in sorted(set(after) - set(before)):
        conn.execute(_TAG_INSERT, (tag, row))


def write_new_tags(conn: apsw.Connection, tags: Sequence[tuple[int, Sequence[str]]]) -> None:
    """The index of tags of memories that had none: (row, tags) of each."""
    rows = [(tag, row) for row, given in tags for tag in sorted(set(given))]
    if rows:
        conn.executemany(_TAG_INSERT, rows)


def write_processing(conn: apsw.Connection, row: int, state: str) -> None:
    """The state of enrichment: bookkeeping outside the chain, derived from the memory's jobs."""
    conn.execute(
        "INSERT INTO access VALUES (?, 0, NULL, ?)"
        " ON CONFLICT (memory) DO UPDATE SET processing = excluded.processing",
        (row, state),
    )


@contextmanager
def unique_texts() -> Iterator[None]:
    """Around statements that write memories.

    Raises:
        UniquenessCollision: another unexpired memory holds the same text.
    """
    try:
        yield
    except apsw.ConstraintError as error:
        if "memories_text" in str(error):
            raise UniquenessCollision(
                "an unexpired memory of this namespace, scope and author holds the text"
            ) from error
        raise


_TABLE: Final = "original_texts"
_ROW_OF: Final = "SELECT {} FROM {} WHERE memory = ?"


def original_sql(memories: str) -> str:
    """The SQL of the original text of a memory, in a statement that names its table so."""
    return f'SELECT content FROM {_TABLE} WHERE memory = {memories}."row"'


def insert_original(conn: apsw.Connection, memory: int, seq: int, content: str) -> None:
    """Inserts the original text of a memory, outside of any chain."""
    values = (b"", memory, seq, content, sha256(content.encode()).digest())
    conn.execute(INSERT[_TABLE], values)


def put_rows(
    conn: apsw.Connection,
    link: chain.Link,
    table: str,
    rows: Sequence[tuple[Any, ...]],
    new_memories: Collection[int] = (),
) -> None:
    """Writes rows of a table that has one for each memory, in the place of older ones, and touches
    the memories.

    Args:
        new_memories: those of the same transaction, which have no older row.
    """
    at = INDEX[table]["memory"]
    link.touched.update([row[at] for row in rows])
    fresh = [row for row in rows if row[at] in new_memories]
    if fresh:
        conn.executemany(INSERT[table], fresh)
        link.wrote_all(table, fresh)
    for row in rows if len(fresh) < len(rows) else ():
        if row[at] not in new_memories:
            old = fetch(conn, _ROW_OF.format(columns_sql(table), table), (row[at],))
            conn.execute(f"INSERT OR REPLACE{INSERT[table].removeprefix('INSERT')}", row)
            if old:
                link.replaced(table, old[0], row)
            else:
                link.wrote(table, row)


def write_originals(
    conn: apsw.Connection,
    link: chain.Link,
    nodes: NodeRows,
    texts: Sequence[NewOriginalText],
    *,
    seq: int,
    salts: chain.Salts,
) -> None:
    """Writes, replaces or removes the original texts of these memories; of several for one memory
    the last one counts.

    Raises:
        NotFoundError: an id that the namespace does not hold.
    """
    rows: list[tuple[Any, ...]] = []
    for new in {new.memory_id: new for new in texts}.values():
        memory = nodes.row(new.memory_id)
        if new.content is not None:
            digest = sha256(new.content.encode()).digest()
            rows.append((salts.take(), memory, seq, new.content, digest))
            continue
        link.touched.add(memory)
        for old in fetch(conn, _ROW_OF.format(columns_sql(_TABLE), _TABLE), (memory,)):
            conn.execute(f"DELETE FROM {_TABLE} WHERE memory = ?", (memory,))
            link.removed(_TABLE, old)
    put_rows(conn, link, _TABLE, rows, nodes.new_memories)


_M: Final = INDEX["memories"]
# A column of a node that is the same as long as it has its id, and what it holds.
_SAME_COLUMN: Final = {"memories": ("content_hash", "text"), "entities": ("norm_key", "name")}
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
    (
        "salt", "row", "id", "namespace", "scope", "seq", "wseq", "t_created_us", "t_expired_us",
        "superseded_by", "revives",
    )
)  # fmt: skip


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
    column, what = _SAME_COLUMN.get(table, ("id", ""))
    sql = f'SELECT "row", namespace, {column} FROM {nodes} WHERE id = ?'
    for number, space, value in fetch(conn, sql, (named["id"],)):
        id = id_text(TABLES[nodes].prefix or "", named["id"])
        if space != namespace:
            raise ConflictError(
                f"{id}: expected an id that is free in this store, another namespace holds it;"
                " nothing was written; another store takes it"
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
