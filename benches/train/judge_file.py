"""The file of the layers of all cross-encoders: made of a float one, 8 bits a weight.

    python benches/train/judge_file.py JUDGE.npz … --out python/vestig/data/cross_encoder_layers.bin

JUDGE.npz hold the arrays of the recipe in README.md, all together. The file has
the layers as `layers_file.py` writes them, then weight and bias of the norm of the embeddings, the
rows of both token types, of the first 256 positions 8-bit codes and a factor each, and weight and
bias of the head; what has no codes is float32, all little-endian. Prints the SHA-256, which
`rerankers/cross_encoder.py` pins.
"""

from __future__ import annotations

from typing import Any, Final

from layers_file import LAYERS, MATRICES, NORMS, Arrays, converted, finite, layers_file, quantised
from numpy.typing import NDArray

POSITIONS: Final = 256
# of the matrices behind query, key and value, and of the norms, in the order of `layers_file`
_MATRICES: Final = ("wo", "w1", "w2")
_NORMS: Final = ("n1", "n2")


def layers_of(judge: Arrays) -> dict[str, NDArray[Any]]:
    """The judge's layers under the names that `layers_file` reads.

    Raises:
        ValueError: a matrix or bias of query, key and value is missing or of another shape.
    """
    found = dict[str, NDArray[Any]]()
    dense = list(MATRICES)
    for layer in range(LAYERS):
        own, name = f"L.{layer}", f"encoder.layer.{layer}"
        for short, part, shape in (("w", "weight", (1152, 384)), ("b", "bias", (1152,))):
            thirds = finite(judge, f"{own}.qkv_{short}", shape).reshape(3, 384, *shape[1:])
            for which, values in zip(dense[:3], thirds, strict=True):
                found[f"{name}.{which}.{part}"] = values
            names = [*zip(_MATRICES, dense[3:], strict=True), *zip(_NORMS, NORMS, strict=True)]
            for given, which in names:
                if f"{own}.{given}_{short}" in judge:
                    found[f"{name}.{which}.{part}"] = judge[f"{own}.{given}_{short}"]
    return found


def judge_file(judge: Arrays) -> bytes:
    """The bytes of the file; a function of the arrays.

    Raises:
        ValueError: an array is missing, of another shape, or not finite.
    """
    norm = [finite(judge, name, (384,)) for name in ("ew", "eb")]
    types = finite(judge, "seg", (2, 384))
    positions = quantised(finite(judge, "pos", (320, 384))[:POSITIONS])
    head = [finite(judge, "head.weight", (2, 1152)), finite(judge, "head.bias", (2,))]
    parts = [*norm, types, *positions, *head]
    return layers_file(layers_of(judge)) + b"".join(part.tobytes() for part in parts)


if __name__ == "__main__":
    converted(judge_file, __doc__)
