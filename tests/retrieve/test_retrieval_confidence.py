"""The confidence of a retrieval: its components, its score, its label."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.retrieve.confidence import (
    Components,
    compute_confidence,
    compute_confidence_score,
    confidence_breakdown,
    coverage_component,
    evidence_component,
    reliability_component,
)

SHARE = st.floats(0, 1)
COMPONENTS = st.builds(
    Components, relevance=SHARE, evidence=SHARE, coverage=SHARE, reliability=SHARE
)


def test_relevance_bounds_the_score_and_the_others_bear_it_out() -> None:
    parts = Components(relevance=0.8, evidence=0.5, coverage=0.75, reliability=0.875)
    score = compute_confidence_score(parts)
    assert score == pytest.approx(0.8 * (0.35 + 0.2 * 0.5 + 0.25 * 0.75 + 0.2 * 0.875))
    breakdown = confidence_breakdown(parts)
    assert sum(part.product for part in breakdown.values()) == pytest.approx(score, abs=1e-12)
    assert {name: part.weight for name, part in breakdown.items()} == pytest.approx(
        {"relevance": 0.35, "evidence": 0.20, "coverage": 0.25, "reliability": 0.20}
    )
    for name, part in breakdown.items():
        assert part.value == getattr(parts, name)
    assert breakdown["relevance"].product == pytest.approx(0.8 * 0.35)
    assert breakdown["coverage"].product == pytest.approx(0.8 * 0.25 * 0.75)


def test_broad_weak_matches_are_low_and_without_relevance_there_is_nothing() -> None:
    for relevance, label in ((0.1, "low"), (0.3, "medium"), (0.6, "high"), (0.0, "low")):
        parts = Components(relevance=relevance, evidence=1, coverage=1, reliability=1)
        score = compute_confidence_score(parts)
        assert score == pytest.approx(relevance)
        assert compute_confidence(score) == label


@pytest.mark.parametrize(
    ("score", "label"),
    [
        (1.0, "high"),
        (0.60, "high"),
        (0.59, "medium"),
        (0.20, "medium"),
        (0.19, "low"),
        (0.0, "low"),
    ],
)
def test_labels_at_their_thresholds(score: float, label: str) -> None:
    assert compute_confidence(score) == label


def test_nothing_found_is_low() -> None:
    score = compute_confidence_score(Components())
    assert score == 0
    assert compute_confidence(score) == "low"
    assert sum(part.product for part in confidence_breakdown(Components()).values()) == 0


def test_evidence_counts_up_to_three_sources() -> None:
    assert evidence_component([1]) == pytest.approx(1 / 3)
    assert evidence_component([3, 9]) == 1
    assert evidence_component([]) == 0


def test_coverage_has_four_parts() -> None:
    def coverage(**changes: float) -> float:
        none = {
            "coverage": 0.0,
            "new_facts": 4,
            "unique_facts": 4,
            "queries_with_facts": 0,
            "queries": 8,
            "facts_by_several": 0,
            "facts": 5,
        }
        return coverage_component(**{**none, **changes})  # type: ignore[arg-type]

    assert coverage() == 0
    assert coverage(coverage=1.0) == pytest.approx(0.5)
    assert coverage(new_facts=1) == pytest.approx(0.15)
    assert coverage(queries_with_facts=4) == pytest.approx(0.075)
    assert coverage(facts_by_several=5) == pytest.approx(0.15)
    assert coverage(unique_facts=0, new_facts=0, queries=0, facts=0) == 0


def test_reliability_counts_failures_and_half_of_repeats() -> None:
    assert reliability_component(0, 0, 3) == 1
    assert reliability_component(0, 1, 4) == 0.875
    assert reliability_component(1, 1, 2) == 0.25
    assert reliability_component(2, 4, 2) == 0
    assert reliability_component(0, 0, 0) == 0


@given(parts=COMPONENTS, more=SHARE, name=st.sampled_from(Components.__struct_fields__))
def test_no_component_that_grows_lowers_the_score(
    parts: Components, more: float, name: str
) -> None:
    grown = msgspec.structs.replace(parts, **{name: max(more, getattr(parts, name))})
    before, after = compute_confidence_score(parts), compute_confidence_score(grown)
    assert 0 <= before <= after <= grown.relevance <= 1
    order = ("low", "medium", "high")
    labels = [order.index(compute_confidence(score)) for score in (before, after)]
    assert labels[0] <= labels[1]


@given(parts=COMPONENTS)
def test_the_breakdown_always_sums_to_the_score(parts: Components) -> None:
    products = [part.product for part in confidence_breakdown(parts).values()]
    assert sum(products) == pytest.approx(compute_confidence_score(parts), abs=1e-12)
