"""Calendar windows of temporal expressions, one function for each family.

Local times are naive datetimes of one zone. A function raises OverflowError or ValueError for times
beyond the years 1-9999.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

import msgspec

from vestig.errors import ValidationError
from vestig.language.time.expressions import (
    CLOCK,
    COUNTS,
    DAY_WORDS,
    ISO,
    MONTHS,
    PARTS,
    PARTS_OF_YEAR,
    WEEKDAYS,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.times import from_us

DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1)
_WEEK: Final = timedelta(days=7)
_BELOW_DAY: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_YEAR_DIGITS: Final = 4
_YEARLESS_SPAN: Final = 9  # 29 February comes again within eight years


class Window(msgspec.Struct):
    """A window in local time; None = open on that side.

    `length`: code points that the expression has where its family reads more of the text than was
    matched. `other`: the second window of an expression without a year, which begins after the
    reference, or of a date in figures that has two readings. `yearless`: any year can be put in.
    """

    start: datetime | None
    end: datetime | None
    grain: str
    instant: datetime | None = None
    clock: str | None = None
    length: int | None = None
    other: Window | None = None
    yearless: bool = False


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    # most stores live in UTC and never need it
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValidationError(
            "time.zone", name, "the name of a time zone such as UTC or Europe/Oslo"
        ) from None


class ReferenceTime:
    """The moment from which relative expressions count, in its zone, and the lower-cased text."""

    __slots__ = ("lower", "midnight", "now", "tz")

    def __init__(self, t_ref_us: int, zone: str, lower: str) -> None:
        self.tz = None if zone == "UTC" else _zone(zone)
        moment = from_us(t_ref_us)
        if self.tz is not None:
            try:
                moment = moment.astimezone(self.tz)
            except OverflowError:  # the zone's day lies outside the years 1-9999
                self.tz = None
        self.lower = lower
        self.now = moment.replace(tzinfo=None)
        self.midnight = self.now.replace(hour=0, minute=0, second=0, microsecond=0)

    def us(self, local: datetime | None) -> int | None:
        """Microseconds since the epoch of a local time."""
        if local is None:
            return None
        if self.tz is not None:
            local = local.replace(tzinfo=self.tz).astimezone(UTC).replace(tzinfo=None)
        delta = local - _EPOCH
        return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def months_later(moment: datetime, months: int) -> datetime:
    """The same day of another month, at most that month's last day.

    Example:
        >>> months_later(datetime(2026, 3, 31), -1).date().isoformat()
        '2026-02-28'
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    day = moment.day
    while True:
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            if day <= 28:
                raise
            day -= 1


def _month(year: int, month: int) -> Window:
    start = datetime(year, month, 1)
    return Window(start, months_later(start, 1), "month")


def _quarter(year: int, number: int) -> Window:
    start = datetime(year, 3 * number - 2, 1)
    return Window(start, months_later(start, 3), "quarter")


def _year(year: int) -> Window:
    return Window(datetime(year, 1, 1), datetime(year + 1, 1, 1), "year")


def _day(midnight: datetime) -> Window:
    return Window(midnight, midnight + DAY, "day")


