"""The difference between two times: what was recorded after the one and until the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from vestig.calls.memories import DiffRequest
from vestig.errors import ValidationError
from vestig.filters import filter_parts, moments, not_to_come
from vestig.ids import id_text, split_ids
from vestig.results import (
    DiffReport,
    EndedMemory,
    ForgottenMemory,
    MergedEntity,
    ReplacedMemory,
    UpdatedMemory,
    WithdrawnMemory,
)
from vestig.session.references import resolved
from vestig.session.session import Session
from vestig.store.records import differences
from vestig.store.records.differences import EventRow, ExpiredRow, Span
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us
from vestig.types import Status

# A difference tells of changes of status: these say of which memories by their status now.
_OF_STATUS: Final = ("statuses", "include_expired")


def diff(session: Session, asked: DiffRequest) -> DiffReport:
    """Return what was learnt, changed, withdrawn, ended, merged and forgotten, of one state.

    Raises:
        ValidationError: `start` after `end`; a filter by status.
    """
    space, now_us = session.in_namespace(asked.namespace), session.now_us()
    end_us = now_us if asked.end is None else not_to_come(asked.end, now_us)
    if asked.start > end_us:
        raise ValidationError(
            "start", format_us(asked.start), f"a time until the end, {format_us(end_us)}"
        )
    given = asked.where.given()
    for name in _OF_STATUS:
        if name in given:
            raise ValidationError(
                f"where.{name}", given[name], "nothing: what expired is part of a difference"
            )
    at = moments(now_us, known_at=asked.end)
    parts = filter_parts(asked.where, space, at, include_expired=True)
    # what is recorded while a clock is behind the ledger counts as recorded now
    span = Span(space, asked.start, at.known_at_us)

    def read(view: LedgerView, core: Any) -> DiffReport:
        raw = session.keeper.eligible(view, resolved(view, core, parts))
        seen = {id_text("mem", id) for id in split_ids(raw)}
        return _report(session, view, span, from_us(end_us), seen)

    with session.operation("diff"):
        return session.keeper.run(read)


def _report(
    session: Session, view: LedgerView, span: Span, end: datetime, seen: Collection[str]
) -> DiffReport:
    """The report about the memories in `seen`; of one scope without what the namespace has no scope
    for: merged entities, and what was forgotten."""
    everywhere = session.scope is None
    learnt = [id for id in differences.created(view, span) if id in seen]
    events = [event for event in differences.changes(view, span) if event.id in seen]
    expired = [one for one in differences.expired(view, span) if one.id in seen]
    withdrawn, ended = _withdrawals(expired, events)
    return DiffReport(
        start=from_us(span.start_us),
        end=end,
        learnt=tuple(view.memories(span.namespace, learnt)),
        changed=_changed(view, span, expired, events, seen),
        withdrawn=withdrawn,
        ended=ended,
        merged_entities=tuple(
            MergedEntity(id=id, into=into, when=from_us(when))
            for id, into, when in differences.merged(view, span)
            if everywhere
        ),
        forgotten=tuple(
            ForgottenMemory(id=id, when=from_us(when), actor=actor, counts=counts)
            for id, when, actor, counts in differences.forgotten(view, span)
            if everywhere
        ),
        seq=view.seq,
    )


def _withdrawals(
    expired: Sequence[ExpiredRow], events: Sequence[EventRow]
) -> tuple[tuple[WithdrawnMemory, ...], tuple[EndedMemory, ...]]:
    """Memories that were withdrawn as wrong, and those whose facts ended."""
    payloads = {event.id: event.payload for event in events if event.event_type == "DEPRECATE"}
    withdrawn, ended = list[WithdrawnMemory](), list[EndedMemory]()
    for id, status, expired_us in expired:
        if status != Status.DEPRECATED.value:
            continue
        when, payload = from_us(expired_us), payloads.get(id, {})
        reason, end = payload.get("reason") or "", payload.get("t_invalid")
        if end is None:
            withdrawn.append(WithdrawnMemory(id=id, when=when, reason=reason))
        else:
            ended.append(EndedMemory(id=id, when=when, t_invalid=end, reason=reason))
    return tuple(withdrawn), tuple(ended)


def _changed(
    view: LedgerView,
    span: Span,
    expired: Sequence[ExpiredRow],
    events: Sequence[EventRow],
    seen: Collection[str],
) -> tuple[ReplacedMemory | UpdatedMemory, ...]:
    """Supersessions, and updates of fields, by time, then id."""
    records = [one for one in differences.supersessions(view, span) if one.old in seen]
    recorded = {one.old for one in records}
    found: list[ReplacedMemory | UpdatedMemory] = [
        ReplacedMemory(old=old, new=new, when=from_us(when), reason=reason)
        for old, new, reason, when in records
    ]
    found += [
        # what took its place was forgotten
        ReplacedMemory(old=one.id, new=None, when=from_us(one.expired_us), reason="")
        for one in expired
        if one.status == Status.SUPERSEDED.value and one.id not in recorded
    ]
    found += [
        UpdatedMemory(id=event.id, when=from_us(event.recorded_us), fields=_fields(event))
        for event in events
        # an update may note something and change no field
        if event.event_type != "DEPRECATE" and _fields(event)
    ]
    return tuple(sorted(found, key=_place))


def _place(change: ReplacedMemory | UpdatedMemory) -> tuple[datetime, str, str]:
    if isinstance(change, ReplacedMemory):
        return change.when, change.old, change.new or ""
    return change.when, change.id, ""


def _fields(event: EventRow) -> tuple[str, ...]:
    """Names of the fields that an event changed."""
    if event.event_type != "UPDATE":
        return ("status",)
    old, new = event.payload.get("old") or {}, event.payload.get("new") or {}
    names = set(new)
    if "metadata" in names:
        before, after = old.get("metadata") or {}, new.get("metadata") or {}
        names.discard("metadata")
        tags = {"tags"} if before.get("tags") != after.get("tags") else set()
        rest = {"metadata"} if _own(before) != _own(after) else set()
        names |= tags | rest
    return tuple(sorted(names))


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name != "tags"}
