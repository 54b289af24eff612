"""What stands before the first capital of a name and is part of it."""

from __future__ import annotations

import re
import string
from typing import Final

from oracle_name_lists import LISTS, is_given_name
from oracle_name_patterns import UPPER

from vestig.lazy_pattern import lazy_pattern

__all__ = ["INNER", "SECOND", "head_of", "is_particle", "lead_of"]

_PARTICLES: Final = frozenset(
    ("van", "von", "de", "del", "della", "di", "da", "du", "bin", "ibn", "ter", "al", "el", "la",
     "le", "af")
)  # fmt: skip
SECOND: Final = frozenset(("der", "den", "dem", "la", "las", "los"))
_FIRST: Final = ("van", "von", "de")
INNER: Final = frozenset(
    ("&", "of", "the", "de", "van", "von", "del", "della", "di", "da", "du", "dos", "bin", "ibn")
)
_BARRED: Final = r"[\w@#/\\.'’-]"
# the character before a capital, or what is joined with it
_JOINED: Final = lazy_pattern(rf"(?<!{_BARRED})(?:(d['’])|(?:al|el)-|\d{{1,2}}-)$")
_OPENERS: Final = '(["“«„'


def is_particle(word: str) -> bool:
    """Return whether a name that begins with this word, in lower case, begins with a particle."""
    return word in _PARTICLES


def head_of(text: str, at: int) -> int | None:
    """Where the word with the capital at this place begins; None = the capital begins no name."""
    if at == 0 or re.match(_BARRED, text[at - 1]) is None:
        return at
    if text[at - 1].isdecimal():
        digits = re.search(rf"(?<!{_BARRED})\d{{1,3}}$", text[max(0, at - 4) : at])
        small = text[at + 1 : at + 2].islower() and text[at + 2 : at + 3].islower()
        return at - len(digits[0]) if digits and small else None
    start = max(0, at - 4)
    found = _JOINED.search(text[start:at])
    if found is None:
        return None
    if found[1] and _is_foreign(text):
        return at
    return start + found.start()


def lead_of(text: str, head: int, word: str) -> int:
    """How many characters before `head` are part of the name whose first word this is."""
    before = _word_before(text, head)
    if before is None:
        return 0
    start, own = before
    first = _word_before(text, start)
    if first is not None and first[1] in _FIRST and own in SECOND:
        start = first[0]
    elif own not in _PARTICLES and not (
        own.isdecimal() and len(own) <= 3 and _takes_number(text, start, first, word)
    ):
        return 0
    return 0 if _is_foreign(text) or is_given_name(_plain(word)) else head - start


def _word_before(text: str, at: int) -> tuple[int, str] | None:
    end = at
    while end and text[end - 1].isspace():
        end -= 1
    start = end
    while start and not text[start - 1].isspace():
        start -= 1
    own = text[start:end].lstrip(_OPENERS)
    return (end - len(own), own) if own and end < at else None


def _takes_number(text: str, start: int, before: tuple[int, str] | None, word: str) -> bool:
    own = _plain(word)
    if not word[1 : len(own)].islower() or own in LISTS["units"]:
        return False
    if before is None:
        return start == 0
    written = before[1]
    bare = written.rstrip(",;:").lower()
    if written[-1] in ".!?…":
        return True
    if written[0] in UPPER:
        return bare == "the" or bare in LISTS["times"]
    return written.islower() and bare not in LISTS["before_numbers"]


def _plain(word: str) -> str:
    return re.sub(r"(?<=.)['’]s?$", "", word).rstrip(".").lower()


def _is_foreign(text: str) -> bool:
    return any(word.strip(string.punctuation).lower() in LISTS["foreign"] for word in text.split())
