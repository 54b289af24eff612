"""One fit for all origins, on questions made by dice (Q-03, Q-06)."""

from __future__ import annotations

import numpy as np
import pytest

from learn_together import COLUMNS, WIDTH, Listed, as_settings, figures, fit

pytest.importorskip("scipy", reason="make learn-together needs the extra `learn`")


def questions(count: int = 60) -> list[Listed]:
    """Ten candidates of each of two origins; the one with the most cosine is relevant, and those
    of the second origin have more of it without being better."""
    dice = np.random.default_rng(3)
    cosine = {group: COLUMNS.index((group, "cosine")) for group in (0, 1)}
    found = []
    for number in range(count):
        design = np.zeros((20, WIDTH))
        value = dice.random(20)
        for row in range(20):
            group = row % 2
            design[row, cosine[group]] = value[row] * 0.5 + 0.5 * group
            design[row, len(COLUMNS) + group] = 1
        units = [(f"{number}/{row}",) for row in range(20)]
        relevant = frozenset(units[int(value.argmax())])
        found.append(Listed("dice", number % 5, design, units, relevant))
    return found


def test_q03_one_fit_brings_origins_to_one_scale() -> None:
    asked = questions()
    folds = [fit([one for one in asked if one.fold != fold], {}) for fold in range(5)]
    assert figures(asked, folds)["dice"]["recall@5"] == 100.0
    made = as_settings(fit(asked, {}))
    assert made["chat_peer"]["bias"] > made["chat_agent"]["bias"]
    assert made["chat_peer"]["cosine"] > 0
    assert made["chat_peer"]["lexical"] == 0


def test_q06_the_same_questions_give_the_same_weights() -> None:
    first, second = (as_settings(fit(questions(), {"dice": 2.0})) for _ in range(2))
    assert first == second
