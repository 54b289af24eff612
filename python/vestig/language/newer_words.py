"""Words that tell which of two statements holds: a question about the past or about now, and a text
that says what has changed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["newer_words_version", "says_change", "speaks_of_past", "speaks_of_present"]

_FILE: Final = Path(__file__).parents[1] / "data" / "newer_words.json"
# What stands for a part of an entry; `<month>` is any of the list of months.
_YEAR: Final = r"(?:19|20)[0-9]{2}"
_WORDS: Final = r"\w+(?:\s+\w+){0,2}"


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lists of `data/newer_words.json`, lower case; between the words of an entry there is any
    white space. "may" is a month only beside a word that makes it one."""

    version: str
    past: list[str]
    present: list[str]
    change: list[str]
    months: list[str]


@cache
def _lists() -> _Lists:
    return msgspec.json.decode(_FILE.read_bytes(), type=_Lists)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Finds any entry of a list, as whole words."""
    lists = _lists()
    months = "|".join(lists.months)
    parts = {"<month>": f"(?:{months})", "<year>": _YEAR, "<words>": _WORDS}
    entries = [
        r"\s+".join(parts.get(word, re.escape(word)) for word in entry.split())
        for entry in getattr(lists, name)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(entries)})(?!\w)")


def newer_words_version() -> str:
    """Names the lists.

    Example:
        >>> newer_words_version()
        'newer-words-1'
    """
    return _lists().version


def speaks_of_past(query: str) -> bool:
    """Whether a question asks about what was: by its verbs, by a word of time, a month or a year.

    Example:
        >>> [speaks_of_past(one) for one in ("Where did Tom live?", "Where does Tom live?")]
        [True, False]
        >>> [speaks_of_past(one) for one in ("who left in May?", "what may I eat?")]
        [True, False]
    """
    return _pattern("past").search(query.lower()) is not None


def speaks_of_present(query: str) -> bool:
    """Whether a question asks about what holds now.

    Example:
        >>> speaks_of_present("Does Tom still live in Oslo?")
        True
    """
    return _pattern("present").search(query.lower()) is not None


def says_change(text: str) -> bool:
    """Whether a text says that something is not as it was.

    Example:
        >>> says_change("Tom moved to Bergen"), says_change("Tom lives in Oslo")
        (True, False)
        >>> says_change("The new meeting room is 4.12"), says_change("I know Tom")
        (True, False)
    """
    return _pattern("change").search(text.lower()) is not None
