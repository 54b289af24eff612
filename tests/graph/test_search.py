"""Unified search by meaning, by links and by both, against lists made by hand."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from calls import selecting
from graph_rows import entity, mention, write
from scripted import Opener
from search_world import (
    CANOE,
    GASKET,
    LEDGER,
    NO_ENTITIES,
    PUMP,
    QUERY,
    UNKNOWN,
    named,
    rows,
)
from tables import each
from vestig.changes import EntityPatch
from vestig.errors import ProviderError, ValidationError
from vestig.store.records.reads import LedgerView
from vestig.testing import FailingEmbedder

# --- vector ----------------------------------------------------------------------------------


def test_vector_order_and_scores(world: dict[str, Any]) -> None:
    found = world["store"].graph.search(QUERY, "vector")
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
    assert found.seq == world["store"].admin.stats().seq
    assert len(world["store"].graph.search(QUERY, "vector", limit=2)) == 2


def test_a_stale_row_is_skipped_and_replaced(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that the index still has and the ledger has not."""
    plain = LedgerView.memories

    def without(self: Any, namespace: str, ids: Any) -> Any:
        return [one for one in plain(self, namespace, ids) if one.id != world[PUMP]]

    monkeypatch.setattr(LedgerView, "memories", without)
    found = world["store"].graph.search(QUERY, "vector", limit=2, trace=True)
    assert rows(found, **named(world)) == [("G", 0.6, "vector", 0), ("E", 0.5, "vector", 0)]
    assert found.trace[-1].counts["stale"] == 1


def test_an_empty_store(opener: Opener) -> None:
    store = opener(config=NO_ENTITIES)
    for kind in ("vector", "hybrid"):
        assert list(store.graph.search("anything at all", kind)) == []
    assert list(store.graph.search("anything at all", namespace="nobody")) == []


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_a_blank_query_is_refused(world: dict[str, Any], blank: Any) -> None:
    for kind in ("vector", "hybrid"):
        with pytest.raises(ValidationError, match="query"):
            world["store"].graph.search(blank, kind)
    # with seeds a hybrid search can do without words
    found = world["store"].graph.search(blank, seed_nodes=[world[PUMP]])
    assert rows(found, **named(world)) == [("P", 1.0, "graph", 0)]
    assert found[0].similarity is None


def test_an_embedder_that_fails(opener: Opener) -> None:
    store = opener(embedder=FailingEmbedder(after=1), config=NO_ENTITIES)
    id = store.commit(PUMP).memory_id
    for kind in ("vector", "hybrid"):
        with pytest.raises(ProviderError):
            store.graph.search(QUERY, kind)
    # the graph needs no words
    assert [hit.node_id for hit in store.graph.search(QUERY, "graph", seed_nodes=id)] == [id]


# --- graph -----------------------------------------------------------------------------------


def test_scores_fall_with_the_depth(chain: dict[str, Any]) -> None:
    store, seed = chain["store"], chain[PUMP]
    for depth, wanted in (
        (0, [("P", 1.0, "graph", 0)]),
        (1, [("P", 1.0, "graph", 0), ("G", 0.5, "graph", 1)]),
        (2, [("P", 1.0, "graph", 0), ("G", 0.5, "graph", 1), ("L", 0.333333, "graph", 2)]),
    ):
        found = store.graph.search(None, "graph", graph_depth=depth, seed_nodes=[seed])
        assert rows(found, **named(chain)) == wanted
    assert {hit.similarity for hit in found} == {None}
    assert found.score_scale == "1/(1+depth)"
    assert found.query is None


def test_two_seeds_keep_the_shortest_depth(chain: dict[str, Any]) -> None:
    seeds = [chain[PUMP], chain[LEDGER], chain[PUMP]]
    found = chain["store"].graph.search(None, "graph", graph_depth=3, seed_nodes=seeds)
    first, second = sorted((chain[PUMP], chain[LEDGER]))
    assert [(hit.node_id, hit.score) for hit in found] == [
        (first, 1.0),
        (second, 1.0),
        (chain[GASKET], 0.5),
    ]


def test_no_seeds(world: dict[str, Any]) -> None:
    for seeds in (None, [], ()):
        with pytest.raises(ValidationError) as caught:
            world["store"].graph.search(QUERY, "graph", seed_nodes=seeds)
        assert str(caught.value).startswith("graph search requires seed node IDs")


def test_unknown_and_hidden_seeds_are_skipped(chain: dict[str, Any]) -> None:
    store = chain["store"]
    store.archive(chain[CANOE])
    seeds = [chain[PUMP], *UNKNOWN, "nonsense", chain[CANOE]]
    found = store.graph.search(None, "graph", graph_depth=0, seed_nodes=seeds)
    assert rows(found, **named(chain)) == [("P", 1.0, "graph", 0)]
    assert len(found.warnings) == 4
    for seed in seeds[1:]:
        assert any(seed in warning for warning in found.warnings)
    nothing = store.graph.search(None, "graph", seed_nodes=list(UNKNOWN))
    assert list(nothing) == []
    assert len(nothing.warnings) == 2


