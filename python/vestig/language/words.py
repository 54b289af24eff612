"""Words of texts and queries: tokens of the core, those that are no stop words, those that say what
a query is about, and those that ask about the past or about now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from vestig import _core
from vestig._core import (
    ContentTerm,
    ContentWords,
    Substrings,
    lower_words,
    placed_terms,
    terms,
    terms_among,
    tokens,
)
from vestig.language.text_forms import word_list
from vestig.language.time.patterns import MONTHS, WEEKDAYS

__all__ = [
    "ContentTerm",
    "ContentWords",
    "Substrings",
    "asking_words",
    "content_terms",
    "frame_words",
    "keywords",
    "lower_words",
    "placed_terms",
    "terms",
    "terms_among",
    "tokens",
]


def keywords(text: str, *, limit: int = 64, extra_stopwords: Iterable[str] = ()) -> list[str]:
    """Lower-cased keywords, most frequent first, then by first position.

    Identifiers (`jira-9988`, `src/main.rs`) stay whole. Runs of Han, Hiragana, Katakana and Thai
    give overlapping bigrams.

    Args:
        text: any text.
        limit: the most that are returned; the default is that of memories and queries.
        extra_stopwords: further words to leave out (`keywords.stopwords`), in any case.

    Example:
        >>> keywords("The deploy of jira-9988: deploy on Fridays")
        ['deploy', 'jira-9988', 'fridays']
    """
    extra = frozenset([word.lower() for word in extra_stopwords if _is_text(word)])
    return _core.keywords(text, limit, extra)


def _is_text(word: str) -> bool:
    """Return whether it has no surrogate: no token has one."""
    return not any("\ud800" <= char <= "\udfff" for char in word)


def _read() -> frozenset[str]:
    text = (Path(__file__).parents[1] / "data" / "stopwords.txt").read_text(encoding="utf-8")
    return frozenset(
        word for line in text.splitlines() if not line.startswith("#") for word in line.split()
    )


STOPWORDS: Final = _read()


def _words_of_time() -> frozenset[str]:
    """The section `times` of `data/name_words.txt`."""
    text = (Path(__file__).parents[1] / "data" / "name_words.txt").read_text(encoding="utf-8")
    section = text.partition("\n[times]\n")[2].partition("\n#")[0]
    return frozenset(section.split())


# Words that open a chat sentence before a name, and shorthands that look like acronyms.
_GREETINGS: Final = frozenset(
    word_list(
        "hey hi hello thanks dear oh ah wow yeah yes yep nope ok okay bye goodbye congrats please"
        " sure sorry welcome fyi btw lol omg asap imo aka eg ie etc"
    )
)
# Pronouns that are no function words, for they say something as keywords.
_PRONOUNS: Final = frozenset(word_list("nobody nothing none"))
_SHORT_WEEKDAYS: Final = frozenset(word_list("mon tue tues wed thu thur thurs fri sat sun"))

_CONTRACTED: Final = frozenset(
    f"{word}{tail}"
    for word, tails in (
        ("i", ("m", "ve", "ll", "d")),
        ("you", ("re", "ve", "ll", "d")),
        ("he", ("s", "ll", "d")),
        ("she", ("s", "ll", "d")),
        ("it", ("s", "ll", "d")),
        ("we", ("re", "ve", "ll", "d")),
        ("they", ("re", "ve", "ll", "d")),
        ("that", ("s", "ll", "d")),
        ("there", ("s", "ll", "d")),
        ("what", ("s", "re", "ll", "d")),
        ("who", ("s", "re", "ll", "d")),
        ("where", ("s", "d")),
        ("how", ("s", "d")),
        ("when", ("s",)),
        ("why", ("s",)),
        ("here", ("s",)),
        ("let", ("s",)),
    )
    for tail in (f"{apostrophe}{tail}" for tail in tails for apostrophe in "'’")
) | frozenset(
    f"{word}n{apostrophe}t"
    for word in (
        *("do", "does", "did", "is", "are", "was", "were", "has", "have", "had", "ca", "could"),
        *("would", "should", "wo", "must", "need", "ai", "might", "sha"),
    )
    for apostrophe in "'’"
)

NAME_STOPWORDS: Final = (
    STOPWORDS
    | _GREETINGS
    | _PRONOUNS
    | _SHORT_WEEKDAYS
    | _CONTRACTED
    | frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(f"{day}s" for day in WEEKDAYS)
    | _words_of_time()
)


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


_DATA: Final = Path(__file__).parents[1] / "data"


@cache
def frame_words() -> frozenset[str]:
    """Return the lower-cased words that frame a question: who, which, kind, many, recently …

    Example:
        >>> "kind" in frame_words(), "dog" in frame_words()
        (True, False)
    """
    return _listed("frame_words.txt")


@cache
def asking_words() -> frozenset[str]:
    """Return the lower-cased words with which one asks: remind, tell, please …

    Example:
        >>> "please" in asking_words(), "dog" in asking_words()
        (True, False)
    """
    return _listed("asking_words.txt")


def _listed(name: str) -> frozenset[str]:
    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _content_words() -> ContentWords:
    return ContentWords(STOPWORDS | frame_words() | asking_words())


def content_terms(text: str, times: Sequence[tuple[int, int]]) -> list[ContentTerm]:
    """The content terms of a query in order, repeats kept. An identifier gives its whole and its
    parts, each judged by itself.

    Args:
        text: any text.
        times: its temporal expressions, code point offsets, half-open.

    Example:
        >>> found = content_terms("Which kind of dogs did Maria adopt in March?", [(38, 43)])
        >>> [(one.term, one.in_time) for one in found]
        [('dog', False), ('maria', False), ('adopt', False), ('march', True)]
    """
    return _content_words().terms(text, times)
