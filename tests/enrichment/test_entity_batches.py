"""Names in batches and in stores that were filled without them."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vestig
from calls import committing
from scripted import Opener
from vestig.errors import StoreLockedError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder

OFF = {"entities": {"enabled": False}}


def names(store: vestig.Vestig) -> set[tuple[str, str, int]]:
    """Type, name and mentions of every entity."""
    page = store.graph.entities(limit=1_000)
    return {(one.entity.entity_type, one.entity.canonical_name, one.mentions) for one in page}


def links(store: vestig.Vestig) -> set[tuple[str, str, str]]:
    """(text, type, name) of every mention."""
    found = set()
    for one in store.graph.entities(limit=1_000):
        for memory in store.graph.entity(one.id, limit=1_000).memories:
            found.add((memory.content, one.entity.entity_type, one.entity.canonical_name))
    return found


# --- batches --------------------------------------------------------------------------------

_TEXTS = st.lists(
    st.sampled_from(
        [
            "we met Ada Lovelace in town",
            "then Ada came by with Grace Hopper",
            "the talk was by Dr. Ada Lovelace herself",
            "it is about ABC-123 and src/main.rs",
            "Deploy Helios tomorrow if you can",
            "we deploy what there is on Mondays",
            "so Deploy Helios it was",
            "Dr Hopper is the head of Acme Ltd",
            "they asked Acme for a refund",
            "NATO and Grace Hopper and ABC-123",
            "is mercury rising near Mercury Bay",
        ]
    ),
    unique=True,
    max_size=8,
)
_GIVEN = st.sampled_from(
    [None, None, [{"name": "Ada Lovelace", "type": "PERSON"}], ["Grace Hopper"], ["Mercury"]]
)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(_TEXTS, st.data())
def test_a_batch_names_what_single_commits_name(texts: list[str], data: Any) -> None:
    items = [
        {"content": text, "entities": data.draw(_GIVEN), "on_near_dup": "insert"} for text in texts
    ]
    clock = FrozenClock()
    with (
        vestig.open(":memory:", embedder=HashingEmbedder(64), clock=clock) as one,
        vestig.open(":memory:", embedder=HashingEmbedder(64), clock=clock) as many,
    ):
        for item in items:
            one.commit(**committing(item))
        many.commit_many(items)
        assert names(many) == names(one)
        assert links(many) == links(one)


def test_a_name_of_an_item_that_is_not_inserted_is_not_known_to_later_ones(
    opener: Opener,
) -> None:
    near = {"hygiene": {"near_duplicate": {"threshold": 0.0}}}
    store = opener(config=near)
    ends = store.commit_many(
        [
            "we met somebody in town",
            {"content": "We met somebody in town!", "entities": ["paper mill"]},
            {"content": "our paper mill is down again", "on_near_dup": "insert"},
        ]
    )
    assert [end.outcome for end in ends] == ["INSERTED_NEW", "NEAR_DUPE", "INSERTED_NEW"]  # type: ignore[union-attr]
    assert names(store) == set()


# --- backfill -------------------------------------------------------------------------------

# Every name stands alone, in the middle of a sentence, and in one form, so that the order of
# texts decides nothing: see the cases below for where it does.
_PLAIN = st.lists(
    st.sampled_from(
        [
            "we met Ada Lovelace in town",
            "then Ada Lovelace came by with Grace Hopper",
            "it is about ABC-123 and src/main.rs",
            "they asked Acme Ltd for a refund",
            "so NATO and Grace Hopper and ABC-123",
            "we deploy what there is on Mondays",
            "please write to ada@example.org about NATO",
            "it runs on PostgreSQL 16.2 and #databases like it",
        ]
    ),
    unique=True,
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(_PLAIN, st.integers(1, 4))
def test_a_backfilled_store_names_what_commits_name(texts: list[str], size: int) -> None:
    clock = FrozenClock()
    items: list[Any] = [{"content": text, "on_near_dup": "insert"} for text in texts]
    embedder = HashingEmbedder(64)
    with (
        vestig.open(":memory:", embedder=embedder, clock=clock) as committed,
        vestig.open(":memory:", embedder=embedder, clock=clock, config=OFF) as filled,
    ):
        for item in items:
            committed.commit(**committing(item))
            filled.commit(**committing(item))
        assert names(filled) == set()
        filled._session.config = committed._session.config
        planned = filled.graph.entity_backfill(dry_run=True, batch_size=size)
        assert names(filled) == set()
        report = filled.graph.entity_backfill(batch_size=size)
        assert names(filled) == names(committed)
        assert links(filled) == links(committed)
        assert (planned.entities_added, planned.mentions_added) == (
            report.entities_added,
            report.mentions_added,
        )
        seq = filled.admin.stats().seq
        again = filled.graph.entity_backfill(batch_size=size)
        assert (again.entities_added, again.mentions_added) == (0, 0)
        assert filled.admin.stats().seq == seq


@settings(max_examples=settings.default.max_examples // 2)
@given(_TEXTS)
def test_running_it_again_changes_nothing(texts: list[str]) -> None:
    with vestig.open(":memory:", embedder=HashingEmbedder(64), clock=FrozenClock()) as store:
        for text in texts:
            store.commit(text, on_near_dup="insert")
        store.graph.entity_backfill()
        found, seq = links(store), store.admin.stats().seq
        report = store.graph.entity_backfill()
        assert (report.entities_added, report.mentions_added) == (0, 0)
        assert (links(store), store.admin.stats().seq) == (found, seq)


def test_earlier_memories_are_linked_with_names_that_came_later(opener: Opener) -> None:
    """A commit cannot know them; the second pass does."""
    store = opener()
    store.commit("Helios is down once more")
    store.commit("then we restarted Helios together")
    assert names(store) == {("UNTYPED", "Helios", 1)}
    report = store.graph.entity_backfill()
    assert (report.memories, report.entities_added, report.mentions_added) == (2, 0, 1)
    assert names(store) == {("UNTYPED", "Helios", 2)}


def test_extract_reads_memories_without_entities_only(opener: Opener) -> None:
    store = opener()
    store.commit("Helios is down once more")
    store.commit("then we restarted Helios together")
    calls: list[tuple[int, int | None]] = []
    report = store.graph.extract_entities(progress=lambda done, total: calls.append((done, total)))
    assert (report.memories, report.mentions_added) == (1, 1)
    assert calls == [(1, 2), (2, 2)]
    assert store.graph.extract_entities().memories == 0
    assert store.graph.extract_entities(reprocess=True).memories == 2


def test_a_memory_never_has_more_entities_than_it_may(opener: Opener) -> None:
    few = {"entities": {"max_per_memory": 2}}
    store = opener(config=few)
    store.commit("so NATO and Grace Hopper and ABC-123", entities=["Mercury", "Venus"])
    store.commit("we met Grace Hopper in town")
    assert store.graph.entity_backfill().mentions_added == 0


def test_withdrawn_memories_are_left_alone(opener: Opener) -> None:
    filled = opener("a", config=OFF)
    gone = filled.commit("we met Ada Lovelace in town").memory_id
    filled.deprecate(str(gone))
    filled.close()
    assert opener("a").graph.entity_backfill().memories == 0


def test_a_store_opened_for_reading_is_not_filled(opener: Opener) -> None:
    opener("a").commit("we met Ada Lovelace in town")
    reader = opener("a", read_only=True)
    with pytest.raises(StoreLockedError, match="read-only"):
        reader.graph.entity_backfill()
    assert reader.graph.entity_backfill(dry_run=True).mentions_added == 0
    with pytest.raises(ValidationError, match="batch_size"):
        reader.graph.entity_backfill(batch_size=0)


# --- others at the same time, other ways in --------------------------------------------------


def test_threads_that_name_one_entity_share_it(opener: Opener) -> None:
    store = opener("a")
    found: list[tuple[str, ...]] = []

    def write(thread: int) -> None:
        for at in range(5):
            text = f"text {at} of thread {thread} is by Barbara Liskov herself"
            found.append(store.commit(text, on_near_dup="insert").entities)

    threads = [threading.Thread(target=write, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert names(store) == {("UNTYPED", "Barbara Liskov", 15)}


def test_handles_that_name_one_entity_share_it(opener: Opener) -> None:
    one, other = opener("a"), opener("a")
    first = one.commit("we met Ada Lovelace in town").entities
    assert other.commit("then Ada Lovelace left again").entities == first
    assert one.commit("so Ada Lovelace is gone now").entities == first


def test_lines_of_an_import_name_entities_and_questions(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    line = {
        "content": "they spoke about it at length with NATO",
        "entities": [{"name": "Ada Lovelace", "type": "PERSON"}],
        "trigger": "problem-solution",
        "hypothetical_queries": ["Who spoke?"],
    }
    (tmp_path / "lines.jsonl").write_text(json.dumps(line) + "\n")
    assert store.import_(tmp_path / "lines.jsonl").imported == 1
    assert names(store) == {("PERSON", "Ada Lovelace", 1), ("UNTYPED", "NATO", 1)}
    id = store.list().memories[0].id
    with store._session.ledger.read() as view:
        assert view.questions("default", [id]) == {id: ["Who spoke?"]}


def test_another_text_of_a_memory_names_its_own_entities(opener: Opener) -> None:
    store = opener()
    id = store.commit("we met Ada Lovelace in town").memory_id
    store.update(str(id), content="we met Grace Hopper in town")
    assert names(store) == {("UNTYPED", "Grace Hopper", 1), ("UNTYPED", "Ada Lovelace", 0)}
