"""Confirming what an assistant or a tool states: what stands beside the value of a key takes its
place."""

from __future__ import annotations

import msgspec

from vestig.calls.memories import ConfirmRequest
from vestig.changes import ChangeSet, new_claim
from vestig.ids import new_id
from vestig.memories.spans import Stretch, continuation, told_times
from vestig.memories.states import (
    StateChange,
    Successor,
    change_state,
    confirm_changes,
    event,
    joined,
    replace,
)
from vestig.session.session import Session
from vestig.store.records import keyed_memories
from vestig.store.records.memory_parts import parts_for
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, to_us
from vestig.types import EventType, Memory


def confirm(session: Session, asked: ConfirmRequest) -> StateChange:
    """Marks a statement of an assistant or a tool as one that somebody stands for, and gives it the
    key beside whose value it was stored."""
    said = list[str]()

    def decision(
        view: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        changes = confirm_changes(memory, asked.by, now)
        key = None if changes is None else _key_beside(view, memory)
        if changes is None or key is None:
            return changes, ()
        placed, warning = _placed(view, memory, key, now)
        said.append(warning)
        return changes if placed is None else joined(memory.namespace, [changes, placed]), ()

    return change_state(session, asked.id, "confirm", decision, asked.namespace, said)


def _key_beside(view: LedgerView, memory: Memory) -> str | None:
    """The key that was asked for when a memory was stored, and that another one kept."""
    space = memory.namespace
    asked = [one.payload.get("beside") for one in view.events(space, memory.id)]
    kept = [id for id in asked if id is not None]
    if memory.key is not None or not kept:
        return None
    return next((one.key for one in view.memories(space, kept[-1:])), None)


def _placed(
    view: LedgerView, memory: Memory, key: str, now_us: int
) -> tuple[ChangeSet | None, str]:
    """The rows by which the text of a memory takes the place of what has a key, and what is said of
    it; None where that keeps the key."""
    space, begins_us = memory.namespace, to_us(memory.t_valid)
    value = keyed_memories.current(view, space, memory.scope, key)
    if value is not None and value.content_hash == memory.content_hash:
        return None, f"{value.id} has the key {key} with the same text"
    if value is not None and (value.pinned or to_us(value.t_valid) > begins_us):
        why = "is pinned" if value.pinned else f"holds from {format_us(to_us(value.t_valid))} on"
        return None, (
            f"{value.id} keeps the key {key}, for it {why}: commit the text with the key where it"
            " holds now"
        )
    ends_us = None if memory.t_invalid is None else to_us(memory.t_invalid)
    if ends_us is not None and ends_us <= now_us:
        return None, f"{memory.id} has ended, and does not get the key {key}"
    stretch = Stretch(None, begins_us, ends_us, begins_us, True)
    made, changes = _with_text_of(
        view, memory, stretch, now_us, key=key, confirmed=True, revives=None
    )
    successor = Successor(id=made.id, t_valid_us=begins_us, key=key, scope=memory.scope)
    olds = [memory] if value is None else [memory, value]
    replaced = [
        replace(old, successor, reason="key", t_invalid_us=_end(old, begins_us), now_us=now_us)
        for old in olds
    ]
    place = "" if value is None else f", in the place of {value.id}"
    return (
        joined(space, [changes, *(one.change_set(space) for one in replaced)]),
        f"{made.id} has the key {key} now, with the text of {memory.id}{place}",
    )


def _with_text_of(
    view: LedgerView,
    known: Memory,
    stretch: Stretch,
    now_us: int,
    **fields: object,
) -> tuple[Memory, ChangeSet]:
    """A new memory with the text of another one, and all that this has.

    Args:
        stretch: when it holds.
        fields: what it has otherwise.
    """
    space, id = known.namespace, new_id("mem")
    text = view.normal_texts(space, [known.id]).get(known.id, known.content)
    made = continuation(known, stretch, text, id, now_us)
    parts = parts_for(view, known, id)
    made = msgspec.structs.replace(made, processing="pending" if parts.jobs else "ready", **fields)
    payload = {
        "tags": list(made.tags),
        "revives": made.revives,
        "repeats": None,
        "similar": [],
        "structured": made.structured is not None,
        "key": made.key,
        **told_times(stretch),
    }
    claims = view.claims(space, [known.id]).values()
    changes = msgspec.structs.replace(
        parts,
        memories=(made,),
        claims=tuple(new_claim(id, claim) for claim in claims),
        events=(event(made, EventType.ADD, now_us, payload),),
    )
    return made, changes


def _end(old: Memory, begins_us: int) -> int:
    """When a memory ends whose place another one takes."""
    return begins_us if old.t_invalid is None else min(begins_us, to_us(old.t_invalid))
