"""Temporal expressions of a text, and their windows of time."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.language.time.patterns import (
    AMBIGUOUS_MONTHS,
    CUE,
    DIGIT,
    DIGIT_TRIGGER,
    EXPRESSION,
    FAMILIES,
    GLUE,
    LIST_GAP,
    MONTH_TRIGGERS,
    WORD_TRIGGERS,
)
from vestig.language.time.windows import DAY, FAMILY_WINDOWS, ReferenceTime, Window, months_later

__all__ = ["TemporalExpression", "find_expressions", "find_windows", "lowered"]

_OPEN: Final = frozenset(("before", "until", "after", "since"))
_YEAR_CUES: Final = frozenset(("in", "since", "by", "of", "during")) | _OPEN
_MONTH_CUES: Final = frozenset(("in", "on", "since", "by", "of", "between")) | _OPEN
_ABSOLUTE: Final = frozenset(("iso", "dmy", "mdy", "my", "month", "quarter", "year"))
_ON: Final = frozenset(("weekday", "iso", "dmy", "mdy"))
_IN: Final = frozenset(("my", "month", "year", "quarter"))
_CUE_REACH: Final = 16
_AND: Final = frozenset(("and", "and the"))
_MONTHED: Final = frozenset(("dmy", "mdy", "my", "month"))


class TemporalExpression(msgspec.Struct, frozen=True, kw_only=True):
    """One temporal expression of a text.

    Attributes:
        text: the words as written.
        start, end: code point offsets, half-open.
        window_start_us, window_end_us: the half-open window [start, end) in microseconds since
            the epoch; None = open on that side. The end of a rolling window belongs to it.
        grain: `second` `minute` `hour` `day` `week` `weekend` `month` `quarter` `year`, `clock`
            for a clock time without a day, "" for words beyond the years 1-9999.
        instant_us: the moment an offset ("3 days ago") points to, else None.
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


class _Match(msgspec.Struct):
    """An expression during the scan: `window` None = unresolved; `accepted` False = a lone year."""

    family: str
    start: int
    end: int
    window: Window | None
    accepted: bool = True


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
    for word in WORD_TRIGGERS:
        if word in lower:
            return True
    if DIGIT.search(lower) is None:
        return False
    return DIGIT_TRIGGER.search(lower) is not None or any(word in lower for word in MONTH_TRIGGERS)


def _cue_before(lower: str, start: int) -> tuple[str, int]:
    """The preposition that stands directly before `start`, and where it begins; "" for none."""
    low = max(0, start - _CUE_REACH)
    match = CUE.search(lower[low:start])
    return (match[1], low + match.start()) if match else ("", start)


def _is_month(family: str, words: str, place: str, cue: str) -> bool:
    """Whether `may` and `march` are months here: only capitalised and in a temporal place."""
    for name in AMBIGUOUS_MONTHS:
        at = words.find(name)
        if at >= 0 and (at == 0 or not words[at - 1].isalpha()):
            if not place[at].isupper():
                return False
            return family != "month" or at > 0 or cue in _MONTH_CUES
    return True


def _opened(found: _Match, cue: str, cue_start: int) -> None:
    """Applies before/until/after/since to a closed window; takes `on` and `in` along."""
    window = found.window
    if cue in _OPEN:
        found.start = cue_start
        if window is None:
            return
        if cue in ("before", "until"):
            found.window = Window(None, window.start, window.grain)
        else:
            start = window.end if cue == "after" else window.start
            found.window = Window(start, None, window.grain)
    elif (cue == "on" and found.family in _ON) or (cue == "in" and found.family in _IN):
        found.start = cue_start


def _spanned(first: Window, last: Window) -> Window:
    """[start of first, end of last); a first operand without year lies before the last."""
    start, end = first.start, last.end
    assert start is not None
    assert end is not None
    if start >= end:
        if first.yearless:
            start = months_later(start, -12)
        elif first.grain == "day" and start - end < 7 * DAY:
            start -= 7 * DAY
        elif last.start is not None and first.end is not None:
            start, end = last.start, first.end
    return Window(start, end, last.grain)


