"""The text of a context block: results and neighbours as quoted lines for an agent's prompt.

The order is that of sessions and of time, never that of scores, and nothing in the text depends on
the hour of the call: the same arguments on the same state give the same bytes. Stored text is
quoted: it begins no line, so that it can pass neither for another memory nor for a heading.

The budget is spent on texts: ids are short, what holds for several lines stands once, and beside
id, day and state a line has no more of what Vestig writes than of what the memory says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final, Literal

import msgspec

from vestig.answers import ContextBlock, LeftOut
from vestig.language.time.printed_dates import dated, day_of, meanings
from vestig.lazy_pattern import lazy_pattern
from vestig.printed import (
    ALL_HERE,
    CUT,
    DATES_LEGEND,
    LEFT_OUT,
    LINKED_LEGEND,
    NEIGHBOUR_LEGEND,
    OF_ALL,
    OLDER_LEGEND,
    PREFACE,
    ZONE_LEGEND,
    clean,
    heading,
    how_many,
    limits,
    on_line,
    speaker_of,
)
from vestig.recall.layouts import NO_RESULTS
from vestig.types import Memory, is_undated

ESTIMATE: Final = "estimate"
FURTHER_LINE: Final = "\n> "
# From so many characters of text on, a line has no more of Vestig's than of the text's.
_FULL_TEXT_CHARS: Final = 40
_FOLDED_IDS_MAX: Final = 3
# A day takes no more, with its space.
_DAY_TOKENS_MAX: Final = 11
_PIECE: Final = lazy_pattern(r"[A-Za-z]+|\n|\S")
_LETTERS_A_PIECE: Final = 3


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A memory for the block. `rank`: its place among the results, from 0; that of the result
    beside which it stands, where it is a neighbour. `linked`: links lead to it from the results,
    and it is none; `rank` is its place among those. `version`: of several that are in the block,
    the newest one or an older one. `flags` as in its reason; `sources`: what has become of them,
    in words. `begins`: where a text begins that is cut."""

    memory: Memory
    rank: int
    neighbour: bool = False
    linked: bool = False
    version: Literal["newest", "older"] | None = None
    flags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    begins: int = 0

    @property
    def cut_text(self) -> str:
        """The text that is shown as far as it fits."""
        text = self.memory.content
        return CUT + clean(text[self.begins :]) if self.begins else clean(text)


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The memories that pass the cut of a question that asks for all, for how near they are, which
    is not certain to be an answer: `ids` of those that state something; `exact`: no others pass."""

    ids: frozenset[str]
    exact: bool


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """How tokens are counted, the name of what counts them, and how many there may be."""

    count: Callable[[str], int]
    counted_by: str
    budget: int


def estimate(text: str) -> int:
    """Tokens of a text, rather too many than too few: one for three letters a–z of a word, for
    each digit, sign and line end; for other characters one less than their bytes in UTF-8.

    Example:
        >>> estimate("The office is in Oslo."), estimate("2026")
        (8, 4)
    """
    total = 0
    for piece in _PIECE.findall(text):
        if piece.isascii():
            total += -(-len(piece) // _LETTERS_A_PIECE)
        else:
            total += len(piece.encode("utf-8", "surrogatepass")) - 1
    return total


class _Line(msgspec.Struct, kw_only=True):
    """One line of the block: an entry, and those folded into it because they say the same. `text`
    is "" until it is written; `dates`: whether it has a date in brackets."""

    entry: Entry
    folded: list[Entry] = msgspec.field(default_factory=list)
    text: str = ""
    dates: bool = False

    @property
    def id(self) -> str:
        return self.entry.memory.id

    @property
    def entries(self) -> list[Entry]:
        return [self.entry, *self.folded]

    @property
    def neighbour(self) -> bool:
        return all(one.neighbour for one in self.entries)

    @property
    def linked(self) -> bool:
        return all(one.linked for one in self.entries)

    @property
    def older(self) -> bool:
        return any(one.version == "older" for one in self.entries)

    @property
    def priority(self) -> tuple[bool, bool, int, str]:
        """The least is the last to be left out: results by rank, then neighbours by theirs, then
        what links lead to."""
        return min((one.linked, one.neighbour, one.rank, one.memory.id) for one in self.entries)


class _Part(msgspec.Struct, kw_only=True):
    """The lines of one session under their heading; "" where none is needed. `day`: the one of all
    lines without heading."""

    heading: str
    lines: list[_Line]
    day: str = ""


class _Marks(msgspec.Struct, frozen=True, kw_only=True):
    """Marks that Vestig writes on a line beside id, day and state."""

    title: bool = True
    author: bool = True
    folded: int = _FOLDED_IDS_MAX
    dates: bool = True


# What a line of a full text tries in turn, until it has no more marks than text …
_FULL_MARKS: Final = (
    _Marks(),
    _Marks(title=False),
    *(_Marks(title=False, author=False, folded=count) for count in (3, 2, 1, 0)),
    _Marks(title=False, author=False, folded=0, dates=False),
)
# … and those of a shorter one.
_SHORT_MARKS: Final = _Marks(title=False)


class _Style(msgspec.Struct, frozen=True, kw_only=True):
    """How lines are written. `zone`: where days begin. `short_ids`: id → its short form. `days`:
    whether lines without a heading have their day. `counted`: what is counted behind the first
    words."""

    zone: str
    short_ids: Mapping[str, str]
    days: bool = True
    counted: Counted | None = None


def _quoted(text: str) -> str:
    """A text whose further lines cannot be taken for lines of the block."""
    return FURTHER_LINE.join(clean(line) for line in text.splitlines())


# --- order --------------------------------------------------------------------------------------


def _session(memory: Memory) -> tuple[str | None, str | None]:
    return memory.scope, memory.session_id


def _within(entry: Entry) -> tuple[Any, ...]:
    """Order inside of a session."""
    memory = entry.memory
    place = memory.sequence if memory.session_id is not None else None
    return (place is None, 0 if place is None else place, memory.t_valid, memory.id)


def _arranged(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Sessions by their earliest time, memories without one last; inside by sequence, then time."""
    groups: dict[tuple[str | None, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(_session(entry.memory), []).append(entry)

    def place(key: tuple[str | None, str | None]) -> tuple[Any, ...]:
        scope, session = key
        first = min(entry.memory.t_valid for entry in groups[key])
        return (session is None, first, scope is not None, scope or "", session or "")

    return [sorted(groups[key], key=_within) for key in sorted(groups, key=place)]


def _folded(ordered: Sequence[Entry], twins: AbstractSet[frozenset[str]]) -> dict[str, _Line]:
    """Id → line. An entry that says the same as an earlier line joins it."""
    lines: dict[str, _Line] = {}
    heads: list[_Line] = []
    for entry in ordered:
        id = entry.memory.id
        for line in heads:
            if frozenset((line.id, id)) in twins:
                line.folded.append(entry)
                lines[id] = line
                break
        else:
            lines[id] = _Line(entry=entry)
            heads.append(lines[id])
    return lines


# --- words --------------------------------------------------------------------------------------


def _heading(entries: Sequence[Entry], days: Sequence[str]) -> str:
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return heading(entries[0].memory, span)


def limits_of(entry: Entry, zone: str, *, day: bool = True) -> str:
    """Return what limits the memory of an entry, as `limits` does."""
    older = entry.version == "older"
    return limits(entry.memory, entry.flags, zone, day=day, older=older, sources=entry.sources)


def _speaker(memory: Memory, marks: _Marks) -> str:
    titled = memory.author is None and memory.role is None
    return speaker_of(memory) if (marks.title if titled else marks.author) else _role(memory)


def _role(memory: Memory) -> str:
    """Return the role that a line has in the place of an author, however long its text is: it is a
    short word, as those are that limit a memory."""
    return speaker_of(memory) if memory.author is None and memory.role is not None else ""


def _also(line: _Line, day: str, marks: _Marks, style: _Style) -> str:
    """The part of a line for its folded entries: ids, days, and the dates that their own words
    mean."""
    same = meanings(line.entry.memory.times, style.zone)
    shown = list[str]()
    for entry in line.folded[: marks.folded]:
        own = meanings(entry.memory.times, style.zone) if marks.author else {}
        words = [
            f"[{style.short_ids[entry.memory.id]}]",
            day_of(entry.memory.t_valid, style.zone) if day else "",
            limits_of(entry, style.zone),
            *(
                f"{on_line(text)} [{means}]"
                for text, means in own.items()
                if same.get(text) != means
            ),
        ]
        shown.append(" ".join(word for word in words if word))
    more = len(line.folded) - len(shown)
    also = f", also {', '.join(shown)}" if shown else ""
    return f"{also} and {more} more" if more else also


def _head(line: _Line, day: str, marks: _Marks, style: _Style) -> str:
    """Return what stands before the text of a line."""
    entry = line.entry
    words = (
        "~" if line.linked else "+" if line.neighbour else "",
        f"[{style.short_ids[entry.memory.id]}]",
        day,
        _speaker(entry.memory, marks),
        limits_of(entry, style.zone),
    )
    return " ".join(word for word in words if word) + _also(line, day, marks, style) + ": "


def _write(line: _Line, day: str, style: _Style) -> None:
    """Writes the line: what Vestig says stands before the first colon, behind it the text alone
    with the dates of its expressions."""
    memory = line.entry.memory
    content = clean(memory.content)
    # what "tomorrow" means by the time of a file is not known
    with_dates = dated(content, () if is_undated(memory.metadata) else memory.times, style.zone)
    full = len(content) >= _FULL_TEXT_CHARS
    head, text = "", content
    for marks in _FULL_MARKS if full else (_SHORT_MARKS,):
        head = _head(line, day, marks, style)
        text = with_dates if marks.dates else content
        named = [line.entry, *line.folded[: marks.folded]]
        own = sum(len(limits_of(one, style.zone)) + len(day and f" {day}") for one in named)
        own += len(_role(memory))
        if len(head) - own + len(text) - len(content) <= len(content):
            break
    line.dates = text != content
    line.text = f"{head}{_quoted(text)}"


def _parts(
    entries: Sequence[Entry], twins: AbstractSet[frozenset[str]], style: _Style
) -> list[_Part]:
    arranged = _arranged(entries)
    lines = _folded([entry for group in arranged for entry in group], twins)
    parts = []
    for group in arranged:
        own = [lines[entry.memory.id] for entry in group]
        own = [line for line, entry in zip(own, group, strict=True) if line.entry is entry]
        if not own:
            continue
        days = [day_of(line.entry.memory.t_valid, style.zone) for line in own]
        headed = len(arranged) > 1 or group[0].memory.session_id is not None
        part = _Part(heading=_heading(group, sorted(days)) if headed else "", lines=own)
        one_day = len(set(days)) == 1
        if one_day and not headed and len(own) > 1 and not any(line.folded for line in own):
            part.day = days[0]
        for line, day in zip(own, days, strict=True):
            if headed:
                dated_above = one_day and not line.folded
            else:
                dated_above = bool(part.day) or not (style.days or line.entry.version)
            _write(line, "" if dated_above else day, style)
        parts.append(part)
    return parts


# --- the budget ---------------------------------------------------------------------------------


class _Fit:
    """Chooses whole lines, the best first, as long as they fit."""

    def __init__(self, parts: Sequence[_Part], measure: Measure, style: _Style) -> None:
        self.parts = parts
        self.measure = measure
        self.style = style
        self.lines = sorted((line for p in parts for line in p.lines), key=lambda one: one.priority)
        self.costs = {line.id: measure.count(f"\n{line.text}") for line in self.lines}
        # ids of the lines of the text
        self.chosen: set[str] = set()

    def choose(self) -> str:
        """The text."""
        self._fill()
        # lines may cost more together than one by one
        while self.chosen:
            text = self._text()
            noted = f"{text}\n{self._left_out_note()}" if self.left_out() else text
            for one in (noted, text):
                if self.measure.count(one) <= self.measure.budget:
                    return one
            last = [line for line in self.lines if line.id in self.chosen][-1]
            self.chosen.discard(last.id)
        return self._cut(self.lines[0])

    def _fill(self) -> None:
        count = self.measure.count
        headings = [count(f"\n\n{part.heading}") if part.heading else 0 for part in self.parts]
        room = self.measure.budget - count(self._preface(self.lines))
        part_of = {line.id: place for place, part in enumerate(self.parts) for line in part.lines}
        opened, explained = set[int](), set[str]()
        for line in self.lines:
            place = part_of[line.id]
            legends = set(_legends([line], self.style.zone)) - explained
            need = self.costs[line.id] + (0 if place in opened else headings[place])
            need += sum(count(f" {legend}") for legend in legends)
            if need <= room:
                room -= need
                self.chosen.add(line.id)
                opened.add(place)
                explained |= legends

    def _text(self) -> str:
        shown = self.shown()
        pieces = [" ".join([self._preface(shown), *_legends(shown, self.style.zone)])]
        for part in self.parts:
            texts = [line.text for line in part.lines if line.id in self.chosen]
            if texts and part.heading:
                pieces.append(f"\n{part.heading}")
            pieces += texts
        return "\n".join(pieces)

    def _preface(self, lines: Sequence[_Line]) -> str:
        day = self.parts[0].day
        preface = PREFACE.format(of_day=f" of {day}" if day and self.style.days else "")
        count = self._count(lines)
        return f"{preface} {count}" if count else preface

    def _count(self, lines: Sequence[_Line]) -> str:
        """How many of what is counted these lines show, and how many more at least pass the cut; of
        what does not, that it may answer."""
        counted = self.style.counted
        if counted is None:
            return ""
        ids = [{one.memory.id for one in line.entries} for line in lines]
        shown = sum(not own.isdisjoint(counted.ids) for own in ids)
        if more := len(counted.ids.difference(*ids)):
            return OF_ALL.format(shown=shown, more=how_many(more, exact=counted.exact))
        return ALL_HERE.format(shown=shown) if shown else ""

    def _left_out_note(self) -> str:
        return LEFT_OUT.format(count=sum(len(line.entries) for line in self.left_out()))

    def _cut(self, line: _Line) -> str:
        """The best line, alone and without heading, with so much of its text as fits; "" where
        nothing does."""
        words = line.entry.cut_text.split() or [""]
        alone = _Line(entry=line.entry)
        state = limits_of(line.entry, self.style.zone, day=False)
        bare = " ".join(one for one in (f"[{self.style.short_ids[line.id]}]", state) if one) + ": "
        for head in (_head(alone, "", _SHORT_MARKS, self.style), bare):
            start = f"{PREFACE.format(of_day='')}\n{head}"

            def tokens(size: int, start: str = start) -> int:
                return self.measure.count(start + _cut_text(words, size))

            sizes = range(1, max(len(words[0]), 1) + len(words))
            fitting = bisect_right(sizes, self.measure.budget, key=tokens)
            if fitting:
                self.chosen = {line.id}
                return start + _cut_text(words, fitting)
        return ""

    def fits_nearly(self) -> bool:
        """Return whether everything may fit without the days of single lines."""
        spared = _DAY_TOKENS_MAX * (len(self.lines) + 1)
        return sum(self.costs.values()) - spared <= self.measure.budget

    def left_out(self) -> list[_Line]:
        """Lines that are not in the text, the best first."""
        return [line for line in self.lines if line.id not in self.chosen]

    def shown(self) -> list[_Line]:
        """Lines of the text in its order."""
        lines = (line for part in self.parts for line in part.lines)
        return [line for line in lines if line.id in self.chosen]


def _cut_text(words: Sequence[str], size: int) -> str:
    """The beginning of a text: so many letters of its first word, and from there on words.

    Example:
        >>> [_cut_text(["The", "office", "moved"], size) for size in range(1, 6)]
        ['T…', 'Th…', 'The…', 'The office…', 'The office moved']
    """
    letters = max(len(words[0]), 1)
    if size < letters:
        return words[0][:size] + CUT
    count = size - letters + 1
    return " ".join(words[:count]) + (CUT if count < len(words) else "")


def _legends(lines: Sequence[_Line], zone: str) -> list[str]:
    """Return what explains the signs of these lines."""
    return [
        *([DATES_LEGEND] if any(line.dates for line in lines) else []),
        *([NEIGHBOUR_LEGEND] if any(line.neighbour for line in lines) else []),
        *([LINKED_LEGEND] if any(line.linked for line in lines) else []),
        *([OLDER_LEGEND] if any(line.older for line in lines) else []),
        *([ZONE_LEGEND.format(zone=zone)] if zone != "UTC" and lines else []),
    ]


def block(
    entries: Sequence[Entry],
    twins: AbstractSet[frozenset[str]],
    measure: Measure,
    short_ids: Mapping[str, str],
    *,
    zone: str = "UTC",
    nothing: str = NO_RESULTS,
    counted: Counted | None = None,
) -> ContextBlock:
    """The block: sessions by time, their memories by sequence, equal ones on one line.

    Args:
        entries: results, neighbours and what links lead to, each memory once.
        twins: pairs of ids that say the same.
        measure: how tokens are counted, and how many there may be.
        short_ids: id → the short form that stands for it, for every entry.
        zone: time zone in which days begin.
        nothing: the note when there are no entries.
        counted: what is counted, where the question asks for all.
    """
    if not entries:
        return msgspec.structs.replace(_result("", None, measure), note=nothing)
    # the same pieces are counted several times
    measure = msgspec.structs.replace(measure, count=cache(measure.count))
    style = _Style(zone=zone, short_ids=short_ids, counted=counted)
    fit = _Fit(_parts(entries, twins, style), measure, style)
    text = fit.choose()
    if fit.left_out() and fit.fits_nearly() and not all(part.heading for part in fit.parts):
        # what is left out only for want of room for days is worth more than they are
        style = msgspec.structs.replace(style, days=False)
        dayless = _Fit(_parts(entries, twins, style), measure, style)
        other = dayless.choose()
        if not dayless.left_out():
            fit, text = dayless, other
    return _result(text, fit, measure)


def _result(text: str, fit: _Fit | None, measure: Measure) -> ContextBlock:
    lines, left_out = ([], []) if fit is None else (fit.shown(), fit.left_out())
    shown = [entry for line in lines for entry in line.entries]
    return ContextBlock(
        text=text,
        ids=tuple(e.memory.id for e in shown if not (e.neighbour or e.linked)),
        neighbours=tuple(entry.memory.id for entry in shown if entry.neighbour),
        associated=tuple(entry.memory.id for entry in shown if entry.linked),
        folded={entry.memory.id: line.id for line in lines for entry in line.folded},
        left_out=tuple(
            LeftOut(
                id=entry.memory.id,
                neighbour=entry.neighbour or entry.linked,
                tokens=fit.costs[line.id],
            )
            for line in left_out
            for entry in line.entries
            if fit is not None
        ),
        tokens=measure.count(text),
        budget=measure.budget,
        counted_by=measure.counted_by,
    )
