"""The confidence of populations, and how reports show it."""

from __future__ import annotations

import re

import msgspec
import pytest

from benchmarks import tables
from benchmarks.confidence import calibrations
from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.report import EvaluationReport, ScoreFigures
from vestig.testing import HashingEmbedder

ANSWERABLE = [0.95, 0.65]
FOREIGN = [0.05]
REMOVED = [0.65, 0.15]


def test_auroc_counts_ties_half() -> None:
    found = calibrations(ANSWERABLE, {"foreign": FOREIGN, "removed": REMOVED})
    assert list(found) == ["foreign", "removed", "mixture"]
    assert found["foreign"].auroc == 1.0
    # pairs: .95 above both, .65 above one and equal to the other
    assert found["removed"].auroc == pytest.approx(3.5 / 4)
    assert found["mixture"].auroc == pytest.approx((1.0 + 0.875) / 2)
    assert [one.questions for one in found.values()] == [3, 4, 5]


def test_populations_without_questions_are_left_out() -> None:
    found = calibrations(ANSWERABLE, {"foreign": [], "removed": REMOVED})
    assert list(found) == ["removed", "mixture"]
    assert found["mixture"] == found["removed"]
    assert calibrations([], {"removed": REMOVED}) == {}
    assert calibrations(ANSWERABLE, {"removed": []}) == {}


SCORES = ScoreFigures(results=50, calibration_error=0.0123, right_first=0.5, unanswered_first=None)


def _with_confidence(bench: Bench) -> EvaluationReport:
    report = evaluate(
        bench(units(), queries()), profiles=["baseline", "default"], embedder=HashingEmbedder()
    )
    one = report.benchmarks[0]
    found = calibrations(ANSWERABLE, {"foreign": FOREIGN, "removed": REMOVED})
    rows = tuple(
        msgspec.structs.replace(row, confidence=found, score=SCORES)
        if row.name == "default"
        else row
        for row in one.rows
    )
    changed = msgspec.structs.replace(one, rows=rows)
    return msgspec.structs.replace(report, benchmarks=(changed,))


def test_reports_show_confidence_by_population(bench: Bench) -> None:
    report = _with_confidence(bench)
    shown = tables.text(report)
    assert re.search(
        r"default: mixture +5 +0\.938 +0\.050 +0\.012 +0\.0 +0\.0 +20\.0 +33\.3 +50\.0", shown
    )
    plain = report.to_dict()["benchmarks"][0]["rows"]
    by_name = {row["name"]: row for row in plain}
    assert by_name["default"]["confidence"]["mixture"]["auroc"] == pytest.approx(0.9375)
    assert by_name["default"]["score"] == {
        "results": 50,
        "calibration_error": 0.0123,
        "right_first": 0.5,
        "unanswered_first": None,
    }
    assert by_name["baseline"].keys().isdisjoint({"confidence", "score"})


def test_reports_without_confidence_have_no_such_table(bench: Bench) -> None:
    report = evaluate(bench(units(), queries()), profiles=["baseline"], embedder=HashingEmbedder())
    assert "AUROC" not in tables.text(report)
