"""A bounded cache of a function of short texts, such as words and names, which repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

# Longer texts are not cached: they hardly ever repeat.
CHARS_MAX: Final = 64
_TEXTS_MAX: Final = 8_192


class TextCache(dict[str, T]):
    """A mapping from text to the value of a pure function, filled when a text is looked up.

    Holds at most 8,192 texts of at most 64 code points; when full, it begins anew.

    Example:
        >>> lower = TextCache(str.lower)
        >>> lower["Ada"], len(lower)
        ('ada', 1)
    """

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        """Computes the value, and stores that of a short text."""
        found = self._function(text)
        if len(text) <= CHARS_MAX:
            if len(self) >= _TEXTS_MAX:
                self.clear()
            self[text] = found
        return found
