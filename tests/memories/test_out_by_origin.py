"""What one origin brought is taken out: withdrawn or forgotten by a filter, under one guard."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_forget_selectors import NOTHING, STATUSES, filled, opened, says, wheres

import vestig
from scripted import Opener
from vestig.calls.filter import NARROWING, SELECTORS
from vestig.testing import FrozenClock, HashingEmbedder

Call = Literal["deprecate", "forget"]
CALLS: tuple[Call, ...] = ("deprecate", "forget")
EXPIRED = ("SUPERSEDED", "DEPRECATED")


def taken_out(store: vestig.Vestig, call: Call, **arguments: Any) -> Any:
    return getattr(store, call)(**arguments)


def active(store: vestig.Vestig) -> set[str]:
    return {memory.id for memory in store.list(limit=100)}


def committed(store: vestig.Vestig, text: str, **arguments: Any) -> str:
    id = store.commit(text, **arguments).memory_id
    assert id is not None
    return id


@pytest.mark.slow
@given(wheres, st.booleans())
def test_a_withdrawal_takes_what_the_filter_matches_and_never_more(where: Any, every: bool) -> None:
    store = opened()
    try:
        all_ids = filled(store)
        left = {name: value for name, value in where.items() if says(name, value)}
        selects = left.keys() & (SELECTORS | NARROWING if every else SELECTORS)
        before = store.list({"statuses": STATUSES}, limit=100)
        if any(value in NOTHING for value in where.values()) or not selects:
            with pytest.raises(vestig.ValidationError):
                store.deprecate(where=where, all=every)
            assert store.list({"statuses": STATUSES}, limit=100) == before
            return
        meant: dict[str, Any] = {"include_expired": True, "include_archived": True} | left
        matched = {one.id for one in store.list(meant, limit=100) if one.status not in EXPIRED}
        plan = store.deprecate(where=where, all=every, dry_run=True)
        assert store.list({"statuses": STATUSES}, limit=100) == before
        report = store.deprecate(where=where, all=every)
        assert set(report.memory_ids) == set(plan.memory_ids) == matched
        after = {one.id: one for one in store.list({"statuses": STATUSES}, limit=100)}
        assert after.keys() == all_ids, "the texts stay"
        assert {id for id in matched if after[id].status == "DEPRECATED"} == matched
        rest = [one for one in before if one.id not in matched]
        assert [after[one.id] for one in rest] == rest
    finally:
        store.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "where: expected id, or a filter"),
        ({"where": {}}, "where: expected id, or a filter"),
        (
            {"where": {"since": "2020-01-01"}},
            'to deprecate by since alone, add all=True: deprecate(where={"since": …}, all=True)',
        ),
        ({"where": {"session_ids": None}}, "where.session_ids: expected a value"),
        ({"where": {"sources": "a", "session_ids": []}}, "where.session_ids: expected a value"),
        ({"id": "mem_00000000", "where": {"tags": "x"}}, "id: expected either id or a filter"),
        ({"id": "mem_00000000", "dry_run": True}, "dry_run: expected it beside where"),
        ({"id": "mem_00000000", "only": True}, "only: expected it beside `sources`"),
        ({"where": {"session_ids": "s"}, "only": True}, "only: expected it beside `sources`"),
        ({"where": {"exclude_sources": "s", "tags": "x"}, "only": True}, "only: expected"),
        ({"where": {"sources": "a"}, "only": 1}, "only: expected true or false"),
    ],
    ids=str,
)
def test_a_refusal_says_what_would_select(opener: Opener, arguments: Any, told: str) -> None:
    store = opener(embedder=HashingEmbedder(16))
    committed(store, "The pump of the harbour leaks", source="a", session_id="s")
    with pytest.raises(vestig.ValidationError) as caught:
        store.deprecate(**arguments)
    assert str(caught.value).startswith(told) or told in str(caught.value)
    assert len(active(store)) == 1


@pytest.mark.parametrize("call", CALLS)
def test_only_leaves_what_another_source_stated_too(opener: Opener, call: Call) -> None:
    store = opener(embedder=HashingEmbedder())
    alone = committed(store, "The crane is painted green", source="Crawler")
    both = committed(store, "The crane was built in 1971", source="crawler")
    again = committed(store, "The crane was built in 1971", source="handbook")
    first = committed(store, "The crane lifts nine tons", source="handbook")
    store.commit("The crane lifts nine tons", source="CRAWLER")
    other = committed(store, "The crane stands on rails", source="handbook")
    assert both == again
    # pinned and tagged by another, but stated by one source alone
    store.pin(alone)
    store.unpin(alone)
    plan = taken_out(store, call, where={"sources": "cRAWLER"}, only=True, dry_run=True)
    assert plan.memory_ids == (alone,)
    assert plan.dry_run
    assert active(store) == {alone, both, first, other}
    done = taken_out(store, call, where={"sources": ["crawler"]}, only=True)
    assert done.memory_ids == (alone,)
    assert active(store) == {both, first, other}
    named = {"sources": ["crawler", "handbook"]}
    wide = taken_out(store, call, where=named, only=True, dry_run=True)
    assert set(wide.memory_ids) == {both, first, other}, "no other than these"
    without = taken_out(store, call, where={"sources": "crawler"}, dry_run=True)
    assert set(without.memory_ids) == {both, first}


def test_composed_and_decomposed_names_of_a_source_are_one(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder())
    id = committed(store, "The crane is painted green", source="Café")
    store.commit("The crane is painted green", source="Cafe\u0301")
    assert store.deprecate(where={"sources": "CAFÉ"}, only=True).memory_ids == (id,)


@pytest.mark.parametrize("call", CALLS)
def test_a_source_that_states_it_meanwhile_keeps_it(
    opener: Opener, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.memories import forget, withdrawal

    store = opener(embedder=HashingEmbedder())
    id = committed(store, "The crane is painted green", source="crawler")
    module = withdrawal if call == "deprecate" else forget
    selected = module.selected_ids

    def and_then_stated_again(*arguments: Any) -> list[str]:
        found = selected(*arguments)
        store.commit("The crane is painted green", source="handbook")
        return found

    monkeypatch.setattr(module, "selected_ids", and_then_stated_again)
    assert taken_out(store, call, where={"sources": "crawler"}, only=True).memory_ids == ()
    assert active(store) == {id}


@pytest.mark.parametrize("call", CALLS)
def test_what_the_source_had_superseded_is_listed_and_stays_so(opener: Opener, call: Call) -> None:
    store = opener(embedder=HashingEmbedder())
    good = committed(store, "The office is in Bergen", source="handbook")
    older = committed(store, "The office has nine rooms", source="handbook")
    wrong = committed(store, "The office is on the moon", session_id="s", supersedes=[good])
    worse = committed(
        store, "The office is on the sun", session_id="s", sequence=1, supersedes=[wrong, older]
    )
    plan = taken_out(store, call, where={"session_ids": "s"}, dry_run=True)
    done = taken_out(store, call, where={"session_ids": "s"})
    listed = tuple(sorted((good, older)))
    assert plan.had_superseded == done.had_superseded == listed, "none of the session's own"
    assert worse in done.memory_ids
    assert active(store) == set()
    assert store.show(good).memory.status == "SUPERSEDED"
    assert store.commit("The office is in Bergen").revives == good


def test_forgetting_by_id_names_what_it_had_superseded_too(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder())
    old = committed(store, "The office is in Bergen")
    new = committed(store, "The office is in Oslo", supersedes=[old])
    assert store.forget(old, dry_run=True).had_superseded == ()
    assert store.forget(new).had_superseded == (old,)


def test_a_withdrawal_is_whole_or_not_at_all(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder())
    for day in ("2026-01-01", "2026-03-01"):
        committed(store, f"The crane was oiled on {day}", t_valid=day, source="log")
    with pytest.raises(vestig.ValidationError, match="t_invalid: expected a time from t_valid"):
        store.deprecate(where={"sources": "log"}, t_invalid="2026-02-01")
    assert len(active(store)) == 2
    seq = store.deprecate(where={"sources": "log"}, t_invalid="2026-03-17").seq
    assert store.admin.stats().seq == seq
    assert store.count(valid_at="2026-03-15", where={"include_expired": True}) == 2
    assert store.deprecate(where={"sources": "log"}).memory_ids == ()
    assert store.admin.stats().seq == seq, "nothing to write"


def test_what_was_withdrawn_is_there_for_time_travel(opener: Opener, clock: FrozenClock) -> None:
    store = opener(embedder=HashingEmbedder())
    id = committed(store, "The crane is painted green", source="crawler")
    before = clock()
    clock.move(days=1)
    store.deprecate(where={"sources": "crawler"}, reason="nonsense")
    assert store.count() == 0
    assert [one.id for one in store.list(known_at=before)] == [id]
    assert store.events(id)[-1].payload["reason"] == "nonsense"


def test_a_replacement_carries_the_origin_of_the_commit_that_made_it(opener: Opener) -> None:
    store = opener(embedder=HashingEmbedder())
    old = committed(store, "The office is in Bergen", source="handbook")
    committed(store, "The office is in Oslo", source="crawler", actor="bot 7", supersedes=[old])
    event = store.events(old)[-1]
    assert (event.event_type, event.source, event.actor) == ("SUPERSEDE", "crawler", "bot 7")
    assert store.count({"sources": "crawler", "statuses": ["SUPERSEDED"]}) == 0, "it stated nothing"
