"""Late interaction: one-bit codes of an embedder's hidden states, and MaxSim over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import oracle
from oracle_signals import Places, Values

BITS = 256
STATE = 384
PIECES_MAX = 160
LATE_TERMS = ("late", "late_window")
ALIKE = 0.4
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
DATA = Path(__file__).parents[2] / "python" / "vestig" / "data"


def numbers(name: str) -> Values:
    """A row for each line of a data file: three digits a number, k · 2⁻¹⁸ from −2¹⁷ on."""
    rows = []
    for line in (DATA / name).read_text("ascii").splitlines():
        digits = np.array([DIGITS.index(digit) for digit in line]).reshape(-1, 3)
        rows.append((digits @ [4096, 64, 1] - 2**17) / 2**18)
    return np.array(rows).astype(np.float32)


def coordinates(hidden: Values, mean: Values, axes: Values) -> Values:
    """Hidden states at unit length without the mean, along the axes (rows): float32 dot products of
    64 lanes, folded by halves."""
    found = []
    for state in hidden:
        products = (oracle.unit(state) - mean) * axes
        lanes = np.zeros((len(axes), 64), np.float32)
        for block in np.split(products, STATE // 64, axis=1):
            lanes = lanes + block
        while lanes.shape[1] > 1:
            half = lanes.shape[1] // 2
            lanes = lanes[:, :half] + lanes[:, half:]
        found.append(lanes[:, 0])
    return np.array(found)


def summed(values: Values) -> float:
    """In float64, in their order."""
    total = 0.0
    for value in values:
        total += float(value)
    return total


def length(y: Values) -> float:
    return math.sqrt(summed(y.astype(float) ** 2))


def code(y: Values) -> bytes:
    """Bits of what is above 0, the lowest of a byte first, then mean size over length, binary16."""
    size = length(y)
    scale = summed(np.abs(y)) / len(y) / size if size else 0.0
    bits = np.packbits(y > 0, bitorder="little").tobytes()
    return bits + np.float16(scale).astype("<f2").tobytes()


def query_code(y: Values) -> tuple[Values, float]:
    """Whole numbers from −7 to 7, and the step."""
    size = length(y)
    if size == 0:
        return np.zeros(len(y), np.int8), 0.0
    u = y.astype(float) / size
    mean = summed(u) / len(u)
    deviation = math.sqrt(summed((u - mean) ** 2) / len(u))
    step = min(float(np.abs(u).max()), 2.7 * deviation) / 7
    return np.clip(np.rint(u / step), -7, 7).astype(np.int8), step


@dataclass(frozen=True)
class Tokens:
    """The word pieces of a memory: their ids, signs (−1, 1) and scales."""

    ids: Values
    signs: Values
    scales: Values


@dataclass(frozen=True)
class QueryPieces:
    """The word pieces of a query: their ids, 4-bit codes and steps."""

    ids: Values
    codes: Values
    steps: Values


def unpacked(ids: bytes, codes: bytes) -> Tokens:
    """From the bytes of `ports.Pieces`."""
    raw = np.frombuffer(codes, np.uint8).reshape(-1, BITS // 8 + 2)
    bits = np.unpackbits(raw[:, :-2], axis=1, bitorder="little")
    scales = np.ascontiguousarray(raw[:, -2:]).view("<f2")[:, 0].astype(float)
    return Tokens(np.frombuffer(ids, "<u4").astype(int), bits.astype(int) * 2 - 1, scales)


def asked(ids: bytes, codes: bytes, steps: bytes) -> QueryPieces:
    """From the bytes of a query of the core."""
    rows = np.frombuffer(codes, np.int8).reshape(-1, BITS)
    return QueryPieces(np.frombuffer(ids, "<u4").astype(int), rows, np.frombuffer(steps, "<f8"))


def similarities(query: QueryPieces, memory: Tokens) -> Values:
    """By piece of the query, a row, and of the memory, a column: step · (scale · D)."""
    whole = query.codes.astype(int) @ memory.signs.astype(int).T
    return query.steps[:, None] * (memory.scales * whole)


def counted(piece: int, special: frozenset[int]) -> int:
    """The number under which a word piece is counted."""
    return piece if piece in special else piece % 65_535


class Late:
    """Codes of the eligible memories; one without any has no similarity."""

    def __init__(self, memories: Sequence[Tokens], places: Places, special: frozenset[int]) -> None:
        self.size, self.special = len(memories), special
        self.memories = memories
        self.around = [
            [row, *(near for offset in (-2, -1, 1, 2) for near in places.beside(row, offset))]
            for row in range(self.size)
        ]
        memories_with: dict[int, int] = {}
        for memory in memories:
            for piece in {counted(int(piece), special) for piece in memory.ids}:
                memories_with[piece] = memories_with.get(piece, 0) + 1
        self.memories_with = memories_with

    def idf(self, piece: int) -> float:
        """idf over the word pieces of the eligible memories; special ones weigh nothing."""
        if piece in self.special:
            return 0.0
        holding = self.memories_with.get(counted(piece, self.special), 0)
        return math.log(1 + (self.size - holding + 0.5) / (holding + 0.5))

    def best(self, query: QueryPieces) -> Values:
        """For each piece of the query, a row, the most similar one of each memory, a column."""
        found = np.full((len(query.ids), self.size), -np.inf)
        for place, memory in enumerate(self.memories):
            if len(memory.ids):
                found[:, place] = similarities(query, memory).max(1)
        return found

    def raw(self, query: QueryPieces) -> dict[str, Values]:
        """`LATE_TERMS` of all eligible memories."""
        best = self.best(query)
        window = np.array([best[:, rows].max(1) for rows in self.around]).T
        best, window = (np.where(np.isinf(z), 0.0, z) for z in (best, window))
        idf = np.array([self.idf(int(piece)) for piece in query.ids])
        total = idf.sum()
        if total == 0:
            return dict.fromkeys(LATE_TERMS, np.zeros(self.size))
        own, near = (idf @ np.minimum(z, ALIKE) / total for z in (best, window))
        return dict(zip(LATE_TERMS, (own, near - own), strict=True))
