"""The file of an adapter: made of trained arrays, 8 bits a factor.

    python benches/train/adapter_file.py ADAPTER.npz --out python/vestig/data/judge_adapter.bin

ADAPTER.npz holds the arrays that `train_judge_adapter.py` or `train_version_reader.py` writes. The
file has, layer by layer, of what is added to query, key and value together, to the output, up and
down: 8-bit codes of the inner factor (rank × inputs) with a float32 factor for each row, and of the
outer factor of each matrix (outputs × rank) with one for each output; then the biases of all six
matrices, and weight and bias of both norms; behind all layers weight and bias of the head. What has
no codes is float32, all little-endian. Prints the SHA-256, which the model's file in `rerankers/`
pins.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from layers_file import LAYERS, Arrays, converted, finite, quantised
from numpy.typing import NDArray

RANK: Final = 16
# outputs and inputs of the matrices that share an inner factor, and how many these are
MATRICES: Final = {
    "qkv": (1152, 384, 3),
    "wo": (384, 384, 1),
    "w1": (1536, 384, 1),
    "w2": (384, 1536, 1),
}
NORMS: Final = ("n1", "n2")
FEATURES: Final = 3 * 384


def adapter_file(adapter: Arrays) -> bytes:
    """The bytes of the file; a function of the arrays.

    Raises:
        ValueError: an array is missing, of another shape, or not finite.
    """
    parts = []
    for layer in range(LAYERS):
        own = f"L.{layer}"
        for name, (outputs, inputs, count) in MATRICES.items():
            parts += quantised(finite(adapter, f"{own}.{name}_inner", (RANK, inputs)))
            outer = finite(adapter, f"{own}.{name}_outer", (outputs, RANK))
            for matrix in outer.reshape(count, -1, RANK):
                parts += quantised(matrix)
        for name, (outputs, _, _) in MATRICES.items():
            parts.append(finite(adapter, f"{own}.{name}_b", (outputs,)))
        for name in NORMS:
            parts += [finite(adapter, f"{own}.{name}_{part}", (384,)) for part in ("w", "b")]
    heads = len(adapter.get("head.bias", ()))
    parts += [
        finite(adapter, "head.weight", (heads, FEATURES)),
        finite(adapter, "head.bias", (heads,)),
    ]
    return b"".join(part.tobytes() for part in parts)


def adapter_arrays(content: bytes) -> dict[str, NDArray[np.float32]]:
    """The arrays of a file, its factors as they were rounded: the inverse of `adapter_file`.

    Raises:
        ValueError: the file is shorter than the layers, or ends within an output of the head.
    """
    place = 0

    def taken(shape: tuple[int, ...], kind: str = "<f4") -> NDArray[Any]:
        nonlocal place
        found = np.frombuffer(content, kind, math.prod(shape), place).reshape(shape)
        place += found.nbytes
        return found

    def matrix(rows: int, columns: int) -> NDArray[Any]:
        codes = taken((rows, columns), "i1").astype(np.float32)
        return codes * taken((rows,))[:, None]

    found = dict[str, NDArray[np.float32]]()
    for layer in range(LAYERS):
        own = f"L.{layer}"
        for name, (outputs, inputs, count) in MATRICES.items():
            found[f"{own}.{name}_inner"] = matrix(RANK, inputs)
            outer = [matrix(outputs // count, RANK) for _ in range(count)]
            found[f"{own}.{name}_outer"] = np.concatenate(outer)
        for name, (outputs, _, _) in MATRICES.items():
            found[f"{own}.{name}_b"] = taken((outputs,))
        for name in NORMS:
            found |= {f"{own}.{name}_{part}": taken((384,)) for part in ("w", "b")}
    heads, rest = divmod(len(content) - place, 4 * (FEATURES + 1))
    if heads < 1 or rest:
        raise ValueError(f"expected the head of an adapter behind byte {place} of {len(content)}")
    return found | {"head.weight": taken((heads, FEATURES)), "head.bias": taken((heads,))}


if __name__ == "__main__":
    converted(adapter_file, __doc__)
