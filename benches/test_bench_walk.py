"""The cost of the graph in a recall: the walk and the entity walk.

10 RELATED and 3 MENTIONS a memory, names as frequent as in texts, vectors of 384 dimensions.

Napkin: a walk admits 20 nodes and draws about 9 edges at each, a SHA-256 block (0.1 µs) and a
few cache misses an edge; the entity walk pushes some hundred nodes and counts the mentions of
each entity it meets. `cargo run --release --example walk` times both alone, per edge.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np

from conftest import QUESTIONS, SIZES, median_ms, note_line
from generator import vectors
from vestig import _core
from vestig.ports import ProjectionRow
from vestig.store.projection.scan_objects import RankingFields, TraceFields, WalkFields

NOW = 1_773_835_200_000_000
Rows = list[tuple[Any, ...]]


def _id(kind: int, number: int) -> bytes:
    return kind.to_bytes(4, "big") + (number * 0x9E3779B1 % 2**32).to_bytes(12, "big")


def _rows(count: int) -> Rows:
    dice = random.Random(count)
    matrix, entities = vectors(count), count // 5 + 2
    numbers = itertools.count()

    def edge(end: bytes, kind: int, weight: float) -> tuple[Any, ...]:
        # a mention weighs 1, its confidence counts
        return (_id(3, next(numbers)), end, kind, weight if kind else 1.0, weight, NOW, None)

    def row(kind: int, number: int, edges: list[Any]) -> ProjectionRow:
        place = (
            _id(1 + kind // 2, number),
            number + 1,
            number + 1,
            "",
            None,
            "default",
            None,
            kind,
        )
        vector = None if kind else matrix[number].tobytes()
        times = (NOW, None, NOW, None)
        text = (0, None, None, None, None)
        return ProjectionRow(
            *(*place, 0, None, None, None, 2, 3, False, *times, vector, *_EMPTY, edges, [], []),
            *text,
        )

    found = []
    for number in range(count):
        edges = [edge(_id(1, dice.randrange(count)), 1, dice.uniform(0.6, 1)) for _ in range(10)]
        named = {min(entities - 1, int(entities ** dice.random())) for _ in range(3)}
        found.append(row(0, number, edges + [edge(_id(2, n), 0, 0.9) for n in sorted(named)]))
    return found + [row(2, number, []) for number in range(entities)]


_EMPTY: tuple[list[Any], ...] = ([], [], [], [], [], [])


def _ranking(walk: bool, entity_walk: bool) -> _core.Ranking:
    traversal = WalkFields(
        deterministic=False,
        threshold=0.5,
        order="best",
        max_nodes=20,
        exploration_factor=1.0,
        signal_decay=1.0,
        normalize_weights=True,
        theta=0.6,
        mentions=False,
        related=True,
        min_signal=0.01,
        max_hops=None,
        max_entity_degree=50,
        use_tracerank=True,
        max_edges=10,
    )
    weights = {"bias": -12.0, "topic": 8.0} | ({"entity_walk": 16.0} if entity_walk else {})
    fields = RankingFields(
        base="linear",
        weights=[weights] * 2,
        trace=TraceFields(event_weights=[0.0]),
        tracerank_power=0.5,
        path_power=1.0,
        association=0.9,
        alpha=0.3,
        meta_weights=(0.5, 0.3, 0.2, 0.0),
        keyword_mode="weighted",
        entity_mode="weighted",
        recency_tau_days=30.0,
        open_scale_days=30.0,
        content_weight=0.4,
        question_weight=0.6,
        questions=True,
        start_enabled=True,
        start_limit=5,
        walk=traversal if walk else None,
        summary_prior=0.0,
        expand_summaries=False,
    )
    return _core.Ranking(fields)


def test_walks() -> None:
    filter = _core.Filter(namespace="default", known_at_us=NOW)
    query_vectors = vectors(QUESTIONS, seed=1).astype(np.float32)
    for size in SIZES:
        core = _core.Projection.open(None, bytes(16), 384, "bench")
        core.apply(_rows(size), size, bytes(32))
        spent = {}
        for name, on in (("none", (False, False)), ("walk", (True, False)), ("both", (True, True))):
            ranking = _ranking(*on)
            queries = itertools.cycle(
                _core.Query(vector=one.tobytes(), text=None, query_time_us=NOW, seed=n)
                for n, one in enumerate(query_vectors)
            )
            spent[name] = median_ms(
                lambda: core.recall(size, next(queries), filter, ranking, limit=10, pool=50),  # noqa: B023
                rounds=200,
            )
        walk, entities = spent["walk"] - spent["none"], spent["both"] - spent["walk"]
        note_line(
            f"walks at {size}: recall {spent['none']:.3f} ms, the walk adds {walk:.3f} ms,"
            f" the entity walk {entities:.3f} ms"
        )
