"""An embedder that remembers: a benchmark's texts are embedded once for all rows and runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vestig.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RememberingEmbedder"]

_KEY_BYTES: Final = 16
_FLOAT_BYTES: Final = 4
_BATCH: Final = 256


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


class RememberingEmbedder:
    """Wraps an embedder; with a folder, vectors are kept there between runs.

    A file holds vectors of one model: records of the text's hash and its vector. Records are
    appended, and a torn end of an interrupted run is cut off.

    Args:
        inner: makes the vectors that are not known yet.
        folder: where they are kept; None = in memory only.
        variant: what else determines the vectors, such as a cut of the texts.

    Example:
        >>> from vestig.testing import HashingEmbedder
        >>> inner = HashingEmbedder(8)
        >>> embedder = RememberingEmbedder(inner)
        >>> embedder.embed(["a", "b"]) == embedder.embed(["a", "b"]), inner.call_count
        (True, 1)
    """

    def __init__(self, inner: Embedder, folder: Path | None = None, variant: str = "") -> None:
        self._inner = inner
        self._size = inner.dimensions * _FLOAT_BYTES
        self._known: dict[bytes, bytes] = {}
        # told how many vectors were made, batch by batch
        self.on_made: Callable[[int], None] | None = None
        self._file = None if folder is None else folder / f"{self._name(variant)}.vectors"
        if self._file is not None:
            self._load(self._file)

    def _name(self, variant: str) -> str:
        print_ = self._inner.fingerprint or hashlib.sha256(self._inner.model.encode()).hexdigest()
        return f"{print_[:16]}-{variant}" if variant else print_[:16]

    def _load(self, file: Path) -> None:
        try:
            raw = file.read_bytes()
        except FileNotFoundError:
            return
        step = _KEY_BYTES + self._size
        whole = len(raw) - len(raw) % step
        if whole < len(raw):
            os.truncate(file, whole)
        for place in range(0, whole, step):
            middle = place + _KEY_BYTES
            self._known[raw[place:middle]] = raw[middle : place + step]

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._inner.dimensions

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, or ""."""
        return self._inner.fingerprint

    def truncated(self, text: str) -> bool:
        """Whether only a beginning of the text is read."""
        return self._inner.truncated(text)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector per text; only texts never seen before reach the model."""
        keys = [_key(text) for text in texts]
        unknown = [
            (key, text)
            for key, text in dict(zip(keys, texts, strict=True)).items()
            if key not in self._known
        ]
        for start in range(0, len(unknown), _BATCH):
            part = unknown[start : start + _BATCH]
            made = self._inner.embed([text for _, text in part])
            fresh = {key: vector for (key, _), vector in zip(part, made, strict=True)}
            self._known.update(fresh)
            self._keep(b"".join(key + vector for key, vector in fresh.items()))
            if self.on_made is not None:
                self.on_made(len(fresh))
        return [self._known[key] for key in keys]

    def _keep(self, records: bytes) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # unbuffered: a block of records is one write, whole beside other processes
        with self._file.open("ab", buffering=0) as file:
            file.write(records)

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors as rows."""
        import numpy as np

        found = np.frombuffer(b"".join(self.embed(texts)), dtype="<f4")
        return found.reshape(len(texts), self.dimensions)
