"""An embedder that fails, and the vectors that a job makes later."""

from __future__ import annotations

import pytest

import vestig
from scripted import Opener
from vestig.testing import FailingEmbedder, FrozenClock, ScriptedEmbedder, vector_at
from vestig.types import CommitOutcomeKind as Kind

TEXT = "Vestig keeps the ledger as its single source of truth."


def rows(store: vestig.Vestig) -> dict[str, object]:
    found = store.admin.stats().to_dict()
    return {name: value for name, value in found.items() if name not in ("bytes", "projection")}


def test_error_writes_nothing(opener: Opener) -> None:
    store = opener(embedder=FailingEmbedder("error"))
    before = rows(store)
    with pytest.raises(vestig.ProviderError):
        store.commit(TEXT)
    assert rows(store) == before


def test_defer_stores_without_vector(opener: Opener, clock: FrozenClock) -> None:
    defer = {"embedding": {"on_failure": "defer"}}
    embedder = FailingEmbedder("error", dimensions=64)
    store = opener(embedder=embedder, config=defer)
    outcome = store.commit(TEXT)
    assert outcome.outcome is Kind.INSERTED_NEW
    assert [d.code for d in outcome.degraded] == ["embedding_deferred"]
    assert len(outcome.jobs) == 1
    assert store.show(outcome.memory_id).memory.processing == "pending"
    assert store.admin.stats().jobs == {"PENDING": 1}
    found = store.recall("single source of truth")
    assert [hit.id for hit in found] == [outcome.memory_id]
    assert {"partial_backend", "unembedded_skipped", "enrichment_pending"} <= {
        d.code for d in found.degraded
    }
    report = store.admin.enrich()
    assert (report.taken, report.done, report.retried) == (1, 0, 1)
    embedder.after = 1_000
    clock.move(days=1)
    report = store.admin.enrich()
    assert (report.done, report.pending) == (1, 0)
    detail = store.show(outcome.memory_id)
    assert (detail.memory.processing, detail.embedding_dimensions) == ("ready", 64)
    assert not store.recall("single source of truth").degraded


def test_late_match_only_hints(opener: Opener, clock: FrozenClock) -> None:
    first, near = "Backups run at night in town", "Backups really run at night in town"
    embedder = ScriptedEmbedder({first: vector_at(1.0), near: vector_at(0.97)})
    store = opener(embedder=embedder, config={"embedding": {"on_failure": "defer"}})
    kept = store.commit(first)
    held = embedder.vectors.pop(near)
    late = store.commit(near)
    assert late.outcome is Kind.INSERTED_NEW
    embedder.vectors[near] = held
    clock.move(days=1)
    report = store.admin.enrich()
    assert (report.done, report.possible_updates) == (1, 1)
    assert store.count() == 2
    hint = store.events(late.memory_id)[-1].payload["possible_update_of"]
    assert hint["memory_id"] == kept.memory_id


def test_names_of_a_deferred_memory_are_linked_and_its_questions_missed(opener: Opener) -> None:
    defer = {"embedding": {"on_failure": "defer"}}
    store = opener(embedder=FailingEmbedder("error", dimensions=64), config=defer)
    outcome = store.commit(
        "we met Ada Lovelace in town",
        trigger="problem-solution",
        hypothetical_queries=["Who was in town?"],
    )
    assert "hypothetical questions were left out" in outcome.warnings[0]
    [entity] = store.graph.entities()
    assert (entity.id, entity.mentions) == (outcome.entities[0], 1)
    with store._session.ledger.read() as view:
        assert view.questions("default", [str(outcome.memory_id)]) == {}
