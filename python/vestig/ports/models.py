"""What a model offers: an embedder, a reranker, an index of vectors."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeGuard, runtime_checkable

import msgspec

__all__ = [
    "PIECES_MAX",
    "PIECE_DIMENSIONS",
    "SPECIAL_PIECE",
    "CandidateIndex",
    "Embedder",
    "EmbeddingIdentity",
    "PieceCounter",
    "Pieces",
    "Reranker",
    "RerankerSettings",
    "TokenEmbedder",
    "are_pieces",
    "gives_tokens",
    "is_finite",
]

# Word pieces of a text that get vectors, special ones included, and the length of each.
PIECES_MAX: Final = 160


PIECE_DIMENSIONS: Final = 64


# The number of special pieces, which are in no text, such as the model's token for the beginning.
SPECIAL_PIECE: Final = 0xFFFFFFFF


# The byte of −128, which is no code: it has no opposite.
_LEAST_CODE: Final = 0x80


class EmbeddingIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which model made a store's vectors. `fingerprint` is a file hash, or "" when
    the provider has none; then `probes` (vectors of three fixed sentences, float32 bytes) are
    compared by cosine >= 0.999."""

    model: str
    dimensions: int
    normalized: bool
    fingerprint: str = ""
    probes: tuple[bytes, ...] = ()


class Pieces(NamedTuple):
    """Token vectors of n word pieces, n from 1 to `PIECES_MAX`, little-endian: piece i has
    the number ids[i] (u32) and the vector codes[64·i : 64·i + 64] · scales[i], codes i8 from −127
    to 127, scales float32."""

    ids: bytes
    codes: bytes
    scales: bytes


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. Several threads may ask it at once."""

    @property
    def model(self) -> str:
        """Name of the model, stored with every vector."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector, 1 to 8192."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, or "" when the provider gives none."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One float32 little-endian vector of `dimensions` values per text; [] for [].

        Raises:
            ProviderError: the model failed or gave something else than finite vectors.
        """
        ...

    def truncated(self, text: str) -> bool:
        """Whether the model reads only a beginning of this text."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """An embedder that gives a vector for each word piece as well."""

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """For each text its vector, the one of `embed`, and the vectors of its first word pieces,
        both from one run of the model; [] for []. Special pieces have the number
        `SPECIAL_PIECE`.

        Raises:
            ProviderError: as `embed`.
        """
        ...


@runtime_checkable
class PieceCounter(Protocol):
    """An embedder that counts the word pieces of a text: the tokens of `recall(context=True)`.
    Without it they are estimated, and the result says so."""

    def count_pieces(self, text: str) -> int | None:
        """Pieces of the whole text, however long it is; None when they cannot be counted."""
        ...


def are_pieces(pieces: Pieces) -> bool:
    """Whether the three parts fit each other, every code is at least −127 and every scale is
    finite and at least 0.

    Example:
        >>> are_pieces(Pieces(bytes(4), bytes(64), bytes(4))), are_pieces(Pieces(b"", b"", b""))
        (True, False)
    """
    count, rest = divmod(len(pieces.ids), 4)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(pieces.codes) == count * PIECE_DIMENSIONS
        and len(pieces.scales) == 4 * count
        and _LEAST_CODE not in pieces.codes
        and all(math.isfinite(scale) and scale >= 0 for scale in array("f", pieces.scales))
    )


def is_finite(vector: bytes) -> bool:
    """Whether float32 little-endian bytes hold neither NaN nor infinity.

    Example:
        >>> is_finite(bytes(8)), is_finite(b"\\0\\0\\x80\\x7f"), is_finite(b"\\xff" * 4)
        (True, False, False)
    """
    # Their exponents are all ones; so are seven bits of it in the last byte, which is rare.
    last = vector[3::4]
    if 0x7F not in last and 0xFF not in last:
        return True
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    # A sum of float32 in float64 overflows never, and NaN or infinity in it stay visible.
    return math.isfinite(sum(values))


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Whether it has vectors of word pieces. Asks for nothing that would load a model."""
    return callable(getattr(embedder, "embed_tokens", None))


class CandidateIndex(Protocol):
    """Approximate nearest vectors, numbered from 0 as given; the core compares them exactly."""

    @property
    def rows(self) -> int:
        """How many vectors it holds."""
        ...

    def nearest(self, vector: bytes, count: int) -> list[int]:
        """Numbers of about the nearest vectors, best first, at most `count`, each once."""
        ...

    def packed(self) -> bytes:
        """The index as bytes. The caller keeps them under a checksum: no others are ever loaded."""
        ...


class RerankerSettings(Protocol):
    """The section `reranker` of the configuration."""

    @property
    def provider(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well each answers a query."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its weights, or ""."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        """One float32 little-endian number for each text, finite and at least 0, the greater the
        better: the largest of a call counts as 1. Limits its own time."""
        ...
