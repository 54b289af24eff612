"""An embedder that fails, and the vectors that a job makes later."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

import vestig
from scripted import Opener
from vestig.testing import (
    FailingEmbedder,
    FrozenClock,
    HashingEmbedder,
    ScriptedEmbedder,
    vector_at,
)
from vestig.types import CommitOutcomeKind as Kind
from vestig.types import ItemError

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
    [hint] = store.events(late.memory_id)[-1].payload["similar"]
    assert hint["memory_id"] == kept.memory_id
    store.admin.rebuild(embeddings=True)
    assert sum(bool(e.payload.get("similar")) for e in store.events(late.memory_id)) == 1


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


class Failing(HashingEmbedder):
    """Fails in the calls of these numbers, from 1; tells which texts each call had."""

    def __init__(self, *failing: int) -> None:
        super().__init__(8)
        self.failing = failing
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.calls.append(list(texts))
        if len(self.calls) in self.failing:
            raise ConnectionError("the model is not there")
        return super().embed(texts)


def lines(count: int) -> list[str]:
    return [f"Line {number} goes to platform {number + 7}." for number in range(count)]


PLAIN = {"entities.enabled": False, "links.related.enabled": False}


@pytest.mark.slow
def test_a_batch_loses_no_outcome_when_the_embedder_fails(opener: Opener) -> None:
    embedder = Failing(2)
    store = opener(embedder=embedder, config=PLAIN)
    results = store.commit_many(lines(2_500))
    ends = [r.code if isinstance(r, ItemError) else r.outcome for r in results]
    assert ends == [Kind.INSERTED_NEW] * 1_000 + ["provider"] * 1_000 + [Kind.INSERTED_NEW] * 500
    assert [r.index for r in results if isinstance(r, ItemError)] == list(range(1_000, 2_000))
    assert store.count() == 1_500


@pytest.mark.slow
def test_a_batch_gives_an_embedder_up_that_fails_twice_running(opener: Opener) -> None:
    embedder = Failing(2, 3)
    store = opener(embedder=embedder, config=PLAIN)
    results = store.commit_many(lines(4_001))
    ends = [r.code if isinstance(r, ItemError) else r.outcome for r in results]
    assert ends == [Kind.INSERTED_NEW] * 1_000 + ["provider"] * 3_001
    assert len(embedder.calls) == 3
    assert store.count() == 1_000


def test_a_batch_of_which_nothing_is_written_raises(opener: Opener) -> None:
    store = opener(embedder=Failing(1, 2), config=PLAIN)
    with pytest.raises(vestig.ProviderError, match="ConnectionError"):
        store.commit_many([*lines(1_500), "ok"])
    assert store.count() == 0


def test_an_inline_commit_works_its_own_job_only(opener: Opener, clock: FrozenClock) -> None:
    embedder = Failing(*range(1, 103))
    config = {**PLAIN, "embedding.on_failure": "defer"}
    store = opener(embedder=embedder, config=config)
    for text in lines(100):
        store.commit(text)
    assert store.admin.stats().jobs == {"PENDING": 100}
    embedder.failing = (len(embedder.calls) + 1,)
    first = len(embedder.calls)
    own = store.commit("The ferry leaves at noon.", enrich=True)
    assert [len(texts) for texts in embedder.calls[first:]] == [1, 1]
    assert store.admin.stats().jobs == {"PENDING": 100, "DONE": 1}
    assert store.show(own.memory_id).embedding_dimensions == 8
    embedder.failing = (len(embedder.calls) + 1,)
    other = store.commit("The ferry leaves at noon.", enrich=True, namespace="other")
    assert store.show(other.memory_id, namespace="other").embedding_dimensions == 8


def test_an_inline_commit_leaves_its_job_when_the_time_is_over(opener: Opener) -> None:
    let_go = threading.Event()

    class Slow(Failing):
        def embed(self, texts: Sequence[str]) -> list[bytes]:
            if self.calls:
                let_go.wait(60)
            return super().embed(texts)

    config = {
        **PLAIN,
        "embedding.on_failure": "defer",
        "enrichment.mode": "inline",
        "enrichment.inline_timeout_s": 0.05,
    }
    store = opener(embedder=Slow(1), config=config)
    outcome = store.commit("The ferry leaves at noon.")
    assert store.admin.stats().jobs == {"PENDING": 1}
    assert store.show(outcome.memory_id).memory.processing == "pending"
    let_go.set()
