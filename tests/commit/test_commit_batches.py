"""Batches whose items meet each other: repeats, successors, namespaces, refusals."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
import vestig.testing
from calls import committing
from scripted import Opener, pair
from vestig.types import CommitOutcome, CommitOutcomeKind, ItemError, Status

OFFICE = "The office of the team is in Oslo"
DEPLOYS = "Deploys are run by Dana on Friday mornings"
COFFEE = "Robin drinks coffee without any sugar"
UNKNOWN_ID = "mem_00000000-0000-4000-8000-000000000000"
NEW, EXACT = CommitOutcomeKind.INSERTED_NEW, CommitOutcomeKind.EXACT_DUPE


def kinds(results: list[CommitOutcome | ItemError]) -> list[Any]:
    return [one.code if isinstance(one, ItemError) else one.outcome for one in results]


def test_text_of_a_refused_item_is_stored_by_a_later_one(store: vestig.Vestig) -> None:
    """The refused item has no vector to lend."""
    results = store.commit_many(
        [{"content": OFFICE, "supersedes": [UNKNOWN_ID]}, OFFICE, DEPLOYS, OFFICE]
    )
    assert kinds(results) == ["not-found", NEW, NEW, EXACT]
    assert store.recall(OFFICE).results[0].similarity == pytest.approx(1.0)


@pytest.mark.parametrize("archived", [False, True])
def test_text_superseded_in_the_batch_comes_back_as_new(
    store: vestig.Vestig, archived: bool
) -> None:
    """As if the items had been committed one by one."""
    old = store.commit(OFFICE).memory_id
    assert old is not None
    if archived:
        store.archive(old)
    first, second, third = store.commit_many(
        [{"content": DEPLOYS, "supersedes": [old]}, OFFICE, OFFICE]
    )
    assert kinds([first, second, third]) == [NEW, NEW, EXACT]
    assert isinstance(second, CommitOutcome)
    assert second.revives == old
    assert store.show(old).memory.status is Status.SUPERSEDED
    assert store.recall(OFFICE).results[0].id == second.memory_id
    assert store.admin.doctor().exit_code == 0


def test_a_dry_run_of_such_a_batch_gives_the_same_outcomes(store: vestig.Vestig) -> None:
    old = store.commit(OFFICE).memory_id
    before = store.admin.stats().seq
    results = store.commit_many(
        [
            {"content": DEPLOYS, "supersedes": [old], "dry_run": True},
            {"content": OFFICE, "dry_run": True},
        ]
    )
    assert kinds(results) == [NEW, NEW]
    assert store.admin.stats().seq == before


def test_batch_with_items_of_two_namespaces(store: vestig.Vestig) -> None:
    """Each item acts in its own namespace."""
    there = store.commit(OFFICE, namespace="b").memory_id
    results = store.commit_many(
        [
            {"content": DEPLOYS, "namespace": "a"},
            {"content": OFFICE, "namespace": "b", "tags": ["again"]},
            {"content": OFFICE, "namespace": "a"},
            {"content": COFFEE, "namespace": "b", "supersedes": [there]},
        ]
    )
    assert kinds(results) == [NEW, EXACT, NEW, NEW]
    assert [store.count(namespace=space) for space in ("a", "b", "default")] == [2, 1, 0]
    assert store.count(namespace="b", where={"include_expired": True}) == 2


def test_successors_in_one_batch_are_as_one_by_one(opener: Opener) -> None:
    """The first end of a fact stays, in a batch as well."""
    ends = []
    for path in ("batch", "single"):
        store = opener(path)
        old = store.commit(OFFICE, t_valid="2020-01-01").memory_id
        assert old is not None
        items = [
            {"content": DEPLOYS, "supersedes": [old], "t_valid": "2021-01-01"},
            {"content": COFFEE, "supersedes": [old], "t_valid": "2022-01-01"},
        ]
        if path == "batch":
            store.commit_many(items)
        else:
            for item in items:
                store.commit(**committing(item))  # type: ignore[arg-type]
        ends.append(store.show(old).memory.t_invalid)
        assert len(store.supersession_chain(old)) == 2
    assert ends[0] == ends[1]
    assert f"{ends[0]:%Y}" == "2021"


def test_repeated_supersedes_writes_no_second_event(store: vestig.Vestig) -> None:
    old = store.commit(OFFICE).memory_id
    assert old is not None
    new = store.commit(DEPLOYS, supersedes=[old]).memory_id
    again = store.commit(DEPLOYS, supersedes=[old])
    assert (again.outcome, again.memory_id, again.superseded) == (EXACT, new, (old,))
    assert [event.event_type.value for event in store.events(old)] == ["ADD", "SUPERSEDE"]
    assert len(store.supersession_chain(old)) == 1


def test_strict_refusal_in_a_batch_is_an_error_entry(store: vestig.Vestig) -> None:
    """`strict` acts in a batch as well; the hook was called before."""
    seen: list[str] = []
    results = store.commit_many(
        [
            {"content": "ok", "strict": True, "on_commit": lambda o: seen.append(o.outcome.value)},
            "ok",
            OFFICE,
        ]
    )
    assert kinds(results) == ["hygiene-rejected", CommitOutcomeKind.REJECTED_HYGIENE, NEW]
    assert isinstance(results[0], ItemError)
    assert "too short" in results[0].message
    assert seen == ["REJECTED_HYGIENE"]


def test_strict_hooks_raise_when_all_groups_are_written(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vestig.commit.pipeline.GROUP_ITEMS", 2)

    def hook(_: CommitOutcome) -> None:
        raise LookupError("the hook's own")

    store = opener(on_commit=hook, config={"hooks": {"strict": True}})
    with pytest.raises(LookupError):
        store.commit_many([OFFICE, DEPLOYS, COFFEE])
    assert store.count() == 3


def test_dry_run_leaves_no_trace_at_all(opener: Opener) -> None:
    """Neither counters nor the name of the model, which the first vector fixes."""
    store = opener()
    store.commit("ok", dry_run=True)
    assert store.commit(OFFICE, dry_run=True).outcome is NEW
    assert not [name for name in store.admin.metrics() if name.startswith("vestig_commit_outcomes")]
    store.close()
    other = opener(embedder=vestig.testing.HashingEmbedder(32))
    assert other.commit(OFFICE).outcome is NEW


@pytest.mark.parametrize("items", [None, 5, "text", b"text", {"content": OFFICE}])
def test_batch_must_be_a_list(store: vestig.Vestig, items: Any) -> None:
    with pytest.raises(vestig.ValidationError, match="items"):
        store.commit_many(items)


def test_memory_restored_in_the_batch_is_linked_by_later_items(opener: Opener) -> None:
    """As if the items had been committed one by one."""
    store = opener(vectors=pair(0.8, OFFICE, DEPLOYS))
    old = store.commit(OFFICE).memory_id
    assert old is not None
    store.archive(old)
    assert kinds(store.commit_many([OFFICE, DEPLOYS])) == [EXACT, NEW]
    assert store.admin.stats().edges["RELATED"] == 1


def test_a_text_inserted_in_the_batch_counts_for_later_items(store: vestig.Vestig) -> None:
    seq = store.admin.stats().seq
    first, second, third = store.commit_many(
        [
            {"content": OFFICE, "tags": ["a"]},
            {"content": OFFICE, "tags": ["b"]},
            {"content": OFFICE},
        ]
    )
    assert kinds([first, second, third]) == [NEW, EXACT, EXACT]
    assert isinstance(first, CommitOutcome)
    assert isinstance(second, CommitOutcome)
    assert isinstance(third, CommitOutcome)
    assert second.memory_id == third.memory_id == first.memory_id
    assert store.admin.stats().seq == seq + 1, "the batch is one transaction"
    assert first.memory_id is not None
    memory = store.show(first.memory_id).memory
    assert (set(memory.tags), memory.reinforce_count) == ({"a", "b"}, 2)
    events = [event.event_type for event in store.events(first.memory_id)]
    assert sorted(events) == ["ADD", "REINFORCE_EXACT", "REINFORCE_EXACT"]
