"""Reports, comparisons and the gate."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from benchmarks import tables
from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.rankings import METRICS
from benchmarks.report import Estimate, EvaluationReport, Row
from benchmarks.rows import COMPARED, compare, gate_breaches, main_profiles
from vestig.evaluation.tables import percent
from vestig.testing import HashingEmbedder


def _report(bench: Bench, **options: Any) -> EvaluationReport:
    return evaluate(
        bench(units(), queries()),
        profiles=["baseline", "default"],
        embedder=HashingEmbedder(),
        **options,
    )


def test_the_text_has_seq_profiles_and_seeds(bench: Bench) -> None:
    report = _report(bench, gate=True)
    text = tables.text(report)
    assert f"seq {report.benchmarks[0].store.seq}" in text
    assert "baseline, default" in text
    assert "derived from query and seq" in text
    assert "0 (2,000 draws for intervals, 5,000 for differences)" in text
    assert report.benchmarks[0].digest in text
    assert "Gate passed" in text
    assert "ranking.base" in tables.text(report)
    seeded = _seeded(report, 7)
    assert re.search(r"seed of walks +7", tables.text(seeded))


def _seeded(report: EvaluationReport, seed: int) -> EvaluationReport:
    (one,) = report.benchmarks
    rows = tuple(msgspec.structs.replace(row, seed=seed) for row in one.rows)
    changed = msgspec.structs.replace(one, rows=rows)
    return msgspec.structs.replace(report, benchmarks=(changed,))


def _row(name: str, mean: float | None, kind: Any = "profile") -> Row:
    estimate = Estimate(mean=mean, low=mean, high=mean)
    return Row(
        name=name,
        kind=kind,
        profile=name,
        overrides={},
        parameters={},
        metrics=dict.fromkeys(METRICS, estimate),
        categories={},
        latency=None,
        settings={},
    )


@pytest.mark.parametrize(
    ("default", "baseline", "breaches"),
    [(0.5, 0.5, 0), (0.6, 0.5, 0), (0.4999, 0.5, 2), (None, 0.5, 2)],
)
def test_the_gate_is_default_not_worse_than_baseline(
    default: float | None, baseline: float, breaches: int
) -> None:
    found = gate_breaches("set", [_row("baseline", baseline), _row("default", default)])
    assert len(found) == breaches
    assert all(fact.startswith("set: ") for fact in found)


def _same(values: list[float]) -> dict[str, list[float]]:
    return dict.fromkeys(METRICS, values)


def test_comparisons_are_paired_by_question_and_category() -> None:
    rows = [_row("bm25", 0, "peer"), _row("baseline", 0), _row("default", 0)]
    scores = {
        "bm25": _same([0.0, 0.0, 1.0]),
        "baseline": _same([0.0, 1.0, 1.0]),
        "default": _same([1.0, 1.0, 0.0]),
    }
    found = list(compare(scores, rows, ["x", "x", "y"]))
    assert {(c.row, c.against) for c in found} == {("default", "bm25"), ("default", "baseline")}
    whole = {(c.against, c.metric): c for c in found if c.category is None}
    assert {metric for _, metric in whole} == set(COMPARED)
    assert whole["bm25", "mrr"].difference.delta == pytest.approx(1 / 3)
    assert whole["baseline", "mrr"].difference.delta == 0.0
    assert whole["baseline", "mrr"].difference.p == 1.0
    parts = {(c.against, c.category): c for c in found if c.category is not None}
    assert parts["bm25", "x"].difference.delta == 1.0
    assert parts["bm25", "x"].difference.p == 0.0002
    assert parts["bm25", "x"].queries == 2
    assert parts["bm25", "y"].difference.delta == -1.0


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("baseline", "reference", "default"), ["default"]),
        (("default", "mine"), ["default", "mine"]),
        (("mine", "baseline"), ["mine"]),
        (("baseline", "reference"), ["reference"]),
        ((), []),
    ],
)
def test_an_evaluation_is_about_default_and_profiles_of_ones_own(
    names: tuple[str, ...], wanted: list[str]
) -> None:
    assert main_profiles([_row("bm25", 0, "peer"), *(_row(name, 0) for name in names)]) == wanted


def test_a_metric_without_questions_is_shown_as_a_dash() -> None:
    assert percent(None) == "–"
    assert percent(-0.0001, "+") == "+0.0"
