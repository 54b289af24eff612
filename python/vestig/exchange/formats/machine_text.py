"""The texts that an editor itself writes into those of a user: elements and lines of a closed list
for each editor, `data/machine_tags.json`.

A text is an editor's where it consists of such elements alone. Between own words, only an element
that editors attach to prompts is taken off, where it stands on lines of its own at the beginning or
the end and no colon before it says that it is quoted. All else is what the user wrote, and stays
whole.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from vestig.decoders import decoded
from vestig.exchange.formats.drafts import Reading

_DATA: Final = Path(__file__).resolve().parents[2] / "data" / "machine_tags.json"
_COUNTED: Final = "injected context"


class Marks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The marks of an editor. `elements`: names of elements that it writes; `attached`: those that
    it adds to a prompt; `lines`: whole texts; `headed`: how a line begins that stands before an
    element, and the name of that."""

    elements: tuple[str, ...]
    attached: tuple[str, ...]
    lines: tuple[str, ...]
    headed: dict[str, str]


@cache
def marks_of(editor: str) -> Marks:
    """Return the marks of an editor: `claude_code` or `codex`."""
    return decoded(_DATA.read_bytes(), dict[str, Marks])[editor]


def said_by_user(texts: list[str], editor: str, reading: Reading) -> list[str]:
    """Return the texts of a user's message without what the editor wrote, which is counted.

    Example:
        >>> reading = Reading()
        >>> said_by_user(["<bash-stdout>412</bash-stdout>", "Why?"], "claude_code", reading)
        ['Why?']
        >>> dict(reading.left_out)
        {'injected context': 1}
        >>> said_by_user(["What is <bash-stdout>?"], "claude_code", reading)
        ['What is <bash-stdout>?']
    """
    marks = marks_of(editor)
    kept = []
    for text in texts:
        own = _own_words(text, marks)
        if own != text:
            reading.leave_out(_COUNTED)
        if own.strip():
            kept.append(own)
    return kept


def _own_words(text: str, marks: Marks) -> str:
    bare = text.strip()
    if bare in marks.lines:
        return ""
    if "<" not in bare:
        return text
    if not _after_elements(_without_heading(bare, marks), _opening(marks.elements)):
        return ""
    attached = _opening(marks.attached)
    rest = _after_elements(bare, attached, own_lines=True)
    rest = _before_elements(rest, attached)
    return text if rest == bare else rest


def _without_heading(text: str, marks: Marks) -> str:
    """The text behind a line that heads an element, and behind that; the text itself where it
    begins with no such line."""
    for beginning, element in marks.headed.items():
        rest = text.partition("\n")[2].lstrip()
        if text.startswith(beginning) and _opening((element,)).match(rest):
            return _after_elements(rest, _opening((element,)))
    return text


@cache
def _opening(names: tuple[str, ...]) -> re.Pattern[str]:
    listed = "|".join(re.escape(name) for name in names)
    return re.compile(rf"<({listed})(?:\s[^<>]*)?>")


def _after_elements(text: str, opening: re.Pattern[str], *, own_lines: bool = False) -> str:
    """The text behind the elements at its beginning."""
    while found := opening.match(text):
        closing = f"</{found.group(1)}>"
        end = text.find(closing, found.end())
        if end < 0:
            break
        rest = text[end + len(closing) :]
        if own_lines and rest.strip() and "\n" not in rest[: len(rest) - len(rest.lstrip())]:
            break
        text = rest.lstrip()
    return text


def _before_elements(text: str, opening: re.Pattern[str]) -> str:
    """The text before the elements at its end, each on lines of its own."""
    while True:
        found = None
        for found in opening.finditer(text):
            closing = f"</{found.group(1)}>"
            if text.find(closing, found.end()) == len(text) - len(closing):
                break
        else:
            return text
        before = text[: found.start()]
        words = before.rstrip()
        if not words or "\n" not in before[len(words) :] or words.endswith((":", "```")):
            return text
        text = words
