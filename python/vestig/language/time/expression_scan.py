"""One pass over a text that holds temporal expressions: what is one, and which window it has."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import timedelta
from operator import attrgetter
from typing import Final

import msgspec

from vestig.language.time.cues import Place
from vestig.language.time.direction import Direction, Directions
from vestig.language.time.expressions import (
    AMBIGUOUS_MONTHS,
    BEHIND_YEAR,
    CUE,
    DAY_LEAD,
    EXPRESSION,
    FAMILIES,
    GLUE,
    LIST_GAP,
    PART_OF_YEAR,
    POINTED,
    SPAN_GAP,
    SPAN_LEAD,
    SPAN_TO_MONTH,
    WEEKDAYS,
    FoundTimes,
    TemporalExpression,
)
from vestig.language.time.windows import DAY, FAMILY_WINDOWS, ReferenceTime, Window, months_later
from vestig.lazy_pattern import lazy_pattern

_OPEN: Final = frozenset(("before", "until", "after", "since"))
_YEAR_CUES: Final = frozenset(("in", "since", "by", "of", "during")) | _OPEN
_MONTH_CUES: Final = frozenset(("in", "on", "since", "by", "of", "between")) | _OPEN
_ABSOLUTE: Final = frozenset(("iso", "figures", "dmy", "mdy", "my", "month", "quarter", "year"))
# Families whose windows have ends of a year that is told, or may have.
_SPANNING: Final = _ABSOLUTE | {"half_year", "week", "decade"}
_ON: Final = frozenset(("weekday", "iso", "figures", "dmy", "mdy"))
_IN: Final = frozenset(("my", "month", "year", "quarter", "half_year", "week", "decade"))
_CUE_REACH: Final = 16
_SPAN_REACH: Final = 32
_AND: Final = frozenset(("and", "and the"))
_MONTHED: Final = frozenset(("dmy", "mdy", "my", "month"))
_YEARLESS: Final = frozenset(("dmy", "mdy", "month", "quarter"))
_start: Final = attrgetter("start")
_RANGE: Final = lazy_pattern(r"\s*(?:to|through|thru|[-–—])\s*")
_IN_WEEK: Final = lazy_pattern(r"\s*,?\s*(?:of\s+|on\s+)?")
_IN_YEAR: Final = lazy_pattern(r"\s*,?\s*(?:(?:of|in|on)\s+)?")
_NUMBERED: Final = lazy_pattern(r",?\s+(?:the\s+)?\d{1,2}(?:st|nd|rd|th)\b")
_FOUR_DIGITS: Final = lazy_pattern(r"(?<!\d)\d{4}(?!\d)")
_WEEK_DAYS: Final = 7
# Families whose windows count from when a text was said, and words that make others do so.
_COUNTED: Final = frozenset(("ago", "half", "within", "rolling", "calendar", "day", "weekday"))
_COUNTING: Final = ("last ", "this ", "next ")
# Expressions of one text that are read; more are those of a table or a log, of which none is what
# the text is about.
READ_MAX: Final = 64
_DIRECTED: Final = _YEARLESS | {"weekday", "between", "figures"}


class _Match(msgspec.Struct):
    """An expression during the scan: `window` None = unresolved; `accepted` False = a lone year.

    `other`: the window on the other side of the reference, or of the other reading. `place`: where
    it stands without the preposition before it. `opening`: the preposition that opens its window.
    `unsure`: a number before it may be its day, or end another sentence.
    """

    family: str
    start: int
    end: int
    window: Window | None
    place: Place
    other: Window | None = None
    opening: str = ""
    accepted: bool = True
    either: bool = False
    unsure: bool = False


def _cue_before(lower: str, start: int) -> tuple[str, int]:
    """The preposition that stands directly before `start`, and where it begins; "" for none."""
    low = max(0, start - _CUE_REACH)
    match = CUE.search(lower[low:start])
    return (match[1], low + match.start()) if match else ("", start)


def _part_of_year(lower: str, start: int, end: int) -> re.Match[str] | None:
    """The part of a year that stands before it, if no word that it counts stands behind it."""
    found = PART_OF_YEAR.search(lower, max(0, start - _CUE_REACH), start)
    return found if BEHIND_YEAR.match(lower, end) else None


# Where a part begins and ends, in quarters of the whole.
_PARTS: Final = {"early": (0, 2), "mid": (1, 3), "late": (2, 4)}


def _of_part(whole: Window, part: str | None) -> Window:
    """The window of a part of a year or a decade; all of it for a season."""
    if part is None:
        return whole
    assert whole.start is not None
    assert whole.end is not None
    quarter = 3 * (whole.end.year - whole.start.year)
    first, last = (months_later(whole.start, quarter * place) for place in _PARTS[part])
    return Window(first, last, "month")


def _is_month(family: str, words: str, place: str, cue: str) -> bool:
    """Return whether `may` and `march` are months here: only capitalised and in a temporal
    place."""
    for name in AMBIGUOUS_MONTHS:
        at = words.find(name)
        if at >= 0 and (at == 0 or not words[at - 1].isalpha()):
            if not place[at].isupper():
                return False
            return family != "month" or at > 0 or cue in _MONTH_CUES
    return True


def _opened(window: Window | None, cue: str) -> Window | None:
    """A closed window behind before, until, after or since."""
    if window is None or cue not in _OPEN:
        return window
    if cue in ("before", "until"):
        return Window(None, window.start, window.grain)
    return Window(window.end if cue == "after" else window.start, None, window.grain)


def _moved(window: Window, steps: int) -> Window:
    """A yearless window so many years later, a weekday so many weeks."""
    assert window.start is not None
    assert window.end is not None
    if window.yearless:
        start, end = months_later(window.start, 12 * steps), months_later(window.end, 12 * steps)
    else:
        start, end = window.start + 7 * steps * DAY, window.end + 7 * steps * DAY
    return Window(start, end, window.grain, yearless=window.yearless)


def _movable(window: Window) -> bool:
    """Return whether another year, or another week, may be meant."""
    assert window.start is not None
    assert window.end is not None
    return window.yearless or (window.grain == "day" and window.end - window.start == DAY)


def _is_behind(last: Window, first: Window) -> bool:
    assert first.start is not None
    assert last.start is not None
    return first.start < last.start


def _in_order(first: Window, last: Window, *, forward: bool) -> tuple[Window, Window]:
    """Two windows of which the second must not begin before the first: the one moves to the
    other, backward or forward."""
    assert first.start is not None
    assert last.start is not None
    if first.start > last.start:
        near = first.start - last.start < _WEEK_DAYS * DAY
        if forward and _movable(last) and (last.yearless or near):
            return first, _moved(last, 1)
        if _movable(first) and (first.yearless or near):
            return _moved(first, -1), last
    return first, last


def _spanned(first: Window, last: Window, *, forward: bool) -> Window:
    """[start of first, end of last)."""
    first, last = _in_order(first, last, forward=forward)
    assert first.start is not None
    assert last.end is not None
    if first.start >= last.end:
        first, last = last, first
    return Window(first.start, last.end, last.grain)


class _Scan:
    """One pass over a text. `dated`: when it was said is known."""

    def __init__(self, text: str, lower: str, reference: ReferenceTime, *, dated: bool) -> None:
        self.dated = dated
        self.text = text
        self.lower = lower
        self.reference = reference
        self.found: list[_Match] = []
        # start of a "between" whose first operand is the last one found
        self.between: int | None = None
        # how many were not read
        self.unread = 0

    def run(self) -> list[_Match]:
        """The first expressions, in order."""
        lower, position, accepted = self.lower, 0, 0
        while (match := EXPRESSION.search(lower, position)) is not None:
            name = match.lastgroup
            assert name is not None
            if accepted == READ_MAX:
                self.unread += name != "year"
                position = match.end()
                continue
            known = len(self.found)
            position = self._take(FAMILIES.get(name, name), match.start(), match.end())
            accepted += sum(item.accepted for item in self.found[known:])
        if len(self.found) > 1:
            self._join_spans()
        if any(not item.accepted for item in self.found):
            self._link_years()
        self.found = [found for found in self.found if found.accepted]
        self.unread += max(0, len(self.found) - READ_MAX)
        del self.found[READ_MAX:]
        if any(item.family in _DIRECTED or item.other is not None for item in self.found):
            if self.dated:
                self._join_named()
            self._decide()
        for item in self.found:
            item.window = _opened(item.window, item.opening)
            item.other = _opened(item.other, item.opening)
        return self.found

    def _take(self, family: str, start: int, end: int) -> int:
        """Adds what the words name; where to search on."""
        lower, words = self.lower, self.lower[start:end]
        parted = family in ("year", "decade")
        of_part = _part_of_year(lower, start, end) if parted else None
        month = self._month_behind_point(family, start, end)
        if start and words[0].isdigit() and lower[start - 1] in GLUE and of_part is None:
            return month or end
        cue, cue_start = _cue_before(lower, start if of_part is None else of_part.start())
        second = self.between is not None and (
            " ".join(lower[self.found[-1].end : start].split()) in _AND
        )
        placed = second or (family == "month" and self._begins_span(start, end))
        if family in _MONTHED and not _is_month(
            family, words, self.text[start:end], "in" if placed else cue
        ):
            return start + 1
        if month and not _FOUR_DIGITS.search(words):
            family, start, words = "month", month, lower[month:end]
        found = _Match(family, start, end, None, Place(family, start, end), unsure=month > 0)
        try:
            window = FAMILY_WINDOWS[family](self.reference, words, start)
            if window is not None and month and family == "dmy":
                day, window = window, FAMILY_WINDOWS["my"](self.reference, lower[month:end], month)
                assert window is not None
                window.other = day
        except (OverflowError, ValueError):
            window = None
        else:
            if window is None:
                return end
            if window.length is not None:
                found.end = start + window.length
            found.other = window.other
            if of_part is not None:
                window = _of_part(window, of_part["part"])
                found.start = of_part.start()
            if not self.dated and (family in _COUNTED or words.startswith(_COUNTING)):
                window = found.other = None
        found.window = window
        if second:
            self._close_between(found)
            return found.end
        self.between = None
        if cue == "between":
            self.between = cue_start
        elif family != "clock":
            self._take_preposition(found, cue, cue_start)
        found.accepted = family != "year" or cue in _YEAR_CUES or of_part is not None
        self._add(found)
        return found.end

    def _month_behind_point(self, family: str, start: int, end: int) -> int:
        """Where the month begins that has a number with a point before it, where that may end the
        sentence before; else 0."""
        lower = self.lower
        point = POINTED.search(lower, start, end) if family == "dmy" else None
        if point is None or self.text[point.end()].islower():
            return 0
        certain = "." in lower[start : point.start()] or DAY_LEAD.search(
            lower[max(0, start - _CUE_REACH) : start]
        )
        return 0 if certain else point.end()

    def _take_preposition(self, found: _Match, cue: str, cue_start: int) -> None:
        """Takes before, until, after and since along, and `on` and `in` where they belong."""
        if cue in _OPEN:
            found.opening = cue
        elif not ((cue == "on" and found.family in _ON) or (cue == "in" and found.family in _IN)):
            return
        found.start = cue_start

    def _add(self, found: _Match) -> None:
        """Appends; a weekday directly before a written date is part of it."""
        if self.found and found.family in ("dmy", "mdy", "iso", "figures"):
            last = self.found[-1]
            gap = self.lower[last.end : found.start]
            if last.family == "weekday" and gap.strip(" ,") in ("", "the"):
                found.start = last.start
                found.opening = found.opening or last.opening
                self._by_weekday(found, self.lower[last.place.start : last.place.end])
                found.place = Place(found.family, last.place.start, found.end)
                self.found[-1] = found
                return
        self.found.append(found)

    def _by_weekday(self, found: _Match, weekday: str) -> None:
        """`Monday, April 13`: of two years the one in which the day is a Monday."""
        number = WEEKDAYS[weekday.rsplit(maxsplit=1)[-1]]
        fits = [
            window
            for window in (found.window, found.other)
            if window is not None and window.start is not None and window.start.weekday() == number
        ]
        if len(fits) == 1:
            found.window, found.other = fits[0], None

    def _close_between(self, second: _Match) -> None:
        first = self.found[-1]
        assert self.between is not None
        start, self.between = self.between, None
        one, two = first.window, second.window
        if one is None or two is None or "clock" in (one.grain, two.grain):
            self.found.append(second)
            return
        directed = first.other is not None or second.other is not None
        ahead = (first.other or one, second.other or two)
        first.start, first.end, first.accepted = start, second.end, True
        first.family = "between"
        first.place = Place("between", start, second.end)
        try:
            first.window = _spanned(one, two, forward=first.other is None and not one.yearless)
            if directed:
                first.other = _spanned(*ahead, forward=True)
        except (OverflowError, ValueError):
            first.window = first.other = None
            return
        if first.other is not None and first.other.start == first.window.start:
            first.other = None

    def _join_spans(self) -> None:
        """`from 2020 to 2022` and `from 13 July to 7 August 2026` are one expression."""
        joined = list[_Match]()
        for item in self.found:
            if not (joined and self._joined_span(joined[-1], item)):
                joined.append(item)
        self.found = joined

    def _span_lead(self, start: int) -> re.Match[str] | None:
        return SPAN_LEAD.search(self.lower, max(0, start - _SPAN_REACH), start)

    def _begins_span(self, start: int, end: int) -> bool:
        """Return whether a span to a month begins here: `from May to July`."""
        if self._span_lead(start) is None:
            return False
        return SPAN_TO_MONTH.match(self.lower, end) is not None

    def _joined_span(self, left: _Match, right: _Match) -> bool:
        """Joins the ends of a span into the left one, which takes the year of the right one if it
        has none."""
        if not {left.family, right.family} <= _SPANNING or left.opening:
            return False
        led = self._span_lead(left.place.start)
        if led is None or not SPAN_GAP.fullmatch(self.lower, left.end, right.place.start):
            return False
        first, last = left.window, right.window
        if first is None or last is None or right.other is not None or last.yearless:
            return False
        if first.start is None or last.start is None:
            return False
        if first.yearless:
            years = last.start.year - first.start.year
            try:
                same = _moved(first, years)
                first = same if _is_behind(last, same) else _moved(first, years - 1)
            except (OverflowError, ValueError):
                return False
        elif left.other is not None:
            return False
        if not _is_behind(last, first):
            return False
        left.window, left.other = Window(first.start, last.end, last.grain), None
        left.family, left.start, left.end, left.accepted = "span", led.start(), right.end, True
        left.place = Place("span", left.start, left.end)
        return True

    def _join_named(self) -> None:
        """`Friday of next week` and `June last year` are one expression."""
        joined = list[_Match]()
        for item in self.found:
            last = joined[-1] if joined else None
            if last is None or not self._joined(last, item):
                joined.append(item)
        self.found = joined

    def _joined(self, left: _Match, right: _Match) -> bool:
        """Joins two that stand side by side into the left one."""
        for part, unit in ((left, right), (right, left)):
            if unit.family != "calendar" or part.other is None or part.window is None:
                continue
            assert unit.window is not None
            assert unit.window.start is not None
            words = self.lower[unit.start : unit.end]
            gap = self.lower[left.end : right.start]
            if part.family == "weekday" and words.endswith("week") and _IN_WEEK.fullmatch(gap):
                assert part.window.start is not None
                days = timedelta(days=part.window.start.weekday())
                window = Window(unit.window.start + days, unit.window.start + days + DAY, "day")
            elif part.family in _YEARLESS and words.endswith("year") and _IN_YEAR.fullmatch(gap):
                assert part.window.start is not None
                years = unit.window.start.year - part.window.start.year
                window = _moved(part.window, years)
            else:
                continue
            left.window, left.other, left.opening = window, None, left.opening or right.opening
            left.family, left.end = "named", right.end
            left.place = Place("named", left.place.start, right.end)
            return True
        return False

    def _decide(self) -> None:
        """Chooses the windows of expressions that have two, drops those of habits."""
        places = [item.place for item in self.found]
        directions = Directions(self.text, self.lower, places)
        chosen = [self._direction(directions, item) for item in self.found]
        for index, item in enumerate(self.found):
            direction = chosen[index]
            follows = index > 0 and self._is_range(self.found[index - 1], item)
            if follows and direction in (Direction.OPEN, None):
                direction = chosen[index] = chosen[index - 1]
            if direction is Direction.HABIT:
                item.window = item.other = None
            elif item.other is not None:
                self._choose(item, direction)
            if follows:
                self._order(self.found[index - 1], item, direction)

    def _direction(self, directions: Directions, item: _Match) -> Direction | None:
        """None = there is nothing to decide."""
        if item.family not in _DIRECTED or item.window is None:
            return None
        if item.family == "figures" or (item.unsure and item.other is not None):
            return Direction.OPEN
        if not self.dated and item.window.yearless:
            if item.other is None:
                item.window, item.other = _moved(item.window, -1), item.window
            return Direction.OPEN
        if item.other is None:
            single = item.window.yearless or item.family == "weekday"
            which = self.lower.startswith(("last ", "next ", "this "), item.place.start)
            if not single or (which and item.family != "weekday"):
                return None
            direction = directions.of_present(item.place)
            if direction is Direction.OPEN and item.window.yearless:
                item.window, item.other = _moved(item.window, -1), item.window
            return direction
        if self._elsewhere(directions, item) or self._numbered(item):
            return Direction.OPEN
        if item.family == "weekday" and self.lower.startswith("next ", item.place.start):
            return Direction.OPEN
        if self.lower.startswith("this ", item.place.start):
            found = directions.of(item.place)
            return found if found is Direction.FUTURE else Direction.PAST
        return directions.of(item.place)

    def _elsewhere(self, directions: Directions, item: _Match) -> bool:
        """Return whether the sentence names another year, or the clause another week."""
        start, end = directions.sentence_of(item.place.start)
        first = bisect_left(self.found, start, key=_start)
        for other in self.found[first : bisect_left(self.found, end, key=_start)]:
            if other is item or other.window is None:
                continue
            words = self.lower[other.start : other.end]
            if item.family == "weekday":
                week = other.window.grain == "week" and other.family in (
                    "calendar",
                    "ago",
                    "within",
                )
                if week and directions.same_clause(item.place.start, other.place.start):
                    return True
            elif other.window.grain == "year" or _FOUR_DIGITS.search(words):
                year = other.window.start or other.window.end
                if other.family != "rolling" and (
                    year is None or year.year != self.reference.now.year
                ):
                    return True
        return False

    def _numbered(self, item: _Match) -> bool:
        """`Friday the 27th` names a day of a month that is not said."""
        return item.family == "weekday" and _NUMBERED.match(self.lower, item.end) is not None

    def _choose(self, item: _Match, direction: Direction | None) -> None:
        if direction is Direction.FUTURE:
            item.window, item.other = item.other, None
        elif direction is Direction.PAST:
            item.other = None
        else:
            item.either = True

    def _is_range(self, left: _Match, right: _Match) -> bool:
        """`from Monday to Thursday`, `May 2 – May 9`."""
        gap = self.lower[left.end : right.place.start]
        directed = left.family == right.family and left.family in _DIRECTED
        return directed and _RANGE.fullmatch(gap) is not None

    def _order(self, left: _Match, right: _Match, direction: Direction | None) -> None:
        """The second end of a range lies behind the first one."""
        if left.window is None or right.window is None or left.either or right.either:
            return
        forward = direction is Direction.FUTURE
        try:
            left.window, right.window = _in_order(left.window, right.window, forward=forward)
        except (OverflowError, ValueError):
            left.window = right.window = None

    def _link_years(self) -> None:
        """A bare year counts beside a date, or in a list of dates and years."""
        for left, right in zip(self.found, self.found[1:], strict=False):
            if left.family in _ABSOLUTE and right.family in _ABSOLUTE:
                gap = self.lower[left.end : right.start]
                if LIST_GAP.fullmatch(gap):
                    left.accepted = right.accepted = True


def scan(text: str, lower: str, t_ref_us: int, zone: str, *, dated: bool = True) -> FoundTimes:
    """The expressions of a text, in order, at most `READ_MAX` of them.

    Args:
        text: as written.
        lower: the same in lower case, with the same offsets and with `'` for apostrophes.
        t_ref_us: the moment from which relative words are measured.
        zone: name of the time zone in which days begin.
        dated: as `expressions.find_times`.
    """
    reference = ReferenceTime(t_ref_us, zone, lower)
    found = list[TemporalExpression]()
    one_pass = _Scan(text, lower, reference, dated=dated)
    for item in one_pass.run():
        found.append(_expression(item, item.window, text, reference))
        if item.either:
            found.append(_expression(item, item.other, text, reference))
    return FoundTimes(expressions=found, unread=one_pass.unread)


def _expression(
    found: _Match, window: Window | None, text: str, reference: ReferenceTime
) -> TemporalExpression:
    start_us = end_us = instant_us = None
    resolved = window is not None and window.grain != "clock"
    if window is not None and resolved:
        try:
            start_us, end_us = reference.us(window.start), reference.us(window.end)
            instant_us = reference.us(window.instant)
        except (OverflowError, ValueError):
            start_us = end_us = instant_us = None
            resolved = False
    return TemporalExpression(
        text=text[found.start : found.end],
        start=found.start,
        end=found.end,
        window_start_us=start_us,
        window_end_us=end_us,
        grain="" if window is None else window.grain,
        instant_us=instant_us,
        resolved=resolved,
        clock=None if window is None else window.clock,
        either=found.either,
    )
