"""The forward pass of the built-in embedder, the judge and the version reader, slowly: numpy in
float32, sums of integers exact in float64, every order of operations as the core defines it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from model_reference import DENSE, initialisers, judge, layers, version_reader

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Floats: TypeAlias = NDArray[np.float32]
F = np.float32


def exp(x: Floats) -> Floats:
    """e to the x, x ≤ 0."""
    x = np.maximum(x, F(-87))
    shifted = x * F(1.4426950408889634) + F(12582912)
    n = shifted - F(12582912)
    r = (x - n * F(0.6933594)) - n * F(-2.1219444e-4)
    total = np.full_like(x, 1.3814613e-3)
    for term in (8.36871e-3, 4.166839e-2, 0.1666652, 0.49999994, 1.0, 1.0):
        total = total * r + F(term)
    return total * np.ldexp(F(1), n.astype(np.int32))


def erf(x: Floats) -> Floats:
    """The error function."""
    x = np.clip(x, F(-3.9), F(3.9))
    square = x * x
    above, below = np.full_like(x, 2.0503867e-6), np.full_like(x, 3.823077e-5)
    for term in (2.8745794e-4, 3.8368958e-3, 5.296698e-2, 0.19194144, 1.128379):
        above = above * square + F(term)
    for term in (1.1817396e-3, 1.5109243e-2, 0.11475838, 0.5034354, 1.0):
        below = below * square + F(term)
    return np.clip(x * above / below, F(-1), F(1))


def _folded(lanes: Floats) -> Floats:
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes


def _lane_sum(values: Floats, count: int) -> Floats:
    """Sums of rows in so many lanes, folded by halves."""
    lanes = np.zeros((*values.shape[:-1], count), F)
    for first in range(0, values.shape[-1], count):
        part = values[..., first : first + count]
        lanes[..., : part.shape[-1]] += part
    return _folded(lanes)


def _norm(rows: Floats, weights: Arrays, name: str) -> Floats:
    centred = rows - _lane_sum(rows, 64) / F(384)
    variance = _lane_sum(centred * centred, 64) / F(384)
    factor = F(1) / np.sqrt(variance + F(1e-12))
    return centred * factor * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _product(rows: Floats, weights: Arrays, layer: int, which: int) -> Floats:
    name = f"inner.encoder.layer.{layer}.{DENSE[which]}"
    scales = np.abs(rows).max(1, keepdims=True) / F(8191)
    codes = np.rint(np.clip(rows / scales, F(-8191), F(8191)))
    sums = codes.astype(np.float64) @ weights[f"{name}.codes"].astype(np.float64)
    scaled: Floats = sums.astype(F) * (scales * weights[f"{name}.scales"])
    return scaled + weights[f"{name}.bias"]


def _attention(queries: Floats, keys: Floats, values: Floats) -> Floats:
    pieces = len(queries)
    out = np.empty_like(queries)
    for head in range(0, 384, 32):
        part = slice(head, head + 32)
        q, k, v = queries[:, part] * F(0.17677669), keys[:, part], values[:, part]
        scores = np.zeros((pieces, pieces), F)
        for d in range(32):
            scores += q[:, d, None] * k[None, :, d]
        weights = exp(scores - scores.max(1, keepdims=True))
        mixed = np.zeros((pieces, 32), F)
        for j in range(pieces):
            mixed += weights[:, j, None] * v[j]
        out[:, part] = mixed / _lane_sum(weights, 16)
    return out


def hidden_states(ids: Sequence[int]) -> Floats:
    """Last hidden states of one text."""
    return _states(ids, [0] * len(ids), initialisers() | layers())


def judged(ids: Sequence[int], memory_from: int) -> Floats:
    """Both logits of a question and a memory: `[CLS] question [SEP] memory [SEP]`."""
    parts = slice(1, memory_from - 1), slice(memory_from, -1)
    return _head(ids, memory_from, parts, initialisers() | judge())


def compared(ids: Sequence[int], older_from: int, newer_from: int) -> Floats:
    """The logit of a question and two memories: `[CLS] question [SEP] older [SEP] newer [SEP]`."""
    parts = slice(older_from, newer_from - 1), slice(newer_from, -1)
    return _head(ids, older_from, parts, initialisers() | version_reader())


def _head(
    ids: Sequence[int], second_from: int, parts: tuple[slice, slice], weights: Arrays
) -> Floats:
    """The outputs over the states of two parts of a text."""
    types = [int(at >= second_from) for at in range(len(ids))]
    states = _states(ids, types, weights).astype(float)

    def mean(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(384)
        for row in rows:
            total += row
        return total / max(1, len(rows))

    one, other = (mean(states[part]) for part in parts)
    features = np.concatenate([states[0], one * other, np.abs(one - other)])
    terms = features * weights["head.weight"].astype(float)
    terms = np.concatenate([weights["head.bias"].astype(float)[:, None], terms], axis=1)
    found: Floats = np.cumsum(terms, axis=1)[:, -1].astype(F)
    return found


def _states(ids: Sequence[int], types: Sequence[int], weights: Arrays) -> Floats:
    def rows(name: str, of: Any) -> Floats:
        whole = f"inner.embeddings.{name}_embeddings.weight"
        codes: Floats = weights[f"{whole}_q"][of].astype(F)
        return codes * weights[f"{whole}_scale"][of]

    x = rows("word", ids) + weights["inner.embeddings.token_type_embeddings.weight"][types]
    x = _norm(x + rows("position", slice(len(ids))), weights, "inner.embeddings.LayerNorm")
    for layer in range(6):
        name = f"inner.encoder.layer.{layer}"
        projected = [_product(x, weights, layer, which) for which in range(3)]
        attended = _product(_attention(*projected), weights, layer, 3)
        x = _norm(x + attended, weights, f"{name}.attention.output.LayerNorm")
        inner = _product(x, weights, layer, 4)
        inner = F(0.5) * inner * (F(1) + erf(inner * F(0.70710678)))
        x = _norm(x + _product(inner, weights, layer, 5), weights, f"{name}.output.LayerNorm")
    return x


def pooled(states: Floats) -> bytes:
    """The vector of a text from its states."""
    total = np.zeros(384)
    for row in states:
        total += row
    mean = total / len(states)
    squares = 0.0
    for value in mean:
        squares += float(value) * float(value)
    return struct.pack("<384f", *(mean / np.sqrt(squares)).astype(F))
