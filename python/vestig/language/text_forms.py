"""The forms of a text: as it was given, and the normal form by which texts are compared."""

from __future__ import annotations

import unicodedata
from typing import Final

from vestig.lazy_pattern import lazy_pattern

__all__ = ["CONTROL_CHARACTERS", "normal_form", "one_line", "trimmed", "unusable_reason"]

# The code points with the property White_Space. `str.split` also cuts at U+001C-U+001F,
# which do not have it.
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + ("\u2028\u2029\u202f\u205f\u3000")
)
_RUN: Final = lazy_pattern(f"[{_WHITE}]+")
_SEPARATORS: Final = lazy_pattern("[\x1c-\x1f]")
# C0 without tab and the characters that end a line.
CONTROL_CHARACTERS: Final = lazy_pattern("[\x00-\x08\x0e-\x1f]")


def trimmed(text: str) -> str:
    """The text as it is kept: without white space at its ends, else unchanged.

    Example:
        >>> trimmed("\\n  if so:\\n    stop\\n")
        'if so:\\n    stop'
    """
    return text.strip(_WHITE)


def normal_form(text: str, *, single_spaces: bool = True) -> str:
    """The form that layout and Unicode spelling do not change: trimmed, in NFC, every run of white
    space one space. Case and punctuation stay; zero-width characters are no white space.

    Args:
        text: any text.
        single_spaces: False keeps white space inside of the text.

    Example:
        >>> normal_form("  two\\t words\\n")
        'two words'
        >>> normal_form("cafe\\u0301") == "caf\\u00e9"
        True
    """
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    if not single_spaces:
        return composed.strip(_WHITE)
    # of printable characters only the space is white
    if composed.isprintable() and "  " not in composed:
        return composed.strip(" ")
    if _SEPARATORS.search(composed) is None:
        return " ".join(composed.split())
    return _RUN.sub(" ", composed).strip(" ")


def one_line(text: str, length: int) -> str:
    """The first `length` characters of the normal form, `...` only if cut.

    Example:
        >>> one_line("one line", 8), one_line("one\\nline more", 8)
        ('one line', 'one line...')
    """
    line = normal_form(text)
    return line if len(line) <= length else line[:length] + "..."


def unusable_reason(text: str) -> str | None:
    """Why a normalised text is refused wherever it comes from: it is empty, has nothing but
    characters without width, or holds a control character. None when it may pass.

    Example:
        >>> unusable_reason("\\x1b[2J")
        'Content contains the control character U+001B'
    """
    # printable text has no character of category Cc or Cf: it is refused where it is all spaces
    if text.isprintable() and text.strip(" "):
        return None
    if all(unicodedata.category(char) == "Cf" or char == " " for char in text):
        return "Memory content cannot be empty"
    if "\0" in text:
        return "Content contains a NUL character"
    control = CONTROL_CHARACTERS.search(text)
    if control is not None:
        return f"Content contains the control character U+{ord(control.group()):04X}"
    return None
