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


def test_a_tag_in_other_case_is_no_other_tag(opener: Opener) -> None:
    store = opener()
    id = str(store.commit(TEXT, tags=["Infra", "infra", "crane"]).memory_id)
    assert store.show(id).memory.tags == ("Infra", "crane")
    store.commit(TEXT, tags=["CRANE", "lamp"])
    assert store.show(id).memory.tags == ("Infra", "crane", "lamp")
    store.update(id, tags=["B", "b", "c"])
    assert store.show(id).memory.tags == ("B", "c")


@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
def test_times_and_keywords_are_added(opener: Opener, text: str) -> None:
    known = {"retention_until": "2030-01-01"}
    asked = {
        "t_invalid": "2030-01-01",
        "retention_until": "2031-01-01",
        "keywords": ["chimney"],
    }
    outcome, before, after, store = repeated(opener, text, known, asked)
    assert before.t_invalid is None
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
        ({}, {"retention_until": "2030-01-01"}, "retention_until"),
        ({"retention_policy": "permanent"}, {"retention_until": "2001-01-01"}, "retention_until"),
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


def test_a_repeat_lets_prune_remove_nothing_that_was_kept(opener: Opener) -> None:
    store = opener()
    for known in ({}, {"key": "boiler"}):
        for end in ({}, {"retention_until": "2001-01-01"}):
            store.commit(TEXT, **known, **end)  # type: ignore[arg-type]
    assert store.admin.prune().removed == 0
    assert len(store) == 2


def test_a_retention_that_is_over_is_named(opener: Opener) -> None:
    store = opener()
    (warning,) = store.commit(TEXT, retention_until="2001-01-01").warnings
    assert "its retention ended at 2001-01-01T00:00:00.000000Z" in warning
    assert store.commit("The well is deep.", retention_until="2999-01-01").warnings == ()
    assert store.admin.prune().removed == 1


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


# --- what ended is stated anew -----------------------------------------------------------------

ENDED: dict[str, Any] = {"t_valid": "2023-01-01", "t_invalid": "2025-01-01"}
DAYS = ("2024-06-01", "2025-06-01", "2026-03-01")


def held(store: vestig.Vestig) -> list[int]:
    """How many memories hold on each of the days, by a listing, a count and a recall alike."""
    found = [len(store.list(valid_at=day)) for day in DAYS]
    assert [store.count(valid_at=day) for day in DAYS] == found
    assert [len(store.recall(TEXT, valid_at=day)) for day in DAYS] == found
    assert store.admin.doctor().exit_code == 0
    return found


@pytest.mark.parametrize("key", [None, "boiler.service"])
@pytest.mark.parametrize("text", KINDS, ids=["exact", "near"])
def test_what_ended_holds_again_in_a_memory_of_its_own(
    opener: Opener, text: str, key: str | None
) -> None:
    store = opener(vectors={TEXT: vector_at(1.0), NEAR: vector_at(0.99)})
    old = store.commit(TEXT, key=key, **ENDED)
    new = store.commit(text, key=key, t_valid="2026-02-01")
    assert (new.outcome, new.superseded) == (CommitOutcomeKind.INSERTED_NEW, (old.memory_id,))
    assert new.revives == (old.memory_id if text == TEXT else None)
    assert held(store) == [1, 0, 1]
    (shown,) = store.recall(TEXT)
    assert (shown.id, shown.memory.t_invalid) == (new.memory_id, None)
    # both are known now, each for its time
    for again, id in ((ENDED, old.memory_id), ({"t_valid": "2026-03-01"}, new.memory_id)):
        if text == TEXT:
            assert store.commit(TEXT, key=key, **again).memory_id == id
    assert held(store) == [1, 0, 1]


@pytest.mark.parametrize("key", [None, "boiler.service"])
def test_a_batch_states_anew_as_single_commits_do(opener: Opener, key: str | None) -> None:
    items = [
        {"content": TEXT, "key": key, **ENDED},
        {"content": TEXT, "key": key, "t_valid": "2026-02-01"},
        {"content": TEXT, "key": key, **ENDED},
    ]
    store = opener()
    for _ in range(2):
        outcomes = store.commit_many(items)
        assert [one.memory_id for one in outcomes if isinstance(one, CommitOutcome)][::2] == [
            one.id for one in store.list(where={"include_expired": True}) if one.t_invalid
        ] * 2
        assert store.count(where={"include_expired": True}) == 2
        assert held(store) == [1, 0, 1]


def test_a_text_under_a_key_is_not_shown_as_what_ended_without_one(opener: Opener) -> None:
    store = opener()
    store.commit(TEXT, **ENDED)
    store.commit(TEXT, key="boiler.service", t_valid="2026-02-01")
    shown = [hit.memory.t_invalid is None for hit in store.recall(TEXT)]
    assert sorted(shown) == [False, True]


@pytest.mark.parametrize("key", [None, "boiler.service"])
def test_a_model_alone_begins_nothing_anew(opener: Opener, key: str | None) -> None:
    store = opener()
    old = store.commit(TEXT, role="user", key=key, **ENDED)
    guess = store.commit(TEXT, role="assistant", key=key, t_valid="2026-02-01")
    assert store.get(str(old.memory_id)).status == "ACTIVE"
    if key is None:
        assert guess.memory_id == old.memory_id
        assert "stays so" in guess.warnings[0]
    else:
        assert (guess.beside, guess.key) == (old.memory_id, None)
    assert store.commit(TEXT, role="user", key=key, t_valid="2026-02-01").superseded == (
        old.memory_id,
    )


def test_a_turn_that_is_sent_again_to_its_place_states_nothing_anew(opener: Opener) -> None:
    store = opener()
    turn: dict[str, Any] = {"session_id": "heating", "sequence": 4, "role": "user"}
    first = store.commit(TEXT, t_ref="2026-01-01", **turn)
    store.update(str(first.memory_id), t_invalid="2026-02-01")
    again = store.commit(TEXT, **turn)
    assert (again.memory_id, store.count()) == (first.memory_id, 1)


def test_a_pin_of_what_ended_is_named(opener: Opener) -> None:
    store = opener()
    store.commit(TEXT, pinned=True, **ENDED)
    assert "pinned" in store.commit(TEXT).warnings[0]


def test_a_dry_run_says_that_it_would_hold_again(opener: Opener) -> None:
    store = opener()
    old = store.commit(TEXT, **ENDED)
    outcome = store.commit(TEXT, dry_run=True)
    assert (outcome.outcome, outcome.revives) == ("INSERTED_NEW", old.memory_id)
    assert store.count() == 1


def test_an_announced_text_that_is_said_today_names_its_day(opener: Opener) -> None:
    store = opener()
    store.commit(TEXT, t_valid="2030-01-01")
    assert "t_valid stays 2030" in store.commit(TEXT).warnings[0]


def test_a_program_is_warned_of_times_that_a_known_text_does_not_take(opener: Opener) -> None:
    store = opener()
    store.commit("Room 9 is a storage room", t_valid="2026-01-20", t_invalid="2030-12-20")
    with pytest.warns(UserWarning, match="holds the text already: t_invalid stays 2030-12-20"):
        store.commit("Room 9 is a storage room", t_invalid="2031-04-01")
