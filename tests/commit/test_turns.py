"""Turns of a session: a text said again at another position is a memory of its own."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener, pair
from vestig.testing import FailingEmbedder, FrozenClock, ScriptedEmbedder
from vestig.types import CommitOutcomeKind as Kind

YES = "Yes, please do that for me."
NEAR = "yes, please do that for me!"


def said(store: vestig.Vestig, session: str | None, place: int | None = None, **fields: Any) -> Any:
    given: dict[str, Any] = {"author": "Ann", "session_id": session, "sequence": place, **fields}
    return store.commit(given.pop("content", YES), **given)


def repeats(store: vestig.Vestig, id: str) -> tuple[int, list[str]]:
    """How often a memory was reinforced, and the turns that say so."""
    payloads = [event.payload for event in store.events(id)]
    found = [payload["repeated_by"] for payload in payloads if "repeated_by" in payload]
    return store.show(id).memory.reinforce_count, found


def test_a_text_said_again_in_another_session_is_a_memory_of_its_own(
    opener: Opener, clock: Any
) -> None:
    store = opener()
    first = said(store, "s1", 1, tags=["a"])
    later = clock.move(days=1)
    second = said(store, "s2", 1, tags=["b"], metadata={"k": 1}, provenance={"artifact_ref": "m-7"})
    assert (second.outcome, second.deduplicated) == (Kind.INSERTED_NEW, False)
    assert second.memory_id != first.memory_id
    assert second.repeats == first.memory_id
    assert second.matched_memory_id is None
    assert first.repeats is None
    assert [event.payload["repeats"] for event in store.events(second.memory_id)] == [
        first.memory_id
    ]
    kept = store.show(first.memory_id).memory
    assert (kept.tags, kept.last_seen_at, kept.version) == (("a",), later, 1)
    assert repeats(store, first.memory_id) == (1, [second.memory_id])
    event = store.events(first.memory_id)[-1]
    assert event.event_type.value == "REINFORCE_EXACT"
    assert event.artifact_ref is None
    assert set(event.payload) == {"content_hash", "tags", "artifact_ref", "repeated_by"}
    own = store.show(second.memory_id).memory
    assert (own.session_id, own.tags, own.metadata["k"]) == ("s2", ("b",), 1)
    assert store.count() == 2


@pytest.mark.parametrize(
    ("session", "place", "kind"),
    [
        ("s1", 1, Kind.EXACT_DUPE),
        ("s1", 2, Kind.INSERTED_NEW),
        ("s1", None, Kind.INSERTED_NEW),
        ("s1", 0, Kind.INSERTED_NEW),
        ("s2", 1, Kind.INSERTED_NEW),
        ("", 1, Kind.INSERTED_NEW),
        (None, None, Kind.EXACT_DUPE),
        (None, 1, Kind.EXACT_DUPE),
    ],
)
def test_only_the_same_position_is_a_duplicate(
    store: vestig.Vestig, session: str | None, place: int | None, kind: Kind
) -> None:
    first = said(store, "s1", 1)
    if session == "":
        session = "S1"
    again = said(store, session, place)
    assert again.outcome is kind
    assert (again.repeats is None) is (kind is Kind.EXACT_DUPE)
    assert (again.memory_id == first.memory_id) is (kind is Kind.EXACT_DUPE)
    assert said(store, session, place).outcome is Kind.EXACT_DUPE


def test_without_a_sequence_a_repeat_in_a_session_is_a_duplicate(store: vestig.Vestig) -> None:
    assert said(store, "s1").outcome is Kind.INSERTED_NEW
    assert said(store, "s1").outcome is Kind.EXACT_DUPE
    assert said(store, "s1", 0).outcome is Kind.INSERTED_NEW
    assert store.count() == 2


def test_another_author_or_scope_repeats_nothing(store: vestig.Vestig) -> None:
    said(store, "s1", 1)
    for fields in ({"author": "Ben"}, {"scope": "work"}, {"author": None}):
        other = said(store, "s2", 1, **fields)
        assert (other.outcome, other.repeats) == (Kind.INSERTED_NEW, None)


def test_a_note_is_a_duplicate_of_a_note_before_the_oldest_turn(store: vestig.Vestig) -> None:
    oldest = said(store, "s1", 1)
    said(store, "s2", 1)
    noted = said(store, None)
    assert (noted.outcome, noted.memory_id) == (Kind.EXACT_DUPE, oldest.memory_id)
    store.deprecate(oldest.memory_id)
    assert said(store, None).memory_id != oldest.memory_id

    other = {"content": "The office is in Oslo, near the harbour"}
    note = said(store, None, **other)
    turn = said(store, "s1", 5, **other)
    assert (turn.outcome, turn.repeats) == (Kind.INSERTED_NEW, note.memory_id)
    assert said(store, None, **other).memory_id == note.memory_id


def test_a_near_duplicate_is_one_only_at_its_position(opener: Opener) -> None:
    store = opener(vectors=pair(0.95, f"Ann: {YES}", f"Ann: {NEAR}"))
    first = said(store, "s1", 1)
    here = said(store, "s1", 1, content=NEAR)
    assert (here.outcome, here.memory_id, here.repeats) == (Kind.NEAR_DUPE, first.memory_id, None)
    there = said(store, "s2", 1, content=NEAR)
    assert (there.outcome, there.repeats) == (Kind.INSERTED_NEW, first.memory_id)
    assert (there.query_score, there.possible_update_of) == (None, None)
    event = store.events(first.memory_id)[-1]
    assert event.event_type.value == "REINFORCE_NEAR"
    assert event.payload["repeated_by"] == there.memory_id
    assert "variant" not in event.payload
    note = said(store, None, content=NEAR)
    assert (note.outcome, note.memory_id) == (Kind.EXACT_DUPE, there.memory_id)


def test_a_turn_prefers_the_near_duplicate_at_its_position(opener: Opener) -> None:
    vectors = pair(0.95, f"Ann: {YES}", f"Ann: {NEAR}")
    third = "Yes, please do that for me"
    vectors[f"Ann: {third}"] = vectors[f"Ann: {YES}"]
    store = opener(vectors=vectors)
    said(store, "s1", 1)
    here = said(store, "s2", 1, content=NEAR)
    assert here.outcome is Kind.INSERTED_NEW
    again = said(store, "s2", 1, content=third)
    assert (again.outcome, again.memory_id) == (Kind.NEAR_DUPE, here.memory_id)


def test_an_archived_text_that_a_turn_repeats_stays_archived(store: vestig.Vestig) -> None:
    first = said(store, "s1", 1)
    store.archive(first.memory_id)
    second = said(store, "s2", 1)
    assert (second.outcome, second.repeats) == (Kind.INSERTED_NEW, first.memory_id)
    assert store.show(first.memory_id).memory.status.value == "archived"
    assert said(store, "s1", 1).memory_id == first.memory_id
    assert store.show(first.memory_id).memory.status.value == "active"


def test_a_turn_revives_only_what_stood_at_its_position(store: vestig.Vestig) -> None:
    first, second = said(store, "s1", 1), said(store, "s2", 1)
    store.deprecate(first.memory_id)
    elsewhere = said(store, "s3", 1)
    assert (elsewhere.revives, elsewhere.repeats) == (None, second.memory_id)
    again = said(store, "s1", 1)
    assert (again.revives, again.repeats) == (first.memory_id, second.memory_id)
    for id in (second, elsewhere, again):
        store.deprecate(id.memory_id)
    note = said(store, None)
    assert (note.outcome, note.revives) == (Kind.INSERTED_NEW, again.memory_id)


def test_a_turn_that_replaces_its_text_repeats_nothing(store: vestig.Vestig) -> None:
    first = said(store, "s1", 1)
    second = said(store, "s2", 1, supersedes=[first.memory_id])
    assert (second.outcome, second.repeats) == (Kind.INSERTED_NEW, None)
    assert second.superseded == (first.memory_id,)
    same = said(store, "s2", 1, supersedes=[second.memory_id])
    assert (same.outcome, same.superseded) == (Kind.EXACT_DUPE, ())


def test_a_batch_of_turns_is_stored_as_one_by_one(opener: Opener) -> None:
    other = "The office is in Oslo, near the harbour"
    items: list[dict[str, Any]] = [
        {"content": text, "author": "Ann", "session_id": session, "sequence": place}
        for text, session, place in (
            (YES, "s1", 1), (YES, "s2", 1), (YES, "s2", 1), (YES, "s2", 3), (YES, None, None),
            (other, None, None), (other, "s1", 2), (other, "s1", 2), (other, None, 7),
        )
    ]  # fmt: skip

    def outline(store: vestig.Vestig, outcomes: list[Any]) -> list[Any]:
        names = {one.memory_id: place for place, one in enumerate(outcomes)}
        return [
            (
                one.outcome.value,
                names[one.memory_id],
                names.get(one.repeats),
                store.show(one.memory_id).memory.reinforce_count,
            )
            for one in outcomes
        ]

    one_by_one, batch = opener("one"), opener("batch")
    first = outline(one_by_one, [one_by_one.commit(**item) for item in items])
    assert outline(batch, batch.commit_many(items)) == first
    assert [kind for kind, *_ in first] == [
        "INSERTED_NEW", "INSERTED_NEW", "EXACT_DUPE", "INSERTED_NEW", "EXACT_DUPE",
        "INSERTED_NEW", "INSERTED_NEW", "EXACT_DUPE", "EXACT_DUPE",
    ]  # fmt: skip
    assert next(count for *_, count in first) == 3


def test_a_batch_that_supersedes_a_text_and_says_it_again(opener: Opener) -> None:
    store = opener()
    old = said(store, "s1", 1)
    new, again = store.commit_many(
        [
            {"content": "No, please leave it as it is.", "supersedes": [old.memory_id]},
            {"content": YES, "author": "Ann", "session_id": "s2", "sequence": 1},
        ]
    )
    assert isinstance(new, vestig.CommitOutcome)
    assert isinstance(again, vestig.CommitOutcome)
    assert new.superseded == (old.memory_id,)
    assert (again.outcome, again.repeats) == (Kind.INSERTED_NEW, None)


def test_a_dry_run_of_a_repeat_writes_nothing(store: vestig.Vestig) -> None:
    first = said(store, "s1", 1)
    dry = said(store, "s2", 1, dry_run=True)
    assert (dry.outcome, dry.repeats, dry.memory_id) == (Kind.INSERTED_NEW, first.memory_id, None)
    assert store.count() == 1
    assert repeats(store, first.memory_id) == (0, [])


def test_a_turn_moves_to_a_scope_where_its_position_is_free(store: vestig.Vestig) -> None:
    said(store, "s1", 1, scope="work")
    other, same = said(store, "s2", 1), said(store, "s1", 1)
    store.update(other.memory_id, scope="work")
    with pytest.raises(vestig.ConflictError, match="holds the same text there"):
        store.update(same.memory_id, scope="work")


def test_a_turn_without_a_vector_is_no_update_of_what_it_repeats(
    opener: Opener, clock: FrozenClock
) -> None:
    embedder = FailingEmbedder("error", dimensions=64, after=1)
    store = opener(embedder=embedder, config={"embedding": {"on_failure": "defer"}})
    first, second = said(store, "s1", 1), said(store, "s2", 1)
    assert (second.outcome, second.repeats) == (Kind.INSERTED_NEW, first.memory_id)
    assert second.jobs
    embedder.after = 1_000
    clock.move(days=1)
    report = store.admin.enrich()
    assert (report.done, report.possible_updates) == (1, 0)


def test_a_text_that_many_turns_say_is_embedded_once(opener: Opener) -> None:
    embedder = ScriptedEmbedder({"a": [1.0, 0.0]}, default=[0.0, 1.0])
    store = opener(embedder=embedder)
    turns = [
        {"content": YES, "author": "Ann", "session_id": f"s{place % 4}", "sequence": place}
        for place in range(40)
    ]
    outcomes = store.commit_many(turns)
    assert len({getattr(one, "memory_id", None) for one in outcomes}) == 40
    assert [text for call in embedder.calls for text in call].count(f"Ann: {YES}") == 1
    assert all(store.show(one.memory_id).embedding_dimensions == 2 for one in outcomes)  # type: ignore[union-attr]


@pytest.mark.parametrize("together", [False, True])
def test_equal_texts_are_not_related_to_each_other(opener: Opener, together: bool) -> None:
    store = opener(config={"links.related.max_edges_per_memory": 2})
    near = "Yes, please do that for me today."
    items: list[dict[str, Any]] = [
        {"content": text, "author": "Ann", "session_id": f"s{place}", "sequence": 1}
        for place, text in enumerate([near, *[YES] * 6, near, YES])
    ]
    outcomes = store.commit_many(items) if together else [store.commit(**item) for item in items]
    texts = {
        getattr(one, "memory_id", ""): item["content"]
        for one, item in zip(outcomes, items, strict=True)
    }
    edges = store.graph.edges(edge_type="RELATED", limit=100)
    assert len(edges) == 1 * 6 + 2 * 2
    assert all(texts[edge.edge.from_id] != texts[edge.edge.to_id] for edge in edges)
    report = store.graph.rebuild_edges("RELATED")
    assert (report.kept, report.added, report.expired) == (len(edges), 0, 0)