def _unit_around(moment: datetime, unit: str) -> Window:
    """The calendar unit that contains a moment; weeks start on Monday."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return _day(midnight)
    if unit in ("week", "weekend"):
        monday = midnight - timedelta(days=midnight.weekday())
        return Window(monday if unit == "week" else monday + 5 * DAY, monday + _WEEK, unit)
    if unit == "month":
        return _month(moment.year, moment.month)
    if unit == "quarter":
        return _quarter(moment.year, (moment.month + 2) // 3)
    return _year(moment.year)


def _shifted(moment: datetime, unit: str, count: int) -> datetime:
    if unit in ("month", "quarter", "year"):
        return months_later(moment, count * {"month": 1, "quarter": 3, "year": 12}[unit])
    return moment + count * (_WEEK if unit.startswith("week") else _BELOW_DAY.get(unit, DAY))


def _count(words: list[str]) -> int:
    if words[0].isdigit():
        return int(words[0])
    if "couple" in words:
        return 2
    return 3 if words[-1] == "few" else COUNTS[words[0]]


def _offset(reference: ReferenceTime, unit: str, count: int) -> Window:
    moment = _shifted(reference.now, unit, count)
    if unit in _BELOW_DAY:
        half = _BELOW_DAY[unit] / 2
        return Window(moment - half, moment + half, unit, moment)
    window = _unit_around(moment, unit)
    window.instant = moment
    return window


# --- families: each takes the reference and the words matched, and gives the window, or None when
# they are no expression ----------------------------------------------------------------------


_NEAR_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}


# "exactly two weeks ago" is a day; "two weeks ago" is a week.
_TO_THE_DAY: Final = lazy_pattern(r"\b(?:exactly|precisely)\s+$")


def _ago(reference: ReferenceTime, found: str, start: int) -> Window:
    words = found.split()
    if words[-1] == "ago":
        unit, count = words[-2].removesuffix("s"), _count(words[:-2])
        exact = _TO_THE_DAY.search(reference.lower, max(0, start - 16), start)
        if exact is not None and unit in ("week", "month", "year"):
            return _day(_shifted(reference.midnight, unit, -count))
        return _offset(reference, unit, -count)
    if words[-1] in _NEAR_DAYS:
        sign = -1 if words[-2] in ("ago", "before") else 1
        unit, count = words[-3].removesuffix("s"), _count(words[:-3])
        near = reference.midnight + _NEAR_DAYS[words[-1]] * DAY
        return _day(_shifted(near, unit, sign * count))
    return _offset(reference, words[-3].removesuffix("s"), _count(words[:-3]))


# What a half of a unit is in smaller ones; the window reaches half of that to either side.
_HALF_OF: Final = {
    "year": ("month", 6),
    "month": ("day", 15),
    "week": ("hour", 84),
    "day": ("hour", 12),
    "hour": ("minute", 30),
}


def _half(reference: ReferenceTime, found: str) -> Window | None:
    """`half a year ago`, `a year and a half ago`, `2.5 hours from now`."""
    words = found.replace(".5", " and a half").split()
    sign = -1 if words[-1] == "ago" else 1
    unit = next((one for one in _HALF_OF if one in words or f"{one}s" in words), None)
    if unit is None:
        return None
    small, many = _HALF_OF[unit]
    whole = 0 if words[0] == "half" else _count(words[: words.index("and")])
    moment = _shifted(_shifted(reference.now, unit, sign * whole), small, sign * many)
    early, late = (_shifted(moment, small, side * (many // 2)) for side in (-1, 1))
    return Window(early, late, small, moment)


def _within(reference: ReferenceTime, found: str) -> Window:
    words = found.split()
    return _offset(reference, words[-1].removesuffix("s"), _count(words[1:-1]))


def _rolling(reference: ReferenceTime, found: str) -> Window:
    words = found.split()
    unit, count = words[-1].removesuffix("s"), _count(words[1:-1])
    if words[0] == "next":
        return Window(reference.now, _shifted(reference.now, unit, count), unit)
    return Window(_shifted(reference.now, unit, -count), reference.now, unit)


_WHICH: Final = {"last": -1, "this": 0, "next": 1}


def _calendar(reference: ReferenceTime, found: str) -> Window:
    which, unit = found.split()
    window = _unit_around(_shifted(reference.midnight, unit, _WHICH[which]), unit)
    if (which, unit) == ("next", "weekend"):
        # as of a weekday, where this week still brings one
        coming = _unit_around(reference.midnight, unit)
        if coming.start is not None and reference.midnight < coming.start:
            coming.other = window
            return coming
    return window


_DAY_WORDS: Final = {
    "today": (0, None),
    "tonight": (0, "night"),
    "tomorrow": (1, None),
    "yesterday": (-1, None),
    "last night": (-1, "night"),
    "this morning": (0, "morning"),
    "this afternoon": (0, "afternoon"),
    "this evening": (0, "evening"),
    "day before yesterday": (-2, None),
    "day after tomorrow": (2, None),
}


def _day_word(reference: ReferenceTime, found: str) -> Window:
    days, part = _DAY_WORDS[" ".join(found.split())]
    window = _day(reference.midnight + days * DAY)
    window.clock = part
    return window


def _weekday(reference: ReferenceTime, found: str) -> Window:
    *which, name = found.split()
    wanted, today = WEEKDAYS[name], reference.midnight.weekday()
    back = (today - wanted) % 7
    if which == ["this"]:
        window = _day(reference.midnight + (wanted - today) * DAY)
        if wanted < today:
            window.other = _day(reference.midnight + (wanted - today + 7) * DAY)
        return window
    if which == ["last"]:
        return _day(reference.midnight - (back or 7) * DAY)
    coming = _day(reference.midnight + (7 - back) * DAY)
    if which == ["next"]:
        # of a day that this week still brings, people mean that one or the one of next week
        if wanted > today:
            coming.other = _day(reference.midnight + (wanted - today + 7) * DAY)
        return coming
    window = _day(reference.midnight - back * DAY)
    window.other = coming
    return window


def _yearless(reference: ReferenceTime, make: Callable[[int], Window]) -> Window | None:
    """The newest window that begins at or before the reference; `other` is the first one after
    it, unless this one holds the reference."""
    past = _of_years(reference, make, -1)
    coming = _of_years(reference, make, 1)
    if past is None:
        return coming
    assert past.end is not None
    if past.end <= reference.now:
        past.other = coming
    return past


def _of_years(reference: ReferenceTime, make: Callable[[int], Window], step: int) -> Window | None:
    """The nearest year's window before (-1) or after (1) the reference."""
    for shift in range(_YEARLESS_SPAN):
        try:
            window = make(reference.now.year + step * shift)
        except ValueError:
            continue
        assert window.start is not None
        if (window.start > reference.now) is (step > 0):
            window.yearless = True
            return window
    return None


