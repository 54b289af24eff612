"""The confidence of a retrieval: its components, its score, its label."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.config import load
from vestig.config.retrieve_sections import RetrieveConfidenceSettings
from vestig.errors import ConfigError
from vestig.retrieve.confidence import (
    Components,
    compute_confidence,
    compute_confidence_score,
    confidence_breakdown,
    coverage_component,
    evidence_component,
    relevance_component,
    reliability_component,
)

SHARE = st.floats(0, 1)
COMPONENTS = st.builds(
    Components, relevance=SHARE, evidence=SHARE, coverage=SHARE, reliability=SHARE
)


def test_relevance_without_a_confidence_of_recall() -> None:
    found = relevance_component(None, [0.75, 0.70, 0.60, 0.45, 0.40])
    assert found == pytest.approx(0.663333, abs=5e-7)
    assert relevance_component(None, [0.1, 0.95]) == 0.5
    assert relevance_component(None, []) == 0
    # an embedder's own scale
    wide = RetrieveConfidenceSettings(sim_lo=0.0, sim_hi=1.0)
    assert relevance_component(None, [0.5], wide) == 0.5


def test_the_confidence_of_recall_is_the_relevance() -> None:
    assert relevance_component(0.25, [0.9, 0.9]) == 0.25
    assert relevance_component(0.0, [0.9]) == 0


def test_a_score_is_the_sum_of_its_parts() -> None:
    parts = Components(
        relevance=0.663333333, evidence=0.533333333, coverage=0.74, reliability=0.875
    )
    score = compute_confidence_score(parts)
    assert score == pytest.approx(0.698833, abs=5e-7)
    assert compute_confidence(score, parts.relevance) == "medium"
    breakdown = confidence_breakdown(parts)
    assert sum(part.product for part in breakdown.values()) == pytest.approx(score, abs=1e-12)
    assert {name: part.weight for name, part in breakdown.items()} == pytest.approx(
        {"relevance": 0.35, "evidence": 0.20, "coverage": 0.25, "reliability": 0.20}
    )
    for name, part in breakdown.items():
        assert part.value == getattr(parts, name)
        assert part.product == part.weight * part.value


def test_broad_weak_matches_are_not_high() -> None:
    parts = Components(relevance=0.2, evidence=1, coverage=1, reliability=1)
    score = compute_confidence_score(parts)
    assert score == pytest.approx(0.72)
    assert compute_confidence(score, parts.relevance) == "medium"


@pytest.mark.parametrize(
    ("score", "relevance", "label"),
    [
        (0.70, 0.40, "high"),
        (0.70, 0.39, "medium"),
        (0.69, 1.0, "medium"),
        (0.40, 0.0, "medium"),
        (0.39, 1.0, "low"),
        (0.0, 0.0, "low"),
        (1.0, 1.0, "high"),
    ],
)
def test_labels_at_their_thresholds(score: float, relevance: float, label: str) -> None:
    assert compute_confidence(score, relevance) == label


def test_nothing_found_is_low() -> None:
    score = compute_confidence_score(Components())
    assert score == 0
    assert compute_confidence(score, 0.0) == "low"
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
    assert 0 <= before <= after <= 1
    order = ("low", "medium", "high")
    labels = [
        order.index(compute_confidence(score, one.relevance))
        for score, one in ((before, parts), (after, grown))
    ]
    assert labels[0] <= labels[1]


@given(parts=COMPONENTS)
def test_the_breakdown_always_sums_to_the_score(parts: Components) -> None:
    products = [part.product for part in confidence_breakdown(parts).values()]
    assert sum(products) == pytest.approx(compute_confidence_score(parts), abs=1e-12)


@given(cosines=st.lists(st.floats(-1, 1), min_size=1, max_size=6), more=st.floats(0, 1))
def test_a_closer_fact_never_lowers_the_relevance(cosines: list[float], more: float) -> None:
    closer = [min(1.0, cosines[0] + more), *cosines[1:]]
    assert relevance_component(None, closer) >= relevance_component(None, cosines) - 1e-12


def test_weights_are_divided_by_their_sum() -> None:
    doubled = load(
        environ={},
        overrides={
            f"retrieve.confidence.weights.{name}": 0.5
            for name in ("relevance", "evidence", "coverage", "reliability")
        },
    ).settings.retrieve.confidence
    assert compute_confidence_score(Components(relevance=1.0), doubled) == 0.25
    full = Components(relevance=1.0, evidence=1.0, coverage=1.0, reliability=1.0)
    assert compute_confidence_score(full, doubled) == 1


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"medium": 0.8}, "retrieve.confidence.medium"),
        ({"high": 0.3}, "retrieve.confidence.medium"),
        ({"sim_lo": 0.8}, "retrieve.confidence.sim_lo"),
        ({"sim_hi": 0.2}, "retrieve.confidence.sim_lo"),
        (
            {"weights": {"relevance": 0, "evidence": 0, "coverage": 0, "reliability": 0}},
            "retrieve.confidence.weights",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(
    values: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        load(environ={}, overrides={"retrieve": {"confidence": values}})
    assert load(environ={}, overrides={"retrieve.confidence.medium": 0.7})
