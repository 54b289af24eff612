"""The evidence of an edge: the words of the memory that it comes from."""

from __future__ import annotations

from typing import Final

__all__ = ["evidence_text"]

_CUT: Final = "..."


def evidence_text(text: str, length_max: int) -> str:
    """Evidence as an edge stores it.

    Args:
        text: the words.
        length_max: limit in code points (`max_evidence_length` of entity extraction); a longer
            text is cut and ends in `...`.

    Example:
        >>> evidence_text("abcdefgh", 6), evidence_text("abcdef", 6)
        ('abc...', 'abcdef')
    """
    if len(text) <= length_max:
        return text
    return text[: max(0, length_max - len(_CUT))] + _CUT[:length_max]
