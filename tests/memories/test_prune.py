"""Prune removes what is past its retention, or was superseded long ago, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from forget_checks import clean, folder_of
from scripted import Opener
from traces import holding
from vestig.errors import NotFoundError, StoreFullError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder

STATUSES = ("ACTIVE", "SUPERSEDED", "DEPRECATED", "ARCHIVED")
POLICIES = ("permanent", "decision", "standard", "ephemeral", "session")
PAST, FUTURE = "2026-03-01", "2026-12-24"


def committed(store: vestig.Vestig, text: str, **arguments: Any) -> str:
    id = store.commit(text, **arguments).memory_id
    assert id is not None
    return id


def stored(store: vestig.Vestig) -> set[str]:
    return {memory.id for memory in store.list({"statuses": STATUSES}, limit=1000)}


memories = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(POLICIES),
        "until": st.sampled_from((None, PAST, FUTURE)),
        "pinned": st.booleans(),
        # days since it was superseded, archived or withdrawn
        "state": st.sampled_from(("active", "superseded", "archived", "deprecated")),
        "days": st.sampled_from((0, 5, 30)),
    }
)


def due(memory: dict[str, Any], days: float | None) -> bool:
    superseded = memory["state"] == "superseded"
    over = memory["until"] == PAST and (memory["policy"] != "decision" or superseded)
    return over or (superseded and days is not None and memory["days"] >= days)


def kept_by(memory: dict[str, Any]) -> str | None:
    if memory["pinned"]:
        return "pinned"
    if memory["policy"] == "permanent":
        return "permanent"
    return "retention_until" if memory["until"] == FUTURE else None


@pytest.mark.slow
@given(st.lists(memories, max_size=6), st.sampled_from((None, 0, 0.5, 5, 5.5, 30, 31)))
def test_what_goes_is_what_the_rules_say(drawn: list[dict[str, Any]], days: float | None) -> None:
    clock = FrozenClock()
    config = {"hygiene.near_duplicate.enabled": False}
    with vestig.open(":memory:", embedder=HashingEmbedder(16), clock=clock, config=config) as store:
        now, ids = clock(), list[str]()
        successor = committed(store, "The newest of all facts about the harbour")
        for n, memory in enumerate(drawn):
            ids.append(
                committed(
                    store,
                    f"Fact number {n * 7919} about the harbour",
                    retention_policy=memory["policy"],
                    retention_until=memory["until"],
                    pinned=memory["pinned"],
                )
            )
        for id, memory in sorted(zip(ids, drawn, strict=True), key=lambda one: -one[1]["days"]):
            clock._now = now + timedelta(days=40 - memory["days"])
            if memory["state"] == "superseded":
                store.supersede(id, successor)
            elif memory["state"] == "deprecated":
                store.deprecate(id)
            elif memory["state"] == "archived":
                store.archive(id)
        clock._now = now + timedelta(days=40)
        before = stored(store)
        wanted = {
            id
            for id, memory in zip(ids, drawn, strict=True)
            if due(memory, days) and kept_by(memory) is None
        }
        kept = [kept_by(memory) for memory in drawn if due(memory, days)]
        plan = store.admin.prune(days, dry_run=True)
        assert stored(store) == before
        report = store.admin.prune(days)
        assert set(report.memory_ids) == wanted
        assert (report.removed, report.evaluated) == (len(wanted), len(before))
        for name in ("pinned", "permanent", "retention_until"):
            assert getattr(report.kept, name) == kept.count(name)
        assert stored(store) == before - wanted
        assert plan.to_dict() | {"dry_run": 0, "seq": 0} == report.to_dict() | {
            "dry_run": 0,
            "seq": 0,
        }
        again = store.admin.prune(days)
        assert (again.removed, again.seq) == (0, report.seq), "a second run finds nothing"
        assert again.kept == report.kept


def test_what_was_pruned_is_in_no_file_and_a_later_look_says_so(opener: Opener) -> None:
    store = opener()
    texts = [f"The badge of Ximena number {n} opens the archive" for n in (6007, 7907, 9001)]
    ids = [committed(store, text, retention_until=PAST, entities=["Ximena"]) for text in texts]
    other = committed(store, "The canteen has soup on Mondays")
    store._session.keeper.compact()
    traces = tuple(text.encode() for text in texts)
    assert holding(folder_of(store), *traces) != []
    report = store.admin.prune()
    assert set(report.memory_ids) == set(ids)
    assert holding(folder_of(store), *traces, b"Ximena") == []
    assert stored(store) == {other}
    assert "Ximena" not in {one.entity.canonical_name for one in store.graph.entities()}
    with pytest.raises(NotFoundError, match="forgotten at"):
        store.show(ids[0])
    clean(store)


@pytest.mark.slow
def test_a_thousand_are_looked_at_and_all_that_are_due_go(opener: Opener) -> None:
    store = opener(config={"hygiene.near_duplicate.enabled": False})
    store.commit_many(
        {
            "content": f"Reading number {n * 7919} of the water meter",
            "retention_until": PAST if n % 8 == 0 else None,
        }
        for n in range(1000)
    )
    report = store.admin.prune()
    assert (report.evaluated, report.removed, report.errors) == (1000, 125, ())
    assert store.count() == 875


def test_a_filter_narrows_and_one_that_lost_its_value_is_refused(opener: Opener) -> None:
    store = opener()
    mine = committed(store, "The lift is out of order", retention_until=PAST, tags=["lift"])
    other = committed(store, "The door is out of order", retention_until=PAST)
    for nothing in (None, [], ""):
        with pytest.raises(ValidationError, match=r"where\.tags: expected a value"):
            store.admin.prune(where={"tags": nothing})
    report = store.admin.prune(where={"tags": "lift"})
    assert (report.evaluated, report.memory_ids) == (1, (mine,))
    assert stored(store) == {other}


@pytest.mark.parametrize("days", [-1, -0.5, float("nan"), float("inf"), "a week", True, 10**9])
def test_a_number_of_days_that_is_none_is_refused(opener: Opener, days: Any) -> None:
    store = opener()
    id = committed(store, "The lift is out of order", retention_until=PAST)
    with pytest.raises(ValidationError, match="superseded_after_days"):
        store.admin.prune(superseded_after_days=days)
    assert stored(store) == {id}


def held_on(store: vestig.Vestig, day: str) -> list[str]:
    return [one.content for one in store.list(where={"keys": "shaft"}, valid_at=day)]


@pytest.mark.parametrize("until", [None, "2026-03-15"])
def test_what_holds_until_an_announced_value_begins_is_not_superseded_yet(
    opener: Opener, until: str | None
) -> None:
    """Nor is the announced one, where something follows it; both go so long after they held."""
    clock = FrozenClock("2026-01-05")
    store = opener(clock=clock)
    kept = {"retention_policy": "decision", "retention_until": until}
    old = committed(store, "The lift goes at nine", key="shaft", **kept)
    closed = {"t_valid": "2026-04-01", "t_invalid": "2026-05-01"}
    plan = committed(store, "The lift rests in April", key="shaft", **closed)
    clock.set("2026-03-20")
    before = stored(store)
    assert store.admin.prune(0, dry_run=True).memory_ids == store.admin.prune(0).memory_ids == ()
    assert stored(store) == before
    assert (store.get("shaft").id, held_on(store, "2026-04-10")) == (
        old,
        ["The lift rests in April"],
    )
    clock.set("2026-04-04")
    assert store.admin.prune(5).memory_ids == (() if until is None else (old,))
    clock.set("2026-05-05")
    assert store.admin.prune(5).memory_ids == (() if until else (old,))
    assert store.admin.prune(4).memory_ids == (plan,)
    assert held_on(store, "2026-05-05") == ["The lift goes at nine"]


def test_what_an_announced_value_was_to_replace_holds_on_where_that_is_pruned(
    opener: Opener,
) -> None:
    clock = FrozenClock("2026-03-20")
    store = opener(clock=clock)
    old = committed(store, "The lift goes at nine", key="shaft", t_valid="2026-01-05")
    plan = committed(
        store, "The lift goes at ten", key="shaft", t_valid="2026-06-01", retention_until=PAST
    )
    with pytest.warns(UserWarning, match=f"{old} holds on from 2026-06-01"):
        said = store.admin.prune(dry_run=True).warnings
    with pytest.warns(UserWarning, match=f"{old} holds on from 2026-06-01"):
        report = store.admin.prune()
    assert (report.memory_ids, report.warnings) == ((plan,), said)
    assert held_on(store, "2026-06-02") == ["The lift goes at nine"]


def test_one_that_fails_is_named_and_the_rest_goes(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.store.records.writes import WriteTransaction

    store = opener()
    texts = ("The lift is out of order", "The door is out of order", "The pump is out of order")
    ids = [committed(store, text, retention_until=PAST) for text in texts]
    forget = WriteTransaction.forget

    def failing(self: Any, namespace: str, named: Any, *, actor: Any) -> Any:
        if ids[1] in named:
            raise StoreFullError("no room left")
        return forget(self, namespace, named, actor=actor)

    monkeypatch.setattr(WriteTransaction, "forget", failing)
    report = store.admin.prune()
    assert set(report.memory_ids) == {ids[0], ids[2]}
    (error,) = report.errors
    assert (error.index, error.code) == (1, "store-full")
    assert ids[1] in error.message
    assert stored(store) == {ids[1]}
    monkeypatch.undo()
    assert store.admin.prune().memory_ids == (ids[1],)


def test_one_that_is_pinned_meanwhile_stays(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vestig.memories import forget as pruning

    store = opener()
    id = committed(store, "The lift is out of order", retention_until=PAST)
    found = pruning.due_memories

    def and_then_pinned(*arguments: Any) -> Any:
        due_now = found(*arguments)
        monkeypatch.undo()
        store.pin(id)
        return due_now

    monkeypatch.setattr(pruning, "due_memories", and_then_pinned)
    assert store.admin.prune().memory_ids == ()
    assert stored(store) == {id}


def test_another_namespace_is_left_alone(opener: Opener) -> None:
    store = opener()
    other = committed(
        store, "The lift is out of order", retention_until=PAST, namespace="elsewhere"
    )
    assert store.admin.prune().evaluated == 0
    assert store.show(other, namespace="elsewhere").memory.id == other
    assert store.admin.prune(namespace="elsewhere").memory_ids == (other,)