def _date(reference: ReferenceTime, found: str) -> Window | None:
    """`5th of March, 2026`, `the fifth of March`, `March 5`, `March 5-9`."""
    parts = PARTS.findall(found)
    numbers = [int(part) for part in parts if part.isdigit()]
    month = next(MONTHS[part] for part in parts if part in MONTHS)
    in_words = sum(DAY_WORDS.get(part, 0) for part in parts)
    days = [in_words] if in_words else [number for number in numbers if number <= 31]
    years = [number for number in numbers if number > 31]
    if len(days) == 2 and days[0] >= days[1]:
        return None

    def of_year(year: int) -> Window:
        first, last = datetime(year, month, days[0]), datetime(year, month, days[-1])
        return Window(first, last + DAY, "day")

    if not years:
        return _yearless(reference, of_year)
    try:
        return of_year(years[0])
    except ValueError:
        return None


def _figures(_frame: ReferenceTime, found: str) -> Window | None:
    """`13/04/2026`: both readings where both are dates, but with points the day comes first."""
    first, second, year = (int(part) for part in PARTS.findall(found))
    readings = list[Window]()
    for day, month in ((first, second), (second, first)):
        try:
            window = _day(datetime(year, month, day))
        except ValueError:
            continue
        if all(window.start != known.start for known in readings):
            readings.append(window)
    if not readings:
        return None
    if len(readings) == 2 and "." not in found:
        early, late = sorted(readings, key=lambda window: (window.start is None, window.start))
        early.other = late
        return early
    return readings[0]


def _month_year(_frame: ReferenceTime, found: str) -> Window:
    parts = PARTS.findall(found)
    return _month(int(parts[-1]), MONTHS[parts[0]])


def _month_word(reference: ReferenceTime, found: str) -> Window | None:
    *which, name = found.split()
    number = MONTHS[name]
    # "sept" alone is a number in French
    if name == "sept" or (name not in ("may", "march") and len(name) < 4):
        return None
    year, current = reference.now.year, reference.now.month
    if which == ["this"]:
        return _month(year, number)
    if which == ["last"]:
        return _month(year - (number >= current), number)
    if which == ["next"]:
        return _month(year + (number <= current), number)
    return _yearless(reference, lambda y: _month(y, number))


