"""Sentences of a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestig.lazy_pattern import lazy_pattern

_END: Final = lazy_pattern(r"(?<=[.!?])[\"')\]]*\s+(?=\S)")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(place of its beginning, sentence) of a text; blank ones are left out.

    Example:
        >>> list(sentences("It rained. Who came?"))
        [(0, 'It rained.'), (11, 'Who came?')]
    """
    start = 0
    for end in _END.finditer(text):
        if text[start : end.start()].strip():
            yield start, text[start : end.start()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]
