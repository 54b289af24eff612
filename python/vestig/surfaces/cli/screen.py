"""Results for somebody who looks at a terminal: what fits its lines, words before numbers.

Where standard output is no terminal, or a layout is asked for, results are whole (`render`).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from vestig.language.text_forms import escaped_breaks, single_spaced
from vestig.lazy_pattern import lazy_pattern
from vestig.printed import said_by, state_words, status_words
from vestig.types import flags_of

if TYPE_CHECKING:
    from vestig.answers import RecallHit, RecallResult
    from vestig.results import DoctorReport, MemoryDetail, MemoryPage
    from vestig.retrieve.values import RetrieveResult
    from vestig.rules.values import RulePage
    from vestig.types import CommitOutcome, Memory

Args = Mapping[str, Any]
_CUT: Final = "…"
# Characters of a memory that a result shows.
_PASSAGE_CHARS: Final = 240
_INDENT: Final = "  "
# Options whose text goes into a prompt or a program, as it is.
_LAYOUTS: Final = frozenset(("format", "context", "budget"))
# Options that ask for more than the results.
_MORE: Final = frozenset(("explain", "expect"))
# Between the columns of a table.
_GAP: Final = lazy_pattern(r"\S(  +)(?=\S)")
_LONG_ID: Final = lazy_pattern(
    r"\b((?:mem|ent|edge|source|evt)_[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_REPLACED: Final = lazy_pattern(r"(?:mem|ent)_[0-9a-f-]{36} → ")
_LONG_TIME: Final = lazy_pattern(r"(\d{4}-\d\d-\d\d \d\d:\d\d):\d\d UTC")


class Screen(NamedTuple):
    """The size of a terminal, in characters."""

    columns: int = 80
    rows: int = 24

    @classmethod
    def of(cls, stream: IO[str]) -> Screen:
        """The size of the terminal that a stream writes to; 80 × 24 where it does not say."""
        try:
            columns, rows = os.get_terminal_size(stream.fileno())
        except (OSError, ValueError):
            return cls()
        return cls(columns or cls().columns, rows or cls().rows)


def width(text: str) -> int:
    """The columns that a text takes.

    Example:
        >>> width("tar"), width("雪"), width("e\\u0301")
        (3, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(line: str, columns: int) -> str:
    """A line that is no wider than this; `…` where it was.

    Example:
        >>> cut("The pump failed.", 9), cut("The pump", 9)
        ('The pump…', 'The pump')
    """
    if width(line) <= columns:
        return line
    shown, taken = [], 1
    for char in line:
        taken += width(char)
        if taken > columns:
            break
        shown.append(char)
    return "".join(shown).rstrip() + _CUT


def wrapped(text: str, columns: int, *, whole: bool = False) -> list[str]:
    """The lines of a text that are no wider than this; a word that is wider goes on in the next.

    Args:
        whole: a word of ASCII that is wider is a line of its own instead.

    Example:
        >>> wrapped("The pump failed on Monday", 9)
        ['The pump', 'failed on', 'Monday']
    """
    lines, line = [], ""
    for word in _pieces(text, columns, whole=whole):
        longer = f"{line} {word}" if line else word
        if width(longer) <= columns:
            line = longer
        else:
            lines.append(line)
            line = word
    return [*lines, line]


def _pieces(text: str, columns: int, *, whole: bool) -> Iterator[str]:
    for word in text.split(" "):
        if whole and word.isascii():
            yield word
            continue
        piece = ""
        for char in word:
            if width(piece) + width(char) > columns:
                yield piece
                piece = ""
            piece += char
        yield piece


def folded(text: str, screen: Screen) -> str:
    """A text whose lines are no wider than the screen: nothing of it is left out.

    A line goes on below its last column of a table, else below its beginning. A word of ASCII
    that is wider, such as a path, stays whole, for it is copied: the terminal breaks it.

    Example:
        >>> print(folded("path   a folder of notes", Screen(16, 24)))
        path   a folder
               of notes
    """
    return "\n".join(part for line in text.split("\n") for part in _folds(line, screen.columns))


def _folds(line: str, columns: int) -> Iterator[str]:
    if width(line) <= columns:
        yield line
        return
    indent = len(line) - len(line.lstrip(" "))
    for gap in _GAP.finditer(line):
        if width(line[: gap.end()]) > columns // 2:
            break
        indent = gap.end()
    head, room = line[:indent], columns - width(line[:indent])
    below = " " * width(head)
    for part in wrapped(line[indent:], room, whole=True):
        yield f"{head}{part}".rstrip(" ")
        head = below


def rows(text: str, screen: Screen) -> str:
    """The lines of a list, no wider than the screen: with the beginnings of ids, which name them
    too, and without seconds."""
    lines: list[str] = []
    for line in text.split("\n"):
        head, bar, last = line.rpartition(" | ")
        if not bar:
            # no entry of the list
            lines += _folds(line, screen.columns)
            continue
        short = _LONG_TIME.sub(r"\1", _LONG_ID.sub(r"\1", head))
        if _REPLACED.match(last):
            last = _LONG_ID.sub(r"\1", last)
        lines.append(cut(f"{short}{bar}{last}", screen.columns))
    return "\n".join(lines)


def outcome(value: CommitOutcome, args: Args, screen: Screen) -> str:
    """The outcome of a commit, and a line for each memory that it may replace."""
    from vestig.surfaces.cli import render

    first, *lines = render.outcome(value, args).split("\n")
    shown = [cut(short_id(line), screen.columns) for line in lines]
    return "\n".join([folded(first, screen), *shown])


def memories(page: MemoryPage, _: Args, screen: Screen) -> str:
    """Beginning of the id, day, status where it is none of an active one, until when it holds where
    that is known, scope where they are of several, key and text."""
    scopes = {one.scope for one in page}
    lines = [
        _memory(one, [*_listed_state(one), *(_scope(one) if len(scopes) > 1 else ())], screen)
        for one in page
    ]
    if lines:
        return "\n".join(lines)
    from vestig.surfaces.cli import render

    return render.nothing_on(page, "memories")


def history(found: Sequence[Memory], _: Args, screen: Screen) -> str:
    """Each version: since when and until when it holds, what became of it, and below that its
    text."""
    from vestig.surfaces.cli import render

    lines = []
    for one, (since, until) in zip(found, render.spans(found), strict=True):
        # of an end on the day of the beginning, the time
        end = until[11:] if until[11:] and since.startswith(until[:10]) else until
        cells = (short_id(one.id), f"{since} – {'' if end == '–' else end}", *_status(one))
        lines.append(cut("  ".join(cells).rstrip(), screen.columns))
        text = wrapped(single_spaced(one.content), screen.columns - len(_INDENT))
        lines += [f"{_INDENT}{line}" for line in text]
    return "\n".join(lines)


def rules(page: RulePage, _: Args, screen: Screen) -> str:
    """Each rule: what it does, when, how often it did and its scope, and below that its text."""
    from vestig.surfaces.cli import render

    lines = [] if page.rules else [render.nothing_on(page, "rules")]
    for one in page.rules:
        scope = "" if one.scope is None else f"  [{escaped_breaks(one.scope)}]"
        head = f"{short_id(one.id)}  {one.do}  fired {one.fired}{scope}"
        lines.append(cut(f"{head}  when {single_spaced(one.when)}", screen.columns))
        text = wrapped(single_spaced(one.text), screen.columns - len(_INDENT))
        lines += [f"{_INDENT}{line}" for line in text]
    last = page.offset + len(page.rules)
    if last < page.total:
        lines.append(f"{page.offset + 1} to {last} of {page.total}; --offset {last} goes on")
    return "\n".join(lines)


def detail(value: MemoryDetail, args: Args, screen: Screen) -> str:
    """The text of one memory, then what a reader wants to know of it."""
    from vestig.surfaces.cli import render

    return folded(render.detail(value, args), screen)


def doctor(value: DoctorReport, _: Args, screen: Screen) -> str:
    """A line for each check that is ok, and all that is said of the others."""
    from vestig.surfaces.cli import render

    lines = [
        cut(line, screen.columns) if one.level == "ok" else folded(line, screen)
        for one, line in zip(value.findings, render.checks(value), strict=True)
    ]
    return "\n".join(lines)


def retrieved(result: RetrieveResult, _: Args, screen: Screen) -> str:
    """How sure, in words, then facts and turns: a line for each that has room."""
    steps = [f"{one.iteration} {one.step}: {one.detail}" for one in result.reasoning_trace or ()]
    summary = result.context_summary or ""
    after = [
        *(["", "Summary:", *(f"> {line}" for line in summary.splitlines())] if summary else []),
        *(["", "Steps:", *map(single_spaced, steps)] if steps else []),
    ]
    below = folded("\n".join(after), screen).split("\n") if after else []
    lines = [f"{result.confidence} confidence"]
    parts = [part for part in (("Facts", result.facts), ("Messages", result.messages)) if part[1]]
    for at, (title, texts) in enumerate(parts):
        # the last line is the next prompt's, and each part has a title below an empty line
        room = max(1, (screen.rows - 1 - len(lines)) // (len(parts) - at) - 2)
        shown = texts if len(texts) <= room else texts[: max(1, room - 1)]
        more = len(texts) - len(shown)
        lines += ["", f"{title}:"]
        lines += [cut(f"- {single_spaced(text)}", screen.columns) for text in shown]
        lines += [f"{_CUT} and {more} more: a pipe or --json prints all"] if more else []
    if not parts:
        lines += ["", "No memories found."]
    return "\n".join([*lines, *below])


def _memory(one: Memory, state: Sequence[str], screen: Screen) -> str:
    return cut("  ".join([*_head(one, state), single_spaced(one.content)]), screen.columns)


def _listed_state(one: Memory) -> list[str]:
    until = [] if one.t_invalid is None else [f"until {one.t_invalid:%Y-%m-%d}"]
    return [*_status(one), *until]


def _scope(one: Memory) -> list[str]:
    return [] if one.scope is None else [f"{escaped_breaks(one.scope)}:"]


def _state_of(hit: RecallHit, result: RecallResult) -> list[str]:
    """State of a memory; of one beside the results, which the limit does not count, that links lead
    to it."""
    words = list(state_words(hit.memory, flags_of(hit.memory, result.query_time), "UTC"))
    words += ["linked"] * (hit in result.associated)
    return [f"({', '.join(words)})"] if words else []


def _head(one: Memory, state: Sequence[str]) -> list[str]:
    """Beginning of the id, day, state, role of a statement of a model, and key."""
    key = [] if one.key is None else [f"[{escaped_breaks(one.key)}]"]
    said = said_by(one)
    role = [f"({said})"] if said else []
    return [short_id(one.id), f"{one.t_valid:%Y-%m-%d}", *state, *role, *key]


def _status(one: Memory) -> list[str]:
    """Return what has become of a memory; nothing of one that holds, be it until a later one."""
    word = one.status.word
    return [] if word == "ACTIVE" or status_words(one) != word else [word.lower()]


def short_id(id: str) -> str:
    """The beginning of an id, which commands take for it.

    Example:
        >>> short_id("mem_482b5ed0-8a1a-4a99-b822-7842da783e75")
        'mem_482b5ed0'
    """
    return _LONG_ID.sub(r"\1", id)


def has_layout(args: Args) -> bool:
    """Return whether a command asks for a layout of its own."""
    return any(args.get(name) for name in _LAYOUTS)


def is_plain(args: Args) -> bool:
    """Return whether a command asks for the results and no more."""
    return not (has_layout(args) or any(args.get(name) for name in _MORE))


def found(result: RecallResult, args: Args, screen: Screen) -> str:
    """How sure the store is, in words, then the results: as many as have room with the sentences
    that have the words of the query, the others on a line each."""
    from vestig.recall.layouts import first_words, line_without_results
    from vestig.surfaces.cli import render

    hits = (*(result.nearest if result.abstained else result.results), *result.associated)
    if not hits:
        return line_without_results(result)
    first = first_words(result)
    lines = [] if first is None else [cut(first, screen.columns), ""]
    more = render.more(result, args)
    # the last line is the next prompt's
    room = screen.rows - 1 - len(lines) - (2 if more else 0)
    for at, hit in enumerate(hits):
        whole, left = _whole(hit, result, screen), len(hits) - at - 1
        # each of the others needs a line, and one divides them from those that are whole
        if len(whole) + (1 if left else 0) + left > room:
            lines += _brief(hits[at:], result, screen, room)
            break
        lines += [*whole, *([""] if left else [])]
        room -= len(whole) + 1
    return "\n".join([*lines, *(["", *more] if more else [])])


def _whole(hit: RecallHit, result: RecallResult, screen: Screen) -> list[str]:
    from vestig.language.best_window import best_window

    passage = best_window(hit.content, result.query or "", _PASSAGE_CHARS)
    text = wrapped(passage, screen.columns - len(_INDENT))
    head = cut("  ".join(_head(hit.memory, _state_of(hit, result))), screen.columns)
    return [head, *(f"{_INDENT}{line}" for line in text)]


def _brief(hits: Sequence[RecallHit], result: RecallResult, screen: Screen, room: int) -> list[str]:
    """A line for each that has room, and how many have none."""
    shown = hits if len(hits) <= room else hits[: max(1, room - 1)]
    lines = [_memory(hit.memory, _state_of(hit, result), screen) for hit in shown]
    more = len(hits) - len(shown)
    return [*lines, f"{_CUT} and {more} more: --format list prints all"] if more else lines
