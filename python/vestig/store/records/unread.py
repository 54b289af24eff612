"""Which memories a language model has read for claims, and which documents it has summed up.

A memory that was read, or was begun to be, has a job of kind `claims`; one without is unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import apsw

from vestig.ids import id_bytes, id_text, new_id
from vestig.store.records.jobs import JobRules
from vestig.store.records.memory_versions import write_processing
from vestig.store.records.values import Job
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import each, fetch, known_ids, rows_of, select_in
from vestig.store.tables.graph import EDGE_CODES

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

CLAIMS: Final = "claims"
SUMMARY: Final = "summary"
_STATE: Final = (
    " LEFT JOIN jobs j ON j.memory = m.\"row\" AND j.kind = 'claims'"
    " WHERE m.namespace = ? AND m.kind = 'MEMORY' AND m.status = 'active'"
)
_COLUMNS: Final = "m.id, m.scope, length(m.content), m.t_created_us, j.state, j.attempts"
_TURNS: Final = (
    f"SELECT m.session_id, {_COLUMNS} FROM memories m{_STATE} AND m.session_id IS NOT NULL"
    " ORDER BY m.scope, m.session_id, m.sequence IS NULL, m.sequence, m.t_valid_us, m.id"
)
# A passage is of the newest version of the documents that hold it.
_PASSAGES: Final = (
    f"SELECT hex(s.id), {_COLUMNS} FROM (SELECT e.to_row, MAX(e.from_row) AS source FROM edges e"
    " JOIN sources f ON f.\"row\" = e.from_row AND f.source_type = 'file'"
    f" WHERE e.edge_type = {EDGE_CODES['PRODUCED']} AND e.expired_seq = 0 GROUP BY e.to_row) p"
    ' JOIN sources s ON s."row" = p.source JOIN memories m ON m."row" = p.to_row'
    f"{_STATE} AND m.session_id IS NULL AND m.origin_type = 'document'"
    " ORDER BY m.scope, p.source, CAST(json_extract(m.metadata, '$.passage') AS INTEGER),"
    ' m."row"'
)


_JOBS: Final = (
    "SELECT memory, id, state, lease_until_us, attempts FROM jobs WHERE kind = ? AND memory IN (?*)"
)
_INSERT: Final = (
    "INSERT INTO jobs (id, memory, kind, state, attempts, created_us, updated_us)"
    " VALUES (?1, ?2, ?3, 'pending', 0, ?4, ?4)"
)
_HOLD: Final = (
    "UPDATE jobs SET state = 'running', next_attempt_us = NULL, lease_until_us = ?,"
    " updated_us = ? WHERE id = ?"
)
# ?1 = namespace, ?2 = scope, ?3 = the source of a document. Whether the summary is of this version,
# and whether a memory that it covers is withdrawn.
_SUMMARIES: Final = (
    'SELECT m.id, s.id = ?3, EXISTS (SELECT 1 FROM edges c JOIN memories t ON t."row" = c.to_row'
    f' WHERE c.from_row = m."row" AND c.edge_type = {EDGE_CODES["SUMMARIZES"]}'
    " AND c.expired_seq = 0 AND t.status <> 'active')"
    " FROM sources d JOIN sources s ON s.id = d.id OR s.path = d.path"
    f' JOIN edges p ON p.from_row = s."row" AND p.edge_type = {EDGE_CODES["PRODUCED"]}'
    ' AND p.expired_seq = 0 JOIN memories m ON m."row" = p.to_row'
    " WHERE d.id = ?3 AND s.namespace = ?1 AND m.scope IS ?2 AND m.kind = 'SUMMARY'"
    " AND m.status = 'active' ORDER BY m.\"row\""
)


_LEASE_US: Final = round(JobRules().lease_s * 1_000_000)


class Readable(NamedTuple):
    """A memory that can be read for claims. `part_of`: its session where it `is_turn`, else the
    source of its document; `state` and `attempts` of its job, None where it has none."""

    part_of: str
    id: str
    scope: str | None
    chars: int
    created_us: int
    state: str | None
    attempts: int | None
    is_turn: bool


def readable(view: LedgerView, namespace: str) -> list[Readable]:
    """The active turns by scope and session, then the active passages of documents by scope and
    document, each in their order."""
    with store_faults(view.where):
        return [
            _readable(row, is_turn=sql is _TURNS)
            for sql in (_TURNS, _PASSAGES)
            for row in each(view.connection, sql, (namespace,))
        ]


def _readable(row: Sequence[Any], *, is_turn: bool) -> Readable:
    part_of, id, scope, chars, created_us, state, attempts = row
    return Readable(part_of, id_text("mem", id), scope, chars, created_us, state, attempts, is_turn)


class StoredSummary(NamedTuple):
    """An active summary of some version of a document. `is_current`: it is of the version that was
    asked about, and all that it covers is active."""

    id: str
    is_current: bool


def summaries(
    view: LedgerView, namespace: str, scope: str | None, source: str
) -> list[StoredSummary]:
    """The active summaries of a document (by a source of it), oldest first."""
    with store_faults(view.where):
        rows = fetch(view.connection, _SUMMARIES, (namespace, scope, id_bytes(source)))
    return [StoredSummary(id_text("mem", id), bool(own) and not stale) for id, own, stale in rows]


class _Writable(Protocol):
    """The ledger of a store."""

    @property
    def where(self) -> str: ...

    def writer(self, *, make: bool = True) -> AbstractContextManager[apsw.Connection]: ...


def take(
    ledger: _Writable, namespace: str, ids: Sequence[str], now_us: int, kind: str = CLAIMS
) -> list[Job]:
    """Takes the jobs of this kind of these memories, made where there are none, as
    `Ledger.due_jobs` does, but whenever the next attempt is due. Those that another process holds,
    or that are over, are left out; a summary is made again."""
    with ledger.writer(make=False) as conn, store_faults(ledger.where):
        taken = _take(conn, namespace, ids, kind, now_us)
        conn.execute("COMMIT")
    return [
        Job(
            id=id,
            namespace=namespace,
            memory_id=memory_id,
            kind=kind,
            state="running",
            attempts=attempts,
            next_attempt_us=None,
            last_error=None,
        )
        for id, memory_id, attempts in taken
    ]


def _take(
    conn: apsw.Connection, namespace: str, ids: Sequence[str], kind: str, now_us: int
) -> list[tuple[str, str, int]]:
    """Id, memory and attempts of each job that was taken."""
    rows = rows_of(conn, "memories", namespace, known_ids(ids, "mem"))
    found = select_in(conn, _JOBS, sorted(rows.values()), (kind,))
    jobs = {memory: job for memory, *job in found}
    open_ = ("pending", "running", *(("done",) if kind == SUMMARY else ()))
    taken = []
    for id in ids:
        if id not in rows:
            continue
        memory = rows[id]
        job, state, lease_us, attempts = jobs.get(memory, (None, "pending", None, 0))
        held = state == "running" and lease_us is not None and lease_us > now_us
        if held or state not in open_:
            continue
        if job is None:
            job = id_bytes(new_id("job"))
            conn.execute(_INSERT, (job, memory, kind, now_us))
        write_processing(conn, memory, "pending")
        conn.execute(_HOLD, (now_us + _LEASE_US, now_us, job))
        taken.append((id_text("job", job), id, attempts))
    return taken
