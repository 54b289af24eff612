"""Temporal expressions of a text, and their windows of time."""

from __future__ import annotations

from string import digits
from typing import Final

import msgspec

from vestig.language.time.patterns import (
    DIGIT_TRIGGER,
    MONTH,
    MONTH_END,
    MONTH_TRIGGERS,
    WORD_TRIGGERS,
)
from vestig.language.words import Substrings

_WORDS: Final = Substrings(WORD_TRIGGERS)
_DIGITS: Final = Substrings(tuple(digits))
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


def find_times(text: str, t_ref_us: int, *, zone: str = "UTC") -> FoundTimes:
    """The temporal expressions of a text, the first 64, and how many more there are.

    Arguments: see `find_windows`.

    Example:
        >>> [found.clock for found in find_times("opens at 2 pm", 0).expressions]
        ['14:00:00']
        >>> find_times("May 1, " * 70, 0).unread
        6
    """
    lower = lowered(text)
    if not _may_hold(lower):
        return _NONE
    # imported here: most texts name no time
    from vestig.language.time.expression_scan import scan

    return scan(text, lower.replace("’", "'"), t_ref_us, zone)


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


def find_expressions(text: str, t_ref_us: int, *, zone: str = "UTC") -> list[TemporalExpression]:
    """Like `find_windows`, with clock times, habits and others that have no window."""
    return find_times(text, t_ref_us, zone=zone).expressions


_NONE: Final = FoundTimes(expressions=[])
