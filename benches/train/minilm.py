"""all-MiniLM-L6-v2 in PyTorch: embeddings that stay, six layers that learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from layers_file import LAYERS, Arrays, parameters
from torch import Tensor
from torch.nn import functional
from worlds import MARKS, Pieces

Parameters: TypeAlias = dict[str, Tensor]

HIDDEN: Final = 384
HEADS: Final = 12
EPSILON: Final = 1e-12
# Word pieces whose states late interaction compares, the marks of ends left out.
_STATES: Final = 160
_TOGETHER: Final = 128


class Model:
    """The embeddings on a device; the layers are given to every call."""

    def __init__(self, arrays: Arrays, device: str) -> None:
        def tensor(name: str) -> Tensor:
            return torch.tensor(arrays[f"embeddings.{name}"].astype(np.float32), device=device)

        self.device = device
        self._words = tensor("word_embeddings.weight")
        self._positions = tensor("position_embeddings.weight")
        self._type = tensor("token_type_embeddings.weight")[0]
        self._norm = tensor("LayerNorm.weight"), tensor("LayerNorm.bias")

    def layers(self, arrays: Arrays) -> Parameters:
        """Parameters of the layers on the device."""
        return {
            name: torch.tensor(arrays[name].astype(np.float32), device=self.device)
            for name, _ in parameters()
        }

    def states(self, layers: Parameters, ids: Tensor, seen: Tensor, dropout: float = 0) -> Tensor:
        """Last hidden states of texts × pieces. Pieces that are not `seen` are padding, or hidden
        from attention."""
        x = self._words[ids] + self._positions[: ids.shape[1]] + self._type
        x = functional.layer_norm(x, (HIDDEN,), *self._norm, EPSILON)
        x = functional.dropout(x, dropout, training=dropout > 0)
        for number in range(LAYERS):
            x = layer(layers, f"encoder.layer.{number}", x, seen, dropout)
        return x

    def padded(self, texts: Sequence[Pieces], most: int) -> tuple[Tensor, Tensor]:
        """Word pieces of texts × the longest of them, and which are no padding; of a longer text
        the first and its last mark."""
        cut = [text if len(text) <= most else [*text[: most - 1], text[-1]] for text in texts]
        ids = torch.zeros(len(cut), max(map(len, cut)), dtype=torch.long)
        seen = torch.zeros(ids.shape, dtype=torch.bool)
        for row, text in enumerate(cut):
            ids[row, : len(text)] = torch.tensor(text)
            seen[row, : len(text)] = True
        return ids.to(self.device), seen.to(self.device)

    @torch.no_grad()
    def embedded(self, layers: Parameters, texts: Sequence[Pieces]) -> tuple[Tensor, list[Tensor]]:
        """The vector of each text, and the states of its pieces without the marks of its ends."""
        vectors = torch.zeros(len(texts), HIDDEN, device=self.device)
        states = [torch.zeros(0, HIDDEN, device=self.device)] * len(texts)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for first in range(0, len(order), _TOGETHER):
            part = order[first : first + _TOGETHER]
            ids, seen = self.padded([texts[number] for number in part], 256)
            rows = self.states(layers, ids, seen)
            vectors[part] = vectors_of(rows, seen)
            for row, number in enumerate(part):
                states[number] = rows[row, 1 : min(int(seen[row].sum()) - 1, _STATES)]
        return vectors, states


def layer(layers: Parameters, name: str, x: Tensor, seen: Tensor, dropout: float) -> Tensor:
    """States behind the layer of this name. Pieces that are not `seen` take no part in them."""

    def linear(part: str, rows: Tensor) -> Tensor:
        own = f"{name}.{part}"
        return functional.linear(rows, layers[f"{own}.weight"], layers[f"{own}.bias"])

    def norm(part: str, rows: Tensor) -> Tensor:
        own = f"{name}.{part}.LayerNorm"
        weight, bias = layers[f"{own}.weight"], layers[f"{own}.bias"]
        return functional.layer_norm(rows, (HIDDEN,), weight, bias, EPSILON)

    def heads(part: str) -> Tensor:
        rows = linear(f"attention.self.{part}", x)
        return rows.view(*rows.shape[:2], HEADS, HIDDEN // HEADS).transpose(1, 2)

    attended = functional.scaled_dot_product_attention(
        heads("query"), heads("key"), heads("value"), attn_mask=seen[:, None, None, :]
    )
    term = linear("attention.output.dense", attended.transpose(1, 2).reshape(x.shape))
    x = norm("attention.output", x + functional.dropout(term, dropout, training=dropout > 0))
    inner = functional.gelu(linear("intermediate.dense", x))
    term = linear("output.dense", inner)
    return norm("output", x + functional.dropout(term, dropout, training=dropout > 0))


def vectors_of(states: Tensor, seen: Tensor) -> Tensor:
    """Means of the states of seen pieces, of unit length."""
    kept = seen[:, :, None]
    return functional.normalize((states * kept).sum(1) / kept.sum(1), dim=-1)


def inner_pieces(ids: Tensor, seen: Tensor) -> Tensor:
    """Which pieces are seen and mark no end."""
    return seen & (ids != MARKS[0]) & (ids != MARKS[1])


def centred(states: Tensor, mean: Tensor) -> Tensor:
    """States of unit length less their mean, of unit length again."""
    return functional.normalize(functional.normalize(states, dim=-1) - mean, dim=-1)


def mean_state(model: Model, layers: Parameters, texts: Sequence[Pieces]) -> Tensor:
    """The mean of all states of the texts, each of unit length."""
    _, states = model.embedded(layers, texts)
    return functional.normalize(torch.cat(states), dim=-1).mean(0)


def mean_of(many: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of several sets of parameters."""
    return {name: sum(one[name] for one in many) / len(many) for name in many[0]}


def mixed(tuned: Mapping[str, Any], original: Mapping[str, Any], share: float) -> dict[str, Any]:
    """`share` of the tuned parameters and the rest of the original ones."""
    return {name: share * tuned[name] + (1 - share) * original[name] for name in tuned}


def flat(layers: Parameters) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Parameters as arrays."""
    for name, values in layers.items():
        yield name, values.detach().cpu().numpy()
