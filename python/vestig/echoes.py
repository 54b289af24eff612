"""Echoes: what a store printed of its own memories, in a text that comes in.

An *echo* is a frame and a text in it that both equal, character by character after white space,
what a layout prints of that memory: its id, day, key, speaker, limits and text are those of the
memory, and what a layout writes of its own (a score, an age, signals, sentences of a reason) has
the form in which it does. Anything else is what the caller wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec

from vestig.config.weights import TABLE
from vestig.language.text_forms import escaped_breaks, one_line, single_spaced
from vestig.language.time.printed_dates import dated, day_of, meanings
from vestig.lazy_pattern import lazy_pattern
from vestig.printed import (
    ALL_HERE,
    CUT,
    DATES_LEGEND,
    LEFT_OUT,
    LINKED_LEGEND,
    LIST_CHARS,
    NEIGHBOUR_LEGEND,
    OLDER_LEGEND,
    PREFACE,
    SEPARATOR,
    SOURCE,
    STATE,
    ZONE_LEGEND,
    clean,
    content_lines,
    heading,
    limits,
    on_line,
    said_by,
    speaker_of,
)
from vestig.types import MODEL_ROLES, Memory, Stability, is_undated

_ID: Final = r"(?:mem_)?[0-9a-f]{8}[0-9a-f-]{0,28}"
_FULL_ID: Final = r"mem_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Most texts hold nothing that could be a frame.
_MAY_HOLD: Final = lazy_pattern(
    rf"^(?:[+~] )?\[{_ID}\]|^(?:ID: |Related: \[)mem_|^\(score=\d", re.MULTILINE
)
_SCORE: Final = r"-?\d+\.\d{4}"
_DAY: Final = r"\d{4}-\d\d-\d\d"
_ROLE: Final = r"(?:, role=(?:assistant|tool)(?:, confirmed)?)?"
_STABILITY: Final = "|".join(one.value for one in Stability)
_HEADER: Final = lazy_pattern(
    rf"\[({_FULL_ID})\] \(score={_SCORE}, method=(?:direct_match|graph_traversal)(?:, hops=\d+)?"
    rf", date=({_DAY}){_ROLE}(, key=.*?)?(?:, repeats=\d+)?\)"
)
_COMPACT: Final = lazy_pattern(
    rf"\(score={_SCORE}, age=(?:just now|unknown|\d+(?:mo|[mhdw])), stability=(?:{_STABILITY})"
    rf", date=({_DAY}){_ROLE}(, key=.*)?\)"
)
_LISTED: Final = lazy_pattern(rf"ID: ({_FULL_ID})")
_LISTED_SCORE: Final = lazy_pattern(rf"Score: {_SCORE}")
_RELATED: Final = lazy_pattern(
    rf"Related: \[({_FULL_ID})\] \((?:signal={_SCORE}, hops=\d+, )?date=({_DAY}){_ROLE}"
)
_QUOTED: Final = lazy_pattern(rf"(?:[+~] )?\[({_ID})\](.*)")
_WORDS: Final = r"[^.:\"]{1,200}"
# What stands for the names in the sentences of terms.
_VALUES: Final = {
    "near": "(?:Close|Distant)",
    "similarity": _SCORE,
    "words": _WORDS,
    "days": _WORDS,
    "names": r"[A-Za-z_]+:[^\"]{1,200}?",
    "line": r"[^\n]{0,83}",
    "around": "(?:The lines around it have|What was noted within the hour has)",
}


def _of_terms() -> Iterator[str]:
    """Patterns of the sentences about terms."""
    sentences = dict.fromkeys(one for term in TABLE.values() for one in term.sentences)
    for sentence in sentences:
        yield re.sub(r"\\\{(\w+)\\\}", lambda name: _VALUES[name[1]], re.escape(sentence))


# Sentences of a reason.
_SENTENCE: Final = "|".join(
    (
        rf"Reached via \d+-hop traversal \(signal {_SCORE}\) from (?:{_FULL_ID})?\.",
        rf"Filled by start score \({_SCORE}\)\.",
        *_of_terms(),
        r"Reads as an answer: (?:likely|possibly)\.",
        rf"Replaced {_FULL_ID}, which would stand here\.",
        rf"Answers {_FULL_ID}, which asked the same\.",
        rf"Asked before on {_DAY}; states nothing\.",
        r"Found by words \(the query had no vector\)\.",
        rf"Through stored question \"[^\n]{{0,300}}\" \({_SCORE}\)\.",
        rf"Reinforced \d+×; TraceRank {_SCORE}\.", rf"(?:Newer|Older) than {_FULL_ID}\.",
        r"Not confirmed by a user; stands behind what one stated\.",
        rf"No longer valid since {_DAY}\.",
        r"Written in [A-Z][A-Za-z ]{1,30}; the question is in [A-Z][A-Za-z ]{1,30}\.",
    )
)  # fmt: skip
_REASON: Final = rf"(?:{_SENTENCE})(?: (?:{_SENTENCE}))*"
_NUMBER: Final = rf"(?:{_SCORE}|–)"
_STATE: Final = (
    r"(?:no_longer_valid|not_yet_valid|expired|archived|pinned|confirmed|unconfirmed|asked_before"
    r"|other_language"
    rf"|(?:supersedes|newer_than|older_than): {_FULL_ID})"
)
_NOTE_LINE: Final = rf"Note: (?:{STATE}|{SOURCE})(?:; (?:{STATE}|{SOURCE}))*\."
_NOTE: Final = lazy_pattern(_NOTE_LINE)
_STATES: Final = lazy_pattern(rf"(?:, {STATE})*")
# In the brackets of a line, behind what else stands there.
_SOURCES: Final = lazy_pattern(rf"((?: \(|, )[^()]*?)(?:, )?{SOURCE}(?:, {SOURCE})*\)")
_EXPLAINED: Final = lazy_pattern(
    rf"Reason: {_REASON}|Signals: \w+ {_NUMBER} × {_NUMBER}(?:; \w+ {_NUMBER} × {_NUMBER})*"
    r"|Above the pool: \w+ [+-]\d+\.\d{4}(?:; \w+ [+-]\d+\.\d{4})*"
    rf"|Score: [a-z ]+ {_SCORE}(?:; [a-z ]+ {_SCORE})*"
    rf"|Stored question: \"[^\n]{{0,300}}\" \({_SCORE}\)"
    rf"|Path: START(?: → [A-Z]+:(?:mem|ent)_[0-9a-f-]{{36}})*; signal {_SCORE}; path score {_SCORE}"
    rf"|Steps: [\w|-]+ \(weight {_SCORE}, p {_SCORE}, u {_NUMBER}\)"
    rf"(?:; [\w|-]+ \(weight {_SCORE}, p {_SCORE}, u {_NUMBER}\))*"
    rf"|TraceRank: {_SCORE} \(trace {_SCORE}, basic {_SCORE}, connectivity {_SCORE}, confidence"
    rf" {_SCORE}, unclipped {_SCORE}, events \d+, stability \w+\)"
    rf"|Flags: {_STATE}(?:, {_STATE})*"
    rf"|{_NOTE_LINE}"
)
# A result explained to an agent, behind its id, and its signals.
_SHORT_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_WHY: Final = lazy_pattern(
    rf" score {_SHORT_NUMBER}(?:, similarity {_SHORT_NUMBER})?(?:: {_REASON})?"
)
_WHY_SIGNALS: Final = lazy_pattern(
    rf"  \w+ {_SHORT_NUMBER} × {_SHORT_NUMBER}(?:, \w+ {_SHORT_NUMBER} × {_SHORT_NUMBER})*"
)
_CONTENT: Final = "Content: "
_SURE: Final = r" \(confidence \d\.\d+(?:, needed \d\.\d+)?\)"
_FOREIGN: Final = "(?:, in another language than the question)?"
_CERTAINTY: Final = (
    rf"(?:doubtful|nothing close){_SURE}; nearest{_FOREIGN}:"
    rf"|(?:likely|doubtful){_SURE}{_FOREIGN}|Why \(seq \d+\):"
)
_HEADING: Final = lazy_pattern(rf"(## .*) · ({_DAY})(?: to ({_DAY}))?")
_SHOW: Final = lazy_pattern(rf" \(show ({_ID})\)$")
# A text that was cut shows so many characters of a memory at least.
_CUT_CHARS_MIN: Final = 12


class Stored(NamedTuple):
    """A memory that a frame names, and what a reader should know of its state."""

    memory: Memory
    flags: tuple[str, ...] = ()


class Memories(NamedTuple):
    """How memories of a namespace are looked up: by an id or its beginning, and by their text; None
    where there is none, or several begin so. `zone`: where days begin."""

    by_id: Callable[[str], Stored | None]
    by_text: Callable[[str], Stored | None]
    zone: str = "UTC"


class Unframed(NamedTuple):
    """`text`: what the caller wrote; `echoes`: ids of the memories that were taken out; `places`:
    begin and end of what was, as characters of the text as given; `quoted`: ids of memories that
    the caller's words name in a frame."""

    text: str
    echoes: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    quoted: tuple[str, ...] = ()


