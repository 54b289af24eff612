"""Recall that says how sure it is, and abstains."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener, without_vectors
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ValidationError
from vestig.evaluation.benchmark_run import import_benchmark
from vestig.evaluation.benchmarks import SHIPPED, read_benchmark
from vestig.evaluation.confidence import calibrations

TEXTS = (
    "The red key opens the shed behind the greenhouse",
    "Tomatoes need watering every second evening",
    "The greenhouse window sticks when it rains",
    "Compost goes into the wooden box near the gate",
    "We sold forty pumpkins at the autumn market",
    "The gate hinge was oiled last Sunday",
    "Beans climb the fence along the road",
)
KNOWN = "Which key opens the shed behind the greenhouse?"
STRANGE = "When does the parliament of Iceland vote?"


@pytest.fixture
def garden(opener: Opener) -> vestig.Vestig:
    store = opener()
    for text in TEXTS:
        store.commit(text)
    return store


def test_a_question_that_is_answered_has_more_confidence(garden: vestig.Vestig) -> None:
    sure, unsure = garden.recall(KNOWN).confidence, garden.recall(STRANGE).confidence
    assert sure is not None
    assert unsure is not None
    assert 0 <= unsure < sure <= 1


def test_below_min_confidence_there_are_only_nearest(garden: vestig.Vestig) -> None:
    plain = garden.recall(STRANGE)
    assert (plain.abstained, plain.nearest, len(plain)) == (False, (), 5)
    abstention = garden.recall(STRANGE, min_confidence=1.0)
    assert abstention.abstained
    assert abstention.results == ()
    assert [hit.id for hit in abstention.nearest] == [hit.id for hit in plain]
    assert abstention.nearest[0].reason == plain.results[0].reason
    assert abstention.counts.returned == 0
    assert abstention.confidence == plain.confidence


def test_at_min_confidence_results_are_given(garden: vestig.Vestig) -> None:
    plain = garden.recall(KNOWN)
    assert plain.confidence is not None
    same = garden.recall(KNOWN, min_confidence=plain.confidence)
    assert not same.abstained
    assert [hit.id for hit in same] == [hit.id for hit in plain]
    assert len(garden.recall(STRANGE, min_confidence=0)) == 5


@pytest.mark.parametrize("limit", [1, 2, 4, 7, 50])
def test_confidence_does_not_depend_on_the_limit(garden: vestig.Vestig, limit: int) -> None:
    five = garden.recall(KNOWN, limit=5)
    other = garden.recall(KNOWN, limit=limit)
    assert other.confidence == five.confidence
    assert len(other) == min(limit, len(TEXTS))
    both = min(limit, 5)
    assert [hit.id for hit in other][:both] == [hit.id for hit in five][:both]


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_profiles_without_confidence_cannot_abstain(garden: vestig.Vestig, profile: str) -> None:
    assert garden.recall(KNOWN, profile=profile).confidence is None
    with pytest.raises(ValidationError, match=r"min_confidence.*no confidence"):
        garden.recall(KNOWN, profile=profile, min_confidence=0.5)


KEY = "recall.min_confidence"


def test_the_threshold_of_the_configuration_acts_like_the_argument(garden: vestig.Vestig) -> None:
    argued = garden.recall(STRANGE, min_confidence=1.0, seed=1)
    keyed = garden.recall(STRANGE, config={KEY: 1.0}, seed=1)
    assert keyed.abstained
    assert keyed.results == ()
    assert keyed.nearest == argued.nearest
    assert keyed.min_confidence == 1.0
    assert not garden.recall(STRANGE, config={KEY: 1.0}, min_confidence=0.0).abstained
    found = garden.recall(STRANGE, config={KEY: 1.0}, expect=[keyed.nearest[0].id])
    (entry,) = found.why_not
    assert (entry.change.key, entry.change.before) == (KEY, 1.0)
    assert 0.0 < entry.change.after < 1.0


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_the_threshold_of_the_configuration_is_nothing_to_profiles_without_confidence(
    garden: vestig.Vestig, profile: str
) -> None:
    plain = garden.recall(STRANGE, profile=profile)
    keyed = garden.recall(STRANGE, profile=profile, config={KEY: 1.0})
    assert keyed.results == plain.results
    assert keyed.warnings == plain.warnings
    assert (keyed.abstained, keyed.confidence, keyed.min_confidence) == (False, None, None)
    with pytest.raises(ValidationError, match=r"min_confidence.*no confidence"):
        garden.recall(STRANGE, profile=profile, config={KEY: 1.0}, min_confidence=0.5)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_min_confidence_is_a_probability(garden: vestig.Vestig, value: Any) -> None:
    with pytest.raises(ValidationError, match="min_confidence"):
        garden.recall(KNOWN, min_confidence=value)


def test_an_empty_store_answers_nothing(opener: Opener) -> None:
    store = opener()
    found = store.recall(KNOWN)
    assert (found.confidence, found.abstained, len(found)) == (0.0, False, 0)
    abstention = store.recall(KNOWN, min_confidence=0.2)
    assert (abstention.abstained, abstention.nearest) == (True, ())


def test_abstention_touches_nothing(garden: vestig.Vestig) -> None:
    found = garden.recall(STRANGE, min_confidence=1.0, touch=True)
    counts = [garden.show(hit.id).memory.access_count for hit in found.nearest]
    assert counts == [0] * 5


def test_why_not_names_abstention(garden: vestig.Vestig) -> None:
    returned = [hit.id for hit in garden.recall(STRANGE)]
    (away,) = {hit.id for hit in garden.recall(STRANGE, limit=6)} - set(returned)
    found = garden.recall(STRANGE, min_confidence=1.0, expect=[returned[1], away])
    abstention, behind = found.why_not
    assert (abstention.id, abstention.stage, abstention.rank) == (returned[1], "abstained", 2)
    assert (abstention.change.kind, abstention.change.key) == ("threshold", "min_confidence")
    assert (abstention.change.before, abstention.change.after, abstention.change.rank) == (
        1.0,
        found.confidence,
        2,
    )
    lower = garden.recall(STRANGE, min_confidence=abstention.change.after)
    assert lower[1].id == returned[1]
    assert (behind.id, behind.stage, behind.change) == (away, "ranked_below", None)
    assert "abstains" in behind.no_change
    assert garden.recall(STRANGE, expect=[returned[1]]).why_not == ()


def test_the_context_of_an_abstention_holds_no_memory(garden: vestig.Vestig) -> None:
    abstention = garden.recall(STRANGE, min_confidence=1.0, context=True)
    assert abstention.context.ids == ()
    assert not any(text in abstention.context.text for text in TEXTS)


def test_without_a_vector_recall_never_abstains(opener: Opener) -> None:
    store = without_vectors(opener, TEXTS)
    found = store.recall(KNOWN, min_confidence=1.0)
    assert found.confidence is None
    assert not found.abstained
    assert len(found) == 5
    assert any("min_confidence" in line for line in found.warnings)


def test_foreign_questions_of_the_shipped_benchmark_are_less_sure(opener: Opener) -> None:
    benchmark = read_benchmark(SHIPPED)
    store = opener(":memory:", embedder=BuiltinEmbedder())
    import_benchmark(store, benchmark)
    names = list(benchmark.units)
    confidences: dict[bool, list[float]] = {True: [], False: []}
    for query in benchmark.queries[::3]:
        for name in (query.conversation, names[names.index(query.conversation) - 1]):
            confidence = store.recall(query.text, scope=name).confidence
            assert confidence is not None
            confidences[name == query.conversation].append(confidence)
    assert calibrations(confidences[True], {"foreign": confidences[False]})["foreign"].auroc > 0.6
