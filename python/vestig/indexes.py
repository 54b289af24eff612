"""A candidate index by usearch: HNSW (Malkov and Yashunin, 2016) over 8-bit vectors.

usearch does not check its files: it may read a damaged one as if it were whole. The caller checks a
checksum before `load`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from vestig.config.environment import forbid_telemetry

# Measurements at 100,000 vectors of 384 dimensions are in rust/vestig-core/FORMAT.md.
_CONNECTIVITY: Final = 16
_EXPANSION_ADD: Final = 128
# Candidates examined for each wanted one.
_EXPANSION: Final = 1


class UsearchIndex:
    """An index of vectors, numbered from 0 in the order in which they were added."""

    def __init__(self, index: Any) -> None:
        self._index = index

    @property
    def rows(self) -> int:
        """Number of vectors."""
        return len(self._index)

    def nearest(self, vector: bytes, count: int) -> list[int]:
        """Numbers of approximately the nearest vectors by cosine, best first, at most `count`.

        `vector`: float32 bytes of the index's dimensions.
        """
        import numpy as np

        if not self.rows:
            return []
        self._index.expansion_search = max(count * _EXPANSION, _EXPANSION_ADD)
        query = np.frombuffer(vector, dtype=np.float32)
        found = self._index.search(query, min(count, self.rows), threads=1)
        return [int(key) for key in found.keys]

    def packed(self) -> bytes:
        """The index as bytes, for `load`."""
        return bytes(self._index.save())


def _index() -> Any:
    """The class of usearch. onnxruntime is loaded first where it is installed: a process that
    loads it after usearch crashes."""
    forbid_telemetry()
    with suppress(ImportError):
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
    """An index of float32 vectors, each as bytes, added batch by batch."""
    import numpy as np

    index = _empty(dimensions)
    for batch in batches:
        if batch:
            rows = np.frombuffer(b"".join(batch), dtype=np.float32).reshape(-1, dimensions)
            first = len(index)
            index.add(np.arange(first, first + len(batch)), rows, threads=threads)
    return UsearchIndex(index)


def load(dimensions: int, packed: Any) -> UsearchIndex:
    """An index from the bytes of `UsearchIndex.packed`; the buffer is used in place.

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
