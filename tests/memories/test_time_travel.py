"""Time travel, flags, and a clock that steps back."""

from __future__ import annotations

import pytest

import vestig
from calls import selecting
from scripted import Opener
from vestig.testing import FrozenClock

QUERY = "who is the employer of Dana?"
OLD = "Dana works at the harbour office"
NEW = "Dana works at the airport office"


@pytest.fixture
def history(opener: Opener) -> tuple[vestig.Vestig, str, str, FrozenClock]:
    """A: valid 2025-06-01, learnt 2026-01-10; superseded 2026-02-20 by B, valid 2026-02-01."""
    clock = FrozenClock("2026-01-10")
    store = opener(clock=clock, config={"hygiene.near_duplicate.enabled": False})
    a = store.commit(OLD, t_valid="2025-06-01").memory_id
    clock.set("2026-02-20")
    b = store.commit(NEW, t_valid="2026-02-01", supersedes=[a]).memory_id
    clock.set("2026-03-18T12:00:00Z")
    assert a is not None
    assert b is not None
    return store, a, b, clock


def recalled(store: vestig.Vestig, **at: str) -> list[str]:
    return [hit.id for hit in store.recall(QUERY, **selecting(at))]  # type: ignore[arg-type]


def test_known_at(history: tuple[vestig.Vestig, str, str, FrozenClock]) -> None:
    store, a, b, _ = history
    assert recalled(store) == [b]
    assert recalled(store, known_at="2026-01-15") == [a]
    assert recalled(store, known_at="2026-01-05") == []
    assert [m.id for m in store.list(known_at="2026-01-15")] == [a]
    assert [m.id for m in store.list()] == [b]
    assert store.count(known_at="2026-01-05") == 0


def test_valid_at(history: tuple[vestig.Vestig, str, str, FrozenClock]) -> None:
    store, a, b, _ = history
    assert recalled(store, valid_at="2025-12-01") == [a]
    assert recalled(store, valid_at="2026-02-10") == [b]
    assert recalled(store, valid_at="2025-01-01") == []
    assert recalled(store, as_of="2026-02-10") == [a]
    assert [m.id for m in store.list(valid_at="2025-12-01")] == [a]


def test_withdrawn_without_an_end(opener: Opener) -> None:
    clock = FrozenClock("2026-01-10")
    store = opener(clock=clock)
    id = store.commit(OLD, t_valid="2025-06-01").memory_id
    clock.set("2026-02-01")
    store.deprecate(id)
    clock.set("2026-03-01")
    for moment in ("2025-07-01", "2026-01-20", "2026-02-20"):
        assert recalled(store, valid_at=moment) == []
    assert recalled(store, known_at="2026-01-20") == [id]
    assert recalled(store, known_at="2026-01-20", valid_at="2025-07-01") == [id]


def test_ended_fact_stays_true_history(opener: Opener) -> None:
    clock = FrozenClock("2026-01-10")
    store = opener(clock=clock)
    id = store.commit(OLD, t_valid="2025-06-01").memory_id
    clock.set("2026-02-01")
    store.deprecate(id, "moved on", t_invalid="2026-01-20")
    clock.set("2026-03-01")
    assert recalled(store, valid_at="2026-01-15") == [id]
    assert recalled(store, valid_at="2026-01-20") == []
    # before the end was recorded, the fact was still open
    assert recalled(store, known_at="2026-01-25", valid_at="2026-01-22") == [id]


def test_reinforcements_after_k_do_not_boost(opener: Opener) -> None:
    clock = FrozenClock("2026-01-10")
    store = opener(clock=clock)
    id = store.commit(OLD).memory_id
    clock.set("2026-02-01")
    store.commit(OLD)
    clock.set("2026-02-02")
    store.commit(OLD)
    now = store.recall(QUERY).results[0]
    assert now.reason.tracerank_boost.events == 2
    assert now.memory.reinforce_count == 2
    then = store.recall(QUERY, known_at="2026-01-20").results[0]
    assert then.reason.tracerank_boost.events == 0
    assert then.reason.tracerank_boost.multiplier == 1.0
    assert (then.memory.reinforce_count, then.memory.last_seen_at) == (0, None)
    between = store.recall(QUERY, known_at="2026-02-01T12:00").results[0]
    assert (between.id, between.reason.tracerank_boost.events) == (id, 1)
    assert between.memory.reinforce_count == 1


