"""Random histories of one key, against a model: what is current, and what held when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from vestig.errors import NotFoundError
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import CommitOutcome

KEY = "lamp.colour"
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = tuple(f"The lamp in the hall is {colour}" for colour in ("red", "green", "blue", "grey"))


class Version(msgspec.Struct):
    begin: int
    text: str
    made: int
    status: str = "ACTIVE"
    end: int | None = None
    id: str = ""
    said: tuple[int, ...] = ()

    def holds(self, day: int) -> bool:
        return self.begin <= day and (self.end is None or day < self.end)


class Model:
    """The rules of a key. Days are numbers."""

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.day = 100

    def current(self) -> Version | None:
        return next((one for one in self.versions if one.status == "ACTIVE"), None)

    def holding(self) -> Version | None:
        """What holds until the current one begins."""
        now = self.current()
        if now is not None and now.begin <= self.day:
            return None
        found = [one for one in self.held() if one.status == "SUPERSEDED" and one.holds(self.day)]
        return max(found, key=lambda one: one.begin, default=None)

    def waiting(self) -> list[Version]:
        """What is replaced and holds until that begins."""
        replaced = [one for one in self.held() if one.status == "SUPERSEDED"]
        return [one for one in replaced if one.end is not None and one.end > self.day]

    def held(self) -> list[Version]:
        """Without those that were withdrawn, and those that ended when they began."""
        return [
            one
            for one in self.versions
            if one.status != "DEPRECATED" and (one.end is None or one.end > one.begin)
        ]

    def commit(self, text: str, begin: int, *, named: bool = False, id: str = "") -> Version:
        """`named`: it replaces the current one for good. `id`: which of equal versions that hold at
        once the store took it for."""
        now = self.current()
        held = sorted(self.held(), key=lambda one: one.begin)
        if now is not None and begin < now.begin:
            # of two that hold then, it is the one that began last
            held_then = [one for one in reversed(held) if one.text == text and one.holds(begin)]
            equal = [one for one in held_then if one.status == "SUPERSEDED"]
            if equal:
                known = (one for one in equal if one.id == id)
                return self.said_again(next(known, equal[0]), begin)
        same = now is not None and now.text == text
        anew = same and now.end is not None and now.end <= max(begin, now.begin)
        if same and not anew and now.begin <= begin:
            return self.said_again(now, begin)
        new = Version(begin, text, self.day)
        later = [one for one in held if one.begin > begin]
        untold = now is not None and not same and begin < now.begin == now.made
        again: Version | None = None
        if now is not None and (untold or (now.begin <= begin and not anew)):
            again = self.again(now, max(now.begin, begin))
        for one in held[len(held) - len(later) - 1 : len(held) - len(later)]:
            if now is not None and now.begin > begin and not untold:
                again = self.again(one, begin)
            one.end = begin if one.end is None else min(one.end, begin)
        if now is not None and now.begin <= begin:
            # what held beside it ends too
            for one in [one for one in held if one.begin <= begin and one is not now][-1:]:
                one.end = begin if one.end is None else min(one.end, begin)
        if now is not None and (anew or now.begin <= begin):
            now.status = "SUPERSEDED"
            now.end = begin if now.end is None else min(now.end, begin)
        elif untold:
            # nobody said since when it holds, and the later word is the newer one
            now.status = "SUPERSEDED"
            now.end = now.begin
        elif now is not None:
            new.status = "SUPERSEDED"
            new.end = later[0].begin if later else now.begin
        self.versions.append(new)
        if again is not None and not named:
            new.status, new.end = "SUPERSEDED", again.begin
            self.versions.append(again)
        return new

    def update(self, now: Version, text: str) -> Version:
        """Another text of the current one, which keeps its end: from now on where that holds, else
        as long as the one before."""
        end = now.end
        new = self.commit(text, self.day if now.holds(self.day) else now.begin, named=True)
        new.end = end
        return new

    def said_again(self, version: Version, begin: int) -> Version:
        """Of what is said today nobody told since when it holds."""
        if begin != self.day:
            version.said += (begin,)
        return version

    def again(self, version: Version, day: int) -> Version | None:
        """What holds again from when a version was stated again behind a day."""
        said = [one for one in version.said if one > day and version.holds(one)]
        if not said:
            return None
        begin = min(said)
        later = [] if version is self.current() else self.held()
        ends = [one.begin for one in later if one.begin >= begin]
        ends += [] if version.end is None else [version.end]
        end = min(ends, default=None)
        again = Version(begin, version.text, self.day, version.status, end)
        again.said = tuple(one for one in said if one > begin)
        return again

    def at(self, day: int) -> list[str]:
        return sorted(one.text for one in self.held() if one.holds(day))


days = st.integers(0, 30)
texts = st.sampled_from(TEXTS)
operations = st.one_of(
    st.tuples(st.just("commit"), texts),
    st.tuples(st.just("commit"), texts),
    st.tuples(st.just("backdated"), texts, days),
    st.tuples(st.just("backdated"), texts, days),
    st.tuples(st.just("announced"), texts, st.integers(102, 112)),
    st.tuples(st.just("batch"), st.lists(st.tuples(texts, days), min_size=2, max_size=5)),
    st.tuples(st.just("update"), texts),
    st.tuples(st.just("deprecate")),
    st.tuples(st.just("withdraw"), st.integers(0, 3)),
    st.tuples(st.just("end"), days),
    st.tuples(st.just("forget"), st.integers(0, 9)),
)


class History:
    """A store and its model, a day after the other."""

    def __init__(self) -> None:
        self.model = Model()
        self.clock = FrozenClock(START + timedelta(days=100))
        self.store = vestig.open(":memory:", embedder=HashingEmbedder(16), clock=self.clock)

    def commit(self, text: str, day: int) -> None:
        outcome = self.store.commit(text, key=KEY, t_valid=START + timedelta(days=day))
        id = str(outcome.memory_id)
        self.model.commit(text, day, id=id).id = id
        self.name()

    def name(self) -> None:
        """Gives what holds again the id that the store gave it."""
        for version in self.model.versions:
            if not version.id:
                known = {one.id for one in self.model.versions}
                begins = START + timedelta(days=version.begin)
                version.id = next(
                    one.id
                    for one in self.store.history(KEY)
                    if one.id not in known and one.t_valid == begins
                )

    def run(self, name: str, *given: Any) -> None:
        self.model.day += 1
        self.clock.move(days=1)
        now = self.model.current()
        if name == "commit":
            self.commit(given[0], self.model.day)
        elif name in ("backdated", "announced"):
            self.commit(*given)
        elif name == "batch":
            items = [
                {"content": text, "key": KEY, "t_valid": START + timedelta(days=day)}
                for text, day in given[0]
            ]
            for (text, day), outcome in zip(given[0], self.store.commit_many(items), strict=True):
                assert isinstance(outcome, CommitOutcome)
                id = str(outcome.memory_id)
                self.model.commit(text, day, id=id).id = id
            self.name()
        elif name == "update" and now is not None:
            id = self.store.update(now.id, content=given[0]).memory_id
            if given[0] != now.text:  # the same text changes nothing
                self.model.update(now, given[0]).id = id
        elif name == "deprecate" and now is not None:
            self.withdraw(now)
        elif name == "withdraw" and self.model.waiting():
            waiting = self.model.waiting()
            self.withdraw(waiting[given[0] % len(waiting)])
        elif name == "end" and now is not None and now.end is None:
            now.end = now.begin + given[0]
            self.store.update(now.id, t_invalid=START + timedelta(days=now.end))
        elif name == "forget" and self.model.versions:
            gone = self.model.versions.pop(given[0] % len(self.model.versions))
            self.store.forget(gone.id)
            self.hold_on(gone)

    def withdraw(self, version: Version) -> None:
        self.store.deprecate(version.id)
        version.status, version.end = "DEPRECATED", None
        self.hold_on(version)

    def hold_on(self, gone: Version) -> None:
        """Notes what holds on where an announced version goes that was to end it."""
        for version in self.model.versions:
            if version.status == "SUPERSEDED" and version.end == gone.begin > self.model.day:
                now = self.store.show(version.id).memory
                if now.t_invalid == START + timedelta(days=gone.begin):
                    continue
                version.status = now.status.word
                version.end = None if now.t_invalid is None else (now.t_invalid - START).days
                assert version.end is None or version.end > gone.begin

    def check(self) -> None:
        current = self.model.holding() or self.model.current()
        if current is not None and current.begin > self.model.day:
            announced = [one for one in self.model.held() if one.begin > self.model.day]
            current = min(announced, key=lambda one: one.begin)
        if current is None or (current.end is not None and current.end <= self.model.day):
            try:
                raise AssertionError(self.store.get(KEY))
            except NotFoundError:
                pass
        else:
            found = self.store.get(KEY)
            assert (found.id, found.content) == (current.id, current.text)
        rows = self.store.list(where={"keys": KEY, "include_expired": True}, limit=1000)
        assert {row.id: row.status.word for row in rows} == {
            one.id: one.status for one in self.model.versions
        }
        begins = {one.begin for one in self.model.versions}
        for day in sorted({0, self.model.day, *begins, *(begin - 1 for begin in begins if begin)}):
            moment = START + timedelta(days=day)
            found = self.store.list(where={"keys": [KEY]}, valid_at=moment)
            assert sorted(row.content for row in found) == self.model.at(day), day


@pytest.mark.slow
@given(st.lists(operations, max_size=14))
def test_every_history_is_as_the_model_says(history: list[tuple[Any, ...]]) -> None:
    told = History()
    with told.store:
        for operation in history:
            told.run(*operation)
            told.check()
        assert told.store.admin.doctor().exit_code == 0


statements = st.lists(
    st.tuples(st.sampled_from(TEXTS[:2]), st.none() | st.integers(1, 15)), min_size=2, max_size=5
)


def test_a_return_told_before_an_exception_is_kept_behind_it() -> None:
    values = ((TEXTS[0], 0, None), (TEXTS[0], 4, None), ("an exception", 1, 1), (TEXTS[1], 3, None))
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as store:
        for text, day, length in values:
            begins = START + timedelta(days=day)
            end = None if length is None else begins + timedelta(days=length)
            store.commit(text, key=KEY, t_valid=begins, t_invalid=end)
        held = [store.get(KEY, valid_at=START + timedelta(days=day)).content for day in range(6)]
    one, other = TEXTS[:2]
    assert held == [one, "an exception", one, other, one, one]


@pytest.mark.slow
@given(
    statements, st.permutations(range(30)), st.randoms(use_true_random=False), st.integers(0, 60)
)
def test_a_key_has_one_history_in_whatever_order_it_is_told(
    stated: list[tuple[str, int | None]], days: list[int], order: Any, now: int
) -> None:
    """At each time that value holds which began last and whose own end has not come."""
    values = [
        # what has an end differs from all others: the same text again would be the end of one
        (text if length is None else f"{text} for {length} days from {day}", day, length)
        for (text, length), day in zip(stated, days, strict=False)
    ]
    told = values.copy()
    order.shuffle(told)
    # a told beginning that is the moment of the commit is none that anybody told
    clock = FrozenClock(START + timedelta(days=now, hours=1))
    with vestig.open(":memory:", embedder=HashingEmbedder(16), clock=clock) as store:
        for text, day, length in told:
            begins = START + timedelta(days=day)
            end = None if length is None else begins + timedelta(days=length)
            store.commit(text, key=KEY, t_valid=begins, t_invalid=end)
        ends = [begins + length for _, begins, length in values if length is not None]
        for day in sorted({0, now, *ends, *(begins for _, begins, _ in values)}):
            holding = [
                (begins, text)
                for text, begins, length in values
                if begins <= day and (length is None or day < begins + length)
            ]
            expected = [max(holding)[1]] if holding else []
            moment = START + timedelta(days=day)
            found = store.list(where={"keys": [KEY]}, valid_at=moment)
            assert [one.content for one in found] == expected, (told, day)
            if day == now and expected:
                assert store.get(KEY).content == expected[0]
        assert store.admin.doctor().exit_code == 0


@pytest.mark.slow
@given(st.lists(st.tuples(texts, days), max_size=12))
def test_versions_follow_each_other_without_gap_or_overlap(given_: list[tuple[str, int]]) -> None:
    told = History()
    with told.store:
        for text, day in given_:
            told.commit(text, day)
        rows = list(told.store.list(where={"keys": KEY, "include_expired": True}, limit=1000))
    live = [row for row in rows if row.status.word == "ACTIVE"]
    assert len(live) == bool(rows)
    held = sorted((r for r in rows if r.t_invalid != r.t_valid), key=lambda r: r.t_valid)
    ends = [row.t_invalid for row in held]
    assert ends == [row.t_valid for row in held[1:]] + [None] * bool(rows)
    assert not rows or live[0].t_valid == max(row.t_valid for row in rows)
