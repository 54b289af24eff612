"""The neighbourhood of nodes against a breadth-first search over the listed edges."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import vestig
from search_world import CANOE, GASKET, LEDGER, PUMP
from vestig.errors import ValidationError
from vestig.graph import neighbourhood as module
from vestig.graph.neighbourhood import nearest
from vestig.testing import FrozenClock, HashingEmbedder

PEOPLE = ["Ada Lovelace", "Grace Hopper", "Mary Somerville", "Hedy Lamarr", "Lise Meitner"]
THINGS = ["pump", "lift", "ledger", "canoe", "gasket", "boiler", "crane"]


@pytest.fixture(scope="module")
def town() -> Any:
    """A store of sentences that share names, with links that somebody drew."""
    chance = random.Random(11)
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        ids = []
        for number in range(60):
            who, what = chance.choice(PEOPLE), chance.choice(THINGS)
            outcome = store.commit(f"{who} saw to the {what} on visit {number}")
            ids.append(outcome.memory_id)
        for _ in range(40):
            a, b = chance.sample(ids, 2)
            store.graph.link(a, b, weight=chance.uniform(0.1, 1.0))
        yield store, ids


def linked(store: vestig.Vestig) -> list[Any]:
    """All edges that are walked."""
    listed = store.graph.edges(limit=10_000)
    return [one.edge for one in listed if one.edge.edge_type != "PRODUCED"]


def depths(store: vestig.Vestig, starts: list[str], most: int) -> dict[str, int]:
    """Node → fewest links, by hand."""
    around: dict[str, set[str]] = {}
    for edge in linked(store):
        around.setdefault(edge.from_id, set()).add(edge.to_id)
        around.setdefault(edge.to_id, set()).add(edge.from_id)
    found = dict.fromkeys(starts, 0)
    ring = list(starts)
    for depth in range(1, most + 1):
        ring = [n for n in {o for id in ring for o in around.get(id, ())} if n not in found]
        found |= dict.fromkeys(ring, depth)
    return found


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_all_nodes_within_the_depth_and_all_links_between_them(town: Any, depth: int) -> None:
    store, ids = town
    starts = [ids[3], ids[17]]
    found = store.graph.neighbourhood(starts, depth, 1000)
    expected = depths(store, starts, depth)
    assert {node.id: node.depth for node in found} == expected
    assert [node.depth for node in found] == sorted(node.depth for node in found)
    assert found.left_out == 0
    between = {e.id for e in linked(store) if e.from_id in expected and e.to_id in expected}
    assert {edge.id for edge in found.edges} == between
    assert len(found.edges) == len(between)
    weights = [edge.weight for edge in found.edges]
    assert weights == sorted(weights, reverse=True)
    assert all(
        node.label and node.kind == ("memory", "entity")["ent_" in node.id] for node in found
    )


@pytest.mark.parametrize("limit", [1, 2, 5, 23, 40])
def test_a_limit_keeps_the_nearest_and_counts_the_rest(town: Any, limit: int) -> None:
    store, ids = town
    whole = store.graph.neighbourhood(ids[5], 3, 1000)
    some = store.graph.neighbourhood(ids[5], 3, limit)
    assert [node.id for node in some] == [node.id for node in whole][:limit]
    assert some.left_out == len(whole) - limit
    shown = {node.id for node in some}
    assert all(edge.from_id in shown and edge.to_id in shown for edge in some.edges)


def test_of_one_depth_those_come_first_that_a_walk_reaches_most_easily() -> None:
    reached = {"s": ("memory", 0), "a": ("memory", 1), "b": ("entity", 1)}
    reached |= dict.fromkeys(("a1", "b1", "b2", "both"), ("memory", 2))
    weights = {
        "s": {"a": 3.0, "b": 1.0},
        "a": {"s": 3.0, "a1": 1.0, "both": 1.0},
        "b": {"s": 1.0, "b1": 1.0, "b2": 2.0, "both": 1.0},
    }
    found = nearest(["s"], reached, lambda ids: {id: weights.get(id, {}) for id in ids}, 10)
    # a1: 3/4 · 1/2; both: that and 1/4 · 1/4; b2: 1/4 · 2/4; b1: 1/4 · 1/4
    assert found == ["s", "a", "b", "both", "a1", "b2", "b1"]


def test_entities_are_named_and_unknown_starts_are_told(world: dict[str, Any]) -> None:
    store = world["store"]
    found = store.graph.neighbourhood(["ada", "mem_00000000-0000-4000-8000-000000000000", "Nemo"])
    assert [node.id for node in found if node.depth == 0] == [world["Ada"]]
    assert [warning.partition(" was")[0] for warning in found.warnings] == [
        "mem_00000000-0000-4000-8000-000000000000",
        "Nemo",
    ]
    assert store.graph.neighbourhood([]).nodes == ()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ids": [" "]}, "ids"),
        ({"ids": 7}, "ids"),
        ({"ids": "x", "limit": 0}, "limit"),
        ({"ids": "x", "limit": 1001}, "limit"),
        ({"ids": "x", "depth": -1}, "depth"),
        ({"ids": "x", "depth": 11}, "depth"),
        ({"ids": "x", "as_of": "then"}, "as_of"),
    ],
)
def test_wrong_arguments_are_named(store: Any, fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError) as caught:
        store.graph.neighbourhood(**fields)
    assert caught.value.field == named


def test_it_stands_at_the_time_asked_for(opener: Callable[..., Any], clock: FrozenClock) -> None:
    with opener() as store:
        a, b = store.commit("The pump leaks").memory_id, store.commit("The canoe is red").memory_id
        clock.move(minutes=1)
        before = clock()
        clock.move(minutes=1)
        edge = store.graph.link(a, b)
        clock.move(minutes=1)
        during = clock()
        clock.move(minutes=1)
        store.graph.unlink(edge.id)
        clock.move(minutes=1)

        def seen(**times: Any) -> tuple[set[str], set[str]]:
            found = store.graph.neighbourhood(a, **times)
            return {node.id for node in found}, {one.id for one in found.edges}

        assert seen() == ({a}, set())
        assert seen(known_at=before) == ({a}, set())
        assert seen(as_of=during) == ({a, b}, {edge.id})


def test_what_ended_is_shown_on_request(chain: dict[str, Any]) -> None:
    store = chain["store"]
    store.deprecate(chain[GASKET], reason="wrong")
    hidden = store.graph.neighbourhood(chain[PUMP], 3)
    assert chain[GASKET] not in {node.id for node in hidden}
    shown = store.graph.neighbourhood(chain[PUMP], 3, include_expired=True)
    assert {chain[PUMP], chain[GASKET], chain[LEDGER]} <= {node.id for node in shown}
    assert store.graph.neighbourhood(chain[GASKET]).warnings


def test_an_entity_with_very_many_neighbours_is_not_expanded(
    town: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = town
    monkeypatch.setattr("vestig.store.projection.scan_objects.DEGREE_MAX", 2)
    monkeypatch.setattr(module, "DEGREE_MAX", 2)
    found = store.graph.neighbourhood("Ada Lovelace")
    assert [node.depth for node in found] == [0]
    assert "more than 2 neighbours: not expanded" in found.warnings[0]


def test_another_namespace_is_unknown(world: dict[str, Any]) -> None:
    store = world["store"]
    found = store.graph.neighbourhood(world[CANOE], namespace="other")
    assert found.nodes == ()
    assert len(found.warnings) == 1