class _Frame(NamedTuple):
    """Lines up to `end` that name a memory; `echo`: they are what is printed of it."""

    end: int
    memory: Memory
    echo: bool


class _Part(NamedTuple):
    """Lines of a text: those of a frame, or one."""

    start: int
    end: int
    frame: _Frame | None = None


def _filled(words: str, name: str, pattern: str) -> str:
    """A pattern of printed words that have a place for something else."""
    before, after = words.split(f"{{{name}}}")
    return re.escape(before) + pattern + re.escape(after)


@cache
def _before() -> re.Pattern[str]:
    """Lines before the frames of a result."""
    legends = [
        *map(re.escape, (DATES_LEGEND, NEIGHBOUR_LEGEND, LINKED_LEGEND, OLDER_LEGEND)),
        _filled(ZONE_LEGEND, "zone", r"[\w/+-]+"),
        r"Memories here: \d+; (?:(?:at least )?\d+ more|others) may bear on it\.",
        _filled(ALL_HERE, "shown", r"\d+"),
    ]
    preface = _filled(PREFACE, "of_day", rf"(?: of {_DAY})?")
    return re.compile(rf"{_CERTAINTY}|{preface}(?: (?:{'|'.join(legends)}))*")


@cache
def _behind() -> re.Pattern[str]:
    """A line behind them."""
    left_out = _filled(LEFT_OUT, "count", r"\d+")
    return re.compile(rf"{left_out}|(?:at least )?\d+ more: (?:--offset \d+|offset \d+\.)")


