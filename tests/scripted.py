"""Embedders that do what a test tells them, and vectors at chosen cosines for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import vestig
from vestig.testing import HashingEmbedder, vector_at

Opener = Callable[..., vestig.Vestig]
# Far from every scripted vector, so that unscripted texts link to nothing.
ELSEWHERE = [0.0] * 7 + [1.0]


def pair(cosine: float, first: str, second: str, query: str | None = None) -> dict[str, Any]:
    """Vectors of two texts at this cosine to each other; a query stands on the first."""
    vectors = {first: vector_at(1.0), second: vector_at(cosine)}
    if query is not None:
        vectors[query] = vector_at(1.0)
    return vectors


class FailingEmbedder(HashingEmbedder):
    """Embeds until it is told to fail."""

    fails = False

    def embed(self, texts: Any) -> Any:
        if self.fails:
            raise vestig.ProviderError("gone")
        return super().embed(texts)


def without_vectors(opener: Opener, texts: Iterable[str]) -> vestig.Vestig:
    """A store that holds these texts, whose embedder fails after these."""
    embedder = FailingEmbedder(64)
    store = opener(embedder=embedder)
    for text in texts:
        store.commit(text)
    embedder.fails = True
    return store
