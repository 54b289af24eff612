"""Expected answer types of questions, and expressions of time without a year."""

from __future__ import annotations

import pytest

from vestig.language.expected_answer import HOW_MANY, WHEN, WHICH, answer_types, is_yearless
from vestig.language.time.expressions import find_windows

NOW_US = 1_773_835_200_000_000


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did the ship sail?", WHEN),
        ("“When was it?”", WHEN),
        ("Tell me when the ship sails", 0),
        ("Do you know when would they come?", WHEN),
        ("What day suits you?", WHEN | WHICH),
        ("How long ago was that?", WHEN | HOW_MANY),
        ("How often does it rain?", HOW_MANY),
        ("how OLD is she", HOW_MANY),
        ("How did it end?", 0),
        ("Who won?", WHICH),
        ("What colour is the door?", WHICH),
        ("What is the colour of the door?", 0),
        ("What about the door?", 0),
        ("What the door said", 0),
        ("Nowhere, somehow, whenever", 0),
        ("", 0),
    ],
)
def test_answer_types_of_questions(question: str, expected: int) -> None:
    assert answer_types(question) == expected


def test_letters_beyond_ascii_that_stand_for_a_word_count() -> None:
    # dotless i, long s and the Kelvin sign are equal to i, s and k where case is ignored
    assert answer_types("wh\u0131ch door?") == WHICH
    assert answer_types("who\u017fe door \u2013 and when w\u0131ll it open?") == WHEN | WHICH
    assert answer_types("what wee\u212a?") == WHEN | WHICH


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what happened on 3 May?", [True]),
        ("what happened in december", [True]),
        ("what happened on 3 May 2024?", [False]),
        ("what happened on 2024-05-03?", [False]),
        ("what happened last week or yesterday?", [False, False]),
        ("between 3 May and 9 May", [True, True]),
        ("in 2024", [False]),
    ],
)
def test_months_and_days_without_a_year(query: str, expected: list[bool]) -> None:
    found = [one for one in find_windows(query, NOW_US, zone="UTC") if one.resolved]
    assert [is_yearless(one.text) for one in found] == expected
