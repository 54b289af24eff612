"""A ledger that lies ahead of the clock: it is said by how much, and ends in a new store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

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
