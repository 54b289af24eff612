"""Counts of one namespace."""

from __future__ import annotations

from typing import Any

import apsw

from vestig.store.records.graph_rows import stored_codes
from vestig.store.sqlite.statements import each, fetch
from vestig.store.tables.graph import EDGE_ENDS, EDGE_TYPES
from vestig.store.tables.schema import NODE_TABLES
from vestig.times import from_us


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
