"""Counters equal what was done."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from vestig.testing import FailingEmbedder, HashingEmbedder

TEXT = "The staging database runs on port 5433"


def test_counters_equal_the_operations_done(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(32)) as store:
        id = str(store.commit(TEXT).memory_id)
        store.commit(TEXT)
        store.commit("ok")
        for _ in range(3):
            store.recall("which port?")
        store.graph.search("port")
        store.update(id, tags=["infra"])
        for _ in range(2):
            with pytest.raises(vestig.NotFoundError):
                store.show("mem_00000000-0000-4000-8000-000000000000")
        found = store.admin.metrics()
    done = {
        name.removeprefix("vestig_operations_total"): count
        for name, count in found.items()
        if name.startswith("vestig_operations_total")
    }
    assert done == {
        '{operation="commit",status="ok"}': 3,
        '{operation="recall",status="ok"}': 3,
        '{operation="graph_search",status="ok"}': 1,
        '{operation="update",status="ok"}': 1,
        '{operation="show",status="error"}': 2,
    }
    took = "vestig_operation_duration_seconds_count"
    stages = {
        ("commit", "total"): 3, ("commit", "embed"): 1, ("commit", "write"): 2,
        ("recall", "total"): 3, ("recall", "embed"): 3, ("recall", "score"): 3,
        ("recall", "rank"): 3, ("graph_search", "total"): 1, ("graph_search", "walk"): 1,
    }  # fmt: skip
    for (operation, stage), count in stages.items():
        assert found[f'{took}{{operation="{operation}",stage="{stage}"}}'] == count, (
            operation, stage,
        )  # fmt: skip
    assert found['vestig_errors_total{error_type="unknown",operation="show"}'] == 2
    assert found['vestig_commit_outcomes_total{outcome="INSERTED_NEW"}'] == 1
    assert found['vestig_commit_outcomes_total{outcome="EXACT_DUPE"}'] == 1
    assert found['vestig_commit_outcomes_total{outcome="REJECTED_HYGIENE"}'] == 1
    assert found['vestig_queries_total{source="recall"}'] == 3
    assert found['vestig_storage_count{type="memories"}'] == 1


def test_errors_are_counted_by_type(tmp_path: Path) -> None:
    embedder = FailingEmbedder("error", dimensions=32)
    with vestig.open(tmp_path / "store", embedder=embedder) as store:
        with pytest.raises(vestig.ProviderError):
            store.commit(TEXT)
        with pytest.raises(vestig.ValidationError):
            store.commit(TEXT, t_valid="never")
        found = {k: v for k, v in store.admin.metrics().items() if "errors_total" in k}
    assert found['vestig_errors_total{error_type="validation",operation="commit"}'] == 1
    assert sum(count for name, count in found.items() if 'operation="commit"' in name) == 2
