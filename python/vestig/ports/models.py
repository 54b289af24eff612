"""The ports of models: an embedder, a reranker, an index of vectors."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeGuard, runtime_checkable

import msgspec

__all__ = [
    "CODE_BYTES",
    "PIECES_MAX",
    "SPECIAL_PIECE",
    "STATE_DIMENSIONS",
    "CandidateIndex",
    "CodeEmbedder",
    "Embedder",
    "EmbeddingIdentity",
    "PieceCounter",
    "Pieces",
    "Reranker",
    "RerankerSettings",
    "TokenEmbedder",
    "TokenStates",
    "are_pieces",
    "are_states",
    "gives_codes",
    "gives_tokens",
    "is_finite",
]

# Word pieces of a text that count in late interaction, special ones included.
PIECES_MAX: Final = 160


# Numbers of a hidden state.
STATE_DIMENSIONS: Final = 384


# Bytes of the code of a word piece: 256 bits, then a binary16 scale.
CODE_BYTES: Final = 34


# The number of special pieces, which are in no text, such as the model's token for the beginning.
SPECIAL_PIECE: Final = 0xFFFFFFFF


# The upper byte of a binary16 number from which on it is infinite, no number or negative.
_NO_SCALE: Final = 0x7C


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
    """One-bit codes of n word pieces, n from 1 to `PIECES_MAX`: piece i has the number ids[i]
    (u32 little-endian) and the code codes[34·i : 34·i + 34]: 256 bits, the lowest of a byte first,
    of which a set one stands for +1 and another for −1, and what they are multiplied by
    (binary16 little-endian)."""

    ids: bytes
    codes: bytes


class TokenStates(NamedTuple):
    """Hidden states of n word pieces, n from 1 to `PIECES_MAX`: ids as in `Pieces`, states of 384
    float32 numbers a piece, little-endian; and where each stands in the text, two u32 code points
    [start, end), [0, 0) for special pieces. Without places a query has no topic of its own."""

    ids: bytes
    states: bytes
    places: bytes = b""


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
        """Return whether the model reads only a beginning of this text."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """An embedder that gives hidden states of word pieces as well."""

    def embed_tokens(self, texts: Sequence[str]) -> list[tuple[bytes, TokenStates]]:
        """For each text its vector, the one of `embed`, and the last hidden states of its first
        160 word pieces, both from one run of the model; [] for []. Special pieces have the number
        `SPECIAL_PIECE`.

        Raises:
            ProviderError: as `embed`.
        """
        ...


class CodeEmbedder(TokenEmbedder, Protocol):
    """A `TokenEmbedder` that makes codes of its states by itself, the same as
    `embedders.piece_codes` makes; it is asked for them where codes are stored."""

    def embed_codes(self, texts: Sequence[str]) -> list[tuple[bytes, Pieces]]:
        """Like `embed_tokens`, with codes in the place of states.

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
    """Return whether both parts fit each other and every scale is finite and at least 0.

    Example:
        >>> are_pieces(Pieces(bytes(4), bytes(34))), are_pieces(Pieces(b"", b""))
        (True, False)
    """
    count, rest = divmod(len(pieces.ids), 4)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(pieces.codes) == count * CODE_BYTES
        and max(pieces.codes[CODE_BYTES - 1 :: CODE_BYTES]) < _NO_SCALE
    )


def are_states(states: TokenStates) -> bool:
    """Return whether both parts fit each other and every number is finite.

    Example:
        >>> are_states(TokenStates(bytes(4), bytes(1536))), are_states(TokenStates(b"", b""))
        (True, False)
    """
    count, rest = divmod(len(states.ids), 4)
    return (
        rest == 0
        and 1 <= count <= PIECES_MAX
        and len(states.states) == count * STATE_DIMENSIONS * 4
        and len(states.places) in (0, count * 8)
        and is_finite(states.states)
    )


def is_finite(vector: bytes) -> bool:
    """Return whether float32 little-endian bytes hold neither NaN nor infinity.

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
    """Return whether it has hidden states of word pieces. Asks for nothing that would load a
    model."""
    return callable(getattr(embedder, "embed_tokens", None))


def gives_codes(embedder: Embedder) -> TypeGuard[CodeEmbedder]:
    """Return whether it makes codes of word pieces by itself. Asks for nothing that would load a
    model."""
    return callable(getattr(embedder, "embed_codes", None))


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

    def score(self, query: str, texts: Sequence[str]) -> bytes:
        """One float32 little-endian number for each text, finite and at least 0, the greater the
        better: the largest of a call counts as 1. Limits its own time."""
        ...
