"""Patterns of temporal expressions. All match lower-cased text."""

from __future__ import annotations

import re
from typing import Final

from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern

WEEKDAYS: Final = {
    name: number
    for number, name in enumerate(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    )
}
_FULL_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTHS: Final = {
    **{name: number for number, name in enumerate(_FULL_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_FULL_MONTHS, 1)},
    "sept": 9,
}
# Words that are months only when capitalised and in a temporal place.
AMBIGUOUS_MONTHS: Final = frozenset(("may", "march", "mar"))

COUNTS: Final = {
    **{
        word: number
        for number, word in enumerate(
            word_list("one two three four five six seven eight nine ten eleven twelve"), 1
        )
    },
    "a": 1,
    "an": 1,
}

_COUNT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|couple(?:\s+of)?|few"
    r"|a\s+(?:couple(?:\s+of)?|few)|\d{1,4})"
)
_UNIT = r"(?:minute|hour|day|week|month|year)s?"
_FULL_MONTH = "(?:" + "|".join(_FULL_MONTHS) + ")"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NO_NUMBER = r"(?!\w|[.:]\d|,\d{3}(?!\d)|%)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = rf"[12]\d{{3}}{_NO_NUMBER}"
_AGO = r"\s+(?:ago|from\s+now)\b"
_FROM_DAY = (
    r"\s+(?:day|week|month|year)s?\s+(?:from|after|before|ago)\s+(?:today|tomorrow|yesterday)\b"
)
_NO_QUANTITY = r"(?!-\d)(?!\s?(?:[€£¥°%]|(?:eur|usd|gbp|km|kg|mb|gb|kb|ms|bytes|px|rpm|hz|mhz)\b))"

ISO: Final = lazy_pattern(
    r"(\d{4})-(\d{2})-(\d{2})(?:[t ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"\s?(z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)?)?(?!\w|-\d|:\d)"
)
CLOCK: Final = lazy_pattern(
    r"(\d{1,2})(?::(\d{2})(?::(\d{2}))?)?(?:\s?([ap])(?:m\b|\.\s?m\b\.?))?(?![\w:])"
)
PARTS: Final = lazy_pattern(r"\d+|[a-z]+")

# Each alternative ends in an empty group that names its family. No group is at the front:
# so the matcher can refuse an alternative by its first letter.
_ALTERNATIVES: Final = (
    r"\d{4}-\d{2}-\d{2}(?P<iso>)",
    r"\d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.|-\d{1,2}-)\d{4}(?!\w|[/.:-]\d)(?P<figures>)",
    r"\d{1,2}(?::\d{2}|\s?[ap]\.?\s?m\b)(?P<clock>)",
    rf"(?:{_DAY}\s?(?:-|–|to)\s?)?{_DAY}\s+(?:of\s+)?{_MONTH}(?:\.(?=,?\s+\d))?(?:,?\s+{_YEAR})?(?P<dmy>)",
    rf"(?:19\d\d|20\d\d|2100){_NO_NUMBER}{_NO_QUANTITY}(?P<year>)",
    rf"{_COUNT}{_FROM_DAY}(?P<ago_day>)",
    rf"an?{_FROM_DAY}(?P<ago_one_day>)",
    rf"{_COUNT}\s+{_UNIT}{_AGO}(?P<ago>)",
    rf"an?\s+{_UNIT}{_AGO}(?P<ago_one>)",
    rf"in\s+(?:{_COUNT}|an?)\s+{_UNIT}\b(?!\s+ago)(?P<within>)",
    rf"(?:last|past|next)\s+{_COUNT}\s+(?:day|week|month|year)s?\b(?P<rolling>)",
    r"(?:last|this|next)\s+(?:(?:weekend|week|month|quarter|year)\b(?P<calendar>)"
    rf"|{_FULL_MONTH}\b(?P<month_of>)|{_WEEKDAY}\b(?P<weekday_of>))",
    r"last\s+night\b(?P<night>)",
    r"this\s+(?:morning|afternoon|evening)\b(?P<part>)",
    r"to(?:day|night|morrow)\b(?P<day>)",
    r"yesterday\b(?P<before>)",
    r"day\s+(?:before\s+yesterday|after\s+tomorrow)\b(?P<after>)",
    rf"{_MONTH}(?:\.?\s+(?:the\s+)?{_DAY}(?:\s?[-–]\s?{_DAY})?{_NO_NUMBER}(?:,?\s+{_YEAR})?(?P<mdy>)"
    rf"|\.?,?\s+(?:of\s+)?{_YEAR}(?P<my>)|(?P<month>))",
    rf"{_WEEKDAY}\b(?P<weekday>)",
    r"q[1-4]\b(?:(?:\s+(?:of\s+)?|/)[12]\d{3}\b)?(?P<quarter>)",
)
EXPRESSION: Final = lazy_pattern(r"\b(?:" + "|".join(_ALTERNATIVES) + ")")
FAMILIES: Final = {
    "ago_day": "ago",
    "ago_one_day": "ago",
    "ago_one": "ago",
    "month_of": "month",
    "weekday_of": "weekday",
    "night": "day",
    "part": "day",
    "before": "day",
    "after": "day",
}
# A number glued to one of these on its left is no date ("$2000", "v.2020", "1/2020").
GLUE: Final = frozenset("-$€£¥#@/.,:+")

# An expression without a digit has one of these, or a month that ends in `MONTH_END`; any other has
# `DIGIT_TRIGGER` or a month. `MONTH_TRIGGERS`, first letters of months, and `MONTH_END` are cheap
# tests that other words pass too: `MONTH` decides.
WORD_TRIGGERS: Final = (
    *("day", "night", "morning", "noon", "evening", "morrow", "minute", "hour", "week", "month"),
    *("quarter", "year", "uary", "march", "april", "may", "june", "july", "august"),
)
MONTH_END: Final = "ber"
MONTH_TRIGGERS: Final = tuple(name[:3] for name in _FULL_MONTHS)
MONTH: Final = lazy_pattern(rf"\b{_MONTH}")
# A year has four digits, and no more beside them.
DIGIT_TRIGGER: Final = lazy_pattern(
    r"[0-9](?:(?<!\d\d)\d{3}(?!\d)|:[0-9]{2}|\s?[ap]\.?\s?m\b)|q[1-4]"
)

# Prepositions directly before an expression.
CUE: Final = lazy_pattern(
    r"(?<!\w)(before|until|after|since|between|on|in|by|of|during|last|next|this)\s+(the\s+)?$"
)
LIST_GAP: Final = lazy_pattern(r"\s*(?:,?\s*(?:and|or|to)\s|[,&–—]|\s-\s)\s*")
PRESENT_CUE: Final = lazy_pattern(
    r"\b(?:is|are|am|isn't|aren't|feel|currently|right\s+now|today|tonight)\b"
    r"|\b(?:i'm|(?:we|you|they)'re|(?:he|she|it|that|there)'s)\b"
)


_ANY_MONTH: Final = lazy_pattern(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE
)
_ANY_YEAR: Final = lazy_pattern(r"\b\d{4}\b")


def is_yearless(words: str) -> bool:
    """Return whether an expression of time names a month, or a day of one, and no year.

    Example:
        >>> is_yearless("on 3 May"), is_yearless("in May 2024"), is_yearless("last week")
        (True, False, False)
    """
    return _ANY_MONTH.search(words) is not None and _ANY_YEAR.search(words) is None
