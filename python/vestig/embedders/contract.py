"""The suite that every embedder has to pass, for tests of adapters."""

from __future__ import annotations

import math
import re
from typing import Final

from vestig.ports import Embedder, are_pieces, gives_tokens

__all__ = ["EmbedderContract"]


class EmbedderContract:
    """The suite for adapter authors: subclass it in a test module and override `embedder`.

    Example:
        >>> from vestig.testing import HashingEmbedder
        >>> class TestHashing(EmbedderContract):
        ...     def embedder(self):
        ...         return HashingEmbedder()
        >>> TestHashing().test_batch_and_single_agree()
    """

    TEXTS: Final = (
        "The office is in Oslo.",
        "Deploys run on Fridays, never on Mondays!",
        "Café, naïve, 東京, Привет",
        "a " * 40 + "much longer text than its neighbours in the batch",
        "The office is in Oslo.",
    )

    def embedder(self) -> Embedder:
        """The embedder under test; called by each test."""
        raise NotImplementedError("override embedder()")

    def test_fits_the_port(self) -> None:
        """Properties have their types and ranges."""
        embedder = self.embedder()
        assert isinstance(embedder, Embedder)
        assert isinstance(embedder.model, str)
        assert embedder.model
        assert 1 <= embedder.dimensions <= 8192
        assert re.fullmatch(r"([0-9a-f]{64})?", embedder.fingerprint)

    def test_vectors_are_whole_and_finite(self) -> None:
        """One vector per text, of `dimensions` finite float32 numbers, not zero."""
        embedder = self.embedder()
        vectors = embedder.embed(self.TEXTS)
        assert len(vectors) == len(self.TEXTS)
        for vector in vectors:
            assert isinstance(vector, bytes)
            values = _unpacked(vector)
            assert len(values) == embedder.dimensions
            assert all(math.isfinite(value) for value in values)
            assert any(values)

    def test_empty_batch(self) -> None:
        """[] for []."""
        assert self.embedder().embed([]) == []

    def test_batch_and_single_agree(self) -> None:
        """To 1e-6 in every value, whatever stands beside a text."""
        embedder = self.embedder()
        batch = embedder.embed(self.TEXTS)
        for text, together in zip(self.TEXTS, batch, strict=True):
            (alone,) = embedder.embed([text])
            gap = max(
                abs(a - b) for a, b in zip(_unpacked(alone), _unpacked(together), strict=True)
            )
            assert gap <= 1e-6

    def test_same_text_same_vector(self) -> None:
        """Deterministic, also within a batch and for another instance."""
        batch = self.embedder().embed(self.TEXTS)
        assert batch[0] == batch[-1]
        assert self.embedder().embed(self.TEXTS) == batch

    def test_different_texts_differ(self) -> None:
        """No two different texts of the suite share a vector."""
        distinct = list(dict.fromkeys(self.TEXTS))
        assert len(set(self.embedder().embed(distinct))) == len(distinct)

    def test_word_pieces_have_vectors_of_their_own(self) -> None:
        """Where the embedder gives them: beside the vector of `embed`, the same ones alone and in
        a batch to the last bits of the scales."""
        embedder = self.embedder()
        if not gives_tokens(embedder):
            return
        assert embedder.embed_tokens([]) == []
        batch = embedder.embed_tokens(self.TEXTS)
        assert [vector for vector, _ in batch] == embedder.embed(self.TEXTS)
        for text, (_vector, pieces) in zip(self.TEXTS, batch, strict=True):
            assert are_pieces(pieces)
            ((_vector, alone),) = embedder.embed_tokens([text])
            assert alone.ids == pieces.ids
            scales = zip(_unpacked(alone.scales), _unpacked(pieces.scales), strict=True)
            assert max(abs(a - b) for a, b in scales) <= 1e-6

    def test_truncated_answers(self) -> None:
        """A short text is read whole."""
        assert self.embedder().truncated("The office is in Oslo.") is False


def _unpacked(vector: bytes) -> list[float]:
    return list(memoryview(vector).cast("f"))
