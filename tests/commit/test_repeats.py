"""What a caller asks with a repeated text is done, or named in the warnings."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.testing import vector_at
from vestig.types import CommitOutcome, CommitOutcomeKind, Memory

TEXT, NEAR = "The boiler is serviced each spring.", "the boiler is serviced each spring!"
KINDS = {TEXT: CommitOutcomeKind.EXACT_DUPE, NEAR: CommitOutcomeKind.NEAR_DUPE}


def repeated(
    opener: Opener, text: str, known: dict[str, Any], asked: dict[str, Any]
) -> tuple[CommitOutcome, Memory, Memory, vestig.Vestig]:
    """The outcome of the repeat, the memory before it and after it, and the store."""
    store = opener(vectors={TEXT: vector_at(1.0), NEAR: vector_at(0.99)})
    id = store.commit(TEXT, **known).memory_id
    assert id is not None
    before = store.show(id).memory
    outcome = store.commit(text, **asked)
    assert (outcome.outcome, outcome.memory_id) == (KINDS[text], id)
    return outcome, before, store.show(id).memory, store


@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
@pytest.mark.parametrize(
    ("known", "asked", "field", "value"),
    [
        ({}, {"pinned": True}, "pinned", True),
        ({}, {"retention_policy": "permanent"}, "retention_policy", "permanent"),
        ({"retention_policy": "session"}, {"retention_policy": "standard"},
         "retention_policy", "standard"),
        ({}, {"title": "Heating"}, "title", "Heating"),
        ({}, {"trigger": "learning-failure"}, "trigger", "learning-failure"),
        ({}, {"temporal_stability": "static"}, "temporal_stability", "static"),
        ({"metadata": {"floor": 1}}, {"metadata": {"floor": 1, "room": 2}}, "metadata",
         {"source": "manual", "floor": 1, "room": 2}),
        ({"tags": ["a"], "metadata": {"floor": 1}}, {"tags": ["b"], "metadata": {"room": 2}},
         "metadata", {"source": "manual", "tags": ["a", "b"], "floor": 1, "room": 2}),
    ],
)  # fmt: skip
def test_what_adds_is_done(
    opener: Opener, text: str, known: dict[str, Any], asked: dict[str, Any], field: str, value: Any
) -> None:
    outcome, before, after, store = repeated(opener, text, known, asked)
    assert getattr(before, field) != value
    assert getattr(after, field) == value
    assert outcome.warnings == ()
    assert [one for one in store.admin.doctor().findings if one.level == "damage"] == []


@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
def test_times_and_keywords_are_added(opener: Opener, text: str) -> None:
    asked = {
        "t_invalid": "2030-01-01",
        "retention_until": "2031-01-01",
        "keywords": ["chimney"],
    }
    outcome, before, after, store = repeated(opener, text, {}, asked)
    assert (before.t_invalid, before.retention_until) == (None, None)
    assert after.t_invalid is not None
    assert after.retention_until is not None
    assert (after.t_invalid.year, after.retention_until.year) == (2030, 2031)
    assert after.keywords == (*before.keywords, "chimney")
    assert outcome.warnings == ()
    update = next(one for one in store.events(after.id) if one.event_type == "UPDATE")
    assert set(update.payload["new"]) == {"t_invalid", "retention_until", "keywords"}
    assert after.version == before.version + 1
    held = [len(store.recall(TEXT, valid_at=day)) for day in ("2029-01-01", "2030-06-01")]
    assert held == [1, 0]
    later = store.commit(text, retention_until="2032-01-01")
    assert later.warnings == ()
    assert store.show(after.id).memory.retention_until.year == 2032  # type: ignore[union-attr]


@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
@pytest.mark.parametrize(
    ("known", "asked", "named"),
    [
        ({"retention_policy": "permanent"}, {"retention_policy": "standard"}, "retention_policy"),
        ({"retention_until": "2031-01-01"}, {"retention_until": "2030-01-01"}, "retention_until"),
        ({"t_valid": "2026-01-01"}, {"t_valid": "2026-02-01"}, "t_valid"),
        ({"t_invalid": "2030-01-01"}, {"t_invalid": "2031-01-01"}, "t_invalid"),
        ({"t_valid": "2026-01-01"}, {"t_ref": "2024-01-01", "t_invalid": "2025-01-01"},
         "t_invalid"),
        ({"temporal_stability": "static"}, {"temporal_stability": "dynamic"}, "temporal_stability"),
        ({"title": "Heating"}, {"title": "Boiler"}, "title"),
        ({"trigger": "learning-failure"}, {"trigger": "problem-solution"}, "trigger"),
        ({"metadata": {"floor": 1}}, {"metadata": {"floor": 2}}, "metadata.floor"),
        ({"entities": ["Ada"]}, {"entities": ["Ada", "Zora"]}, "Zora"),
        ({}, {"role": "user"}, "role"),
        ({}, {"provenance": {"origin_type": "document"}}, "origin_type"),
        ({}, {"trigger": "learning-failure", "hypothetical_queries": ["When is it serviced?"]},
         "hypothetical_queries"),
    ],
)  # fmt: skip
def test_what_would_replace_is_named(
    opener: Opener, text: str, known: dict[str, Any], asked: dict[str, Any], named: str
) -> None:
    outcome, before, after, _ = repeated(opener, text, known, asked)
    field = named.partition(".")[0]
    if field != "Zora" and hasattr(before, field):
        assert getattr(after, field) == getattr(before, field)
    assert [named in warning for warning in outcome.warnings] == [True]


@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
def test_the_same_wishes_again_are_no_wishes(opener: Opener, text: str) -> None:
    fields: dict[str, Any] = {
        "pinned": True, "retention_policy": "decision", "title": "Heating", "tags": ["home"],
        "metadata": {"floor": 1}, "t_valid": "2026-01-01", "t_invalid": "2030-01-01",
        "entities": ["Ada"], "keywords": ["chimney"], "temporal_stability": "static",
        "retention_until": "2031-01-01", "trigger": "learning-failure",
    }  # fmt: skip
    outcome, before, after, store = repeated(opener, text, fields, fields)
    assert outcome.warnings == ()
    assert after.version == before.version
    assert [one.event_type for one in store.events(after.id)][1:] in (
        ["REINFORCE_EXACT"], ["REINFORCE_NEAR"],
    )  # fmt: skip


def test_later_items_of_a_batch_see_what_was_done(opener: Opener) -> None:
    store = opener()
    outcomes = store.commit_many(
        [
            {"content": TEXT, "entities": ["Ada"]},
            {"content": TEXT, "title": "Heating", "retention_policy": "permanent", "pinned": True},
            {"content": TEXT, "title": "Boiler", "entities": ["Ada"], "t_invalid": "2030-01-01"},
            {"content": TEXT, "t_invalid": "2031-01-01"},
        ]
    )
    warnings = [one.warnings for one in outcomes if isinstance(one, CommitOutcome)]
    assert [len(one) for one in warnings] == [0, 0, 1, 1]
    assert "title stays 'Heating'" in warnings[2][0]
    assert "t_invalid stays 2030" in warnings[3][0]
    (memory,) = store.list()
    assert (memory.title, memory.retention_policy, memory.pinned) == ("Heating", "permanent", True)


def test_a_dry_run_names_them_and_does_nothing(opener: Opener) -> None:
    store = opener()
    store.commit(TEXT, title="Heating")
    outcome = store.commit(TEXT, title="Boiler", pinned=True, dry_run=True)
    assert "title" in outcome.warnings[0]
    assert not store.list()[0].pinned


def test_a_turn_that_repeats_another_changes_nothing_of_it(opener: Opener) -> None:
    store = opener()
    first = store.commit(TEXT, session_id="a", sequence=1)
    second = store.commit(TEXT, session_id="b", sequence=1, pinned=True, title="Heating")
    assert second.repeats == first.memory_id
    assert second.warnings == ()
    memories = {memory.id: memory for memory in store.list()}
    assert [memories[str(one.memory_id)].pinned for one in (first, second)] == [False, True]
