"""Content terms of a query: those that say what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from vestig.language.stopwords import STOPWORDS
from vestig.language.words import placed_terms

__all__ = ["ContentTerm", "content_terms", "frame_words", "frame_words_version"]

_FILE: Final = Path(__file__).parents[1] / "data" / "frame_words.txt"


class ContentTerm(NamedTuple):
    """An index term of a query whose word is no function word and frames no question.

    `start`, `end`: its word, code point offsets, half-open. `in_time`: whether the word lies inside
    a temporal expression; it is no content where an eligible memory meets a date of the query.
    """

    term: str
    start: int
    end: int
    in_time: bool


@cache
def _read() -> tuple[str, frozenset[str]]:
    first, *lines = _FILE.read_text(encoding="utf-8").splitlines()
    words = (word for line in lines if not line.startswith("#") for word in line.split())
    return first.removeprefix("# "), frozenset(words)


def frame_words() -> frozenset[str]:
    """Lower-cased words that frame a question: who, which, kind, many, recently …

    Example:
        >>> "kind" in frame_words(), "dog" in frame_words()
        (True, False)
    """
    return _read()[1]


def frame_words_version() -> str:
    """Names the list of frame words.

    Example:
        >>> frame_words_version()
        'frame-words-1'
    """
    return _read()[0]


def content_terms(text: str, times: Sequence[tuple[int, int]]) -> tuple[ContentTerm, ...]:
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
    framing = frame_words()
    found = []
    for term, start, end in placed_terms(text):
        word = text[start:end].lower()
        if word not in STOPWORDS and word not in framing:
            in_time = bool(times) and any(begin <= start and end <= stop for begin, stop in times)
            found.append(ContentTerm(term, start, end, in_time))
    return tuple(found)
