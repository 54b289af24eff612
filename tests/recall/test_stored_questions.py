"""Stored questions that are like the query are no evidence for an answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vestig

ASKED = "Who has the spare key of the van?"
FACTS = (
    "The ferry costs 20 euros.",
    "Ingrid keeps the gate code.",
    "The staging database listens on port 6543.",
    "The printer on floor 3 needs toner.",
)


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:") as opened:
        for fact in FACTS:
            opened.commit(fact)
        yield opened


def ask(store: vestig.Vestig, session: str, text: str, answer: str | None = None) -> None:
    store.commit(text, role="user", session_id=session, sequence=0)
    if answer is not None:
        store.commit(answer, role="assistant", session_id=session, sequence=1)


@pytest.mark.parametrize("answer", [None, "I do not know.", "Good question!", "Which van?"])
@pytest.mark.parametrize(
    "asked",
    [ASKED, "who has the spare key of the van", "Where is the van's spare key, please?"],
)
def test_a_stored_question_changes_nothing(
    store: vestig.Vestig, asked: str, answer: str | None
) -> None:
    before = store.recall(ASKED, all=True)
    ask(store, "monday", asked, answer)
    after = store.recall(ASKED, all=True)
    assert after.confidence == pytest.approx(before.confidence, abs=0.02)
    assert after[0].content == before[0].content
    assert after[0].content in FACTS


@pytest.mark.parametrize("query", ["where is the van?", "what van do we have", "the van?"])
def test_a_question_of_one_word_of_content_is_a_question(store: vestig.Vestig, query: str) -> None:
    store.commit("The van stands in the yard.")
    ask(store, "monday", query)
    found = store.recall(query, all=True, limit=10)
    assert found[0].content == "The van stands in the yard."
    assert found[-1].content == query


def test_the_question_is_shown_last_as_asked_before(store: vestig.Vestig) -> None:
    ask(store, "monday", ASKED)
    found = store.recall(ASKED, all=True, limit=10)
    assert found[-1].content == ASKED
    assert "asked_before" in found[-1].reason.flags
    assert "Asked before on" in found[-1].reason.explanation
    assert len(found) == len(FACTS) + 1
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("filler", [None, "Let me check and get back to you."])
def test_the_turn_that_answers_stands_first(store: vestig.Vestig, filler: str | None) -> None:
    ask(store, "monday", ASKED, filler)
    answer = "It hangs behind the clock."
    store.commit(answer, role="assistant", session_id="monday", sequence=2 if filler else 1)
    found = store.recall(ASKED, all=True)
    assert found[0].content == answer
    (asked,) = [one.id for one in store.list().memories if one.content == ASKED]
    assert found[0].reason.answers == asked
    assert found[0].reason.explanation.endswith("which asked the same.")
    assert (found.confidence or 0) > 0.5


def test_the_latest_answer_comes_before_an_earlier_one(store: vestig.Vestig) -> None:
    ask(store, "monday", ASKED, "It hangs behind the clock.")
    ask(store, "friday", ASKED, "Ingrid took it home with her.")
    contents = [hit.content for hit in store.recall(ASKED, all=True)]
    assert contents[0] == "Ingrid took it home with her."
    assert "It hangs behind the clock." in contents[:3]


def test_thirty_questions_leave_the_fact_among_the_first_three(store: vestig.Vestig) -> None:
    fact = "The spare key of the van hangs behind the clock."
    store.commit(fact)
    for number in range(30):
        again = f"{ASKED} {'Please! ' * (number % 3)}Number {number}?"
        ask(store, f"day {number}", again, "No idea.")
    assert fact in [hit.content for hit in store.recall(ASKED, all=True)][:3]


def test_another_question_of_the_same_author_ends_the_search_for_an_answer(
    store: vestig.Vestig,
) -> None:
    ask(store, "monday", ASKED)
    store.commit("When does the ferry leave?", role="user", session_id="monday", sequence=1)
    store.commit("At noon, from pier 4.", role="assistant", session_id="monday", sequence=2)
    assert store.recall(ASKED, all=True)[0].content != "At noon, from pier 4."


def test_a_request_that_tells_something_is_a_memory(store: vestig.Vestig) -> None:
    told = "I'm meeting Kelly at the harbour on 4 May, can you help me prepare?"
    ask(store, "monday", told)
    assert store.recall("where am I meeting Kelly?", all=True)[0].content == told


def test_a_prompt_in_the_words_of_the_query_is_no_evidence(store: vestig.Vestig) -> None:
    before = store.recall("run the tests of the harbour module", all=True)
    ask(store, "monday", "run the tests of the harbour module")
    after = store.recall("run the tests of the harbour module", all=True)
    assert after[0].content == before[0].content
    assert after.confidence == pytest.approx(before.confidence, abs=0.02)
