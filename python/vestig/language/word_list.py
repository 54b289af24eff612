"""Word lists written as plain text."""

from __future__ import annotations

__all__ = ["listed"]


def listed(words: str) -> tuple[str, ...]:
    """The words of a text, in order.

    Example:
        >>> listed("one two")
        ('one', 'two')
    """
    return tuple(words.split())
