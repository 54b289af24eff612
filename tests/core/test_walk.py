"""Recall through the graph against its definition: signals, walk, pool, fill."""

from __future__ import annotations

import hashlib
import math
import random
import uuid
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rows import DAY, HEAD, NOW, STORE, WALK, Given, everything, id_of, opened, recall, vector
from rows import ranking as core_ranking
from whole import GivenQuery, Whole, of_row
from worlds import DIMENSIONS, MENTIONS, PLAIN_TERMS, RELATED, edge, question, settings, world

from tables import each
from vestig import _core


def numbers(scan: _core.Scan) -> list[Any]:
    """Everything of a result."""
    statistics = [scan.idfs, scan.document_frequencies, scan.dates_met]
    return [*map(of_row, scan.rows), statistics, scan.walked, scan.eligible]


@each("seed", range(60))
def test_recall_is_its_definition(seed: int) -> None:
    dice = random.Random(seed)
    rows = world(dice, dice.choice([1, 3, 12, 40]))
    projection = opened(rows, DIMENSIONS)
    for _ in range(6):
        ranking, given_query = settings(dice), question(dice, rows)
        scan = recall(
            projection, len(rows), given_query.query(), everything(), core_ranking(**ranking)
        )
        whole = Whole(rows, given_query, ranking)
        assert [of_row(row) for row in scan.rows] == whole.results()
        assert [of_row(row) for row in scan.associated] == whole.associated()


