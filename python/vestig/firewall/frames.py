"""A store's own output when it comes back: frames are taken off, and the texts in them recognised.

A frame is what the layouts of results and the context block write around the text of a memory. A
text in one is an echo where it is that memory's own; anything else is what the caller wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from vestig.language.text_forms import one_line, single_spaced
from vestig.lazy_pattern import lazy_pattern

# Characters of a text that layouts of one line show.
LIST_CHARS: Final = 100

_ID: Final = r"(?:mem_)?[0-9a-f]{8}[0-9a-f-]{0,28}"
# Most texts hold nothing that could be a frame.
_MAY_HOLD: Final = lazy_pattern(
    rf"^(?:[+~] )?\[{_ID}\]|^(?:ID: |Related: \[)mem_|^\(score=\d", re.MULTILINE
)
_HEADER: Final = lazy_pattern(rf"\[({_ID})\] \(score=[-+.\de]+, method=\w+(?:, [^()]*)?\)")
_COMPACT: Final = lazy_pattern(r"\(score=[-+.\de]+, age=[^,()]+, stability=\w+(?:, [^()]*)?\)")
_LISTED: Final = lazy_pattern(rf"ID: ({_ID})")
_RELATED: Final = lazy_pattern(rf"Related: \[({_ID})\](?: \((?:signal|date)=[^()]*\))? (.*)")
_QUOTED: Final = lazy_pattern(rf"(?:[+~] )?\[({_ID})\](.*)")
_EXPLAINED: Final = (
    "Reason: ", "Signals: ", "Above the pool: ", "Scores: ", "Path: ", "Steps: ", "TraceRank: ",
    "Flags: ", "Score: ", "Date: ", "Key: ",
)  # fmt: skip
_CONTENT: Final = "Content: "
_SEPARATOR: Final = "---"
# What Vestig says of a memory between its id and its text, if that does not begin with the speaker.
_SAID: Final = lazy_pattern(r"\d{4}-\d\d-\d\d\b|\(|, also \[|score \d|:")
# Lines of a result beside its frames.
_BESIDE: Final = lazy_pattern(
    r"confidence \d\.\d\d|nothing above \S+ \(best \S+\); nearest:|\d+ more left out\."
    r"|Quoted data(?: of \d{4}-\d\d-\d\d)?, not instructions\..*"
    r"|## (?:Session .*|No session.*) · \d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?"
)
# A date in brackets behind the words that mean it.
_DATE: Final = lazy_pattern(r" \[[^\[\]]*\d{4}[^\[\]]*\]")
_CUT: Final = lazy_pattern(r"…(?: \(show [^()]*\))?$")
# A text that was cut shows so many characters of a memory at least.
_CUT_CHARS_MIN: Final = 12


class Stored(NamedTuple):
    """A memory that a frame names. `speaker`: its author, role or quoted title, as lines of a
    context block write it."""

    id: str
    content: str
    speaker: str = ""


class Unframed(NamedTuple):
    """`text`: what the caller wrote; `echoes`: ids of the memories whose texts were taken out."""

    text: str
    echoes: tuple[str, ...]


class Memories(NamedTuple):
    """How memories of a namespace are looked up: by an id or its beginning, and by their text; None
    where there is none, or several begin so."""

    by_id: Callable[[str], Stored | None]
    by_text: Callable[[str], Stored | None]


class _Frame(NamedTuple):
    """`end`: the line behind it; `text`: what stands in it."""

    end: int
    text: str
    memory: Stored
    echo: bool


def may_hold_frames(text: str) -> bool:
    """Return whether a line of the text begins as a frame does.

    Example:
        >>> may_hold_frames("[0123abcd] Ada: the key is here"), may_hold_frames("the key")
        (True, False)
    """
    return ("[" in text or "(score=" in text or "ID: " in text) and bool(_MAY_HOLD.search(text))


def unframed(text: str, memories: Memories) -> Unframed:
    """A text without the frames of memories that there are, and without the echoes in them.

    Example:
        >>> key = Stored("mem_0123abcd", "the spare key lies under the pot")
        >>> known = Memories(lambda id: key if key.id.endswith(id) else None, lambda text: None)
        >>> unframed("I asked.\\n[0123abcd]: the spare key lies under the pot", known)
        Unframed(text='I asked.', echoes=('mem_0123abcd',))
    """
    lines = text.split("\n")
    # (line, None) as it stands, (text of a frame, frame)
    parts: list[tuple[str, _Frame | None]] = []
    at = 0
    while at < len(lines):
        frame = _frame_at(lines, at, memories)
        if frame is None:
            parts.append((lines[at], None))
            at += 1
        else:
            parts.append(("" if frame.echo else frame.text, frame))
            at = frame.end
    frames = [frame for _, frame in parts if frame is not None]
    if not frames:
        return Unframed(text, ())
    echoes = dict.fromkeys(frame.memory.id for frame in frames if frame.echo)
    return Unframed(_rest(parts), tuple(echoes))


def _rest(parts: Sequence[tuple[str, _Frame | None]]) -> str:
    kept: list[str] = []
    taken = False
    for at, (line, frame) in enumerate(parts):
        if _is_beside(parts, at) if frame is None else frame.echo:
            taken = True
        elif line.strip() or not (taken and kept and not kept[-1].strip()):
            # of blank lines around what was taken out, one stays
            kept.append(line)
            taken = taken and not line.strip()
    return "\n".join(kept).strip()


def _is_beside(parts: Sequence[tuple[str, _Frame | None]], at: int) -> bool:
    """Return whether a line belongs to the frames beside it."""
    line = parts[at][0].strip()
    if line == _SEPARATOR:
        return _next_frame(parts[:at][::-1]) or _next_frame(parts[at + 1 :])
    return (_BESIDE.fullmatch(line) or _COMPACT.fullmatch(line)) is not None


def _next_frame(parts: Sequence[tuple[str, _Frame | None]]) -> bool:
    """Return whether the first part that is not blank is a frame."""
    filled = (frame is not None for text, frame in parts if frame is not None or text.strip())
    return next(filled, False)


def _frame_at(lines: Sequence[str], at: int, memories: Memories) -> _Frame | None:
    line = lines[at].rstrip()
    if match := _HEADER.fullmatch(line):
        return _with_content(lines, at, memories.by_id(match[1]))
    if _COMPACT.fullmatch(line) and at + 1 < len(lines):
        text, end = _body(lines, at + 1, lines[at + 1], "  ")
        memory = memories.by_text(text)
        return None if memory is None else _Frame(end, text, memory, True)
    if match := _LISTED.fullmatch(line):
        return _with_content(lines, at, memories.by_id(match[1]))
    if match := _RELATED.fullmatch(line):
        memory = memories.by_id(match[1])
        echo = memory is not None and _is_shown(match[2], memory.content)
        return None if memory is None else _Frame(at + 1, match[2], memory, echo)
    if (match := _QUOTED.fullmatch(line)) and ":" in match[2]:
        return _quoted(lines, at, match[2], memories.by_id(match[1]))
    return None


def _with_content(lines: Sequence[str], at: int, memory: Stored | None) -> _Frame | None:
    """A frame whose text stands behind `Content:`."""
    place = at + 1
    while place < len(lines) and lines[place].startswith(_EXPLAINED):
        place += 1
    if memory is None or place == len(lines) or not lines[place].startswith(_CONTENT):
        return None
    text, end = _body(lines, place, lines[place][len(_CONTENT) :], "  ")
    return _Frame(end, text, memory, _is_shown(text, memory.content))


def _quoted(lines: Sequence[str], at: int, behind_id: str, memory: Stored | None) -> _Frame | None:
    """A line of a context block: what Vestig says of the memory, a colon, the text."""
    if memory is None:
        return None
    head = behind_id.lstrip()
    spoken = bool(memory.speaker) and head.startswith(memory.speaker)
    if not spoken and not _SAID.match(head):
        # words of the caller about the memory
        return None
    text, end = _body(lines, at, behind_id, "> ")
    own, said = _plain(memory.content), _plain(text)
    if said.endswith(own) and said[: -len(own)].rstrip().endswith(":"):
        return _Frame(end, text, memory, True)
    _, _, words = text.partition(":")
    return _Frame(end, words.strip(), memory, _is_cut(said, own))


def _body(lines: Sequence[str], at: int, first: str, mark: str) -> tuple[str, int]:
    """A text of several lines, each further one behind a mark, and the place behind it."""
    found = [_SEPARATOR if first == f"\\{_SEPARATOR}" else first]
    place = at + 1
    while place < len(lines):
        line = lines[place]
        # an editor may have taken the mark off a blank line
        blank = not line.strip() and place + 1 < len(lines) and lines[place + 1].startswith(mark)
        if not line.startswith(mark) and not blank:
            break
        found.append(line[len(mark) :])
        place += 1
    return "\n".join(found), place


def _plain(text: str) -> str:
    return _DATE.sub("", single_spaced(text))


def _is_shown(text: str, content: str) -> bool:
    """Return whether a text is what a layout shows of a memory: all of it, or its first
    characters."""
    said = single_spaced(text)
    return said in (single_spaced(content), one_line(content, LIST_CHARS))


def _is_cut(said: str, own: str) -> bool:
    """Return whether a line ends with the beginning of a memory's text, and a mark that it is
    cut."""
    mark = _CUT.search(said)
    if mark is None:
        return False
    shown = said[: mark.start()]
    starts = (place.end() for place in re.finditer(r":\s+", shown))
    return any(len(shown) - at >= _CUT_CHARS_MIN and own.startswith(shown[at:]) for at in starts)
