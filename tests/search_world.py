"""Four memories and an entity at known cosines to a query."""

from __future__ import annotations

from typing import Any

from vestig.graph.search_result import SearchResult

__all__ = ["COSINES", "NO_ENTITIES", "QUERY", "named", "rows"]

QUERY = "which of them is it"
NO_ENTITIES = {"entities.enabled": False, "links.related.enabled": False}
# text → cosine to the query
COSINES = {
    "the pump of the boiler failed at noon": 0.9,
    "a gasket was ordered by telephone": 0.6,
    "nobody signed the ledger of visitors": 0.3,
    "a canoe drifts past the lower weir": 0.0,
}
PUMP, GASKET, LEDGER, CANOE = COSINES
UNKNOWN = ("mem_00000000-0000-4000-8000-000000000000", "ent_00000000-0000-4000-8000-000000000000")


def rows(result: SearchResult, **names: str) -> list[tuple[str, float, str, int]]:
    known = {id: name for name, id in names.items()}
    return [
        (known.get(hit.node_id, hit.node_id), round(hit.score, 6), hit.source, hit.graph_depth)
        for hit in result
    ]


def named(world: dict[str, Any]) -> dict[str, str]:
    short = {"P": PUMP, "G": GASKET, "L": LEDGER, "C": CANOE, "E": "Ada"}
    return {letter: world[text] for letter, text in short.items()}
