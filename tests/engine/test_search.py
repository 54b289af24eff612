"""Unified search over memories and entities, by hand-computed lists (G-20 … G-26)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from graph_oracle import OracleScan
from graph_rows import entity, mention, summary, write
from scripted import Opener

import vestig
from vestig import _core
from vestig.changes import EntityPatch
from vestig.embedders.checked import float32_bytes
from vestig.engine import searching
from vestig.errors import NotFoundError, ProviderError, ValidationError
from vestig.recall.search_result import SearchResult
from vestig.store.reads import SqliteView
from vestig.testing import FailingEmbedder, FrozenClock, vector_at

QUERY = "which of them is it"
NO_ENTITIES = {"m4.entity_extraction.enabled": False, "m4.edge_creation.related.enabled": False}
# text → cosine to the query
COSINES = {
    "the pump of the boiler failed at noon": 0.9,
    "a gasket was ordered by telephone": 0.6,
    "nobody signed the ledger of visitors": 0.3,
    "a canoe drifts past the lower weir": 0.0,
}
PUMP, GASKET, LEDGER, CANOE = COSINES
UNKNOWN = ("mem_00000000-0000-4000-8000-000000000000", "ent_00000000-0000-4000-8000-000000000000")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(_core.Projection, "neighbourhood"):
        monkeypatch.setattr(searching, "NodeScan", OracleScan)


@pytest.fixture
def reopened(world: dict[str, Any], opener: Opener) -> Callable[..., Any]:
    """The store of `world`, opened again with these keys."""

    def again(**config: Any) -> vestig.Vestig:
        embedder = world["store"]._context.embedder
        store = opener(embedder=embedder, config={**NO_ENTITIES, **config})
        OracleScan.store = store
        return store

    return again


@pytest.fixture
def world(opener: Opener) -> dict[str, Any]:
    """Four memories at known cosines, and the entity `Ada` at 0.5."""
    vectors = {text: vector_at(c, 16, n + 1) for n, (text, c) in enumerate(COSINES.items())}
    vectors[QUERY] = vector_at(1.0, 16)
    store = opener(vectors=vectors, embedder=_embedder(vectors), config=NO_ENTITIES)
    OracleScan.store = store
    ids: dict[str, Any] = {text: store.commit(text).memory_id for text in COSINES}
    ids["Ada"] = entity(store, "Ada", vector=float32_bytes(vector_at(0.5, 16, 9)))
    return {"store": store, **ids}


def _embedder(vectors: dict[str, Any]) -> Any:
    from vestig.testing import ScriptedEmbedder

    return ScriptedEmbedder(vectors, default=[0.0] * 15 + [1.0])


def rows(result: SearchResult, **names: str) -> list[tuple[str, float, str, int]]:
    known = {id: name for name, id in names.items()}
    return [
        (known.get(hit.node_id, hit.node_id), round(hit.score, 6), hit.source, hit.graph_depth)
        for hit in result
    ]


def named(world: dict[str, Any]) -> dict[str, str]:
    short = {"P": PUMP, "G": GASKET, "L": LEDGER, "C": CANOE, "E": "Ada"}
    return {letter: world[text] for letter, text in short.items()}


# --- vector ----------------------------------------------------------------------------------


def test_x_g07_vector_order_and_scores(world: dict[str, Any]) -> None:
    found = world["store"].search(QUERY, "vector")
    assert rows(found, **named(world)) == [
        ("P", 0.9, "vector", 0),
        ("G", 0.6, "vector", 0),
        ("E", 0.5, "vector", 0),
        ("L", 0.3, "vector", 0),
        ("C", 0.0, "vector", 0),
    ]
    assert [hit.similarity for hit in found] == [hit.score for hit in found]
    assert [hit.kind for hit in found] == ["memory", "memory", "entity", "memory", "memory"]
    assert found[0].node.content == PUMP
    assert found[2].node.canonical_name == "Ada"
    assert found.score_scale == "cosine"
    assert found.seq == world["store"].stats()["seq"]
    assert len(world["store"].search(QUERY, "vector", 2)) == 2


def test_x_g07_a_stale_row_is_skipped_and_replaced(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that the index still has and the ledger has not."""
    plain = SqliteView.memories

    def without(self: Any, namespace: str, ids: Any) -> Any:
        return [one for one in plain(self, namespace, ids) if one.id != world[PUMP]]

    monkeypatch.setattr(SqliteView, "memories", without)
    found = world["store"].search(QUERY, "vector", 2, trace=True)
    assert rows(found, **named(world)) == [("G", 0.6, "vector", 0), ("E", 0.5, "vector", 0)]
    assert found.trace[-1].counts["stale"] == 1