@pytest.mark.slow
@each("first", range(0, 200, 20))
def test_layouts_and_threads_change_no_bit(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        dice = random.Random(seed)
        rows = world(dice, dice.choice([4, 20, 60]))
        given = [row.row() for row in rows]
        plain = opened(rows, DIMENSIONS)
        spread = _core.Projection.open(str(tmp_path / str(seed)), STORE, DIMENSIONS, "test")
        dice.shuffle(given)
        while given:
            count = dice.randrange(1, 30)
            # Older versions come first and are masked.
            old = dice.sample(rows, k=min(3, len(rows)))
            spread.apply([_before(row).row() for row in old], len(rows), HEAD)
            spread.apply(given[:count], len(rows), HEAD)
            given = given[count:]
            if dice.random() < 0.5:
                spread.publish()
        spread.apply([row.row() for row in rows], len(rows), HEAD)
        given_query = [(settings(dice), question(dice, rows)) for _ in range(3)]
        before = [_answers(plain, rows, given_query, threads) for threads in (1, 2, 8)]
        assert before[0] == before[1] == before[2] == _answers(spread, rows, given_query, 2)
        spread.publish()
        assert _answers(spread, rows, given_query, 1) == before[0]
        spread.merge(1)
        assert _answers(spread, rows, given_query, 1) == before[0]
        again = _core.Projection.open(str(tmp_path / str(seed)), STORE, DIMENSIONS, "test")
        assert (again.segments, again.discarded) == (1, None)
        assert _answers(again, rows, given_query, 8) == before[0]


def _before(row: Given) -> Given:
    """An older version, with other edges."""
    return Given(id=row.id, seq=row.seq, kind=row.kind, role=row.role, names=row.names)


def _answers(
    projection: _core.Projection, rows: list[Given], given_query: list[Any], threads: int
) -> list[Any]:
    return [
        numbers(
            recall(
                projection, len(rows), query.query(), everything(), core_ranking(**ranking), threads
            )
        )
        for ranking, query in given_query
    ]


@pytest.mark.slow
def test_bounds_keep_every_signal_exact() -> None:
    """Above the size from which bounds are used, the walk and the signals are as defined."""
    dice = random.Random(20)
    rows = world(dice, 2_300)
    for row in rows:
        row.edges = row.edges[:2] if dice.random() < 0.1 else []
    projection = opened(rows, DIMENSIONS)
    ranking = settings(dice) | {
        "base": "linear",
        "weights": [dict.fromkeys(("bias", *PLAIN_TERMS), 1.5) for _ in range(2)],
        "pool": 20,
        "limit": 12,
        "association": 0.9,
        "start_enabled": True,
        "questions": True,
        "expand_summaries": False,
        "walk": WALK | {"mentions": True, "threshold": 0.1},
    }
    given_query = question(dice, rows)
    given_query = GivenQuery(vector=vector(*range(DIMENSIONS)), text="the night cache", seed=3)
    given_query.entities = [(row.id, 1.0) for row in rows if row.kind == 2][:3]
    scan = recall(projection, len(rows), given_query.query(), everything(), core_ranking(**ranking))
    assert [of_row(row) for row in scan.rows] == Whole(rows, given_query, ranking).results()
    assert scan.walked > 0


def test_tracerank_passes_no_memory_beyond_its_bound() -> None:
    """Over random stores with reinforcements; without a bound some do pass."""
    passed = 0
    for seed in range(60):
        dice = random.Random(seed)
        rows = world(dice, 40)
        projection = opened(rows, DIMENSIONS)
        query = question(dice, rows).query()
        linear = {**settings(dice), "base": "linear", "tracerank_power": 0.5, "association": 0.0}
        linear |= {"limit": 40, "pool": 40}
        for bound in (0.5, None):
            ranking = core_ranking(**{**linear, "tracerank_bound": bound})
            found = recall(projection, len(rows), query, everything(), ranking).rows
            bases = [row.base for row in found if row.direct]
            ratios = [later / first for first, later in combinations(bases, 2) if first > 0]
            if bound is None:
                passed += any(ratio > math.exp(0.5) for ratio in ratios)
            else:
                assert all(ratio <= math.exp(bound) * (1 + 1e-12) for ratio in ratios)
            order = [(-row.final_score, -row.start_score, -row.similarity, row.id) for row in found]
            assert order == sorted(order)
    assert passed


FIXED = (("S", "B", 0.9), ("S", "D", 0.8), ("B", "C", 0.3), ("S", "E", 0.5), ("B", "E", 0.9))
COSINES = {"S": 1.0, "B": 0.5, "C": 0.4, "D": 0.3, "E": 0.2}
REFERENCE: dict[str, Any] = {
    "base": "semantic",
    "tracerank_power": 1.0,
    "pool": "starts",
    "start_limit": 1,
    "limit": 3,
    "walk": {"max_nodes": 3, "exploration_factor": 2.0},
}


def fixed(names: str = "SBCDE", **more: Any) -> tuple[_core.Projection, dict[str, bytes]]:
    """FG of the golden cases."""
    ids = {name: id_of(n) for n, name in enumerate(names)}
    rows = []
    for n, name in enumerate(names):
        cosine = COSINES[name]
        own = [
            edge(10 * n + i, ids[b], RELATED, w)
            for i, (a, b, w) in enumerate(FIXED)
            if a == name and b in ids
        ]
        values = {"embedding": vector(cosine, (1 - cosine**2) ** 0.5), "edges": own}
        rows.append(Given(id=ids[name], seq=1, **(values | more.get(name, {}))))
    return opened(rows, 2), ids


def walked(
    projection: _core.Projection, ids: dict[str, bytes], filter: Any = None, **more: Any
) -> dict[str, _core.Row]:
    """Rows by name, in order."""
    ranking = REFERENCE | more
    ranking["walk"] = REFERENCE["walk"] | more.get("walk", {})
    names = {id: name for name, id in ids.items()}
    query = _core.Query(query_time_us=NOW, vector=vector(1, 0), text=None)
    scan = recall(
        projection, projection.applied_seq, query, filter or everything(), core_ranking(**ranking)
    )
    return {names[row.id]: row for row in scan.rows}


def test_best_first() -> None:
    projection, ids = fixed()
    found = walked(projection, ids)
    assert list(found) == ["S", "B", "E"]
    assert [row.signal_strength for row in found.values()] == [1.0, 0.9, 0.9 * 0.9]
    assert found["E"].path == ((RELATED, ids["B"]), (RELATED, ids["E"]))
    assert (found["S"].direct, found["B"].direct) == (True, False)
    assert found["E"].start == ids["S"]
    assert found["E"].start_base == 1.0


def test_orders() -> None:
    projection, ids = fixed("SBCD")
    assert list(walked(projection, ids)) == ["S", "B", "D"]
    deep = walked(projection, ids, walk={"order": "dfs"})
    assert list(deep) == ["S", "B", "C"]
    last = deep["C"]
    assert last.path == ((RELATED, ids["B"]), (RELATED, ids["C"]))
    assert (last.signal_strength, last.path_score) == (0.9 * 0.3, 0.9 * 0.3)
    assert last.steps[-1][2] == pytest.approx(0.54)
    assert last.final_score == pytest.approx(0.4 * 0.27, abs=1e-6)


def test_ineligible_nodes_are_not_crossed() -> None:
    for hidden in ({"status": 1}, {"scope": "elsewhere"}):
        projection, ids = fixed(B=hidden)
        found = walked(projection, ids, everything(scopes=[None]))
        assert list(found) == ["S", "D", "E"]
        assert found["E"].signal_strength == 0.5
        assert len(found["E"].path) == 1


def test_all_starts_are_there() -> None:
    projection, ids = fixed()
    for most in (3, 1):
        found = walked(projection, ids, start_limit=3, limit=3, walk={"max_nodes": most})
        assert sorted(found) == ["B", "C", "S"]


def test_random_numbers() -> None:
    for seed, name, wanted in (
        (7, "edge_1", 0.256754842799),
        (7, "edge_2", 0.869195390843),
        (0, "edge_1", 0.545385399329),
    ):
        assert _core.testing.walk_uniform(seed, "mem_s", name) == pytest.approx(wanted, abs=5e-13)
    values = [_core.testing.walk_uniform(seed, "mem_s", "edge_1") for seed in range(10_000)]
    assert sum(u < 0.3 for u in values) == 3052
    text = b"vestig-walk-1\x007\x00mem_s\x00a|b"
    number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 11
    assert _core.testing.walk_uniform(7, "mem_s", "a|b") == number / 2**53


def test_walks_draw_by_the_ids_of_the_ledger() -> None:
    projection, ids = fixed("SB", S={"edges": [edge(1, id_of(1), RELATED, 0.5)]})
    drawn = 0
    for seed in range(60):
        query = _core.Query(query_time_us=NOW, vector=vector(1, 0), text=None, seed=seed)
        walk = {"deterministic": False, "max_nodes": 3, "exploration_factor": 1.0}
        ranking = core_ranking(**(REFERENCE | {"walk": walk}))
        rows = recall(projection, 2, query, everything(), ranking).rows
        u = _core.testing.walk_uniform(
            seed, f"mem_{uuid.UUID(bytes=ids['S'])}", f"edge_{uuid.UUID(bytes=id_of(1_000_001))}"
        )
        steps = rows[1].steps
        assert bool(steps) == (u < 0.5)
        assert rows[1].filled == (not steps)
        if steps:
            drawn += 1
            assert steps == ((id_of(1_000_001).hex(), 0.5, 0.5, u),)
    assert 0 < drawn < 60


def test_time_travel_hides_later_edges_and_events() -> None:
    at = NOW - 10 * DAY
    event = (2, at - DAY, at + DAY, 1, 0)
    old = {"t_created_us": at - DAY, "t_valid_us": at - DAY, "events": [event]}
    late = edge(1, id_of(1), RELATED, 0.9, created=at + 1)
    gone = edge(2, id_of(2), RELATED, 0.9, created=at - 1, expired=at)
    more = {"S": old | {"edges": [late, gone]}, "B": old, "D": old}
    projection, ids = fixed("SBD", **more)
    now = walked(projection, ids, walk={"mentions": True})
    assert (now["S"].events, len(now["B"].path), now["D"].filled) == (1, 1, True)
    then = everything(past=True, known_at_us=at)
    before = walked(projection, ids, then)
    assert (before["S"].events, before["B"].filled, before["D"].filled) == (0, True, True)
    earlier = walked(projection, ids, everything(past=True, known_at_us=at - 1))
    assert (earlier["B"].filled, len(earlier["D"].path)) == (True, 1)


def test_association_lets_a_linked_memory_in() -> None:
    projection, ids = fixed()
    found = walked(projection, ids, association=0.9, pool=1, limit=2, walk={"max_nodes": 2})
    assert found["B"].final_score == pytest.approx(0.9 * 0.9)
    assert not found["B"].direct
    pooled = walked(projection, ids, association=0.9, pool=5, limit=5)
    assert pooled["B"].final_score == pytest.approx(0.5, abs=1e-6)
    assert (pooled["B"].direct, len(pooled["B"].path), pooled["B"].path_score) == (True, 1, 1.0)


def test_watched_memories_are_reported() -> None:
    projection, ids = fixed()
    ranking = core_ranking(
        **(REFERENCE | {"walk": None, "pool": 3, "limit": 1}),
        watch=b"".join(ids[name] for name in "SCE") + id_of(99),
    )
    scan = recall(
        projection,
        5,
        _core.Query(query_time_us=NOW, vector=vector(1, 0), text=None),
        everything(),
        ranking,
    )
    assert [row.id for row in scan.rows] == [ids["S"]]
    assert [(row.id, row.start_rank, row.pool_rank) for row in scan.watched] == [
        (ids["C"], 2, 2),
        (ids["E"], 4, None),
    ]


def test_mentions_are_two_hops() -> None:
    entity = Given(id=id_of(50), seq=1, kind=2, role="PERSON", names=[("ada", "Ada")])
    rows = [
        Given(
            id=id_of(n),
            seq=1,
            embedding=vector(1, n),
            edges=[edge(n, entity.id, MENTIONS, confidence=confidence)],
        )
        for n, confidence in enumerate((0.9, 0.8))
    ]
    projection = opened([*rows, entity], 2)
    ids = {"S": id_of(0), "B": id_of(1)}
    found = walked(projection, ids, walk={"mentions": True})["B"]
    assert found.path == ((MENTIONS, entity.id), (MENTIONS, id_of(1)))
    assert found.steps[0][0] == f"{id_of(1_000_000).hex()}|{id_of(1_000_001).hex()}"
    assert found.steps[0][1] == 0.9 * 0.8
    assert walked(projection, ids)["B"].filled
    few = walked(projection, ids, walk={"mentions": True, "max_entity_degree": 1})
    assert few["B"].filled
