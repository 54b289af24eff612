"""Questions that a conversation does not answer: foreign ones, and those without evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.confidence import (
    ANSWERABLE,
    Answered,
    Case,
    answered,
    calibrations,
    cases,
    confidences,
    scores,
)
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.reader import read_benchmark
from benchmarks.rows import Variant
from benchmarks.run import StoredUnits, import_benchmark, stored_units
from vestig.api.store import Vestig
from vestig.calls.opening import OpenRequest
from vestig.session.opening import MEMORY_PATH, load_config, open_session
from vestig.testing import HashingEmbedder, ScriptedEmbedder, vector_at

TEXTS = {"0": "the key is red", "1": "red is the key", "2": "a key", "3": "nets"}
COSINES = {"0": 1.0, "1": 0.86, "2": 0.84, "3": 0.1}


@pytest.fixture
def opened() -> Iterator[list[Vestig]]:
    """Stores that the test opens."""
    stores: list[Vestig] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def cases_of(bench: Bench, opened: list[Vestig]) -> Any:
    """Imports units and gives the cases of questions about them."""

    def found(embedder: Any, corpus: Any, questions: Any) -> tuple[list[Case], StoredUnits]:
        benchmark = read_benchmark(bench(corpus, questions))
        request = OpenRequest(path=MEMORY_PATH, config=load_config(None, None), embedder=embedder)
        context = open_session(request)
        store = Vestig(context)
        opened.append(store)
        import_benchmark(store, benchmark)
        stored = stored_units(store, benchmark)
        return list(cases(context, benchmark, stored)), stored

    return found


def test_foreign_questions_are_those_of_the_next_conversation(cases_of: Any) -> None:
    found, stored = cases_of(HashingEmbedder(), units(), queries())
    foreign = [(c.conversation, c.query.id) for c in found if c.population == "foreign"]
    assert foreign == [
        *(("garden", f"q{n}") for n in (3, 4, 5)),
        *(("harbour", f"q{n}") for n in (0, 1, 2)),
    ]
    own = [(c.conversation, c.query.id) for c in found if c.population == ANSWERABLE]
    assert own == [("garden" if n < 3 else "harbour", f"q{n}") for n in range(6)]
    late = next(c for c in found if c.population == "foreign" and c.query.id == "q3")
    assert late.fields(stored)["scope"] == "garden"
    assert late.fields(stored)["query_time"] == stored.ends["garden"], (
        "cases_of of that conversation now"
    )
    dated = next(c for c in found if c.population == "foreign" and c.query.id == "q5")
    assert dated.fields(stored)["query_time"] == "2025-04-20T08:00:00"


def test_removed_questions_lose_their_evidence(cases_of: Any) -> None:
    found, stored = cases_of(HashingEmbedder(), units(), queries())
    gone = {c.query.id: c.without for c in found if c.population == "removed"}
    assert {id: sorted(u for m in ids for u in stored.units_of[m]) for id, ids in gone.items()} == {
        "q0": ["0"],
        "q1": ["1"],
        "q2": ["3", "5"],
        "q3": ["0"],
        "q4": ["1"],
        "q5": ["2"],
    }
    assert all(c.without == () for c in found if c.population != "removed")


def test_removed_questions_lose_nearly_equal_memories_too(cases_of: Any) -> None:
    vectors = {text: vector_at(COSINES[id], 16, int(id) + 1) for id, text in TEXTS.items()}
    embedder = ScriptedEmbedder(vectors, default=[0.0] * 15 + [1.0])
    corpus = [{"id": id, "text": text, "conversation": "c"} for id, text in TEXTS.items()]
    question = {"id": "q", "text": "which key?", "relevant": ["0"], "conversation": "c"}
    found, stored = cases_of(embedder, corpus, [question])
    (removed,) = (c for c in found if c.population == "removed")
    assert sorted(u for m in removed.without for u in stored.units_of[m]) == ["0", "1"]
    assert [c.population for c in found] == [ANSWERABLE, "removed"], "one conversation only"


def test_confidences_are_those_of_a_recall_of_each_question(
    cases_of: Any, opened: list[Vestig]
) -> None:
    found, stored = cases_of(HashingEmbedder(), units(), queries())
    (store,) = opened
    variant = Variant(name="default", kind="profile", config=store._session.config)
    steps: list[int] = []
    answers = answered(store, stored, variant, found, steps.append)
    measured = confidences(answers)
    assert sum(steps) == len(found)
    each = {
        population: [
            store.recall(case.query.text, limit=1, **case.fields(stored)).confidence
            for case in found
            if case.population == population
        ]
        for population in (ANSWERABLE, "foreign", "removed")
    }
    own = each.pop(ANSWERABLE)
    assert measured == calibrations(own, each)
    assert measured


def test_scores_are_those_of_a_recall_of_each_question(cases_of: Any, opened: list[Vestig]) -> None:
    found, stored = cases_of(HashingEmbedder(), units(), queries())
    (store,) = opened
    variant = Variant(name="default", kind="profile", config=store._session.config)
    answers = answered(store, stored, variant, found, lambda _: None)
    for case, answer in zip(sorted(found, key=lambda case: case.population), answers, strict=True):
        hits = store.recall(case.query.text, limit=10, **case.fields(stored))
        assert answer.scores == tuple(hit.score for hit in hits)
        right = [not case.query.relevant.isdisjoint(stored.units_of[hit.id]) for hit in hits]
        assert answer.relevant == tuple(one and case.population == ANSWERABLE for one in right)
    assert any(any(one.relevant) for one in answers)
    plain = Variant(name="baseline", kind="profile", profile="baseline", config=variant.config)
    assert answered(store, stored, plain, found, lambda _: None) == []


def test_results_share_the_weight_of_their_question() -> None:
    def one(population: str, scores: tuple[float, ...], *right: int) -> Answered:
        relevant = tuple(place in right for place in range(len(scores)))
        return Answered(population=population, confidence=0.5, scores=scores, relevant=relevant)

    figures = scores(
        [
            one(ANSWERABLE, (0.75, 0.25), 0),
            one("foreign", (0.25,)),
            one("removed", (0.15, 0.05)),
            one("removed", ()),
        ]
    )
    assert figures.results == 5
    # a quarter at 0.75 is right; at 0.25 a quarter and a quarter, at 0.15 and 0.05 an eighth each
    assert figures.calibration_error == pytest.approx(
        0.25 * 0.25 + 0.5 * 0.25 + 0.125 * 0.15 + 0.125 * 0.05
    )
    assert (figures.right_first, figures.unanswered_first) == (0.75, 0.2)
    foreign = scores([one(ANSWERABLE, (0.9,)), one("foreign", (0.1,))])
    assert foreign.calibration_error == pytest.approx(0.5 * 0.9 + 0.5 * 0.1)
    assert foreign.right_first is None
