"""Temporal expressions of a text, and their windows of time.

The patterns match lower-cased text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Final

import msgspec

from vestig._core import Substrings
from vestig.language.text_forms import word_list
from vestig.lazy_pattern import lazy_pattern
from vestig.times import from_us
from vestig.types import TemporalWindow

# --- patterns ---------------------------------------------------------------------------------

DAY_NAMES: Final = word_list("monday tuesday wednesday thursday friday saturday sunday")
WEEKDAYS: Final = {name: number for number, name in enumerate(DAY_NAMES)}
MONTH_NAMES: Final = word_list(
    "january february march april may june july august september october november december"
)
MONTHS: Final = {
    **{name: number for number, name in enumerate(MONTH_NAMES, 1)},
    **{name[:3]: number for number, name in enumerate(MONTH_NAMES, 1)},
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
_FULL_MONTH = "(?:" + "|".join(MONTH_NAMES) + ")"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NO_NUMBER = r"(?!\w|[.:]\d|,\d{3}(?!\d)|%)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
# A day before its month as other languages write it too: "3e april", "1er nov.", "3. August".
_DAY_BEFORE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|e|ste|de|[ºª°]|:[ae]|\.)?"
# Days in words, of which "twenty-first" has two.
DAY_WORDS: Final = {
    "twenty": 20,
    "thirty": 30,
    **{
        word: number
        for number, word in enumerate(
            word_list(
                "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
                " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
                " twentieth"
            ),
            1,
        )
    },
    "thirtieth": 30,
}
_DAY_WORD = r"(?:(?:twenty|thirty)[-\s])?(?:" + "|".join(list(DAY_WORDS)[2:]) + ")"
_YEAR = rf"[12]\d{{3}}{_NO_NUMBER}"
# Quarters and halves of a year, by their number or in words.
PARTS_OF_YEAR: Final = {
    **{f"{letter}{number}": number for letter in "qh" for number in range(1, 5)},
    **{word: DAY_WORDS[word] for word in ("first", "second", "third", "fourth")},
    **{"1st": 1, "2nd": 2, "3rd": 3, "4th": 4},
}
_OF_YEAR = rf"\s+(?:of|in)\s+{_YEAR}"
_YEAR_BEHIND = rf"(?:{_OF_YEAR}|(?:,?\s+|/)(?=19|20){_YEAR})"
# Between a day, its month and its year stand such words in other languages too.
_OF = r"(?:(?:of|de|del)\s+|d')?"
_AGO = r"\s+(?:ago|from\s+now)\b"
_FROM_DAY = (
    r"\s+(?:day|week|month|year)s?\s+(?:from|after|before|ago)\s+(?:today|tomorrow|yesterday)\b"
)
_NO_QUANTITY = (
    r"(?!-\d)(?!\s?(?:[€£¥°%]|(?:eur|usd|gbp|km|kg|mb|gb|kb|ms|bytes|px|rpm|hz|mhz|bar|psi|kwh?|mm"
    r"|cm|ml|mg|[kh]?pa)\b))"
)

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
    r"\d{4}-?w(?:[0-4]\d|5[0-3])(?![\w-])(?P<week_iso>)",
    r"\d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.|-\d{1,2}-)\d{4}(?!\w|[/.:-]\d)(?P<figures>)",
    r"\d{1,2}(?::\d{2}|\s?[ap]\.?\s?m\b)(?P<clock>)",
    rf"(?:{_DAY_BEFORE}\s?(?:-|–|to|bis|till?|tot)\s?)?{_DAY_BEFORE}\s+{_OF}{_MONTH}"
    rf"(?:\.(?=,?\s+(?:del?\s+)?\d))?(?:,?\s+{_OF}{_YEAR})?(?P<dmy>)",
    rf"the\s+{_DAY_WORD}\s+of\s+{_MONTH}(?:,?\s+{_YEAR})?(?P<dmy_words>)",
    r"(?:19|20)\d0'?s\b(?P<decade>)",
    rf"(?:19\d\d|20\d\d|2100){_NO_NUMBER}{_NO_QUANTITY}(?P<year>)",
    rf"{_COUNT}{_FROM_DAY}(?P<ago_day>)",
    rf"an?{_FROM_DAY}(?P<ago_one_day>)",
    rf"{_COUNT}(?:\.5|\s+and\s+a\s+half)\s+{_UNIT}{_AGO}(?P<ago_half>)",
    rf"(?:half\s+an?\s+{_UNIT}|(?:an?|one)\s+{_UNIT}\s+and\s+a\s+half){_AGO}(?P<ago_one_half>)",
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
    rf"|\s+(?:the\s+)?{_DAY_WORD}(?:,?\s+{_YEAR}|(?=\s*(?:$|[^\w\s-])))(?P<mdy_words>)"
    rf"|\.?,?\s+{_OF}{_YEAR}(?P<my>)|(?P<month>))",
    rf"{_WEEKDAY}\b(?P<weekday>)",
    r"q[1-4]\b(?:(?:\s+(?:of\s+)?|/)[12]\d{3}\b)?(?P<quarter>)",
    rf"(?:first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter(?:{_OF_YEAR}|\s+{_YEAR})"
    r"(?P<quarter_words>)",
    rf"(?:first|second|1st|2nd)\s+half{_OF_YEAR}(?P<half_words>)",
    rf"h[12]{_YEAR_BEHIND}{_NO_QUANTITY}(?P<half_year>)",
    rf"(?:week|kw)\s?(?:[1-4]?\d|5[0-3]){_YEAR_BEHIND}{_NO_QUANTITY}(?P<week>)",
)
EXPRESSION: Final = lazy_pattern(r"\b(?:" + "|".join(_ALTERNATIVES) + ")")
FAMILIES: Final = {
    "ago_day": "ago",
    "ago_one_day": "ago",
    "ago_one": "ago",
    "ago_half": "half",
    "ago_one_half": "half",
    "dmy_words": "dmy",
    "mdy_words": "mdy",
    "month_of": "month",
    "weekday_of": "weekday",
    "quarter_words": "quarter",
    "half_words": "half_year",
    "week_iso": "week",
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
MONTH_TRIGGERS: Final = tuple(name[:3] for name in MONTH_NAMES)
MONTH: Final = lazy_pattern(rf"\b{_MONTH}")
# A year has four digits, and no more beside them.
DIGIT_TRIGGER: Final = lazy_pattern(
    r"[0-9](?:(?<!\d\d)\d{3}(?!\d)|:[0-9]{2}|\s?[ap]\.?\s?m\b)|q[1-4]"
)

# Prepositions directly before an expression.
CUE: Final = lazy_pattern(
    r"(?<!\w)(before|until|after|since|between|on|in|by|of|during|last|next|this)\s+(the\s+)?$"
)
# A day with a point before a month. In English the point ends a sentence, and a list numbers its
# lines so: it is the point of a day behind these words, another such day or a weekday, and before
# a month in small letters.
POINTED: Final = lazy_pattern(r"\d\.\s+(?=[a-z])")
DAY_LEAD: Final = lazy_pattern(
    rf"(?<!\w)(?:am|vom|den|der|dem|des|zum|bis|ab|seit|fra|til|d\.|{_WEEKDAY},?"
    r"|\d\.\s+(?:und|oder|og|eller|bis|til))\s+$"
)
# Parts of a year or a decade directly before it, and what may stand behind it; nothing tells in
# which half of the world a season is.
PART_OF_YEAR: Final = lazy_pattern(
    r"(?<!\w)(?:(?P<part>early|mid|late)[\s-]|(?:spring|summer|autumn|winter"
    r"|christmas|easter|(?:(?<=the )|(?<=in )|(?<=since )|(?<=by ))fall)\s)\s*$"
)
BEHIND_YEAR: Final = lazy_pattern(
    r"\s*(?:$|[^\w\s]|(?:and|or|to|until|till|when|while|but|because|by|on|in|at|for|with|as|that"
    r"|was|were|is|are|did|does|do|had|has|have|i|we|you|he|she|it|they|the|a|an|my|our|his|her)\b)"
)
# Between the two ends of a span, of which the first stands behind "from"; a month there is one.
_EDGE = r"(?:the\s+(?:(?:beginning|start|middle|end)\s+of\s+)?)?"
_TO = rf"\s*(?:(?:to|until|till?|through|thru)\s+{_EDGE}|[-–—]\s*)"
SPAN_LEAD: Final = lazy_pattern(rf"(?<!\w)from\s+{_EDGE}$")
SPAN_GAP: Final = lazy_pattern(_TO)
SPAN_TO_MONTH: Final = lazy_pattern(rf"{_TO}{_MONTH}")
LIST_GAP: Final = lazy_pattern(r"\s*(?:,?\s*(?:and|or|to)\s|[,&–—]|\s-\s)\s*")
PRESENT_CUE: Final = lazy_pattern(
    r"\b(?:is|are|am|isn't|aren't|feel|currently|right\s+now|today|tonight)\b"
    r"|\b(?:i'm|(?:we|you|they)'re|(?:he|she|it|that|there)'s)\b"
)


# Times of a question of which no table of dates tells when they were.
_DATELESS: Final = lazy_pattern(
    r"\b(?:last|next|previous)\s+(?:spring|summer|autumn|fall|winter|season|semester|term"
    r"|christmas|easter|decade|century)\b"
    # behind which something follows, "this spring" may be a thing
    r"|\bthis\s+(?:spring|summer|autumn|fall|winter|season|semester|term|christmas|easter"
    r"|decade|century)(?=\s*(?:[,.;:!?]|$))"
    r"|\b(?:first|second)\s+half\s+of\s+(?:last|this|next|the)\s+year\b"
    r"|\bweek\s\d{1,2}\b|(?<!\w)'\d0s\b|\bthe\s+\d0s\b"
    r"|\bthe\s+(?:twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)\b"
    r"|\b\d\d(?:st|nd|rd|th)\s+century\b"
)
# How many of them a warning names.
_NAMED_MAX: Final = 3
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


# --- expressions ------------------------------------------------------------------------------

_WORDS: Final = Substrings(WORD_TRIGGERS)
_DIGITS: Final = Substrings(tuple("0123456789"))
_MONTHS: Final = Substrings(MONTH_TRIGGERS)


class TemporalExpression(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One temporal expression of a text.

    Attributes:
        text: the words as written.
        start, end: code point offsets, half-open.
        window_start_us, window_end_us: the half-open window [start, end) in microseconds since
            the epoch; None = open on that side. The end of a rolling window belongs to it.
        grain: `second` `minute` `hour` `day` `week` `weekend` `month` `quarter` `year`, `clock`
            for a clock time without a day, "" for words beyond the years 1-9999.
        instant_us: the moment an offset ("3 days ago") points to, else None.
        either: whether this is one of two windows of an expression that is left open; such an
            expression stands twice, the earlier window first.
        resolved: whether there is a window.
        clock: clock time as `HH:MM:SS`, or the part of a day (`morning`, `night` …), else None.
    """

    text: str
    start: int
    end: int
    window_start_us: int | None
    window_end_us: int | None
    grain: str
    instant_us: int | None
    resolved: bool
    clock: str | None
    either: bool = False

    def as_window(self) -> TemporalWindow:
        """Its window, as memories and answers show it."""
        start, end = self.window_start_us, self.window_end_us
        return TemporalWindow(
            text=self.text,
            start=None if start is None else from_us(start),
            end=None if end is None else from_us(end),
            grain=self.grain,
            either=self.either,
        )


class FoundTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The expressions of a text in order, clock times, habits and others without a window too;
    `unread`: how many more there are, behind the first 64."""

    expressions: list[TemporalExpression]
    unread: int = 0

    @property
    def windows(self) -> list[TemporalExpression]:
        """Those that have a window."""
        return [item for item in self.expressions if item.resolved]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is said about those that were not read."""
        if not self.unread:
            return ()
        read = len(self.expressions) - sum(item.either for item in self.expressions) // 2
        return (
            f"the first {read} times that the text names were read; {self.unread} more were not,"
            " and it is not found by them",
        )


def lowered(text: str) -> str:
    """The text in lower case with the length it had, so that offsets stay.

    Example:
        >>> lowered("On MONDAY")
        'on monday'
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _may_hold(lower: str) -> bool:
    """A cheap test: False only for texts without any expression."""
    if _WORDS.any_in(lower):
        return True
    digit = _DIGITS.any_in(lower)
    if digit and DIGIT_TRIGGER.search(lower) is not None:
        return True
    may_name_month = MONTH_END in lower or (digit and _MONTHS.any_in(lower))
    return may_name_month and MONTH.search(lower) is not None


def find_times(text: str, t_ref_us: int, *, zone: str = "UTC", dated: bool = True) -> FoundTimes:
    """The temporal expressions of a text, the first 64, and how many more there are.

    Args:
        text, t_ref_us, zone: see `find_windows`.
        dated: False = when the text was said is not known. What only counts from there has no
            window then, and what names no year has two, one on either side of `t_ref_us`.

    Example:
        >>> [found.clock for found in find_times("opens at 2 pm", 0).expressions]
        ['14:00:00']
        >>> find_times("May 1, " * 70, 0).unread
        6
        >>> [one.text for one in find_times("today or on 3 May 2026", 0, dated=False).windows]
        ['on 3 May 2026']
    """
    lower = lowered(text)
    if not _may_hold(lower):
        return _NONE
    # imported here: most texts name no time
    from vestig.language.time.expression_scan import scan

    return scan(text, lower.replace("’", "'"), t_ref_us, zone, dated=dated)


def of_no_known_days(query: str, found: FoundTimes) -> tuple[str, ...]:
    """Return what is said about times that a query names and whose days nothing tells.

    Example:
        >>> query = "Who led it last spring?"
        >>> '"last spring"' in of_no_known_days(query, find_times(query, 0))[0]
        True
    """
    read = [(one.start, one.end) for one in found.expressions if one.resolved]
    named = [
        f'"{query[one.start() : one.end()]}"'
        for one in _DATELESS.finditer(lowered(query).replace("’", "'"))
        if not any(start < one.end() and one.start() < end for start, end in read)
    ]
    if not named:
        return ()
    return (
        f"the days that {', '.join(named[:_NAMED_MAX])} means are not known and count for nothing:"
        ' name them, as in "from March to May 2026"',
    )


def find_windows(text: str, t_ref_us: int, *, zone: str = "UTC") -> list[TemporalExpression]:
    """The windows that a text names, in order; of more than 64 expressions the first ones.

    A weekday, a month, a quarter and a day of a month without a year lie before the reference or
    after it: the words around them decide, alike in memories and queries. What they leave open,
    and a date in figures with two readings, has two windows, both with `either`.

    Args:
        text: any text.
        t_ref_us: the moment from which relative words are measured, microseconds since the epoch.
        zone: name of the time zone in which days begin.

    Raises:
        ValidationError: unknown zone.

    Example:
        >>> from vestig.arguments import parse_time
        >>> from vestig.times import format_us
        >>> found, = find_windows("what broke yesterday?", parse_time("2026-03-18T12:00Z", "t"))
        >>> found.text, format_us(found.window_start_us), found.grain
        ('yesterday', '2026-03-17T00:00:00.000000Z', 'day')
        >>> [one.either for one in find_windows("Friday's numbers", 0)]
        [True, True]
    """
    return find_times(text, t_ref_us, zone=zone).windows


_FIGURES: Final = lazy_pattern(
    r"(?<![\w./:@#+-])(?:\d{4}-\d{2}-\d{2}|\d{1,2}([./-])\d{1,2}\1\d{4})(?![./:@#+_-]?\w)"
)


def days_in_figures(text: str) -> dict[str, str]:
    """Day in figures → the same with the name of its month. A date with two readings, and figures
    that are a part of a longer word, are none.

    Example:
        >>> days_in_figures("on 2025-08-28, 28.8.2025 or 03/08/2025, in log-2025-08-29.txt")
        {'2025-08-28': '28 August 2025', '28.8.2025': '28 August 2025'}
    """
    figures = list(_FIGURES.finditer(text))
    known = find_windows(text, 0) if figures else ()
    found = dict[str, str]()
    for one in figures:
        day = _one_day(one[0])
        read = any(window.start <= one.start() and one.end() <= window.end for window in known)
        if day is not None and read:
            month = MONTH_NAMES[day.month - 1].capitalize()
            found[one[0]] = f"{day.day} {month} {day.year}"
    return found


def _one_day(figures: str) -> date | None:
    """The day that figures mean; None where they mean none, or one of two."""
    first, second, third = map(int, PARTS.findall(figures))
    if first > 31:
        orders = [(first, second, third)]
    elif "." in figures:
        orders = [(third, second, first)]
    else:
        orders = [(third, second, first), (third, first, second)]
    days = set[date]()
    for order in orders:
        with suppress(ValueError):
            days.add(date(*order))
    return days.pop() if len(days) == 1 else None


def with_named_months(text: str, days: Mapping[str, str]) -> str:
    """The text with these days in figures in their other form.

    Example:
        >>> with_named_months("on 2025-08-28", {"2025-08-28": "28 August 2025"})
        'on 28 August 2025'
    """
    return _FIGURES.sub(lambda found: days.get(found[0], found[0]), text)


_NONE: Final = FoundTimes(expressions=[])
