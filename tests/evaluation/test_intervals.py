"""The bootstrap against golden numbers."""

from __future__ import annotations

import random

import pytest

from vestig.evaluation import intervals
from vestig.evaluation.intervals import differences, estimates

# numpy's default_rng(0): 2,000 resamples for the interval, 5,000 for the difference.
GOLDEN = {
    "mean": 0.4797297297297297,
    "low": 0.36486486486486486,
    "high": 0.6013513513513513,
    "delta": -0.02027027027027027,
    "delta_low": -0.16216216216216217,
    "delta_high": 0.11486486486486487,
    "p": 0.7972,
}


def _values(seed: int, size: int) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.randrange(5) / 4 for _ in range(size)]


def test_intervals_and_p_are_the_golden_ones() -> None:
    ours, theirs = _values(1, 37), _values(2, 37)
    whole = estimates({"recall@5": ours})["recall@5"]
    assert whole.mean == pytest.approx(GOLDEN["mean"], abs=1e-12)
    assert whole.low == pytest.approx(GOLDEN["low"], abs=1e-12)
    assert whole.high == pytest.approx(GOLDEN["high"], abs=1e-12)
    change = differences({"recall@5": ours}, {"recall@5": theirs})["recall@5"]
    assert change.delta == pytest.approx(GOLDEN["delta"], abs=1e-12)
    assert change.low == pytest.approx(GOLDEN["delta_low"], abs=1e-12)
    assert change.high == pytest.approx(GOLDEN["delta_high"], abs=1e-12)
    assert change.p == pytest.approx(GOLDEN["p"], abs=1e-12)


def test_a_metric_over_no_questions_is_null() -> None:
    found = estimates({"mrr": [], "hit@1": []})
    assert {name: (e.mean, e.low, e.high) for name, e in found.items()} == dict.fromkeys(
        ("mrr", "hit@1"), (None, None, None)
    )
    change = differences({"mrr": []}, {"mrr": []})["mrr"]
    assert (change.delta, change.low, change.high, change.p) == (None, None, None, None)


def test_resamples_drawn_in_blocks_are_those_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, others = {"mrr": _values(3, 41)}, {"mrr": _values(4, 41)}
    whole = estimates(values), differences(values, others)
    monkeypatch.setattr(intervals, "_BLOCK", 41 * 7)
    assert (estimates(values), differences(values, others)) == whole
