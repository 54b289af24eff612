"""The contract of embedders as a test suite: `vestig.testing.EmbedderContract`."""

from __future__ import annotations

import math
import re
from typing import Final

from vestig.ports import Embedder, are_states, gives_codes, gives_tokens


class EmbedderContract:
    """Tests that every embedder has to pass (`vestig.ports.Embedder`).

    To test an embedder of your own, subclass this class in a test module under a name that begins
    with `Test`, and let `embedder` return a new instance. pytest then runs each `test_…` method,
    whose docstring states the requirement. Neither pytest nor a store is needed otherwise.

    Where the embedder also has a method `embed_tokens` (`vestig.ports.TokenEmbedder`), its token
    vectors are tested too.

    Example:
        >>> from vestig.embedders.checked import unit_bytes
        >>> class LetterEmbedder:
        ...     model, dimensions, fingerprint = "letters-1", 64, ""
        ...     def embed(self, texts):
        ...         return [self._vector(text) for text in texts]
        ...     def truncated(self, text):
        ...         return False
        ...     def _vector(self, text):
        ...         counts = [0.0] * self.dimensions
        ...         for letter in text:
        ...             counts[ord(letter) % self.dimensions] += 1
        ...         return unit_bytes(counts)
        >>> class TestLetterEmbedder(EmbedderContract):
        ...     def embedder(self):
        ...         return LetterEmbedder()
        >>> contract = TestLetterEmbedder()  # from here on as pytest does
        >>> for name in dir(contract):
        ...     if name.startswith("test_"):
        ...         getattr(contract, name)()
    """

    TEXTS: Final = (
        "The office is in Oslo.",
        "Deploys run on Fridays, never on Mondays!",
        "Café, naïve, 東京, Привет",
        "a " * 40 + "much longer text than its neighbours in the batch",
        "The office is in Oslo.",
    )

    def embedder(self) -> Embedder:
        """A new instance of the embedder under test; each test calls this at least once."""
        raise NotImplementedError("override embedder()")

    def test_fits_the_port(self) -> None:
        """It has the methods and properties of `vestig.ports.Embedder`: the name of a model, 1 to
        8192 dimensions, a fingerprint of 64 hexadecimal digits or ""."""
        embedder = self.embedder()
        assert isinstance(embedder, Embedder)
        assert isinstance(embedder.model, str)
        assert embedder.model
        assert 1 <= embedder.dimensions <= 8192
        assert re.fullmatch(r"([0-9a-f]{64})?", embedder.fingerprint)

    def test_vectors_are_whole_and_finite(self) -> None:
        """`embed` gives one vector per text: `dimensions` finite float32 numbers, not all
        zero, little-endian."""
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
        """`embed` gives [] for []."""
        assert self.embedder().embed([]) == []

    def test_batch_and_single_agree(self) -> None:
        """The vector of a text does not depend on its batch, to 1e-6 in each value."""
        embedder = self.embedder()
        batch = embedder.embed(self.TEXTS)
        for text, together in zip(self.TEXTS, batch, strict=True):
            (alone,) = embedder.embed([text])
            gap = max(
                abs(a - b) for a, b in zip(_unpacked(alone), _unpacked(together), strict=True)
            )
            assert gap <= 1e-6

    def test_same_text_same_vector(self) -> None:
        """Equal texts have equal vectors, bit by bit: within a batch and in another instance."""
        batch = self.embedder().embed(self.TEXTS)
        assert batch[0] == batch[-1]
        assert self.embedder().embed(self.TEXTS) == batch

    def test_different_texts_differ(self) -> None:
        """No two different texts of the suite share a vector."""
        distinct = list(dict.fromkeys(self.TEXTS))
        assert len(set(self.embedder().embed(distinct))) == len(distinct)

    def test_word_pieces_have_vectors_of_their_own(self) -> None:
        """With `embed_tokens`: the vector equals that of `embed`; the pieces of a text do not
        depend on its batch, their states to 1e-4; with `embed_codes`, codes are those of the
        states. Without either, nothing is tested."""
        embedder = self.embedder()
        if not gives_tokens(embedder):
            return
        assert embedder.embed_tokens([]) == []
        batch = embedder.embed_tokens(self.TEXTS)
        assert [vector for vector, _ in batch] == embedder.embed(self.TEXTS)
        for text, (_vector, states) in zip(self.TEXTS, batch, strict=True):
            assert are_states(states)
            ((_vector, alone),) = embedder.embed_tokens([text])
            assert alone.ids == states.ids
            values = zip(_unpacked(alone.states), _unpacked(states.states), strict=True)
            assert max(abs(a - b) for a, b in values) <= 1e-4
        if gives_codes(embedder):
            from vestig.embedders.checked import piece_codes

            wanted = [(vector, piece_codes(states)) for vector, states in batch]
            assert embedder.embed_codes(self.TEXTS) == wanted

    def test_truncated_answers(self) -> None:
        """`truncated` is False for a short text."""
        assert self.embedder().truncated("The office is in Oslo.") is False


def _unpacked(vector: bytes) -> list[float]:
    return list(memoryview(vector).cast("f"))
