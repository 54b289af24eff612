"""Comparison of two descriptions of an embedder."""

from __future__ import annotations

import math
from array import array
from typing import Final

from vestig.ports import EmbeddingIdentity

# Processors differ in the last bits of a vector; models differ far more.
PROBE_COSINE_MIN: Final = 0.999


def same_model(stored: EmbeddingIdentity, given: EmbeddingIdentity) -> bool:
    """Return whether vectors of both may lie in one store.

    Name, dimensions and normalisation are equal, and so are the fingerprints where both have
    one. Where one has none, the vectors of the fixed sentences are compared: each pair must
    have a cosine of at least 0.999. Without either, the name decides.

    Example:
        >>> one = EmbeddingIdentity(model="m", dimensions=2, normalized=True)
        >>> same_model(one, one)
        True
        >>> same_model(one, EmbeddingIdentity(model="m", dimensions=3, normalized=True))
        False
    """
    if (stored.model, stored.dimensions, stored.normalized) != (
        given.model,
        given.dimensions,
        given.normalized,
    ):
        return False
    if stored.fingerprint and given.fingerprint:
        return stored.fingerprint == given.fingerprint
    if not stored.probes or not given.probes:
        return True
    return len(stored.probes) == len(given.probes) and all(
        _cosine(mine, other) >= PROBE_COSINE_MIN
        for mine, other in zip(stored.probes, given.probes, strict=True)
    )


def _cosine(left: bytes, right: bytes) -> float:
    """Cosine in float64; 1 for equal bytes, 0 where a zero vector meets another."""
    if left == right:
        return 1.0
    if len(left) != len(right):
        return 0.0
    x, y = array("f", left), array("f", right)
    norms = math.hypot(*x) * math.hypot(*y)
    if norms == 0:
        return 0.0
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / norms
