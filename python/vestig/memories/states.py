"""Deprecate, supersede, pin, archive, update: one decision, one transaction (L-02 … L-13)."""

from __future__ import annotations

from collections.abc import Callable

from vestig.arguments import parse_time
from vestig.changes import AccessTouch, ChangeSet
from vestig.errors import ValidationError
from vestig.lifecycle import states, supersession
from vestig.ports import LedgerView
from vestig.session.session import Context
from vestig.times import format_us, to_us
from vestig.types import Degradation, Memory, SupersessionRecord, _Value

__all__ = [
    "StateChange",
    "Undo",
    "change_state",
    "reason_argument",
    "record_access",
    "supersede",
]


class Undo(Exception):
    """Leaves a transaction without writing; caught outside of it."""


class StateChange(_Value, frozen=True, kw_only=True):
    """What a lifecycle call did; `changed` is false where the state was already so."""

    memory_id: str
    action: str
    changed: bool
    status: str
    pinned: bool
    version: int
    fields: tuple[str, ...] = ()
    seq: int
    degraded: tuple[Degradation, ...] = ()


def reason_argument(value: object, *, required: bool = False) -> str | None:
    """A reason: text up to 500 characters, or None."""
    if value is None and not required:
        return None
    if not isinstance(value, str) or len(value) > 500:
        fact = f"{len(value)} characters" if isinstance(value, str) else type(value).__name__
        raise ValidationError("reason", fact, "text of at most 500 characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError("reason", "…", "text without lone surrogates") from None
    return value


def clock_notice(stepped_back: bool) -> list[Degradation]:
    """B-40 for a transaction that kept the last recorded time."""
    if not stepped_back:
        return []
    detail = "the clock is behind the ledger: the last recorded time was used"
    return [Degradation(code="clock_stepped_back", detail=detail)]


def finish(context: Context, degraded: list[Degradation]) -> tuple[Degradation, ...]:
    """After a durable change: catch up, collect what degraded, count it."""
    degraded.extend(context.keeper.after_commit())
    context.metrics.degraded(degraded)
    return tuple(degraded)


def change_state(
    context: Context,
    id: object,
    action: str,
    decide: Callable[[LedgerView, Memory, int], tuple[ChangeSet | None, tuple[str, ...]]],
    namespace: object = None,
) -> StateChange:
    """Reads the memory under the write lock, decides, writes; nothing changes on an error."""
    space = context.in_namespace(namespace)
    degraded: list[Degradation] = []
    with context.operation(action):
        with context.ledger.write(context.now_us()) as txn:
            memory = context.memory(txn, space, id)
            changes, fields = decide(txn, memory, context.now_us())
            seq = txn.seq
            if changes is not None:
                seq = txn.apply(changes)
                degraded.extend(clock_notice(txn.clock_stepped_back))
        notes = finish(context, degraded) if changes is not None else ()
        with context.ledger.read() as view:
            after = view.memories(space, [memory.id])[0]
        return StateChange(
            memory_id=memory.id,
            action=action,
            changed=changes is not None,
            status=after.status.value,
            pinned=after.pinned,
            version=after.version,
            fields=fields,
            seq=seq,
            degraded=notes,
        )


def simple(
    context: Context, id: object, action: str, *, reason: object, namespace: object
) -> StateChange:
    """Archive, restore, pin or unpin."""
    why = reason_argument(reason)
    decide = getattr(states, action)

    def decision(
        _: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        return decide(memory, why, now), ()

    return change_state(context, id, action, decision, namespace)


def deprecate(
    context: Context, id: object, *, reason: object, t_invalid: object, namespace: object
) -> StateChange:
    """Withdraws a memory, or ends its fact at `t_invalid` (L-02)."""
    why = reason_argument(reason, required=True) or ""
    end = None if t_invalid is None else parse_time(t_invalid, "t_invalid")

    def decision(
        _: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        check_end(memory, end)
        return states.deprecate(memory, why, end, now), ()

    return change_state(context, id, "deprecate", decision, namespace)


def check_end(memory: Memory, end_us: int | None) -> None:
    """A fact cannot end before it began (D-01)."""
    if end_us is not None and end_us < to_us(memory.t_valid):
        begin = format_us(to_us(memory.t_valid))
        raise ValidationError(
            "t_invalid", format_us(end_us), f"a time from t_valid {begin} of {memory.id} on"
        )


def supersede(
    context: Context,
    old: object,
    new: object,
    *,
    reason: object,
    t_invalid: object,
    namespace: object,
) -> SupersessionRecord:
    """Marks `new` as the successor of `old`; repeating a pair returns its record (L-03)."""
    why = reason_argument(reason, required=True) or ""
    end = None if t_invalid is None else parse_time(t_invalid, "t_invalid")
    space = context.in_namespace(namespace)
    degraded: list[Degradation] = []
    with context.operation("supersede"):
        with context.ledger.write(context.now_us()) as txn:
            before = context.memory(txn, space, old, "old")
            after = context.memory(txn, space, new, "new")
            records = txn.supersessions(space, before.id) + txn.supersessions(space, after.id)
            found = supersession.existing_record(before.id, after.id, records)
            if found is not None:
                return found
            supersession.check_pair(before, after, records)
            check_end(before, end)
            successor = supersession.Successor(id=after.id, t_valid_us=to_us(after.t_valid))
            parts = supersession.replace(
                before, successor, reason=why, t_invalid_us=end, now_us=context.now_us()
            )
            txn.apply(parts.change_set(space))
            degraded.extend(clock_notice(txn.clock_stepped_back))
        finish(context, degraded)
        with context.ledger.read() as view:
            records = view.supersessions(space, before.id)
        record = supersession.existing_record(before.id, after.id, records)
        assert record is not None, "a written record is readable"
        return record


def record_access(context: Context, ids: object, namespace: object) -> int:
    """One access of each of these memories (L-12); unknown id: nothing is written."""
    if isinstance(ids, str) or not isinstance(ids, (list, tuple, set)):
        raise ValidationError("ids", ids, "a list of ids")
    space = context.in_namespace(namespace)
    with context.operation("record_access"):
        with context.ledger.read() as view:
            full = {context.full_id(view, space, id, "ids") for id in ids}
            known = {memory.id for memory in view.memories(space, sorted(full))}
            for missing in sorted(full - known):
                raise context.not_found(view, space, missing)
        if full:
            touch = AccessTouch(memory_ids=tuple(sorted(full)), accessed_us=context.now_us())
            context.ledger.touch(space, touch)
        return len(full)
