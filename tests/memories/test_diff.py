"""The difference between two times: each change in its list, and the lists add up."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from scripted import Opener
from vestig.errors import ValidationError
from vestig.results import DiffReport, ReplacedMemory, UpdatedMemory
from vestig.testing import FrozenClock, HashingEmbedder

FILTERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"tags": "even"},
    {"authors": "Ada"},
    {"scope": "lab"},
    {"include_archived": True},
    {"sources": "hook", "include_archived": True},
)


def committed(store: vestig.Vestig, text: str, **arguments: Any) -> str:
    id = store.commit(text, **arguments).memory_id
    assert id is not None
    return id


def listed(store: vestig.Vestig, where: Any, known_at: datetime) -> set[str]:
    return {memory.id for memory in store.list(where, known_at=known_at, limit=1000)}


def went(found: DiffReport) -> set[str]:
    """Ids of what is in no listing any more, by what the lists say."""
    replaced = {one.old for one in found.changed if isinstance(one, ReplacedMemory)}
    return replaced | {one.id for one in (*found.withdrawn, *found.ended)}


steps = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "commit", "commit", "commit", "supersede", "replace", "deprecate", "end", "archive",
                "unarchive", "update", "reword", "forget", "tick", "tick",
            )
        ),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    max_size=24,
)  # fmt: skip


def act(store: vestig.Vestig, clock: FrozenClock, n: int, step: tuple[str, int, int]) -> None:
    """One step of a history; one that a state forbids does nothing."""
    name, first, second = step
    if name == "tick":
        clock.move(hours=1 + first % 3)
        return
    every = store.list({"statuses": ["ACTIVE", "SUPERSEDED", "DEPRECATED", "ARCHIVED"]}, limit=1000)
    ids = sorted(memory.id for memory in every)
    text = f"Fact number {n * 7919} about the harbour"
    fields: dict[str, Any] = {
        "tags": ["even"] if first % 2 == 0 else None,
        "author": "Ada" if first % 3 == 0 else None,
        "scope": "lab" if first % 5 == 0 else None,
        "source": "hook" if first % 4 == 0 else "manual",
    }
    if name == "commit" or not ids:
        store.commit(text, **fields)
        return
    id, other = ids[first % len(ids)], ids[second % len(ids)]
    calls: dict[str, Any] = {
        "supersede": lambda: store.supersede(id, other),
        "replace": lambda: store.commit(text, supersedes=[id], **fields),
        "deprecate": lambda: store.deprecate(id),
        "end": lambda: store.deprecate(id, t_invalid=clock()),
        "archive": lambda: store.archive(id),
        "unarchive": lambda: store.unarchive(id),
        "update": lambda: store.update(id, trigger="problem-solution"),
        "reword": lambda: store.update(id, text),
        "forget": lambda: store.forget(id),
    }
    try:
        calls[name]()
    except vestig.ConflictError:
        return


@given(steps, st.integers(0, 23), st.integers(0, 23), st.sampled_from(FILTERS))
def test_listings_at_both_ends_differ_by_what_the_lists_say(
    history: list[tuple[str, int, int]], first: int, second: int, where: Any
) -> None:
    clock = FrozenClock()
    config = {"hygiene.near_duplicate.enabled": False}
    with vestig.open(":memory:", embedder=HashingEmbedder(16), clock=clock, config=config) as store:
        moments = [clock()]
        for n, step in enumerate(history):
            act(store, clock, n, step)
            moments.append(clock())
        clock.move(hours=1)
        start, end = sorted((moments[first % len(moments)], moments[second % len(moments)]))
        for until in (end, None):
            found = store.diff(start, until, where=where)
            before = listed(store, where, start)
            after = listed(store, where, clock() if until is None else until)
            learnt = {memory.id for memory in found.learnt}
            assert learnt.isdisjoint(before)
            assert after == (before | learnt) - went(found)
            for entries in (found.learnt, found.withdrawn, found.ended, found.forgotten):
                places = [(getattr(one, "when", None) or one.t_created, one.id) for one in entries]
                assert places == sorted(places)
            times = [one.when for one in found.changed]
            assert times == sorted(times)
            gone = {one.id for one in found.forgotten}
            assert gone.isdisjoint(learnt | went(found) | before | after)


@pytest.fixture
def told(opener: Opener, clock: FrozenClock) -> dict[str, Any]:
    """A store with one change of each kind after `start`."""
    store = opener()
    names = ("moved", "wrong", "over", "tagged", "hidden", "gone", "brief")
    ids = {
        name: committed(store, f"The {name} fact of the harbour", tags=["old"]) for name in names
    }
    store.archive(ids["hidden"])
    committed(store, "Ximena Duarte runs the crane", entities=["PERSON:Ximena Duarte"])
    committed(store, "X. Duarte runs the crane at night", entities=["PERSON:X. Duarte"])
    start = clock()
    clock.move(hours=1)
    ids["new"] = committed(store, "The new fact of the harbour", supersedes=[ids["moved"]])
    store.deprecate(ids["wrong"], "a joke")
    clock.move(hours=1)
    store.deprecate(ids["over"], t_invalid="2026-03-18T13:00:00Z")
    store.update(ids["tagged"], tags=["new"], trigger="problem-solution")
    store.unarchive(ids["hidden"])
    store.graph.merge_entities("Ximena Duarte", "X. Duarte")
    store.forget(ids["gone"], actor="ops")
    ids["passing"] = committed(store, "The passing fact of the harbour")
    store.deprecate(ids["passing"])
    return {"store": store, "start": start, "ids": ids}


def test_each_kind_of_change_is_in_its_list(told: dict[str, Any], clock: FrozenClock) -> None:
    store, ids = told["store"], told["ids"]
    found = store.diff(told["start"])
    assert [memory.id for memory in found.learnt] == [ids["new"], ids["passing"]]
    replaced = [one for one in found.changed if isinstance(one, ReplacedMemory)]
    assert [(one.old, one.new) for one in replaced] == [(ids["moved"], ids["new"])]
    updated = {one.id: one.fields for one in found.changed if isinstance(one, UpdatedMemory)}
    assert updated == {ids["tagged"]: ("tags", "trigger"), ids["hidden"]: ("status",)}
    assert [(one.id, one.reason) for one in found.withdrawn] == [
        (ids["wrong"], "a joke"),
        (ids["passing"], "Manual deprecation"),
    ]
    assert [(one.id, one.t_invalid) for one in found.ended] == [
        (ids["over"], "2026-03-18T13:00:00.000000Z")
    ]
    assert len(found.merged_entities) == 1
    assert [(one.id, one.actor, one.when) for one in found.forgotten] == [
        (ids["gone"], "ops", clock())
    ]
    assert "gone fact" not in repr(found)
    assert found.to_dict()["forgotten"][0].keys() == {"id", "when", "actor", "counts"}


def test_the_start_is_out_and_the_end_is_in(told: dict[str, Any], clock: FrozenClock) -> None:
    store, start = told["store"], told["start"]
    whole = store.diff("2000-01-01", start)
    assert len(whole.learnt) == 8, "what is stored still, of what was stored by then"
    assert [getattr(one, "id", None) for one in whole.changed] == [told["ids"]["hidden"]]
    assert (whole.withdrawn, whole.ended, whole.forgotten) == ((), (), ())
    for moment in (start, clock()):
        nothing = store.diff(moment, moment)
        assert not any(getattr(nothing, name) for name in ("learnt", "changed", "withdrawn"))
    assert store.diff(start, "2026-03-18T13:00:00Z").ended == ()
    assert len(store.diff("2026-03-18T13:00:00Z").ended) == 1


def test_what_replaced_a_memory_may_be_forgotten_since(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    old = committed(store, "The office is in Bergen")
    start = clock()
    clock.move(hours=1)
    new = committed(store, "The office is in Oslo", supersedes=[old])
    store.forget(new)
    (change,) = store.diff(start).changed
    assert isinstance(change, ReplacedMemory)
    assert (change.old, change.new) == (old, None)


@pytest.mark.parametrize(
    ("arguments", "told_of"),
    [
        ({"start": "2026-03-19", "end": "2026-03-18"}, "start: expected a time until the end"),
        ({"start": "2900-01-01"}, "start: expected a time until the end"),
        ({"start": "yesterday"}, "start: "),
        ({"start": "2026-01-01", "end": 5}, "end: "),
        ({"start": "2026-01-01", "where": {"statuses": "ACTIVE"}}, "where.statuses: expected noth"),
        ({"start": "2026-01-01", "where": {"include_expired": True}}, "where.include_expired: "),
        ({"start": "2026-01-01", "where": {"tag": "a"}}, "did you mean tags"),
    ],
    ids=str,
)
def test_what_is_no_span_is_refused(opener: Opener, arguments: Any, told_of: str) -> None:
    store = opener()
    committed(store, "The office is in Bergen")
    with pytest.raises(ValidationError) as caught:
        store.diff(**arguments)
    assert told_of in str(caught.value)


def test_another_namespace_has_a_difference_of_its_own(opener: Opener) -> None:
    store = opener()
    id = committed(store, "The office is in Bergen", namespace="elsewhere")
    store.forget(
        committed(store, "The office is in Oslo", namespace="elsewhere"), namespace="elsewhere"
    )
    assert store.diff("2000-01-01").learnt == store.diff("2000-01-01").forgotten == ()
    there = store.diff("2000-01-01", namespace="elsewhere")
    assert ([memory.id for memory in there.learnt], len(there.forgotten)) == ([id], 1)


def test_what_was_replaced_twice_is_listed_as_it_was_known(opener: Opener) -> None:
    clock = FrozenClock()
    store = opener(clock=clock)
    first = store.commit("The harbour office has two desks").memory_id
    second = store.commit("The harbour office has five desks", supersedes=[first]).memory_id
    known = clock()
    clock.move(hours=1)
    store.commit("The harbour office has nine desks", supersedes=[first])
    found = store.list(known_at=known)
    assert [one.id for one in found] == [second]
