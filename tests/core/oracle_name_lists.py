"""The lists of words by which names are told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import vestig

__all__ = ["LISTS", "of"]

_FILE: Final = Path(vestig.__file__).parent / "data" / "name_words.txt"
# section → its words
LISTS: Final = {
    match[1]: frozenset(match[2].split())
    for match in re.finditer(
        r"^\[(\w+)\]\n((?:[^\[#\n].*\n|\n)*)", _FILE.read_text("utf-8"), re.MULTILINE
    )
}


def of(section: str) -> str:
    """The words of a section as alternatives of a pattern, the longest first."""
    return "|".join(map(re.escape, sorted(LISTS[section], key=len, reverse=True)))
