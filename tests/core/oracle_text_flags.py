"""Flags of a text for signals: length, question, content words, what it is for who asks."""

from __future__ import annotations

from oracle_statements import stance
from oracle_texts import FRAMING

from vestig._core import tokens
from vestig.language.words import STOPWORDS

__all__ = ["text_flags"]


def text_flags(content: str) -> int:
    """The flags of a text, below 2¹⁸.

    Returns:
        bits 0-10: its code points, at most 2000; bit 11: it ends with a question mark, white space
        left out; bits 12-15: its words that are neither function words nor frame a question, at
        most 8; bit 16: it asks, and states nothing; bit 17: it neither asks nor states anything.

    Example:
        >>> bits = text_flags("Did I see Ada Lovelace twice?")
        >>> bits & 2047, bits >> 11 & 1, bits >> 12 & 15, bits >> 16
        (29, 1, 4, 1)
    """
    words = [word for word, *_ in tokens(content) if word not in STOPWORDS | FRAMING]
    asks = content.rstrip().endswith(("?", "\uff1f", "\u061f"))
    own = {"states": 0, "asks": 1, "empty": 2}[stance(content)]
    return min(len(content), 2000) | asks << 11 | min(len(words), 8) << 12 | own << 16
