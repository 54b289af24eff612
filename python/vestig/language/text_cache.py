"""Answers about short texts, kept: words and names repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["CHARS_MAX", "TextCache"]

T = TypeVar("T")

# Longer texts are blobs, which do not repeat.
CHARS_MAX: Final = 64
_ANSWERS_MAX: Final = 8_192


class TextCache(dict[str, T]):
    """Text → answer of a function that depends on nothing else; filled as it is asked.

    Example:
        >>> low = TextCache(str.lower)
        >>> low["Ada"], len(low)
        ('ada', 1)
    """

    def __init__(self, answer: Callable[[str], T]) -> None:
        super().__init__()
        self._answer = answer

    def __missing__(self, text: str) -> T:
        """Asks, and keeps the answer."""
        found = self._answer(text)
        if len(text) <= CHARS_MAX:
            if len(self) >= _ANSWERS_MAX:
                self.clear()
            self[text] = found
        return found
