"""Normal forms of a name: with capitals, in lower case, as the key of an entity, as aliases."""

from __future__ import annotations

import string
from typing import Final
from unicodedata import normalize

from vestig.errors import ValidationError
from vestig.language.text_cache import TextCache
from vestig.language.word_list import word_list

__all__ = [
    "LEGAL_FORMS",
    "TITLES",
    "aliases_of",
    "cased_name",
    "norm_key",
    "norm_name",
    "trimmed",
    "without_possessive",
]

TITLES: Final = frozenset(("dr", "mr", "ms", "mrs", "prof", "professor"))
LEGAL_FORMS: Final = frozenset(word_list("ltd limited inc incorporated corp corporation llc gmbh"))
# A space between punctuation goes with it.
_OUTER: Final = frozenset(string.punctuation + " ")


def norm_name(name: str) -> str:
    """A name in lower case, composed (NFC), without outer punctuation and repeated spaces: the part
    of a `norm_key` after the type.

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
_NORM: Final = TextCache(lambda name: _cased(normalize("NFC", name).lower()))


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


def norm_key(name: str, type: str) -> str:
    """The key of an entity, `TYPE:name`: entities of a namespace with equal keys are one.

    Raises:
        ValidationError: an empty name.

    Example:
        >>> norm_key("  Dr. Lovelace  ", "person"), norm_key("C#", "SKILL")
        ('PERSON:dr. lovelace', 'SKILL:c#')
    """
    return f"{type.strip().upper()}:{norm_name(name)}"


def aliases_of(name: str, type: str) -> tuple[str, ...]:
    """The name without the titles of a person or the legal form of an organisation.

    Example:
        >>> aliases_of("Prof. Dr. Ada Lovelace", "PERSON"), aliases_of("Acme Ltd.", "ORG")
        (('Ada Lovelace',), ('Acme',))
    """
    words = name.split()
    kept = list(words)
    if type == "PERSON":
        while kept and kept[0].rstrip(".").lower() in TITLES:
            kept.pop(0)
    elif type == "ORG":
        while kept and kept[-1].rstrip(".").lower() in LEGAL_FORMS:
            kept.pop()
    stripped = " ".join(kept).rstrip(",")
    return (stripped,) if kept and len(kept) < len(words) and stripped else ()
