"""A newer fact replaces an older one (L-03, L-04)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from vestig.changes import ChangeSet, MemoryPatch, NewEvent, NewSupersession
from vestig.errors import ConflictError
from vestig.lifecycle.states import ended, event
from vestig.times import format_us, to_us
from vestig.types import EventType, Memory, Status, SupersessionRecord

__all__ = ["Replacement", "Successor", "check_replaceable", "existing_record", "replace"]


class Successor(msgspec.Struct, frozen=True, kw_only=True):
    """The newer memory, which may not be stored yet."""

    id: str
    t_valid_us: int


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that one supersession writes."""

    patch: MemoryPatch
    event: NewEvent
    record: NewSupersession

    def change_set(self, namespace: str) -> ChangeSet:
        """The rows as a transaction of their own."""
        return ChangeSet(
            namespace=namespace,
            patches=(self.patch,),
            events=(self.event,),
            supersessions=(self.record,),
        )


def _since(memory: Memory) -> str:
    return "unknown" if memory.t_expired is None else format_us(to_us(memory.t_expired))


def existing_record(
    old_id: str, new_id: str, records: Sequence[SupersessionRecord]
) -> SupersessionRecord | None:
    """The record of exactly this pair; repeating it is a no-op."""
    for record in records:
        if record.superseded_id == old_id and record.superseding_id == new_id:
            return record
    return None


def _chain(start: str, goal: str, records: Sequence[SupersessionRecord]) -> list[str] | None:
    """Ids from `start` along its successors to `goal`, or None."""
    trail: dict[str, str | None] = {start: None}
    queue = [start]
    for node in queue:
        if node == goal:
            path = [node]
            while (before := trail[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for record in records:
            if record.superseded_id == node and record.superseding_id not in trail:
                trail[record.superseding_id] = node
                queue.append(record.superseding_id)
    return None


def check_replaceable(old: Memory) -> None:
    """A withdrawn memory cannot be replaced."""
    if old.status is Status.DEPRECATED:
        raise ConflictError(
            f"cannot supersede {old.id}: it is deprecated since {_since(old)};"
            " only active, archived or superseded memories can be replaced"
        )


def check_pair(old: Memory, new: Memory, records: Sequence[SupersessionRecord]) -> None:
    """The rules of L-03; a cycle prints its chain."""
    if old.id == new.id:
        raise ConflictError(f"cannot supersede {old.id} by itself: name two memories")
    cycle = _chain(new.id, old.id, records)
    if cycle is not None:
        raise ConflictError(
            f"cannot supersede {old.id} by {new.id}: that would close a cycle:"
            f" {' → '.join([old.id, *cycle])}"
        )
    check_replaceable(old)
    if new.status is not Status.ACTIVE:
        since = f" since {_since(new)}" if new.t_expired else "; restore it first"
        raise ConflictError(
            f"cannot supersede by {new.id}: the newer memory must be active, it is"
            f" {new.status.value}{since}"
        )


def replace(
    old: Memory, successor: Successor, *, reason: str, t_invalid_us: int | None, now_us: int
) -> Replacement:
    """Rows for `successor` replacing `old`. An already superseded memory keeps its first
    `t_expired`; an open end becomes the moment the newer fact began, when that is later."""
    columns: dict[str, Any] = {
        "status": Status.SUPERSEDED.value,
        "superseded_by": successor.id,
    }
    end = t_invalid_us
    if end is None and old.t_invalid is None and successor.t_valid_us > to_us(old.t_valid):
        end = successor.t_valid_us
    if end is not None:
        columns["t_invalid_us"] = end
    payload = {"superseded_by": successor.id, "reason": reason} | ended(old, end)
    return Replacement(
        patch=MemoryPatch(memory_id=old.id, columns=columns, expired=True),
        event=event(old, EventType.SUPERSEDE, now_us, payload),
        record=NewSupersession(superseding_id=successor.id, superseded_id=old.id, reason=reason),
    )
