"""The version reader in JAX: the judge's layers with a change of low rank, over a question and two
memories together, and a head that gives the logit that the newer one takes the place of the
older."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from layers_file import LAYERS, Arrays
from numpy.typing import NDArray
from version_change_file import FEATURES, MATRICES, NORMS, RANK
from version_input import Triple
from worlds import MARKS

sys.path.append(str(Path(__file__).parents[2] / "tests"))
import model_reference

Parameters: TypeAlias = dict[str, Any]

HIDDEN: Final = 384
HEADS: Final = 12
EPSILON: Final = 1e-12
_NORM_NAMES: Final = ("attention.output.LayerNorm", "output.LayerNorm")
_HEAD_DEVIATION: Final = 0.02
# Lengths to which a batch is padded: each is compiled once.
_LENGTHS: Final = tuple(range(40, 153, 16))
_QUESTION, _OLDER, _NEWER, _MARK, _PADDING = range(5)


class Batch(NamedTuple):
    """Triples padded to one length: word vectors, the part of each piece, and which are read."""

    words: NDArray[np.float32]
    parts: NDArray[np.int32]
    seen: NDArray[np.bool_]


def judge_arrays() -> Arrays:
    """The judge as its file has it, in float32: of each layer `qkv`, `wo`, `w1` and `w2`, outputs ×
    inputs, with biases and both norms, the embeddings beside the word vectors, and those."""
    given = model_reference.judge()
    found = dict[str, NDArray[Any]]()
    for layer in range(LAYERS):
        place, own = f"inner.encoder.layer.{layer}", f"L.{layer}"
        first = 0
        for name, (_, _, count) in MATRICES.items():
            dense = [f"{place}.{one}" for one in model_reference.DENSE[first : first + count]]
            found[f"{own}.{name}_w"] = np.concatenate(
                [(given[f"{one}.codes"] * given[f"{one}.scales"]).T for one in dense]
            )
            found[f"{own}.{name}_b"] = np.concatenate([given[f"{one}.bias"] for one in dense])
            first += count
        for name, norm in zip(NORMS, _NORM_NAMES, strict=True):
            found[f"{own}.{name}_w"] = given[f"{place}.{norm}.weight"]
            found[f"{own}.{name}_b"] = given[f"{place}.{norm}.bias"]
    inner = "inner.embeddings"
    for table, arrays in (("position", given), ("word", model_reference.initialisers())):
        whole = f"{inner}.{table}_embeddings.weight"
        name = {"position": "pos", "word": "words"}[table]
        found[name] = arrays[f"{whole}_q"] * arrays[f"{whole}_scale"]
    found["seg"] = given[f"{inner}.token_type_embeddings.weight"]
    found["ew"], found["eb"] = (given[f"{inner}.LayerNorm.{part}"] for part in ("weight", "bias"))
    return {name: values.astype(np.float32) for name, values in found.items()}


def start(judge: Arrays, seed: int) -> Parameters:
    """The parameters before the training: a change that changes nothing, and a head by chance."""
    draw = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for layer in range(LAYERS):
        own = f"L.{layer}"
        for name, (outputs, inputs, _) in MATRICES.items():
            found[f"{own}.{name}_inner"] = draw.normal(0, inputs**-0.5, (RANK, inputs))
            found[f"{own}.{name}_outer"] = np.zeros((outputs, RANK))
            found[f"{own}.{name}_b"] = judge[f"{own}.{name}_b"]
        for name in NORMS:
            for part in ("w", "b"):
                found[f"{own}.{name}_{part}"] = judge[f"{own}.{name}_{part}"]
    found["head.weight"] = draw.normal(0, _HEAD_DEVIATION, FEATURES)
    found["head.bias"] = np.zeros(())
    return {name: jnp.asarray(values, jnp.float32) for name, values in found.items()}


def batch(
    judge: Arrays, triples: Sequence[Triple], unseen: float, draw: np.random.Generator
) -> Batch:
    """Triples of one batch; a share of the pieces, never the marks, is not read."""
    longest = max(len(one.pieces) for one in triples)
    length = next(length for length in _LENGTHS if length >= longest)
    ids = np.zeros((len(triples), length), np.int64)
    parts = np.full(ids.shape, _PADDING, np.int32)
    for row, one in enumerate(triples):
        end = len(one.pieces)
        ids[row, :end] = one.pieces
        parts[row, : one.older] = _QUESTION
        parts[row, one.older : one.newer] = _OLDER
        parts[row, one.newer : end] = _NEWER
    parts[np.isin(ids, MARKS)] = _MARK
    seen = parts != _PADDING
    seen &= (draw.random(ids.shape) >= unseen) | (parts == _MARK)
    kinds = np.where(parts == _MARK, _MARK, np.where(seen, parts, _PADDING))
    # the mark behind the question is of its token type; those behind the memories of theirs
    types = np.cumsum(ids == MARKS[1], 1) - (ids == MARKS[1])
    words = judge["words"][ids] + judge["seg"][np.clip(types, 0, 1)]
    return Batch(words.astype(np.float32), kinds.astype(np.int32), seen)


def logits(judge: Arrays, own: Parameters, given: Batch, dropout: float, key: Any) -> Any:
    """The logit of each triple of a batch. `key`: of the dropout; None = none."""
    count, length, _ = given.words.shape

    def dropped(values: Any, place: int) -> Any:
        if key is None:
            return values
        kept = jax.random.bernoulli(jax.random.fold_in(key, place), 1 - dropout, values.shape)
        return jnp.where(kept, values / (1 - dropout), 0.0)

    def dense(rows: Any, layer: int, name: str) -> Any:
        full = f"L.{layer}.{name}"
        matrix = judge[f"{full}_w"] + own[f"{full}_outer"] @ own[f"{full}_inner"]
        return rows @ matrix.T + own[f"{full}_b"]

    def normed(rows: Any, weight: Any, bias: Any) -> Any:
        centred = rows - rows.mean(-1, keepdims=True)
        spread = (centred * centred).mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(spread + EPSILON) * weight + bias

    x = normed(given.words + judge["pos"][:length], judge["ew"], judge["eb"])
    hidden = jnp.where(given.seen, 0.0, -1e9)[:, None, None, :]
    x = x.reshape(count * length, HIDDEN)
    for layer in range(LAYERS):
        heads = dense(x, layer, "qkv").reshape(count, length, 3, HEADS, HIDDEN // HEADS)
        query, key_rows, value = heads.transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("bhqd,bhkd->bhqk", query, key_rows) / np.sqrt(HIDDEN // HEADS)
        mixed = jnp.einsum("bhqk,bhkd->bqhd", jax.nn.softmax(scores + hidden, -1), value)
        attended = dense(mixed.reshape(x.shape), layer, "wo")
        norms = [[own[f"L.{layer}.{name}_{part}"] for part in ("w", "b")] for name in NORMS]
        x = normed(x + dropped(attended, 2 * layer), *norms[0])
        inner = jax.nn.gelu(dense(x, layer, "w1"), approximate=False)
        x = normed(x + dropped(dense(inner, layer, "w2"), 2 * layer + 1), *norms[1])
    x = x.reshape(count, length, HIDDEN)

    def mean(part: int) -> Any:
        kept = (given.parts == part)[..., None].astype(jnp.float32)
        return (x * kept).sum(1) / jnp.maximum(kept.sum(1), 1)

    older, newer = mean(_OLDER), mean(_NEWER)
    features = jnp.concatenate([x[:, 0], older * newer, jnp.abs(older - newer)], 1)
    return dropped(features, 2 * LAYERS) @ own["head.weight"] + own["head.bias"]
