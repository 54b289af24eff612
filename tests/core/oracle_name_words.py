"""Analysis of a text for the gazetteer: its words in the forms that are looked up, and the names
that the rules find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import oracle
from oracle_markup import prose
from oracle_name_forms import trimmed, without_possessive
from oracle_name_rules import candidates, starts_sentence, title_name
from oracle_unspaced_names import unspaced

from vestig.language.names import Name
from vestig.language.ontology import UNTYPED
from vestig.language.text_forms import TextCache
from vestig.language.words import NAME_STOPWORDS
from vestig.lazy_pattern import lazy_pattern

__all__ = [
    "GAP",
    "AnalysedText",
    "WordForms",
    "analyse",
    "first_word",
    "may_be_opener",
]

# (lower-cased word, left-stripped, right-stripped, stripped on both sides): a name's first word
# is compared left-stripped, its last right-stripped, one between unchanged.
WordForms = tuple[str, str, str, str]
# Between runs of words: no name reaches across it.
GAP: Final[WordForms] = ("", "", "", "")

# Words end at whitespace and at marks that no name holds.
_WORD: Final = lazy_pattern(r"[^\s“”„«»‹›—–…|]+")  # noqa: RUF001
_PARTS: Final = lazy_pattern(r"[^/\\,;=]+")
_PARTED: Final = lazy_pattern(r"[/\\,;=](?=.)")


class AnalysedText(msgspec.Struct, frozen=True, kw_only=True):
    """The words and rule-based names of a text.

    Attributes:
        title: the title as a name; None where there is none or it is no name.
        rule_names: names that the rules find, with overlaps.
        words: forms to look up; those of the title come last, behind `GAP`.
        starts, ends: spans of `words` in the text, half-open code points; -1 in the title and
            between.
        title_start: the place of the title's first word in `words`; None without a title.
        openers: lower-cased words that begin a sentence with a capital; the caller finds out
            which of them occur in lower case elsewhere.
    """

    text: str
    title: Name | None
    rule_names: tuple[Name, ...]
    words: tuple[WordForms, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    title_start: int | None
    openers: tuple[str, ...]


def analyse(
    text: str,
    title: str | None = None,
    *,
    rules: bool = True,
    types: Mapping[str, str] | None = None,
) -> AnalysedText:
    """Splits a text into words and finds names by the rules.

    Args:
        title: the note's or document's title.
        rules: false = only known names are wanted.
        types: type of a rule → type of this store's ontology; None = unchanged.

    Example:
        >>> analyse("Ask (Ada Lovelace)").words[1]
        ('(ada', 'ada', '(ada', 'ada')
    """
    text = prose(text, title) if rules else text
    found = tuple(_retyped(candidates(text), types)) if rules else ()
    named = title_name(title) if rules else None
    words, starts, ends = list[WordForms](), list[int](), list[int]()
    parts = list[tuple[str, int]]()
    openers = dict.fromkeys([first_word(name) for name in found if name.opens])
    for word, at in _placed(text):
        forms, first, last, special = _WORD_PARTS[word]
        words.append(forms)
        starts.append(at + first)
        ends.append(at + last)
        if special:
            if special & _PARTED_WORD:
                parts.append((word, at))
            if special & _MAY_OPEN and starts_sentence(text, at + first):
                openers[forms[3]] = None
    for word, at in parts:
        words.append(GAP)
        starts.append(-1)
        ends.append(-1)
        for part in _PARTS.finditer(word):
            forms, first, last, special = _word_parts(part[0])
            start = at + part.start()
            words += (forms, GAP)
            starts += (start + first, -1)
            ends += (start + last, -1)
            if special & _MAY_OPEN and starts_sentence(text, start + first):
                openers[forms[3]] = None
    for name in unspaced(text) if rules else ():
        words += (GAP, _word_parts(name.name)[0], GAP)
        starts += (-1, name.start, -1)
        ends += (-1, name.end, -1)
    title_start = None
    if named is not None:
        words.append(GAP)
        title_start = len(words)
        words += [_word_parts(match[0])[0] for match in _WORD.finditer(named.name)]
        missing = len(words) - len(starts)
        starts += [-1] * missing
        ends += [-1] * missing
    return AnalysedText(
        text=text,
        title=named,
        rule_names=found,
        words=tuple(words),
        starts=tuple(starts),
        ends=tuple(ends),
        title_start=title_start,
        openers=tuple(openers),
    )


def _placed(text: str) -> Iterable[tuple[str, int]]:
    """(word, offset) of the words of a text."""
    if text.isascii() and "|" not in text:
        words = text.split()
        # Stored texts have single spaces, so that lengths tell the places.
        if " ".join(words) == text:
            return zip(words, _first_places(words), strict=True)
    return [(match[0], match.start()) for match in _WORD.finditer(text)]


def _first_places(words: Sequence[str]) -> list[int]:
    places, at = [], 0
    for word in words:
        places.append(at)
        at += len(word) + 1
    return places


def may_be_opener(text: str, start: int, end: int) -> bool:
    """Whether a word may have its capital from the sentence that it begins."""
    capital = start < end and text[start].isupper() and text[start + 1 : end].islower()
    return capital and starts_sentence(text, start)


def _retyped(names: list[Name], types: Mapping[str, str] | None) -> list[Name]:
    if types is None:
        return names
    return [msgspec.structs.replace(name, type=types.get(name.type, UNTYPED)) for name in names]


# What few words are: divided into parts by marks; ordinary words that may have their capital from a
# sentence that they begin.
_PARTED_WORD: Final = 1
_MAY_OPEN: Final = 2
# forms, where the bare word begins and ends in the written one, and which of these it is
_WordParts = tuple[WordForms, int, int, int]


def _word_parts(word: str) -> _WordParts:
    """What follows from a word alone, wherever it is."""
    low = _lower(word)
    if word.isalnum():
        return (low, low, low, low), 0, len(word), _may_open(word, low)
    start, end = trimmed(word)
    while True:
        own = without_possessive(word[start:end])
        if start + len(own) == end:
            break
        end = start + trimmed(own)[1]
    bare = word[start:end]
    alone = _lower(bare)
    forms = (low, _lower(word[start:]), _lower(word[:end]), alone)
    parted = _PARTED_WORD if _PARTED.search(word) is not None else 0
    return forms, start, end, parted | _may_open(bare, alone)


def _lower(text: str) -> str:
    return oracle.lower(text).replace("’", "'")


_WORD_PARTS: Final = TextCache(_word_parts)


def _may_open(bare: str, alone: str) -> int:
    capital = bare[:1].isupper() and bare[1:].islower()
    opens = capital and not alone.startswith(bare[:1]) and alone not in NAME_STOPWORDS
    return _MAY_OPEN if opens else 0


def first_word(name: Name) -> str:
    """The first word of a name as `openers` holds it."""
    return oracle.lower(name.name.split(None, 1)[0])
