"""Doctor, export and import through the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vestig
from scripted import Opener
from vestig.embedders.builtin import MODEL
from vestig.testing import HashingEmbedder


def test_doctor_names_the_configuration(opener: Opener) -> None:
    plain, tuned = opener("plain"), opener("tuned", config={"recall": {"default_limit": 9}})
    for store in (plain, tuned):
        store.commit("The lift stops at floor two.")
    details = [
        next(f.detail for f in store.admin.doctor().findings if f.check == "configuration")
        for store in (plain, tuned)
    ]
    assert details[0] != details[1]
    assert plain.admin.doctor().exit_code == 0


def test_an_export_lands_in_the_namespace_of_the_store(opener: Opener, tmp_path: Path) -> None:
    first = opener("first")
    kept = first.commit("A fact of the first store to move").memory_id
    first.commit("A fact of another namespace", namespace="other")
    first.export(tmp_path / "one.jsonl")
    second = opener("second", namespace="moved")
    second.import_(tmp_path / "one.jsonl")
    assert [memory.id for memory in second.list()] == [kept]
    assert second.count(namespace="default") == 0
    first.export(tmp_path / "all.jsonl", all_namespaces=True)
    third = opener("third", namespace="unused")
    third.import_(tmp_path / "all.jsonl")
    assert third.count() == 0
    assert (third.count(namespace="default"), third.count(namespace="other")) == (1, 1)


def test_a_process_with_the_old_model_is_told(opener: Opener) -> None:
    texts = [f"Statement number {n} of many others" for n in range(30)]
    first = opener(embedder=HashingEmbedder(64))
    ids = [outcome.memory_id for outcome in first.commit_many(texts)]
    with pytest.raises(
        vestig.EmbeddingMismatchError, match=r"64 dimensions.*32 dimensions.*rebuild"
    ):
        opener(embedder=HashingEmbedder(32))
    second = opener(embedder=HashingEmbedder(32), change_embedder=True)
    with pytest.raises(vestig.EmbeddingMismatchError):
        second.recall("statement 7")
    assert second.admin.rebuild(embeddings=True).embedded == len(texts)
    found = second.recall("statement number 7")
    assert (found.results[0].content, found.degraded) == (texts[7], ())
    assert found.results[0].id == ids[7]
    assert second.admin.doctor().exit_code == 0
    with pytest.raises(vestig.EmbeddingMismatchError, match="open it again"):
        first.recall("statement 7")
    with pytest.raises(vestig.EmbeddingMismatchError):
        first.commit("Another statement by the old one")
    assert second.count() == len(texts)


def test_a_store_of_another_built_in_model_is_told_and_embedded_again(tmp_path: Path) -> None:
    """Both have 384 dimensions: the name alone tells them apart."""
    other = HashingEmbedder(384)
    with vestig.open(tmp_path / "store", embedder=other) as store:
        kept = store.commit("The lift stops at floor two.").memory_id
    with pytest.raises(
        vestig.EmbeddingMismatchError, match=rf"{other.model}.*{MODEL}.*rebuild --embeddings"
    ):
        vestig.open(tmp_path / "store")
    asked = [sys.executable, "-m", "vestig", "memory", "recall", "where does the lift stop?"]
    here = {**os.environ, "VESTIG_STORE": str(tmp_path / "store")}
    told = subprocess.run(asked, env=here, capture_output=True, text=True, check=False)
    assert (told.returncode, "vestig rebuild --embeddings" in told.stderr) == (2, True)
    again = [sys.executable, "-m", "vestig", "rebuild", "--embeddings"]
    subprocess.run(again, env=here, capture_output=True, check=True)
    with vestig.open(tmp_path / "store") as store:
        (found,) = store.recall("where does the lift stop?").results
        assert found.id == kept
        assert store.admin.doctor().exit_code == 0


def test_the_gauges_of_the_store_equal_its_counts() -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        ids = [
            store.commit(f"Ravi met Maria in Oslo on day {n} of the fair").memory_id
            for n in range(1, 4)
        ]
        store.graph.link(ids[0], ids[1], "RELATED")
        stats, metrics = store.admin.stats(), store.admin.metrics()
    gauges = {
        kind: metrics[f'vestig_storage_count{{type="{kind}"}}']
        for kind in ("memories", "events", "entities", "edges", "sources")
    }
    assert stats.edges["MENTIONS"] > 0
    assert stats.edges["RELATED"] > 0
    assert gauges == {
        "memories": stats.memories,
        "events": stats.events,
        "entities": stats.entities,
        "edges": sum(stats.edges.values()),
        "sources": stats.sources,
    }
    assert gauges["entities"] > 0
