"""Words that tell whether a question asks about the past or about now."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

_FILE: Final = Path(__file__).parents[1] / "data" / "newer_words.json"


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lists of `data/newer_words.json`, lower case; between the words of an entry there is any
    white space."""

    past: list[str]
    present: list[str]


@cache
def _lists() -> _Lists:
    return msgspec.json.decode(_FILE.read_bytes(), type=_Lists)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Finds any entry of a list, as whole words."""
    entries = [r"\s+".join(map(re.escape, one.split())) for one in getattr(_lists(), name)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(entries)})(?!\w)")


def speaks_of_past(query: str) -> bool:
    """Return whether a question asks about what was: by its verbs, or by a word of time.

    Example:
        >>> [speaks_of_past(one) for one in ("Where did Tom live?", "Where does Tom live?")]
        [True, False]
    """
    return _pattern("past").search(query.lower()) is not None


def speaks_of_present(query: str) -> bool:
    """Return whether a question asks about what holds now.

    Example:
        >>> speaks_of_present("Does Tom still live in Oslo?")
        True
    """
    return _pattern("present").search(query.lower()) is not None
