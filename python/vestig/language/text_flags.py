"""Flags of a text for signals, in 16 bits of the projection, and titles as names."""

from __future__ import annotations

from typing import Final

from vestig._core import text_flags
from vestig.language.names.forms import norm_name
from vestig.language.names.rules import RULES

__all__ = ["asks", "text_flags", "title_key"]

_QUESTION: Final = 1 << 11


def asks(text: str) -> bool:
    """Return whether a text ends with a question mark.

    Example:
        >>> asks("Who is that? "), asks("Is it? Yes.")
        (True, False)
    """
    return bool(text_flags(text) & _QUESTION)


def title_key(title: str | None) -> str | None:
    """A title in the normal form of entity names; None when it is no name.

    Example:
        >>> title_key("Harbor Plan (draft)"), title_key("42"), title_key(None)
        ('harbor plan', None, None)
    """
    if title is None:
        return None
    named = RULES.title_name(title)
    return None if named is None else norm_name(named)
