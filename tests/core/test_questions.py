"""The engine reads questions as the definitions of the signals do."""

from __future__ import annotations

import itertools

from oracle_texts import HOW_MANY, MONTH, WHEN, WHICH, YEAR

from vestig.language.expected_answer import answer_types, is_yearless

STARTS = ("when", "When,", "what", "What year", "which", "how long", "how long ago", "who", "", "–")
VERBS = ("is", "did", "the", "kind", "week", "would", "about", "Ann", "many", "if")
ENDS = ("in May", "when would she", "3 Sept 2024", "december?", "whose", "1999", "maybe", "how old")


def test_questions_are_read_as_defined() -> None:
    for words in itertools.product(STARTS, VERBS, ENDS):
        text = " ".join(words)
        patterns = enumerate((WHEN, HOW_MANY, WHICH))
        assert answer_types(text) == sum(bool(one.search(text)) << n for n, one in patterns), text
        assert is_yearless(text) == bool(MONTH.search(text) and not YEAR.search(text)), text
