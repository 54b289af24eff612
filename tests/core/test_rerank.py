"""What a cross-encoder says is a term of the core's sum like any other."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from rows import (
    NOW,
    Given,
    drawn_rows,
    everything,
    id_of,
    in_several_segments,
    ranking,
    recall,
    signals,
    vector,
)

from tables import each
from vestig import _core

RERANK = _core.SIGNALS.index("rerank")
WEIGHTS = {"bias": -1.0, "topic": 2.0, "rerank": 1.5}


def told(projection: Any, given: list[Given], said: Any, weights: Any = WEIGHTS) -> Any:
    query = _core.Query(
        query_time_us=NOW, vector=vector(1, 0.5, 0, -1), text="river", rerank_scores=said
    )
    ids = b"".join(row.id for row in given)
    made = ranking(weights=weights, tracerank_power=0.0, limit=5, watch=ids)
    scan = recall(projection, projection.applied_seq, query, everything(), made)
    return scan, {row.id: row for row in (*scan.rows, *scan.watched)}


@each("seed", range(8))
def test_scores_over_their_largest_are_added(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    given = drawn_rows(dice, dice.choice([12, 60, 3_000]), lambda: "a river at night")
    projection = in_several_segments(dice, given, tmp_path if seed % 2 else None)
    eligible = [row for row in given if row.status == 0]
    said = {row.id: dice.random() for row in dice.sample(eligible, k=5)}
    # nobody knows the first, and the second may not be found
    hidden = next((row.id for row in given if row.status), id_of(800_000))
    others = [(id_of(900_000), 5.0), (hidden, 7.0)]
    scan, found = told(projection, given, [*others, *said.items()])
    without = told(projection, given, None)[1]
    most = max(said.values())
    assert set(found) == {row.id for row in eligible}
    for row in eligible:
        share = said.get(row.id, 0.0) / most
        assert signals(found[row.id])[RERANK] == pytest.approx(share, abs=1e-12)
        wanted = without[row.id].start_score + WEIGHTS["rerank"] * share
        assert found[row.id].start_score == pytest.approx(wanted, abs=1e-9)
    best = sorted((one.start_score for one in found.values()), reverse=True)[:5]
    assert [row.start_score for row in scan.rows] == pytest.approx(best, abs=1e-12)


def test_is_null_without_scores_or_without_weight() -> None:
    dice = random.Random(1)
    given = drawn_rows(dice, 10, lambda: "a river at night")
    projection = in_several_segments(dice, given, None)
    unweighed = {"topic": 1.0}
    for said, weights in ((None, WEIGHTS), ([(given[0].id, 1.0)], unweighed)):
        _, found = told(projection, given, said, weights)
        assert {signals(row)[RERANK] for row in found.values()} == {None}


def test_nothing_above_0_is_nothing() -> None:
    dice = random.Random(2)
    given = drawn_rows(dice, 10, lambda: "a river at night")
    projection = in_several_segments(dice, given, None)
    _, found = told(projection, given, [(row.id, 0.0) for row in given])
    assert {signals(row)[RERANK] for row in found.values()} == {0.0}
