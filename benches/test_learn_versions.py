"""Weights of versions, on pairs made by dice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from learn_versions import Example, chances, figures, fitted, least_of
from vestig.recall.versions import FIT, fit
from vestig.store.projection.scan_objects import VERSION_SIGNALS

RIGHT, OUTDATED = [False, True, False, False], [True, False, True, False]


def example(rng: np.random.Generator, **changes: Any) -> Example:
    """A question whose second result has replaced the first and the third; only the first signal
    tells it."""
    pairs = {
        (older, newer): [
            1.0 if (older, newer) == (0, 1) else 0.0,
            *rng.normal(size=len(VERSION_SIGNALS) - 1),
        ]
        for older, newer in ((0, 1), (0, 3), (1, 3), (2, 3))
    }
    made: dict[str, Any] = {
        "set": "dice",
        "fold": 0,
        "right": RIGHT,
        "outdated": OUTDATED,
        "later": frozenset(pairs),
        "pairs": pairs,
        "few": {(0, 1): pairs[0, 1]},
    }
    return Example(**(made | changes))


def test_the_fit_finds_the_signal_that_tells() -> None:
    rng = np.random.default_rng(3)
    found = [example(rng) for _ in range(60)]
    weights = fitted(found)
    assert int(np.argmax(np.abs(weights[0]))) == 0
    known = [chances(one, weights) for one in found]
    assert figures(found, known, math.inf) == {"hit@1": 0.0, "newest first": 0.0}
    assert figures(found, known, 0.5) == {"hit@1": 100.0, "newest first": 100.0}


@pytest.mark.parametrize(
    ("sure", "order"),
    [
        ({}, [0, 1, 2, 3]),
        ({(0, 1): 0.9}, [1, 0, 2, 3]),
        ({(0, 1): 0.9, (0, 3): 0.9}, [3, 1, 2, 0]),
        ({(2, 3): 0.9}, [0, 1, 3, 2]),
        ({(0, 1): 0.4}, [0, 1, 2, 3]),
    ],
)
def test_the_newest_of_a_group_takes_its_best_place(
    sure: dict[tuple[int, int], float], order: list[int]
) -> None:
    assert example(np.random.default_rng(0)).order(sure, 0.5) == order


def test_a_pair_counts_by_what_it_changes() -> None:
    one = example(np.random.default_rng(0))
    assert one.label((0, 1)) == (1.0, 1.0)
    assert one.label((1, 3)) == (0.0, 1.0)
    assert one.label((0, 3))[0] == 0.0
    assert one.label((0, 3))[1] < 1.0


def test_the_least_probability_loses_little_of_every_set() -> None:
    def shown(one: float, other: float) -> dict[str, dict[str, float]]:
        return {"one": {"hit@1": one}, "other": {"hit@1": other}}

    tried = {math.inf: shown(50, 50), 0.2: shown(60, 49.4), 0.3: shown(55, 49.5)}
    assert least_of(tried) == 0.3
    del tried[0.3]
    with pytest.raises(SystemExit, match="every least probability"):
        least_of(tried)


def test_the_shipped_weights_are_of_the_signals_of_the_core() -> None:
    assert set(fit().weights) == set(VERSION_SIGNALS)
    assert fit().weights["reads"] > 0
    assert fit().weights["answers"] > 0
    assert FIT.is_file()
