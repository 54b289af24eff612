"""The lists of words by which names are told."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Final

import vestig

__all__ = ["LISTS", "is_given_name", "of"]

_FILE: Final = Path(vestig.__file__).parent / "data" / "name_words.txt"
# section → its words
LISTS: Final = {
    match[1]: frozenset(match[2].split())
    for match in re.finditer(
        r"^\[(\w+)\]\n((?:[^\[#\n].*\n|\n)*)", _FILE.read_text("utf-8"), re.MULTILINE
    )
}


def is_given_name(word: str) -> bool:
    """Return whether a word in lower case is a given name, with its accents or without them."""
    plain = "".join(
        char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char)[0] != "M"
    )
    return word in LISTS["given"] or plain in LISTS["given"]


def of(section: str) -> str:
    """The words of a section as alternatives of a pattern, the longest first."""
    return "|".join(map(re.escape, sorted(LISTS[section], key=len, reverse=True)))
