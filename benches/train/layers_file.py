"""The file of the layers of the built-in embedder: made of float layers, 8 bits a weight.

    python benches/train/layers_file.py LAYERS.npz … --out python/vestig/data/minilm_layers.bin

LAYERS.npz hold arrays named as in Hugging Face's BERT, all layers together. Layer by layer the
file has, of each of the six matrices, 8-bit codes (inputs x outputs), a float32 factor and a
float32 bias for every output, then weight and bias of both norms, all little-endian. Prints the
SHA-256, which `embedders/builtin.py` pins.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
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


def parameters() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names of the float parameters of the layers in the order of the file, with their shapes as
    PyTorch has them: of a matrix outputs × inputs."""
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
        >>> quantised(np.array([[1.0, -0.5], [0.0, 0.0]], np.float32))[0].tolist()
        [[127, -64], [0, 0]]
    """
    scales = (np.abs(matrix).max(1) / 127).astype("<f4")
    steps = np.where(scales > 0, scales, 1)
    return np.clip(np.round(matrix / steps[:, None]), -127, 127).astype(np.int8), scales


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


def finite(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The array of this name in float32.

    Raises:
        ValueError: it is missing, of another shape, or not finite.
    """
    values = arrays.get(name)
    if values is None or values.shape != shape or not np.isfinite(values).all():
        got = "nothing" if values is None else f"an array of shape {values.shape}"
        raise ValueError(f"{name}: expected finite numbers of shape {shape}, got {got}")
    return values.astype("<f4")


def layers_file(layers: Arrays) -> bytes:
    """The bytes of the file; a function of the layers.

    Raises:
        ValueError: a parameter is missing, of another shape, or not finite.
    """
    parts = list[NDArray[Any]]()
    for name, shape in parameters():
        values = finite(layers, name, shape)
        if len(shape) == 2:
            codes, scales = quantised(values)
            parts += [codes.T, scales]
        else:
            parts.append(values)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def converted(made: Callable[[Arrays], bytes], about: str | None) -> None:
    """Reads the arrays that the command line names, writes the file and prints its hash."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    weights = dict[str, NDArray[Any]]()
    for file in given.files:
        with np.load(file) as held:
            weights.update({name: held[name] for name in held.files})
    content = made(weights)
    given.out.write_bytes(content)
    sys.stdout.write(f"{hashlib.sha256(content).hexdigest()}  {len(content)} bytes\n")


if __name__ == "__main__":
    converted(layers_file, __doc__)