class _Scan:
    """One pass over a text."""

    def __init__(self, text: str, lower: str, reference: ReferenceTime) -> None:
        self.text = text
        self.lower = lower
        self.reference = reference
        self.found: list[_Match] = []
        # start of a "between" whose first operand is the last one found
        self.between: int | None = None

    def run(self) -> list[_Match]:
        """All expressions in order."""
        lower, position = self.lower, 0
        while (match := EXPRESSION.search(lower, position)) is not None:
            name = match.lastgroup
            assert name is not None
            position = self._take(FAMILIES.get(name, name), match.start(), match.end())
        if any(not item.accepted for item in self.found):
            self._link_years()
        return [found for found in self.found if found.accepted]

    def _take(self, family: str, start: int, end: int) -> int:
        """Adds what the words name; where to search on."""
        lower, words = self.lower, self.lower[start:end]
        if start and words[0].isdigit() and lower[start - 1] in GLUE:
            return end
        cue, cue_start = _cue_before(lower, start)
        second = self.between is not None and (
            " ".join(lower[self.found[-1].end : start].split()) in _AND
        )
        if family in _MONTHED and not _is_month(
            family, words, self.text[start:end], "in" if second else cue
        ):
            return start + 1
        found = _Match(family, start, end, None)
        try:
            window = FAMILY_WINDOWS[family](self.reference, words, start)
        except (OverflowError, ValueError):
            window = None
        else:
            if window is None:
                return end
            if window.length is not None:
                found.end = start + window.length
        found.window = window
        if second:
            self._close_between(found)
            return found.end
        self.between = None
        if cue == "between":
            self.between = cue_start
        elif family != "clock":
            _opened(found, cue, cue_start)
        found.accepted = family != "year" or cue in _YEAR_CUES
        self._add(found)
        return found.end

    def _add(self, found: _Match) -> None:
        """Appends; a weekday directly before a written date is part of it."""
        if self.found and found.family in ("dmy", "mdy", "iso"):
            last = self.found[-1]
            gap = self.lower[last.end : found.start]
            if last.family == "weekday" and gap.strip(" ,") in ("", "the"):
                found.start = last.start
                window = found.window
                if window is not None and last.window is not None and window.end is not None:
                    if last.window.start is None:
                        window = Window(None, window.start, window.grain)
                    elif last.window.end is None:
                        window = Window(
                            window.end
                            if self.lower.startswith("after", last.start)
                            else window.start,
                            None,
                            window.grain,
                        )
                    found.window = window
                self.found[-1] = found
                return
        self.found.append(found)

    def _close_between(self, second: _Match) -> None:
        first = self.found[-1]
        assert self.between is not None
        start, self.between = self.between, None
        one, two = first.window, second.window
        if one is None or two is None or "clock" in (one.grain, two.grain):
            self.found.append(second)
            return
        first.start, first.end, first.accepted = start, second.end, True
        try:
            first.window = _spanned(one, two)
        except (OverflowError, ValueError):
            first.window = None

    def _link_years(self) -> None:
        """A bare year counts beside a date, or in a list of dates and years."""
        for left, right in zip(self.found, self.found[1:], strict=False):
            if left.family in _ABSOLUTE and right.family in _ABSOLUTE:
                gap = self.lower[left.end : right.start]
                if LIST_GAP.fullmatch(gap):
                    left.accepted = right.accepted = True


def find_expressions(
    text: str, t_ref_us: int, *, zone: str = "UTC", is_memory: bool = False
) -> list[TemporalExpression]:
    """All temporal expressions in order, clock times and unresolved ones included.

    Arguments: see `find_windows`.

    Example:
        >>> [found.clock for found in find_expressions("opens at 2 pm", 0)]
        ['14:00:00']
    """
    lower = lowered(text)
    if not _may_hold(lower):
        return []
    if "’" in lower:
        lower = lower.replace("’", "'")
    reference = ReferenceTime(t_ref_us, zone, lower, is_memory)
    return [_expression(item, text, reference) for item in _Scan(text, lower, reference).run()]


def _expression(found: _Match, text: str, reference: ReferenceTime) -> TemporalExpression:
    window = found.window
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
    )


def find_windows(
    text: str, t_ref_us: int, *, zone: str = "UTC", is_memory: bool = False
) -> list[TemporalExpression]:
    """The windows that a text names, in order.

    Args:
        text: any text.
        t_ref_us: the moment from which relative words are measured, microseconds since the epoch.
        zone: name of the time zone in which days begin.
        is_memory: in a memory with a future cue ("will", "going to" …) a bare weekday and a date
            without year are the next ones; in a query always the newest.

    Raises:
        ValidationError: unknown zone.

    Example:
        >>> from vestig.arguments import parse_time
        >>> from vestig.times import format_us
        >>> found, = find_windows("what broke yesterday?", parse_time("2026-03-18T12:00Z", "t"))
        >>> found.text, format_us(found.window_start_us), found.grain
        ('yesterday', '2026-03-17T00:00:00.000000Z', 'day')
    """
    found = find_expressions(text, t_ref_us, zone=zone, is_memory=is_memory)
    return [item for item in found if item.resolved]
