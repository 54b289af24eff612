"""Expected answer types of a question, by its words: a time, a quantity, a name."""

from __future__ import annotations

import re
from typing import Final

from vestig.language.word_list import word_list
from vestig.lazy_pattern import lazy_pattern

__all__ = ["HOW_MANY", "WHEN", "WHICH", "answer_types", "is_yearless"]

# Bits of `answer_types`.
WHEN: Final = 1
HOW_MANY: Final = 2
WHICH: Final = 4

_VERBS: Final = word_list("is are was were do does did has have had will would can could should")
# Words after a "what" that expects no name: a verb, or the subject.
_NO_KIND: Final = (
    *_VERBS,
    *word_list("may might must if about else a an the i you he she it we they"),
)
_WHEN: Final = lazy_pattern(
    rf"^\W*when\b|\bwhen (?:{'|'.join(_VERBS)})\b"
    r"|\b(?:what|which) (?:day|date|week|month|year|time)\b|\bhow long ago\b",
    re.IGNORECASE,
)
_HOW_MANY: Final = lazy_pattern(r"\bhow (?:many|much|often|old|long)\b", re.IGNORECASE)
_WHICH: Final = lazy_pattern(
    rf"\b(?:who|whom|whose|where|which)\b|\bwhat (?!(?:{'|'.join(_NO_KIND)})\b)\w",
    re.IGNORECASE,
)
_MONTH: Final = lazy_pattern(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE
)
_YEAR: Final = lazy_pattern(r"\b\d{4}\b")


def answer_types(query: str) -> int:
    """The expected answer types of a query, as a sum of bits.

    `WHEN` = 1: a time. `HOW_MANY` = 2: a quantity ("how many, much, often, old, long"). `WHICH` =
    4: a person, a place or a thing of a kind ("who, where, which, what colour"). 0 = none known.

    Example:
        >>> [answer_types(q) for q in ("When was it?", "How many came, and who?", "What is it?")]
        [1, 6, 0]
    """
    # beyond ASCII the patterns meet letters that `lower` does not make
    every, lower = not query.isascii(), query.lower()
    how = every or "how " in lower
    what = every or "what " in lower or "which" in lower
    found = 0
    if (how or what or "when" in lower) and _WHEN.search(query):
        found = WHEN
    if how and _HOW_MANY.search(query):
        found |= HOW_MANY
    if (what or "who" in lower or "where" in lower) and _WHICH.search(query):
        found |= WHICH
    return found


def is_yearless(words: str) -> bool:
    """Whether an expression of time names a month, or a day of one, and no year.

    Example:
        >>> is_yearless("on 3 May"), is_yearless("in May 2024"), is_yearless("last week")
        (True, False, False)
    """
    return _MONTH.search(words) is not None and _YEAR.search(words) is None
