"""Token vectors without a model, for tests of late interaction: a hash of each word."""

from __future__ import annotations

import hashlib
import math
from array import array
from typing import Final

from vestig.embedders.checked import float32_bytes
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import PIECE_DIMENSIONS, PIECES_MAX, SPECIAL_PIECE, Pieces

__all__ = ["HashedTokenVectors"]

_WORD: Final = lazy_pattern(r"\w+")


class HashedTokenVectors:
    """Token vectors of texts, equal for equal words.

    Args:
        seed: another seed, other vectors.
        pieces: every text has this many; None = as many as its words, and its two ends.
    """

    def __init__(self, seed: int, pieces: int | None) -> None:
        if pieces is not None and not 3 <= pieces <= PIECES_MAX:
            raise ValueError(f"pieces: expected 3 to {PIECES_MAX}, got {pieces}")
        self._key = seed.to_bytes(8, "little", signed=True)
        self._pieces = pieces
        self._known: dict[str, tuple[bytes, bytes, bytes]] = {}

    def of(self, text: str) -> Pieces:
        """The pieces of a text: one for each word, between two special pieces; words are repeated
        or cut to the number of pieces."""
        most = PIECES_MAX if self._pieces is None else self._pieces
        words = _WORD.findall(text.lower())
        if self._pieces is not None:
            words *= -(-most // max(1, len(words)))
        drawn = [self._word(word) for word in ("", *words[: most - 2], "")]
        return Pieces(*(b"".join(parts) for parts in zip(*drawn, strict=True)))

    def _word(self, word: str) -> tuple[bytes, bytes, bytes]:
        known = self._known.get(word)
        if known is None:
            raw = hashlib.blake2b(word.encode(), digest_size=PIECE_DIMENSIONS, key=self._key)
            values = memoryview(raw.digest()).cast("b").tolist()
            most = max(abs(value) for value in values)
            codes = [round(value * 127 / most) for value in values]
            scale = 1.0 / math.sqrt(sum(code * code for code in codes))
            number = int.from_bytes(raw.digest()[:2], "little") if word else SPECIAL_PIECE
            known = self._known[word] = (
                number.to_bytes(4, "little"),
                array("b", codes).tobytes(),
                float32_bytes([scale]),
            )
        return known
