"""Late interaction in the core is as it is defined."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from oracle_late import LATE_TERMS, Late, QueryPieces, Tokens, within
from oracle_signals import Memory, Places, Values
from rows import (
    HEAD,
    STORE,
    Given,
    core_query,
    everything,
    id_of,
    ranking,
    recall,
    seats,
    signals,
    vector,
)

from vestig import _core
from vestig.language.text_flags import text_flags

DIMENSIONS = 4
SPECIAL = 2**32 - 1
TERMS = LATE_TERMS
PLACES = {name: _core.SIGNALS.index(name) for name in TERMS}
ALL = dict.fromkeys(TERMS, 0.5) | {"bias": 0.1, "cosine": 1.0}


def memory_of(dice: random.Random, ids: Sequence[int]) -> Tokens:
    """Random codes, some with all signs equal, some without a scale."""
    signs = np.array([[dice.choice((-1, 1)) for _ in range(256)] for _ in ids], int)
    for row in signs:
        if dice.random() < 0.1:
            row[:] = dice.choice((-1, 1))
    scales = [dice.choice([0.0, 0.0625, dice.uniform(0.004, 0.0625)]) for _ in ids]
    halves = np.array(scales, np.float16).astype(float)
    return Tokens(np.array(ids, int), signs.reshape(len(ids), 256), halves)


def query_of(dice: random.Random, ids: Sequence[int]) -> QueryPieces:
    """Random codes of a query."""
    codes = np.array([[dice.randrange(-7, 8) for _ in range(256)] for _ in ids], np.int8)
    steps = np.array([dice.choice([0.0, dice.uniform(0.01, 0.2)]) for _ in ids])
    return QueryPieces(np.array(ids, int), codes.reshape(len(ids), 256), steps)


def packed(made: Tokens) -> tuple[bytes, bytes] | None:
    """As rows hold it."""
    if not len(made.ids):
        return None
    bits = np.packbits(made.signs > 0, axis=1, bitorder="little")
    scales = made.scales.astype("<f2")
    codes = b"".join(
        row.tobytes() + scale.tobytes() for row, scale in zip(bits, scales, strict=True)
    )
    return made.ids.astype("<u4").tobytes(), codes


def packed_query(made: QueryPieces) -> tuple[bytes, bytes, bytes] | None:
    """As queries hold it."""
    if not len(made.ids):
        return None
    return made.ids.astype("<u4").tobytes(), made.codes.tobytes(), made.steps.tobytes()


class World(NamedTuple):
    """Eligible rows with their tokens, in the order of seq, and others."""

    rows: list[Given]
    tokens: list[Tokens]
    others: list[Given]


def make(dice: random.Random, count: int, vocabulary: int = 12) -> World:
    """Talks with split parts, memories without tokens, some that are not eligible."""
    rows, held, others = [], [], []
    for number in range(count):
        ids = [dice.randrange(vocabulary) for _ in range(dice.choice([0, 1, 2, 5, 9]))]
        if dice.random() < 0.1:
            ids += [2**20 + dice.randrange(3), 2**31, 65_534, 65_535]
        if dice.random() < 0.3:
            ids = [SPECIAL, *ids, SPECIAL]
        made = memory_of(dice, ids)
        content = dice.choice(["the river", "the river?"])
        row = Given(
            id=id_of(number),
            seq=number + 1,
            content=content,
            features=text_flags(content),
            author=dice.choice(["Anna", "Bob", None]),
            session_id=dice.choice([None, "s", "s", "t"]),
            sequence=dice.choice([None, *range(count // 3), *range(count // 3)]),
            origin=dice.randrange(4),
            embedding=vector(*[dice.uniform(-1, 1) for _ in range(DIMENSIONS)]),
            pieces=packed(made),
        )
        if dice.random() < 0.2:
            others.append(msgspec.structs.replace(row, namespace="other"))
            continue
        rows.append(row)
        held.append(made)
    return World(rows, held, others)


def laid_out(dice: random.Random, world: World, path: Path | None) -> _core.Projection:
    """In several segments; earlier versions of some rows lie in earlier ones."""
    where = None if path is None else str(path)
    projection = _core.Projection.open(where, STORE, DIMENSIONS, "test")
    given = world.rows + world.others
    stale = [
        msgspec.structs.replace(row, pieces=packed(memory_of(dice, [1, 2, 3])))
        for row in given
        if dice.random() < 0.2
    ]
    seq = len(given) + len(world.others)
    for rows in (stale, given[::2], given[1::2]):
        projection.apply([row.row() for row in rows], seq, HEAD)
        if path is not None and dice.random() < 0.7:
            projection.publish()
    return projection


def expected(world: World, query: QueryPieces) -> dict[str, Values]:
    """Raw values of all eligible memories."""
    seated = seats(world.rows)
    memories = [
        Memory(
            content=row.content,
            author=row.author,
            session=row.session_id,
            sequence=row.sequence,
            sitting=seated.get(row.id),
        )
        for row in world.rows
    ]
    late = Late(world.tokens, Places.of(memories), frozenset((SPECIAL,)))
    return late.raw(query)


def scanned(
    projection: _core.Projection,
    query: QueryPieces,
    weights: dict[str, float],
    chosen: dict[str, Any] | None = None,
    **settings: Any,
) -> _core.Scan:
    """All eligible memories with what made their rank."""
    return recall(
        projection,
        projection.applied_seq,
        core_query(vector(1, 2, 3, 4), "river", pieces=packed_query(query)),
        everything(**(chosen or {})),
        ranking(weights=[weights] * 4, pool=10_000, limit=10_000, **settings),
    )


def check(scan: _core.Scan, world: World, wanted: dict[str, Values], pool: Values) -> None:
    """Every raw and normalised value."""
    place = {row.id: at for at, row in enumerate(world.rows)}
    assert len(scan.rows) == len(world.rows)
    shares = {name: within(values, pool) for name, values in wanted.items()}
    inside = set(pool.tolist())
    for row in scan.rows:
        at = place[row.id]
        for name in TERMS:
            raw, share = signals(row)[PLACES[name]]
            want = wanted[name][at] if at in inside else 0.0
            assert raw == pytest.approx(want, abs=1e-12), name
            assert share == pytest.approx(shares[name][at], abs=1e-9), name


@pytest.mark.parametrize("seed", range(30))
def test_late_every_value_is_as_defined(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    world = make(dice, dice.choice([3, 12, 40]))
    if not world.rows:
        return
    unusual = (SPECIAL, 65_534, 65_535, 2**20 + 1, 2**31)
    ids = [dice.choice([*unusual, *range(14)]) for _ in range(dice.choice([1, 4, 16, 37]))]
    query = query_of(dice, ids)
    projection = laid_out(dice, world, tmp_path if seed % 2 else None)
    scan = scanned(projection, query, ALL)
    check(scan, world, expected(world, query), np.arange(len(world.rows)))


def test_late_a_filter_changes_neighbours_and_weights(tmp_path: Path) -> None:
    dice = random.Random(77)
    world = make(dice, 60)
    projection = laid_out(dice, world, tmp_path)
    kept = [at for at, row in enumerate(world.rows) if row.author != "Anna"]
    part = World([world.rows[at] for at in kept], [world.tokens[at] for at in kept], [])
    query = query_of(dice, [SPECIAL, 1, 2, 3, 3, SPECIAL])
    chosen = {"ids": b"".join(row.id for row in part.rows)}
    scan = scanned(projection, query, ALL, chosen)
    check(scan, part, expected(part, query), np.arange(len(kept)))


def test_late_word_pieces_of_many_rows_are_counted_by_segment(tmp_path: Path) -> None:
    """Beyond a thousand rows a segment tells what all its rows hold, and what lacks is counted."""
    dice = random.Random(5)
    world = make(dice, 3_000, vocabulary=300)
    projection = laid_out(dice, world, tmp_path)
    projection.publish(compact=True)
    assert projection.segments == 1
    query = query_of(dice, [1, 2, 2, 2**31, 2**20 + 1, 65_535, 299, 300, SPECIAL])
    for number, rows in enumerate((world.rows, world.rows[: len(world.rows) // 3])):
        part = World(rows, world.tokens[: len(rows)], [])
        chosen = {"ids": b"".join(row.id for row in rows)} if number else None
        scan = scanned(projection, query, ALL, chosen, chosen_rows=5_000)
        check(scan, part, expected(part, query), np.arange(len(rows)))


def by_cosine(seed: int, count: int) -> tuple[World, _core.Projection, QueryPieces, list[int]]:
    """Rows, where they lie, a query, and the places of the rows in the order of their cosines."""
    dice = random.Random(seed)
    world = make(dice, count)
    projection = laid_out(dice, world, None)
    query = query_of(dice, [1, 2, 3])
    plain = scanned(projection, query, {"cosine": 1.0, "bias": 0.1})
    place = {row.id: at for at, row in enumerate(world.rows)}
    return world, projection, query, [place[row.id] for row in plain.rows]


def best_of_each(world: World, order: list[int], origins: tuple[int, ...], size: int) -> Any:
    """The places of the best rows of each of these origins."""
    own = [[at for at in order if world.rows[at].origin == origin] for origin in origins]
    return np.array([at for places in own for at in places[:size]], int)


def test_only_the_best_of_each_origin_have_values() -> None:
    world, projection, query, order = by_cosine(3, 50)
    for size in (0, 1, 7):
        scan = scanned(projection, query, ALL, chosen_rows=size)
        pool = best_of_each(world, order, (0, 1, 2, 3), size)
        check(scan, world, expected(world, query), pool)


def test_the_pool_is_of_origins_that_weigh_it() -> None:
    """What others have without it must not keep those out that wait for theirs."""
    world, projection, query, order = by_cosine(31, 60)
    above = {"bias": 50.0, "cosine": 1.0, "late.own_idf": 0.0}
    for size in (1, 7, 1_000):
        scan = recall(
            projection,
            projection.applied_seq,
            core_query(vector(1, 2, 3, 4), "river", pieces=packed_query(query)),
            everything(),
            ranking(weights=[above, ALL, ALL, above], pool=10_000, limit=10_000, chosen_rows=size),
        )
        origins = {row.id: row.origin for row in world.rows}
        assert {origins[row.id] for row in scan.rows[:5]} <= {0, 3}
        check(scan, world, expected(world, query), best_of_each(world, order, (1, 2), size))


def test_late_parts_that_weigh_nothing_are_not_made() -> None:
    dice = random.Random(4)
    world = make(dice, 20)
    projection = laid_out(dice, world, None)
    query = query_of(dice, [1, 2, 3])
    wanted = expected(world, query)
    place = {row.id: at for at, row in enumerate(world.rows)}
    for name in TERMS:
        scan = scanned(projection, query, {"cosine": 1.0, name: 0.5})
        for other, at in PLACES.items():
            assert (scan.scorings[0].maxima[at] is None) == (other != name)
        most = max(0.0, wanted[name].max())
        assert scan.scorings[0].maxima[PLACES[name]] == pytest.approx(most, abs=1e-12)
        for row in scan.rows:
            raw, _share = signals(row)[PLACES[name]]
            assert raw == pytest.approx(wanted[name][place[row.id]], abs=1e-12)


def test_late_is_unavailable_without_tokens_of_the_query() -> None:
    dice = random.Random(6)
    world = make(dice, 20)
    projection = laid_out(dice, world, None)
    scan = scanned(projection, query_of(dice, []), ALL)
    without = scanned(projection, query_of(dice, [1]), {"cosine": 1.0, "bias": 0.1})
    for at in PLACES.values():
        assert scan.scorings[0].maxima[at] is None
        assert all(signals(row)[at] == (None, None) for row in scan.rows)
    numbers = [(row.id, row.final_score) for row in scan.rows]
    assert numbers == [(row.id, row.final_score) for row in without.rows]


def test_late_has_no_value_where_no_memory_has_tokens() -> None:
    rows = [Given(id=id_of(n), seq=n + 1, session_id="s", sequence=n) for n in range(3)]
    dice = random.Random(8)
    world = World(rows, [memory_of(dice, [])] * 3, [])
    query = query_of(dice, [1, 2])
    scan = scanned(laid_out(dice, world, None), query, ALL)
    assert [scan.scorings[0].maxima[at] for at in PLACES.values()] == [0.0] * len(PLACES)
    assert all(signals(row)[at] == (0.0, 0.0) for row in scan.rows for at in PLACES.values())


WRONG = {
    "none": (b"", b"", b""),
    "short": (bytes(4), bytes(256), bytes(4)),
    "great": (bytes(4), b"\x08" * 256, bytes(8)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_tokens_of_a_query_are_whole(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"word pieces of a query|codes of a query"):
        core_query(None, None, pieces=WRONG[wrong])


def test_late_counts_in_the_score() -> None:
    dice = random.Random(10)
    world = make(dice, 30)
    projection = laid_out(dice, world, None)
    weights = {"bias": -0.25, "late.own_idf": 0.75, "late.w2_idf": -0.5}
    scan = scanned(projection, query_of(dice, [1, 2, 5]), weights, tracerank_power=0.0)
    levels = []
    for row in scan.rows:
        mean, window = (signals(row)[PLACES[n]][1] for n in ("late.own_idf", "late.w2_idf"))
        assert mean is not None
        assert window is not None
        level = -0.25 + 0.75 * mean - 0.5 * window
        assert row.start_score == pytest.approx(level, abs=1e-12)
        levels.append(row.start_score)
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) > 3


CHOOSING = {"bias": 0.5, "cosine": 1.0, "lexical": 0.25}
DECIDING = {"bias": -0.25, "cosine": 0.5, "late.own_idf": 0.75, "late.w2_idf": -0.5}


def sum_of(row: _core.Row, weights: dict[str, float], constant: float) -> float:
    """The constant and weight · normalised value of each term."""
    total = constant
    for name, (_, share) in zip(_core.SIGNALS, signals(row), strict=True):
        if name in weights and share is not None:
            total += weights[name] * share
    return total


def check_sums(scan: _core.Scan, world: World, size: int) -> None:
    """By origin: the best `size` by the weights that choose are ranked by the others, where any
    memory among them has pieces; the others lose the most that this took from one of them."""
    origins = {row.id: row.origin for row in world.rows}
    held = {row.id: len(own.ids) for row, own in zip(world.rows, world.tokens, strict=True)}
    for origin in range(4):
        own = [row for row in scan.rows if origins[row.id] == origin]
        chosen = {row.id: sum_of(row, CHOOSING, CHOOSING["bias"]) for row in own}
        own.sort(key=lambda row: (-chosen[row.id], row.id))
        pool, others = own[:size], own[size:]
        if not any(held[row.id] for row in pool):
            pool, others = [], own
        decided = {row.id: sum_of(row, DECIDING, DECIDING["bias"]) for row in pool}
        least = min((decided[id] - chosen[id] for id in decided), default=0.0)
        for row in pool:
            assert row.chosen
            assert row.constant == DECIDING["bias"]
            assert row.start_score == pytest.approx(decided[row.id], abs=1e-12)
        for row in others:
            assert not row.chosen
            assert row.constant == pytest.approx(CHOOSING["bias"] + min(0.0, least), abs=1e-12)
            assert row.start_score == pytest.approx(sum_of(row, CHOOSING, row.constant), abs=1e-12)
        lowest = min((row.start_score for row in pool), default=math.inf)
        assert all(row.start_score <= lowest + 1e-12 for row in others)


@pytest.mark.parametrize("seed", range(12))
def test_weights_of_candidates_choose_and_rank_what_they_do_not_choose(seed: int) -> None:
    dice = random.Random(seed)
    world = make(dice, 70)
    projection = laid_out(dice, world, None)
    query = query_of(dice, [1, 2, 5, SPECIAL])
    for size in (1, 4, 1_000):
        settings = {"candidate_weights": [CHOOSING] * 4, "chosen_rows": size}
        scan = scanned(projection, query, DECIDING, tracerank_power=0.0, **settings)
        check_sums(scan, world, size)
        few = recall(
            projection,
            projection.applied_seq,
            core_query(vector(1, 2, 3, 4), "river", pieces=packed_query(query)),
            everything(),
            ranking(weights=[DECIDING] * 4, pool=5, limit=5, tracerank_power=0.0, **settings),
        )
        best = sorted(scan.rows, key=lambda row: (-row.start_score, -row.similarity, row.id))
        assert [row.id for row in few.rows] == [row.id for row in best[:5]]
        assert [row.start_score for row in few.rows] == [row.start_score for row in best[:5]]


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_weights_of_candidates_choose_where_nothing_is_compared(size: int) -> None:
    """An origin that weighs no word pieces is ranked so too, the query's codes or not."""
    dice = random.Random(40)
    world = make(dice, 60)
    projection = laid_out(dice, world, None)
    deciding = {"bias": 2.0, "cosine": 0.5, "lexical": -0.75}
    weights = [CHOOSING, deciding, CHOOSING, deciding]
    settings = {"candidate_weights": [CHOOSING] * 4, "chosen_rows": size, "tracerank_power": 0.0}
    origins = {row.id: row.origin for row in world.rows}
    found = []
    for query in (query_of(dice, [1, 2]), query_of(dice, [])):
        scan = recall(
            projection,
            projection.applied_seq,
            core_query(vector(1, 2, 3, 4), "river", pieces=packed_query(query)),
            everything(),
            ranking(weights=weights, pool=10_000, limit=10_000, **settings),
        )
        found.append([(row.id, row.start_score) for row in scan.rows])
        for origin in range(4):
            own = [row for row in scan.rows if origins[row.id] == origin]
            early = {row.id: sum_of(row, CHOOSING, 0.5) for row in own}
            own.sort(key=lambda row: (-early[row.id], row.id))
            pool = own[:size] if origin in (1, 3) else []
            assert [row.chosen for row in own] == [True] * len(pool) + [False] * (
                len(own) - len(pool)
            )
            level = {row.id: sum_of(row, deciding, 2.0) for row in pool}
            least = min((level[id] - early[id] for id in level), default=0.0)
            for row in own:
                lowered = early[row.id] + min(0.0, least)
                assert row.start_score == pytest.approx(level.get(row.id, lowered), abs=1e-12)
    assert found[0] == found[1]


def test_without_word_pieces_the_weights_of_candidates_rank() -> None:
    dice = random.Random(2)
    world = make(dice, 40)
    projection = laid_out(dice, world, None)
    plain = scanned(projection, query_of(dice, []), CHOOSING)
    settings = {"candidate_weights": [CHOOSING] * 4}
    bare = World(world.rows, [memory_of(dice, [])] * len(world.rows), [])
    without = laid_out(
        dice,
        World([msgspec.structs.replace(row, pieces=None) for row in world.rows], bare.tokens, []),
        None,
    )
    for scan in (
        scanned(projection, query_of(dice, []), DECIDING, **settings),
        scanned(without, query_of(dice, [1, 2]), DECIDING, **settings),
    ):
        check_sums(scan, bare, 128)
        assert [(row.id, row.start_score) for row in scan.rows] == [
            (row.id, row.start_score) for row in plain.rows
        ]
