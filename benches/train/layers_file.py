"""Writes the six layers of the built-in embedder as the package holds them, from float weights.

    python benches/train/layers_file.py LAYERS.npz … --out python/vestig/data/minilm_layers.bin

LAYERS.npz hold arrays named as in Hugging Face's BERT, all layers together. Layer by layer the
file has, of each of the six matrices, 8-bit codes (inputs x outputs), a float32 scale and a float32
bias for every output, then weight and bias of both norms, all little-endian. A code times its output's scale is the weight: the scale is the largest absolute weight
of the output / 127. Prints the SHA-256, which `embedders/builtin.py` pins.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LAYERS = 6
MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")

Array = NDArray[Any]


def quantised(weight: Array) -> tuple[Array, Array]:
    """Codes (inputs x outputs) and scales of a matrix (outputs x inputs).

    Example:
        >>> codes, scales = quantised(np.array([[0.5, -1.27], [0.0, 0.0]], np.float32))
        >>> codes.tolist(), scales.round(4).tolist()
        ([[50, 0], [-127, 0]], [0.01, 0.0])
    """
    largest = np.abs(weight).max(1)
    scales = (largest / 127).astype("<f4")
    safe = np.where(scales > 0, scales, 1)
    codes = np.clip(np.round(weight / safe[:, None]), -127, 127).astype(np.int8)
    return np.ascontiguousarray(codes.T), scales


def layers_bytes(weights: Mapping[str, Array]) -> bytes:
    """The content of the file.

    Raises:
        KeyError: an array is missing.
    """
    parts = list[Array]()
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        for name in MATRICES:
            codes, scales = quantised(weights[f"{prefix}.{name}.weight"].astype(np.float32))
            bias = weights[f"{prefix}.{name}.bias"].astype("<f4")
            parts += [codes, scales, bias]
        for name in NORMS:
            parts += [
                weights[f"{prefix}.{name}.{part}"].astype("<f4") for part in ("weight", "bias")
            ]
    return b"".join(part.tobytes() for part in parts)


def main() -> None:
    """Reads the files, writes one and prints its hash."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    weights = dict[str, Array]()
    for file in given.files:
        with np.load(file) as held:
            weights.update({name: held[name] for name in held.files})
    content = layers_bytes(weights)
    given.out.write_bytes(content)
    sys.stdout.write(f"{hashlib.sha256(content).hexdigest()}  {len(content)} bytes\n")


if __name__ == "__main__":
    main()
