"""Keywords of a text: the tokens of the core without stop words."""

from __future__ import annotations

from collections.abc import Iterable

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

__all__ = [
    "ContentTerm",
    "ContentWords",
    "Substrings",
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
