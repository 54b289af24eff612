"""Normal forms of a name: with capitals, in lower case, without outer punctuation."""

from __future__ import annotations

import string
from typing import Final
from unicodedata import normalize

import oracle

from vestig._core import visible
from vestig.errors import ValidationError
from vestig.language.text_forms import TextCache

__all__ = [
    "cased_name",
    "norm_name",
    "trimmed",
    "without_possessive",
]

# A space between punctuation goes with it.
_OUTER: Final = frozenset(string.punctuation + " ’")


def norm_name(name: str) -> str:
    """A name in lower case, composed (NFC), without outer punctuation and repeated spaces.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> norm_name("PostgreSQL."), norm_name('"C++"'), norm_name(".NET")
        ('postgresql', 'c++', '.net')
    """
    return _NORM[name]


def cased_name(name: str) -> str:
    """A name without outer punctuation, inner runs of whitespace as one space, in its capitals.

    Raises:
        ValidationError: only whitespace.

    Example:
        >>> cased_name(" (Ada  Lovelace), ")
        'Ada Lovelace'
    """
    return _CASED[name]


def _cased(name: str) -> str:
    # most names are words and single spaces
    if name.replace(" ", "").isalnum() and "  " not in name:
        return name.strip(" ")
    whole = " ".join(name.split())
    if not whole:
        raise ValidationError("name", name, "a name with at least one visible character")
    start, end = trimmed(whole)
    return whole[start:end] if start < end else whole


_CASED: Final = TextCache(_cased)
_NORM: Final = TextCache(
    lambda name: _cased(oracle.lower(normalize("NFC", visible(name).replace("’", "'"))))
)


def trimmed(text: str) -> tuple[int, int]:
    """Where a text without its outer ASCII punctuation begins and ends; a first `.` before a
    letter and a final run of `+` or `#` after one stay.

    Example:
        >>> trimmed('"C++",')
        (1, 4)
    """
    start, end = 0, len(text)
    while start < end and text[start] in _OUTER:
        if text[start] == "." and start + 1 < end and text[start + 1].isalpha():
            break
        start += 1
    # outer quotes first, so that the run of a name like "C++" is seen at its end
    while end > start and text[end - 1] in _OUTER:
        kept = end
        while kept > start and text[kept - 1] in "+#":
            kept -= 1
        if start < kept < end and text[kept - 1].isalpha():
            break
        end -= 1
    return start, end


def without_possessive(word: str) -> str:
    """A word without a final `'s`, which is not part of a name.

    Example:
        >>> without_possessive("Ada's"), without_possessive("Jonas'"), without_possessive("dogs")
        ('Ada', 'Jonas', 'dogs')
    """
    if len(word) > 1 and word[-1] in "'’":
        return word[:-1]
    if len(word) > 2 and word[-1] == "s" and word[-2] in "'’":
        return word[:-2]
    return word
