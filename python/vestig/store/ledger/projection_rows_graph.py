"""The graph's part of the rows of the projection: entities as nodes, and the edges that start at a
node.

Every row is checked against the chain, as in `projection_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw

from vestig.ports import ProjectionRow
from vestig.store.ledger.digest_check import DigestCheck
from vestig.store.ledger.graph_rows import aliases_of
from vestig.store.sqlite.lookups import each, select_in
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS, ENTITY_NODE
from vestig.store.tables.memories import NO_QUESTION
from vestig.store.tables.schema import INDEX, NODE_TABLES, columns_sql

WalkedEdge = tuple[bytes, bytes, int, float, float | None, int, int | None]
# A half-open range of rows, or a list of them.
Selection = tuple[int, int] | list[int]

_X: Final = INDEX["edges"]
_N: Final = INDEX["entities"]
_EDGE_WIDTH: Final = len(_X)
# Behind the columns of an edge: the id of its other end, and the seq of the transaction that wrote
# this version.
_OTHER_END: Final = _EDGE_WIDTH
_WRITING_SEQ: Final = _EDGE_WIDTH + 1
_other_end: Final = itemgetter(_OTHER_END)
_writing_seq: Final = itemgetter(_WRITING_SEQ)
_EDGE_COLUMNS: Final = itemgetter(
    _X["id"],
    _OTHER_END,
    *(_X[n] for n in ("edge_type", "weight", "confidence", "t_created_us", "t_expired_us")),
)
# By which of several edges came first: an import may have written them in one transaction.
_EDGE_AGE: Final = itemgetter(_X["seq"], _X["t_created_us"], _X["id"])
_ENTITY_COLUMNS: Final = itemgetter(
    *(
        _N[name]
        for name in (
            "row", "id", "namespace", "seq", "wseq", "entity_type", "canonical_name", "norm_key",
            "aliases", "created_us", "expired_us",
        )
    )
)  # fmt: skip
# Codes of edges that the projection walks, by the kind of their start.
WALKED_EDGES: Final = {
    "mem": tuple(EDGE_CODES[name] for name in ("MENTIONS", "RELATED", "SUMMARIZES")),
    "ent": (EDGE_CODES["RELATION"],),
}
# Positions of `note` and `unknown` in the enums OriginType and Stability.
_NOTE_CODE: Final = 3
_UNKNOWN_CODE: Final = 3


def _edges_sql(prefix: str) -> str:
    """Edges of the types that the projection walks, as `_EDGE_COLUMNS` takes them."""
    ends = " ".join(
        f'WHEN {code} THEN (SELECT id FROM {NODE_TABLES[EDGE_ENDS[code][1]]} WHERE "row" = to_row)'
        for code in WALKED_EDGES[prefix]
    )
    codes = ", ".join(map(str, WALKED_EDGES[prefix]))
    return (
        f"SELECT {columns_sql('edges')}, CASE edge_type {ends} END, MAX(seq, expired_seq)"
        " FROM edges"
        f" WHERE edge_type IN ({codes}) AND from_row"
    )


_SOURCES: Final = (
    f"SELECT {columns_sql('edges')}, NULL, MAX(seq, expired_seq) FROM edges"
    f" WHERE edge_type = {EDGE_CODES['PRODUCED']} AND to_row"
)
_EDGES: Final = {prefix: _edges_sql(prefix) for prefix in WALKED_EDGES}
_ENTITIES: Final = f'SELECT {columns_sql("entities")} FROM entities WHERE "row"'
_VECTORS: Final = f"SELECT {columns_sql('entity_vectors')} FROM entity_vectors WHERE entity"


def select(
    conn: apsw.Connection, sql: str, selection: Selection, order: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Rows whose column, named at the end of `sql`, lies in the selection."""
    if isinstance(selection, tuple):
        column = sql.rsplit(" ", 1)[1]
        return each(conn, f"{sql} >= ?1 AND {column} < ?2{order}", selection)
    return select_in(conn, f"{sql} IN (?*){order}", selection)


def by_node(rows: Iterable[tuple[Any, ...]], at: int) -> dict[int, list[tuple[Any, ...]]]:
    """Node → its rows, which must come ordered by node."""
    return {node: list(group) for node, group in groupby(rows, itemgetter(at))}


