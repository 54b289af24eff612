"""The tools of the benches are right: texts as promised, metrics by hand."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from generator import embedded_text, questions, records, texts, vectors
from labelled import CachedEmbedder, score, summary
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.language.temporal import find_windows
from vestig.testing import HashingEmbedder

NOW_US = 1_773_835_200_000_000


def test_texts_are_distinct_short_and_without_time() -> None:
    made = records(3_000)
    contents = [record["content"] for record in made]
    assert len({content.lower() for content in contents}) == len(contents)
    assert {record.get("author") is None for record in made} == {True, False}
    embedder = BuiltinEmbedder()
    pieces = embedder._load_tokenizer()
    assert max(len(pieces.encode(embedded_text(record)).ids) for record in made) <= 200
    assert not any(find_windows(content, NOW_US, is_memory=True) for content in contents)


def test_a_seed_is_a_world() -> None:
    digest = hashlib.sha256("\n".join(texts(100)).encode()).hexdigest()
    assert digest == "cd379b018f7c6e6f14bcfaf1aa2ce868a74a19c5466f3c79e866cb9f18b190fa"
    assert texts(10, seed=1) != texts(10)
    assert texts(20)[:10] == texts(10)
    assert questions(5) == questions(5)


def test_vectors_have_unit_length_and_groups() -> None:
    plain, grouped = vectors(100, 384), vectors(100, 384, group=10)
    np.testing.assert_allclose(np.linalg.norm(plain, axis=1), 1.0, atol=1e-6)
    assert np.abs(np.triu(plain @ plain.T, 1)).max() < 0.4
    assert 0.7 < float(grouped[0] @ grouped[9]) < 0.9
    assert abs(float(grouped[0] @ grouped[10])) < 0.4


def test_metrics_by_hand() -> None:
    found = score(["x", "a", "y", "b"], ["a", "b", "c", "a"])
    assert found["R@10"] == found["R@5"] == pytest.approx(2 / 3)
    assert found["MRR"] == 0.5
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["NDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert score([], ["a"]) == {"R@10": 0.0, "R@5": 0.0, "MRR": 0.0, "NDCG@10": 0.0}
    assert summary([found, score([], ["a"])])["R@10"] == pytest.approx(100 / 3)


def test_cached_vectors_are_those_of_the_embedder(tmp_path: Path) -> None:
    inner = HashingEmbedder(8)
    first = CachedEmbedder(inner, tmp_path)
    wanted = HashingEmbedder(8).embed(["a", "b", "a"])
    assert first.embed(["a", "b", "a"]) == first.embed(["a", "b", "a"]) == wanted
    again = CachedEmbedder(inner, tmp_path)
    assert again.embed(["b", "a"]) == [wanted[1], wanted[0]]
    assert inner.call_count == 1
