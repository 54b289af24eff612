"""Reads of the graph and of time: edges at a node, supersession chains, earlier known ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from vestig.arguments import parse_time
from vestig.ids import id_text
from vestig.store.records.graph_rows import edge_of, edge_sql, stored_codes
from vestig.store.records.rows import from_json
from vestig.store.sqlite.lookups import each, fetch, known_ids, select_in
from vestig.store.tables.graph import EDGE_ENDS
from vestig.times import from_us
from vestig.types import Edge, SupersessionRecord


def edges_of(conn: apsw.Connection, prefix: str, row: int, edge_type: str | None) -> list[Edge]:
    """Unexpired edges at a node, by weight descending, then id.

    Raises:
        ValidationError: an unknown edge type.
    """
    found: dict[bytes, Edge] = {}
    for code in stored_codes(edge_type):
        for mine, column in zip(EDGE_ENDS[code], ("from_row", "to_row"), strict=True):
            if mine == prefix:
                sql = edge_sql(code, f"e.{column} = ? AND e.expired_seq = 0")
                found.update((edge[0], edge_of(edge)) for edge in each(conn, sql, (row,)))
    return sorted(found.values(), key=lambda edge: (-edge.weight, edge.id))


def supersession_chain(conn: apsw.Connection, row: int) -> list[SupersessionRecord]:
    """Every record connected with the memory, oldest first."""
    records: dict[int, tuple[Any, ...]] = {}
    seen = {row}
    open_ends = [row]
    while open_ends:
        member = open_ends.pop()
        for record in fetch(
            conn,
            'SELECT "row", superseding, superseded, reason, created_us FROM supersessions'
            " WHERE superseded = ?1 OR superseding = ?1",
            (member,),
        ):
            records[record[0]] = record
            for other in record[1:3]:
                if other not in seen:
                    seen.add(other)
                    open_ends.append(other)
    sql = 'SELECT "row", id FROM memories WHERE "row" IN (?*)'
    ids = {number: id_text("mem", id) for number, id in select_in(conn, sql, sorted(seen))}
    return [
        SupersessionRecord(
            superseding_id=ids[superseding],
            superseded_id=ids[superseded],
            reason=reason,
            created_at=from_us(created),
        )
        for _row, superseding, superseded, reason, created in (
            records[number] for number in sorted(records)
        )
    ]


def expired_by(
    conn: apsw.Connection, namespace: str, ids: Sequence[str], known_at_us: int
) -> set[str]:
    """Those of these memories whose withdrawal was recorded by then."""
    keys = known_ids(ids, "mem")
    sql = "SELECT id FROM memories WHERE t_expired_us <= ? AND +namespace = ? AND id IN (?*)"
    rows = select_in(conn, sql, tuple(keys), (known_at_us, namespace))
    return {keys[id] for (id,) in rows}


def ends_before(
    conn: apsw.Connection, namespace: str, known_at_us: int
) -> dict[tuple[int, bytes], int | None]:
    """(row, id) → `t_invalid` as known then, from the first later event that wrote an end."""
    # Newest first: the entry of the earliest later event is the one that stays.
    found: dict[tuple[int, bytes], int | None] = {}
    for event_type, payload, row, id in each(
        conn,
        'SELECT e.event_type, e.payload, m."row", m.id FROM events e INDEXED BY events_ends'
        ' JOIN memories m ON m."row" = e.memory'
        " WHERE e.event_type IN ('DEPRECATE', 'SUPERSEDE', 'UPDATE') AND e.recorded_us > ?"
        " AND m.namespace = ? AND instr(e.payload, 't_invalid') > 0"
        ' ORDER BY e.seq DESC, e."row" DESC',
        (known_at_us, namespace),
    ):
        fields = from_json(payload)
        if _wrote_end(event_type, fields):
            found[row, id] = _microseconds(fields["previous_t_invalid"])
    return found


def _wrote_end(event_type: str, payload: dict[str, Any]) -> bool:
    """Return whether the event set the end of a memory; its payload then has the previous one."""
    if "previous_t_invalid" not in payload:
        return False
    return event_type == "UPDATE" or payload.get("t_invalid") is not None


def _microseconds(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return parse_time(value, "previous_t_invalid")
