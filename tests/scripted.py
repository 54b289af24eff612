"""Vectors at chosen cosines, for embedders that return what a test gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import vestig
from vestig.testing import vector_at

Opener = Callable[..., vestig.Vestig]
# Far from every scripted vector, so that unscripted texts link to nothing.
ELSEWHERE = [0.0] * 7 + [1.0]


def pair(cosine: float, first: str, second: str, query: str | None = None) -> dict[str, Any]:
    """Vectors of two texts at this cosine to each other; a query stands on the first."""
    vectors = {first: vector_at(1.0), second: vector_at(cosine)}
    if query is not None:
        vectors[query] = vector_at(1.0)
    return vectors
