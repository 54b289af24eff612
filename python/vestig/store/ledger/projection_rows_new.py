"""Rows of the projection for new nodes, made from the values that a transaction wrote.

These values were digested for the chain, so nothing is read or checked again. Only for
transactions that did nothing but write new rows; after all others the rows are read
(`projection_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vestig.ids import id_bytes
from vestig.ports import ProjectionRow
from vestig.store.ledger.digest_check import DigestCheck
from vestig.store.ledger.projection_rows import MemoryParts, memory_row
from vestig.store.ledger.projection_rows_graph import WALKED_EDGES, NodeEdges, entity_row
from vestig.store.tables.graph import EDGE_CODES, EDGE_ENDS
from vestig.store.tables.schema import ALL, INDEX

_Rows = Sequence[Sequence[Any]]
# Tables that a row of the projection is made of, and those that it does not depend on.
_TABLES: Final = frozenset(table.name for table in ALL if table.projected) | {"meta", "sources"}
_ROW: Final = INDEX["memories"]["row"]  # and of entities
_ID: Final = INDEX["memories"]["id"]  # and of entities
_NODE: Final = INDEX["vectors"]["memory"]  # and of other tables; the entity of entity_vectors
_EVENT_OF: Final = INDEX["events"]["memory"]
_QUESTION_OF: Final = INDEX["questions"]["memory"]
_PRODUCED: Final = EDGE_CODES["PRODUCED"]
_TYPE: Final = INDEX["edges"]["edge_type"]
_FROM: Final = INDEX["edges"]["from_row"]
_TO: Final = INDEX["edges"]["to_row"]


class _NoCheck(DigestCheck):
    """For rows that the transaction itself wrote: they need no check."""

    def __init__(self) -> None:
        """No links."""

    def check(
        self, table: str, row: Sequence[Any], seq: int, id: bytes, prefix: str = "mem"
    ) -> None:
        """No check."""

    def check_all(
        self, table: str, rows: Sequence[Any], width: int, id: bytes, prefix: str
    ) -> None:
        """No check."""


def new_rows(
    written: Mapping[str, _Rows], touched: set[int], known: Mapping[str, int], seq: int
) -> list[ProjectionRow] | None:
    """Rows of the projection, memories before entities; None when the transaction touched nodes or
    tables beyond these rows.

    Args:
        written: table → its new rows, in the order of writing.
        touched: nodes that the chain names, entities negative.
        known: ids of all nodes at the ends of edges → their rows.
        seq: of the transaction.
    """
    memories, entities = written.get("memories", ()), written.get("entities", ())
    nodes = {row[_ROW] for row in memories} | {-row[_ROW] for row in entities}
    if not touched <= nodes or not written.keys() <= _TABLES:
        return None
    # the rows of entities are negative here, as in the chain
    ends: dict[int, bytes] = {row[_ROW]: row[_ID] for row in memories}
    ends.update((-row[_ROW], row[_ID]) for row in entities)
    for id, row in known.items():
        node = -row if id.startswith("ent_") else row
        if node not in ends and not id.startswith("source_"):
            ends[node] = id_bytes(id)
    edges = _by(_TYPE, written.get("edges", ()))
    parts = MemoryParts(
        vectors={row[_NODE]: row for row in written.get("vectors", ())},
        codes={row[_NODE]: row for row in written.get("token_codes", ())},
        originals={row[_NODE]: row for row in written.get("original_texts", ())},
        events=_by(_EVENT_OF, written.get("events", ())),
        questions=_by(_QUESTION_OF, written.get("questions", ())),
        edges=_edges("mem", edges, ends, seq),
        sources=NodeEdges("mem", _by(_TO, edges.get(_PRODUCED, ()))),
    )
    digests = _NoCheck()
    found = [memory_row(row, parts, digests) for row in memories]
    if entities:
        vectors = {row[_NODE]: row for row in written.get("entity_vectors", ())}
        starting = _edges("ent", edges, ends, seq)
        found += [entity_row(row, vectors.get(row[_ROW]), starting, digests) for row in entities]
    return found


def _by(at: int, rows: _Rows) -> dict[int, list[Sequence[Any]]]:
    found: dict[int, list[Sequence[Any]]] = {}
    for row in rows:
        found.setdefault(row[at], []).append(row)
    return found


def _edges(
    prefix: str, by_type: Mapping[int, _Rows], ends: Mapping[int, bytes], seq: int
) -> NodeEdges:
    """Edges with the two columns that `NodeEdges` has behind those of the table."""
    found: dict[int, list[Sequence[Any]]] = {}
    for code in WALKED_EDGES[prefix]:
        sign = -1 if EDGE_ENDS[code][1] == "ent" else 1
        for edge in by_type.get(code, ()):
            row = (*edge, ends.get(sign * edge[_TO]), seq)
            found.setdefault(edge[_FROM], []).append(row)
    return NodeEdges(prefix, found)
