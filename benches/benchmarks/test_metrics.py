"""Metrics by hand, and against another implementation."""

from __future__ import annotations

import math
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.labelled_life import module_of
from benchmarks.rankings import CUTS, DEPTH, METRICS, score, score_by_cut
from vestig.evaluation.intervals import differences, estimates

RANKED = ["x", "a", "y", "b", "z"]
RELEVANT = frozenset("abc")


def test_metrics_by_hand() -> None:
    found = score(RANKED, RELEVANT)
    assert found["recall@1"] == found["hit@1"] == found["precision@1"] == found["ndcg@1"] == 0
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert found["precision@5"] == pytest.approx(2 / 5)
    assert found["precision@10"] == pytest.approx(2 / 10)
    assert (found["hit@5"], found["all@5"], found["mrr"]) == (1.0, 0.0, 0.5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["ndcg@5"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert score(["a", "b", "c"], RELEVANT)["all@5"] == 1.0
    assert score(["a"], RELEVANT)["ndcg@1"] == 1.0
    assert set(score([], RELEVANT).values()) == {0.0}
    assert tuple(found) == METRICS


def test_each_cut_has_the_ranking_of_a_recall_with_that_limit() -> None:
    rankings = {cut: ["x"] for cut in CUTS}
    rankings[1] = ["a"]
    found = score_by_cut(rankings, RELEVANT)
    assert found["recall@1"] == pytest.approx(1 / 3)
    assert found["recall@5"] == found["mrr"] == 0.0
    assert score_by_cut({**rankings, DEPTH: ["x", "y", "c"]}, RELEVANT)["mrr"] == 1 / 3


def _harness(labelled_data: Path) -> ModuleType:
    file = labelled_data.parent / "eval" / "harness.py"
    if not file.is_file():
        pytest.skip("no harness beside the labelled data")
    return module_of(file)


def test_metrics_intervals_and_p_agree_with_the_harness(labelled_data: Path) -> None:
    harness = _harness(labelled_data)
    drawn = random.Random(5)
    units = [f"u{n}" for n in range(300)]
    sessions = dict.fromkeys(units, "S1")
    rows: dict[str, list[dict[str, Any]]] = {"one": [], "other": []}
    own: dict[str, dict[str, list[float]]] = {
        name: {metric: [] for metric in METRICS} for name in rows
    }
    for number in range(150):
        relevant = drawn.sample(units, drawn.randint(1, 14))
        for name, scored in rows.items():
            ranked = drawn.sample(units, DEPTH)
            theirs = harness.score(ranked, {"relevant": relevant}, sessions)
            ours = score(ranked, frozenset(relevant))
            for cut in CUTS:
                for family, label in (("recall", "R"), ("hit", "H"), ("all", "A")):
                    assert abs(ours[f"{family}@{cut}"] - theirs[f"{label}@{cut}"]) < 1e-9
            assert abs(ours["mrr"] - theirs["MRR"]) < 1e-9
            assert abs(ours["ndcg@10"] - theirs["NDCG@10"]) < 1e-9
            scored.append({"id": number, **theirs})
            for metric, value in ours.items():
                own[name][metric].append(value)
    for metric, label in (("recall@10", "R@10"), ("mrr", "MRR"), ("ndcg@10", "NDCG@10")):
        found = estimates(own["one"])[metric]
        wanted = harness.ci([row[label] for row in rows["one"]])
        assert (found.mean, found.low, found.high) == pytest.approx(wanted, abs=1e-9)
        change = differences(own["one"], own["other"])[metric]
        wanted = harness.paired(rows["other"], rows["one"], label)
        numbers = (change.delta, change.low, change.high, change.p)
        assert numbers == pytest.approx(wanted, abs=1e-9)
