"""Announced values of keys: each holds from its day on, and what it replaces until then."""

from __future__ import annotations

import io
import itertools
from typing import Any, Final

import pytest

import vestig
from scripted import Opener
from vestig.errors import ConflictError, NotFoundError
from vestig.testing import FrozenClock
from vestig.types import Status

KEY: Final = "crane.operator"
ADA, BEN, CAI = (f"The crane is operated by {name}" for name in ("Ada", "Ben", "Cai"))
NOW, BEFORE, DAY, AFTER = "2026-03-01", "2027-05-31T23:59:59Z", "2027-06-01", "2027-06-02"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


@pytest.fixture
def store(opener: Opener, clock: FrozenClock) -> vestig.Vestig:
    return opener(clock=clock)


def listed(store: vestig.Vestig, **where: object) -> set[str]:
    """The current values, by the listing of the ledger, the core's filter and a recall alike."""
    listings = [
        {one.content for one in store.list(where=where)},
        {one.content for one in store.list(where={"keys": [KEY], **where})},
        {one.content for one in store.list(where={"pinned": False, **where})},
        {one.content for one in store.recall("who operates the crane?", where=where)},
    ]
    assert listings == [listings[0]] * len(listings)
    assert store.count(where=where) == len(listings[0])
    return listings[0]


def context_of(store: vestig.Vestig) -> str:
    context = store.recall("who operates the crane?", context=True).context
    assert context is not None
    return context.text


def announce(store: vestig.Vestig) -> tuple[str, str]:
    old = store.commit(ADA, key=KEY, t_valid="2025-01-01")
    new = store.commit(BEN, key=KEY, t_valid=DAY)
    assert new.superseded == (old.memory_id,)
    return old.memory_id, new.memory_id


