"""Edits of a JSON text that others wrote: what is put in is taken out again, and every other
character stays as it stands.

The text is known to be readable: `vestig.json_text.read_json` has read it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern

_SPACE: Final = lazy_pattern(r"[ \t\r\n]*")
_INDENT: Final = lazy_pattern(r"\n([ \t]+)[^ \t\r\n]")
# numbers are passed over, not made: a long one would take time
_VALUES: Final = json.JSONDecoder(parse_int=len, parse_float=len)


class Part(NamedTuple):
    """A member of an object or an element of a list, by its places in the text.

    `name`: of a member, "" of an element; `value`: where its value begins.
    """

    name: str
    start: int
    value: int
    end: int


class Cut(NamedTuple):
    """A stretch of a text that goes."""

    start: int
    end: int


def begin(text: str) -> int:
    """Return where the value of a text begins."""
    return _behind_space(text, 0)


def parts(text: str, place: int) -> list[Part]:
    """Return what the object or list that begins at a place consists of; nothing for others.

    Example:
        >>> text = '{"a": [1, 2]}'
        >>> parts(text, 0)
        [Part(name='a', start=1, value=6, end=12)]
        >>> [text[one.start : one.end] for one in parts(text, 6)]
        ['1', '2']
    """
    found: list[Part] = []
    if text[place] not in "{[":
        return found
    is_object = text[place] == "{"
    at = _behind_space(text, place + 1)
    while text[at] not in "}]":
        start, name = at, ""
        if is_object:
            name, at = _VALUES.raw_decode(text, at)
            at = _behind_space(text, _behind_space(text, at) + 1)
        _, end = _VALUES.raw_decode(text, at)
        found.append(Part(name, start, at, end))
        at = _behind_space(text, end)
        if text[at] == ",":
            at = _behind_space(text, at + 1)
    return found


def cuts(text: str, place: int, gone: Collection[Part]) -> list[Cut]:
    """Return what goes with some parts of the object or list at a place: they, and the comma and
    the space that `appended` puts before each.

    Example:
        >>> text = '[ 1, 2, 3 ]'
        >>> without(text, cuts(text, 0, parts(text, 0)[1:]))
        '[ 1 ]'
        >>> without(text, cuts(text, 0, parts(text, 0)[:1]))
        '[ 2, 3 ]'
        >>> without(text, cuts(text, 0, parts(text, 0)))
        '[ ]'
    """
    found = []
    # where the part before ends; before the first one stands nothing to be cut with it
    last: int | None = None
    first: int | None = None
    for part in parts(text, place):
        if part not in gone:
            if first is not None:
                found.append(Cut(first, part.start))
            first, last = None, part.end
        elif last is not None:
            found.append(Cut(last, part.end))
            last = part.end
        elif first is None:
            first = part.start
    if first is not None:
        found.append(Cut(place + 1, max(part.end for part in gone)))
    return found


def without(text: str, gone: Collection[Cut]) -> str:
    """Return a text without stretches of it."""
    for cut in sorted(gone, reverse=True):
        text = text[: cut.start] + text[cut.end :]
    return text


def appended(text: str, place: int, part: str, depth: int) -> str:
    """Return a text with a part at the end of the object or list at a place, spaced as the one
    before it; the first member of an object stands on a line of its own if the text has lines.

    Args:
        depth: how far a line in there is indented.

    Example:
        >>> appended('[1,  2 ]', 0, "3", 1), appended('{ }', 0, '"a": 1', 1)
        ('[1,  2,  3 ]', '{"a": 1 }')
        >>> appended('{\\n}', 0, '"a": 1', 1)
        '{\\n  "a": 1\\n}'
    """
    there = parts(text, place)
    if not there:
        space = line(text, depth) if text[place] == "{" else ""
        return text[: place + 1] + space + part + text[place + 1 :]
    start = there[-2].end if len(there) > 1 else place
    space = text[start + 1 : there[-1].start].rpartition(",")[2]
    return f"{text[: there[-1].end]},{space}{part}{text[there[-1].end :]}"


def line(text: str, depth: int) -> str:
    """Return the break and the indentation before a part, as the text has them; "" for a text of
    one line.

    Example:
        >>> line('{\\r\\n\\t"a": 1}', 2), line('{"a": 1}\\n', 2)
        ('\\r\\n\\t\\t', '')
    """
    if "\n" not in text.strip():
        return ""
    found = _INDENT.search(text)
    indent = "  " if found is None else found[1]
    return ("\r\n" if "\r\n" in text else "\n") + indent * depth


def _behind_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    assert found is not None
    return found.end()
