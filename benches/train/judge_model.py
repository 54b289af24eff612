"""The judge in PyTorch: the embedder's layers over a question and a memory together, and a head
that gives two logits, *answers* and *rank*."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from judge_input import Pair
from judge_recipe import HEAD, chance
from layers_file import LAYERS, MATRICES, NORMS, Arrays, parameters
from minilm import EPSILON, HIDDEN, Parameters, inner_pieces, layer
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

sys.path.append(str(Path(__file__).parents[2] / "tests"))
import model_reference

# Rows of positions that the file of weights has.
POSITIONS: Final = 320
LOGITS: Final = 2
_PARTS: Final = 3 * HIDDEN
_HEAD_DEVIATION: Final = 0.02
_EMBEDDINGS: Final = {
    "pos": "embeddings.position_embeddings.weight",
    "seg": "embeddings.token_type_embeddings.weight",
    "ew": "embeddings.LayerNorm.weight",
    "eb": "embeddings.LayerNorm.bias",
}


def embedder_arrays() -> Arrays:
    """The built-in embedder in float32, named as in Hugging Face's BERT: what its two files hold,
    8 bits a weight."""
    given, coded = model_reference.initialisers(), model_reference.layers()
    inner = "inner.embeddings"
    found: dict[str, NDArray[Any]] = {
        name.removeprefix("inner."): given[name]
        for name in given
        if name.startswith(f"{inner}.LayerNorm") or name.startswith(f"{inner}.token_type")
    }
    for name in ("word_embeddings.weight", "position_embeddings.weight"):
        codes, scales = given[f"{inner}.{name}_q"], given[f"{inner}.{name}_scale"]
        found[f"embeddings.{name}"] = codes.astype(np.float32) * scales
    for name, shape in parameters():
        own = f"inner.{name}"
        if len(shape) == 2:
            matrix = own.removesuffix(".weight")
            scaled = coded[f"{matrix}.codes"].astype(np.float32) * coded[f"{matrix}.scales"]
            found[name] = scaled.T
        else:
            found[name] = coded[own]
    return found


def kept_layers(count: int) -> list[int]:
    """Numbers of the embedder's layers that a judge of so many begins with, the last among them.

    Example:
        >>> kept_layers(3)
        [1, 3, 5]
    """
    return [(number + 1) * LAYERS // count - 1 for number in range(count)]


class Judge:
    """The word vectors, which stay, on a device; the parameters are given to every call.

    Args:
        arrays: the embedder, as `embedder_arrays` has it.
        layers: how many the judge has.
    """

    def __init__(self, arrays: Arrays, layers: int, device: str) -> None:
        self.device = device
        self._arrays = arrays
        self._kept = kept_layers(layers)
        self._words = self._tensor(arrays["embeddings.word_embeddings.weight"])

    def start(self, seed: int) -> Parameters:
        """The parameters before the training: those of the embedder, and a head by chance."""
        found = {name: self._arrays[name] for name in _EMBEDDINGS.values()}
        found[_EMBEDDINGS["pos"]] = found[_EMBEDDINGS["pos"]][:POSITIONS]
        for number, kept in enumerate(self._kept):
            own = f"encoder.layer.{kept}."
            for name, _ in parameters():
                if name.startswith(own):
                    found[f"encoder.layer.{number}.{name.removeprefix(own)}"] = self._arrays[name]
        drawn = chance(seed, HEAD, 0).normal(0, _HEAD_DEVIATION, (LOGITS, _PARTS))
        found |= {"head.weight": drawn, "head.bias": np.zeros(LOGITS)}
        return {name: self._tensor(values) for name, values in found.items()}

    def logits(self, own: Parameters, pairs: Sequence[Pair], dropout: float = 0) -> Tensor:
        """*answers* and *rank* of each pair. On a GPU the layers compute in bfloat16."""
        ids, kinds, seen = self._padded(pairs)
        x = self._words[ids] + own[_EMBEDDINGS["pos"]][: ids.shape[1]]
        x = x + own[_EMBEDDINGS["seg"]][kinds]
        x = functional.layer_norm(
            x, (HIDDEN,), own[_EMBEDDINGS["ew"]], own[_EMBEDDINGS["eb"]], EPSILON
        )
        x = functional.dropout(x, dropout, training=dropout > 0)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.startswith("cuda")):
            for number in range(len(self._kept)):
                x = layer(own, f"encoder.layer.{number}", x, seen, dropout)
        x = x.float()
        inner = inner_pieces(ids, seen)
        question, memory = (_mean(x, inner & (kinds == kind)) for kind in (0, 1))
        joined = torch.cat([x[:, 0], question * memory, (question - memory).abs()], 1)
        joined = functional.dropout(joined, dropout, training=dropout > 0)
        return functional.linear(joined, own["head.weight"], own["head.bias"])

    def _padded(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        """Of pairs × the longest of them word pieces, token kinds, and which are no padding."""
        longest = max(len(one.pieces) for one in pairs)
        ids = np.zeros((len(pairs), longest), np.int64)
        kinds, seen = np.zeros_like(ids), np.zeros(ids.shape, bool)
        for row, one in enumerate(pairs):
            ids[row, : len(one.pieces)] = one.pieces
            kinds[row, one.first : len(one.pieces)] = 1
            seen[row, : len(one.pieces)] = True
        return tuple(torch.from_numpy(made).to(self.device) for made in (ids, kinds, seen))

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        return torch.tensor(values.astype(np.float32), device=self.device)


def _mean(states: Tensor, kept: Tensor) -> Tensor:
    """The mean of the kept states of each row; zeros where none is."""
    weights = kept[:, :, None].float()
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def weights_of(own: Parameters, layers: int) -> dict[str, NDArray[np.float32]]:
    """The parameters under the names that `judge_file.py` reads: of each layer the matrices of
    query, key and value one below the other, then the others; outputs × inputs."""
    arrays = {name: values.detach().cpu().numpy() for name, values in own.items()}
    found = {short: arrays[name] for short, name in _EMBEDDINGS.items()}
    matrices, names = list(MATRICES), ("wo", "w1", "w2")
    for number in range(layers):
        place, short = f"encoder.layer.{number}", f"L.{number}"
        for part, tail in (("weight", "w"), ("bias", "b")):
            heads = [arrays[f"{place}.{name}.{part}"] for name in matrices[:3]]
            found[f"{short}.qkv_{tail}"] = np.concatenate(heads)
            for name, matrix in zip(names, matrices[3:], strict=True):
                found[f"{short}.{name}_{tail}"] = arrays[f"{place}.{matrix}.{part}"]
            for name, norm in zip(("n1", "n2"), NORMS, strict=True):
                found[f"{short}.{name}_{tail}"] = arrays[f"{place}.{norm}.{part}"]
    return found | {name: arrays[name] for name in ("head.weight", "head.bias")}