def may_hold_frames(text: str) -> bool:
    """Return whether a line of the text begins as a frame does.

    Example:
        >>> may_hold_frames("[0123abcd] Ada: the key is here"), may_hold_frames("the key")
        (True, False)
    """
    return ("[" in text or "(score=" in text or "ID: " in text) and bool(_MAY_HOLD.search(text))


def unframed(text: str, memories: Memories) -> Unframed:
    """A text without the echoes of memories that there are."""
    lines = text.split("\n")
    parts: list[_Part] = []
    at = 0
    while at < len(lines):
        frame = _frame_at(lines, at, memories)
        end = at + 1 if frame is None else frame.end
        parts.append(_Part(at, end, frame))
        at = end
    frames = [part.frame for part in parts if part.frame is not None]
    quoted = tuple(dict.fromkeys(one.memory.id for one in frames if not one.echo))
    echoes = tuple(dict.fromkeys(one.memory.id for one in frames if one.echo))
    if not echoes:
        return Unframed(text, quoted=quoted)
    taken = _taken(lines, parts, memories.zone)
    return Unframed(_rest(lines, taken), echoes, tuple(_places(lines, taken)), quoted)


# --- what is taken out --------------------------------------------------------------------------


def _taken(lines: Sequence[str], parts: Sequence[_Part], zone: str) -> list[bool]:
    """Return of each line whether it is one of an echo, or of a result beside one."""
    taken = [False] * len(lines)
    filled = [one for one in parts if one.frame is not None or lines[one.start].strip()]
    goes = [one.frame is not None and one.frame.echo for one in filled]
    last = len(filled) - 1
    for at in range(last - 1, -1, -1):
        line = lines[filled[at].start].rstrip()
        if filled[at].frame is None and goes[at + 1]:
            following = filled[at + 1].frame
            named = following is not None and _is_heading(line, following.memory, zone)
            goes[at] = named or _before().fullmatch(line) is not None
    for at in range(1, last + 1):
        line = lines[filled[at].start].rstrip()
        if filled[at].frame is None and goes[at - 1]:
            between = line == SEPARATOR and at < last and goes[at + 1]
            goes[at] = goes[at] or between or _behind().fullmatch(line) is not None
    for part, gone in zip(filled, goes, strict=True):
        taken[part.start : part.end] = [gone] * (part.end - part.start)
    return taken


