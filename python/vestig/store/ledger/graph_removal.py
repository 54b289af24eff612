"""Removes nodes from the graph: entities that nothing supports, and edges that lose an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.store.ledger import chain
from vestig.store.ledger.graph_writes import delete_edges, touched_node
from vestig.store.ledger.rows import to_json
from vestig.store.sqlite.lookups import each, fetch, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.schema import INDEX, INSERT, NODE_TABLES, TABLES, columns_sql, referring
from vestig.store.tables.table import Forgetting, Table

_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_MENTIONS: Final = EDGE_CODES["MENTIONS"]
_RELATION: Final = EDGE_CODES["RELATION"]
# Supported is an entity that was made by hand, that a memory mentions, that a claim names,
# or that an entity made by hand has a relation with or was merged into.
_UNSUPPORTED: Final = (
    "e.origin <> 'manual'"
    f' AND NOT EXISTS (SELECT 1 FROM edges WHERE to_row = e."row" AND edge_type = {_MENTIONS})'
    ' AND NOT EXISTS (SELECT 1 FROM claims WHERE subject_entity = e."row")'
    ' AND NOT EXISTS (SELECT 1 FROM claims WHERE object_entity = e."row")'
    " AND NOT EXISTS (SELECT 1 FROM entities o WHERE o.origin = 'manual'"
    ' AND o.merged_into = e."row")'
    ' AND NOT EXISTS (SELECT 1 FROM edges r JOIN entities o ON o."row" = r.to_row'
    f" WHERE r.from_row = e.\"row\" AND r.edge_type = {_RELATION} AND o.origin = 'manual')"
    ' AND NOT EXISTS (SELECT 1 FROM edges r JOIN entities o ON o."row" = r.from_row'
    f" WHERE r.to_row = e.\"row\" AND r.edge_type = {_RELATION} AND o.origin = 'manual')"
)


class TombstoneFields(NamedTuple):
    """Fields that all tombstones of one removal have in common; `seq` and `recorded_us` are those
    of its transaction."""

    namespace: str
    actor: str | None
    seq: int
    recorded_us: int


class Removal:
    """Removes rows under one link.

    `counts`: rows per table. `removed_rows`: (table, columns) of each. `lost_edge`: nodes of which
    an edge that started there was removed, as the chain names touched nodes (entities negative).
    """

    def __init__(self, conn: apsw.Connection, link: chain.Link) -> None:
        self.conn = conn
        self.link = link
        self.counts: Counter[str] = Counter()
        self.removed_rows: list[tuple[str, tuple[Any, ...]]] = []
        self.lost_edge: set[int] = set()

    def remove_rows(self, table: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Removes these rows of a table under the chain, each once, and returns them."""
        key = _key_of(table)
        found = list({row[INDEX[table][key]]: row for row in rows}.values())
        for row in found:
            self.link.removed(table, row)
            self.removed_rows.append((table, row))
        if table == "edges":
            delete_edges(self.conn, found)
            for row in found:
                node = touched_node(row[_X["edge_type"]], row[_X["from_row"]])
                if node is not None:
                    self.lost_edge.add(node)
        else:
            place = INDEX[table][key]
            self.conn.executemany(
                f'DELETE FROM {table} WHERE "{key}" = ?', [(row[place],) for row in found]
            )
        self.counts[table] += len(found)
        return found

    def select(self, table: str, column: str, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Rows of a table under the chain."""
        sql = f'SELECT {columns_sql(table)} FROM {table} WHERE "{column}" IN (?*)'
        return select_in(self.conn, sql, keys)

    def remove_belongings(self, node_table: str, numbers: Sequence[int]) -> None:
        """Removes the rows that belong to these nodes of a table, and clears what refers to them in
        rows without versions: those of nodes are written anew by who knows what else changes."""
        for table, column in referring(node_table, Forgetting.REMOVED):
            if table.code is not None:
                self.remove_rows(table.name, self.select(table.name, column.name, numbers))
                continue
            sql = f'DELETE FROM {table.name} WHERE "{column.name}" = ?'
            for number in numbers:
                self.conn.execute(sql, (number,))
                self.counts[table.name] += self.conn.changes()
        for table, column in referring(node_table, Forgetting.CLEARED):
            if "wseq" not in table.names:
                self._clear(table, column.name, numbers)

    def _clear(self, table: Table, column: str, numbers: Sequence[int]) -> None:
        """Sets a column to NULL where it has one of these numbers. The seq of a row stays: it says
        when the row was stored."""
        sql = f'UPDATE {table.name} SET "{column}" = NULL WHERE "{column}" = ?'
        if table.code is not None:
            at = INDEX[table.name][column]
            for old in self.select(table.name, column, numbers):
                self.link.replaced(table.name, old, (*old[:at], None, *old[at + 1 :]))
        self.conn.executemany(sql, [(number,) for number in numbers])

    def rewrite(self, table: str, old: Sequence[Any], seq: int, columns: Mapping[str, Any]) -> None:
        """Writes a new version of a node that stays, with these values of columns."""
        at = INDEX[table]
        new = list(old)
        for column, value in columns.items():
            new[at[column]] = value
        new[at["wseq"]] = seq
        sets = "".join(f"{column} = ?, " for column in columns)
        self.conn.execute(
            f'UPDATE {table} SET {sets}wseq = ? WHERE "row" = ?',
            (*columns.values(), seq, old[at["row"]]),
        )
        self.link.replaced(table, old, new)
        row = old[at["row"]]
        self.link.touched.add(-row if table == "entities" else row)

    def write_tombstone(
        self, row: int, id: bytes, fields: TombstoneFields, counts: dict[str, int]
    ) -> None:
        """Writes a tombstone. `row` is negative for an entity."""
        values = (
            chain.Salts().take(), row, id, fields.namespace, fields.seq,
            fields.recorded_us, fields.actor, to_json(counts),
        )  # fmt: skip
        self.conn.execute(INSERT["tombstones"], values)
        self.link.wrote("tombstones", values)


def _key_of(table: str) -> str:
    """The column that names a row; edges are named by their id."""
    key = TABLES[table].key
    return key[0] if len(key) == 1 else "id"


def remove_edges_at(removal: Removal, prefix: str, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    """Removes all edges at these nodes of one kind and returns them."""
    found: list[tuple[Any, ...]] = []
    for code, ends in enumerate(EDGE_ENDS):
        for end, column in zip(ends, ("from_row", "to_row"), strict=True):
            if end == prefix:
                sql = (
                    f"SELECT {columns_sql('edges')} FROM edges WHERE {column} = ? AND edge_type = ?"
                )
                for number in numbers:
                    found += fetch(removal.conn, sql, (number, code))
    return removal.remove_rows("edges", found)


def remove_dangling_edges(removal: Removal) -> None:
    """Removes edges that lost an end."""
    found: list[tuple[Any, ...]] = []
    for code, ends in enumerate(EDGE_ENDS):
        for column, prefix in zip(("from_row", "to_row"), ends, strict=True):
            table = NODE_TABLES.get(prefix)
            if table is not None:
                found += each(
                    removal.conn,
                    f"SELECT {columns_sql('edges')} FROM edges WHERE edge_type = ? AND NOT EXISTS"
                    f' (SELECT 1 FROM {table} WHERE "row" = {column})',
                    (code,),
                )
    removal.remove_rows("edges", found)


def unsupported_entities(
    conn: apsw.Connection, namespace: str, rows: Sequence[int] | None = None
) -> list[int]:
    """Rows of the entities, of these or of all, that nothing supports any more."""
    sql = f'SELECT e."row" FROM entities e WHERE +e.namespace = ? AND {_UNSUPPORTED}'
    found = (
        each(conn, sql, (namespace,))
        if rows is None
        else select_in(conn, f'{sql} AND e."row" IN (?*)', rows, (namespace,))
    )
    return sorted({row for (row,) in found})


def remove_entities(removal: Removal, numbers: Sequence[int], fields: TombstoneFields) -> None:
    """Removes these entities with their vectors and edges; entities that were merged into
    them stay, merged into none, and claims that name them keep the names alone."""
    if not numbers:
        return
    removal.remove_belongings("entities", numbers)
    remove_edges_at(removal, "ent", numbers)
    removed = set(numbers)
    for old in list(removal.select("entities", "merged_into", numbers)):
        if old[_N["row"]] not in removed:
            removal.rewrite("entities", old, fields.seq, {"merged_into": None})
            removal.lost_edge.discard(-old[_N["row"]])
    for row in removal.remove_rows("entities", removal.select("entities", "row", numbers)):
        removal.write_tombstone(-row[_N["row"]], row[_N["id"]], fields, {})
        removal.lost_edge.discard(-row[_N["row"]])
