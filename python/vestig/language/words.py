"""Keywords of a text: the tokens of the core without stop words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vestig._core import ANALYSER_VERSION, placed_terms, terms, tokens
from vestig.language.stopwords import STOPWORDS

__all__ = [
    "ANALYSER_VERSION",
    "keywords",
    "placed_terms",
    "terms",
    "tokens",
]

_CHARS_MIN: Final = 2


def keywords(text: str, *, limit: int = 64, extra_stopwords: Iterable[str] = ()) -> list[str]:
    """Lower-cased keywords, most frequent first, then by first position.

    Identifiers (`jira-9988`, `src/main.rs`) stay whole. Runs of Han, Hiragana, Katakana and Thai
    give overlapping bigrams.

    Args:
        text: any text.
        limit: the most that are returned (`keywords.max_per_memory`).
        extra_stopwords: further words to leave out (`keywords.stopwords`), in any case.

    Example:
        >>> keywords("The deploy of jira-9988: deploy on Fridays")
        ['deploy', 'jira-9988', 'fridays']
    """
    extra = frozenset([word.lower() for word in extra_stopwords]) if extra_stopwords else ()
    counts: dict[str, int] = {}
    for word, start, end, identifier in tokens(text):
        if (word in STOPWORDS and not identifier) or word in extra:
            continue
        # a run of one Han, Hiragana, Katakana or Thai character is a word of its own
        if end - start < _CHARS_MIN and word.isascii():
            continue
        counts[word] = counts.get(word, 0) + 1
    # dicts keep the order of first positions, and sorting keeps it among equals
    return sorted(counts, key=counts.__getitem__, reverse=True)[:limit]
