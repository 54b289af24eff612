"""Changing what is known about a memory, not what it says (L-13)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.changes import ChangeSet, MemoryPatch
from vestig.errors import ValidationError
from vestig.memories.states import check_unexpired, ended, event
from vestig.times import format_us, to_us
from vestig.types import EventType, Memory

__all__ = ["FieldChanges", "update"]


class FieldChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Checked new values; UNSET = keep, None = clear. Times in microseconds."""

    metadata: dict[str, Any] | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType | None = UNSET
    scope: str | UnsetType | None = UNSET
    retention_policy: str | UnsetType | None = UNSET
    retention_until_us: int | UnsetType | None = UNSET
    t_valid_us: int | UnsetType | None = UNSET
    t_invalid_us: int | UnsetType | None = UNSET
    temporal_stability: str | UnsetType | None = UNSET
    trigger: str | UnsetType | None = UNSET


# What a cleared column falls back to, where it cannot be empty.
_CLEARED: Final[dict[str, Any]] = {"temporal_stability": "unknown"}
_PLAIN: Final = ("scope", "retention_policy", "temporal_stability", "trigger")
_TIMES: Final = ("retention_until", "t_valid", "t_invalid")


def _metadata(memory: Memory, changes: FieldChanges) -> dict[str, Any]:
    """`source` always stays; tags and the caller's own keys are set apart from each other."""
    now = memory.metadata
    kept: dict[str, Any] = {"source": now["source"]} if "source" in now else {}
    if changes.metadata is UNSET:
        kept |= {key: value for key, value in now.items() if key not in ("source", "tags")}
    else:
        kept |= changes.metadata or {}
    if changes.tags is UNSET:
        if "tags" in now:
            kept["tags"] = now["tags"]
    elif changes.tags is not None:
        kept["tags"] = list(changes.tags)
    return kept


def _time_text(us: int | None) -> str | None:
    return None if us is None else format_us(us)


def _check_order(memory: Memory, changes: FieldChanges) -> None:
    if changes.t_valid_us is None:
        raise ValidationError("t_valid", None, "a time: a fact cannot be without a beginning")
    start = to_us(memory.t_valid) if changes.t_valid_us is UNSET else changes.t_valid_us
    if changes.t_invalid_us is UNSET:
        end = None if memory.t_invalid is None else to_us(memory.t_invalid)
    else:
        end = changes.t_invalid_us
    if end is not None and end < start:
        raise ValidationError(
            "t_invalid", format_us(end), f"a time from t_valid {format_us(start)} on"
        )


def update(
    memory: Memory, changes: FieldChanges, *, default_policy: str, now_us: int
) -> tuple[ChangeSet | None, tuple[str, ...]]:
    """The transaction and the names of the fields that change; (None, ()) when nothing does."""
    check_unexpired(memory, "update")
    _check_order(memory, changes)
    columns: dict[str, Any] = {}
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    metadata = _metadata(memory, changes)
    if metadata != memory.metadata:
        columns["metadata"] = metadata
        old["metadata"], new["metadata"] = memory.metadata, metadata
    for name in _PLAIN:
        value = getattr(changes, name)
        if value is UNSET:
            continue
        if value is None:
            value = default_policy if name == "retention_policy" else _CLEARED.get(name)
        before = getattr(memory, name)
        before = getattr(before, "value", before)
        if value != before:
            columns[name], old[name], new[name] = value, before, value
    for name in _TIMES:
        value = getattr(changes, f"{name}_us")
        if value is UNSET:
            continue
        moment = getattr(memory, name)
        before_us = None if moment is None else to_us(moment)
        if value != before_us:
            columns[f"{name}_us"] = value
            old[name], new[name] = _time_text(before_us), _time_text(value)
    if not columns:
        return None, ()
    payload: dict[str, Any] = {"old": old, "new": new}
    if "t_invalid_us" in columns:
        payload |= ended(memory, columns["t_invalid_us"])
    changed = ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, columns=columns, bump_version=True),),
        events=(event(memory, EventType.UPDATE, now_us, payload),),
    )
    return changed, tuple(new)