def test_x_g07_an_empty_store(opener: Opener) -> None:
    store = opener(config=NO_ENTITIES)
    OracleScan.store = store
    for kind in ("vector", "hybrid"):
        assert list(store.search("anything at all", kind)) == []
    assert list(store.search("anything at all", namespace="nobody")) == []


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_g21_a_blank_query_is_refused(world: dict[str, Any], blank: Any) -> None:
    for kind in ("vector", "hybrid"):
        with pytest.raises(ValidationError, match="query"):
            world["store"].search(blank, kind)
    # with seeds a hybrid search can do without words
    found = world["store"].search(blank, seed_node_ids=[world[PUMP]])
    assert rows(found, **named(world)) == [("P", 1.0, "graph", 0)]
    assert found[0].similarity is None


def test_g21_an_embedder_that_fails(opener: Opener) -> None:
    store = opener(embedder=FailingEmbedder(after=1), config=NO_ENTITIES)
    OracleScan.store = store
    id = store.commit(PUMP).memory_id
    for kind in ("vector", "hybrid"):
        with pytest.raises(ProviderError):
            store.search(QUERY, kind)
    # the graph needs no words
    assert [hit.node_id for hit in store.search(QUERY, "graph", seed_node_ids=id)] == [id]


# --- graph -----------------------------------------------------------------------------------


@pytest.fixture
def chain(world: dict[str, Any]) -> dict[str, Any]:
    """P – G – L by RELATED, C and E apart."""
    store = world["store"]
    store.link(world[PUMP], world[GASKET], "RELATED", weight=0.0)
    store.link(world[LEDGER], world[GASKET], "RELATED")
    return world


def test_x_g08_scores_fall_with_the_depth(chain: dict[str, Any]) -> None:
    store, seed = chain["store"], chain[PUMP]
    for depth, wanted in (
        (0, [("P", 1.0, "graph", 0)]),
        (1, [("P", 1.0, "graph", 0), ("G", 0.5, "graph", 1)]),
        (2, [("P", 1.0, "graph", 0), ("G", 0.5, "graph", 1), ("L", 0.333333, "graph", 2)]),
    ):
        found = store.search(None, "graph", graph_depth=depth, seed_node_ids=[seed])
        assert rows(found, **named(chain)) == wanted
    assert {hit.similarity for hit in found} == {None}
    assert found.score_scale == "1/(1+depth)"
    assert found.query is None


def test_x_g08_two_seeds_keep_the_shortest_depth(chain: dict[str, Any]) -> None:
    seeds = [chain[PUMP], chain[LEDGER], chain[PUMP]]
    found = chain["store"].search(None, "graph", graph_depth=3, seed_node_ids=seeds)
    first, second = sorted((chain[PUMP], chain[LEDGER]))
    assert [(hit.node_id, hit.score) for hit in found] == [
        (first, 1.0),
        (second, 1.0),
        (chain[GASKET], 0.5),
    ]


def test_x_g09_no_seeds(world: dict[str, Any]) -> None:
    for seeds in (None, [], ()):
        with pytest.raises(ValidationError) as caught:
            world["store"].search(QUERY, "graph", seed_node_ids=seeds)
        assert str(caught.value).startswith("graph search requires seed node IDs")


def test_x_g09_unknown_and_hidden_seeds_are_skipped(chain: dict[str, Any]) -> None:
    store = chain["store"]
    store.archive(chain[CANOE])
    seeds = [chain[PUMP], *UNKNOWN, "nonsense", chain[CANOE]]
    found = store.search(None, "graph", graph_depth=0, seed_node_ids=seeds)
    assert rows(found, **named(chain)) == [("P", 1.0, "graph", 0)]
    assert len(found.warnings) == 4
    for seed in seeds[1:]:
        assert any(seed in warning for warning in found.warnings)
    nothing = store.search(None, "graph", seed_node_ids=list(UNKNOWN))
    assert list(nothing) == []
    assert len(nothing.warnings) == 2


def test_g22_wide_entities_are_returned_and_not_expanded(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.store import graph_scan

    monkeypatch.setattr(graph_scan, "DEGREE_MAX", 2)
    monkeypatch.setattr(OracleScan, "degree_max", 2)
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[GASKET], ada)
    two = store.search(None, "graph", graph_depth=2, seed_node_ids=[world[PUMP]])
    assert [hit.node_id for hit in two] == [world[PUMP], ada, world[GASKET]]
    mention(store, world[LEDGER], ada)
    three = store.search(None, "graph", graph_depth=2, seed_node_ids=[world[PUMP]])
    assert [hit.node_id for hit in three] == [world[PUMP], ada]
    assert any(ada in warning and "neighbours" in warning for warning in three.warnings)


