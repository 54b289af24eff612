"""Forgetting turns that say the same: each goes alone, and takes along what it gave."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from forget_checks import SECRET, clean, folder_of
from scripted import Opener, pair
from traces import holding
from vestig.testing import FrozenClock

NEAR = f"Note that {SECRET}"


def said(store: vestig.Vestig, session: str, content: str = SECRET, **fields: Any) -> str:
    return str(store.commit(content, session_id=session, sequence=1, **fields).memory_id)


def reinforced(store: vestig.Vestig, id: str) -> tuple[int, object, list[str]]:
    memory = store.show(id).memory
    events = [event.event_type.value for event in store.events(id)]
    return memory.reinforce_count, memory.last_seen_at, events


def test_the_second_of_two_turns_takes_its_reinforcement_along(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    first = said(store, "s1")
    seen = clock.move(days=1)
    assert said(store, "s1") == first
    clock.move(days=1)
    second, third = said(store, "s2"), said(store, "s3")
    assert reinforced(store, first)[0] == 3
    before = store.recall(SECRET, session_ids=["s1"])
    report = store.forget([second, third])
    assert set(report.memory_ids) == {second, third}
    assert report.residues == 0
    assert report.shared_occurrences >= 1
    assert report.rows_removed["events"] == 4
    assert reinforced(store, first) == (1, seen, ["ADD", "REINFORCE_EXACT"])
    assert store.show(first).memory.content == SECRET
    clean(store)
    after = store.recall(SECRET, session_ids=["s1"])
    assert [hit.id for hit in after] == [hit.id for hit in before] == [first]
    counted = [found[0].reason.to_dict()["tracerank_boost"]["events"] for found in (before, after)]
    assert counted == [3, 1]


def test_the_first_of_two_turns_is_forgotten_alone(opener: Opener) -> None:
    store = opener()
    first, second = said(store, "s1"), said(store, "s2")
    report = store.forget(first)
    assert report.memory_ids == (first,)
    assert report.shared_occurrences >= 1
    assert [hit.id for hit in store.recall(SECRET)] == [second]
    assert reinforced(store, second) == (0, None, ["ADD"])
    assert said(store, "s3") != first
    assert store.events(second)[-1].payload["repeated_by"]
    store.forget([second], force=True)
    clean(store)


def test_nothing_of_a_near_turn_stays_with_what_it_repeats(opener: Opener) -> None:
    store = opener(vectors=pair(0.95, SECRET, NEAR))
    first = said(store, "s1")
    near = said(store, "s2", NEAR)
    assert reinforced(store, first)[2] == ["ADD", "REINFORCE_NEAR"]
    digest = store.show(near).memory.content_hash
    store.forget(near)
    assert reinforced(store, first) == (0, None, ["ADD"])
    assert holding(folder_of(store), NEAR.encode(), digest.encode(), bytes.fromhex(digest)) == []


@pytest.mark.parametrize("both", [False, True])
def test_a_forgotten_session_leaves_the_others(opener: Opener, both: bool) -> None:
    store = opener()
    first, second = said(store, "s1"), said(store, "s2")
    named = ["s1", "s2"] if both else ["s2"]
    report = store.forget(where={"session_ids": named})
    assert set(report.memory_ids) == ({first, second} if both else {second})
    assert store.count() == 2 - len(named)
    assert (report.shared_occurrences == 0) is both
    clean(store)


def test_a_dry_run_takes_nothing_back(opener: Opener) -> None:
    store = opener()
    first, second = said(store, "s1"), said(store, "s2")
    store.forget(second, dry_run=True)
    assert reinforced(store, first)[0] == 1
