"""Hits of meaning and of links made one list, against lists computed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.graph.search_result import (
    Candidate,
    DecayRules,
    Loaded,
    best_stored,
    entity_factor,
    fetch_size,
    graph_candidates,
    half_life_decay,
    heat,
    hybrid_candidates,
    memory_factor,
    vector_candidates,
)
from vestig.times import to_us
from vestig.types import Entity, Memory, RetentionPolicy

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
HITS = [("m1", "memory", 0.9), ("e1", "entity", 0.6), ("m2", "memory", 0.2)]
RULES = DecayRules(
    half_lives={"permanent": None, "decision": 365, "standard": 90, "ephemeral": 7, "session": 1},
    default_policy="standard",
    by_access=True,
    reference=10,
    power=math.pow,
    ln=math.log,
)


def listed(candidates: Sequence[Candidate]) -> list[tuple[str, float, str, int]]:
    return [(one.id, round(one.score, 6), one.source, one.depth) for one in candidates]


def memory(id: str = "mem", *, days: float = 0.0, **fields: Any) -> Memory:
    values: dict[str, Any] = dict.fromkeys(Memory.__struct_fields__)
    values.update(
        id=id,
        t_created=NOW - timedelta(days=days),
        retention_policy=RetentionPolicy.STANDARD,
        pinned=False,
        access_count=0,
    )
    return Memory(**{**values, **fields})


def entity(*, days: float = 0.0, **fields: Any) -> Entity:
    values: dict[str, Any] = dict.fromkeys(Entity.__struct_fields__)
    values.update(id="ent", created_at=NOW - timedelta(days=days), access_count=0)
    return Entity(**{**values, **fields})


class StoredNodes:
    """Candidates best first; `gone` are in the index only; `factors` fade what is loaded."""

    def __init__(
        self,
        scores: Mapping[str, float],
        *,
        gone: Sequence[str] = (),
        factors: Mapping[str, float] | None = None,
    ) -> None:
        order = sorted(scores, key=lambda id: (-scores[id], id))
        self.candidates = vector_candidates([(id, "memory", scores[id]) for id in order])
        self.gone, self.factors = gone, factors or {}
        self.fetched: list[int] = []
        self.loaded: list[str] = []

    def fetch(self, count: int) -> list[Candidate]:
        self.fetched.append(count)
        return self.candidates[:count]

    def load(self, candidates: Sequence[Candidate]) -> dict[str, Loaded]:
        self.loaded += [one.id for one in candidates]
        return {
            one.id: Loaded(node=one.id.upper(), factor=self.factors.get(one.id, 1.0))
            for one in candidates
            if one.id not in self.gone
        }


def test_vector_hits_keep_the_order_of_the_index() -> None:
    found = vector_candidates(HITS)
    assert listed(found) == [
        ("m1", 0.9, "vector", 0),
        ("e1", 0.6, "vector", 0),
        ("m2", 0.2, "vector", 0),
    ]
    assert [one.similarity for one in found] == [0.9, 0.6, 0.2]


def test_a_stale_row_is_skipped_and_replaced() -> None:
    stored = StoredNodes({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, gone=["b"])
    taken, gone = best_stored(stored.fetch, stored.load, list, 3)
    assert [(item.candidate.id, item.node, item.score) for item in taken] == [
        ("a", "A", 0.9),
        ("c", "C", 0.7),
        ("d", "D", 0.6),
    ]
    assert gone == 1
    assert len(stored.loaded) == len(set(stored.loaded)), "no node is loaded twice"


def test_nothing_to_find() -> None:
    stored = StoredNodes({})
    assert best_stored(stored.fetch, stored.load, list, 3) == ([], 0)


def test_graph_scores_by_shortest_depth() -> None:
    reached = [("s", "memory", 0), ("b", "memory", 1), ("e", "entity", 1), ("a", "memory", 2)]
    assert listed(graph_candidates(reached)) == [
        ("s", 1.0, "graph", 0),
        ("b", 0.5, "graph", 1),
        ("e", 0.5, "graph", 1),
        ("a", 0.333333, "graph", 2),
    ]
    assert all(one.similarity is None for one in graph_candidates(reached))


def test_hybrid_adds_both_scores_and_names_its_source() -> None:
    reached = [("e1", "entity", 1), ("m3", "memory", 1), ("m4", "memory", 2)]
    assert listed(hybrid_candidates(HITS, reached)) == [
        ("e1", 1.1, "hybrid", 0),
        ("m1", 0.9, "vector", 0),
        ("m3", 0.5, "graph", 1),
        ("m4", 0.333333, "graph", 2),
        ("m2", 0.2, "vector", 0),
    ]


def test_a_vector_hit_that_is_reached_keeps_depth_0_and_its_cosine() -> None:
    (one,) = hybrid_candidates([("m", "memory", -0.1)], [("m", "memory", 2)])
    assert (one.depth, one.similarity, one.source) == (0, -0.1, "hybrid")
    assert one.score == pytest.approx(-0.1 + 1 / 3, abs=1e-12)


def test_fetch_sizes_and_given_seeds() -> None:
    assert [fetch_size(k) for k in (1, 3, 10, 15)] == [20, 20, 20, 30]
    seeds = [("s", "memory"), ("m1", "memory")]
    found = hybrid_candidates(HITS, [("s", "memory", 2), ("m1", "memory", 1)], seeds)
    assert listed(found)[:2] == [("m1", 1.9, "hybrid", 0), ("s", 1.0, "graph", 0)]


def test_never_more_than_top_k() -> None:
    stored = StoredNodes({f"m{n:02}": 1 - n / 100 for n in range(50)})
    taken, _ = best_stored(stored.fetch, stored.load, list, 7)
    assert [item.candidate.id for item in taken] == [f"m{n:02}" for n in range(7)]
    assert stored.fetched == [7]


def test_decay_changes_the_order_and_what_drops_out_is_replaced() -> None:
    stored = StoredNodes({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, factors={"a": 0.0005, "b": 0.5})
    taken, gone = best_stored(stored.fetch, stored.load, list, 3, floor=0.001)
    assert [(item.candidate.id, item.score, item.raw) for item in taken] == [
        ("c", 0.7, 0.7),
        ("d", 0.6, 0.6),
        ("b", 0.4, 0.8),
    ]
    assert gone == 0


@given(
    scores=st.lists(st.floats(-1, 1), max_size=60),
    seed=st.randoms(use_true_random=False),
    top_k=st.integers(1, 12),
)
def test_decay_before_the_cut_equals_decay_of_all(
    scores: list[float], seed: Any, top_k: int
) -> None:
    named = {f"m{n:03}": score for n, score in enumerate(scores)}
    factors = {id: seed.choice([1.0, 0.9, 0.5, 0.01, 0.0001]) for id in named}
    gone = [id for id in named if seed.random() < 0.1]
    stored = StoredNodes(named, factors=factors, gone=gone)
    taken, _ = best_stored(stored.fetch, stored.load, list, top_k, floor=0.001)
    alive = {id: named[id] * factors[id] for id in named if id not in gone}
    wanted = sorted((-score, id) for id, score in alive.items() if score >= 0.001)[:top_k]
    assert [(-item.score, item.candidate.id) for item in taken] == wanted


def test_golden_decay_and_heat() -> None:
    ages = [half_life_decay(days, 30, math.pow) for days in (-5, 0, 15, 30, 60, 90)]
    assert ages == pytest.approx([1, 1, 0.707107, 0.5, 0.25, 0.125], abs=5e-7)
    assert half_life_decay(1e6, None, math.pow) == 1.0
    heats = [heat(n, 10, math.log) for n in (-3, 0, 1, 3, 5, 10, 20)]
    assert heats == pytest.approx([0, 0, 0.289065, 0.578130, 0.747222, 1, 1], abs=5e-7)


def test_memories_fade_by_policy_access_and_use() -> None:
    now = to_us(NOW)
    assert memory_factor(memory(days=90), now, RULES) == pytest.approx(0.5 * 0.5)
    used = memory(days=90, access_count=10, last_accessed_at=NOW)
    assert memory_factor(used, now, RULES) == 1.0
    by_creation = msgspec.structs.replace(RULES, by_access=False)
    assert memory_factor(used, now, by_creation) == pytest.approx(0.5)
    # what nobody reads counts half
    assert memory_factor(memory(days=90, pinned=True), now, RULES) == 0.5
    session = memory(days=1, retention_policy=RetentionPolicy.SESSION)
    assert memory_factor(session, now, RULES) == pytest.approx(0.5 * 0.5)


def test_entities_last_as_long_as_their_memories() -> None:
    now = to_us(NOW)
    named = entity(days=365)
    short = memory(retention_policy=RetentionPolicy.SESSION)
    long = memory(retention_policy=RetentionPolicy.DECISION)
    pinned = memory(pinned=True)
    kept = memory(retention_policy=RetentionPolicy.PERMANENT)
    assert entity_factor(named, [short, long], now, RULES) == pytest.approx(0.5 * 0.5)
    assert entity_factor(named, [short, pinned], now, RULES) == pytest.approx(0.5)
    assert entity_factor(named, [kept, short], now, RULES) == pytest.approx(0.5)
    # without memories: its own dates, no frequency factor
    assert entity_factor(entity(days=90), [], now, RULES) == pytest.approx(0.5)
