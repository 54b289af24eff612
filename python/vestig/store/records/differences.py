"""Reads of what the ledger recorded within a span of transaction time, in (start, end]."""

from __future__ import annotations

from typing import Any, NamedTuple

from vestig.ids import id_text
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import from_json
from vestig.store.sqlite.connections import fetch, store_faults


class Span(NamedTuple):
    """A span of the transaction time of a namespace, in microseconds: after `start_us`, until
    `end_us`."""

    namespace: str
    start_us: int
    end_us: int


class ExpiredRow(NamedTuple):
    """A memory that expired, and its status since."""

    id: str
    status: str
    expired_us: int


class SupersessionRow(NamedTuple):
    """One memory took the place of another."""

    old: str
    new: str
    reason: str
    created_us: int


class EventRow(NamedTuple):
    """An event of a memory."""

    id: str
    event_type: str
    recorded_us: int
    payload: dict[str, Any]


class MergedRow(NamedTuple):
    """An entity was merged into another."""

    id: str
    into: str
    expired_us: int


class ForgottenRow(NamedTuple):
    """A memory was forgotten."""

    id: str
    forgotten_us: int
    actor: str | None
    counts: dict[str, int]


def created(view: LedgerView, span: Span) -> list[str]:
    """Ids of the memories that were stored, by time, then id."""
    rows = _rows(
        view,
        "SELECT id FROM memories WHERE namespace = ? AND t_created_us > ? AND t_created_us <= ?"
        " ORDER BY t_created_us, id",
        span,
    )
    return [id_text("mem", id) for (id,) in rows]


def expired(view: LedgerView, span: Span) -> list[ExpiredRow]:
    """Memories that were withdrawn or superseded, by time, then id."""
    rows = _rows(
        view,
        "SELECT id, status, t_expired_us FROM memories WHERE namespace = ?"
        " AND t_expired_us > ? AND t_expired_us <= ? ORDER BY t_expired_us, id",
        span,
    )
    return [ExpiredRow(id_text("mem", id), status, when) for id, status, when in rows]


def supersessions(view: LedgerView, span: Span) -> list[SupersessionRow]:
    """Records of supersession."""
    rows = _rows(
        view,
        "SELECT o.id, n.id, s.reason, s.created_us FROM supersessions s"
        ' JOIN memories o ON o."row" = s.superseded JOIN memories n ON n."row" = s.superseding'
        " WHERE o.namespace = ? AND s.created_us > ? AND s.created_us <= ?",
        span,
    )
    return [
        SupersessionRow(id_text("mem", old), id_text("mem", new), reason, when)
        for old, new, reason, when in rows
    ]


def changes(view: LedgerView, span: Span) -> list[EventRow]:
    """Events that changed a memory: updates, archiving, unarchiving and withdrawals. Of what was
    recorded in another store before this one learnt of the memory, withdrawals alone."""
    events = (
        ' FROM events e JOIN memories m ON m."row" = e.memory WHERE m.namespace = ?1'
        " AND e.event_type IN ("
    )
    rows = _rows(
        view,
        'SELECT m.id, e.event_type, e.recorded_us, e.payload, e.seq, e."row"'
        f"{events}'UPDATE', 'ARCHIVE', 'UNARCHIVE', 'DEPRECATE')"
        " AND e.recorded_us > ?2 AND e.recorded_us <= ?3 AND e.recorded_us >= m.t_created_us"
        ' UNION ALL SELECT m.id, e.event_type, m.t_created_us, e.payload, e.seq, e."row"'
        f"{events}'DEPRECATE')"
        " AND m.t_created_us > ?2 AND m.t_created_us <= ?3 AND e.recorded_us < m.t_created_us"
        " ORDER BY 5, 6",
        span,
    )
    return [
        EventRow(id_text("mem", id), kind, when, from_json(payload))
        for id, kind, when, payload, *_ in rows
    ]


def merged(view: LedgerView, span: Span) -> list[MergedRow]:
    """Entities that were merged into others, by time, then id."""
    rows = _rows(
        view,
        "SELECT e.id, i.id, e.expired_us FROM entities e"
        ' JOIN entities i ON i."row" = e.merged_into'
        " WHERE e.namespace = ? AND e.expired_us > ? AND e.expired_us <= ?"
        " ORDER BY e.expired_us, e.id",
        span,
    )
    return [MergedRow(id_text("ent", id), id_text("ent", into), when) for id, into, when in rows]


def forgotten(view: LedgerView, span: Span) -> list[ForgottenRow]:
    """Memories that were forgotten, by time, then id."""
    rows = _rows(
        view,
        "SELECT id, forgotten_us, actor, counts FROM tombstones WHERE namespace = ?"
        ' AND forgotten_us > ? AND forgotten_us <= ? AND "row" > 0 ORDER BY forgotten_us, id',
        span,
    )
    return [
        ForgottenRow(id_text("mem", id), when, actor, from_json(counts))
        for id, when, actor, counts in rows
    ]


def _rows(view: LedgerView, sql: str, span: Span) -> list[tuple[Any, ...]]:
    with store_faults(view.where):
        return fetch(view.connection, sql, span)
