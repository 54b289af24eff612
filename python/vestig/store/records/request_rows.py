"""Rows that serving keeps outside the chain: calls of a model by day, answers that were given to
requests with a key, and the log of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw
import msgspec

from vestig.errors import ConflictError
from vestig.ids import id_bytes
from vestig.lazy_pattern import lazy_pattern
from vestig.store.records.rows import RequestRecord, StoredAnswer, to_json
from vestig.store.sqlite.statements import fetch, select_in

_MEMORY_ID: Final = lazy_pattern(
    r"mem_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
# namespace, key, request_hash, status, response, created_us; nothing where the key is taken.
INSERT_ANSWER: Final = (
    "INSERT INTO idempotency_keys (namespace, key, request_hash, status, response, created_us)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
# id, namespace, route, began_us, duration, status, counts, confidence, reason, payload
INSERT_REQUEST: Final = (
    "INSERT INTO requests (id, namespace, route, began_us, duration, status, counts,"
    " confidence, reason, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

# Memories leave a tombstone, items a row without a key.
_LAST_FORGETTING: Final = (
    "SELECT MAX(seq) FROM (SELECT MAX(seq) AS seq FROM tombstones"
    ' UNION ALL SELECT MAX(seq) FROM items WHERE "key" IS NULL)'
)


def reserve_calls(conn: apsw.Connection, day: int, count: int, limit: int | None) -> bool:
    """Return what `Ledger.reserve_model_calls` returns, inside a transaction."""
    if limit is not None and reserved_calls(conn, day) + count > limit:
        return False
    conn.execute(
        "INSERT INTO model_calls VALUES (?, ?)"
        " ON CONFLICT (day) DO UPDATE SET reserved = reserved + excluded.reserved",
        (day, count),
    )
    return True


def reserved_calls(conn: apsw.Connection, day: int) -> int:
    """Calls of this day that were reserved."""
    rows = fetch(conn, "SELECT reserved FROM model_calls WHERE day = ?", (day,))
    return int(rows[0][0]) if rows else 0


def answer_of(
    conn: apsw.Connection, namespace: str, key: str, since_us: int
) -> StoredAnswer | None:
    """Return what `Ledger.answer_of` returns."""
    rows = fetch(
        conn,
        "SELECT key, request_hash, status, response, created_us FROM idempotency_keys"
        " WHERE namespace = ? AND key = ? AND created_us >= ?",
        (namespace, key, since_us),
    )
    return None if not rows else StoredAnswer(*rows[0])


def keep_answer(conn: apsw.Connection, namespace: str, answer: StoredAnswer, since_us: int) -> None:
    """Do what `WriteTransaction.keep_answer` does."""
    conn.execute("DELETE FROM idempotency_keys WHERE created_us < ?", (since_us,))
    conn.execute(
        INSERT_ANSWER,
        (
            namespace, answer.key, answer.request_hash, answer.status, answer.response,
            answer.created_us,
        ),
    )  # fmt: skip
    if not conn.changes():
        raise ConflictError(
            "idempotency key: expected one that no request has used, another request was answered"
            " with it meanwhile; ask again with the same key to get that answer"
        )


def log_requests(conn: apsw.Connection, requests: Sequence[RequestRecord]) -> None:
    """Appends to the log of requests. What was asked and answered is left out where a forgetting
    came between: of a request that began before the last one, and of one that names what was
    forgotten. Entries wait in the memory of processes that a forgetting does not reach."""
    ((forgotten_seq,),) = fetch(conn, _LAST_FORGETTING)
    if forgotten_seq is not None:
        requests = [_without_forgotten(conn, one, forgotten_seq) for one in requests]
    conn.executemany(
        INSERT_REQUEST,
        [
            (
                id_bytes(one.id), one.namespace, one.route, one.began_us, one.duration_us,
                one.status, to_json(one.counts), one.confidence, one.reason, one.payload,
            )
            for one in requests
        ],
    )  # fmt: skip


def _without_forgotten(
    conn: apsw.Connection, request: RequestRecord, forgotten_seq: int
) -> RequestRecord:
    if request.payload is None:
        return request
    named = [id_bytes(id) for id in set(_MEMORY_ID.findall(request.payload))]
    early = request.began_seq < forgotten_seq
    if early or list(select_in(conn, "SELECT id FROM tombstones WHERE id IN (?*)", named)):
        return msgspec.structs.replace(request, payload=None)
    return request
