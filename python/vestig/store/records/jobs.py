"""The queue of enrichment jobs and the access counters, bookkeeping outside the chain; and which
memories a language model has read for claims, which documents it has summed up.

A memory that was read, or was begun to be, has a job of kind `claims`; one without is unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import apsw
import msgspec

from vestig.changes import AccessTouch, ChangeSet
from vestig.errors import NotFoundError
from vestig.ids import id_bytes, id_text, new_id
from vestig.store.records import rule_rows
from vestig.store.records.memory_versions import write_processing
from vestig.store.records.rows import Job, JobResult
from vestig.store.sqlite.connections import each, fetch, known_ids, rows_of, select_in, store_faults
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.schema import NODE_TABLES

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView


_ERROR_CHARS_MAX: Final = 500
_SECOND_US: Final = 1_000_000
_COLUMNS: Final = (
    "j.id, m.namespace, m.id, j.kind, j.state, j.attempts, j.next_attempt_us, j.last_error,"
    " j.batch_id"
)
# ?1 = now
_DUE: Final = (
    ' FROM jobs j JOIN memories m ON m."row" = j.memory'
    " WHERE ((j.state = 'pending' AND IFNULL(j.next_attempt_us, ?1) <= ?1)"
    " OR (j.state = 'running' AND IFNULL(j.lease_until_us, ?1) <= ?1))"
)
# ?2 = namespace
_DUE_HERE: Final = f"{_DUE} AND m.namespace = ?2"


class JobRules(msgspec.Struct, frozen=True, kw_only=True):
    """How long a worker may hold a job and how failures are repeated."""

    lease_s: float = 300.0
    backoff_base_s: float = 60.0
    backoff_max_s: float = 21_600.0
    max_attempts: int = 8


class Due(NamedTuple):
    """Jobs that are due: of these kinds, at most `limit`; `ids`: only these; None = all."""

    namespace: str
    kinds: Sequence[str]
    now_us: int
    limit: int
    ids: Sequence[str] | None = None


def take_due(conn: apsw.Connection, due: Due, rules: JobRules) -> list[Job]:
    """Due jobs, oldest first, now running under a lease; expired leases are due again."""
    rows = _due_rows(conn, due)
    lease = due.now_us + round(rules.lease_s * _SECOND_US)
    conn.executemany(
        "UPDATE jobs SET state = 'running', lease_until_us = ?, updated_us = ? WHERE \"row\" = ?",
        [(lease, due.now_us, row) for row, _job in rows],
    )
    return [msgspec.structs.replace(job, state="running") for _row, job in rows]


def take_due_by_memory(conn: apsw.Connection, due: Due, rules: JobRules) -> list[list[Job]]:
    """Return what `take_due` returns, all due kinds of a memory together, for `limit` memories."""
    condition, values = _chosen(due.kinds, due.ids)
    rows = fetch(
        conn,
        f"SELECT group_concat(hex(j.id)){_DUE_HERE}{condition}"
        ' GROUP BY j.memory ORDER BY MIN(j."row") LIMIT ?',
        (due.now_us, due.namespace, *values, due.limit),
    )
    ids = [id_text("job", bytes.fromhex(id)) for (every,) in rows for id in every.split(",")]
    by_memory: dict[str, list[Job]] = {}
    for job in take_due(conn, due._replace(limit=len(ids), ids=ids), rules):
        by_memory.setdefault(job.memory_id, []).append(job)
    return list(by_memory.values())


def due(
    view: LedgerView, namespace: str, kinds: Sequence[str], *, now_us: int, limit: int
) -> list[Job]:
    """Due jobs, oldest first, which stay as they are."""
    rows = _due_rows(view.connection, Due(namespace, kinds, now_us, limit))
    return [job for _row, job in rows]


def _due_rows(conn: apsw.Connection, due: Due) -> list[tuple[int, Job]]:
    """Due jobs with the numbers of their rows, oldest first."""
    condition, values = _chosen(due.kinds, due.ids)
    rows = fetch(
        conn,
        f'SELECT j."row", {_COLUMNS}{_DUE_HERE}{condition} ORDER BY j."row" LIMIT ?',
        (due.now_us, due.namespace, *values, due.limit),
    )
    return [(number, _job(job)) for number, *job in rows]


def due_counts(conn: apsw.Connection, kinds: Sequence[str], now_us: int) -> dict[str, int]:
    """Namespace → number of its due jobs."""
    condition, values = _chosen(kinds, None)
    sql = f"SELECT m.namespace, COUNT(*){_DUE}{condition} GROUP BY m.namespace"
    return dict(fetch(conn, sql, (now_us, *values)))


def _chosen(kinds: Sequence[str], ids: Sequence[str] | None) -> tuple[str, tuple[Any, ...]]:
    """The condition of these kinds and, where given, these ids."""
    condition = f" AND j.kind IN ({','.join('?' * len(kinds))})"
    if ids is None:
        return condition, tuple(kinds)
    chosen = msgspec.json.encode([id.hex() for id in known_ids(ids, "job")]).decode()
    named = " AND j.id IN (SELECT unhex(value) FROM json_each(?))"
    return condition + named, (*kinds, chosen)


def find(conn: apsw.Connection, job_id: str) -> tuple[int, int, str, int] | None:
    """(row, memory row, state, attempts) of a job."""
    sql = 'SELECT "row", memory, state, attempts FROM jobs WHERE id IN (?*)'
    rows = list(select_in(conn, sql, tuple(known_ids([job_id], "job"))))
    return rows[0] if rows else None


def merged_changes(results: Sequence[JobResult], view: LedgerView) -> ChangeSet | None:
    """Return what all of these write, as one change set; None when they write nothing. Decisions
    are made from this view."""
    good = [one.changes for one in results if one.error is None]
    made = [changes(view) if callable(changes) else changes for changes in good]
    every = [changes for changes in made if changes is not None]
    if len(every) <= 1:
        return every[0] if every else None
    names = [name for name in ChangeSet.__struct_fields__ if name != "namespace"]
    return ChangeSet(
        namespace=every[0].namespace,
        **{name: tuple(x for one in every for x in getattr(one, name)) for name in names},
    )


def end(
    conn: apsw.Connection,
    job: tuple[int, int, str, int],
    now_us: int,
    error: str | None,
    rules: JobRules,
) -> None:
    """Done, or one failed attempt: pending with a growing pause, or failed for good."""
    row, memory, _state, attempts = job
    if error is None:
        state, next_attempt = "done", None
    else:
        attempts += 1
        final = attempts >= rules.max_attempts
        pause_s = min(rules.backoff_base_s * 2 ** (attempts - 1), rules.backoff_max_s)
        state = "failed" if final else "pending"
        next_attempt = None if final else now_us + round(pause_s * _SECOND_US)
    conn.execute(
        "UPDATE jobs SET state = ?, attempts = ?, next_attempt_us = ?, lease_until_us = NULL,"
        ' batch_id = NULL, last_error = ?, updated_us = ? WHERE "row" = ?',
        (
            state,
            attempts,
            next_attempt,
            None if error is None else error[:_ERROR_CHARS_MAX],
            now_us,
            row,
        ),
    )
    _update_processing(conn, memory)


def renew(conn: apsw.Connection, memory: int, kind: str, job_id: bytes, now_us: int) -> None:
    """One pending job (id) of this kind in the place of all that the memory (row) has: whoever
    works at one of those has nothing to end."""
    conn.execute("DELETE FROM jobs WHERE memory = ? AND kind = ?", (memory, kind))
    conn.execute(
        "INSERT INTO jobs (id, memory, kind, state, attempts, created_us, updated_us)"
        " VALUES (?1, ?2, ?3, 'pending', 0, ?4, ?4)",
        (job_id, memory, kind, now_us),
    )
    write_processing(conn, memory, "pending")


def release(
    conn: apsw.Connection,
    job_ids: Sequence[str],
    now_us: int,
    until_us: int | None,
    reason: str | None,
) -> int:
    """Running and submitted jobs are pending again, due at `until_us`, without an attempt."""
    error = None if reason is None else reason[:_ERROR_CHARS_MAX]
    return _change_held(
        conn,
        job_ids,
        "state = 'pending', next_attempt_us = ?, lease_until_us = NULL, batch_id = NULL,"
        " last_error = IFNULL(?, last_error), updated_us = ?",
        (until_us, error, now_us),
    )


def submit(conn: apsw.Connection, job_ids: Sequence[str], batch_id: str, now_us: int) -> int:
    """Running and submitted jobs are part of this batch."""
    return _change_held(
        conn,
        job_ids,
        "state = 'submitted', batch_id = ?, lease_until_us = NULL, updated_us = ?",
        (batch_id, now_us),
    )


def _change_held(
    conn: apsw.Connection, job_ids: Sequence[str], sets: str, values: tuple[Any, ...]
) -> int:
    """Changes those of these jobs that a worker or a batch holds; how many."""
    sql = f"UPDATE jobs SET {sets} WHERE id = ? AND state IN ('running', 'submitted')"
    count = 0
    for key in known_ids(job_ids, "job"):
        conn.execute(sql, (*values, key))
        count += conn.changes()
    return count


def submitted(conn: apsw.Connection, namespace: str) -> dict[str, list[Job]]:
    """Return what `Ledger.submitted_batches` returns."""
    batches: dict[str, list[Job]] = {}
    for row in each(
        conn,
        f'SELECT {_COLUMNS} FROM jobs j JOIN memories m ON m."row" = j.memory'
        " WHERE j.state = 'submitted' AND m.namespace = ? ORDER BY j.\"row\"",
        (namespace,),
    ):
        job = _job(row)
        batches.setdefault(job.batch_id or "", []).append(job)
    return batches


def retry_failed(conn: apsw.Connection, namespace: str, kinds: Sequence[str], now_us: int) -> int:
    """Makes failed jobs pending with fresh attempts; how many."""
    placeholders = ",".join("?" * len(kinds))
    rows = fetch(
        conn,
        'SELECT j."row", j.memory FROM jobs j JOIN memories m ON m."row" = j.memory'
        f" WHERE j.state = 'failed' AND m.namespace = ? AND j.kind IN ({placeholders})",
        (namespace, *kinds),
    )
    for row, memory in rows:
        conn.execute(
            "UPDATE jobs SET state = 'pending', attempts = 0, next_attempt_us = NULL,"
            ' updated_us = ? WHERE "row" = ?',
            (now_us, row),
        )
        _update_processing(conn, memory)
    return len(rows)


def touch(conn: apsw.Connection, namespace: str, touched: AccessTouch) -> None:
    """One access of each memory and entity, however often it is named.

    Raises:
        NotFoundError: an unknown id; before anything was written.
    """
    memories = _rows(conn, namespace, "mem", touched.memory_ids)
    entities = _rows(conn, namespace, "ent", touched.entity_ids)
    for table, insert, rows in (
        ("access", "access VALUES (?, 1, ?, 'ready') ON CONFLICT (memory)", memories),
        ("entity_access", "entity_access VALUES (?, 1, ?) ON CONFLICT (entity)", entities),
    ):
        conn.executemany(
            f"INSERT INTO {insert} DO UPDATE SET access_count = {table}.access_count + 1,"
            " last_accessed_us = excluded.last_accessed_us",
            [(row, touched.accessed_us) for row in rows],
        )
    if touched.rules:
        rule_rows.count(conn, namespace, touched.rules)


def _rows(conn: apsw.Connection, namespace: str, prefix: str, ids: Sequence[str]) -> list[int]:
    rows = rows_of(conn, NODE_TABLES[prefix], namespace, known_ids(ids, prefix))
    for id in ids:
        if id not in rows:
            raise NotFoundError("Memory" if prefix == "mem" else "Entity", id)
    return list(rows.values())


def _update_processing(conn: apsw.Connection, memory: int) -> None:
    states: set[str] = {
        state for (state,) in each(conn, "SELECT state FROM jobs WHERE memory = ?", (memory,))
    }
    open_ = states & {"pending", "running", "submitted"}
    write_processing(
        conn, memory, "pending" if open_ else "failed" if "failed" in states else "ready"
    )


def _job(row: Sequence[Any]) -> Job:
    id, namespace, memory, kind, state, attempts, next_attempt, last_error, batch_id = row
    return Job(
        id=id_text("job", id),
        namespace=namespace,
        memory_id=id_text("mem", memory),
        kind=kind,
        state=state,
        attempts=attempts,
        next_attempt_us=next_attempt,
        last_error=last_error,
        batch_id=batch_id,
    )


class Queue(NamedTuple):
    """The jobs of all namespaces: how many there are by state, in how many batches the submitted
    ones are, and the last error of one that is not done."""

    states: dict[str, int]
    batches: int
    last_error: str | None


def queue_of_all(conn: apsw.Connection) -> Queue:
    """The jobs of all namespaces."""
    ((batches,),) = fetch(
        conn, "SELECT COUNT(DISTINCT batch_id) FROM jobs WHERE state = 'submitted'"
    )
    errors = fetch(
        conn,
        "SELECT last_error FROM jobs WHERE last_error IS NOT NULL AND state <> 'done'"
        " ORDER BY updated_us DESC LIMIT 1",
    )
    states = dict(fetch(conn, "SELECT state, COUNT(*) FROM jobs GROUP BY state"))
    return Queue(states, batches, errors[0][0] if errors else None)


def expired_leases(conn: apsw.Connection, now_us: int) -> int:
    """How many jobs a worker that is gone has left running."""
    sql = "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND lease_until_us < ?"
    return int(fetch(conn, sql, (now_us,))[0][0])


CLAIMS: Final = "claims"
SUMMARY: Final = "summary"
_STATE: Final = (
    " LEFT JOIN jobs j ON j.memory = m.\"row\" AND j.kind = 'claims'"
    " WHERE m.namespace = ? AND m.kind = 'MEMORY' AND m.status = 'active'"
)
_READING: Final = "m.id, m.scope, length(m.content), m.t_created_us, j.state, j.attempts"
_TURNS: Final = (
    f"SELECT m.session_id, {_READING} FROM memories m{_STATE} AND m.session_id IS NOT NULL"
    " ORDER BY m.scope, m.session_id, m.sequence IS NULL, m.sequence, m.t_valid_us, m.id"
)
# A passage is of the newest version of the documents that hold it.
_PASSAGES: Final = (
    f"SELECT hex(s.id), {_READING} FROM (SELECT e.to_row, MAX(e.from_row) AS source FROM edges e"
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
    rows = view.fetch(_SUMMARIES, (namespace, scope, id_bytes(source)))
    return [StoredSummary(id_text("mem", id), bool(own) and not stale) for id, own, stale in rows]


class _Writable(Protocol):
    """The ledger of a store."""

    @property
    def where(self) -> str: ...

    def writer(self, *, make: bool = True) -> AbstractContextManager[apsw.Connection]: ...


def take_or_make(
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
