"""JSON that others wrote, read strictly: no name stands twice in one object, none is nested deeper
than it can be read."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    import json


_NAME_CHARS: Final = 60


class RepeatedNameError(msgspec.DecodeError):
    """A name that stands twice in one object; readers differ in which of its values counts."""


def read_json(text: str | bytes | bytearray) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        msgspec.DecodeError: no JSON, NaN, infinity, a number beyond a float's range.
        RepeatedNameError: a name stands twice in one object.
        UnicodeDecodeError: bytes that are no UTF-8.
        UnicodeEncodeError: text with a lone surrogate.
        RecursionError: nested too deeply.

    Example:
        >>> read_json('{"ids": "a", "confirm": true}')
        {'ids': 'a', 'confirm': True}
        >>> read_json('{"ids": "a", "ids": "b"}')
        Traceback (most recent call last):
        ...
        vestig.json_text.RepeatedNameError: the name 'ids' stands twice in one object
    """
    value = msgspec.json.decode(text)
    check_distinct_names(text)
    return value


def json_in_text(text: str, kind: type) -> Any:
    """The list or object that a text is as JSON, as language models send one; None for others.

    Args:
        kind: `list` or `dict`.

    Example:
        >>> json_in_text('["a"]', list), json_in_text("a, b", list)
        (['a'], None)
    """
    if text.strip()[:1] not in ("[", "{"):
        return None
    try:
        value = read_json(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


def check_distinct_names(text: str | bytes | bytearray) -> None:
    """Refuses JSON, already known to be readable, in which a name stands twice in one object.

    Raises:
        RepeatedNameError: one does.
        RecursionError: nested too deeply.
    """
    _names().decode(text if isinstance(text, str) else text.decode())


@cache
def _names() -> json.JSONDecoder:
    import json

    # numbers are counted, not made: a long one would take time
    return json.JSONDecoder(object_pairs_hook=_distinct, parse_int=len, parse_float=len)


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    found: set[str] = set()
    for name, _ in pairs:
        if name in found:
            shown = name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"
            raise RepeatedNameError(f"the name {shown!r} stands twice in one object")
        found.add(name)


# Readers of JSON recurse. Far below the depth at which they give up, nothing else that runs
# meanwhile, such as finalizers of other objects, runs out of stack.
DEPTH_MAX: Final = 64
_TOKEN: Final = lazy_pattern(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def is_too_deep(text: str) -> bool:
    """Return whether brackets outside of strings are open more than 64 deep at once.

    Example:
        >>> is_too_deep("[" * 65), is_too_deep("[]" * 65), is_too_deep('"' + "[" * 65 + '"')
        (True, False, False)
    """
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return False
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return True
        elif token in "]}":
            depth -= 1
    return False
