"""Rows of the store as a whole: its settings by name, such as its identity, its model and its
origin; counts of a namespace; and what serving keeps outside the chain, calls of a model by day,
answers that were given to requests with a key, and the log of requests.

A setting is written without a seq; the next write transaction takes it into the chain.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.changes import RequestRecord
from vestig.errors import ConflictError
from vestig.ids import id_bytes
from vestig.lazy_pattern import lazy_pattern
from vestig.ports import EmbeddingIdentity
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import stored_codes
from vestig.store.records.rows import StoredAnswer, to_json
from vestig.store.sqlite.connections import damaged, each, fetch, has_table, select_in
from vestig.store.tables.graph import EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import NODE_TABLES, columns_sql
from vestig.store.tables.store import NEW_VECTORS, UPSTREAM
from vestig.times import from_us

UUID: Final = "uuid"
# The model that made the vectors.
IDENTITY: Final = "embedding"
# The store that an export first came from.
ORIGIN: Final = "origin"
_LOOSE: Final = f"SELECT {columns_sql('meta')} FROM meta WHERE seq IS NULL"


def read_setting(conn: apsw.Connection, name: str) -> bytes | None:
    """The value of a setting; None where there is none."""
    rows = fetch(conn, "SELECT value FROM meta WHERE name = ?", (name,))
    value: bytes | None = rows[0][0] if rows else None
    return value


def read_identity(conn: apsw.Connection, where: str) -> EmbeddingIdentity | None:
    """Which model made the vectors; None until the first vector.

    Raises:
        StoreDamagedError: the record of it cannot be read.
    """
    raw = read_setting(conn, IDENTITY)
    try:
        return None if raw is None else msgspec.msgpack.decode(raw, type=EmbeddingIdentity)
    except msgspec.MsgspecError as error:
        raise damaged(where, "an unreadable embedding identity") from error


def write_setting(conn: apsw.Connection, name: str, value: bytes) -> None:
    """Writes a setting that is not there yet."""
    conn.execute(
        "INSERT INTO meta (salt, name, value) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING",
        (chain.Salts().take(), name, value),
    )


def take_into_chain(conn: apsw.Connection, link: chain.Link, seq: int) -> None:
    """Settings that were written since the last link become part of this one."""
    rows = fetch(conn, _LOOSE)
    for salt, name, value, _seq in rows:
        conn.execute("UPDATE meta SET seq = ? WHERE name = ?", (seq, name))
        link.wrote("meta", (salt, name, value, seq))


# Processors differ in the last bits of a vector; models differ far more.
PROBE_COSINE_MIN: Final = 0.999


def same_model(stored: EmbeddingIdentity, given: EmbeddingIdentity) -> bool:
    """Return whether vectors of both may lie in one store.

    Name, dimensions and normalisation are equal, and so are the fingerprints where both have
    one. Where one has none, the vectors of the fixed sentences are compared: each pair must
    have a cosine of at least 0.999. Without either, the name decides.

    Example:
        >>> one = EmbeddingIdentity(model="m", dimensions=2, normalized=True)
        >>> same_model(one, one)
        True
        >>> same_model(one, EmbeddingIdentity(model="m", dimensions=3, normalized=True))
        False
    """
    if (stored.model, stored.dimensions, stored.normalized) != (
        given.model,
        given.dimensions,
        given.normalized,
    ):
        return False
    if stored.fingerprint and given.fingerprint:
        return stored.fingerprint == given.fingerprint
    if not stored.probes or not given.probes:
        return True
    return len(stored.probes) == len(given.probes) and all(
        cosine(mine, other) >= PROBE_COSINE_MIN
        for mine, other in zip(stored.probes, given.probes, strict=True)
    )


def cosine(left: bytes, right: bytes) -> float:
    """Cosine in float64; 1 for equal bytes, 0 where a zero vector meets another."""
    if left == right:
        return 1.0
    if len(left) != len(right):
        return 0.0
    x, y = array("f", left), array("f", right)
    norms = math.hypot(*x) * math.hypot(*y)
    if norms == 0:
        return 0.0
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / norms


class UpstreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """Which tenant of which database a ledger is a copy of, and how far it has come.

    Attributes:
        identity: 16 random bytes, of the tenant.
        position: the number of changes of the tenant that it holds.
        last_id: of the newest of them.
        cache: 16 random bytes, of this copy.
    """

    address: str
    tenant: str
    identity: bytes
    position: int
    last_id: bytes
    cache: bytes


def read_upstream(conn: apsw.Connection) -> UpstreamRow | None:
    """The tenant that the ledger is a copy of; None for a store of its own."""
    if not has_table(conn, UPSTREAM.name):
        return None
    rows = fetch(conn, "SELECT address, tenant, identity, position, last_id, cache FROM upstream")
    if not rows:
        return None
    address, tenant, identity, position, last_id, cache = rows[0]
    return UpstreamRow(
        address=address,
        tenant=tenant,
        identity=identity,
        position=position,
        last_id=last_id,
        cache=cache,
    )


def write_upstream(conn: apsw.Connection, row: UpstreamRow | None) -> None:
    """Makes the ledger a copy of a tenant, or with None a store of its own. The tables that others
    make when they need them are made for a copy, since a change carries no new table."""
    if row is None:
        conn.execute("DELETE FROM upstream")
        return
    for table in (NEW_VECTORS, UPSTREAM):
        if not has_table(conn, table.name):
            conn.execute(table.statements())
    values = (row.address, row.tenant, row.identity, row.position, row.last_id, row.cache)
    conn.execute("INSERT OR REPLACE INTO upstream VALUES (1, ?, ?, ?, ?, ?, ?)", values)


def move_upstream(conn: apsw.Connection, position: int, last_id: bytes) -> None:
    """Records how far the ledger has come, in the open transaction."""
    conn.execute("UPDATE upstream SET position = ?, last_id = ?", (position, last_id))


def drop_request_log(conn: apsw.Connection) -> None:
    """Empties the log of requests: it is of one machine."""
    conn.execute("DELETE FROM requests")


def unproved_count(conn: apsw.Connection) -> int:
    """How many forgettings the files of this ledger are still to be searched for."""
    count: int = fetch(conn, "SELECT count(*) FROM erasures")[0][0]
    return count


class Forgettings(NamedTuple):
    """The newest transaction that forgot something (0: none), and how many forgettings the files
    are still to be searched for."""

    newest: int
    waiting: int


def forgettings(conn: apsw.Connection) -> Forgettings:
    """The forgettings of a ledger."""
    ((newest,),) = fetch(conn, _LAST_FORGETTING)
    return Forgettings(newest or 0, unproved_count(conn))


def drop_open_forgettings(conn: apsw.Connection) -> None:
    """Empties the list of what files are still to be searched for."""
    conn.execute("DELETE FROM erasures")


def same_history(conn: apsw.Connection) -> bool:
    """Return whether the chain of the ledger that is attached as `mine` is the beginning of that of
    the main one."""
    sql = (
        "SELECT (SELECT h FROM main.chain WHERE seq = own.seq) = own.h FROM mine.chain AS own"
        " ORDER BY own.seq DESC LIMIT 1"
    )
    return fetch(conn, sql) == [(1,)]


_SCOPES_SHOWN: Final = 100


def statuses(conn: apsw.Connection) -> dict[str, int]:
    """How many memories of all namespaces have which status."""
    return dict(each(conn, "SELECT status, COUNT(*) FROM memories GROUP BY 1 ORDER BY 1"))


def stats(conn: apsw.Connection, namespace: str, seq: int) -> dict[str, Any]:
    """Counts by name; `bytes` is the size of the whole ledger, `seq` that of the store."""
    kinds = _counts(conn, "SELECT kind, COUNT(*) FROM memories WHERE namespace = ?", namespace)
    statuses = _counts(conn, "SELECT status, COUNT(*) FROM memories WHERE namespace = ?", namespace)
    jobs = _counts(
        conn,
        'SELECT j.state, COUNT(*) FROM jobs j JOIN memories m ON m."row" = j.memory'
        " WHERE m.namespace = ?",
        namespace,
    )
    (events, last) = fetch(
        conn,
        'SELECT COUNT(*), MAX(e.recorded_us) FROM events e JOIN memories m ON m."row" = e.memory'
        " WHERE m.namespace = ?",
        (namespace,),
    )[0]
    (sources,) = fetch(conn, "SELECT COUNT(*) FROM sources WHERE namespace = ?", (namespace,))[0]
    return {
        "memories": sum(kinds.values()),
        "kinds": kinds,
        "statuses": statuses,
        **_scopes(conn, namespace),
        "namespaces": dict(
            each(conn, "SELECT namespace, COUNT(*) FROM memories GROUP BY 1 ORDER BY 1", ())
        ),
        "embedded": fetch(
            conn,
            'SELECT COUNT(*) FROM vectors v JOIN memories m ON m."row" = v.memory'
            " WHERE m.namespace = ?",
            (namespace,),
        )[0][0],
        "token_codes": fetch(
            conn,
            'SELECT COUNT(*) FROM token_codes t JOIN memories m ON m."row" = t.memory'
            " WHERE m.namespace = ?",
            (namespace,),
        )[0][0],
        "entities": fetch(
            conn,
            "SELECT COUNT(*) FROM entities WHERE namespace = ? AND expired_us IS NULL",
            (namespace,),
        )[0][0],
        "edges": _edges(conn, namespace),
        "events": events,
        "sources": sources,
        "jobs": jobs,
        "claims": _claims(conn, namespace),
        "requests": fetch(conn, "SELECT COUNT(*) FROM requests WHERE namespace = ?", (namespace,))[
            0
        ][0],
        "seq": seq,
        "last_commit_at": None if last is None else from_us(last),
        "bytes": _bytes(conn),
    }


def _scopes(conn: apsw.Connection, namespace: str) -> dict[str, Any]:
    """Memories without a scope, how many scopes there are, and the memories of the largest."""
    sql = "SELECT scope, COUNT(*) FROM memories WHERE namespace = ? GROUP BY 1"
    found = dict(each(conn, sql, (namespace,)))
    unscoped = found.pop(None, 0)
    largest = sorted(found, key=lambda scope: (-found[scope], scope))[:_SCOPES_SHOWN]
    return {
        "unscoped": unscoped,
        "scopes_total": len(found),
        "scopes": {scope: found[scope] for scope in sorted(largest)},
    }


def _counts(conn: apsw.Connection, sql: str, namespace: str) -> dict[str, int]:
    return dict(each(conn, f"{sql} GROUP BY 1 ORDER BY 1", (namespace,)))


def _claims(conn: apsw.Connection, namespace: str) -> int:
    sql = (
        'SELECT COUNT(*) FROM claims c JOIN memories m ON m."row" = c.memory WHERE m.namespace = ?'
    )
    ((count,),) = fetch(conn, sql, (namespace,))
    return int(count)


def _edges(conn: apsw.Connection, namespace: str) -> dict[str, int]:
    """Unexpired edges by type; an edge lies in the namespace of its ends."""
    counts: dict[str, int] = {}
    for code in stored_codes():
        start, end = EDGE_ENDS[code]
        column, prefix = ("from_row", start) if end == "ent" else ("to_row", end)
        ((count,),) = fetch(
            conn,
            f"SELECT COUNT(*) FROM edges e JOIN {NODE_TABLES[prefix]} n"
            f' ON n."row" = e.{column} WHERE e.edge_type = ? AND e.expired_seq = 0'
            " AND n.namespace = ?",
            (code, namespace),
        )
        if count:
            counts[EDGE_TYPES[code]] = count
    return counts


def _bytes(conn: apsw.Connection) -> int:
    ((pages,),) = fetch(conn, "PRAGMA page_count")
    ((size,),) = fetch(conn, "PRAGMA page_size")
    return int(pages) * int(size)


def embedded_counts(conn: apsw.Connection) -> tuple[int, int]:
    """How many memories of all namespaces have a vector, and how many have none."""
    sql = (
        "SELECT COUNT(v.memory), COUNT(*) - COUNT(v.memory) FROM memories m"
        ' LEFT JOIN vectors v ON v.memory = m."row"'
    )
    ((vectors, without),) = fetch(conn, sql)
    return vectors, without


def other_keys(conn: apsw.Connection) -> list[str]:
    """Compares the key of each memory with that in the event which added it; what differs."""
    ((other,),) = fetch(
        conn,
        'SELECT COUNT(*) FROM events e JOIN memories m ON m."row" = e.memory'
        " WHERE e.event_type IN ('ADD', 'IMPORT') AND json_valid(e.payload)"
        " AND json_extract(e.payload, '$.key') IS NOT m.\"key\"",
    )
    return [f"{other} memories have another key than the event that added them"] if other else []


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
