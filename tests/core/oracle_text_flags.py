"""Flags of a text for signals: length, question, content words, in 16 bits of the projection."""

from __future__ import annotations

from oracle_texts import FRAMING

from vestig._core import tokens
from vestig.language.words import STOPWORDS

__all__ = ["text_flags"]


def text_flags(content: str) -> int:
    """The flags of a text, below 2¹⁶.

    Returns:
        bits 0-10: its code points, at most 2000; bit 11: it ends with a question mark, white space
        left out; bits 12-15: its words that are neither function words nor frame a question, at
        most 8.

    Example:
        >>> bits = text_flags("Did I see Ada Lovelace twice?")
        >>> bits & 2047, bits >> 11 & 1, bits >> 12
        (29, 1, 4)
    """
    words = [word for word, *_ in tokens(content) if word not in STOPWORDS | FRAMING]
    asks = content.rstrip().endswith(("?", "\uff1f", "\u061f"))
    return min(len(content), 2000) | asks << 11 | min(len(words), 8) << 12
