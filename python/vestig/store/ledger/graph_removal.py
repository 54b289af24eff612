"""Removes nodes from the graph: entities that nothing supports, and edges that lose an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.store.ledger import chain
from vestig.store.ledger.graph_writes import delete_edges, touched_node
from vestig.store.ledger.rows import to_json
from vestig.store.ledger.schema import (
    EDGE_CODES,
    EDGE_ENDS,
    INDEX,
    INSERT,
    NODE_TABLES,
    columns_sql,
)
from vestig.store.sqlite.lookups import each, fetch, select_in

__all__ = [
    "Removal",
    "TombstoneFields",
    "remove_dangling_edges",
    "remove_edges_at",
    "remove_entities",
    "unsupported_entities",
]

_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_KEY_COLUMN: Final = {
    "memories": "row", "vectors": "memory", "events": "row", "supersessions": "row",
    "sources": "row", "edges": "id", "entities": "row", "entity_vectors": "entity",
    "questions": "row", "token_codes": "memory",
    "original_texts": "memory", "claims": "memory", "claim_evidence": "row",
}  # fmt: skip
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
    """What all tombstones of one removal have in common; `seq` and `recorded_us` are those of its
    transaction."""

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
        key = _KEY_COLUMN[table]
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


def _unname(removal: Removal, numbers: Sequence[int]) -> None:
    """New versions of the claims that name these entities, without them. Their seq stays: it says
    when the claim was stored, as that of its evidence does."""
    at, removed = INDEX["claims"], set(numbers)
    ends = ("subject_entity", "object_entity")
    named = {
        old[at["memory"]]: old for end in ends for old in removal.select("claims", end, numbers)
    }
    for memory, old in sorted(named.items()):
        new = list(old)
        for end in ends:
            if old[at[end]] in removed:
                new[at[end]] = None
        removal.conn.execute(
            "UPDATE claims SET subject_entity = ?, object_entity = ? WHERE memory = ?",
            (*(new[at[end]] for end in ends), memory),
        )
        removal.link.replaced("claims", old, new)


def remove_entities(removal: Removal, numbers: Sequence[int], fields: TombstoneFields) -> None:
    """Removes these entities with their vectors and edges; entities that were merged into
    them stay, merged into none, and claims that name them keep the names alone."""
    if not numbers:
        return
    _unname(removal, numbers)
    removal.remove_rows("entity_vectors", removal.select("entity_vectors", "entity", numbers))
    remove_edges_at(removal, "ent", numbers)
    removed = set(numbers)
    for old in list(removal.select("entities", "merged_into", numbers)):
        if old[_N["row"]] not in removed:
            removal.rewrite("entities", old, fields.seq, {"merged_into": None})
            removal.lost_edge.discard(-old[_N["row"]])
    for number in numbers:
        removal.conn.execute("DELETE FROM entity_access WHERE entity = ?", (number,))
    for row in removal.remove_rows("entities", removal.select("entities", "row", numbers)):
        removal.write_tombstone(-row[_N["row"]], row[_N["id"]], fields, {})
        removal.lost_edge.discard(-row[_N["row"]])
