"""Flags of texts for signals, and titles as names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestig.language.names.forms import norm_name
from vestig.language.names.rules import find_names
from vestig.language.text_flags import text_flags, title_key

# The same names by a search at every character.
NAME = re.compile(r"(?<=[^\W_][,;:)'’\"”]\s)[A-Z]\w+|(?<=[^\W_]\s)[A-Z]\w+")
QUOTED = re.compile(r"\"[^\"]{1,80}\"|“[^”]{1,80}”")
PARTS = ["Ada", "ada", "Å", "B1", "A", "_", ",", ".", ";", ")", "'", '"', "“", "”", " ", "\n", "é"]


def bits(text: str) -> tuple[int, int, int, int, int]:
    """(length, question, number, first person, names)."""
    found = text_flags(text)
    assert 0 <= found < 1 << 16
    return found & 2047, found >> 11 & 1, found >> 12 & 1, found >> 13 & 1, found >> 14


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0, 0, 0, 0, 0)),
        ("x" * 1999, (1999, 0, 0, 0, 0)),
        ("é" * 5000, (2000, 0, 0, 0, 0)),
        ("really?", (7, 1, 0, 0, 0)),
        ("of ٣ ships", (10, 0, 1, 0, 0)),
        ("Twice.", (6, 0, 1, 0, 0)),
        ("someone often", (13, 0, 0, 0, 0)),
        ("give it to Me", (13, 0, 0, 1, 1)),
        ("the US of them", (14, 0, 0, 0, 1)),
        ("i think", (7, 0, 0, 0, 0)),
        ("I think", (7, 0, 0, 1, 0)),
        ("Then I left. Then Bob", (21, 0, 0, 1, 1)),
        ("at Kiel, Bonn; Ulm and Jena", (27, 0, 0, 0, 3)),
        ('he said "no way" and “yes”', (26, 0, 0, 0, 2)),
        ('"' + "a" * 81 + '"', (83, 0, 0, 0, 0)),
    ],
)
def test_flags_of_length_question_number_first_person_and_names(
    text: str, expected: tuple[int, int, int, int, int]
) -> None:
    assert bits(text) == expected


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_names_are_those_that_a_search_at_every_character_finds(text: str) -> None:
    assert bits(text)[4] == min(3, len(NAME.findall(text)) + len(QUOTED.findall(text)))


@given(st.one_of(st.none(), st.text(), st.sampled_from(["Ada Lovelace (poet)", "C++", "a", "  "])))
def test_a_title_is_the_name_that_entities_are_made_of(title: str | None) -> None:
    named = find_names("", title=title)
    assert title_key(title) == (norm_name(named[0].name) if named else None)


def test_title_keys() -> None:
    assert title_key("  The Harbor  Plan. (1911 film) ") == "the harbor plan"
    assert title_key(".NET") == ".net"
    assert [title_key(t) for t in (None, "", "7", "!?", "(only this)")] == [None] * 5
