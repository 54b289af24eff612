"""A ledger that lies ahead of the clock: it is said by how much, and ends in a new store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import vestig
from scripted import Opener
from vestig.testing import FrozenClock
from vestig.times import duration_text

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
NEXT_YEAR = "The archive was moved under a clock that was a year ahead"
NEW_STORE = "`vestig export FILE`, then `vestig import FILE` there"


def ahead(opener: Opener, clock: FrozenClock) -> tuple[vestig.Vestig, str, str]:
    """A store with a memory of today, and one that was committed under a clock a year ahead."""
    store = opener()
    today = store.commit("The harbour is frozen today").memory_id
    clock.move(days=365)
    later = store.commit(NEXT_YEAR).memory_id
    clock.set(NOW)
    clock.move(hours=1)
    return store, str(today), str(later)


def finding(store: vestig.Vestig) -> tuple[str, str]:
    (found,) = [one for one in store.admin.doctor().findings if one.check == "clock"]
    return found.level, found.detail


def test_a_commit_and_a_recall_say_by_how_much(opener: Opener, clock: FrozenClock) -> None:
    store, _today, later = ahead(opener, clock)
    outcome = store.commit("The keys hang beside the door")
    (said,) = outcome.degraded
    assert said.code == "clock_stepped_back"
    assert "364 days 23 h behind the ledger" in said.detail
    assert NEW_STORE in said.detail
    assert store.show(outcome.memory_id).memory.t_created == store.show(later).memory.t_created
    (read,) = store.recall("the keys").degraded
    assert read.code == "clock_stepped_back"
    assert "the ledger lies 364 days 23 h ahead of the clock" in read.detail
    assert store.list().degraded == store.search("the keys").degraded == (read,)
    level, detail = finding(store)
    assert level == "finding"
    assert "the ledger lies 364 days 23 h ahead" in detail
    assert NEW_STORE in detail


def test_half_an_hour_between_two_processes_is_no_word_worth(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    store.commit("The harbour is frozen today")
    clock.move(minutes=-30)
    assert store.commit("The keys hang beside the door").degraded == ()
    assert store.recall("the keys").degraded == ()
    assert finding(store)[0] == "ok"
    clock.move(seconds=-1)
    assert [one.code for one in store.commit("Ada has the other keys").degraded] == [
        "clock_stepped_back"
    ]
    assert store.recall("the keys").degraded == (), "a read says so from a day on"
    assert store.list().degraded == store.search("the keys").degraded == ()
    assert finding(store)[0] == "finding"


def test_an_export_into_a_new_store_ends_it(
    opener: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    store, today, later = ahead(opener, clock)
    written = store.show(later).memory.t_created
    store.export(tmp_path / "all.jsonl")
    other = opener("other")
    other.import_(tmp_path / "all.jsonl")
    created = []
    for text in ("The keys hang beside the door", "Ada has the other keys"):
        clock.move(minutes=5)
        outcome = other.commit(text)
        assert outcome.degraded == ()
        created.append(other.show(outcome.memory_id).memory.t_created)
    assert created == [clock() - (created[1] - created[0]), clock()]
    assert other.show(later).memory.t_created == written, "times are shown as they were written"
    assert other.recall("the archive").degraded == ()
    assert finding(other)[0] == "ok"
    assert {m.id for m in other.list(limit=10)} >= {today, later}


def test_spans_in_words() -> None:
    minute = 60_000_000
    assert [duration_text(n * minute) for n in (0, 31, 60, 61, 1440, 1500, 525_600)] == [
        "0 min", "31 min", "1 h", "1 h 1 min", "1 day", "1 day 1 h", "365 days",
    ]  # fmt: skip


@pytest.mark.parametrize("back", [{"seconds": -5}, {"hours": -2}, {"days": -400}])
def test_a_later_commit_is_the_later_one_whatever_the_clock_says(
    opener: Opener, clock: FrozenClock, back: dict[str, int]
) -> None:
    store = opener()
    store.commit("Biscuit takes no phenobarbital", key="dose")
    clock.move(hours=1)
    first = store.commit("Biscuit takes 30 mg of phenobarbital", key="dose")
    city = store.commit("Maria lives in Porto", key="city")
    note = store.commit("Salt is in kennel one").memory_id
    clock.move(**back)
    second = store.commit("Biscuit takes 45 mg of phenobarbital", key="dose")
    assert second.superseded == (first.memory_id,)
    assert store.get("dose").content == "Biscuit takes 45 mg of phenobarbital"
    assert store.get("dose").t_valid == store.show(second.memory_id).memory.t_created
    third = store.commit("Biscuit takes 60 mg of phenobarbital", key="dose")
    assert third.superseded == (second.memory_id,)
    lisbon = store.update(city.memory_id, content="Maria lives in Lisbon")
    assert store.get("city").id == lisbon.memory_id
    nine = store.commit("Salt is in kennel nine", supersedes=[note])
    assert nine.warnings == ()
    together = store.commit_many(
        [{"content": f"Pepper weighs {n} kg", "key": "weight"} for n in (4, 5, 6)]
    )
    assert store.get("weight").id == together[-1].memory_id
    clock.set(NOW)
    clock.move(hours=4)
    assert store.get("dose").id == third.memory_id
    assert store.commit("Biscuit takes 75 mg of phenobarbital", key="dose").superseded == (
        third.memory_id,
    )


def test_what_ended_is_stated_anew_behind_a_clock_that_stepped_back(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    clock.move(seconds=10)
    id = store.commit("The bridge is closed", t_valid=NOW).memory_id
    store.deprecate(id, t_invalid=clock())
    other = store.commit("The mill is closed", t_valid=NOW, t_invalid=clock()).memory_id
    clock.move(seconds=-5)
    again = store.commit("The mill is closed")
    assert again.memory_id != other


def test_told_times_stand_behind_a_clock_that_stepped_back(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    announced = store.commit("The shop opens at nine", key="shop", t_valid="2026-05-01")
    clock.move(seconds=-5)
    until = store.commit("The shop opens at ten", key="shop")
    assert store.show(until.memory_id).memory.t_invalid == store.get(announced.memory_id).t_valid
    clock.set(NOW)
    held = store.commit("Ada has the keys", key="keys", t_valid=NOW - timedelta(minutes=70))
    clock.move(hours=-2)
    for name in ("t_valid", "t_ref"):
        clock.move(minutes=10)
        early = store.commit(f"Binta has the keys by {name}", key="keys", **{name: clock()})
        assert store.show(early.memory_id).memory.t_valid == clock()
        assert store.get("keys").id == held.memory_id
    end = NOW - timedelta(minutes=65)
    short = store.commit("Ciro has the keys", key="keys", t_invalid=end)
    assert store.show(short.memory_id).memory.t_valid == clock()
    assert store.get("keys").id == held.memory_id


def test_a_value_that_follows_nothing_counts_by_the_clock(
    opener: Opener, clock: FrozenClock
) -> None:
    store, *_ = ahead(opener, clock)
    id = store.commit("The keys hang beside the door", key="keys").memory_id
    assert store.show(id).memory.t_valid == clock()
