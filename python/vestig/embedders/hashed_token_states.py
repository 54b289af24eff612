"""Hidden states without a model, for tests of late interaction: a hash of each word."""

from __future__ import annotations

import hashlib
from typing import Final

from vestig.embedders.checked import float32_bytes
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import PIECES_MAX, SPECIAL_PIECE, STATE_DIMENSIONS, TokenStates

_WORD: Final = lazy_pattern(r"\w+")


class HashedTokenStates:
    """Hidden states of texts, equal for equal words.

    Args:
        seed: another seed, other vectors.
        pieces: every text has this many; None = as many as its words, and its two ends.
    """

    def __init__(self, seed: int, pieces: int | None) -> None:
        if pieces is not None and not 3 <= pieces <= PIECES_MAX:
            raise ValueError(f"pieces: expected 3 to {PIECES_MAX}, got {pieces}")
        self._key = seed.to_bytes(8, "little", signed=True)
        self._pieces = pieces
        self._known: dict[str, tuple[bytes, bytes]] = {}

    def of(self, text: str) -> TokenStates:
        """The pieces of a text: one for each word, between two special pieces; words are repeated
        or cut to the number of pieces."""
        most = PIECES_MAX if self._pieces is None else self._pieces
        words = _WORD.findall(text.lower())
        if self._pieces is not None:
            words *= -(-most // max(1, len(words)))
        drawn = [self._word(word) for word in ("", *words[: most - 2], "")]
        return TokenStates(*(b"".join(parts) for parts in zip(*drawn, strict=True)))

    def _word(self, word: str) -> tuple[bytes, bytes]:
        known = self._known.get(word)
        if known is None:
            raw = hashlib.shake_128(self._key + word.encode()).digest(STATE_DIMENSIONS + 2)
            values = memoryview(raw[2:]).cast("b").tolist()
            number = int.from_bytes(raw[:2], "little") if word else SPECIAL_PIECE
            known = self._known[word] = (
                number.to_bytes(4, "little"),
                float32_bytes([float(value) for value in values]),
            )
        return known