def _quarter_word(reference: ReferenceTime, found: str) -> Window | None:
    part, *_ = found.replace("/", " ").split()
    year = PARTS.findall(found)[-1]
    number = PARTS_OF_YEAR[part]
    if len(year) == _YEAR_DIGITS:
        return _quarter(int(year), number)
    return _yearless(reference, lambda y: _quarter(y, number))


def _half_year(_frame: ReferenceTime, found: str) -> Window:
    """`H1 2026`, `first half of 2026`."""
    part, *_ = found.replace("/", " ").split()
    start = datetime(int(PARTS.findall(found)[-1]), 6 * PARTS_OF_YEAR[part] - 5, 1)
    return Window(start, months_later(start, 6), "month")


def _numbered_week(_frame: ReferenceTime, found: str) -> Window:
    """`week 20 of 2026`, `2026-W20`: weeks are counted as in ISO 8601."""
    numbers = [int(part) for part in PARTS.findall(found) if part.isdigit()]
    monday = datetime.fromisocalendar(max(numbers), min(numbers), 1)
    return Window(monday, monday + _WEEK, "week")


def _decade(_frame: ReferenceTime, found: str) -> Window:
    first = int(found[:_YEAR_DIGITS])
    return Window(datetime(first, 1, 1), datetime(first + 10, 1, 1), "year")


def _year_word(_frame: ReferenceTime, found: str) -> Window:
    return _year(int(found))


def _iso(reference: ReferenceTime, start: int) -> Window | None:
    match = ISO.match(reference.lower, start)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day))
        if hour is None:
            window = _day(moment)
        else:
            moment = moment.replace(hour=int(hour), minute=int(minute), second=int(second or "0"))
            step, grain = timedelta(minutes=1), "minute"
            if second is not None:
                step, grain = timedelta(seconds=1), "second"
            if fraction is not None:
                moment = moment.replace(microsecond=int(fraction[:6].ljust(6, "0")))
                step = timedelta(microseconds=10 ** (6 - len(fraction[:6])))
            if zone is not None:
                moment = _at_offset(reference, moment, zone)
            window = Window(moment, moment + step, grain)
    except ValueError:
        return None
    window.length = match.end() - start
    return window


def _at_offset(reference: ReferenceTime, moment: datetime, zone: str) -> datetime:
    """A moment written with its own offset, as local time of the reference."""
    shift = timedelta(0)
    if zone != "z":
        digits = zone[1:].replace(":", "").ljust(6, "0")
        hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
        if hours > 23 or minutes > 59 or seconds > 59:
            raise ValueError(zone)
        shift = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    utc = moment + shift if zone[0] == "-" else moment - shift
    if reference.tz is None:
        return utc
    return utc.replace(tzinfo=UTC).astimezone(reference.tz).replace(tzinfo=None)


def _clock(reference: ReferenceTime, start: int) -> Window | None:
    match = CLOCK.match(reference.lower, start)
    if match is None:
        return None
    hour, minute, second = (int(part or "0") for part in match.groups()[:3])
    half = match[4]
    if half is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return Window(None, None, "clock", clock=clock, length=match.end() - start)


def _placed(
    make: Callable[[ReferenceTime, int], Window | None],
) -> Callable[[ReferenceTime, str, int], Window | None]:
    return lambda reference, _found, start: make(reference, start)


def _worded(
    make: Callable[[ReferenceTime, str], Window | None],
) -> Callable[[ReferenceTime, str, int], Window | None]:
    return lambda reference, found, _start: make(reference, found)


FAMILY_WINDOWS: Final[dict[str, Callable[[ReferenceTime, str, int], Window | None]]] = {
    "iso": _placed(_iso),
    "clock": _placed(_clock),
    "ago": _ago,
    "half": _worded(_half),
    "within": _worded(_within),
    "rolling": _worded(_rolling),
    "calendar": _worded(_calendar),
    "day": _worded(_day_word),
    "dmy": _worded(_date),
    "mdy": _worded(_date),
    "my": _worded(_month_year),
    "month": _worded(_month_word),
    "weekday": _worded(_weekday),
    "figures": _worded(_figures),
    "quarter": _worded(_quarter_word),
    "half_year": _worded(_half_year),
    "week": _worded(_numbered_week),
    "year": _worded(_year_word),
    "decade": _worded(_decade),
}
