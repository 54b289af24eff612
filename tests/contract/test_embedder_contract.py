"""The embedder contract on every embedder that needs nothing but this installation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vestig.config.schema import EmbeddingSettings
from vestig.ports import Embedder, TokenStates
from vestig.registry import make_embedder
from vestig.testing import (
    EmbedderContract,
    FailingEmbedder,
    HashingEmbedder,
    ScriptedEmbedder,
    TokenHashingEmbedder,
    TokenScriptedEmbedder,
    vector_at,
)


class TestHashingEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return HashingEmbedder()


class TestHashingByReference(EmbedderContract):
    def embedder(self) -> Embedder:
        return make_embedder(EmbeddingSettings(provider="hashing", dimension=100))


class TestScriptedEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        texts = dict.fromkeys(self.TEXTS)
        return ScriptedEmbedder(
            {text: vector_at(0.1 * number, 4) for number, text in enumerate(texts)}
        )


class TestTokenHashingEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return TokenHashingEmbedder()


class TestTokenScriptedEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        texts = {text: vector_at(0.1 * n, 4) for n, text in enumerate(dict.fromkeys(self.TEXTS))}
        return TokenScriptedEmbedder(texts)


class TestBuiltinEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return make_embedder(EmbeddingSettings())


@pytest.mark.parametrize("mode", ["nan", "short", "long", "count", "inf"])
def test_the_suite_turns_red_on_a_bad_embedder(mode: str) -> None:
    class Bad(EmbedderContract):
        def embedder(self) -> Embedder:
            return FailingEmbedder(mode)

    with pytest.raises(AssertionError):
        Bad().test_vectors_are_whole_and_finite()


@pytest.mark.parametrize("part", ["ids", "states"])
def test_the_suite_turns_red_on_bad_states(part: str) -> None:
    class Short(TokenHashingEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
            answers = super().embed_tokens(texts)
            return [(v, p._replace(**{part: getattr(p, part)[:-4]})) for v, p in answers]

    class Bad(EmbedderContract):
        def embedder(self) -> Embedder:
            return Short()

    with pytest.raises(AssertionError):
        Bad().test_word_pieces_have_vectors_of_their_own()
