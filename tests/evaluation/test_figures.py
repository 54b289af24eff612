"""Figures of retrievals, by hand."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from vestig.evaluation.replay import (
    CUTS,
    Retrieval,
    expected_label,
    figures,
    retrieval_scores,
)


def one(**changes: Any) -> Retrieval:
    fields: dict[str, Any] = {
        "ranked": (frozenset("x"), frozenset("a")),
        "relevant": frozenset("ab"),
        "expected": "medium",
        "got": "high",
        "score": 0.8,
        "iterations": 2,
        "stop_reason": "max_facts",
        "first_queries": 7,
        "queries": 15,
        "milliseconds": 10.0,
    }
    return Retrieval(**{**fields, **changes})


def test_recall_and_gain_count_each_label_where_it_first_stands() -> None:
    ranked = [set("x"), set("ab"), set("a"), *[set() for _ in range(4)], set("c")]
    scores = retrieval_scores(ranked, "abc")
    assert CUTS == (5, 10, 30)
    assert scores["recall@5"] == pytest.approx(2 / 3)
    assert scores["recall@10"] == scores["recall@30"] == 1
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert scores["ndcg@5"] == pytest.approx(1 / log2(3) / ideal)
    assert scores["ndcg@10"] == pytest.approx((1 / log2(3) + 1 / log2(9)) / ideal)
    assert retrieval_scores([], "a") == dict.fromkeys(scores, 0.0)


def test_expected_labels() -> None:
    late = [*[set() for _ in range(10)], set("a")]
    assert expected_label([set("a"), set("b")], "ab") == "high"
    assert expected_label([set("a")], "ab") == "medium"
    assert expected_label(late, "a") == "low"
    assert expected_label([set("a")], "") == "low"
    assert expected_label([], "a") == "low"


def test_figures_are_means_and_counts() -> None:
    foreign = one(relevant=frozenset(), expected="low", got="low", score=0.2, first_queries=5)
    unlabelled = one(relevant=frozenset(), expected=None, iterations=4, milliseconds=40.0)
    found = figures([one(), foreign, unlabelled])
    assert (found.retrievals, found.labelled, found.relevant_found) == (3, 1, 1)
    assert found.metrics["recall@5"].mean == 0.5
    assert found.iterations_mean == pytest.approx(8 / 3)
    assert found.queries_mean == 15
    assert found.enough_queries == pytest.approx(2 / 3)
    assert (found.latency_p50_ms, found.latency_p95_ms) == (10.0, 37.0)
    assert found.stop_reasons == {"max_facts": 3}
    assert found.labels == {
        "medium": {"high": 1, "medium": 0, "low": 0},
        "low": {"high": 0, "medium": 0, "low": 1},
    }
    assert found.got == {"high": 2, "medium": 0, "low": 1}
    assert found.score_mean == pytest.approx(0.6)


def test_no_retrievals_have_no_means() -> None:
    found = figures([])
    assert found.metrics["recall@5"].mean is None
    assert (found.iterations_mean, found.latency_p50_ms, found.score_mean) == (None, None, None)
    assert found.labels == {}
