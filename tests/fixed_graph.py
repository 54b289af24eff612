"""A graph of five memories S, B, C, D, E with RELATED edges made by `link`; recall starts at S."""

from __future__ import annotations

from typing import Any

import msgspec

import vestig
from calls import selecting
from vestig.answers import RecallResult
from vestig.testing import vector_at

QUERY = "what lies nearest?"
# cosine of each memory to QUERY
COSINES = {"S": 1.0, "B": 0.5, "C": 0.4, "D": 0.3, "E": 0.2}
EDGES = (("S", "B", 0.9), ("S", "D", 0.8), ("B", "C", 0.3), ("S", "E", 0.5), ("B", "E", 0.9))
PLAIN = {
    "signals.sittings.enabled": False,
    "hygiene": {"near_duplicate": {"enabled": False}},
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
}
WALK = {
    "walk.start.limit": 1,
    "walk.max_nodes": 3,
    "walk.exploration_factor": 2.0,
}


def text(name: str) -> str:
    return f"The memory named {name} of the fixed graph"


class FixedGraph(msgspec.Struct):
    """An open store with the graph; `ids` by name."""

    store: vestig.Vestig
    ids: dict[str, str]

    def recall(self, **fields: Any) -> RecallResult:
        """From S with the fixture's settings; `config` adds keys."""
        walk = {f"walk.{name}": fields.pop(name) for name in ("mode", "order") if name in fields}
        config = WALK | {"walk.mode": "deterministic"} | walk | fields.pop("config", {})
        given = {"profile": "reference", "limit": 3} | fields
        return self.store.recall(QUERY, config=config, **selecting(given))

    def names(self, result: RecallResult) -> list[str]:
        """Names in the order of the results."""
        by_id = {id: name for name, id in self.ids.items()}
        return [by_id[hit.id] for hit in result]

    def reason(self, result: RecallResult, name: str) -> Any:
        """The reason of one result."""
        return next(hit.reason for hit in result if hit.id == self.ids[name])

    def path(self, result: RecallResult, name: str) -> list[str]:
        """Its path in names."""
        by_id = {id: name for name, id in self.ids.items()}
        found = self.reason(result, name).path
        return [found[0], *(place[:-40] + by_id[place[-40:]] for place in found[1:])]


def fixed_graph(
    opener: Any, names: str = "SBCDE", edges: Any = EDGES, **options: Any
) -> FixedGraph:
    """A new store with these memories and those of the edges that join two of them."""
    vectors = {
        text(name): vector_at(COSINES.get(name, 0.1), 8, 1 + place % 7)
        for place, name in enumerate(names)
    }
    store = opener(vectors={QUERY: vector_at(1.0), **vectors}, config=PLAIN, **options)
    ids = {name: store.commit(text(name)).memory_id for name in names}
    for first, second, weight in edges:
        if first in ids and second in ids:
            store.graph.link(ids[first], ids[second], "RELATED", weight=weight)
    return FixedGraph(store=store, ids=ids)
