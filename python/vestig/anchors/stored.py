"""Stored anchors: shown, taken again, and those whose sources changed, with the memories that these
end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vestig.anchors.values import MemoryAnchors, StaleMemories, StaleMemory
from vestig.calls.anchors import AnchorsRequest, RefreshRequest, StaleRequest
from vestig.changes import ChangeSet, NewAnchor
from vestig.commit.anchors import hash_digest, taken_span
from vestig.errors import ConflictError, NotFoundError
from vestig.memories import states
from vestig.memories.anchors import Look, check_url
from vestig.printed import anchor_words
from vestig.repository.files import UnreadableFileError
from vestig.session.session import Session, catch_up, clock_notice, keep_answer
from vestig.store.records import anchor_rows, rule_rows
from vestig.store.records.anchor_rows import AnchorRow
from vestig.store.records.reads import LedgerView
from vestig.types import Anchor, AnchorKind, AnchorState, Degradation, Memory, Status

_STALE = (AnchorState.CHANGED, AnchorState.GONE)
# Why the text of a rule is not ended.
_OF_A_RULE = "it is the text of a rule, which ends by a call that names it"


def show(session: Session, asked: AnchorsRequest) -> MemoryAnchors:
    """The anchors of a memory, and of what it was made of."""
    space = session.in_namespace(asked.namespace)
    with session.operation("anchor_show"), session.ledger.read() as view:
        memory = session.memory(view, space, asked.id)
        rows = anchor_rows.of_memories(view, space, [memory.id])
        with Look(session, follow=True) as look:
            anchors = tuple(look.anchor(row) for row in rows.get(memory.id, ()))
        return MemoryAnchors(anchors=anchors, memory_id=memory.id, seq=view.seq)


def refresh(session: Session, asked: RefreshRequest) -> MemoryAnchors:
    """Takes the anchors of a memory again: the present text at the present lines.

    Raises:
        NotFoundError: the memory has none.
        ConflictError: one cannot be seen, is gone, or is another memory.
    """
    space = session.in_namespace(asked.namespace)
    degraded: list[Degradation] = []
    with session.operation("anchor_refresh"):
        with session.ledger.read() as view:
            memory = session.memory(view, space, asked.id)
            rows = _own(view, space, memory)
        now_us = session.now_us()
        with Look(session, follow=True) as look:
            new = tuple(_again(session, look, memory, row, now_us) for row in rows)
        with session.ledger.write(now_us, make=False) as txn:
            known = _own(txn, space, session.memory(txn, space, memory.id))
            if known != rows:
                raise ConflictError(f"the anchors of {memory.id} changed meanwhile; try again")
            txn.apply(ChangeSet(namespace=space, anchors=new))
            degraded.extend(clock_notice(txn.clock_behind_us))
        done = tuple(catch_up(session, degraded))
    return msgspec.structs.replace(
        show(session, AnchorsRequest(id=memory.id, namespace=space)), degraded=done
    )


def _own(view: LedgerView, namespace: str, memory: Memory) -> list[AnchorRow]:
    rows = anchor_rows.of_memories(view, namespace, [memory.id], derived=False).get(memory.id)
    if not rows:
        raise NotFoundError("Anchor", memory.id, "the memory has no anchors of its own")
    return rows


def _again(session: Session, look: Look, memory: Memory, row: AnchorRow, now_us: int) -> NewAnchor:
    """An anchor as its source is."""
    named = f"anchor {row.position} of {memory.id}"
    new = NewAnchor(
        memory_id=memory.id,
        taken_us=now_us,
        kind=row.kind,
        target=row.target or "",
        project=row.project,
        position=row.position,
    )
    stands = look.standing(row)
    if stands.state in (AnchorState.UNKNOWN, AnchorState.GONE):
        why = stands.why or "it is gone"
        raise ConflictError(f"cannot take {named} again: {why}")
    if row.kind == AnchorKind.MEMORY.value:
        if stands.state is AnchorState.CHANGED:
            raise ConflictError(
                f"cannot take {named} again: that memory has ended; commit the text with the one"
                " that took its place"
            )
        return new
    if row.kind == AnchorKind.URL.value:
        found = check_url(session, new.target)
        if not isinstance(found, str):
            raise ConflictError(f"cannot take {named} again: it has no hash")
        return msgspec.structs.replace(new, digest=hash_digest(found))
    assert look.repository is not None, "the file was seen"
    lines = stands.now
    if lines is None and row.first_line is not None and row.last_line is not None:
        lines = (row.first_line, row.last_line)
    try:
        new = msgspec.structs.replace(new, target=stands.file or new.target)
        span = taken_span(look.folder(), new.target, lines, now_us)
    except (ValueError, FileNotFoundError, UnreadableFileError) as error:
        raise ConflictError(f"cannot take {named} again: expected {error}") from error
    committed = row.committed
    if committed is not None:
        assert look.branches is not None, "it has a repository"
        committed = look.branches.changed([new.target]).get(new.target, False)
    return msgspec.structs.replace(new, commit=look.commit, committed=committed, **span)


def stale(session: Session, asked: StaleRequest) -> StaleMemories:
    """Active memories of which an anchor of their own changed, or its file is gone; where that is
    asked for the end of those whose lines stand nowhere."""
    space = session.in_namespace(asked.namespace)
    with session.operation("stale"):
        with session.ledger.read() as view:
            found = _stale(session, view, space, asked)
        if not (asked.deprecate and found.memories):
            return found
        return _deprecated(session, space, found)


def _stale(
    session: Session, view: LedgerView, namespace: str, asked: StaleRequest
) -> StaleMemories:
    ids = anchor_rows.anchored(view, namespace)
    memories = [
        one
        for one in view.memories(namespace, ids)
        if asked.scope is None or one.scope in asked.scope
    ]
    rows = anchor_rows.of_memories(view, namespace, [one.id for one in memories], derived=False)
    rules = frozenset(rule_rows.beside_named(view, namespace, memories, ()))
    found, unknown = list[StaleMemory](), 0
    with Look(session, follow=True) as look:
        for memory in memories:
            anchors = [(row, look.anchor(row)) for row in rows.get(memory.id, ())]
            unknown += sum(one.state is AnchorState.UNKNOWN for _, one in anchors)
            if old := [pair for pair in anchors if _is_stale(pair[1])]:
                found.append(
                    StaleMemory(
                        id=memory.id,
                        text=memory.content,
                        scope=memory.scope,
                        anchors=tuple(one for _, one in old),
                        stays=_OF_A_RULE if memory.id in rules else _stays(look, old),
                    )
                )
    return StaleMemories(
        memories=tuple(found[: asked.limit]),
        looked_at=len(memories),
        unknown=unknown,
        more=max(0, len(found) - asked.limit),
        seq=view.seq,
    )


def _is_stale(anchor: Anchor) -> bool:
    return anchor.state in _STALE or anchor.file is not None


def _stays(look: Look, stale: Sequence[tuple[AnchorRow, Anchor]]) -> str | None:
    """Why a memory is not ended for these anchors; None where one has its lines nowhere."""
    reasons = []
    for row, anchor in stale:
        if anchor.state not in _STALE:
            reasons.append(f"its lines are in {anchor.file}")
        elif (name := look.has_default_branch(row)) is not None:
            reasons.append(f"{name} has its lines")
        else:
            return None
    return "; ".join(dict.fromkeys(reasons))


def _deprecated(session: Session, namespace: str, found: StaleMemories) -> StaleMemories:
    """The same memories, those that are still active withdrawn in one transaction."""
    degraded: list[Degradation] = []
    zone = session.config.settings.time.zone
    with session.ledger.write(session.now_us(), make=False) as txn:
        now_us = session.now_us()
        stored = {one.id: one for one in txn.memories(namespace, [one.id for one in found])}
        ended = [one for one in found if one.stays is None and _may_end(txn, stored.get(one.id))]
        parts = [
            states.deprecate_changes(stored[one.id], _why(one.anchors, zone), None, now_us)
            for one in ended
        ]
        seq = txn.apply(states.joined(namespace, parts)) if parts else txn.seq
        degraded.extend(clock_notice(txn.clock_behind_us))
        ids = {one.id for one in ended}
        done = msgspec.structs.replace(
            found,
            memories=tuple(msgspec.structs.replace(one, deprecated=one.id in ids) for one in found),
            seq=seq,
        )
        keep_answer(txn, lambda: done)
    return msgspec.structs.replace(done, degraded=tuple(catch_up(session, degraded)))


def _may_end(view: LedgerView, memory: Memory | None) -> bool:
    """Return whether a memory is active, and no rule, which ends by its name alone."""
    if memory is None or memory.status is not Status.ACTIVE:
        return False
    return not rule_rows.is_rule(view, memory)


def _why(anchors: tuple[Anchor, ...], zone: str) -> str:
    return "; ".join(anchor_words(anchors, zone))
