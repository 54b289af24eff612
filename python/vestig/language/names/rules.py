"""Names that rules find in a text by capitals, quotation marks, titles and patterns, without a
store. The rules are the core's; the words that are never part of a name stand here."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig._core import NameRules, is_specific, quotations, starts_sentence
from vestig.language.words import NAME_STOPWORDS

__all__ = [
    "RULES",
    "Name",
    "find_names",
    "is_specific",
    "quotations",
    "starts_sentence",
    "title_name",
]

RULES: Final = NameRules(NAME_STOPWORDS)
_TITLE_CONFIDENCE: Final = 0.95


class Name(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name as written.

    Attributes:
        name: the words, without a final `'s`.
        start, end: code point offsets, half-open; both -1 for a title given beside the text.
        type: an entity type of the ontology, or `UNTYPED`.
        confidence: 0-1, that of the pattern.
        opens: whether several capitalised words begin a sentence, so that the first may have its
            capital from there.
    """

    name: str
    start: int
    end: int
    type: str
    confidence: float
    opens: bool = False


def title_name(title: str | None) -> Name | None:
    """The title of a note or document as a name: of a path of headings the last part, without a
    final parenthesis.

    Example:
        >>> title_name("Harbor plan (draft)").name, title_name("Guide > Harbor plan").name
        ('Harbor plan', 'Harbor plan')
    """
    found = None if title is None else RULES.title_name(title)
    if found is None:
        return None
    return Name(name=found, start=-1, end=-1, type="UNTYPED", confidence=_TITLE_CONFIDENCE)


def find_names(text: str, *, title: str | None = None) -> list[Name]:
    """Names in order of position, without overlaps.

    Args:
        text: any text.
        title: the note's or document's title; its last part is a name too, without a final
            parenthesis.

    Example:
        >>> [name.name for name in find_names("Ticket ABC-123 is with Ada Lovelace at NATO")]
        ['ABC-123', 'Ada Lovelace', 'NATO']
    """
    names = [
        Name(name=name, start=start, end=end, type=type, confidence=confidence, opens=opens)
        for name, start, end, type, confidence, opens in RULES.find(text)
    ]
    given = title_name(title)
    return names if given is None else [*names, given]
