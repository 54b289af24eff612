"""The file of the layers of the built-in embedder: made of float layers, 8 bits a weight.

It is an ONNX file of initialisers alone, so that the core reads it as it reads the one of the
embeddings, and any ONNX library lists its arrays:

| name | values |
|---|---|
| `encoder.layer.N.X.weight` | int8, inputs × outputs |
| `encoder.layer.N.X.weight_scale` | float32, a factor for each output |
| `encoder.layer.N.X.bias` | float32 |
| `encoder.layer.N.Y.weight`, `.bias` | float32 of a layer norm |
| `embeddings_sha256` | int8, 32: of the ONNX file whose embeddings and first norm belong to them |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

LAYERS: Final = 6
MATRICES: Final = {
    "attention.self.query": (384, 384),
    "attention.self.key": (384, 384),
    "attention.self.value": (384, 384),
    "attention.output.dense": (384, 384),
    "intermediate.dense": (384, 1536),
    "output.dense": (1536, 384),
}
NORMS: Final = ("attention.output.LayerNorm", "output.LayerNorm")
# Numbers that the ONNX format gives to types of elements.
_TYPES: Final = {"float32": 1, "int8": 3}


def parameters() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names of the float parameters of the layers, with their shapes as PyTorch has them: of a
    matrix outputs × inputs."""
    for layer in range(LAYERS):
        for name, (inputs, outputs) in MATRICES.items():
            yield f"encoder.layer.{layer}.{name}.weight", (outputs, inputs)
            yield f"encoder.layer.{layer}.{name}.bias", (outputs,)
        for name in NORMS:
            yield f"encoder.layer.{layer}.{name}.weight", (384,)
            yield f"encoder.layer.{layer}.{name}.bias", (384,)


def quantised(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Values from −127 to 127 of a matrix outputs × inputs, and the factor of each output: its
    largest weight is 127 of them. An output of zeros has the factor 0.

    Example:
        >>> quantised(np.array([[1.0, -0.5], [0.0, 0.0]]))[0].tolist()
        [[127, -64], [0, 0]]
    """
    wide = matrix.astype(np.float64)
    scales = (np.abs(wide).max(1) / 127).astype(np.float32)
    steps = np.where(scales > 0, scales, 1).astype(np.float64)
    return np.rint(wide / steps[:, None]).clip(-127, 127).astype(np.int8), scales


def restored(layers: Arrays) -> dict[str, NDArray[np.float32]]:
    """The layers as the core computes with them: matrices in 8 bits, back in float32."""
    found = {}
    for name, shape in parameters():
        values = layers[name].astype(np.float32)
        if len(shape) == 2:
            codes, scales = quantised(values)
            values = codes.astype(np.float32) * scales[:, None]
        found[name] = values
    return found


def layers_file(layers: Arrays, embeddings_sha256: str) -> bytes:
    """The bytes of the file; a function of the arguments.

    Raises:
        ValueError: a parameter is missing, of another shape, or not finite.
    """
    tensors = [("embeddings_sha256", np.frombuffer(bytes.fromhex(embeddings_sha256), np.int8))]
    for name, shape in parameters():
        values = layers.get(name)
        if values is None or values.shape != shape or not np.isfinite(values).all():
            got = "nothing" if values is None else f"an array of shape {values.shape}"
            raise ValueError(f"{name}: expected finite numbers of shape {shape}, got {got}")
        if len(shape) == 2:
            codes, scales = quantised(values)
            tensors += [(name, codes.T), (f"{name}_scale", scales)]
        else:
            tensors.append((name, values.astype("<f4")))
    graph = _field(2, b"vestig-minilm-1")
    graph += b"".join(_field(5, _tensor(name, values)) for name, values in tensors)
    # version 8 of the format; operators of version 17, of which none is used
    operators = _field(8, _number(2, 17))
    return _number(1, 8) + _field(7, graph) + operators


def _tensor(name: str, values: NDArray[Any]) -> bytes:
    shape = b"".join(_number(1, axis) for axis in values.shape)
    kind = _number(2, _TYPES[values.dtype.name])
    return shape + kind + _field(8, name.encode()) + _field(9, values.tobytes())


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
