"""Flags of a text for signals: length, question, number, first person, names, in 16 bits of the
projection."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import Final

from vestig.lazy_pattern import lazy_pattern

__all__ = ["text_flags"]

_LENGTH_MOST: Final = 2000
_QUESTION: Final = 1 << 11
_NUMBER_BIT: Final = 1 << 12
_OWN_BIT: Final = 1 << 13
_NAMES_AT: Final = 14
_NAMES_MOST: Final = 3

_DIGIT: Final = lazy_pattern(r"\d")
_NUMBER_WORDS: Final = (
    "one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million"
    " once twice"
)
_NUMBER: Final = lazy_pattern(rf"\b(?:{_NUMBER_WORDS.replace(' ', '|')})\b", re.I)
# The same for text in lower case: a first letter is found several times faster than a boundary.
_LOWER_NUMBER: Final = lazy_pattern(
    rf"[{''.join(sorted({word[0] for word in _NUMBER_WORDS.split()}))}](?<!\w.)"
    rf"(?:{'|'.join(f'(?<={word[0]}){word[1:]}' for word in _NUMBER_WORDS.split())})\b"
)
# The first person as subject or owner; "i" alone is not always it, "US" is a country.
_OWN: Final = lazy_pattern(r"[IMWOmwo](?<!\w.)(?:(?<=I)|(?<=[Mm])[ye]|(?<=[Ww])e|(?<=[Oo])ur)\b")
# A capitalised word that no sentence begins with; looking back from the capital is several times
# faster than at every character.
_NAME: Final = lazy_pattern(r"[A-Z](?:(?<=[^\W_]\s.)|(?<=[^\W_][,;:)'’\"”]\s.))\w+")
_QUOTED: Final = lazy_pattern(r"\"[^\"]{1,80}\"|“[^”]{1,80}”")


def text_flags(content: str) -> int:
    """The flags of a text, below 2¹⁶.

    Returns:
        bits 0-10: its code points, at most 2000; bit 11: it contains `?`; bit 12: a number, in
        digits or in words; bit 13: the first person; bits 14-15: names, at most 3, which are
        capitalised words inside of sentences and quoted terms.

    Example:
        >>> bits = text_flags('Did I see Ada Lovelace twice?')
        >>> bits & 2047, bits >> 11 & 1, bits >> 12 & 1, bits >> 13 & 1, bits >> 14
        (29, 1, 1, 1, 2)
    """
    bits = min(len(content), _LENGTH_MOST)
    if "?" in content:
        bits |= _QUESTION
    if _DIGIT.search(content) is not None or _has_number_word(content):
        bits |= _NUMBER_BIT
    if _OWN.search(content) is not None:
        bits |= _OWN_BIT
    found = chain(_NAME.finditer(content), _QUOTED.finditer(content))
    return bits | sum(1 for _ in islice(found, _NAMES_MOST)) << _NAMES_AT


def _has_number_word(content: str) -> bool:
    # Other alphabets have letters that count as these in other capitals.
    if content.isascii():
        return _LOWER_NUMBER.search(content.lower()) is not None
    return _NUMBER.search(content) is not None
