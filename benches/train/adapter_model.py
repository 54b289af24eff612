"""A cross-encoder in JAX: the layers of all of them with an adapter of low rank, over two texts
together, and a head."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from adapter_file import FEATURES, MATRICES, NORMS, RANK
from adapter_input import Text
from layers_file import LAYERS, Arrays
from numpy.typing import NDArray
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
_LENGTHS: Final = (40, 52, 64, 80, 104, 128, 152)


class Batch(NamedTuple):
    """Texts padded to one length: word pieces, their token types, which of them are read, and which
    belong to each of the two parts."""

    ids: NDArray[np.int32]
    types: NDArray[np.int32]
    seen: NDArray[np.bool_]
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]


def layers_arrays() -> Arrays:
    """The layers as their file has them, in float32: of each layer `qkv`, `wo`, `w1` and `w2`,
    outputs × inputs, with biases and both norms, the embeddings with the word vectors, and a head
    of two outputs."""
    given = model_reference.cross_encoder_layers()
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
    found |= {name: given[name] for name in ("head.weight", "head.bias")}
    return {name: values.astype(np.float32) for name, values in found.items()}


def start(layers: Arrays, outputs: int, seed: int) -> Parameters:
    """The parameters before the training: an adapter that adds nothing, and of two outputs the head
    of the layers, of another number one by chance."""
    draw = np.random.default_rng(seed)
    found: dict[str, NDArray[Any]] = {}
    for layer in range(LAYERS):
        own = f"L.{layer}"
        for name, (columns, inputs, _) in MATRICES.items():
            found[f"{own}.{name}_inner"] = draw.normal(0, inputs**-0.5, (RANK, inputs))
            found[f"{own}.{name}_outer"] = np.zeros((columns, RANK))
            found[f"{own}.{name}_b"] = layers[f"{own}.{name}_b"]
        for name in NORMS:
            for part in ("w", "b"):
                found[f"{own}.{name}_{part}"] = layers[f"{own}.{name}_{part}"]
    if outputs == len(layers["head.bias"]):
        found |= {name: layers[name] for name in ("head.weight", "head.bias")}
    else:
        found["head.weight"] = draw.normal(0, _HEAD_DEVIATION, (outputs, FEATURES))
        found["head.bias"] = np.zeros(outputs)
    return {name: jnp.asarray(values, jnp.float32) for name, values in found.items()}


def batch(texts: Sequence[Text], rows: int, unseen: float, draw: np.random.Generator) -> Batch:
    """Texts of one batch of so many rows, the last of which may be empty; a share of the pieces,
    never the marks, is not read."""
    longest = max((len(one.pieces) for one in texts), default=0)
    length = next(length for length in _LENGTHS if length >= longest)
    ids = np.zeros((rows, length), np.int32)
    types, seen, first, second = (np.zeros(ids.shape, bool) for _ in range(4))
    # a row without any piece would have no attention
    seen[:, 0] = True
    for row, one in enumerate(texts):
        end = len(one.pieces)
        ids[row, :end] = one.pieces
        types[row, one.types_from : end] = True
        seen[row, :end] = True
        first[row, one.first] = True
        second[row, one.second] = True
    seen &= (draw.random(ids.shape) >= unseen) | np.isin(ids, (0, *MARKS))
    return Batch(ids, types.astype(np.int32), seen, first & seen, second & seen)


def logits(layers: Arrays, own: Parameters, given: Batch, dropout: float, key: Any) -> Any:
    """The outputs of each text of a batch, rows × outputs. `key`: of the dropout; None = none."""
    count, length = given.ids.shape

    def dropped(values: Any, place: int) -> Any:
        if key is None or not dropout:
            return values
        kept = jax.random.bernoulli(jax.random.fold_in(key, place), 1 - dropout, values.shape)
        return jnp.where(kept, values / (1 - dropout), 0.0)

    def dense(rows: Any, layer: int, name: str) -> Any:
        full = f"L.{layer}.{name}"
        added = (rows @ own[f"{full}_inner"].T) @ own[f"{full}_outer"].T
        return rows @ layers[f"{full}_w"].T + added + own[f"{full}_b"]

    def normed(rows: Any, weight: Any, bias: Any) -> Any:
        centred = rows - rows.mean(-1, keepdims=True)
        spread = (centred * centred).mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(spread + EPSILON) * weight + bias

    x = jnp.asarray(layers["words"])[given.ids] + jnp.asarray(layers["seg"])[given.types]
    x = normed(x + layers["pos"][:length], layers["ew"], layers["eb"])
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

    def mean(part: Any) -> Any:
        kept = part[..., None].astype(jnp.float32)
        return (x * kept).sum(1) / jnp.maximum(kept.sum(1), 1)

    one, other = mean(given.first), mean(given.second)
    features = jnp.concatenate([x[:, 0], one * other, jnp.abs(one - other)], 1)
    return dropped(features, 2 * LAYERS) @ own["head.weight"].T + own["head.bias"]
