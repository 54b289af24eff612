"""Recall that says how sure it is, and abstains."""

from __future__ import annotations

import pytest

import vestig
from benchmarks.confidence import calibrations
from benchmarks.reader import SHIPPED, read_benchmark
from benchmarks.run import import_benchmark
from scripted import Opener, without_vectors
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.errors import ValidationError

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


def test_in_silence_there_are_only_nearest(garden: vestig.Vestig) -> None:
    plain = garden.recall(STRANGE)
    assert (plain.abstained, plain.nearest, len(plain)) == (False, (), 5)
    abstention = garden.recall(STRANGE, silence=0.02)
    assert abstention.abstained
    assert abstention.results == ()
    assert [hit.id for hit in abstention.nearest] == [hit.id for hit in plain[:3]]
    assert abstention.nearest[0].reason == plain.results[0].reason
    assert abstention.counts.returned == 0
    assert abstention.confidence == plain.confidence


def test_whoever_takes_any_risk_is_given_results(garden: vestig.Vestig) -> None:
    plain = garden.recall(KNOWN)
    same = garden.recall(KNOWN, silence=1)
    assert not same.abstained
    assert [hit.id for hit in same] == [hit.id for hit in plain]
    assert len(garden.recall(STRANGE, silence=1)) == 5


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
    with pytest.raises(ValidationError, match=r"silence.*no confidence"):
        garden.recall(KNOWN, profile=profile, silence=0.5)


KEY = "recall.silence"


def test_the_key_of_the_configuration_acts_like_the_argument(garden: vestig.Vestig) -> None:
    argued = garden.recall(STRANGE, silence=0.02, seed=1)
    keyed = garden.recall(STRANGE, config={KEY: 0.02}, seed=1)
    assert keyed.abstained
    assert keyed.results == ()
    assert keyed.nearest == argued.nearest
    assert keyed.least_confidence == argued.least_confidence
    assert not garden.recall(STRANGE, config={KEY: 0.02}, silence=1.0).abstained
    assert not garden.recall(STRANGE, config={KEY: 0.02}, all=True).abstained


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_the_key_is_nothing_to_profiles_without_confidence(
    garden: vestig.Vestig, profile: str
) -> None:
    plain = garden.recall(STRANGE, profile=profile)
    keyed = garden.recall(STRANGE, profile=profile, config={KEY: 0.02})
    assert keyed.results == plain.results
    assert keyed.warnings == plain.warnings
    assert (keyed.abstained, keyed.confidence, keyed.least_confidence) == (False, None, None)
    with pytest.raises(ValidationError, match=r"silence.*no confidence"):
        garden.recall(STRANGE, profile=profile, config={KEY: 0.02}, silence=0.5)


def test_an_empty_store_answers_nothing(opener: Opener) -> None:
    store = opener()
    found = store.recall(KNOWN)
    assert (found.confidence, found.abstained, len(found)) == (0.0, False, 0)
    abstention = store.recall(KNOWN, silence=0.25)
    assert (abstention.abstained, abstention.nearest) == (True, ())


def test_abstention_touches_nothing(garden: vestig.Vestig) -> None:
    found = garden.recall(STRANGE, silence=0.02, touch=True)
    counts = [garden.show(hit.id).memory.access_count for hit in found.nearest]
    assert counts == [0] * 3


def test_why_not_names_abstention(garden: vestig.Vestig) -> None:
    returned = [hit.id for hit in garden.recall(STRANGE)]
    (away,) = {hit.id for hit in garden.recall(STRANGE, limit=6)} - set(returned)
    found = garden.recall(STRANGE, silence=0.02, expect=[returned[1], away])
    abstention, behind = found.why_not
    assert (abstention.id, abstention.stage, abstention.rank) == (returned[1], "abstained", 2)
    assert (abstention.change.kind, abstention.change.key, abstention.change.rank) == (
        "threshold",
        "all",
        2,
    )
    assert garden.recall(STRANGE, all=True)[1].id == returned[1]
    assert (behind.id, behind.stage, behind.change) == (away, "ranked_below", None)
    assert "abstains" in behind.no_change
    assert garden.recall(STRANGE, expect=[returned[1]]).why_not == ()


def test_the_context_of_an_abstention_holds_no_memory(garden: vestig.Vestig) -> None:
    abstention = garden.recall(STRANGE, silence=0.02, context=True)
    assert abstention.context.ids == ()
    assert not any(text in abstention.context.text for text in TEXTS)


def test_without_a_vector_recall_never_abstains(opener: Opener) -> None:
    store = without_vectors(opener, TEXTS)
    found = store.recall(KNOWN, silence=0.02)
    assert found.confidence is None
    assert not found.abstained
    assert len(found) == 5
    assert any("silence" in line for line in found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("step", [24, pytest.param(1, marks=pytest.mark.torture)])
def test_foreign_questions_of_the_shipped_benchmark_are_less_sure(
    opener: Opener, step: int
) -> None:
    benchmark = read_benchmark(SHIPPED)
    store = opener(":memory:", embedder=BuiltinEmbedder())
    import_benchmark(store, benchmark)
    names = list(benchmark.units)
    confidences: dict[bool, list[float]] = {True: [], False: []}
    for query in benchmark.queries[::step]:
        for name in (query.conversation, names[names.index(query.conversation) - 1]):
            confidence = store.recall(query.text, scope=name).confidence
            assert confidence is not None
            confidences[name == query.conversation].append(confidence)
    assert calibrations(confidences[True], {"foreign": confidences[False]})["foreign"].auroc > 0.6