def _is_heading(line: str, memory: Memory, zone: str) -> bool:
    """Return whether a line is the heading of the memories of a session, of which this is one."""
    match = _HEADING.fullmatch(line)
    if match is None:
        return False
    first, last = match[2], match[3] or match[2]
    same = line == heading(memory, line[len(match[1]) + len(" · ") :])
    return same and any(first <= day <= last for day in _days(memory, zone))


def _rest(lines: Sequence[str], taken: Sequence[bool]) -> str:
    kept: list[str] = []
    behind = False
    for line, gone in zip(lines, taken, strict=True):
        if gone:
            behind = True
        elif line.strip() or not (behind and kept and not kept[-1].strip()):
            # of blank lines around what was taken out, one stays
            kept.append(line)
            behind = behind and not line.strip()
    return "\n".join(kept).strip()


def _places(lines: Sequence[str], taken: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of lines that are taken out."""
    at, start = 0, None
    for line, gone in zip(lines, taken, strict=True):
        if gone and start is None:
            start = at
        elif not gone and start is not None:
            yield start, at
            start = None
        at += len(line) + 1
    if start is not None:
        yield start, at - 1


# --- frames -------------------------------------------------------------------------------------


def _frame_at(lines: Sequence[str], at: int, memories: Memories) -> _Frame | None:
    line = lines[at].rstrip()
    if match := _HEADER.fullmatch(line):
        return _result(lines, at, match, memories)
    if _COMPACT.fullmatch(line) and at + 1 < len(lines):
        return _compact(lines, at, memories)
    if match := _LISTED.fullmatch(line):
        return _listed(lines, at, match[1], memories)
    if match := _RELATED.match(line):
        return _related(at, line, match, memories)
    if match := _QUOTED.fullmatch(line):
        stored = memories.by_id(match[1])
        if stored is not None:
            return _quoted(lines, at, match[2], stored, memories)
    return None


def _result(
    lines: Sequence[str], at: int, match: re.Match[str], memories: Memories
) -> _Frame | None:
    """A frame of the layouts `text` and `explain`."""
    stored = memories.by_id(match[1])
    if stored is None:
        return None
    place = at + 1
    while place < len(lines) and _EXPLAINED.fullmatch(lines[place].rstrip()):
        place += 1
    memory = stored.memory
    if place == len(lines) or not lines[place].startswith(_CONTENT):
        return _Frame(at + 1, memory, False)
    text, end = _indented(lines, place, lines[place][len(_CONTENT) :])
    same = single_spaced(text) == single_spaced(content_lines(memory.content))
    head = _is_day(memory, match[2], memories.zone) and (match[3] or "") == _key(memory)
    return _Frame(end if same and head else at + 1, memory, same and head)


def _compact(lines: Sequence[str], at: int, memories: Memories) -> _Frame | None:
    match = _COMPACT.fullmatch(lines[at].rstrip())
    assert match is not None, "the line was matched"
    noted = at + 2 < len(lines) and _NOTE.fullmatch(lines[at + 1].rstrip()) is not None
    place = at + 2 if noted else at + 1
    text, end = _indented(lines, place, lines[place])
    first = SEPARATOR if text.startswith(f"\\{SEPARATOR}\n") else None
    stored = memories.by_text(text if first is None else text[1:])
    if stored is None:
        return None
    memory = stored.memory
    same = _is_day(memory, match[1], memories.zone) and (match[2] or "") == _key(memory)
    return _Frame(end if same else at + 1, memory, same)


def _listed(lines: Sequence[str], at: int, id: str, memories: Memories) -> _Frame | None:
    stored = memories.by_id(id)
    if stored is None:
        return None
    memory = stored.memory
    key = [] if memory.key is None else [f"Key: {escaped_breaks(memory.key)}"]
    roles = [f"Role: {said_by(one)}" for one in _confirmed_or_not(memory)]
    role = [one.rstrip() for one in lines[at + 3 : at + 4] if one.rstrip() in roles]
    content = f"{_CONTENT}{one_line(memory.content, LIST_CHARS)}"
    days = [f"Date: {day}" for day in _days(memory, memories.zone)]
    end = at + 4 + len(role) + len(key)
    noted = end - 1 < len(lines) and _NOTE.fullmatch(lines[end - 1].rstrip()) is not None
    end += noted
    found = [line.rstrip() for line in lines[at:end]]
    if noted:
        del found[-2]
    same = (
        len(found) == end - at - noted
        and _LISTED_SCORE.fullmatch(found[1]) is not None
        and found[2] in days
        and found[3:] == [*role, *key, content.rstrip()]
    )
    return _Frame(end if same else at + 1, memory, same)


def _related(at: int, line: str, match: re.Match[str], memories: Memories) -> _Frame | None:
    stored = memories.by_id(match[1])
    if stored is None:
        return None
    memory = stored.memory
    text, key = f") {one_line(memory.content, LIST_CHARS)}", _key(memory)
    behind = _without_sources(line[match.end() :])
    states = _STATES.match(behind, len(key)) if behind.startswith(key) else None
    printed = states is not None and behind[states.end() :] == text.rstrip()
    return _Frame(at + 1, memory, printed and _is_day(memory, match[2], memories.zone))


def _indented(lines: Sequence[str], at: int, first: str, mark: str = "  ") -> tuple[str, int]:
    """A text of several lines, each further one behind a mark, and the place behind it."""
    found, place = [first], at + 1
    while place < len(lines):
        line = lines[place]
        # an editor may have taken the mark off a blank line
        blank = not line.strip() and place + 1 < len(lines) and lines[place + 1].startswith(mark)
        if not line.startswith(mark) and not blank:
            break
        found.append(line[len(mark) :])
        place += 1
    return "\n".join(found), place


def _confirmed_or_not(memory: Memory) -> list[Memory]:
    """A statement of a model before and after somebody stood for it; of others itself."""
    if memory.role not in MODEL_ROLES:
        return [memory]
    return [msgspec.structs.replace(memory, confirmed=one) for one in (True, False)]


def _key(memory: Memory) -> str:
    return "" if memory.key is None else f", key={escaped_breaks(memory.key)}"


def _days(memory: Memory, zone: str) -> set[str]:
    """Days since which a memory holds, as the layouts print them."""
    return {day_of(memory.t_valid, one) for one in ("UTC", zone)}


def _is_day(memory: Memory, day: str, zone: str) -> bool:
    return day in _days(memory, zone)


# --- lines of a context block -------------------------------------------------------------------


def _quoted(
    lines: Sequence[str], at: int, behind_id: str, stored: Stored, memories: Memories
) -> _Frame:
    """A line of a context block: what Vestig says of the memory, a colon, the text."""
    if _WHY.fullmatch(behind_id):
        signals = at + 1 < len(lines) and _WHY_SIGNALS.fullmatch(lines[at + 1].rstrip())
        return _Frame(at + 2 if signals else at + 1, stored.memory, True)
    first = _behind_head(behind_id, stored, memories)
    if first is None:
        return _Frame(at + 1, stored.memory, False)
    text, end = _indented(lines, at, first, "> ")
    same = _is_shown(text, stored.memory, memories)
    return _Frame(end if same else at + 1, stored.memory, same)


def _behind_head(text: str, stored: Stored, memories: Memories) -> str | None:
    """The text behind what a line says of a memory; None where that is something else."""
    memory, zone = stored.memory, memories.zone
    rest = _without(text, _days(memory, zone))
    rest = _without(rest, {speaker_of(memory)})
    rest = _without(_without_sources(rest), _limits(stored, zone))
    if rest.startswith(", also ["):
        behind = _behind_folded(rest[len(", also ") :], memory, memories)
        if behind is None:
            return None
        rest = behind
    more = _MORE.match(rest)
    rest = rest if more is None else rest[more.end() :]
    return rest[2:] if rest.startswith(": ") else None


_MORE: Final = lazy_pattern(r" and \d+ more(?=: )")
_FOLDED: Final = lazy_pattern(rf"\[({_ID})\]")


def _behind_folded(text: str, head: Memory, memories: Memories) -> str | None:
    """The text behind the memories that a line names beside its own; None where one is said to be
    something else."""
    same = meanings(head.times, memories.zone)
    while match := _FOLDED.match(text):
        stored = memories.by_id(match[1])
        if stored is None:
            return None
        rest = _without(text[match.end() :], _days(stored.memory, memories.zone))
        rest = _without(_without_sources(rest), _limits(stored, memories.zone))
        for words, means in meanings(stored.memory.times, memories.zone).items():
            if same.get(words) != means:
                rest = _without(rest, {f"{on_line(words)} [{means}]"})
        if not rest.startswith(", ["):
            return rest
        text = rest[2:]
    return None


def _without(text: str, words: set[str]) -> str:
    """A text without the longest of these that it begins with, behind a space."""
    for one in sorted(words, key=len, reverse=True):
        if one and text.startswith(f" {one}"):
            return text[len(one) + 1 :]
    return text


def _without_sources(text: str) -> str:
    """A text that begins in or before round brackets, without what they say of sources."""
    match = _SOURCES.match(text)
    if match is None:
        return text
    before = match[1]
    return ("" if before == " (" else f"{before})") + text[match.end() :]


def _limits(stored: Stored, zone: str) -> set[str]:
    return {
        limits(memory, stored.flags, one, day=day, older=older)
        for memory in _confirmed_or_not(stored.memory)
        for one in ("UTC", zone)
        for day in (True, False)
        for older in (True, False)
    }


def _is_shown(text: str, memory: Memory, memories: Memories) -> bool:
    """Return whether a text is what a line shows of a memory: all of it, with or without what its
    times mean, or a part of it with a mark that it is cut."""
    said, content = single_spaced(text), clean(memory.content)
    times = () if is_undated(memory.metadata) else memory.times
    whole = {
        single_spaced(content),
        *(single_spaced(dated(content, times, one)) for one in ("UTC", memories.zone)),
    }
    if said in whole:
        return True
    shown = _SHOW.search(said)
    if shown is not None and memory.id.removeprefix("mem_").startswith(
        shown[1].removeprefix("mem_")
    ):
        said = said[: shown.start()]
    part = said.removeprefix(CUT).removesuffix(CUT)
    if part == said or len(part) < _CUT_CHARS_MIN:
        return False
    # a passage may be shown from one of its sections on
    return any(part in one if said.startswith(CUT) else one.startswith(part) for one in whole)