class NodeEdges(NamedTuple):
    """Rows of the edges that start at nodes of one kind."""

    prefix: str
    rows: Mapping[int, Sequence[Sequence[Any]]]

    def seqs(self) -> set[int]:
        """The transactions that wrote these versions."""
        return {row[_WRITING_SEQ] for rows in self.rows.values() for row in rows}

    def starting_at(
        self, node: int, id: bytes, digests: DigestCheck
    ) -> tuple[list[WalkedEdge], int]:
        """Edges that start at a node, by id, and the newest seq that wrote one (0: none)."""
        rows = self.rows.get(node)
        if rows is None:
            return [], 0
        digests.check_all("edges", rows, _EDGE_WIDTH, id, self.prefix)
        newest: int = max(map(_writing_seq, rows))
        found: list[WalkedEdge] = sorted(map(_EDGE_COLUMNS, rows))
        if None in map(_other_end, rows):
            raise digests.missing_end("edges", id, self.prefix)
        return found, newest


def read_edges(conn: apsw.Connection, prefix: str, selection: Selection) -> NodeEdges:
    """Edges that start at these rows, in one statement."""
    rows = select(conn, _EDGES[prefix], selection, " ORDER BY from_row")
    return NodeEdges(prefix, by_node(rows, _X["from_row"]))


def read_sources(conn: apsw.Connection, rows: Sequence[int]) -> NodeEdges:
    """Edges from sources to these memories, in one statement."""
    found = select(conn, _SOURCES, list(rows), " ORDER BY to_row") if rows else iter(())
    return NodeEdges("mem", by_node(found, _X["to_row"]))


def first_source(edges: NodeEdges, node: int, id: bytes, digests: DigestCheck) -> int | None:
    """The row number of the source that produced a memory first; None = it has none."""
    rows = edges.rows.get(node)
    if rows is None:
        return None
    digests.check_all("edges", rows, _EDGE_WIDTH, id, edges.prefix)
    return int(min(rows, key=_EDGE_AGE)[_X["from_row"]])


def entity_rows(
    conn: apsw.Connection, selection: Selection, digests: DigestCheck
) -> Iterator[ProjectionRow]:
    """Entities as nodes of the projection, by row."""
    entities = list(select(conn, _ENTITIES, selection, ' ORDER BY "row"'))
    vectors = {row[1]: row for row in select(conn, _VECTORS, selection)}
    edges = read_edges(conn, "ent", selection)
    seqs = {row[_N["wseq"]] for row in entities}
    seqs.update(row[2] for row in vectors.values())
    digests.load(seqs | edges.seqs())
    for entity in entities:
        yield entity_row(entity, vectors.get(entity[1]), edges, digests)


def entity_row(
    entity: Sequence[Any], vector: Sequence[Any] | None, edges: NodeEdges, digests: DigestCheck
) -> ProjectionRow:
    """The row of an entity in the projection."""
    (
        number, id, namespace, seq, wseq, entity_type, name, norm_key, aliases, created, expired,
    ) = _ENTITY_COLUMNS(entity)  # fmt: skip
    digests.check("entities", entity, wseq, id, "ent")
    touched = wseq
    embedding: bytes | None = None
    if vector is not None:
        digests.check("entity_vectors", vector, vector[2], id, "ent")
        touched = max(touched, vector[2])
        embedding = vector[4]
    starting, newest = edges.starting_at(number, id, digests)
    names = _names(norm_key.removeprefix(f"{entity_type}:"), name, aliases)
    return ProjectionRow(
        id, seq, max(touched, newest), "", None, namespace, None, ENTITY_NODE,
        0 if expired is None else 1, entity_type, None, None, _NOTE_CODE, _UNKNOWN_CODE, False,
        created, None, created, expired, embedding, [], [], [], [], [], [], starting, [], names, 0,
        None, None, None, None,
    )  # fmt: skip


def _names(norm: str, name: str, aliases: str) -> list[tuple[str, str]]:
    """(norm name, stored name): the canonical one first, each norm name once."""
    found = {norm: name}
    if aliases != "[]":
        from vestig.language.names.forms import norm_name

        for alias in aliases_of(aliases):
            found.setdefault(norm_name(alias.name), alias.name)
    return list(found.items())


def stored_questions(
    rows: Iterable[Sequence[Any]], id: bytes, digests: DigestCheck
) -> tuple[list[bytes], int]:
    """Vectors of a memory's questions in order, and the newest seq that wrote one (0: none)."""
    vectors: list[tuple[int, bytes]] = []
    newest = 0
    for row in rows:
        _salt, _row, _memory, position, seq, _text, _model, embedding = row
        digests.check("questions", row, seq, id)
        newest = max(newest, seq)
        if position != NO_QUESTION:
            vectors.append((position, embedding))
    return [embedding for _position, embedding in sorted(vectors)], newest