def test_g22_provenance_is_not_walked(store: vestig.Vestig) -> None:
    OracleScan.store = store
    first = store.commit(PUMP, agent="a", session_id="s").memory_id
    store.commit(CANOE, agent="a", session_id="s")
    found = store.search(None, "graph", graph_depth=5, seed_node_ids=[str(first)])
    assert [hit.node_id for hit in found] == [first]


def test_g22_merged_seeds_are_what_they_became(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    old = entity(store, "Ada L.")
    merged = EntityPatch(entity_id=old, columns={"merged_into": ada}, expired=True)
    write(store, entity_patches=(merged,))
    found = store.search(None, "graph", seed_node_ids=[old])
    assert [hit.node_id for hit in found] == [ada]
    assert found.warnings == ()


def test_x_g15_two_texts_that_name_one_entity(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[CANOE], ada, confidence=0.1)
    found = store.search(None, "graph", seed_node_ids=[ada])
    assert found[0].node_id == ada
    assert {hit.node_id for hit in found} == {ada, world[PUMP], world[CANOE]}


# --- hybrid ----------------------------------------------------------------------------------


def test_x_g10_scores_add_up(chain: dict[str, Any]) -> None:
    found = chain["store"].search(QUERY, top_k=10)
    # every node is a vector hit here; G is next to P and L, which are each next to G
    assert rows(found, **named(chain)) == [
        ("P", 1.4, "hybrid", 0),
        ("G", 1.1, "hybrid", 0),
        ("L", 0.8, "hybrid", 0),
        ("E", 0.5, "vector", 0),
        ("C", 0.0, "vector", 0),
    ]
    assert found[1].similarity == pytest.approx(0.6, abs=1e-6)
    assert found.score_scale == "cosine + 1/(1+depth)"


def test_x_g10_a_node_that_only_links_lead_to(world: dict[str, Any]) -> None:
    store = world["store"]
    nameless = entity(store, "Nameless")  # without a vector: no vector hit
    mention(store, world[PUMP], nameless)
    found = store.search(QUERY)
    by_id = {hit.node_id: hit for hit in found}
    hit = by_id[nameless]
    assert (hit.score, hit.source, hit.graph_depth, hit.similarity) == (0.5, "graph", 1, None)
    # the pump is reached only by way of itself
    assert by_id[world[PUMP]].source == "vector"


def test_x_g11_fetch_sizes(world: dict[str, Any]) -> None:
    for top_k, wanted in ((3, 20), (15, 30)):
        found = world["store"].search(QUERY, top_k=top_k, trace=True)
        (score,) = [span for span in found.trace if span.name == "score"]
        assert score.counts["wanted"] == wanted
        assert len(found) <= top_k
    assert [span.name for span in found.trace] == ["embed", "score", "walk", "rank"]


def test_x_g11_given_seeds_have_the_graph_score_of_their_own(chain: dict[str, Any]) -> None:
    store = chain["store"]
    nameless = entity(store, "Nameless")
    found = store.search(QUERY, top_k=2, seed_node_ids=[nameless, chain[CANOE]], graph_depth=0)
    by_id = {hit.node_id: hit for hit in found}
    assert by_id[nameless].score == 1.0
    assert (by_id[nameless].source, by_id[nameless].graph_depth) == ("graph", 0)
    assert (by_id[chain[CANOE]].score, by_id[chain[CANOE]].source) == (1.0, "hybrid")


def test_x_g12_depth_0_does_not_expand(chain: dict[str, Any]) -> None:
    store = chain["store"]
    found = store.search(QUERY, graph_depth=0, trace=True)
    assert {hit.source for hit in found} == {"vector"}
    assert "walk" not in {span.name for span in found.trace}


@pytest.mark.parametrize(
    "fields",
    [
        {"graph_depth": -1},
        {"graph_depth": 1.0},
        {"top_k": 0},
        {"top_k": True},
        {"top_k": 2.5},
        {"type": "nearest"},
        {"type": None},
        {"kinds": "event"},
        {"kinds": 5},
        {"seed_node_ids": 5},
        {"seed_node_ids": [5]},
        {"touch": 1},
        {"decay": "yes"},
        {"trace": None},
        {"include_memory_ids": 0},
        {"min_similarity": 2},
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"as_of": "2026-01-01", "known_at": "2026-01-01"},
        {"limit": 5},
        {"topk": 5},
    ],
    ids=repr,
)
def test_x_g12_arguments_out_of_range(world: dict[str, Any], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        world["store"].search(QUERY, **fields)


def test_g20_min_similarity_needs_a_query(world: dict[str, Any]) -> None:
    store = world["store"]
    found = store.search(QUERY, "vector", min_similarity=0.5)
    assert [hit.node_id for hit in found] == [world[PUMP], world[GASKET], world["Ada"]]
    with pytest.raises(ValidationError, match="min_similarity"):
        store.search(None, "graph", seed_node_ids=[world[PUMP]], min_similarity=0.5)


# --- options ---------------------------------------------------------------------------------


def test_x_g13_kinds_are_returned_and_walked_through(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[CANOE], ada)
    for kind in ("vector", "hybrid"):
        entities = store.search(QUERY, kind, kinds="entity")
        assert {hit.kind for hit in entities} == {"entity"}
        memories = store.search(QUERY, kind, kinds=["memory"])
        assert {hit.kind for hit in memories} == {"memory"}
        assert len(memories) == 4
    # the entity leads from one memory to the other and is not returned itself
    found = store.search(
        None, "graph", graph_depth=2, kinds=["memory"], seed_node_ids=[world[PUMP]]
    )
    assert [(hit.node_id, hit.graph_depth) for hit in found] == [
        (world[PUMP], 0),
        (world[CANOE], 2),
    ]
    only = store.search(None, "graph", graph_depth=2, kinds=["entity"], seed_node_ids=world[PUMP])
    assert [hit.node_id for hit in only] == [ada]
    whole = summary(store, "a summary of the boiler", [world[PUMP]])
    found = store.search(QUERY, "vector", kinds=["SUMMARY"])
    assert [hit.node_id for hit in found] == []  # it has no vector
    near = store.search(None, "graph", kinds=["SUMMARY", "MEMORY"], seed_node_ids=[whole])
    assert {hit.node_id for hit in near} == {whole, world[PUMP]}


def test_g20_filters_come_before_the_cut_and_stop_the_walk(chain: dict[str, Any]) -> None:
    store = chain["store"]
    store.update(chain[PUMP], tags=["boiler"])
    store.update(chain[LEDGER], tags=["boiler"])
    tagged = store.search(QUERY, "vector", 2, tags=["boiler"], kinds=["memory"])
    assert [hit.node_id for hit in tagged] == [chain[PUMP], chain[LEDGER]]
    # the gasket has no tag and leads nowhere
    found = store.search(None, "graph", graph_depth=3, tags=["boiler"], seed_node_ids=[chain[PUMP]])
    assert [hit.node_id for hit in found] == [chain[PUMP]]
    without = store.search(QUERY, "vector", exclude_ids=[chain[PUMP], chain["Ada"]])
    assert [hit.node_id for hit in without] == [chain[GASKET], chain[LEDGER], chain[CANOE]]
    only = store.search(QUERY, "vector", ids=[chain["Ada"], chain[CANOE][:16]])
    assert [hit.node_id for hit in only] == [chain["Ada"], chain[CANOE]]


def test_g20_metadata_is_asked_of_memories_only(world: dict[str, Any]) -> None:
    store = world["store"]
    store.update(world[LEDGER], metadata={"team": "blue"})
    found = store.search(QUERY, "vector", metadata={"team": "blue"})
    assert [hit.node_id for hit in found] == [world["Ada"], world[LEDGER]]


def test_g20_time_travel(chain: dict[str, Any], clock: FrozenClock) -> None:
    store = chain["store"]
    before = clock()
    clock.move(days=1)
    store.deprecate(chain[GASKET])
    seeds = {"seed_node_ids": [chain[PUMP]], "graph_depth": 2}
    assert [hit.node_id for hit in store.search(None, "graph", **seeds)] == [chain[PUMP]]
    past = store.search(None, "graph", known_at=before, **seeds)
    assert [hit.node_id for hit in past] == [chain[PUMP], chain[GASKET], chain[LEDGER]]
    expired = store.search(None, "graph", include_expired=True, **seeds)
    assert len(expired) == 3


def test_g20_the_configuration_gives_the_defaults(
    chain: dict[str, Any], reopened: Callable[..., Any]
) -> None:
    assert len(reopened(**{"search.top_k": 2}).search(QUERY, "vector")) == 2
    found = reopened(**{"search.graph_depth": 0}).search(QUERY)
    assert {hit.source for hit in found} == {"vector"}
    assert reopened(**{"search.decay.enabled": True}).search(QUERY).decayed
    with pytest.raises(ValidationError, match="config"):
        chain["store"].search(QUERY, config={"search.top_k": 2})


# --- decay -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vector", "hybrid"])
def test_x_g14_decay_reorders_and_replaces(
    world: dict[str, Any], clock: FrozenClock, kind: str, reopened: Callable[..., Any]
) -> None:
    store = world["store"]
    store.update(world[PUMP], retention_policy="session")
    store.pin(world[LEDGER])
    clock.move(days=90)
    store.record_access([world[LEDGER]] * 1)
    fresh = store.search(QUERY, kind, 3)
    assert [hit.node_id for hit in fresh] == [world[PUMP], world[GASKET], world["Ada"]]
    assert all(not isinstance(hit.raw_score, float) for hit in fresh)
    found = store.search(QUERY, kind, 3, decay=True)
    # pump: 90 half-lives, drops out; entity: half, no frequency factor; gasket: half of a half;
    # ledger: pinned, one access
    assert [(hit.node_id, pytest.approx(hit.score, abs=1e-6), hit.raw_score) for hit in found] == [
        (world["Ada"], 0.25, pytest.approx(0.5, abs=1e-6)),
        (world[LEDGER], 0.3 * 0.644532, pytest.approx(0.3, abs=1e-6)),
        (world[GASKET], 0.15, pytest.approx(0.6, abs=1e-6)),
    ]
    assert found.decayed
    plain = reopened(**{"decay.frequency": False}).search(QUERY, kind, 3, decay=True)
    assert {hit.node_id: pytest.approx(hit.score, abs=1e-6) for hit in plain} == {
        world[GASKET]: 0.3,
        world[LEDGER]: 0.3,
        world["Ada"]: 0.25,
    }


def test_g24_entities_follow_their_memories(world: dict[str, Any], clock: FrozenClock) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    store.update(world[PUMP], retention_policy="permanent")
    clock.move(days=900)
    found = store.search(None, "graph", seed_node_ids=[ada], graph_depth=0, decay=True)
    assert [(hit.score, hit.raw_score) for hit in found] == [(0.5, 1.0)]
    store.update(world[PUMP], retention_policy="session")
    assert list(store.search(None, "graph", seed_node_ids=[ada], graph_depth=0, decay=True)) == []


# --- provenance and access ---------------------------------------------------------------------


def test_x_g16_memories_behind_a_hit(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch, clock: FrozenClock
) -> None:
    store, ada = world["store"], world["Ada"]
    nobody = entity(store, "Nobody", vector=float32_bytes(vector_at(0.4, 16, 10)))
    for text in (PUMP, LEDGER, GASKET):
        clock.move(minutes=1)
        mention(store, world[text], ada)
    whole = summary(store, "a summary of the boiler", [world[PUMP]])
    calls: list[Any] = []
    plain = SqliteView.mentioning

    def counted(self: Any, namespace: str, ids: Any) -> Any:
        calls.append(list(ids))
        return plain(self, namespace, ids)

    monkeypatch.setattr(SqliteView, "mentioning", counted)
    found = store.search(QUERY, "vector")
    behind = {hit.node_id: hit.memory_ids for hit in found}
    assert behind[ada] == (world[LEDGER], world[GASKET], world[PUMP])
    assert behind[nobody] == ()
    assert behind[world[PUMP]] == (whole, world[PUMP])
    assert behind[world[CANOE]] == (world[CANOE],)
    assert calls == [[ada, nobody]], "one look-up for all"
    without = store.search(QUERY, "vector", include_memory_ids=False)
    assert all("memory_ids" not in hit.to_dict() for hit in without)
    assert calls == [[ada, nobody]]


def test_g26_reads_change_nothing_unless_touched(world: dict[str, Any], clock: FrozenClock) -> None:
    store, ada = world["store"], world["Ada"]
    before = store.stats()
    store.search(QUERY)
    assert store.stats() == before
    clock.move(hours=1)
    store.search(QUERY, "vector", 3, touch=True)
    seen = {memory.id: memory.access_count for memory in store.list()}
    assert seen == {world[PUMP]: 1, world[GASKET]: 1, world[LEDGER]: 0, world[CANOE]: 0}
    with store._context.ledger.read() as view:
        (one,) = view.entities("default", [ada])
    assert (one.access_count, one.last_accessed_at) == (1, clock())


def test_g20_results_are_plain_json(world: dict[str, Any]) -> None:
    document = world["store"].search(QUERY, "vector").to_dict()
    hit = document["results"][2]
    assert hit["node"]["canonical_name"] == "Ada"
    assert set(hit) == {
        "node_id", "kind", "score", "source", "graph_depth", "similarity", "node", "memory_ids"
    }  # fmt: skip
    assert "trace" not in document
    with pytest.raises(NotFoundError):
        world["store"].show(hit["node_id"].replace("ent_", "mem_"))
