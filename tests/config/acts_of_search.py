"""Keys of edges, expansion, search and decay, each with what can be seen of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from world import Act, World

from vestig.changes import ChangeSet, NewEdge, NewEntity
from vestig.ids import new_id
from vestig.types import EdgeType

__all__ = ["EDGES", "SEARCH"]

TEXTS: Final = (
    "the pump of the boiler failed at noon",
    "a gasket was ordered by telephone",
    "nobody signed the ledger of visitors",
    "a canoe drifts past the lower weir",
    "an umbrella was left in the hall",
)
_QUIET: Final = {"entities.enabled": False, "links.related.enabled": False}


def stored(world: World) -> tuple[Any, list[str]]:
    """A store with `TEXTS`, linked in a row by RELATED."""
    store = world.open()
    ids = [str(store.commit(text).memory_id) for text in TEXTS]
    for first, second in pairwise(ids):
        store.graph.link(first, second, "RELATED")
    return store, ids


def evidence(world: World) -> Any:
    store, ids = stored(world)
    return store.graph.link(ids[0], ids[4], "RELATED", evidence="e" * 300).edge.evidence


def named_by_all(world: World) -> tuple[Any, list[str]]:
    """As `stored`; one entity is mentioned by all, less and less surely."""
    store, ids = stored(world)
    entity = NewEntity(
        id=new_id("ent"),
        namespace="default",
        entity_type="PERSON",
        canonical_name="Ada",
        norm_key="PERSON:ada",
    )
    edges = tuple(
        NewEdge(
            id=new_id("edge"),
            from_id=id,
            to_id=entity.id,
            edge_type=EdgeType.MENTIONS,
            confidence=1.0 - place / 10,
        )
        for place, id in enumerate(ids)
    )
    context = store._session
    with context.ledger.write(context.now_us()) as txn:
        txn.apply(ChangeSet(namespace="default", entities=(entity,), edges=edges))
    context.keeper.after_commit()
    return store, ids


def expanded(world: World) -> Any:
    store, ids = named_by_all(world)
    found = store.graph.expand_with_graph([ids[0], ids[3]])
    return len(found.via_entities), len(found.via_related)


def sure(world: World) -> Any:
    store, ids = named_by_all(world)
    return len(store.graph.expand_via_entities([ids[0]]))


def found(world: World) -> Any:
    store, ids = stored(world)
    return [
        ids.index(hit.node_id) for hit in store.graph.search("the pump", "vector", graph_depth=0)
    ]


def reached(world: World) -> Any:
    store, ids = stored(world)
    hits = store.graph.search(None, "graph", seed_nodes=[ids[0]])
    return [ids.index(hit.node_id) for hit in hits]


def faded(policy: str = "standard", days: float = 30, accesses: int = 2) -> Any:
    """Score of a memory after `days`, accessed half-way."""

    def observe(world: World) -> Any:
        store, ids = stored(world)
        store.update(ids[0], retention_policy=policy)
        world.clock.move(days=days / 2)
        for _ in range(accesses):
            store.record_access([ids[0]])
        world.clock.move(days=days / 2)
        hits = store.graph.search(None, "graph", seed_nodes=[ids[0]], graph_depth=0, decay=True)
        return [hit.score for hit in hits]

    return observe


def approximate(world: World) -> Any:
    store = world.open()
    store.commit_many([f"remark number {number} of the keeper" for number in range(30)])
    store.admin.compact()
    return store.recall("remark of the keeper").counts.approximate


_RETENTION: Final = "lifecycle.retention"
_LARGE: Final = {**_QUIET, "hygiene.near_duplicate.enabled": False}

EDGES: Final[dict[str, Act]] = {
    "entities.max_evidence_length": Act(50, evidence, _QUIET),
    "links.expansion.max_expand_via_entities": Act(1, expanded, _QUIET),
    "links.expansion.max_expand_via_related": Act(1, expanded, _QUIET),
    "links.expansion.min_confidence": Act(0.9, sure, _QUIET),
}

SEARCH: Final[dict[str, Act]] = {
    "search.limit": Act(2, found, _QUIET),
    "search.graph_depth": Act(3, reached, _QUIET),
    "decay.basis": Act("creation", faded(), _QUIET),
    "index.approximate_above": Act(20, approximate, _LARGE),
    **{
        f"{_RETENTION}.{policy}_half_life_days": Act(3.0, faded(policy, 4), _QUIET)
        for policy in ("decision", "standard", "ephemeral", "session")
    },
}
