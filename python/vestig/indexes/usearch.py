"""Candidates by usearch: a graph over 8-bit vectors.

Its files are not checked by usearch itself: a damaged one may be read as if it were whole. Only
bytes that a checksum of ours vouches for may come to `load`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

__all__ = ["UsearchIndex", "build", "load"]

# What it measures at 100,000 vectors of 384 numbers is on `docs/format.md`.
_CONNECTIVITY: Final = 16
_EXPANSION_ADD: Final = 128
# How many are looked at for each one that is asked for.
_EXPANSION: Final = 1


class UsearchIndex:
    """Vectors by number, from 0 in the order they were given."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @property
    def rows(self) -> int:
        """How many vectors it holds."""
        return len(self._index)

    def nearest(self, vector: bytes, count: int) -> list[int]:
        """Numbers of about the nearest vectors, best first, at most `count`."""
        import numpy as np

        if not self.rows:
            return []
        self._index.expansion_search = max(count * _EXPANSION, _EXPANSION_ADD)
        query = np.frombuffer(vector, dtype=np.float32)
        found = self._index.search(query, min(count, self.rows), threads=1)
        return [int(key) for key in found.keys]

    def packed(self) -> bytes:
        """All of it, for `load`."""
        return bytes(self._index.save())


def _index() -> Any:
    """The class. A process that loads usearch and later onnxruntime dies of it, the other way
    round both work: so whoever asks for one loads both."""
    import onnxruntime  # noqa: F401
    from usearch.index import Index

    return Index


def _empty(dimensions: int) -> Any:
    return _index()(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_ADD,
    )


def build(dimensions: int, batches: Iterable[Sequence[bytes]], threads: int = 1) -> UsearchIndex:
    """An index of float32 vectors, batch by batch."""
    import numpy as np

    index = _empty(dimensions)
    for batch in batches:
        if batch:
            rows = np.frombuffer(b"".join(batch), dtype=np.float32).reshape(-1, dimensions)
            first = len(index)
            index.add(np.arange(first, first + len(batch)), rows, threads=threads)
    return UsearchIndex(index)


def load(dimensions: int, packed: Any) -> UsearchIndex:
    """An index from the bytes that `packed` gave; the buffer is read in place.

    Raises:
        ValueError: not an index of such vectors.
    """
    try:
        index = _index().restore(packed, view=True)
    except RuntimeError as error:
        raise ValueError(str(error)) from error
    if index is None or index.ndim != dimensions:
        raise ValueError(f"expected an index of {dimensions} dimensions")
    return UsearchIndex(index)