def test_wide_entities_are_returned_and_not_expanded(
    world: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.store.projection import scan_objects

    monkeypatch.setattr(scan_objects, "DEGREE_MAX", 2)
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[GASKET], ada)
    two = store.graph.search(None, "graph", graph_depth=2, seed_nodes=[world[PUMP]])
    assert [hit.node_id for hit in two] == [world[PUMP], ada, world[GASKET]]
    mention(store, world[LEDGER], ada)
    three = store.graph.search(None, "graph", graph_depth=2, seed_nodes=[world[PUMP]])
    assert [hit.node_id for hit in three] == [world[PUMP], ada]
    assert any(ada in warning and "neighbours" in warning for warning in three.warnings)


def test_provenance_is_not_walked(store: vestig.Vestig) -> None:
    first = store.commit(PUMP, provenance={"agent": "a"}, session_id="s").memory_id
    store.commit(CANOE, provenance={"agent": "a"}, session_id="s")
    found = store.graph.search(None, "graph", graph_depth=5, seed_nodes=[str(first)])
    assert [hit.node_id for hit in found] == [first]


def test_merged_seeds_are_what_they_became(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    old = entity(store, "Ada L.")
    merged = EntityPatch(entity_id=old, columns={"merged_into": ada}, expired=True)
    write(store, entity_patches=(merged,))
    found = store.graph.search(None, "graph", seed_nodes=[old])
    assert [hit.node_id for hit in found] == [ada]
    assert found.warnings == ()


def test_two_texts_that_name_one_entity(world: dict[str, Any]) -> None:
    store, ada = world["store"], world["Ada"]
    mention(store, world[PUMP], ada)
    mention(store, world[CANOE], ada, confidence=0.1)
    found = store.graph.search(None, "graph", seed_nodes=[ada])
    assert found[0].node_id == ada
    assert {hit.node_id for hit in found} == {ada, world[PUMP], world[CANOE]}


# --- hybrid ----------------------------------------------------------------------------------


def test_scores_add_up(chain: dict[str, Any]) -> None:
    found = chain["store"].graph.search(QUERY, limit=10)
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


def test_a_node_that_only_links_lead_to(world: dict[str, Any]) -> None:
    store = world["store"]
    nameless = entity(store, "Nameless")  # without a vector: no vector hit
    mention(store, world[PUMP], nameless)
    found = store.graph.search(QUERY)
    by_id = {hit.node_id: hit for hit in found}
    hit = by_id[nameless]
    assert (hit.score, hit.source, hit.graph_depth, hit.similarity) == (0.5, "graph", 1, None)
    # the pump is reached only by way of itself
    assert by_id[world[PUMP]].source == "vector"


def test_fetch_sizes(world: dict[str, Any]) -> None:
    for top_k, wanted in ((3, 20), (15, 30)):
        found = world["store"].graph.search(QUERY, limit=top_k, trace=True)
        (score,) = [span for span in found.trace if span.name == "score"]
        assert score.counts["wanted"] == wanted
        assert len(found) <= top_k
    assert [span.name for span in found.trace] == ["embed", "score", "walk", "rank"]


def test_given_seeds_have_the_graph_score_of_their_own(chain: dict[str, Any]) -> None:
    store = chain["store"]
    nameless = entity(store, "Nameless")
    found = store.graph.search(QUERY, limit=2, seed_nodes=[nameless, chain[CANOE]], graph_depth=0)
    by_id = {hit.node_id: hit for hit in found}
    assert by_id[nameless].score == 1.0
    assert (by_id[nameless].source, by_id[nameless].graph_depth) == ("graph", 0)
    assert (by_id[chain[CANOE]].score, by_id[chain[CANOE]].source) == (1.0, "hybrid")


def test_depth_0_does_not_expand(chain: dict[str, Any]) -> None:
    store = chain["store"]
    found = store.graph.search(QUERY, graph_depth=0, trace=True)
    assert {hit.source for hit in found} == {"vector"}
    assert "walk" not in {span.name for span in found.trace}


@each(
    "fields",
    [
        {"graph_depth": -1},
        {"graph_depth": 1.0},
        {"limit": 0},
        {"limit": True},
        {"limit": 2.5},
        {"type": "nearest"},
        {"kinds": "event"},
        {"kinds": 5},
        {"seed_nodes": 5},
        {"seed_nodes": [5]},
        {"touch": 1},
        {"decay": "yes"},
        {"include_memory_ids": 0},
        {"min_similarity": 2},
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"as_of": "2026-01-01", "known_at": "2026-01-01"},
    ],
    ids=repr,
)
def test_arguments_out_of_range(world: dict[str, Any], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        world["store"].graph.search(QUERY, **selecting(fields))


def test_min_similarity_needs_a_query(world: dict[str, Any]) -> None:
    store = world["store"]
    found = store.graph.search(QUERY, "vector", where={"min_similarity": 0.5})
    assert [hit.node_id for hit in found] == [world[PUMP], world[GASKET], world["Ada"]]
    with pytest.raises(ValidationError, match="min_similarity"):
        store.graph.search(None, "graph", seed_nodes=[world[PUMP]], where={"min_similarity": 0.5})
