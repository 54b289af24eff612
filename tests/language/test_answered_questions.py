"""Questions that a text answers, made by rules."""

from __future__ import annotations

import pytest

from vestig.language.answered_questions import answered_questions, sentences


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Maria repaired the pump.", "Who repaired the pump?"),
        ("The pump failed on Monday.", "When did the pump failed?"),
        ("The keys are in the drawer.", "What are in the drawer?"),
        ("Maria went to Oslo in May 2024.", "When did Maria go to Oslo?"),
        ("Maria went to Oslo in May 2024.", "Where did Maria go in May 2024?"),
        ("She bought three tickets.", "How many tickets did she buy?"),
        ("She bought three tickets.", "What did she buy?"),
        ("We stayed at home because it rained.", "Why did we stayed at home?"),
        ("They live in Oslo.", "Where do they live?"),
        ("He lives in Oslo.", "Where does he lives?"),
        ("Well, yes, the meeting was moved.", "Was the meeting moved?"),
        ("I've been to Rome.", "Who have been to Rome?"),
        ("He can't swim in the lake.", "Who can not swim in the lake?"),
        ("It rained. Maria left yesterday.", "When did Maria leave?"),
    ],
)
def test_statements_become_questions(text: str, question: str) -> None:
    assert question in answered_questions(text)


def test_the_author_stands_for_the_first_person() -> None:
    found = answered_questions("I met my brother in Oslo.", "Ada")
    assert "Where did Ada meet Ada's brother?" in found
    assert "Where did I meet my brother?" in answered_questions("I met my brother in Oslo.")


@pytest.mark.parametrize("text", ["", "Really?", "Oh no!", "Did Maria call?", "1234", "  \n "])
def test_what_states_nothing_answers_nothing(text: str) -> None:
    assert answered_questions(text) == []


def test_only_the_beginning_of_a_long_text_gives_questions() -> None:
    text = "Maria left. " * 200
    late = text[:1188] + "Otto won the prize. Eve read a book."
    assert any("Otto" in question or "won" in question for question in answered_questions(late))
    assert not any("Eve" in question or "book" in question for question in answered_questions(late))


def test_each_question_once() -> None:
    found = answered_questions("Maria won the prize. Maria won the prize.")
    assert len(found) == len(set(found)) == 2


def test_time_grows_with_the_text_alone() -> None:
    """No pattern looks again and again at the same words."""
    for text in ("a " * 600, "The " * 300, "A-" * 600, "Aa " * 400 + "was", "very " * 240 + "!"):
        assert isinstance(answered_questions(text), list)


def test_sentences_keep_their_places() -> None:
    text = "One. “Two!” Three"
    assert [text[at : at + len(one)] == one for at, one in sentences(text)] == [True] * 2
    assert list(sentences(" \n")) == []
