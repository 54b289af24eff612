"""Deprecate, archive, restore, pin, unpin (L-01, L-02, L-05, L-06)."""

from __future__ import annotations

from typing import Any, Final

from vestig.changes import ChangeSet, MemoryPatch, NewEvent
from vestig.errors import ConflictError
from vestig.ids import new_id
from vestig.times import format_us, to_us
from vestig.types import EventType, Memory, Status

__all__ = ["archive", "check_unexpired", "deprecate", "pin", "restore", "unpin"]

EXPIRED: Final = (Status.SUPERSEDED, Status.DEPRECATED)


def check_unexpired(memory: Memory, action: str) -> None:
    """Final states stay final (L-01); the message names id, state and since when (B-24)."""
    if memory.status in EXPIRED:
        since = "unknown" if memory.t_expired is None else format_us(to_us(memory.t_expired))
        raise ConflictError(
            f"cannot {action} {memory.id}: it is {memory.status.value} since {since};"
            " commit its text again to revive it"
        )


def event(memory: Memory, kind: EventType, now_us: int, payload: dict[str, Any]) -> NewEvent:
    """An event of the lifecycle, with what every payload holds (D-04)."""
    base: dict[str, Any] = {
        "content_hash": memory.content_hash,
        "tags": list(memory.tags),
        "artifact_ref": None,
    }
    return NewEvent(
        id=new_id("evt"),
        memory_id=memory.id,
        event_type=kind,
        occurred_us=now_us,
        source="manual",
        payload=base | payload,
    )


def ended(memory: Memory, t_invalid_us: int | None) -> dict[str, Any]:
    """The part of a payload from which time travel restores the earlier end (T-13)."""
    previous = memory.t_invalid
    return {
        "t_invalid": None if t_invalid_us is None else format_us(t_invalid_us),
        "previous_t_invalid": None if previous is None else format_us(to_us(previous)),
    }


def deprecate(memory: Memory, reason: str, t_invalid_us: int | None, now_us: int) -> ChangeSet:
    """Withdraws a memory; with `t_invalid` the fact ended, without it was never so (T-13)."""
    check_unexpired(memory, "deprecate")
    columns: dict[str, Any] = {"status": Status.DEPRECATED.value}
    payload: dict[str, Any] = {"reason": reason} | ended(memory, t_invalid_us)
    if t_invalid_us is not None:
        columns["t_invalid_us"] = t_invalid_us
    return ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, columns=columns, expired=True),),
        events=(event(memory, EventType.DEPRECATE, now_us, payload),),
    )


def _change(
    memory: Memory, kind: EventType, columns: dict[str, Any], reason: str | None, now_us: int
) -> ChangeSet:
    return ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, columns=columns),),
        events=(event(memory, kind, now_us, {"reason": reason}),),
    )


def archive(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Hidden from ordinary reads, still matched as a duplicate; None when it already is."""
    check_unexpired(memory, "archive")
    if memory.status is Status.ARCHIVED:
        return None
    return _change(memory, EventType.ARCHIVE, {"status": Status.ARCHIVED.value}, reason, now_us)


def restore(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Back to active; None when it already is."""
    check_unexpired(memory, "restore")
    if memory.status is Status.ACTIVE:
        return None
    return _change(memory, EventType.RESTORE, {"status": Status.ACTIVE.value}, reason, now_us)


def pin(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Marks a memory as never to be lost; None when it already is."""
    check_unexpired(memory, "pin")
    if memory.pinned:
        return None
    columns = {"pinned": True, "pinned_at_us": now_us, "pinned_reason": reason}
    return _change(memory, EventType.PIN, columns, reason, now_us)


def unpin(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Takes the mark away in any state; None when there is none."""
    if not memory.pinned:
        return None
    columns = {"pinned": False, "pinned_at_us": None, "pinned_reason": None}
    return _change(memory, EventType.UNPIN, columns, reason, now_us)
