"""Confidence against truth: figures computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vestig.evaluation.calibration import calibration, calibration_error

ANSWERABLE = [0.95, 0.65]
FOREIGN = [0.05]
REMOVED = [0.65, 0.15]


def test_calibration_error_weighs_both_classes_half() -> None:
    found = calibration(ANSWERABLE, [FOREIGN, REMOVED])
    # weights: .25 and .25, .25 of the foreign one, .125 of each removed one
    # bin .9: .25·|.95 − 1|; bin .6: .375·|.65 − .25/.375|; bin .1: .125·.15; bin 0: .25·.05
    assert found.calibration_error == pytest.approx(0.0125 + 0.00625 + 0.01875 + 0.0125)
    shares = [one.share for one in found.bins]
    assert shares == pytest.approx([0.25, 0.125, 0, 0, 0, 0, 0.375, 0, 0, 0.25])
    middle = found.bins[6]
    assert (middle.low, middle.high) == (0.6, 0.7)
    assert middle.confidence == pytest.approx(0.65)
    assert middle.answerable == pytest.approx(2 / 3)
    assert found.bins[2].confidence is None
    assert found.bins[2].answerable is None


def test_the_curve_gives_the_risk_at_each_coverage() -> None:
    curve = calibration(ANSWERABLE, [FOREIGN, REMOVED]).curve
    assert [at.threshold for at in curve] == [0.95, 0.65, 0.15, 0.05]
    assert [at.coverage for at in curve] == pytest.approx([0.25, 0.625, 0.75, 1.0])
    assert [at.risk for at in curve] == pytest.approx([0, 0.2, 1 / 3, 0.5])


def test_more_questions_of_a_population_weigh_no_more() -> None:
    once = calibration(ANSWERABLE, [FOREIGN, REMOVED])
    often = calibration(ANSWERABLE * 3, [FOREIGN * 7, REMOVED * 2])
    assert often.auroc == pytest.approx(once.auroc)
    assert often.calibration_error == pytest.approx(once.calibration_error)
    assert [at.risk for at in often.curve] == pytest.approx([at.risk for at in once.curve])


def test_confidence_without_knowledge_has_auroc_one_half() -> None:
    found = calibration([0.5, 0.5], [[0.5, 0.5, 0.5]])
    assert found.auroc == 0.5
    assert found.calibration_error == pytest.approx(0, abs=1e-12)
    (only,) = found.curve
    assert (only.threshold, only.coverage, only.risk) == pytest.approx((0.5, 1.0, 0.5))


def test_ends_of_the_scale_have_bins() -> None:
    found = calibration([1.0], [[0.0]])
    assert (found.bins[0].share, found.bins[9].share) == (0.5, 0.5)
    assert found.calibration_error == 0.0


def test_a_calibration_error_is_of_weights_of_any_sum() -> None:
    values, truth = np.array([0.9, 0.95, 0.1, 0.2]), np.array([1.0, 0.0, 0.0, 0.0])
    weights = np.array([1.0, 1.0, 2.0, 0.0])
    expected = 0.5 * (0.925 - 0.5) + 0.5 * 0.1
    assert calibration_error(values, truth, weights) == pytest.approx(expected)
    assert calibration_error(values, truth, 7 * weights) == pytest.approx(expected)
