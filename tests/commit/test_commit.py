"""Commit into a store: duplicates, hooks, successors, batches, dry runs."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

import vestig
from scripted import Opener, pair
from vestig.store.records.reads import LedgerView
from vestig.testing import FailingEmbedder, ScriptedEmbedder, vector_at
from vestig.types import CommitOutcomeKind as Kind

TEXT = "Vestig keeps the ledger as its single source of truth."
HASH = "a4edb32bfc9bafa8"


def rows(store: vestig.Vestig) -> dict[str, object]:
    found = store.admin.stats().to_dict()
    return {name: value for name, value in found.items() if name not in ("bytes", "projection")}


def event_types(store: vestig.Vestig, id: str | None) -> list[str]:
    assert id is not None
    return [event.event_type.value for event in store.events(id)]


def test_rejection_leaves_nothing(opener: Opener) -> None:
    heard: list[vestig.CommitOutcome] = []
    embedder = ScriptedEmbedder({"a": [1.0, 0.0]})
    store = opener(embedder=embedder, on_commit=heard.append)
    before = rows(store)
    outcome = store.commit("ok")
    assert outcome.outcome is Kind.REJECTED_HYGIENE
    assert outcome.hygiene_reasons == (
        "Content too short: 2 chars (minimum: 12, or two words that say something)",
    )
    assert (outcome.memory_id, outcome.event_id, outcome.seq, outcome.jobs) == (
        None,
        None,
        None,
        (),
    )
    assert rows(store) == before
    assert embedder.call_count == 0
    assert heard == [outcome]
    counted = store.admin.metrics()['vestig_commit_outcomes_total{outcome="REJECTED_HYGIENE"}']
    assert counted == 1


def test_strict_raises_after_the_hook(opener: Opener) -> None:
    heard: list[vestig.CommitOutcome] = []
    store = opener(on_commit=heard.append)
    for text in ("", "   \n", "a text with a \0 inside it"):
        assert store.commit(text).outcome is Kind.REJECTED_HYGIENE
        with pytest.raises(vestig.HygieneError) as raised:
            store.commit(text, strict=True)
        assert raised.value.outcome == heard[-1]
    assert len(heard) == 6


def test_whitespace_is_normalised(store: vestig.Vestig) -> None:
    messy = "  Vestig keeps\tthe ledger\n\nas its  single source of truth. "
    first, second = store.commit(messy), store.commit(TEXT)
    assert first.content_hash.startswith(HASH)
    assert second.outcome is Kind.EXACT_DUPE
    assert second.memory_id == first.memory_id


def test_same_text_is_an_exact_duplicate(store: vestig.Vestig, clock) -> None:  # type: ignore[no-untyped-def]
    first = store.commit(TEXT, source="manual")
    later = clock.move(days=2)
    again = store.commit(TEXT, source="hook")
    assert (first.outcome, again.outcome) == (Kind.INSERTED_NEW, Kind.EXACT_DUPE)
    assert again.memory_id == again.matched_memory_id == first.memory_id
    assert again.deduplicated
    assert again.query_score is None
    assert event_types(store, first.memory_id) == ["ADD", "REINFORCE_EXACT"]
    memory = store.show(first.memory_id).memory
    assert (memory.reinforce_count, memory.last_seen_at) == (1, later)
    other = store.commit(TEXT, author="Ada")
    assert other.outcome is Kind.INSERTED_NEW
    assert store.count() == 2


def test_near_duplicate_keeps_the_variant(opener: Opener) -> None:
    first, second = "The staging cluster runs in Oslo", "The staging cluster runs in Oslo!"
    store = opener(vectors=pair(0.95, first, second))
    kept = store.commit(first)
    near = store.commit(second, source="manual")
    assert near.outcome is Kind.NEAR_DUPE
    assert near.memory_id == kept.memory_id
    assert near.query_score == pytest.approx(0.95, abs=1e-6)
    event = store.events(kept.memory_id)[-1]
    assert event.event_type.value == "REINFORCE_NEAR"
    assert event.payload["variant"] == second
    assert near.thresholds["near_duplicate_threshold"] == 0.92


def exact_cosine(value: float) -> list[float]:
    """A vector whose float32 cosine to the first axis is float32(value), unit length or not."""
    (first,) = struct.unpack("<f", struct.pack("<f", value))
    return [first, math.sqrt(1.0 - first * first)] + [0.0] * 6


@pytest.mark.parametrize(
    ("cosine", "expected"), [(0.92, Kind.NEAR_DUPE), (0.919999, Kind.INSERTED_NEW)]
)
def test_threshold_is_inclusive(opener: Opener, cosine: float, expected: Kind) -> None:
    first, second = "The cache lives on node seven", "The cache lives on node seven!"
    vectors = {first: vector_at(1.0), second: exact_cosine(cosine)}
    store = opener(vectors=vectors)
    store.commit(first)
    outcome = store.commit(second)
    assert outcome.outcome is expected
    if expected is Kind.INSERTED_NEW:
        assert outcome.possible_update_of is None


def test_other_fact_is_kept_and_linked(opener: Opener) -> None:
    first, second = "The spending limit is 500 EUR", "The spending limit is 500 USD"
    off = {"links": {"related": {"enabled": False}}}
    store = opener(vectors=pair(0.99, first, second), config=off)
    kept, other = store.commit(first), store.commit(second)
    assert other.outcome is Kind.INSERTED_NEW
    assert other.possible_update_of is not None
    assert other.possible_update_of.memory_id == kept.memory_id
    assert other.possible_update_of.differs == (vestig.types.Difference(old="EUR", new="USD"),)
    assert store.admin.stats().edges["RELATED"] == 1


def test_recall_returns_both_texts(opener: Opener) -> None:
    first, second = "The window opens at 14:00", "The window opens at 15:00"
    store = opener(vectors=pair(0.99, first, second, "when does the window open?"))
    store.commit(first)
    other = store.commit(second)
    assert other.possible_update_of is not None
    assert other.possible_update_of.differs == (vestig.types.Difference(old="14:00", new="15:00"),)
    found = {hit.content for hit in store.recall("when does the window open?")}
    assert found == {first, second}


@pytest.mark.parametrize(("choice", "edges"), [("link", 1), ("insert", 0)])
def test_on_near_dup(opener: Opener, choice: str, edges: int) -> None:
    first, second = "Builds are cached for a week", "Builds are cached for a week!"
    off = {"links": {"related": {"enabled": False}}}
    store = opener(vectors=pair(0.97, first, second), config=off)
    store.commit(first)
    outcome = store.commit(second, on_near_dup=choice)
    assert outcome.outcome is Kind.INSERTED_NEW
    assert store.count() == 2
    assert store.admin.stats().edges.get("RELATED", 0) == edges
    if choice == "link":
        [similar] = outcome.similar
        assert similar.differs == ()
        assert outcome.possible_update_of is None


def test_deprecated_text_is_revived(opener: Opener) -> None:
    first, near = "The build moved to Hetzner", "The build moved to Hetzner!"
    store = opener(vectors=pair(0.97, first, near))
    old = store.commit(first)
    store.deprecate(old.memory_id)
    assert store.commit(near).outcome is Kind.INSERTED_NEW
    new = store.commit(first)
    assert new.outcome is Kind.NEAR_DUPE or new.memory_id != old.memory_id


def test_same_text_again_is_a_new_memory(store: vestig.Vestig) -> None:
    old = store.commit(TEXT)
    store.deprecate(old.memory_id)
    new = store.commit(TEXT)
    assert new.outcome is Kind.INSERTED_NEW
    assert new.revives == old.memory_id
    assert store.show(new.memory_id).memory.revives == old.memory_id
    assert store.events(new.memory_id)[0].payload["revives"] == old.memory_id
    assert [hit.id for hit in store.recall(TEXT)] == [new.memory_id]


def test_archived_match_is_restored(opener: Opener) -> None:
    first, near = "Logs are kept for thirty days", "Logs are kept for thirty days!"
    store = opener(vectors=pair(0.97, first, near))
    old = store.commit(first)
    for text, kind in ((first, Kind.EXACT_DUPE), (near, Kind.NEAR_DUPE)):
        store.archive(old.memory_id)
        assert len(store.recall(first)) == 0
        assert store.commit(text).outcome is kind
        assert store.show(old.memory_id).memory.status.value == "active"
        assert event_types(store, old.memory_id)[-1] in (
            "UNARCHIVE",
            f"REINFORCE_{kind.value[:4]}".rstrip("_"),
        )
    assert event_types(store, old.memory_id).count("UNARCHIVE") == 2


def test_duplicate_unites_tags(store: vestig.Vestig) -> None:
    first = store.commit(TEXT, tags=["a", "b"], metadata={"level": 1})
    again = store.commit(TEXT, tags=["b", "c"], metadata={"level": 2})
    memory = store.show(first.memory_id).memory
    assert memory.tags == ("a", "b", "c")
    assert memory.metadata["level"] == 1
    payload = store.events(again.memory_id)[-1].payload
    assert payload["metadata"] == {"level": 2}


def test_hook_in_every_outcome(opener: Opener) -> None:
    seen: list[tuple[str, bool]] = []
    stores: list[vestig.Vestig] = []
    first, near = "Errors go to the shared inbox", "Errors go to the shared inbox!"
    vectors = pair(0.97, first, near)

    def hook(outcome: vestig.CommitOutcome) -> None:
        readable = outcome.memory_id is None or stores[-1].show(outcome.memory_id) is not None
        seen.append((outcome.outcome.value, readable))
        raise RuntimeError("a broken hook")

    store = opener(vectors=vectors, on_commit=hook)
    stores.append(store)
    outcomes = [store.commit(text) for text in (first, first, near, "ok")]
    assert [kind for kind, _ in seen] == [outcome.outcome.value for outcome in outcomes]
    assert {kind for kind, _ in seen} == {kind.value for kind in Kind}
    assert all(readable for _, readable in seen)
    assert all("hook_failed" in [d.code for d in o.degraded] for o in outcomes)
    assert store.admin.metrics()["vestig_hook_failures_total"] == 4
    strict = opener("strict", vectors=vectors, on_commit=hook, config={"hooks": {"strict": True}})
    stores.append(strict)
    with pytest.raises(RuntimeError, match="a broken hook"):
        strict.commit(first)
    assert strict.count() == 1


def test_hook_may_commit_to_depth_one(opener: Opener) -> None:
    errors: list[Exception] = []

    def hook(outcome: vestig.CommitOutcome) -> None:
        try:
            store.commit(f"{outcome.memory_id} was stored a moment before")
        except vestig.ConflictError as error:
            errors.append(error)

    store = opener(on_commit=hook)
    store.commit(TEXT)
    assert store.count() == 2
    assert len(errors) == 1


def test_bad_supersedes_writes_nothing(store: vestig.Vestig) -> None:
    old = store.commit(TEXT)
    before = rows(store)
    unknown = "mem_00000000-0000-4000-8000-000000000000"
    with pytest.raises(vestig.NotFoundError, match=unknown):
        store.commit("The ledger moved to another disk", supersedes=[old.memory_id, unknown])
    assert rows(store) == before


def test_supersedes_with_a_duplicate(store: vestig.Vestig) -> None:
    old = store.commit("The office is in Oslo, near the harbour")
    new = store.commit("The office is in Bergen, near the harbour")
    again = store.commit("The office is in Bergen, near the harbour", supersedes=[old.memory_id])
    assert again.outcome is Kind.EXACT_DUPE
    assert again.superseded == (old.memory_id,)
    assert store.show(old.memory_id).memory.superseded_by == new.memory_id
    same = store.commit("The office is in Bergen, near the harbour", supersedes=[new.memory_id])
    assert (same.outcome, same.superseded) == (Kind.EXACT_DUPE, ())
    assert same.warnings


def test_batch_of_five_with_one_bad(store: vestig.Vestig) -> None:
    items = [
        "The first fact of the batch",
        "The first fact of the batch",
        {"content": "A fact with a bad time", "t_ref": "soon"},
        "ok",
        {"content": "The last fact of the batch", "tags": ["x"]},
    ]
    results = store.commit_many(items)
    kinds = [getattr(r, "outcome", None) for r in results]
    assert kinds == [
        Kind.INSERTED_NEW, Kind.EXACT_DUPE, None, Kind.REJECTED_HYGIENE, Kind.INSERTED_NEW,
    ]  # fmt: skip
    assert (results[2].index, results[2].code) == (2, "validation")
    assert "t_ref" in results[2].message
    assert results[1].memory_id == results[0].memory_id
    assert store.show(results[0].memory_id).memory.reinforce_count == 1


def test_batch_equals_one_by_one(opener: Opener) -> None:
    texts = [f"Service number {n % 7} answers on port {9000 + n % 11}" for n in range(60)]
    batch, single = opener("batch"), opener("single")
    together = batch.commit_many(texts)
    apart = [single.commit(text) for text in texts]
    assert [o.outcome for o in together] == [o.outcome for o in apart]
    hints = [
        [None if o.possible_update_of is None else o.possible_update_of.differs for o in run]
        for run in (together, apart)
    ]
    assert hints[0] == hints[1]
    assert batch.admin.stats().edges == single.admin.stats().edges


def test_dry_run_changes_nothing(opener: Opener) -> None:
    heard: list[vestig.CommitOutcome] = []
    first, near = "Alerts are sent to the duty phone", "Alerts are sent to the duty phone!"
    store = opener(vectors=pair(0.97, first, near), on_commit=heard.append)
    for text in (first, first, near, "ok"):
        before, seq = rows(store), store.admin.stats().seq
        heard.clear()
        dry = store.commit(text, dry_run=True)
        assert heard == []
        assert rows(store) == before
        real = store.commit(text)
        assert (dry.outcome, dry.content_hash, dry.hygiene_reasons) == (
            real.outcome, real.content_hash, real.hygiene_reasons,
        )  # fmt: skip
        assert dry.matched_memory_id == real.matched_memory_id
        assert dry.query_score == real.query_score
        assert (dry.seq, dry.event_id) == (None, None)
        assert store.admin.stats().seq - seq == (0 if real.seq is None else 1)


def test_source_and_tags_in_show(store: vestig.Vestig) -> None:
    outcome = store.commit(
        TEXT,
        tags=["x"],
        source="hook",
        provenance={"agent": "builder"},
        session_id="s-1",
        metadata={"k": None},
    )
    detail = store.show(outcome.memory_id)
    assert detail.memory.tags == ("x",)
    assert detail.memory.metadata == {"source": "hook", "tags": ["x"], "k": None}
    (source,) = detail.sources
    assert (source.source_type, source.agent, source.session_id) == ("agentic", "builder", "s-1")
    assert store.admin.stats().edges["PRODUCED"] == 1
    other = store.commit(
        "Another fact of the same session", provenance={"agent": "builder"}, session_id="s-1"
    )
    assert store.show(other.memory_id).sources[0].id == source.id


def test_relative_windows_are_united(store: vestig.Vestig) -> None:
    first = store.commit("The release is today, at last", t_ref="2026-03-16")
    store.commit("The release is today, at last", t_ref="2026-03-18")
    times = store.show(first.memory_id).memory.times
    assert [window.start.day for window in times if window.start] == [16, 18]


def test_times_are_one_instant(store: vestig.Vestig) -> None:
    forms = ("2026-03-18 12:00", "2026-03-18T12:00:00Z", "2026-03-18T12:00+0000",
             "2026-03-18 12:00+00:00:00")  # fmt: skip
    seen = {
        store.show(
            store.commit(f"Fact number {n} of the day", t_valid=form).memory_id
        ).memory.t_valid
        for n, form in enumerate(forms)
    }
    assert len(seen) == 1
    with pytest.raises(vestig.ValidationError, match=r"t_valid.*soon"):
        store.commit("A fact that begins soon", t_valid="soon")


@pytest.mark.parametrize("count", [1, 3])
def test_a_state_of_the_store_is_read_once(
    opener: Opener, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """What is read before the embedding call, of texts and names, is not read again."""
    store, reads = opener(), list[str]()
    store.commit("We met Ada Lovelace in the harbour")
    for kind, name in ((LedgerView, "known_hashes"), (LedgerView, "entity_ids_by_key")):
        whole = getattr(kind, name)

        def counted(*given: Any, whole: Any = whole, name: str = name) -> Any:
            reads.append(name)
            return whole(*given)

        monkeypatch.setattr(kind, name, counted)
    texts = [f"Then Grace Hopper asked Ada Lovelace for gasket {n}" for n in range(count)]
    assert all(one.outcome is Kind.INSERTED_NEW for one in store.commit_many(texts))
    assert reads == ["known_hashes", "entity_ids_by_key"]


def test_bad_vectors_store_nothing(opener: Opener) -> None:
    for mode in ("nan", "inf", "short", "long", "count"):
        store = opener(mode, embedder=FailingEmbedder(mode))
        before = rows(store)
        with pytest.raises(vestig.ProviderError):
            store.commit(TEXT)
        assert rows(store) == before
