"""An embedder with a cache of vectors, in memory and in a file: the texts of a benchmark are
embedded once for all rows and runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vestig.embedders.checked import codes_identity
from vestig.ports import (
    CODE_BYTES,
    STATE_DIMENSIONS,
    CodeEmbedder,
    Embedder,
    PieceCounter,
    Pieces,
    TokenStates,
    gives_codes,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEY_BYTES: Final = 16
_FLOAT_BYTES: Final = 4
_BATCH: Final = 256
# How many pieces a record has; then the number of each, then what is held of each.
_COUNT_BYTES: Final = 4
_NUMBER_BYTES: Final = 4
_STATE_BYTES: Final = STATE_DIMENSIONS * _FLOAT_BYTES
_PLACE_BYTES: Final = 8


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


class CachedEmbedder:
    """Wraps an embedder; with a folder, its vectors are stored there between runs.

    A file holds vectors of one model: records of the text's hash and its vector. Records are
    appended, and a torn end of an interrupted run is cut off.

    Args:
        inner: makes the vectors that are not known yet.
        folder: of the file; None = in memory only.
        variant: what else determines the vectors, such as a cut of the texts.

    Example:
        >>> from vestig.testing import HashingEmbedder
        >>> inner = HashingEmbedder(8)
        >>> embedder = CachedEmbedder(inner)
        >>> embedder.embed(["a", "b"]) == embedder.embed(["a", "b"]), inner.call_count
        (True, 1)
    """

    def __init__(self, inner: Embedder, folder: Path | None = None, variant: str = "") -> None:
        self._inner = inner
        self._size = inner.dimensions * _FLOAT_BYTES
        self._known: dict[bytes, bytes] = {}
        # called with the number of new vectors after each batch
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
        """Return whether only a beginning of the text is read."""
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
            self._add(fresh)
            if self.on_made is not None:
                self.on_made(len(fresh))
        return [self._known[key] for key in keys]

    def _add(self, fresh: Mapping[bytes, bytes]) -> None:
        self._known.update(fresh)
        self._write(self._file, b"".join(key + vector for key, vector in fresh.items()))

    def _write(self, file: Path | None, records: bytes) -> None:
        if file is None or not records:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        # unbuffered: a block of records is one write, whole beside other processes
        with file.open("ab", buffering=0) as opened:
            opened.write(records)

    def count_pieces(self, text: str) -> int | None:
        """Word pieces of a text; None when the embedder does not count them."""
        inner = self._inner
        return inner.count_pieces(text) if isinstance(inner, PieceCounter) else None

    def matrix(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts as float32 rows: texts × dimensions."""
        import numpy as np

        found = np.frombuffer(b"".join(self.embed(texts)), dtype="<f4")
        return found.reshape(len(texts), self.dimensions)


class _PieceFile:
    """The word pieces of texts, in a file of its own: records of the text's hash, the number of
    pieces, their numbers and their codes or states."""

    def __init__(self, file: Path | None, width: int) -> None:
        self.file = file
        self._width = width
        self.known: dict[bytes, tuple[bytes, bytes]] = {}
        if file is not None:
            self._load(file)

    def _load(self, file: Path) -> None:
        try:
            raw = file.read_bytes()
        except FileNotFoundError:
            return
        place, head = 0, _KEY_BYTES + _COUNT_BYTES
        while place + head <= len(raw):
            count = int.from_bytes(raw[place + _KEY_BYTES : place + head], "little")
            ids = place + head + _NUMBER_BYTES * count
            end = ids + self._width * count
            if end > len(raw):
                break
            key = raw[place : place + _KEY_BYTES]
            self.known[key] = raw[place + head : ids], raw[ids:end]
            place = end
        if place < len(raw):
            os.truncate(file, place)

    def add(self, fresh: Mapping[bytes, tuple[bytes, bytes]]) -> bytes:
        """The records to write."""
        self.known.update(fresh)
        return b"".join(
            b"".join((key, (len(ids) // _NUMBER_BYTES).to_bytes(_COUNT_BYTES, "little"), ids, held))
            for key, (ids, held) in fresh.items()
        )


class CachedTokenEmbedder(CachedEmbedder):
    """A `CachedEmbedder` for a model that gives states and codes of word pieces too."""

    def __init__(self, inner: CodeEmbedder, folder: Path | None = None, variant: str = "") -> None:
        super().__init__(inner, folder, variant)
        self._tokens, self._codes = inner.embed_tokens, inner.embed_codes
        suffix = f".codes-{codes_identity().hex()[:16]}"
        codes = None if self._file is None else self._file.with_suffix(suffix)
        states = None if self._file is None else self._file.with_suffix(".placed-states")
        self._held = _PieceFile(codes, CODE_BYTES)
        self._states = _PieceFile(states, _STATE_BYTES + _PLACE_BYTES)

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """Vector and states of each text; only texts never seen before reach the model."""
        made = self._of_pieces(texts, self._states, self._placed_states)
        return [(vector, _token_states(*parts)) for vector, parts in made]

    def _placed_states(self, texts: list[str]) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        """States with places behind them; without places the pieces stand nowhere."""
        return [
            (vector, (own.ids, own.states + (own.places or bytes(2 * len(own.ids)))))
            for vector, own in self._tokens(texts)
        ]

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """Vector and codes of each text; only texts never seen before reach the model."""
        made = self._of_pieces(texts, self._held, self._codes)
        return [(vector, Pieces(*parts)) for vector, parts in made]

    def _of_pieces(
        self,
        texts: Sequence[str],
        held: _PieceFile,
        make: Callable[[list[str]], Sequence[tuple[bytes, tuple[bytes, bytes]]]],
    ) -> list[tuple[bytes, tuple[bytes, bytes]]]:
        keys = [_key(text) for text in texts]
        unknown = {
            key: text
            for key, text in zip(keys, texts, strict=True)
            if key not in held.known or key not in self._known
        }
        pairs = list(unknown.items())
        for start in range(0, len(pairs), _BATCH):
            part = pairs[start : start + _BATCH]
            made = make([text for _, text in part])
            fresh = {key: vector for (key, _), (vector, _) in zip(part, made, strict=True)}
            pieces = {key: found for (key, _), (_, found) in zip(part, made, strict=True)}
            self._add({key: one for key, one in fresh.items() if key not in self._known})
            self._write(held.file, held.add(pieces))
            if self.on_made is not None:
                self.on_made(len(part))
        return [(self._known[key], held.known[key]) for key in keys]


def _token_states(ids: bytes, held: bytes) -> TokenStates:
    cut = _STATE_BYTES * (len(ids) // _NUMBER_BYTES)
    places = held[cut:]
    return TokenStates(ids, held[:cut], places if any(places) else b"")


def cached_embedder(
    inner: Embedder, folder: Path | None = None, variant: str = ""
) -> CachedEmbedder:
    """The embedder wrapped, with states and codes of word pieces where it has them."""
    if gives_codes(inner):
        return CachedTokenEmbedder(inner, folder, variant)
    return CachedEmbedder(inner, folder, variant)
