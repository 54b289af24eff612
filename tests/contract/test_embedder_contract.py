"""The embedder contract on every embedder that needs nothing but this installation."""

from __future__ import annotations

from typing import ClassVar

import pytest

from vestig.config.schema import EmbeddingSettings
from vestig.ports import Embedder
from vestig.registry import make_embedder
from vestig.testing import (
    EmbedderContract,
    FailingEmbedder,
    HashingEmbedder,
    ScriptedEmbedder,
    vector_at,
)


class TestHashingEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return HashingEmbedder()


class TestHashingByReference(EmbedderContract):
    def embedder(self) -> Embedder:
        return make_embedder(
            EmbeddingSettings(provider="vestig.testing:hashing_embedder", dimension=100)
        )


class TestScriptedEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        texts = dict.fromkeys(self.TEXTS)
        return ScriptedEmbedder(
            {text: vector_at(0.1 * number, 4) for number, text in enumerate(texts)}
        )


class TestBuiltinEmbedder(EmbedderContract):
    def embedder(self) -> Embedder:
        return make_embedder(EmbeddingSettings())


class TestBuiltinOneShot(EmbedderContract):
    _made: ClassVar[list[Embedder]] = []

    def embedder(self) -> Embedder:
        if not self._made:
            self._made.append(make_embedder(EmbeddingSettings(), one_shot=True))
        return self._made[0]


@pytest.mark.parametrize("mode", ["nan", "short", "long", "count", "inf"])
def test_the_suite_turns_red_on_a_bad_embedder(mode: str) -> None:
    class Bad(EmbedderContract):
        def embedder(self) -> Embedder:
            return FailingEmbedder(mode)

    with pytest.raises(AssertionError):
        Bad().test_vectors_are_whole_and_finite()