def test_the_old_value_is_current_until_the_day_of_the_new_one(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    for time in (NOW, BEFORE):
        clock.set(time)
        assert store.get(KEY).content == ADA
        assert listed(store) == {ADA, BEN}
    clock.set(DAY)
    assert store.get(KEY).content == BEN
    assert listed(store) == {BEN}
    assert store.admin.doctor().exit_code == 0


def test_a_context_says_from_when_the_new_value_holds(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    shown = context_of(store)
    assert "(from 2027-06-01" in shown
    assert "replaced" not in shown
    assert "not yet" not in shown
    clock.set(AFTER)
    shown = context_of(store)
    assert "from 2027-06-01" not in shown
    assert ADA not in shown


def test_what_supersedes_from_a_later_day_on_is_announced_too(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    old = store.commit(ADA, t_valid="2025-01-01")
    store.commit(BEN, supersedes=[old.memory_id], t_valid=DAY)
    assert {one.content for one in store.list()} == {ADA, BEN}
    clock.set(DAY)
    assert {one.content for one in store.list()} == {BEN}


def test_an_end_that_lies_behind_the_successor_moves_to_its_beginning(store: vestig.Vestig) -> None:
    old = store.commit(ADA, t_valid="2025-01-01", t_invalid="2030-01-01")
    new = store.commit(BEN, supersedes=[old.memory_id], t_valid="2026-02-01")
    assert store.show(old.memory_id).memory.t_invalid == store.show(new.memory_id).memory.t_valid
    assert {one.content for one in store.list()} == {BEN}


def test_several_announced_values_take_turns(store: vestig.Vestig, clock: FrozenClock) -> None:
    announce(store)
    store.commit(CAI, key=KEY, t_valid="2028-01-01")
    for time, current in ((NOW, ADA), (DAY, BEN), ("2028-01-01", CAI)):
        clock.set(time)
        assert store.get(KEY).content == current
    assert listed(store) == {CAI}


def test_of_announced_values_the_next_is_read_where_none_holds_yet(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    plan = store.commit(BEN, key=KEY, t_valid=DAY)
    store.commit(CAI, key=KEY, t_valid="2028-01-01")
    assert store.get(KEY).content == BEN
    store.deprecate(str(plan.memory_id))
    assert store.get(KEY).content == CAI
    clock.set("2028-02-01")
    assert store.get(KEY).content == CAI


def test_an_announced_value_is_replaced_before_its_day(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    store.commit(CAI, key=KEY, t_valid=DAY)
    assert (store.get(KEY).content, listed(store)) == (ADA, {ADA, CAI})
    clock.set(DAY)
    assert (store.get(KEY).content, listed(store)) == (CAI, {CAI})


def test_a_value_that_holds_from_now_on_stands_before_the_announced_one(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    store.commit(CAI, key=KEY)
    assert (store.get(KEY).content, listed(store)) == (CAI, {CAI, BEN})
    clock.set(DAY)
    assert (store.get(KEY).content, listed(store)) == (BEN, {BEN})


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_announced_value_is_taken_back_before_its_day(
    store: vestig.Vestig, clock: FrozenClock, forgotten: bool
) -> None:
    _, new = announce(store)
    if forgotten:
        store.forget(new)
    else:
        store.deprecate(new, reason="called off")
    assert (store.get(KEY).content, listed(store)) == (ADA, {ADA})
    clock.set(DAY)
    assert (store.get(KEY).content, listed(store)) == (ADA, {ADA})


def test_an_end_that_somebody_gave_stays_where_an_announced_value_goes(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    old, new = announce(store)
    store.deprecate(new)
    store.update(old, t_invalid=DAY)
    again = store.commit(BEN, key=KEY, t_valid=DAY).memory_id
    assert not store.deprecate(again).warnings
    assert (store.get(KEY).content, listed(store)) == (ADA, {ADA})
    clock.set(DAY)
    assert not listed(store)


def test_a_dry_run_of_forgetting_says_what_would_hold_on(store: vestig.Vestig) -> None:
    old, new = announce(store)
    before = store.show(old).memory
    [said] = store.forget(new, dry_run=True).warnings
    assert said.startswith(f"{old} holds on from 2027-06-01")
    assert store.show(old).memory == before
    assert store.forget(new).warnings == (said,)


def test_a_read_as_of_a_day_has_what_was_current_then(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    clock.set("2027-07-01")
    assert {one.content for one in store.list(known_at="2026-04-01")} == {ADA, BEN}
    assert {one.content for one in store.list(as_of="2026-04-01")} == {ADA}
    assert {one.content for one in store.list(valid_at="2027-06-15")} == {BEN}


def test_a_restored_store_has_the_same_values(
    store: vestig.Vestig, clock: FrozenClock, opener: Opener
) -> None:
    announce(store)
    lines = io.StringIO()
    store.export(lines)
    other = opener("other", clock=clock)
    other.import_(io.StringIO(lines.getvalue()))
    store.admin.rebuild()
    for one in (store, other):
        assert (one.get(KEY).content, listed(one)) == (ADA, {ADA, BEN})
    clock.set(DAY)
    for one in (store, other):
        assert (one.get(KEY).content, listed(one)) == (BEN, {BEN})


@pytest.mark.parametrize("value", ["blue", "18:30", "no", "7", "ok", "–"])
def test_the_value_of_a_key_may_be_as_short_as_it_is(store: vestig.Vestig, value: str) -> None:
    store.commit("The former value of the setting", key="setting", t_valid="2025-01-01")
    store.commit(value, key="setting", strict=True)
    assert store.get("setting").content == value


@pytest.mark.parametrize("value", ["", " \n ", "a\0b"])
def test_the_value_of_a_key_is_a_text(store: vestig.Vestig, value: str) -> None:
    assert store.commit(value, key="setting").outcome == "REJECTED_HYGIENE"


def test_a_replaced_value_without_an_end_does_not_return(store: vestig.Vestig) -> None:
    first = store.commit(ADA, key=KEY, t_valid=NOW)
    store.commit(BEN, key=KEY, t_valid=NOW)
    assert store.show(first.memory_id).memory.status is Status.SUPERSEDED
    assert (store.get(KEY).content, listed(store)) == (BEN, {BEN})


def test_an_announced_value_that_is_said_to_hold_today_holds_until_its_day_too(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    announce(store)
    today = store.commit(BEN, key=KEY)
    assert "this text holds until 2027-06-01" in today.warnings[0]
    assert store.get(KEY).content == BEN
    clock.set(AFTER)
    assert store.get(KEY).content == BEN
    assert [one.content for one in store.history(KEY)] == [ADA, BEN, BEN]


# --- exceptions --------------------------------------------------------------------------------


def exception(store: vestig.Vestig) -> vestig.CommitOutcome:
    return store.commit(BEN, key=KEY, t_valid=DAY, t_invalid="2027-06-05")


@pytest.mark.parametrize("late", [False, True])
def test_what_held_before_an_exception_holds_again_behind_it(
    store: vestig.Vestig, clock: FrozenClock, late: bool
) -> None:
    old = store.commit(
        ADA, key=KEY, t_valid="2025-01-01", tags=["port"], metadata={"shift": 1}, title="Crane"
    )
    if late:
        clock.set("2028-01-01")
    outcome = exception(store)
    assert outcome.superseded == (old.memory_id,)
    [warning] = outcome.warnings
    assert f"{old.memory_id} holds again from 2027-06-05" in warning
    again = store.history(KEY)[-1]
    assert again.id in warning
    assert (again.content, again.tags, again.title) == (ADA, ("port",), "Crane")
    assert (again.metadata["shift"], again.revives) == (1, old.memory_id)
    for time, current in ((DAY, BEN), ("2027-06-04T23:59Z", BEN), ("2027-06-05T00:00Z", ADA)):
        assert (
            store.get(KEY, valid_at=f"{time}T00:00Z" if len(time) == 10 else time).content
            == current
        )
    if not late:
        for time, current in ((NOW, ADA), (DAY, BEN), ("2027-06-05", ADA)):
            clock.set(time)
            assert store.get(KEY).content == current
        clock.set("2028-01-01")
    assert listed(store) == {ADA}
    assert store.get(KEY).id == again.id
    assert store.recall("who operates the crane?")[0].memory.id == again.id
    assert store.admin.doctor().exit_code == 0
    assert store.admin.rebuild()
    assert listed(store) == {ADA}


def test_what_holds_again_has_all_that_belongs_to_its_text(
    opener: Opener, clock: FrozenClock
) -> None:
    store = opener(clock=clock)
    given = "The crane  is operated by Ada"
    old = store.commit(
        given,
        key=KEY,
        t_valid="2025-01-01",
        entities=["Ada"],
        anchor="https://example.org/crane v1",
        trigger="problem-solution",
        hypothetical_queries=["Who operates the crane?"],
        claim={"subject": "crane", "fact_type": "OPERATED", "object": "Ada"},
    )
    exception(store)
    before, after = (store.show(id, expand=1) for id in (old.memory_id, store.history(KEY)[-1].id))
    assert after.memory.content == given
    assert after.embedding_head == before.embedding_head
    assert (after.claim, after.mentions, after.sources) == (
        before.claim, before.mentions, before.sources,
    )  # fmt: skip
    [anchor] = store.anchors.show(after.memory.id).anchors
    assert anchor.target == "https://example.org/crane"


def test_a_value_that_is_told_behind_an_exception_holds_again_too(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    exception(store)
    told = store.commit(ADA, key=KEY)
    assert "holds again from 2027-06-05" in told.warnings[0]
    for time, current in ((NOW, ADA), (DAY, BEN), ("2027-06-05", ADA)):
        clock.set(time)
        assert store.get(KEY).content == current


def test_a_value_told_before_an_exception_is_what_holds_behind_it(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    store.commit(ADA, key=KEY, t_valid="2025-01-01")
    exception(store)
    store.commit(CAI, key=KEY)
    for time, current in ((NOW, CAI), (DAY, BEN), ("2027-06-05", CAI)):
        clock.set(time)
        assert store.get(KEY).content == current
    assert listed(store) == {CAI}


def test_an_exception_is_taken_back_by_the_value_before_it(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    store.commit(ADA, key=KEY, t_valid="2025-01-01")
    exception(store)
    store.commit(ADA, key=KEY, t_valid=DAY)
    for time in (NOW, DAY, "2027-06-03", "2027-06-05"):
        clock.set(time)
        assert store.get(KEY).content == ADA


def test_a_fact_that_an_update_ends_is_no_exception(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    store.commit(ADA, key=KEY, t_valid="2025-01-01")
    new = store.commit(BEN, key=KEY, t_valid="2026-01-01")
    store.update(new.memory_id, t_invalid="2026-06-01")
    store.commit(CAI, key=KEY, t_valid="2025-06-01")
    clock.set("2026-07-01")
    with pytest.raises(
        NotFoundError, match=f"its last value, {new.memory_id}, ended at 2026-06-01"
    ):
        store.get(KEY)
    assert store.get(new.memory_id).content == BEN


def test_an_end_that_moves_is_told(store: vestig.Vestig) -> None:
    old, new = announce(store)
    told = store.commit(CAI, key=KEY)
    assert told.superseded == (old,)
    assert told.warnings == (
        "this text holds until 2027-06-01T00:00:00.000000Z:"
        f" {new} has the key from 2027-06-01T00:00:00.000000Z on",
    )


def test_what_was_said_again_meanwhile_is_named(store: vestig.Vestig, clock: FrozenClock) -> None:
    old = store.commit(ADA, key=KEY, t_valid="2025-01-01")
    clock.set("2026-05-01")
    store.commit(ADA, key=KEY)
    clock.set("2026-06-01")
    late = store.commit(BEN, key=KEY, t_valid="2026-04-01")
    assert store.get(KEY).content == BEN
    said = f"commit the text of {old.memory_id} with t_valid=2026-05-01T00:00:00.000000Z"
    assert said in late.warnings[0]
    store.commit(ADA, key=KEY, t_valid="2026-05-01T00:00:00.000000Z")
    assert [one.content for one in store.history(KEY)] == [ADA, BEN, ADA]
    assert store.get(KEY).content == ADA


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_return_to_a_value_is_told_in_any_order(store: vestig.Vestig, order: list[int]) -> None:
    told = ((ADA, "2025-01-01"), (BEN, "2025-03-01"), (ADA, "2025-05-01"))
    for place in order:
        text, day = told[place]
        store.commit(text, key=KEY, t_valid=day)
    history = [(one.content, f"{one.t_valid:%Y-%m-%d}") for one in store.history(KEY)]
    assert (history, store.get(KEY).content) == (list(told), ADA)


def test_restored_versions_keep_their_ends(
    store: vestig.Vestig, opener: Opener, clock: FrozenClock
) -> None:
    clock.set("2028-01-01")
    store.commit(ADA, key=KEY, t_valid="2025-01-01")
    exception(store)
    store.commit(CAI, key=KEY, t_valid="2027-06-03", t_invalid="2027-07-01")
    lines = io.StringIO()
    store.export(lines)
    other = opener("other", clock=clock)
    other.import_(io.StringIO(lines.getvalue()))
    spans = [
        [(one.content, one.t_valid, one.t_invalid) for one in each.history(KEY)]
        for each in (store, other)
    ]
    assert spans[0] == spans[1]


def on(store: vestig.Vestig, day: str) -> list[str]:
    return [one.content for one in store.list(where={"keys": [KEY]}, valid_at=day)]


@pytest.mark.parametrize(
    ("told", "late"),
    [
        ({"t_invalid": "2026-06-25"}, (BEN, BEN, ADA)),
        ({"t_invalid": "2026-06-17"}, (ADA, ADA, ADA)),
        ({"t_valid": "2026-06-16"}, (BEN, BEN, BEN)),
        ({}, (BEN, ADA, ADA)),
    ],
)
def test_a_running_exception_gets_another_end(
    store: vestig.Vestig, clock: FrozenClock, told: dict[str, str], late: tuple[str, ...]
) -> None:
    clock.set("2026-06-15")
    store.commit(ADA, key=KEY, t_valid="2026-01-01")
    known = store.commit(BEN, key=KEY, t_valid="2026-06-01", t_invalid="2026-06-20").memory_id
    with pytest.raises(ConflictError, match=rf"store\.deprecate\('{known}'\) withdraws it"):
        store.update(str(known), t_invalid="2026-06-25")
    store.commit(BEN, key=KEY, **told)
    days = ("2026-06-18", "2026-06-22", "2026-06-28")
    assert [on(store, day) for day in ("2026-06-16", *days)] == [[one] for one in (BEN, *late)]
    assert store.admin.doctor().exit_code == 0


def test_another_text_of_what_holds_again_leaves_the_exception(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    clock.set("2026-06-15")
    store.commit(ADA, key=KEY, t_valid="2026-01-01")
    store.commit(BEN, key=KEY, t_valid="2026-06-01", t_invalid="2026-06-20")
    (again,) = (one for one in store.history(KEY) if one.revives)
    store.update(again.id, content=CAI)
    assert [on(store, day) for day in ("2026-06-18", "2026-06-22")] == [[BEN], [CAI]]


def test_a_return_told_for_the_end_of_an_exception_is_kept(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    clock.set("2026-06-15")
    store.commit(BEN, key=KEY, t_valid="2026-03-01", t_invalid="2026-03-20")
    store.commit(ADA, key=KEY, t_valid="2026-01-01")
    store.commit(ADA, key=KEY, t_valid="2026-03-20")
    store.commit(CAI, key=KEY, t_valid="2026-03-10", t_invalid="2026-04-30")
    assert (on(store, "2026-03-15"), on(store, "2026-04-01")) == ([CAI], [ADA])


def test_an_archived_value_holds_again_archived(store: vestig.Vestig) -> None:
    store.archive(str(store.commit(ADA, key=KEY, t_valid="2025-01-01").memory_id))
    store.commit(BEN, key=KEY, t_valid="2025-03-01", t_invalid="2025-03-20")
    assert store.history(KEY)[-1].status is Status.ARCHIVED
    assert store.admin.doctor().exit_code == 0


def _withdraw(store: vestig.Vestig, id: str) -> tuple[str, ...]:
    return store.deprecate(id).warnings


def _withdraw_selected(store: vestig.Vestig, id: str) -> tuple[str, ...]:
    return store.deprecate(where={"ids": [id]}).warnings


def _forget(store: vestig.Vestig, id: str) -> tuple[str, ...]:
    return store.forget([id]).warnings


@pytest.mark.parametrize("go", [_withdraw, _withdraw_selected, _forget])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_was_to_end_for_a_plan_that_goes_holds_on(
    store: vestig.Vestig, clock: FrozenClock, go: Any
) -> None:
    old, plan = announce(store)
    (said,) = go(store, plan)
    assert said.startswith(f"{old} holds on from 2027-06-01")
    assert (store.get(KEY).content, listed(store)) == (ADA, {ADA})
    for time in (BEFORE, DAY, AFTER):
        clock.set(time)
        assert (store.get(KEY).content, listed(store)) == (ADA, {ADA})
    assert store.admin.doctor().exit_code == 0
    # what holds is a value like any other
    new = store.commit(CAI, key=KEY)
    assert len(new.superseded) == 1
    assert (store.get(KEY).content, listed(store)) == (CAI, {CAI})


@pytest.mark.parametrize("go", [_withdraw, _withdraw_selected, _forget])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_announced_value_with_others_behind_it_is_taken_back(
    store: vestig.Vestig, clock: FrozenClock, go: Any
) -> None:
    """It is superseded already, by what is to follow it."""
    old, plan = announce(store)
    store.commit(CAI, key=KEY, t_valid="2028-01-01")
    other = store.commit(ADA, key="other", t_valid="2025-01-01").memory_id
    rest = store.commit(BEN, key="other", t_valid=DAY, t_invalid="2027-06-05").memory_id
    for before, gone in ((old, plan), (other, str(rest))):
        said = go(store, gone)[-1]
        assert said.startswith(f"{before} holds on from 2027-06-01")
    days = ("2027-06-02", "2027-12-31", "2028-01-02")
    assert [on(store, day) for day in days] == [[ADA], [ADA], [CAI]]
    for day in days:
        assert store.get("other", valid_at=day).content == ADA
    assert store.admin.doctor().exit_code == 0
    assert store.admin.rebuild()
    assert [on(store, day) for day in days] == [[ADA], [ADA], [CAI]]


@pytest.mark.parametrize("go", [_withdraw, _withdraw_selected, _forget])
@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_another_text_of_an_announced_value_is_taken_back_too(
    store: vestig.Vestig, go: Any, key: str | None
) -> None:
    old = store.commit(ADA, key=key, t_valid="2025-01-01").memory_id
    plan = store.commit(BEN, key=key, t_valid=DAY, supersedes=[old]).memory_id
    for text in (CAI, "The crane is operated by Dot"):
        plan = store.update(plan, content=text).memory_id
    assert store.count(valid_at=NOW) == store.count(valid_at=DAY) == 1
    assert go(store, plan)[-1].startswith(f"{old} holds on from 2027-06-01")
    assert [one.content for one in store.list(valid_at=DAY)] == [ADA]
    assert store.admin.doctor().exit_code == 0


@pytest.mark.parametrize("way", ["update", "supersedes", "supersede"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_announced_value_that_holds_until_its_successor_begins_is_named(
    store: vestig.Vestig, way: str
) -> None:
    old, plan = announce(store)
    later = "2027-07-01"
    if way == "update":
        said = store.update(plan, content=CAI, t_valid=later).warnings
    elif way == "supersedes":
        said = store.commit(CAI, key=KEY, t_valid=later, supersedes=[plan]).warnings
    else:
        said = store.supersede(plan, str(store.commit(CAI, t_valid=later).memory_id)).warnings
    assert f"deprecate('{plan}') takes it back" in said[0]
    store.deprecate(plan)
    assert on(store, "2027-06-15") == [ADA]
    assert old == store.history(KEY)[0].id


def test_an_announced_value_that_ends_before_its_successor_begins_is_not_named(
    store: vestig.Vestig,
) -> None:
    plan = store.commit(BEN, t_valid=DAY, t_invalid="2027-06-05").memory_id
    assert not store.commit(CAI, t_valid="2027-07-01", supersedes=[plan]).warnings
    # of one that holds it is what was asked for
    held = store.commit(ADA, t_valid="2025-01-01").memory_id
    assert not store.commit("The crane is out of use", t_valid=DAY, supersedes=[held]).warnings


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_wrong_value_is_withdrawn_before_its_announced_successor_begins(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    old, _ = announce(store)
    with pytest.raises(ConflictError, match=rf"store\.deprecate\('{old}'\) withdraws it"):
        store.pin(old)
    clock.move(days=1)
    store.deprecate(old)
    assert (on(store, NOW), on(store, DAY)) == ([], [BEN])
    assert store.list(where={"keys": KEY}, valid_at=NOW, known_at=NOW)[0].content == ADA
    assert not store.list(where={"keys": KEY}, valid_at=DAY, known_at=NOW)[1:]
    store.commit(CAI, key=KEY, t_valid="2025-01-01")
    assert (store.get(KEY).content, on(store, NOW), on(store, DAY)) == (CAI, [CAI], [BEN])
    clock.set(AFTER)
    with pytest.raises(ConflictError, match="for good"):
        store.deprecate(store.history(KEY)[-2].id)


@pytest.mark.parametrize("end", [vestig.Vestig.deprecate, vestig.Vestig.forget])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_filter_takes_what_it_matches_and_not_what_holds_again_behind_that(
    store: vestig.Vestig, end: Any
) -> None:
    """What holds again is its first source's, whoever told the exception."""
    store.commit(ADA, key=KEY, t_valid="2025-01-01", source="office", actor="Olga")
    store.commit(BEN, key=KEY, t_valid=DAY, t_invalid="2027-06-05", source="intern", actor="Ivo")
    assert store.count(where={"sources": "office"}) == store.count(where={"actors": "Olga"}) == 2
    end(store, where={"sources": "intern"})
    days = (NOW, "2027-06-02", "2027-06-06")
    assert [on(store, day) for day in days] == [[ADA]] * 3
    end(store, where={"sources": "office"})
    assert [on(store, day) for day in days] == [[]] * 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_filter_withdraws_what_waits_for_a_successor_of_the_same_source(
    store: vestig.Vestig,
) -> None:
    store.commit(ADA, key=KEY, t_valid="2025-01-01", source="crawler")
    store.commit(BEN, key=KEY, t_valid=DAY, source="crawler")
    plan = store.deprecate(where={"sources": "crawler"}, dry_run=True)
    done = store.deprecate(where={"sources": "crawler"})
    assert (len(plan.memory_ids), len(done.memory_ids), done.warnings) == (2, 2, ())
    assert store.count() == store.count(valid_at=NOW) == store.count(valid_at=DAY) == 0


def test_what_was_wrong_held_at_no_time_whatever_end_it_had(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    wrong = store.commit(ADA, t_valid="2025-01-01", t_invalid=DAY).memory_id
    clock.move(days=1)
    store.deprecate(wrong)
    assert store.count(valid_at=NOW) == 0
    (known,) = store.list(known_at=NOW)
    assert known.t_invalid is not None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_holds_on_gives_way_to_what_began_later(
    store: vestig.Vestig, clock: FrozenClock
) -> None:
    _, plan = announce(store)
    store.deprecate(plan)
    store.commit(CAI, key=KEY, t_valid="2026-02-01")
    for time in (NOW, AFTER):
        clock.set(time)
        assert (store.get(KEY).content, listed(store)) == (CAI, {CAI})


@pytest.mark.parametrize("go", [_withdraw, _forget])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_ends_of_itself_or_has_another_value_does_not_hold_on(
    store: vestig.Vestig, clock: FrozenClock, go: Any
) -> None:
    store.commit(ADA, key=KEY, t_valid="2025-01-01", t_invalid=DAY)
    plan = store.commit(BEN, key=KEY, t_valid=DAY)
    assert go(store, str(plan.memory_id)) == ()
    # one that has begun is a wrong value, behind which none returns
    store.commit(ADA, key="other", t_valid="2025-01-01")
    begun = store.commit(BEN, key="other", t_valid="2026-01-01")
    assert go(store, str(begun.memory_id)) == ()
    clock.set(DAY)
    assert store.count() == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_of_several_plans_the_one_before_holds_on(store: vestig.Vestig, clock: FrozenClock) -> None:
    _, ben = announce(store)
    store.commit(CAI, key=KEY, t_valid="2028-01-01")
    store.forget([ben])
    assert store.admin.doctor().exit_code == 0
    for time, current in ((NOW, ADA), (DAY, ADA), ("2028-01-01", CAI)):
        clock.set(time)
        assert store.get(KEY).content == current
    clock.set(NOW)
    told = store.commit(BEN, key=KEY, t_valid=DAY)
    store.forget([str(store.get(KEY).id), str(told.memory_id)])
    clock.set(AFTER)
    assert store.count(where={"keys": [KEY]}, valid_at=DAY) <= 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_note_holds_on_too(store: vestig.Vestig, clock: FrozenClock) -> None:
    old = store.commit(ADA, t_valid="2025-01-01")
    new = store.commit(BEN, supersedes=[old.memory_id], t_valid=DAY)
    store.deprecate(str(new.memory_id))
    clock.set(DAY)
    assert {one.content for one in store.list()} == {ADA}
