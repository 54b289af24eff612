"""Late interaction in the core is as it is defined."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from oracle_late import LATE_TERMS, Late, QueryPieces, Tokens
from oracle_signals import Memory, Places, Values
from rows import (
    DAY,
    HEAD,
    NOW,
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

from tables import each
from vestig import _core
from vestig.language.words import text_flags

DIMENSIONS = 4
SPECIAL = 2**32 - 1
TERMS = LATE_TERMS
PLACES = {name: _core.SIGNALS.index(name) for name in TERMS}
ALL = dict.fromkeys(TERMS, 0.5) | {"bias": 0.1, "topic": 1.0}


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
        ranking(weights=weights, sittings=True, pool=10_000, limit=10_000, **settings),
    )


def check(scan: _core.Scan, world: World, wanted: dict[str, Values], pool: Values) -> None:
    """Every value of the pool; the others have none."""
    place = {row.id: at for at, row in enumerate(world.rows)}
    assert len(scan.rows) == len(world.rows)
    inside = set(pool.tolist())
    for row in scan.rows:
        at = place[row.id]
        for name in TERMS:
            raw = signals(row)[PLACES[name]]
            if at in inside:
                assert raw == pytest.approx(wanted[name][at], abs=1e-12), name
            else:
                assert raw is None, name


@each("seed", range(30))
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


def test_late_pieces_of_a_date_that_is_met_weigh_nothing(tmp_path: Path) -> None:
    dice = random.Random(5)
    world = make(dice, 40)
    projection = laid_out(dice, world, tmp_path)
    query = query_of(dice, [1, 2, 3, 4])
    kept = [0, 3]
    others = QueryPieces(query.ids[kept], query.codes[kept], query.steps[kept])
    valid = world.rows[0].t_valid_us
    for date, wanted in (((valid, valid + DAY), others), ((NOW + DAY, NOW + 2 * DAY), query)):
        asked = core_query(
            vector(1, 2, 3, 4),
            "river",
            pieces=packed_query(query),
            pieces_in_time=[1, 2, 99],
            dates=[(*date, False)],
        )
        scan = recall(
            projection,
            projection.applied_seq,
            asked,
            everything(),
            ranking(weights=ALL, sittings=True, pool=10_000, limit=10_000),
        )
        check(scan, world, expected(world, wanted), np.arange(len(world.rows)))


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


@pytest.mark.slow
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
        scan = scanned(projection, query, ALL, chosen, late_pool=5_000)
        check(scan, part, expected(part, query), np.arange(len(rows)))


def by_cosine(seed: int, count: int) -> tuple[World, _core.Projection, QueryPieces, list[int]]:
    """Rows, where they lie, a query, and the places of the rows in the order of their cosines."""
    dice = random.Random(seed)
    world = make(dice, count)
    projection = laid_out(dice, world, None)
    query = query_of(dice, [1, 2, 3])
    plain = scanned(projection, query, {"topic": 1.0, "bias": 0.1})
    place = {row.id: at for at, row in enumerate(world.rows)}
    return world, projection, query, [place[row.id] for row in plain.rows]


@pytest.mark.parametrize("size", [0, 1, 7, 1_000])
def test_only_the_best_of_all_kinds_have_values(size: int) -> None:
    """The others have the least that word pieces add to one of these, so that none passes one."""
    world, projection, query, order = by_cosine(3, 50)
    scan = scanned(projection, query, ALL, late_pool=size, tracerank_power=0.0)
    pool, wanted = np.array(order[:size], int), expected(world, query)
    check(scan, world, wanted, pool)
    added = sum(ALL[name] * wanted[name] for name in TERMS)
    least = min((float(added[at]) for at in pool), default=0.0)
    place = {row.id: at for at, row in enumerate(world.rows)}
    inside = set(pool.tolist())
    for row in scan.rows:
        at = place[row.id]
        own = float(added[at]) if at in inside else least
        assert row.start_score == pytest.approx(0.1 + row.similarity + own, abs=1e-12)
        assert row.constant == pytest.approx(0.1 + (0.0 if at in inside else least), abs=1e-12)
    assert [place[row.id] in inside for row in scan.rows] == [
        *[True] * len(pool),
        *[False] * (len(scan.rows) - len(pool)),
    ]
    few = recall(
        projection,
        projection.applied_seq,
        core_query(vector(1, 2, 3, 4), "river", pieces=packed_query(query)),
        everything(),
        ranking(weights=ALL, sittings=True, pool=5, limit=5, late_pool=size, tracerank_power=0.0),
    )
    assert [(row.id, row.start_score) for row in few.rows] == [
        (row.id, row.start_score) for row in scan.rows[:5]
    ]


def test_late_parts_that_weigh_nothing_are_not_made() -> None:
    dice = random.Random(4)
    world = make(dice, 20)
    projection = laid_out(dice, world, None)
    query = query_of(dice, [1, 2, 3])
    wanted = expected(world, query)
    place = {row.id: at for at, row in enumerate(world.rows)}
    for name in TERMS:
        scan = scanned(projection, query, {"topic": 1.0, name: 0.5})
        for row in scan.rows:
            for other, at in PLACES.items():
                raw = signals(row)[at]
                own = wanted[name][place[row.id]]
                assert raw == (pytest.approx(own, abs=1e-12) if other == name else None)


def test_late_is_unavailable_without_tokens_of_the_query() -> None:
    dice = random.Random(6)
    world = make(dice, 20)
    projection = laid_out(dice, world, None)
    scan = scanned(projection, query_of(dice, []), ALL)
    without = scanned(projection, query_of(dice, [1]), {"topic": 1.0, "bias": 0.1})
    for at in PLACES.values():
        assert all(signals(row)[at] is None for row in scan.rows)
    numbers = [(row.id, row.final_score) for row in scan.rows]
    assert numbers == [(row.id, row.final_score) for row in without.rows]


def test_late_has_no_value_where_no_memory_has_tokens() -> None:
    rows = [Given(id=id_of(n), seq=n + 1, session_id="s", sequence=n) for n in range(3)]
    dice = random.Random(8)
    world = World(rows, [memory_of(dice, [])] * 3, [])
    query = query_of(dice, [1, 2])
    scan = scanned(laid_out(dice, world, None), query, ALL)
    assert all(signals(row)[at] == 0.0 for row in scan.rows for at in PLACES.values())


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
    weights = {"bias": -0.25, "late": 0.75, "late_window": -0.5}
    scan = scanned(projection, query_of(dice, [1, 2, 5]), weights, tracerank_power=0.0)
    levels = []
    for row in scan.rows:
        mean, window = (signals(row)[PLACES[n]] for n in ("late", "late_window"))
        assert mean is not None
        assert window is not None
        level = -0.25 + 0.75 * mean - 0.5 * window
        assert row.start_score == pytest.approx(level, abs=1e-12)
        levels.append(row.start_score)
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) > 3
