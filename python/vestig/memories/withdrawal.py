"""Withdrawing memories, and what holds on where an announced one goes: the store ended it for the
day of that one, and takes the end back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from vestig.calls.memories import DeprecateRequest
from vestig.changes import ChangeSet, MemoryPatch
from vestig.memories.shared_sources import left_of, said_of_shared, shared_by
from vestig.memories.spans import Happening, happenings, span_of
from vestig.memories.states import (
    FINAL,
    StateChange,
    Successor,
    change_state,
    check_end,
    check_ended,
    deprecate_changes,
    ended,
    event,
    joined,
    replace,
    selected_ids,
    selection_warnings,
    stated_by_no_other,
    superseded_by_them,
)
from vestig.results import DeprecateReport
from vestig.session.session import RollBack, Session, catch_up, clock_notice, keep_answer
from vestig.store.records import item_rows, keyed_memories, rule_rows
from vestig.store.records.graph_rows import microseconds, wrote_end
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import Degradation, EventType, Memory, Status, holds_until_successor


class HeldOn(NamedTuple):
    """A memory that ends on the day of an announced one that goes. `ends_us`: when it ends instead;
    None = it is open. `plan`: the id of what goes; `after`: what has its place behind that."""

    version: Memory
    ends_us: int | None
    plan: str
    after: Memory | None


class HoldingOn(NamedTuple):
    """The rows by which a memory holds on, and what is said of it."""

    changes: ChangeSet
    warning: str


def held_on(view: LedgerView, gone: Sequence[Memory], now_us: int) -> list[HeldOn]:
    """The memories that held until an announced one begins, which goes, and were to hold longer;
    not where something else has their place.

    Args:
        gone: what goes.
    """
    plans = {one.id: one for one in gone if to_us(one.t_valid) > now_us}
    if not plans:
        return []
    ids = {one.id for one in gone}
    olds = [one for one in _replaced_by_plans(view, plans) if one.id not in ids]
    found, slots = [], set[tuple[str | None, str]]()
    # of several values the one that began last held
    for old in sorted(olds, key=lambda one: one.t_valid, reverse=True):
        plan = plans.get(old.superseded_by or "")
        slot = None if old.key is None else (old.scope, old.key)
        if plan is None or old.t_invalid != plan.t_valid or old.t_valid >= plan.t_valid:
            continue
        if old.status is not Status.SUPERSEDED or slot in slots:
            continue
        begins_us, after = to_us(plan.t_valid), _behind(view, plan, ids)
        ends_us = _told_end_us(old, happenings(view, old))
        if after is not None and (ends_us is None or ends_us > to_us(after.t_valid)):
            ends_us = to_us(after.t_valid)
        if (ends_us is None or ends_us > begins_us) and _is_free(view, old, plan, after):
            found.append(HeldOn(old, ends_us, plan.id, after))
            slots |= set() if slot is None else {slot}
    return found


def _replaced_by_plans(view: LedgerView, plans: dict[str, Memory]) -> list[Memory]:
    """The memories that announced ones replaced. `plans` (id → what goes) gains those among them
    that hold at no time, for which the announced one stands: what these had replaced is found
    too."""
    space = next(iter(plans.values())).namespace
    found, before = dict[str, Memory](), dict[str, Memory]()
    latest = plans
    while latest:
        replaced = view.replaced_by(space, sorted(latest))
        olds = {id for listed in replaced.values() for id in listed}
        before = {one.id: one for one in view.memories(space, sorted(olds - {*plans, *found}))}
        found |= before
        latest = {
            id: plans[by]
            for id, one in before.items()
            if (by := one.superseded_by) in plans and one.t_invalid in (None, one.t_valid)
        }
        plans |= latest
    return list(found.values())


def _told_end_us(memory: Memory, happened: Sequence[Happening]) -> int | None:
    """The end that somebody gave a memory that was replaced; None where nobody did. What is said
    while nothing has its place is a word about it; the ends after that follow what replaces it."""
    told_us, replaced = span_of(memory, lambda: happened).told_end_us, False
    for one in happened:
        if not wrote_end(one.kind, one.payload):
            continue
        end_us = microseconds(one.payload["t_invalid"])
        if one.kind is EventType.SUPERSEDE:
            replaced = True
        elif one.kind is EventType.UPDATE and not replaced:
            told_us = end_us
        elif one.kind is EventType.UPDATE and end_us == told_us:
            # it held on: nothing has its place any more
            replaced = False
    return told_us


def _behind(view: LedgerView, plan: Memory, gone: set[str]) -> Memory | None:
    """The memory that takes the place of an announced one later, and stays."""
    after, seen = plan, set[str]()
    while after.superseded_by is not None and after.id not in seen:
        seen.add(after.id)
        following = next(iter(view.memories(plan.namespace, [after.superseded_by])), None)
        if following is None or following.id not in gone:
            return following
        after = following
    return None


def _is_free(view: LedgerView, old: Memory, plan: Memory, after: Memory | None) -> bool:
    """Return whether nothing else has the key of a memory, or its text where it has none."""
    if item_rows.of_memories(view, [msgspec.structs.replace(old, t_expired=None)]):
        return False
    if old.key is not None:
        slot = old.namespace, old.scope, old.key
        current = keyed_memories.current(view, *slot)
        own = {plan.id, plan.superseded_by, None if after is None else after.id}
        return current is None or current.id in own
    same = view.first_with_text(old.namespace, old.scope, old.author, old.content_hash)
    return same is None and after is None and old.session_id is None


def holding_on(held: HeldOn, now_us: int) -> HoldingOn:
    """The change that takes back that a memory ends for an announced one: what was to follow that
    one follows it, else it is as it was."""
    old, after, end_us = held.version, held.after, held.ends_us
    assert old.t_invalid is not None, "it was to end"
    day = format_us(to_us(old.t_invalid))
    if after is not None:
        begins_us = to_us(after.t_valid)
        successor = Successor(id=after.id, t_valid_us=begins_us, key=after.key, scope=after.scope)
        rows = replace(old, successor, reason="key", t_invalid_us=end_us, now_us=now_us)
        changes = rows.change_set(old.namespace)
    else:
        fields = {
            "status": Status.ACTIVE,
            "superseded_by": None,
            "t_invalid": None if end_us is None else from_us(end_us),
            "t_expired": None,
        }
        times = ended(old, end_us)
        before, now = times["previous_t_invalid"], times["t_invalid"]
        payload = {"old": {"t_invalid": before}, "new": {"t_invalid": now}} | times
        changes = ChangeSet(
            namespace=old.namespace,
            patches=(MemoryPatch(memory_id=old.id, fields=fields, bump_version=True),),
            events=(event(old, EventType.UPDATE, now_us, payload),),
        )
    return HoldingOn(
        changes, f"{old.id} holds on from {day}: it was to end then only because of {held.plan}"
    )


def all_holding_on(view: LedgerView, gone: Sequence[Memory], now_us: int) -> list[HoldingOn]:
    """Return by which rows memories hold on (`held_on`), and what is said of each."""
    return [holding_on(one, now_us) for one in held_on(view, gone, now_us)]


def deprecate(session: Session, asked: DeprecateRequest) -> StateChange:
    """Withdraws a memory, or ends its fact at `t_invalid`."""
    assert asked.id is not None, "a filter has a call of its own"
    end, said = asked.t_invalid, list[str]()
    check_ended(end, session.now_us())

    def decision(
        view: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        check_end(memory, end)
        changes = deprecate_changes(memory, asked.reason or "", end, now)
        on = all_holding_on(view, [memory], now)
        said.extend(one.warning for one in on)
        return joined(memory.namespace, [changes, *(one.changes for one in on)]), ()

    return change_state(session, asked.id, "deprecate", decision, asked.namespace, said)


def deprecate_selected(session: Session, asked: DeprecateRequest) -> DeprecateReport:
    """Withdraws every memory that a filter selects and that has not expired, or holds until its
    successor begins, in one transaction; the text of a rule, and what the filter selects by its
    sources and others hold too, only if it names its id."""
    end, space = asked.t_invalid, session.in_namespace(asked.namespace)
    check_ended(end, session.now_us())
    degraded: list[Degradation] = []
    with session.operation("deprecate", without_store="make"):
        found = selected_ids(session, space, asked.where)
        notes = selection_warnings(session, space, asked.where)
        report: DeprecateReport | None = None
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            if asked.only:
                found = stated_by_no_other(txn, space, found, asked.where.given()["sources"])
            now_us, why = session.now_us(), asked.reason or ""
            now = from_us(now_us)
            memories = [
                one
                for one in txn.memories(space, found)
                if one.status not in FINAL or holds_until_successor(one, now)
            ]
            shared = shared_by(txn, space, memories, asked.where)
            memories = left_of(memories, shared)
            found = [id for id in found if id not in {one.memory.id for one in shared}]
            named = tuple(asked.where.given().get("ids", ()))
            kept = dict.fromkeys(rule_rows.beside_named(txn, space, memories, named))
            memories = [one for one in memories if one.id not in kept]
            found = [id for id in found if id not in kept]
            for memory in memories:
                check_end(memory, end)
            on = all_holding_on(txn, memories, now_us)
            report = DeprecateReport(
                memory_ids=tuple(memory.id for memory in memories),
                had_superseded=superseded_by_them(txn, space, found),
                dry_run=asked.dry_run,
                seq=txn.seq,
                warnings=(
                    *notes,
                    *said_of_shared(session, shared, by_id="deprecate"),
                    *(
                        f"{id} is the text of a rule, which stays: a filter ends it only by its id"
                        for id in kept
                    ),
                    *(one.warning for one in on),
                ),
            )
            if asked.dry_run or not memories:
                raise RollBack
            parts = [deprecate_changes(memory, why, end, now_us) for memory in memories]
            seq = txn.apply(joined(space, [*parts, *(one.changes for one in on)]))
            degraded.extend(clock_notice(txn.clock_behind_us))
            report = done = msgspec.structs.replace(report, seq=seq, degraded=tuple(degraded))
            keep_answer(txn, lambda: done)
        assert report is not None, "only after it is left the transaction without writing"
        if report.dry_run or not report.memory_ids:
            return report
        return msgspec.structs.replace(report, degraded=catch_up(session, degraded))
