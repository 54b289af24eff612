"""New nodes on their way to the projection, as the transaction that wrote them still holds them.

They are the values that were digested for the chain, so that nothing is read or proved again.
Only for transactions that did nothing but write new rows; all others are read (see `feed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vestig.ids import id_bytes
from vestig.ports import ProjectionRow
from vestig.store.ledger.digest_check import Proof
from vestig.store.ledger.projection_rows import Parts, memory_row
from vestig.store.ledger.projection_rows_graph import FED, NodeEdges, entity_row
from vestig.store.ledger.schema import EDGE_ENDS, INDEX

__all__ = ["new_rows"]

_Rows = Sequence[Sequence[Any]]
# What a row of the projection is made of; it knows nothing of sources and settings.
_TABLES: Final = frozenset(
    (
        "edges", "entities", "entity_vectors", "events", "memories", "meta", "questions",
        "sources", "token_vectors", "vectors",
    )
)  # fmt: skip
_ROW: Final = INDEX["memories"]["row"]  # and of entities
_ID: Final = INDEX["memories"]["id"]  # and of entities
_NODE: Final = INDEX["vectors"]["memory"]  # and of token_vectors; the entity of entity_vectors
_EVENT_OF: Final = INDEX["events"]["memory"]
_QUESTION_OF: Final = INDEX["questions"]["memory"]
_TYPE: Final = INDEX["edges"]["edge_type"]
_FROM: Final = INDEX["edges"]["from_row"]
_TO: Final = INDEX["edges"]["to_row"]


class _Written(Proof):
    """Rows that nobody else has touched yet."""

    def __init__(self) -> None:
        """Needs no links."""

    def check(
        self, table: str, row: Sequence[Any], seq: int, id: bytes, prefix: str = "mem"
    ) -> None:
        """It is as it was written."""

    def check_all(
        self, table: str, rows: Sequence[Any], width: int, id: bytes, prefix: str
    ) -> None:
        """They are as they were written."""


def new_rows(
    written: Mapping[str, _Rows], touched: set[int], known: Mapping[str, int], seq: int
) -> list[ProjectionRow] | None:
    """Rows of the projection in the order of `feed`; None when these rows do not tell all.

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
    parts = Parts(
        vectors={row[_NODE]: row for row in written.get("vectors", ())},
        tokens={row[_NODE]: row for row in written.get("token_vectors", ())},
        events=_by(_EVENT_OF, written.get("events", ())),
        questions=_by(_QUESTION_OF, written.get("questions", ())),
        edges=_edges("mem", written, ends, seq),
    )
    proof = _Written()
    found = [memory_row(row, parts, proof) for row in memories]
    if entities:
        vectors = {row[_NODE]: row for row in written.get("entity_vectors", ())}
        edges = _edges("ent", written, ends, seq)
        found += [entity_row(row, vectors.get(row[_ROW]), edges, proof) for row in entities]
    return found


def _by(at: int, rows: _Rows) -> dict[int, list[Sequence[Any]]]:
    found: dict[int, list[Sequence[Any]]] = {}
    for row in rows:
        found.setdefault(row[at], []).append(row)
    return found


def _edges(
    prefix: str, written: Mapping[str, _Rows], ends: Mapping[int, bytes], seq: int
) -> NodeEdges:
    """With the columns that `NodeEdges` wants behind those of the table."""
    wanted = FED[prefix]
    found: dict[int, list[Sequence[Any]]] = {}
    for edge in written.get("edges", ()):
        code = edge[_TYPE]
        if code in wanted:
            to = edge[_TO]
            end = ends.get(-to if EDGE_ENDS[code][1] == "ent" else to)
            found.setdefault(edge[_FROM], []).append((*edge, end, seq))
    return NodeEdges(prefix, found)
