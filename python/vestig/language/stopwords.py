"""Stop words: English function words, and words that are never part of a name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vestig.language.time.patterns import MONTHS, WEEKDAYS
from vestig.language.word_list import word_list


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
