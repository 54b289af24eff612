"""Fitting confidence, score and the common scale of origins, on examples made by dice."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from confidence_examples import Example
from learn_confidence import Results, cross_fitted, fitted, menus, settings_of, shares
from logistic import fit_logistic, logistic
from mixing import CUT, found
from vestig.config.weights import OriginWeights, WeightsFile
from vestig.evaluation.benchmarks import SHIPPED, read_benchmark
from vestig.recall.confidence import (
    BASIC_FEATURES,
    BIAS,
    KINDS,
    OWN_FEATURES,
    SEVERAL,
    Features,
    probability,
)

FROM_DICE = {"chat_peer": ("most.context.vector", "most.late.w1_idf"), SEVERAL: OWN_FEATURES}


def asked(count: int = 150, seed: int = 0) -> list[Example]:
    """`cosine` tells what is foreign, `margin` what is removed; chats have more signals. Of the
    results, the first answers more often than the others."""
    dice = np.random.default_rng(seed)
    made = []
    for number in range(count):
        for kind in ("chat_peer", "note", SEVERAL):
            for population in ("answerable", "foreign", "removed"):
                numbers = {name: float(dice.normal()) for name in BASIC_FEATURES}
                numbers["cosine"] -= 4.0 * (population == "foreign")
                numbers["margin"] -= 1.5 * (population == "removed")
                numbers |= {name: float(dice.normal()) for name in FROM_DICE.get(kind, ())}
                finals = sorted(dice.lognormal(-4, 1, 10).tolist(), reverse=True)
                chances = np.array(finals) / sum(finals)
                relevant = (dice.random(10) < chances) & (population == "answerable")
                made.append(
                    Example(kind, population, number % 5, kind, numbers, finals, relevant.tolist())
                )
    return made


def test_newton_finds_the_minimum() -> None:
    dice = np.random.default_rng(1)
    x = dice.normal(size=(4_000, 2)) * (1.0, 10.0)
    y = (dice.random(4_000) < logistic(0.5 + x @ [1.0, -0.1])).astype(float)
    weight = dice.random(4_000)
    weights, constant = fit_logistic(x, y, weight, 0.0)
    assert [*weights, constant] == pytest.approx([1.0, -0.1, 0.5], abs=0.15)
    # without a penalty, what is expected is what is there
    wrong = weight * (logistic(constant + x @ weights) - y)
    assert np.abs(wrong @ x).max() < 1e-4
    assert abs(wrong.sum()) < 1e-5
    smaller, _ = fit_logistic(x, y, weight, 0.1)
    assert (np.abs(smaller) < np.abs(weights)).all()


def test_a_column_that_does_not_vary_weighs_nothing() -> None:
    x = np.column_stack([np.arange(10.0), np.ones(10)])
    weights, constant = fit_logistic(x, (np.arange(10) % 3 == 0).astype(float), np.ones(10), 0.01)
    assert abs(weights[1]) < 1e-6
    assert math.isfinite(constant)


def test_one_fit_knows_both_populations_and_is_calibrated() -> None:
    made = fitted(asked(), [])
    for one in made.figures.values():
        assert one["auroc"]["foreign"] > 0.95
        assert one["auroc"]["removed"] > 0.75
        assert one["calibration_error"] < 0.08
        assert one["score"]["calibration_error"] < 0.03
        kept = [passed["kept"] for passed in one["thresholds"].values()]
        assert kept == sorted(kept, reverse=True)


def test_menus_hold_what_every_store_of_a_kind_has() -> None:
    examples = [one for one in asked(10) if one.kind == "chat_peer"]
    full = (*BASIC_FEATURES, "most.context.vector", "most.late.w1_idf")
    assert menus(examples, "chat_peer") == [full, full[:-1], BASIC_FEATURES]
    several = [one for one in asked(10) if one.kind == SEVERAL]
    assert menus(several, SEVERAL) == [(*BASIC_FEATURES, *OWN_FEATURES)]


def test_written_tables_tell_what_was_fitted() -> None:
    examples = asked()
    made = fitted(examples, [])
    assert set(made.tables) == set(KINDS)
    assert len(made.tables["chat_peer"]) == 3
    assert [set(one.belongs) for one in made.tables["note"]] == [{BIAS, *BASIC_FEATURES}]
    unseen = cross_fitted(examples, shares(examples))
    seen = [probability(Features(kind=one.kind, values=one.numbers), made) for one in examples]
    assert np.abs(unseen - seen).mean() < 0.05
    assert np.abs(unseen - seen).max() > 0, "judged by weights that have not seen it"


def test_the_score_is_fitted_to_shares_of_the_best() -> None:
    examples = asked(400)
    share = shares(examples)
    results = Results(examples, share, cross_fitted(examples, share))
    by_kind = results.fit()
    assert by_kind.keys() == {"chat_peer", "note", SEVERAL}
    for line in by_kind.values():
        # a result answers by its share, as the dice say; odds grow a little faster
        assert line.b == pytest.approx((1.15, 1.15), abs=0.25)
        assert line.c > 0
    halves = [results.fit(results.owner % 2 == half) for half in (0, 1)]
    assert halves[0] != halves[1]


def test_a_larger_share_never_lowers_a_score() -> None:
    worst_first = [replace(one, relevant=one.relevant[::-1]) for one in asked(60)]
    share = shares(worst_first)
    results = Results(worst_first, share, cross_fitted(worst_first, share))
    for line in results.fit().values():
        assert line.b == (0.0, 0.0)
        assert math.isfinite(line.a)
        assert line.c > 0


def test_the_same_examples_give_the_same_fit() -> None:
    benchmark = read_benchmark(SHIPPED)
    made = fitted(asked(30), [benchmark])
    assert made == fitted(asked(30), [benchmark])
    assert made.data == {"shipped": benchmark.digest}


def test_distinct_units_count_up_to_the_cut() -> None:
    ranked = [frozenset({("c", f"u{row // 2}")}) for row in range(40)]
    assert CUT == 10
    assert found(ranked, frozenset({("c", "u9"), ("c", "u10")})) == 0.5
    assert found(ranked[::-1], frozenset({("c", "u19")})) == 1.0


def test_weights_of_a_file_stand_in_for_those_built_in(tmp_path: Path) -> None:
    weights = OriginWeights(
        chat_peer={"bias": -3.0},
        chat_agent={"bias": -2.0},
        document={"date": 2.0},
        note={"date": 2.0},
    )
    file = tmp_path / "learned.json"
    file.write_text(WeightsFile(origins=weights).text(), encoding="utf-8")
    found = settings_of(file)
    assert found["ranking.weights.chat_peer.bias"] == -3.0
    assert found["ranking.weights.chat_peer.late.w1_idf"] == 0.0, "what is not named"
    assert found["ranking.weights.document.date"] == 2.0
    assert found["ranking.weights.document.evidence.scale"] == 1.0, "what counts nothing"
    assert settings_of(None) == {}
