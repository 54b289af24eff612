"""Late interaction: token vectors of an embedder's hidden states, and MaxSim over them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from oracle_signals import Places, Values

DIMENSIONS = 64
PIECES_MAX = 160
LATE_TERMS = ("late.mean", "late.idf", "late.window", "late.window_idf")


def signs(rows: int, dimensions: int = DIMENSIONS) -> Values:
    """The fixed sign matrix: row r takes the bits, highest first, of SHA-256 over `vestig-late-1`,
    0x00, decimal r, 0x00, decimal block, block by block of 256 bits; 1 is +1, 0 is −1."""
    found = []
    for row in range(rows):
        bits = b"".join(
            hashlib.sha256(b"vestig-late-1\0%d\0%d" % (row, block)).digest()
            for block in range(-(-dimensions // 256))
        )
        found.append(np.unpackbits(np.frombuffer(bits, np.uint8))[:dimensions])
    return np.where(np.array(found) == 1, np.float32(1), np.float32(-1))


@dataclass(frozen=True)
class Tokens:
    """The word pieces of a text: their ids, 8-bit vectors and scales."""

    ids: Values
    vectors: Values
    scales: Values


def quantised(ids: Sequence[int], hidden: Values, matrix: Values) -> Tokens:
    """The first pieces of a text, its last hidden states given as float32; terms of a sum are added
    in their order."""
    hidden = hidden[:PIECES_MAX]
    projected = np.zeros((len(hidden), matrix.shape[1]), np.float32)
    for column, signs_of_column in zip(hidden.T, matrix, strict=True):
        projected += column[:, None] * signs_of_column
    squares = np.zeros((len(hidden), 1))
    for column in projected.T.astype(float):
        squares[:, 0] += column * column
    lengths = np.sqrt(squares).astype(np.float32)
    unit = projected / lengths
    scales = (np.abs(unit).max(1) / np.float32(127)).astype(np.float32)
    vectors = np.rint(unit / scales[:, None]).astype(np.int8)
    return Tokens(np.array(ids[:PIECES_MAX]), vectors, scales)


class Late:
    """Token vectors of the eligible memories; one without any has no similarity."""

    def __init__(self, memories: Sequence[Tokens], places: Places, special: frozenset[int]) -> None:
        self.size, self.special = len(memories), special
        self.vectors = np.concatenate([m.vectors for m in memories]).astype(np.float32)
        self.scales = np.concatenate([m.scales for m in memories]).astype(float)
        lengths = np.array([len(m.ids) for m in memories])
        self.held_by = np.flatnonzero(lengths)
        self.starts = (np.cumsum(lengths) - lengths)[self.held_by]
        self.around = [
            sorted({row, *places.beside(row, -1), *places.beside(row, 1)})
            for row in range(self.size)
        ]
        memories_with: dict[int, int] = {}
        for memory in memories:
            for piece in {int(piece) for piece in memory.ids}:
                memories_with[piece] = memories_with.get(piece, 0) + 1
        self.memories_with = memories_with

    def idf(self, piece: int) -> float:
        """idf over the word pieces of the eligible memories; special ones weigh nothing."""
        if piece in self.special:
            return 0.0
        holding = self.memories_with.get(piece, 0)
        return math.log(1 + (self.size - holding + 0.5) / (holding + 0.5))

    def best(self, query: Tokens) -> Values:
        """For each token of the query, a row, the most similar one of each memory, a column.
        Products of 8-bit vectors are whole numbers below 2²⁴: exact in float32."""
        whole = query.vectors.astype(np.float32) @ self.vectors.T
        similar = whole.astype(float) * query.scales.astype(float)[:, None] * self.scales
        found = np.full((len(query.ids), self.size), -np.inf)
        if len(self.held_by):
            found[:, self.held_by] = np.maximum.reduceat(similar, self.starts, axis=1)
        return found

    def raw(self, query: Tokens) -> dict[str, Values]:
        """`LATE_TERMS` of all eligible memories."""
        best = self.best(query)
        near = np.array([best[:, rows].max(1) for rows in self.around]).T
        best, near = (np.where(np.isinf(found), 0.0, found) for found in (best, near))
        idf = np.array([self.idf(int(piece)) for piece in query.ids])
        total = idf.sum()
        nothing = np.zeros(self.size)
        return {
            "late.mean": best.mean(0),
            "late.idf": idf @ best / total if total > 0 else nothing,
            "late.window": near.mean(0),
            "late.window_idf": idf @ near / total if total > 0 else nothing,
        }


def within(values: Values, pool: Values) -> Values:
    """Divided by the maximum over the pool, 0 outside of it."""
    most = float(values[pool].max()) if len(pool) else 0.0
    found = np.zeros_like(values)
    if most > 0:
        found[pool] = values[pool] / most
    return found
