"""A text taken apart for the gazetteer: its words in the forms that are looked up, and what the
patterns of G-03 find in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from vestig.language.entities import Name, candidates, starts_sentence, title_name
from vestig.language.name_forms import trimmed, without_possessive
from vestig.language.ontology import UNTYPED
from vestig.language.stopwords import NAME_STOPWORDS

__all__ = ["NOTHING", "Forms", "Reading", "first_word", "is_generic", "only_opens", "read"]

# (lower-cased word, left-stripped, right-stripped, stripped on both sides): a name's first word
# is compared left-stripped, its last right-stripped, one between as it stands.
Forms = tuple[str, str, str, str]
# Stands between stretches of words, so that no name is found across them.
NOTHING: Final[Forms] = ("", "", "", "")

# Words end at whitespace and at marks that no name holds.
_WORD: Final = re.compile(r"[^\s“”„«»‹›—–…|]+")  # noqa: RUF001
_PARTS: Final = re.compile(r"[^/\\,;=]+")
_CLOSING: Final = frozenset(",.;:!?)]\"'")
_PARTED: Final = re.compile(r"[/\\,;=](?=.)")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A text taken apart.

    Attributes:
        words: forms to look up; those of the title come last, behind `NOTHING`.
        spans: where each of `words` stands, (-1, -1) in the title and between.
        title_from: the place of the title's first word in `words`; None without a title.
        openers: lower-cased words that begin a sentence with a capital, to be asked for.
    """

    text: str
    title: Name | None
    found: tuple[Name, ...]
    words: tuple[Forms, ...]
    spans: tuple[tuple[int, int], ...]
    title_from: int | None
    openers: tuple[str, ...]


def read(
    text: str,
    title: str | None = None,
    *,
    rules: bool = True,
    types: Mapping[str, str] | None = None,
) -> Reading:
    """Takes a text apart.

    Args:
        title: the note's or document's title (Q-01).
        rules: whether the patterns of G-03 are tried too, or only known names are looked for.
        types: what the types of the patterns are called here; None = as they are.

    Example:
        >>> read("Ask (Ada Lovelace)").words[1]
        ('(ada', 'ada', '(ada', 'ada')
    """
    found = tuple(_called(_named_in(text), types)) if rules else ()
    named = title_name(title) if rules else None
    words, spans, parts = list[Forms](), list[tuple[int, int]](), list[re.Match[str]]()
    for match in _WORD.finditer(text):
        word = match[0]
        low, at = word.lower(), match.start()
        if word.isalnum():
            words.append((low, low, low, low))
            spans.append((at, at + len(word)))
        elif word[-1] in _CLOSING and word[:-1].isalnum():
            words.append((low, low, low[:-1], low[:-1]))
            spans.append((at, at + len(word) - 1))
        else:
            _add(words, spans, word, at)
            if _PARTED.search(word) is not None:
                parts.append(match)
    for match in parts:
        words.append(NOTHING)
        spans.append((-1, -1))
        for part in _PARTS.finditer(match[0]):
            _add(words, spans, part[0], match.start() + part.start())
            words.append(NOTHING)
            spans.append((-1, -1))
    title_from = None
    if named is not None:
        words.append(NOTHING)
        title_from = len(words)
        for match in _WORD.finditer(named.name):
            _add(words, [], match[0], 0)
        spans += [(-1, -1)] * (len(words) - len(spans))
    openers = dict.fromkeys(first_word(name) for name in found if name.opens)
    for (_, _, _, alone), (start, end) in zip(words, spans, strict=True):
        if (
            start >= 0
            and not alone.startswith(text[start : start + 1])
            and alone not in NAME_STOPWORDS
            and only_opens(text, start, end)
        ):
            openers[alone] = None
    return Reading(
        text=text,
        title=named,
        found=found,
        words=tuple(words),
        spans=tuple(spans),
        title_from=title_from,
        openers=tuple(openers),
    )


def _named_in(text: str) -> list[Name]:
    return [name for name in candidates(text) if name.type != UNTYPED or not is_generic(name.name)]


def only_opens(text: str, start: int, end: int) -> bool:
    """Whether a word may have its capital from the sentence that it begins."""
    capital = start < end and text[start].isupper() and text[start + 1 : end].islower()
    return capital and starts_sentence(text, start)


def _called(names: list[Name], types: Mapping[str, str] | None) -> list[Name]:
    if types is None:
        return names
    return [msgspec.structs.replace(name, type=types.get(name.type, UNTYPED)) for name in names]


def _add(words: list[Forms], spans: list[tuple[int, int]], word: str, at: int) -> None:
    low = word.lower()
    start, end = trimmed(word)
    while True:
        own = without_possessive(word[start:end])
        if start + len(own) == end:
            break
        end = start + trimmed(own)[1]
    words.append((low, word[start:].lower(), word[:end].lower(), word[start:end].lower()))
    spans.append((at + start, at + end))


def first_word(name: Name) -> str:
    """The first word of a name as `openers` holds it."""
    return name.name.split(None, 1)[0].lower()


def is_generic(name: str) -> bool:
    """Whether a quoted stretch is no name: mere function words, one ordinary word, or what stands
    between two quotations (G-02).

    Example:
        >>> [is_generic(name) for name in ("after", "and the", " or ", "eventual consistency")]
        [True, True, True, False]
    """
    if name != name.strip() or (name.islower() and name.isalpha()):
        return True
    return all(word in NAME_STOPWORDS for word in name.lower().split())
