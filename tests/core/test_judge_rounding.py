"""The judge in 8 bits beside its weights before they were rounded, over labelled records."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forward import erf

from model_reference import DENSE, adapter, initialisers
from vestig import _core
from vestig.embedders import builtin
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.rerankers import judge

Arrays: TypeAlias = dict[str, NDArray[Any]]
QUESTIONS = 3  # a store
# By how much the first one leads.
CLEAR = 0.25
CANDIDATES = 8


@pytest.fixture(scope="module")
def weights(labelled_data: Path) -> Arrays:
    """The judge's arrays in float32: the layers before they were rounded, and its adapter."""
    found = Arrays()
    for number in (0, 1):
        file = labelled_data.parent / "model" / "judge" / f"judge.{number}.npz"
        if not file.exists():
            pytest.skip("no float weights of the judge stand beside the labelled data sets")
        with np.load(file) as held:
            found |= {name: held[name].astype(np.float32) for name in held.files}
    words = "inner.embeddings.word_embeddings.weight"
    for layer in range(6):
        add(found, layer)
    added = adapter(judge.QUESTIONS.file, outputs=2)
    found |= {name: added[name] for name in ("head.weight", "head.bias")}
    found["words"] = initialisers()[f"{words}_q"] * initialisers()[f"{words}_scale"]
    return found


def add(found: Arrays, layer: int) -> None:
    """Adds the adapter of a layer, whose matrices of query, key and value are one array."""
    added, place, own = (
        adapter(judge.QUESTIONS.file, outputs=2),
        f"inner.encoder.layer.{layer}",
        f"L.{layer}",
    )
    for name, parts in (
        ("qkv", DENSE[:3]),
        ("wo", DENSE[3:4]),
        ("w1", DENSE[4:5]),
        ("w2", DENSE[5:]),
    ):
        products = [
            added[f"{place}.{part}.outer"] @ added[f"{place}.{part}.inner"] for part in parts
        ]
        found[f"{own}.{name}_w"] = found[f"{own}.{name}_w"] + np.concatenate(products)
        found[f"{own}.{name}_b"] = np.concatenate([added[f"{place}.{part}.bias"] for part in parts])
    for name, norm in (("n1", "attention.output.LayerNorm"), ("n2", "output.LayerNorm")):
        for short, part in (("w", "weight"), ("b", "bias")):
            found[f"{own}.{name}_{short}"] = added[f"{place}.{norm}.{part}"]


def normed(rows: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any]) -> NDArray[Any]:
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt(rows.var(-1, keepdims=True) + 1e-12) * weight + bias


def logits(weights: Arrays, ids: list[int], memory_from: int) -> NDArray[Any]:
    """Both logits of a pair, as BERT is defined."""
    count = len(ids)
    types = (np.arange(count) >= memory_from).astype(int)
    x = weights["words"][ids] + weights["pos"][:count] + weights["seg"][types]
    x = normed(x, weights["ew"], weights["eb"])
    for layer in range(6):

        def of(name: str, layer: int = layer) -> NDArray[Any]:
            return weights[f"L.{layer}.{name}"]

        def dense(rows: NDArray[Any], name: str, layer: int = layer) -> NDArray[Any]:
            return rows @ of(f"{name}_w", layer).T + of(f"{name}_b", layer)

        queries, keys, values = dense(x, "qkv").reshape(count, 3, 12, 32).transpose(1, 2, 0, 3)
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(32)
        power = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = power / power.sum(-1, keepdims=True) @ values
        attended = mixed.transpose(1, 0, 2).reshape(count, 384)
        x = normed(x + dense(attended, "wo"), of("n1_w"), of("n1_b"))
        inner = dense(x, "w1")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = normed(x + dense(inner, "w2"), of("n2_w"), of("n2_b"))
    question, memory = x[1 : memory_from - 1].mean(0), x[memory_from:-1].mean(0)
    features = np.concatenate([x[0], question * memory, np.abs(question - memory)])
    found: NDArray[Any] = weights["head.weight"] @ features + weights["head.bias"]
    return found


def pairs_of(world: Path) -> list[list[tuple[list[int], int]]]:
    """For some questions of a store the pairs with the records that are nearest by cosine."""
    embedder, pieces = BuiltinEmbedder(), builtin._vocabulary()

    def lines(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (world / name).read_text("utf-8").splitlines()]

    records = lines("corpus.jsonl")
    vectors = np.frombuffer(b"".join(embedder.embed([one["text"] for one in records])), "<f4")
    queries = lines("queries.jsonl")
    found = []
    for query in queries[:: len(queries) // QUESTIONS][:QUESTIONS]:
        (vector,) = embedder.embed([query["text"]])
        likeness = vectors.reshape(-1, 384) @ np.frombuffer(vector, "<f4")
        best = np.argsort(-likeness, kind="stable")[:CANDIDATES]
        texts = [
            ("", "", records[place].get("speaker", ""), records[place]["text"]) for place in best
        ]
        found.append(_core.testing.judge_pairs(pieces, query["text"], texts))
    return found


@pytest.mark.slow
def test_rounding_leaves_the_first_place_and_moves_logits_little(
    labelled_data: Path, weights: Arrays
) -> None:
    """Measured over 8 candidates of each of 80 questions: the first place is equal in 97.5 % of
    them, and in all where it leads by 0.25; a logit moves by 0.07 on average."""
    level, rounded, words = (
        _core.testing.levels()[0],
        judge.QUESTIONS.packed(),
        builtin.packed(),
    )
    same, clear, moved = [], [], []
    for world in sorted((labelled_data / "worlds_dev").iterdir()):
        for pairs in pairs_of(world):
            found = np.array(_core.testing.judge_with(level, rounded, words, pairs, 1))
            exact = np.array([logits(weights, *pair) for pair in pairs])
            same.append(found[:, 1].argmax() == exact[:, 1].argmax())
            second, first = np.sort(exact[:, 1])[-2:]
            if first - second >= CLEAR:
                clear.append(same[-1])
            moved.append(np.abs(found - exact))
    assert len(clear) >= 2 / 3 * len(same)
    assert all(clear)
    assert np.mean(same) >= 0.9
    assert np.mean(moved) < 0.1
    assert np.max(moved) < 0.6
