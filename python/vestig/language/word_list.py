"""Lists of words, written as plain text."""

from __future__ import annotations


def word_list(words: str) -> tuple[str, ...]:
    """The words of a text, in order.

    Example:
        >>> word_list("one two")
        ('one', 'two')
    """
    return tuple(words.split())
