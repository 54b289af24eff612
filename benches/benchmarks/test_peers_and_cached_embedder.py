"""The peers by hand, and the embedder with a cache."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench, queries, units
from benchmarks.rankings import PeerParameters, parameters_for, peer_rankings
from benchmarks.reader import read_benchmark
from benchmarks.run import (
    CachedEmbedder,
    CachedTokenEmbedder,
    cached_embedder,
)
from vestig.embedders.checked import CheckedTokenEmbedder, checked_embedder
from vestig.testing import HashingEmbedder, ScriptedEmbedder, TokenHashingEmbedder

TEXTS = {
    "a": "red apples and red pears",
    "b": "an apple a day",
    "c": "pears only",
    "d": "nothing of that kind at all",
}
QUESTION = "Red apples, red?"


def _corpus() -> list[dict[str, Any]]:
    return [{"id": id, "text": text, "conversation": "c"} for id, text in TEXTS.items()]


def _asked() -> list[dict[str, Any]]:
    return [{"id": "q", "text": QUESTION, "relevant": ["a"], "conversation": "c"}]


def _scripted() -> ScriptedEmbedder:
    import numpy as np

    script = {
        QUESTION: [1.0, 0.0],
        TEXTS["a"]: [0.0, 1.0],
        TEXTS["b"]: [0.6, 0.8],
        TEXTS["c"]: [1.0, 0.0],
        TEXTS["d"]: [0.8, 0.6],
    }
    return ScriptedEmbedder({t: np.array(v, "<f4").tobytes() for t, v in script.items()})


def _bm25(parameters: PeerParameters) -> dict[str, float]:
    """The definition, term by term: stems red, appl, pear; `a` is too short for a word."""
    stems = {
        "a": ["red", "appl", "and", "red", "pear"],
        "b": ["an", "appl", "day"],
        "c": ["pear", "onli"],
        "d": ["noth", "of", "that", "kind", "at", "all"],
    }
    mean = sum(map(len, stems.values())) / 4
    found = {}
    for id, words in stems.items():
        norm = parameters.k1 * (1 - parameters.b + parameters.b * len(words) / mean)
        total = 0.0
        for term, holders in (("red", 1), ("appl", 2)):
            often = words.count(term)
            idf = math.log(1 + (4 - holders + 0.5) / (holders + 0.5))
            total += idf * often * (parameters.k1 + 1) / (often + norm)
        found[id] = total
    return found


def _z(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    return [(v - mean) / spread for v in values]


@pytest.mark.parametrize("weight", [0.5, 1.0, 8.0])
def test_peers_are_as_defined(bench: Bench, weight: float) -> None:
    parameters = PeerParameters(hybrid_weight=weight)
    benchmark = read_benchmark(bench(_corpus(), _asked()))
    embedder = CachedEmbedder(_scripted())
    ((query, found),) = peer_rankings(benchmark, embedder, parameters)
    assert query.id == "q"
    assert found["cosine"] == ["c", "d", "b", "a"]
    lexical = _bm25(parameters)
    assert lexical["a"] > lexical["b"] > 0
    assert found["bm25"] == ["a", "b", "c", "d"], "equal scores stand in corpus order"
    both = [
        weight * words + cosine
        for words, cosine in zip(_z(list(lexical.values())), _z([0.0, 0.6, 1.0, 0.8]), strict=True)
    ]
    assert found["hybrid"] == sorted(TEXTS, key=lambda id: -both["abcd".index(id)])


def test_bm25_of_chats_with_agents_reads_a_beginning(bench: Bench) -> None:
    corpus = [*_corpus(), {"id": "e", "text": "x " * 700 + "red apples", "conversation": "c"}]
    benchmark = read_benchmark(bench(corpus, _asked()))
    embedder = CachedEmbedder(HashingEmbedder())
    parameters = parameters_for("chat_agent")
    assert (parameters.k1, parameters.b, parameters.hybrid_weight) == (1.2, 0.75, 0.5)
    ((_, found),) = peer_rankings(benchmark, embedder, parameters)
    assert found["bm25"].index("e") > found["bm25"].index("b")
    whole = PeerParameters(k1=parameters.k1, b=0.0)
    ((_, found),) = peer_rankings(benchmark, embedder, whole)
    assert found["bm25"].index("e") < found["bm25"].index("b")


def test_vectors_are_computed_once_and_cached_between_runs(tmp_path: Path) -> None:
    inner = HashingEmbedder(8)
    wanted = HashingEmbedder(8).embed(["a", "b", "a"])
    first = CachedEmbedder(inner, tmp_path)
    assert first.embed(["a", "b", "a"]) == first.embed(["a", "b", "a"]) == wanted
    again = CachedEmbedder(inner, tmp_path)
    assert again.embed(["b", "a"]) == [wanted[1], wanted[0]]
    assert inner.call_count == 1
    assert CachedEmbedder(HashingEmbedder(8, seed=1), tmp_path).embed(["a"]) != wanted[:1]
    assert first.matrix(["a", "b"]).shape == (2, 8)


def test_a_torn_end_of_a_cache_is_cut_off(tmp_path: Path) -> None:
    wanted = CachedEmbedder(HashingEmbedder(8), tmp_path).embed(["a", "b"])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    inner = HashingEmbedder(8)
    assert CachedEmbedder(inner, tmp_path).embed(["a", "b"]) == wanted
    assert inner.call_count == 1, "the whole record was still good"
    assert CachedEmbedder(HashingEmbedder(8), tmp_path).embed(["b"]) == wanted[1:]
    assert file.stat().st_size == 2 * (16 + 8 * 4)


def test_all_rows_share_one_computation(bench: Bench, tmp_path: Path) -> None:

    inner = HashingEmbedder()
    folder = bench(units(), queries())
    options: dict[str, Any] = {"profiles": ["baseline", "default"], "cache": tmp_path / "cache"}
    evaluate(folder, embedder=inner, **options)
    assert inner.call_count > 0
    fresh = HashingEmbedder()
    evaluate(folder, embedder=fresh, **options)
    assert fresh.call_count == 0


def test_token_vectors_are_computed_once_and_cached_between_runs(tmp_path: Path) -> None:
    inner = TokenHashingEmbedder(8)
    checked = checked_embedder(inner)
    assert isinstance(checked, CheckedTokenEmbedder)
    for method in ("embed_tokens", "embed_codes"):
        wanted = getattr(checked, method)(["a b", "c", "a b"])
        first = cached_embedder(checked, tmp_path)
        assert isinstance(first, CachedTokenEmbedder)
        assert first.embed(["c"]) == [wanted[1][0]], "a vector alone is not enough"
        assert getattr(first, method)(["a b", "c", "a b"]) == wanted
        assert getattr(first, method)(["c"]) == wanted[1:2]
        calls = inner.call_count
        again = cached_embedder(checked, tmp_path)
        assert getattr(again, method)(["c", "a b"]) == [wanted[1], wanted[0]]
        assert again.embed(["a b"]) == [wanted[0][0]]
        assert inner.call_count == calls


def test_a_torn_end_of_cached_token_vectors_is_cut_off(tmp_path: Path) -> None:
    inner = checked_embedder(TokenHashingEmbedder(8))
    for method, name in (("embed_codes", "*.codes-*"), ("embed_tokens", "*.placed-states")):
        wanted = getattr(cached_embedder(inner, tmp_path), method)(["a b", "c"])
        (file,) = tmp_path.glob(name)
        size = file.stat().st_size
        for lost in (1, 70, 90):
            file.write_bytes(file.read_bytes()[:-lost])
            assert getattr(cached_embedder(inner, tmp_path), method)(["a b", "c"]) == wanted
            assert file.stat().st_size == size


def test_an_embedder_without_token_vectors_gets_none(tmp_path: Path) -> None:
    assert not hasattr(cached_embedder(HashingEmbedder(8), tmp_path), "embed_tokens")
