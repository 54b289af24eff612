"""Origin evidence puts the rows of several origins on one scale, from exact numbers of each."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rows import NOW, drawn_rows, everything, in_several_segments, ranking, recall, signals, vector
from whole import NEUTRAL
from worlds import evidence

from vestig import _core

WORDS = ("river", "night", "boat", "lamp", "harbour", "copper", "kettle", "garden")
WEIGHTS = [
    {"bias": -1.0, "cosine": 2.0, "lexical": 1.5, "rerank": 1.0},
    {"cosine": 1.0, "lexical": -0.5, "form.length": 0.3},
    {"bias": 2.0, "cosine": 3.0, "form.length": -1.0, "rerank": 0.5},
    {"bias": -0.5, "cosine": -0.4, "lexical": 2.0},
]
BEST = 5


def told(
    projection: Any, given: Any, said: Any = None, only: int | None = None, **settings: Any
) -> Any:
    """The ten best and every row, all with their numbers; `only`: of this origin."""
    query = _core.Query(
        query_time_us=NOW, vector=vector(1, 0.5, 0, -1), text="river boat", rerank_scores=said
    )
    ids = b"".join(row.id for row in given)
    made = {"weights": WEIGHTS, "tracerank_power": 0.0, "pool": 10, "limit": 10, **settings}
    eligible = everything() if only is None else everything(origin_types=[only])
    ask = (projection, projection.applied_seq, query, eligible)
    # without watched rows bounds decide which rows are scored
    return recall(*ask, ranking(**made)), recall(*ask, ranking(**made, watch=ids))


def level(row: _core.Row) -> float:
    """L of the origin, from the row's terms."""
    own = WEIGHTS[row.origin]
    shares = dict(zip(_core.SIGNALS, (share for _, share in signals(row)), strict=True))
    terms = (w * (shares[name] or 0.0) for name, w in own.items() if name not in ("bias", "rerank"))
    return math.fsum([own.get("bias", 0.0), *terms])


def raw(row: _core.Row, name: str) -> float:
    return signals(row)[_core.SIGNALS.index(name)][0] or 0.0


def expected(rows: list[_core.Row], together: list[_core.Row], weights: Any) -> dict[bytes, float]:
    """L of every row by the formula; `together`: as all are scored by the same statistics."""
    found = {}
    most = {name: max(raw(row, name) for row in together) for name in ("cosine", "lexical")}
    for origin in {row.origin for row in rows}:
        own = [row for row in rows if row.origin == origin]
        best = sorted(map(level, own), reverse=True)[:BEST]
        of = {
            name: max(raw(row, name) for row in together if row.origin == origin) / most[name]
            for name in most
        }
        scale, constant, *factors = weights[origin]
        values = (of["cosine"], of["lexical"], best[0], sum(best) / len(best))
        total = constant + sum(f * v for f, v in zip(factors, values, strict=True))
        assert own[0].evidence == pytest.approx((scale, total, *values), abs=1e-9)
        for row in own:
            share = signals(row)[_core.SIGNALS.index("rerank")][1] or 0.0
            rerank = WEIGHTS[origin].get("rerank", 0.0) * share
            found[row.id] = scale * level(row) + total + rerank
    return found


@pytest.mark.parametrize("seed", range(8))
def test_of_every_row_as_defined_and_the_best_of_all(seed: int, tmp_path: Path) -> None:
    """Small stores, and those in which 8-bit bounds leave most rows out."""
    dice = random.Random(seed)
    size = dice.choice([9, 60, 3_000])
    given = drawn_rows(dice, size, lambda: " ".join(dice.choices(WORDS, k=dice.randrange(1, 6))))
    projection = in_several_segments(dice, given, tmp_path if seed % 2 else None)
    eligible = [row.id for row in given if row.status == 0]
    said = {id: dice.random() for id in dice.sample(eligible, k=3)} if seed % 3 else {}
    weights = [(dice.choice([0.4, 1.6]), *evidence(dice)[1:]) for _ in range(4)]
    scan, whole = told(projection, given, evidence=weights, said=[*said.items()] or None)
    rows = [*whole.rows, *whole.watched]
    assert len(rows) == len(eligible)
    together = told(projection, given)[1]
    wanted = expected(rows, [*together.rows, *together.watched], weights)
    for row in rows:
        assert row.start_score == pytest.approx(wanted[row.id], abs=1e-9)
        assert row.level == pytest.approx(level(row), abs=1e-9)
    best = sorted(rows, key=lambda row: (-row.start_score, -row.similarity, row.id))[:10]
    assert [row.id for row in scan.rows] == [row.id for row in best]
    assert [row.start_score for row in scan.rows] == [row.start_score for row in best]


@pytest.mark.parametrize("seed", range(6))
def test_an_origin_is_scored_as_if_it_alone_were_eligible(seed: int, tmp_path: Path) -> None:
    """To the bit, whatever other memories say."""
    dice = random.Random(seed)
    size = dice.choice([40, 3_000])
    given = drawn_rows(dice, size, lambda: " ".join(dice.choices(WORDS, k=dice.randrange(1, 6))))
    if seed % 2:  # each origin in a stretch of its own, as an import leaves it
        given = [replace(row, origin=4 * at // size) for at, row in enumerate(given)]
    projection = in_several_segments(dice, given, tmp_path)
    weights = [(1.6, *evidence(dice)[1:]) for _ in range(4)]
    scan, whole = told(projection, given, evidence=weights)
    for origin in range(4):
        alone = told(projection, given, only=origin, evidence=weights)[1]
        levels = {row.id: row.start_score for row in [*alone.rows, *alone.watched]}
        own = [row for row in [*whole.rows, *whole.watched] if row.origin == origin]
        assert {row.id: row.level for row in own} == levels
        assert scan.scorings[origin].maxima == alone.scorings[origin].maxima
        assert scan.scorings[origin].idfs == alone.idfs
        assert [signals(row) for row in sorted(own, key=lambda row: row.id)] == [
            signals(row) for row in sorted([*alone.rows, *alone.watched], key=lambda row: row.id)
        ]


def test_nothing_is_computed_for_one_origin_or_without_weights(tmp_path: Path) -> None:
    dice = random.Random(3)
    given = drawn_rows(dice, 60, lambda: "a river at night")
    weights = [(2.0, 1.0, 1.0, 1.0, 1.0, 1.0)] * 4
    projection = in_several_segments(dice, given, tmp_path)
    plain = told(projection, given)[1]
    neutral = told(projection, given, evidence=[NEUTRAL] * 4)[1]
    for scan in (plain, neutral):
        assert all(row.level is None and row.evidence is None for row in scan.rows)
    assert [r.start_score for r in plain.rows] == [r.start_score for r in neutral.rows]
    alone = [row for row in given if row.origin == 2]
    single = in_several_segments(dice, alone, None)
    assert [row.start_score for row in told(single, alone, evidence=weights)[1].rows] == [
        row.start_score for row in told(single, alone)[1].rows
    ]


@pytest.mark.parametrize("given", [(0.0, 0, 0, 0, 0, 0), (1.0, 0, 0, 0, 0, math.nan)])
def test_a_scale_is_above_0_and_weights_are_numbers(given: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="scale above 0"):
        ranking(evidence=[given] * 4)