def test_arguments_and_flags(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    store.commit(OLD, t_valid="2025-01-01", t_invalid="2026-01-01")
    store.commit("Dana starts at the mill next spring", t_valid="2027-01-01")
    with pytest.raises(vestig.ValidationError, match="as_of"):
        store.recall(QUERY, as_of="2026-01-01", known_at="2026-01-01")
    future = store.recall(QUERY, known_at="2030-01-01")
    assert any("future" in warning for warning in future.warnings)
    flags = {hit.content: hit.reason.flags for hit in store.recall(QUERY)}
    assert flags[OLD] == ("no_longer_valid",)
    assert flags["Dana starts at the mill next spring"] == ("not_yet_valid",)
    explained = {hit.content: str(hit.reason.explanation) for hit in store.recall(QUERY)}
    assert explained[OLD].endswith("No longer valid since 2026-01-01.")


def test_clock_steps_back(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    first = store.commit(OLD)
    clock.move(hours=-1)
    second = store.commit(NEW)
    assert [d.code for d in second.degraded] == ["clock_stepped_back"]
    times = [store.show(o.memory_id).memory.t_created for o in (first, second)]
    assert times[0] <= times[1]
    assert store.admin.metrics()['vestig_degradations_total{code="clock_stepped_back"}'] == 1


def test_future_event_counts_as_now(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    id = store.commit(OLD).memory_id
    assert store.recall(QUERY).results[0].reason.tracerank_boost.multiplier == 1.0
    store.commit(OLD, t_ref="2031-01-01")
    boost = store.recall(QUERY).results[0].reason.tracerank_boost
    assert boost.basic == pytest.approx(1.242601513, abs=1e-9)
    assert store.show(id).memory.last_seen_at.year == 2031


def test_stability_orders_equal_age(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    for stability in ("static", "dynamic", "ephemeral", "unknown"):
        store.commit(
            f"Dana keeps a {stability} note", temporal_stability=stability, t_valid="2026-03-01"
        )
    boost = {
        hit.memory.temporal_stability.value: hit.reason.tracerank_boost.multiplier
        for hit in store.recall("Dana keeps a note")
    }
    assert boost["ephemeral"] < boost["dynamic"] < boost["unknown"] == boost["static"] == 1.0
    off = store.recall("Dana keeps a note", config={"usage.enabled": False})
    assert {hit.reason.tracerank_boost.multiplier for hit in off} == {1.0}


def test_update_after_k_is_reported(opener: Opener) -> None:
    clock = FrozenClock("2026-01-10")
    store = opener(clock=clock)
    id = store.commit(OLD, t_valid="2025-06-01").memory_id
    clock.set("2026-02-01")
    store.update(id, t_invalid="2026-01-05")
    clock.set("2026-03-01")
    assert recalled(store, valid_at="2026-01-20") == []
    assert recalled(store, known_at="2026-01-20", valid_at="2026-01-20") == [id]
    shown = store.show(id, known_at="2026-01-20")
    assert shown.memory.t_invalid is None
    assert any("UPDATE" in warning for warning in shown.warnings)


def test_memories_stand_as_they_were_known(
    history: tuple[vestig.Vestig, str, str, FrozenClock],
) -> None:
    """What was superseded, withdrawn or linked after K was not so at K."""
    store, a, b, clock = history
    clock.set("2026-03-20")
    store.supersede(store.commit("Dana has an office at the quay").memory_id or "", b)
    assert store.commit(NEW, provenance={"agent": "tool"}).memory_id == b
    clock.set("2026-04-01")
    then = store.recall(QUERY, known_at="2026-01-15").results[0].memory
    assert (then.id, then.status.value, then.t_expired, then.superseded_by) == (
        (a, "active", None, None)
    )
    assert store.list(known_at="2026-01-15").memories[0] == then
    shown = store.show(a, known_at="2026-01-15")
    assert (shown.memory, shown.supersessions) == (then, ())
    flags = {
        day: store.recall(QUERY, known_at=day, limit=1, where={"ids": [b]}).results[0].reason.flags
        for day in ("2026-03-01", "2026-03-25")
    }
    assert flags["2026-03-01"] == (f"supersedes: {a}",)
    assert len(flags["2026-03-25"]) == 2
    assert [s.agent for s in store.show(b, known_at="2026-03-01").sources] == [None]
    assert {s.agent for s in store.show(b).sources} == {None, "tool"}


def test_payloads_name_both_ends(opener: Opener) -> None:
    """DEPRECATE and SUPERSEDE hold `t_invalid` and `previous_t_invalid`, null included."""
    store = opener()
    first, second, third = (store.commit(text).memory_id for text in (OLD, NEW, QUERY))
    assert first is not None
    assert second is not None
    assert third is not None
    store.deprecate(first)
    store.supersede(second, third)
    for id in (first, second):
        payload = store.events(id)[-1].payload
        assert payload["t_invalid"] is None
        assert payload["previous_t_invalid"] is None
        assert set(payload) >= {"content_hash", "tags", "artifact_ref", "reason"}


def test_an_end_that_is_to_come_is_refused_by_a_withdrawal_and_set_by_an_update(
    opener: Opener,
) -> None:
    clock = FrozenClock("2026-01-01")
    store = opener(clock=clock)
    first, other = (
        str(store.commit(f"The parking contract is with Haus {n}", tags=["haus"]).memory_id)
        for n in (7, 8)
    )
    haus = vestig.Filter(tags="haus")
    seq = store.admin.stats().seq
    for withdraw in (
        lambda: store.deprecate(first, t_invalid="2026-12-31"),
        lambda: store.deprecate(where=haus, t_invalid="2026-12-31"),
        lambda: store.deprecate(where=haus, t_invalid="2026-12-31", dry_run=True),
        lambda: store.deprecate(first, where={"until": "2026-12-31"}),  # type: ignore[call-overload]
    ):
        with pytest.raises(
            vestig.ValidationError, match=r"update\(id, t_invalid=…\) lets a memory"
        ):
            withdraw()
    assert (store.count(), store.admin.stats().seq) == (2, seq)
    store.update(first, t_invalid="2026-12-31")
    assert store.deprecate(other, t_invalid="2026-01-01").changed
    assert [one.id for one in store.list()] == [first]
