"""Which terms of a query say what it is about."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import vestig
from core import oracle_texts
from vestig.language.time.expressions import find_times
from vestig.language.words import (
    STOPWORDS,
    asking_words,
    content_terms,
    frame_words,
    placed_terms,
    terms,
)


def analysed(text: str, *, dated: bool = False) -> list[str]:
    times = [(one.start, one.end) for one in find_times(text, 0).expressions]
    return [one.term for one in content_terms(text, times) if not (dated and one.in_time)]


def test_function_words_and_frame_words_are_no_content() -> None:
    assert analysed("Which kind of dog did Maria adopt?") == ["dog", "maria", "adopt"]
    assert analysed("How many times do we often meet nowadays?") == ["time", "meet", "nowaday"]
    assert analysed("what is it, and why not?") == []
    assert analysed("") == []


def test_words_of_an_expression_of_time_are_marked() -> None:
    query = "Which kind of dog did Maria adopt in March 2026?"
    assert analysed(query) == ["dog", "maria", "adopt", "march", "2026"]
    assert analysed(query, dated=True) == ["dog", "maria", "adopt"]
    assert analysed("the march of 2026-03-01", dated=True) == ["march"]


def test_words_stand_where_they_are_written() -> None:
    query = "Où does Élan's src/main.rs of the-API run?"
    found = content_terms(query, [])
    assert [query[one.start : one.end] for one in found] == [
        "Où", "Élan", "src/main.rs", "src", "main", "rs", "API", "run",
    ]  # fmt: skip
    assert [one.term for one in found] == [
        "où", "élan", "src/main.rs", "src", "main", "rs", "api", "run",
    ]  # fmt: skip


def test_terms_with_places_are_the_index_terms() -> None:
    dice = random.Random(1)
    pieces = ["Ann's", "v2.1", "the", "of/the", "版本号", "a_bc", "a", "Läufe", "ไทย", "x@y.z", "—"]
    for _ in range(200):
        text = dice.choice([" ", "-", "/"]).join(dice.choices(pieces, k=6))
        assert [term for term, _, _ in placed_terms(text)] == terms(text)
        wanted = oracle_texts.content_terms(text, [], False)
        assert [one.term for one in content_terms(text, [])] == wanted, text


def test_the_list_of_frame_words_is_in_lower_case() -> None:
    data = Path(vestig.__file__).parent / "data" / "frame_words.txt"
    lines = data.read_text(encoding="utf-8").splitlines()
    assert frame_words() == oracle_texts.FRAMING
    assert asking_words() == oracle_texts.ASKING
    assert all(line == line.lower() for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("word", ["kind", "many", "recently", "old"])
def test_frame_words_are_more_than_function_words(word: str) -> None:
    assert word in frame_words() - STOPWORDS
