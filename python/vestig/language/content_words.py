"""Content terms of a query: those that say what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from vestig.language.stopwords import STOPWORDS
from vestig.language.words import ContentTerm, ContentWords

__all__ = ["ContentTerm", "content_terms", "frame_words"]

_FILE: Final = Path(__file__).parents[1] / "data" / "frame_words.txt"


@cache
def frame_words() -> frozenset[str]:
    """Return the lower-cased words that frame a question: who, which, kind, many, recently …

    Example:
        >>> "kind" in frame_words(), "dog" in frame_words()
        (True, False)
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@cache
def _content_words() -> ContentWords:
    return ContentWords(STOPWORDS | frame_words())


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
