"""A ledger that lies ahead of the clock: it is said, named, and put right by an epoch."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import vestig
from scripted import Opener
from vestig.errors import StoreDamagedError
from vestig.store.ledger.opening import open_ledger
from vestig.testing import FrozenClock
from vestig.times import duration_text

NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
NEXT_YEAR = "The archive was moved under a clock that was a year ahead"


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
    assert "vestig doctor --clock" in said.detail
    assert store.show(outcome.memory_id).memory.t_created == store.show(later).memory.t_created
    (read,) = store.recall("the keys").degraded
    assert read.code == "clock_stepped_back"
    assert "the ledger lies 364 days 23 h ahead of the clock" in read.detail
    assert store.list().degraded == store.search("the keys").degraded == (read,)
    level, detail = finding(store)
    assert level == "finding"
    assert "the ledger lies 364 days 23 h ahead" in detail
    assert "vestig doctor --clock" in detail


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


def test_an_epoch_ends_the_freeze(opener: Opener, clock: FrozenClock, tmp_path: Path) -> None:
    store, today, later = ahead(opener, clock)
    written = store.show(later).memory.t_created
    done = store.admin.correct_clock(actor="Ada")
    assert (done.changed, done.before, done.corrected_at) == (True, written, clock())
    again = store.admin.correct_clock()
    assert (again.changed, again.seq) == (False, done.seq)
    assert finding(store)[0] == "ok"
    created = []
    for text in ("The keys hang beside the door", "Ada has the other keys"):
        clock.move(minutes=5)
        outcome = store.commit(text)
        assert outcome.degraded == ()
        created.append(store.show(outcome.memory_id).memory.t_created)
    assert created == [clock() - (created[1] - created[0]), clock()]
    assert store.show(later).memory.t_created == written, "what is stored stays"
    assert store.recall("the archive").degraded == ()
    clock.move(minutes=-2)
    frozen = store.commit("Within an epoch no time goes back")
    assert store.show(frozen.memory_id).memory.t_created == created[1]
    with store._session.ledger.read() as view:
        rows = view.connection.execute("SELECT seq, recorded_us FROM chain ORDER BY seq").fetchall()
    assert [seq for seq, _ in rows] == list(range(len(rows)))
    assert not [f for f in store.admin.doctor().findings if f.level == "damage"]
    store.admin.rebuild()
    store.close()
    assert {m.id for m in opener().list(limit=10)} >= {today, later}
    with open_ledger(tmp_path / "store") as ledger:
        assert ledger.verify_all() == []


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_time_of_an_earlier_epoch_counts_as_the_corrected_one(
    opener: Opener, clock: FrozenClock, rebuilt: bool
) -> None:
    store, today, later = ahead(opener, clock)
    before = clock()
    clock.move(minutes=1)
    store.admin.correct_clock()
    corrected = clock()
    clock.move(days=1)
    fresh = str(store.commit("The keys hang beside the door").memory_id)
    if rebuilt:
        store.admin.rebuild()
    clock.move(days=1)
    known = {"before": before, "corrected": corrected, "now": clock()}
    wanted = {"before": {today}, "corrected": {today, later}, "now": {today, later, fresh}}
    for name, moment in known.items():
        found = store.recall("the archive and the keys", known_at=moment, limit=10)
        assert {hit.id for hit in found} == wanted[name], name
        assert {m.id for m in store.list(known_at=moment)} == wanted[name], name
    assert store.show(later, known_at=corrected).memory.id == later
    with pytest.raises(vestig.NotFoundError):
        store.show(later, known_at=before)
    since = {hit.id for hit in store.recall("archive keys harbour", since=corrected, limit=10)}
    until = {hit.id for hit in store.recall("archive keys harbour", until=corrected, limit=10)}
    assert (since, until) == ({later, fresh}, {today})


def test_a_withdrawal_of_an_earlier_epoch_counts_from_the_corrected_time(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener()
    id = str(store.commit("The office is in Oslo").memory_id)
    clock.move(days=365)
    store.deprecate(id, reason="moved")
    clock.set(NOW)
    clock.move(hours=1)
    before = clock()
    clock.move(hours=1)
    store.admin.correct_clock()
    corrected = clock()
    clock.move(days=1)
    for found in (store.recall("the office", known_at=before), store.list(known_at=before)):
        assert len(found) == 1
    for found in (store.recall("the office", known_at=corrected), store.list(known_at=corrected)):
        assert len(found) == 0
    assert "expired" in store.show(id, known_at=corrected).flags
    assert "expired" not in store.show(id, known_at=before).flags


def test_a_damaged_epoch_is_found_at_read_and_by_doctor(
    opener: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    store, _today, _later = ahead(opener, clock)
    store.admin.correct_clock()
    store.close()
    conn = apsw.Connection(str(tmp_path / "store" / "ledger.sqlite"))
    conn.execute("UPDATE clock_epochs SET corrected_us = corrected_us + 1")
    conn.close()
    clock.move(days=1)
    store = opener()
    with pytest.raises(StoreDamagedError, match="clock_epochs"):
        store.list(known_at=NOW)
    with pytest.raises(StoreDamagedError, match="clock_epochs"):
        store.admin.rebuild()
    assert [f.check for f in store.admin.doctor().findings if f.level == "damage"]


def test_an_export_takes_epochs_along(opener: Opener, clock: FrozenClock, tmp_path: Path) -> None:
    store, today, later = ahead(opener, clock)
    store.admin.correct_clock(actor="Ada")
    corrected = clock()
    store.export(tmp_path / "all.jsonl")
    clock.move(days=1)
    other = opener("other")
    other.import_(tmp_path / "all.jsonl")
    assert {m.id for m in other.list(known_at=corrected)} == {today, later}
    assert other.commit("The keys hang beside the door").degraded == ()


def test_spans_in_words() -> None:
    minute = 60_000_000
    assert [duration_text(n * minute) for n in (0, 31, 60, 61, 1440, 1500, 525_600)] == [
        "0 min", "31 min", "1 h", "1 h 1 min", "1 day", "1 day 1 h", "365 days",
    ]  # fmt: skip
