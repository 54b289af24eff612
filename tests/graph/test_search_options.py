"""Kinds, filters, times, decay, provenance and access of unified search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from calls import selecting
from graph_rows import entity, mention, summary
from search_world import (
    CANOE,
    GASKET,
    LEDGER,
    PUMP,
    QUERY,
)
from vestig.embedders.checked import float32_bytes
from vestig.errors import NotFoundError
from vestig.store.records.reads import LedgerView
from vestig.testing import FrozenClock, vector_at

# --- options ---------------------------------------------------------------------------------


def test_kinds_are_returned_and_walked_through(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[CANOE], ada)
    for kind in ("vector", "hybrid"):
        entities = store.graph.search(QUERY, kind, where={"kinds": "entity"})
        assert {hit.kind for hit in entities} == {"entity"}
        memories = store.graph.search(QUERY, kind, where={"kinds": ["memory"]})
        assert {hit.kind for hit in memories} == {"memory"}
        assert len(memories) == 4
    # the entity leads from one memory to the other and is not returned itself
    found = store.graph.search(
        None, "graph", graph_depth=2, where={"kinds": ["memory"]}, seed_nodes=[world[PUMP]]
    )
    assert [(hit.node_id, hit.graph_depth) for hit in found] == [
        (world[PUMP], 0),
        (world[CANOE], 2),
    ]
    only = store.graph.search(
        None, "graph", graph_depth=2, where={"kinds": ["entity"]}, seed_nodes=world[PUMP]
    )
    assert [hit.node_id for hit in only] == [ada]
    whole = summary(store, "a summary of the boiler", [world[PUMP]])
    found = store.graph.search(QUERY, "vector", where={"kinds": ["SUMMARY"]})
    assert [hit.node_id for hit in found] == []  # it has no vector
    near = store.graph.search(
        None, "graph", where={"kinds": ["SUMMARY", "MEMORY"]}, seed_nodes=[whole]
    )
    assert {hit.node_id for hit in near} == {whole, world[PUMP]}


def test_filters_come_before_the_cut_and_stop_the_walk(chain: dict[str, Any]) -> None:
    store = chain["store"]
    store.update(chain[PUMP], tags=["boiler"])
    store.update(chain[LEDGER], tags=["boiler"])
    tagged = store.graph.search(
        QUERY, "vector", limit=2, tags=["boiler"], where={"kinds": ["memory"]}
    )
    assert [hit.node_id for hit in tagged] == [chain[PUMP], chain[LEDGER]]
    # the gasket has no tag and leads nowhere
    found = store.graph.search(
        None, "graph", graph_depth=3, tags=["boiler"], seed_nodes=[chain[PUMP]]
    )
    assert [hit.node_id for hit in found] == [chain[PUMP]]
    without = store.graph.search(
        QUERY, "vector", where={"exclude_ids": [chain[PUMP], chain["Ada"]]}
    )
    assert [hit.node_id for hit in without] == [chain[GASKET], chain[LEDGER], chain[CANOE]]
    only = store.graph.search(QUERY, "vector", where={"ids": [chain["Ada"], chain[CANOE][:16]]})
    assert [hit.node_id for hit in only] == [chain["Ada"], chain[CANOE]]


def test_entities_are_a_filter_of_memories(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[LEDGER], ada)
    for named in (ada, ada[:16], "ada", ["Ada", "nobody"]):
        found = store.graph.search(QUERY, "vector", where={"entities": named})
        assert [hit.node_id for hit in found] == [ada, world[LEDGER]]
    assert [
        hit.kind for hit in store.graph.search(QUERY, "vector", where={"entities": "nobody"})
    ] == ["entity"]


def test_metadata_is_asked_of_memories_only(world: dict[str, Any]) -> None:
    store = world["store"]
    store.update(world[LEDGER], metadata={"team": "blue"})
    found = store.graph.search(QUERY, "vector", where={"metadata": {"team": "blue"}})
    assert [hit.node_id for hit in found] == [world["Ada"], world[LEDGER]]


def test_time_travel(chain: dict[str, Any], clock: FrozenClock) -> None:
    store = chain["store"]
    before = clock()
    clock.move(days=1)
    store.deprecate(chain[GASKET])
    seeds = {"seed_nodes": [chain[PUMP]], "graph_depth": 2}
    assert [hit.node_id for hit in store.graph.search(None, "graph", **selecting(seeds))] == [
        chain[PUMP]
    ]
    past = store.graph.search(None, "graph", known_at=before, **selecting(seeds))
    assert [hit.node_id for hit in past] == [chain[PUMP], chain[GASKET], chain[LEDGER]]
    expired = store.graph.search(None, "graph", where={"include_expired": True}, **selecting(seeds))
    assert len(expired) == 3


def test_the_configuration_gives_the_defaults(
    chain: dict[str, Any], reopened: Callable[..., Any]
) -> None:
    assert len(reopened(**{"search.limit": 2}).graph.search(QUERY, "vector")) == 2
    found = reopened(**{"search.graph_depth": 0}).graph.search(QUERY)
    assert {hit.source for hit in found} == {"vector"}


# --- decay -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vector", "hybrid"])
def test_decay_reorders_and_replaces(
    world: dict[str, Any], clock: FrozenClock, kind: str, reopened: Callable[..., Any]
) -> None:
    store = world["store"]
    store.update(world[PUMP], retention_policy="session")
    store.pin(world[LEDGER])
    clock.move(days=90)
    store.record_access([world[LEDGER]] * 1)
    fresh = store.graph.search(QUERY, kind, limit=3)
    assert [hit.node_id for hit in fresh] == [world[PUMP], world[GASKET], world["Ada"]]
    assert all(not isinstance(hit.raw_score, float) for hit in fresh)
    found = store.graph.search(QUERY, kind, limit=3, decay=True)
    # pump: 90 half-lives, drops out; entity: half, no frequency factor; gasket: half of a half;
    # ledger: pinned, one access
    assert [(hit.node_id, pytest.approx(hit.score, abs=1e-6), hit.raw_score) for hit in found] == [
        (world["Ada"], 0.25, pytest.approx(0.5, abs=1e-6)),
        (world[LEDGER], 0.3 * 0.644532, pytest.approx(0.3, abs=1e-6)),
        (world[GASKET], 0.15, pytest.approx(0.6, abs=1e-6)),
    ]
    assert found.decayed


def test_entities_follow_their_memories(world: dict[str, Any], clock: FrozenClock) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    store.update(world[PUMP], retention_policy="permanent")
    clock.move(days=900)
    found = store.graph.search(None, "graph", seed_nodes=[ada], graph_depth=0, decay=True)
    assert [(hit.score, hit.raw_score) for hit in found] == [(0.5, 1.0)]
    store.update(world[PUMP], retention_policy="session")
    assert (
        list(store.graph.search(None, "graph", seed_nodes=[ada], graph_depth=0, decay=True)) == []
    )


# --- provenance and access ---------------------------------------------------------------------


def test_memories_behind_a_hit(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, clock: FrozenClock
) -> None:
    store, ada = world["store"], world["Ada"]
    nobody = entity(store, "Nobody", vector=float32_bytes(vector_at(0.4, 16, 10)))
    for text in (PUMP, LEDGER, GASKET):
        clock.move(minutes=1)
        mention(store, world[text], ada)
    whole = summary(store, "a summary of the boiler", [world[PUMP]])
    calls: list[Any] = []
    plain = LedgerView.mentioning

    def counted(self: Any, namespace: str, ids: Any) -> Any:
        calls.append(list(ids))
        return plain(self, namespace, ids)

    monkeypatch.setattr(LedgerView, "mentioning", counted)
    found = store.graph.search(QUERY, "vector")
    behind = {hit.node_id: hit.memory_ids for hit in found}
    assert behind[ada] == (world[LEDGER], world[GASKET], world[PUMP])
    assert behind[nobody] == ()
    assert behind[world[PUMP]] == (whole, world[PUMP])
    assert behind[world[CANOE]] == (world[CANOE],)
    assert calls == [[ada, nobody]], "one look-up for all"
    without = store.graph.search(QUERY, "vector", include_memory_ids=False)
    assert all("memory_ids" not in hit.to_dict(explain=True) for hit in without)
    assert calls == [[ada, nobody]]


def test_reads_change_nothing_unless_touched(world: dict[str, Any], clock: FrozenClock) -> None:
    store, ada = world["store"], world["Ada"]
    before = store.admin.stats()
    store.graph.search(QUERY)
    assert store.admin.stats() == before
    clock.move(hours=1)
    store.graph.search(QUERY, "vector", limit=3, touch=True)
    seen = {memory.id: memory.access_count for memory in store.list()}
    assert seen == {world[PUMP]: 1, world[GASKET]: 1, world[LEDGER]: 0, world[CANOE]: 0}
    with store._session.ledger.read() as view:
        (one,) = view.entities("default", [ada])
    assert (one.access_count, one.last_accessed_at) == (1, clock())


def test_results_are_plain_json(world: dict[str, Any]) -> None:
    document = world["store"].graph.search(QUERY, "vector").to_dict(explain=True)
    hit = document["results"][2]
    assert hit["node"]["canonical_name"] == "Ada"
    assert set(hit) == {
        "node_id", "kind", "score", "source", "graph_depth", "similarity", "node", "memory_ids",
        "final", "reason",
    }  # fmt: skip
    assert "trace" not in document
    with pytest.raises(NotFoundError):
        world["store"].show(hit["node_id"].replace("ent_", "mem_"))
