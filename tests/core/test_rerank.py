"""What a cross-encoder says is a term of the core's sum like any other."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from rows import HEAD, STORE, Given, everything, id_of, ranking, vector

from vestig import _core

RERANK = _core.SIGNALS.index("rerank")
WEIGHTS = [{"bias": -1.0, "cosine": 2.0, "rerank": 1.5}, {"cosine": 1.0, "rerank": -0.5}] * 2


def rows(dice: random.Random, count: int) -> list[Given]:
    return [
        Given(
            id=id_of(number),
            seq=number + 1,
            content="a river at night",
            origin=dice.randrange(4),
            status=int(dice.random() < 0.2),
            embedding=vector(*(dice.uniform(-1, 1) for _ in range(4))),
        )
        for number in range(count)
    ]


def projected(dice: random.Random, given: list[Given], path: Path | None) -> _core.Projection:
    """In several segments, and a tail."""
    projection = _core.Projection.open(None if path is None else str(path), STORE, 4, "t")
    cuts = sorted(dice.sample(range(1, len(given)), k=3))
    for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True):
        projection.apply([row.row() for row in given[start:end]], end, HEAD)
        if path is not None and end != len(given):
            projection.publish()
    return projection


def reranked(projection: Any, given: list[Given], said: Any, weights: Any = WEIGHTS) -> Any:
    query = _core.Query(vector=vector(1, 0.5, 0, -1), text="river", reranked=said)
    ids = b"".join(row.id for row in given)
    made = ranking(weights=weights, tracerank_power=0.0, limit=5, watch=ids)
    scan = projection.recall(projection.applied_seq, query, everything(), made)
    return scan, {row.id: row for row in (*scan.rows, *scan.watched)}


@pytest.mark.parametrize("seed", range(8))
def test_scores_over_their_largest_are_added(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    given = rows(dice, dice.choice([12, 60, 3_000]))
    projection = projected(dice, given, tmp_path if seed % 2 else None)
    eligible = [row for row in given if row.status == 0]
    said = {row.id: dice.random() for row in dice.sample(eligible, k=5)}
    # nobody knows the first, and the second may not be found
    hidden = next((row.id for row in given if row.status), id_of(800_000))
    others = [(id_of(900_000), 5.0), (hidden, 7.0)]
    scan, found = reranked(projection, given, [*others, *said.items()])
    without = reranked(projection, given, None)[1]
    most = max(said.values())
    assert scan.maxima[RERANK] == pytest.approx(most, abs=1e-12)
    assert set(found) == {row.id for row in eligible}
    for row in eligible:
        raw = said.get(row.id, 0.0)
        value = found[row.id].signals[RERANK]
        assert value == pytest.approx((raw, raw / most), abs=1e-12)
        weight = WEIGHTS[row.origin]["rerank"]
        wanted = without[row.id].start_score + weight * raw / most
        assert found[row.id].start_score == pytest.approx(wanted, abs=1e-9)
    best = sorted((one.start_score for one in found.values()), reverse=True)[:5]
    assert [row.start_score for row in scan.rows] == pytest.approx(best, abs=1e-12)


def test_is_null_without_scores_or_without_weight() -> None:
    dice = random.Random(1)
    given = rows(dice, 10)
    projection = projected(dice, given, None)
    unweighed = [{"cosine": 1.0}] * 4
    for said, weights in ((None, WEIGHTS), ([(given[0].id, 1.0)], unweighed)):
        scan, found = reranked(projection, given, said, weights)
        assert scan.maxima[RERANK] is None
        assert {row.signals[RERANK] for row in found.values()} == {(None, None)}


def test_nothing_above_0_is_nothing() -> None:
    dice = random.Random(2)
    given = rows(dice, 10)
    projection = projected(dice, given, None)
    scan, found = reranked(projection, given, [(row.id, 0.0) for row in given])
    assert scan.maxima[RERANK] == 0.0
    assert {row.signals[RERANK] for row in found.values()} == {(0.0, 0.0)}
