"""Expressions of time in a text, with the dates that they mean beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from vestig.lazy_pattern import lazy_pattern
from vestig.times import zone_named
from vestig.types import TemporalWindow

_DAY: Final = timedelta(days=1)
_MOMENT: Final = timedelta(microseconds=1)
# Who names the year needs no help.
_YEAR: Final = lazy_pattern(r"(?<!\d)\d{4}(?!\d)")
# "the last 3 days" is no unit of the calendar.
_COUNTED: Final = lazy_pattern(
    r"\b(?:last|past|next)\s+\S.*\s(?:day|week|month|year)s?$", re.IGNORECASE
)
_DAYS: Final = {"day": 1, "week": 7, "weekend": 2}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_JOIN: Final = "; "


def _local(moment: datetime, zone: tzinfo) -> datetime:
    """The moment on the clocks of the zone; at the ends of the calendar there is no other."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def day_of(moment: datetime, zone: str) -> str:
    """The day of a moment where its zone is, as YYYY-MM-DD.

    Example:
        >>> from datetime import UTC
        >>> day_of(datetime(2026, 3, 18, 23, 30, tzinfo=UTC), "Europe/Oslo")
        '2026-03-19'
    """
    return _local(moment, zone_named(zone)).date().isoformat()


def _midnight(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def _point(moment: datetime) -> str:
    day = moment.date().isoformat()
    return day if _midnight(moment) else f"{day} {moment.hour:02d}:{moment.minute:02d}"


def _days(start: datetime, end: datetime) -> str:
    """Whole days: a day, a month, a quarter, a year, or the first and the last day."""
    first, last = start.date(), (end - _MOMENT).date()
    if first == last:
        return first.isoformat()
    if start.day == end.day == 1:
        months = _months(end) - _months(start)
        if months == 1:
            return first.isoformat()[:7]
        if months == 3 and start.month % 3 == 1:
            return f"{first.year:04d}-Q{(start.month + 2) // 3}"
        if months == 12 and start.month == 1:
            return first.isoformat()[:4]
    return f"{first.isoformat()} to {last.isoformat()}"


def _months(moment: datetime) -> int:
    return 12 * moment.year + moment.month


def _unit(window: TemporalWindow, start: datetime | None, end: datetime | None) -> str:
    """The unit of the calendar that an open window goes up to or begins with, which is what the
    words behind "until" or "since" name; "" where it is none."""
    edge = end if start is None else start
    assert edge is not None
    if not _midnight(edge) or _COUNTED.search(window.text) is not None:
        return ""
    days, months = _DAYS.get(window.grain, 0), _MONTHS.get(window.grain, 0)
    if (not days and edge.day != 1) or not (days or months):
        return ""
    if start is not None and window.text.lower().startswith("after"):
        return _days(_earlier(edge, months) - timedelta(days=days), edge)
    return _days(edge, _earlier(edge, -months) + timedelta(days=days))


def _earlier(moment: datetime, months: int) -> datetime:
    """The first of a month so many months earlier; later for a negative number."""
    if not months:
        return moment
    year, month = divmod(_months(moment) - 1 - months, 12)
    return moment.replace(year=year, month=month + 1)


def window_words(window: TemporalWindow, zone: str) -> str:
    """A window as dates, both ends in: for `until Friday` the date of that Friday. "" for one that
    is open on both sides.

    Example:
        >>> from datetime import UTC
        >>> week = TemporalWindow(text="last week", grain="week",
        ...     start=datetime(2026, 3, 9, tzinfo=UTC), end=datetime(2026, 3, 16, tzinfo=UTC))
        >>> window_words(week, "UTC")
        '2026-03-09 to 2026-03-15'
    """
    where = zone_named(zone)
    start = None if window.start is None else _local(window.start, where)
    end = None if window.end is None else _local(window.end, where)
    if start is None and end is None:
        return ""
    if start is None or end is None:
        try:
            unit = _unit(window, start, end)
        except (OverflowError, ValueError):  # an end of the calendar
            unit = ""
        return unit or _open_words(start, end)
    if _midnight(start) and _midnight(end) and start < end:
        return _days(start, end)
    if end - start >= 2 * _DAY:
        return f"{start.date().isoformat()} to {end.date().isoformat()}"
    if start == end:
        return _point(start)
    same_day = start.date() == end.date()
    until = f"{end.hour:02d}:{end.minute:02d}" if same_day else _point(end)
    return f"{_point(start)} to {until}"


def _open_words(start: datetime | None, end: datetime | None) -> str:
    if start is not None:
        return f"from {_point(start)} on"
    assert end is not None
    return f"before {_point(end)}"


def meanings(times: Sequence[TemporalWindow], zone: str) -> dict[str, str]:
    """Expression → its dates, in the order of the text; several occasions are joined by `;`.
    Left out is what names its year already, and what may mean one date or another."""
    found: dict[str, list[str]] = {}
    unclear = {window.text for window in times if window.either}
    for window in times:
        words = window_words(window, zone)
        if words and window.text not in unclear and not _YEAR.search(window.text):
            known = found.setdefault(window.text, [])
            if words not in known:
                known.append(words)
    return {text: _JOIN.join(words) for text, words in found.items()}


def _places(text: str, content: str) -> list[tuple[int, int]]:
    """Where an expression stands in a content, as a whole word; a line may end inside of it."""
    words = r"\s+".join(map(re.escape, text.split()))
    return [found.span() for found in re.finditer(rf"(?<!\w){words}(?!\w)", content)]


def dated(content: str, times: Sequence[TemporalWindow], zone: str) -> str:
    """The text with the dates that its expressions of time mean in brackets behind them, each
    once; nothing behind an expression that may mean one date or another.

    Example:
        >>> from datetime import UTC
        >>> day = TemporalWindow(text="yesterday", grain="day",
        ...     start=datetime(2026, 3, 17, tzinfo=UTC), end=datetime(2026, 3, 18, tzinfo=UTC))
        >>> dated("I ran 5 km yesterday.", [day], "UTC")
        'I ran 5 km yesterday [2026-03-17].'
    """
    known = meanings(times, zone)
    taken = list[tuple[int, int, str]]()
    # the longest first: "March" does not stand for a part of "March 5"
    for text in sorted(known, key=len, reverse=True):
        free = [
            (start, end)
            for start, end in _places(text, content)
            if all(end <= low or start >= high for low, high, _ in taken)
        ]
        # which of several dates belongs to which of several places is not stored
        if free and (len(free) == 1 or _JOIN not in known[text]):
            taken.append((*free[0], known[text]))
    for _, end, words in sorted(taken, reverse=True):
        content = f"{content[:end]} [{words}]{content[end:]}"
    return content
