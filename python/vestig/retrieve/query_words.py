"""The words of queries: which of them carry a topic, when two queries are the same, how rare a word
is, and which names a text holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from vestig.language.names.rules import find_names
from vestig.language.text_forms import word_list
from vestig.language.words import STOPWORDS, terms, tokens
from vestig.lazy_pattern import lazy_pattern

# Verbs of speaking and asking, in every form, and words that only frame a request.
_CONVERSATION: Final = frozenset(
    word_list(
        "mention mentions mentioned mentioning say says said saying tell tells told telling"
        " ask asks asked asking bring brings brought bringing list lists listed listing"
        " remind reminds reminded reminding remember remembers remembered recall recalls recalled"
        " talk talks talked talking speak speaks spoke spoken discuss discusses discussed"
        " discussing describe describes described explain explains explained summarize summarise"
        " know knows knew known think thinks thought let please hi hello hey thanks thank okay ok"
        " yes yeah much many often sure got get gets getting give gives gave given kind kinds type"
        " types sort sorts recently currently now regarding concerning"
    )
)
_CHARS_MIN: Final = 2
_PART: Final = lazy_pattern(r"[^\W_]+")
_VOWELS: Final = frozenset("aeiou")
# Endings after which a plural has `es`.
_HISSING: Final = ("ss", "x", "ch", "sh")


class Word(NamedTuple):
    """A word of a text: in lower case, its span in code points, and whether it carries a topic."""

    text: str
    start: int
    end: int
    content: bool


class Name(NamedTuple):
    """A name in a text as it is written there, and its span in code points."""

    text: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text in order. Stop words, rests of contractions, verbs of conversation and
    single letters carry no topic.

    Example:
        >>> words = words_of("Tell me what the deploy of jira-9988 said")
        >>> [word.text for word in words if word.content]
        ['deploy', 'jira-9988']
    """
    return [
        Word(word, start, end, _carries_topic(word, end - start, identifier))
        for word, start, end, identifier in tokens(text)
    ]


def _carries_topic(word: str, length: int, identifier: bool) -> bool:
    if identifier:
        # "and/or" has the form of an identifier and is none
        if all(part in STOPWORDS or part in _CONVERSATION for part in _PART.findall(word)):
            return False
    elif word in STOPWORDS or word in _CONVERSATION:
        return False
    # a run of one Han, Hiragana, Katakana or Thai character is a word of its own
    return length >= _CHARS_MIN or not word.isascii()


def singular(word: str) -> str:
    """A word without the ending of an English plural; other words are unchanged.

    Example:
        >>> [singular(word) for word in ("parties", "boxes", "houses", "glass", "js")]
        ['party', 'box', 'house', 'glass', 'js']
    """
    if len(word) < 4 or not word.isalpha() or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4 and word[-4] not in _VOWELS:
        return f"{word[:-3]}y"
    if word.endswith("es") and word[:-2].endswith(_HISSING):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


def query_key(text: str) -> frozenset[str]:
    """Return what makes two queries the same: their content words without plural endings; empty
    where a text has none.

    Example:
        >>> query_key("the cats of Ada") == query_key("Ada, cat?"), query_key("what did you say?")
        (True, frozenset())
    """
    return frozenset(singular(word.text) for word in words_of(text) if word.content)


def rarity(text: str, idf: Mapping[str, float] | None, *, unknown: float) -> float:
    """How rare the rarest word of a text is: its idf; without idf, its length.

    Args:
        idf: by index term, as `vestig.language.words.terms` gives them.
        unknown: what a word counts for that no memory has.

    Example:
        >>> [rarity("lantern", idf, unknown=9.0) for idf in ({"lantern": 2.5}, {}, None)]
        [2.5, 9.0, 7.0]
    """
    if idf is None:
        return float(max((word.end - word.start for word in words_of(text)), default=0))
    return max((idf.get(term, unknown) for term in terms(text)), default=0.0)


def names_in(text: str, known: Iterable[str] = ()) -> list[Name]:
    """The names of a text in order of position, without overlaps and each once: those that rules
    find by their form, and known ones in any case. Of two that overlap the longer one counts.

    Example:
        >>> names = names_in("did ada lovelace call Grace Hopper?", ["Ada Lovelace"])
        >>> [name.text for name in names]
        ['ada lovelace', 'Grace Hopper']
    """
    found = [
        Name(name.name, name.start, name.end)
        for name in find_names(text)
        if _has_content(name.name)
    ]
    for wanted in known:
        if wanted.strip():
            pattern = rf"(?<!\w){re.escape(wanted.strip())}(?!\w)"
            found += [Name(m[0], *m.span()) for m in re.finditer(pattern, text, re.IGNORECASE)]
    found.sort(key=lambda name: (name.start - name.end, name.start))
    kept: list[Name] = []
    covered = bytearray(len(text))
    for name in found:
        if covered.find(1, name.start, name.end) < 0:
            covered[name.start : name.end] = bytes([1]) * (name.end - name.start)
            kept.append(name)
    once = {name.text.casefold(): name for name in sorted(kept, key=lambda name: -name.start)}
    return sorted(once.values(), key=lambda name: name.start)


def _has_content(name: str) -> bool:
    return any(word.content for word in words_of(name))
