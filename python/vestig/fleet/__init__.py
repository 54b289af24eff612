"""Tenants in PostgreSQL: making, moving and serving them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import log
from typing import Final

__all__ = ["worker_of"]

_HASH_BYTES: Final = 7
_HASHES: Final = 1 << (8 * _HASH_BYTES)


def worker_of(tenant: str, workers: Sequence[str] | Mapping[str, float]) -> str:
    """The worker that a proxy sends the requests of a tenant to, by rendezvous hashing: every
    worker has a score for the tenant, and the highest one wins. Where a worker comes or goes, only
    the tenants that it wins or had won move.

    Requests may go to any worker; those of one tenant to one worker find its copy open. In another
    language: the 7-byte BLAKE2b digest of the worker's name, a zero byte and the tenant's name is a
    big-endian number h; the worker with the greatest -weight / ln((h + 1/2) / 2^56) wins.

    Args:
        tenant: the name of a tenant.
        workers: names, in any order; or names with their weights above 0: twice the weight gets
            twice the tenants.

    Raises:
        ValueError: no workers, or a weight that is not above 0.

    Example:
        >>> worker_of("acme", ["w1:8765", "w2:8765", "w3:8765"])
        'w3:8765'
        >>> worker_of("acme", ["w2:8765", "w1:8765"])
        'w1:8765'
    """
    weights = workers if isinstance(workers, Mapping) else dict.fromkeys(workers, 1.0)
    if not weights:
        raise ValueError("workers: expected at least one, got none")
    for worker, weight in weights.items():
        if not 0 < weight < float("inf"):
            raise ValueError(f"workers: expected weights above 0, got {weight!r} for {worker!r}")
    return max(weights, key=lambda worker: (_score(tenant, worker, weights[worker]), worker))


def _score(tenant: str, worker: str, weight: float) -> float:
    """Of a worker for a tenant: exponentially distributed, so that the winners follow weights."""
    digest = blake2b(f"{worker}\0{tenant}".encode(), digest_size=_HASH_BYTES).digest()
    share = (int.from_bytes(digest, "big") + 0.5) / _HASHES
    return -weight / log(share)
