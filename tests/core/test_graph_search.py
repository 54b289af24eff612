"""Search over nodes, neighbourhoods, and what the graph adds to TraceRank."""

from __future__ import annotations

import random
from collections import deque

import oracle
import pytest
from rows import (
    NOW,
    Given,
    core_query,
    cosines,
    everything,
    id_of,
    opened,
    ranking,
    recall,
    trace,
    vector,
)
from whole import Net
from worlds import DIMENSIONS, MENTIONS, RELATED, edge, unit_vector, world

from tables import each
from vestig import _core


def graph(seed: int) -> tuple[_core.Projection, list[Given], dict[bytes, set[bytes]]]:
    """A random world and its undirected adjacency."""
    dice = random.Random(seed)
    rows = world(dice, 40)
    for row in rows:
        if row.kind == 2 and dice.random() < 0.7:
            row.embedding = unit_vector(dice, DIMENSIONS)
    near: dict[bytes, set[bytes]] = {row.id: set() for row in rows}
    net = Net([r for r in rows if r.kind != 2], [r for r in rows if r.kind == 2], NOW)
    for one, _, other, *_ in net.edges:
        if one in near and other in near:
            near[one].add(other)
            near[other].add(one)
    return opened(rows, DIMENSIONS), rows, near


def distances(near: dict[bytes, set[bytes]], seeds: list[bytes]) -> dict[bytes, int]:
    found = dict.fromkeys(seeds, 0)
    queue = deque(seeds)
    while queue:
        node = queue.popleft()
        for other in near[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


@each("seed", range(10))
def test_nearest_nodes(seed: int) -> None:
    projection, rows, _ = graph(seed)
    query = unit_vector(random.Random(seed), DIMENSIONS)
    for memories, entities in ((True, True), (True, False), (False, True)):
        wanted = [
            (row.id, row.kind, cosine)
            for row, cosine in zip(rows, cosines(rows, query), strict=True)
            if row.embedding is not None and (entities if row.kind == 2 else memories)
        ]
        wanted.sort(key=lambda hit: (-hit[2], hit[0]))
        found = projection.search(len(rows), query, everything(), memories, entities, 7)
        assert found == wanted[:7]
    one = everything(exclude_ids=wanted[0][0])
    assert projection.search(len(rows), query, one, False, True, 1) == wanted[1:2]
    with pytest.raises(_core.SnapshotMoved):
        projection.search(0, query, everything(), True, True, 1)


@each("seed", range(10))
def test_neighbourhoods_are_breadth_first(seed: int) -> None:
    projection, rows, near = graph(seed)
    kinds = {row.id: row.kind for row in rows}
    seeds = [row.id for row in random.Random(seed).sample(rows, 3)]
    for depth in (0, 1, 2, 5):
        wanted = {n: d for n, d in distances(near, seeds).items() if d <= depth}
        found, wide = projection.neighbourhood(
            len(rows), b"".join(seeds), depth, everything(), True, True
        )
        assert found == sorted(((n, kinds[n], d) for n, d in wanted.items()), key=_order)
        assert wide == []
        only, _ = projection.neighbourhood(
            len(rows), b"".join(seeds), depth, everything(), False, True
        )
        assert only == [hit for hit in found if hit[1] == 2]
        for node in seeds:
            wanted.pop(node)
            away = distances(near, [other for other in seeds if other != node]).get(node)
            if away is not None and away <= depth:
                wanted[node] = away
        others, _ = projection.neighbourhood(
            len(rows), b"".join(seeds), depth, everything(), True, True, others=True
        )
        assert others == sorted(((n, kinds[n], d) for n, d in wanted.items()), key=_order)


def _order(hit: tuple[bytes, int, int]) -> tuple[int, bytes]:
    return hit[2], hit[0]


def test_wide_entities_are_reported_but_not_crossed() -> None:
    entity = Given(id=id_of(50), seq=1, kind=2, role="PERSON")
    rows = [Given(id=id_of(n), seq=1, edges=[edge(n, entity.id, MENTIONS)]) for n in range(3)]
    projection = opened([*rows, entity], 2)
    for most, told in ((3, []), (2, [entity.id])):
        found, wide = projection.neighbourhood(4, id_of(0), 2, everything(), True, True, most)
        assert wide == told
        assert [hit[0] for hit in found][:2] == [id_of(0), entity.id]
        assert len(found) == (2 if told else 4)


def test_nearest_entity_of_a_type() -> None:
    rows = [
        Given(id=id_of(n), seq=1, kind=2, role=kind, embedding=vector(*values), **more)
        for n, (kind, values, more) in enumerate(
            [
                ("PERSON", (3, 4), {}),
                ("PLACE", (0, 1), {}),
                ("PERSON", (0, 1), {"t_expired_us": NOW, "status": 1}),
                ("PERSON", (0, 1), {"namespace": "other"}),
            ]
        )
    ]
    projection = opened(rows, 2)
    query = vector(0, 1) * 3
    types = ["PERSON", "UNTYPED", "TOOL"]
    near = cosines(rows[:1], vector(0, 1))[0]
    found = projection.entity_similar(4, "default", query, types, 0.8)
    assert found == [(id_of(0), near), (id_of(1), 1.0), None]
    assert projection.entity_similar(4, "default", vector(0, 1), ["PERSON"], 0.81) == [None]


def test_connectivity_counts_inbound_related() -> None:
    target = id_of(0)
    kinds = [MENTIONS] * 4 + [RELATED] * 2
    rows = [Given(id=target, seq=1)]
    rows += [
        Given(id=id_of(n), seq=1, edges=[edge(n, target, kind), edge(50 + n, target, kind)])
        for n, kind in enumerate(kinds, 1)
    ]
    rows.append(Given(id=id_of(20), seq=1, status=1, edges=[edge(20, target, RELATED)]))
    rows[0].edges = [edge(90, id_of(1), RELATED)]
    projection = opened(rows, 2)
    on = trace(connectivity_enabled=True)
    scan = recall(projection, len(rows), core_query(None, None), everything(), ranking(trace=on))
    found = {row.id: row.connectivity for row in scan.rows}
    assert found[target] == 1 + 0.15 * _core.ln(1 + 2)
    assert found[id_of(1)] == 1 + 0.15 * _core.ln(2.0)
    off = recall(projection, len(rows), core_query(None, None), everything(), ranking())
    assert {row.connectivity for row in off.rows} == {1.0}


def test_a_query_without_time_ranks_as_without_the_signal() -> None:
    dice = random.Random(9)
    rows = world(dice, 30)
    projection = opened(rows, DIMENSIONS)
    query = core_query(unit_vector(dice, DIMENSIONS), None, keywords=["cache", "river"])
    with_time = {"base": "blend", "alpha": 0.6, "meta_weights": (0.5, 0.3, 0.0, 0.0)}
    without = with_time | {"meta_weights": (0.5, 0.0, 0.0, 0.0)}
    one, other = (
        recall(projection, len(rows), query, everything(), ranking(**settings))
        for settings in (with_time, without)
    )
    assert [(r.id, r.final_score) for r in one.rows] == [(r.id, r.final_score) for r in other.rows]
    assert all(row.signal("temporal") is None for row in one.rows)
    assert any(row.metadata_score for row in one.rows)


def test_entity_walk_of_four_memories() -> None:
    held = [[0, 1], [0, 2], [3, 1], []]
    starts = [(0, 0.5), (1, 0.4), (2, 0.3), (3, 0.2)]
    limit = oracle.entity_walk(held, starts, [0], threshold=1e-15)
    wanted = [0.207394102, 0.209890479, 0.082714928, 0.00000025]
    assert limit == pytest.approx(wanted, abs=1e-9)
