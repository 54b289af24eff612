"""Edges, supersessions, and what was known at an earlier moment."""

from __future__ import annotations

from typing import Any

import apsw

from vestig.errors import ValidationError
from vestig.ids import id_text
from vestig.store.lookups import each, fetch
from vestig.store.rows import from_json, relation_of
from vestig.store.schema import EDGE_CODES, EDGE_ENDS, EDGE_TYPES
from vestig.times import from_us, parse_time
from vestig.types import Edge, EdgeType, SupersessionRecord

__all__ = ["edges_of", "ends_before", "supersession_chain"]

_TABLES = {"mem": "memories", "source": "sources"}


def edges_of(conn: apsw.Connection, prefix: str, row: int, edge_type: str | None) -> list[Edge]:
    """Unexpired edges at a node, by weight descending, then id.

    Raises:
        ValidationError: an unknown edge type.
    """
    if edge_type is not None and edge_type not in EDGE_CODES:
        raise ValidationError("edge_type", edge_type, f"one of {', '.join(EDGE_TYPES)}, AFFECTS")
    found: dict[bytes, Edge] = {}
    for code, (start, end) in enumerate(EDGE_ENDS):
        if edge_type is not None and code != EDGE_CODES[edge_type]:
            continue
        if start not in _TABLES or end not in _TABLES:
            continue
        for mine, column in ((start, "from_row"), (end, "to_row")):
            if mine == prefix:
                for edge in each(conn, _edge_sql(start, end, column), (row, code)):
                    found[edge[0]] = _edge_of(edge, code)
    return sorted(found.values(), key=lambda edge: (-edge.weight, edge.id))


def _edge_sql(start: str, end: str, column: str) -> str:
    return (
        "SELECT e.id, f.id, t.id, e.relation, e.weight, e.confidence, e.evidence, e.origin,"
        " e.t_created_us, e.t_expired_us"
        f' FROM edges e JOIN {_TABLES[start]} f ON f."row" = e.from_row'
        f' JOIN {_TABLES[end]} t ON t."row" = e.to_row'
        f" WHERE e.{column} = ? AND e.edge_type = ? AND e.expired_seq = 0"
    )


def _edge_of(row: tuple[Any, ...], code: int) -> Edge:
    id, start, end, relation, weight, confidence, evidence, origin, created, expired = row
    return Edge(
        id=id_text("edge", id),
        from_id=id_text(EDGE_ENDS[code][0], start),
        to_id=id_text(EDGE_ENDS[code][1], end),
        edge_type=EdgeType(EDGE_TYPES[code]),
        relation=relation_of(code, relation),
        weight=weight,
        confidence=confidence,
        evidence=evidence,
        origin=origin,
        t_created=from_us(created),
        t_expired=None if expired is None else from_us(expired),
    )


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
    ids = {
        number: id_text("mem", fetch(
conn,
'SELECT id FROM memories WHERE "row" = ?', (number,)
        )[0][0])
        for number in seen
    }  # fmt: skip
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


def ends_before(
    conn: apsw.Connection, namespace: str, known_at_us: int
) -> dict[tuple[int, bytes], int | None]:
    """(row, id) → `t_invalid` as known at K, from the first event after K that wrote an end."""
    # Newest first: the entry of the earliest event after K is the one that stays.
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
        end = _previous_end(event_type, from_json(payload))
        if end is not _UNKNOWN:
            found[row, id] = end
    return found


_UNKNOWN: Any = object()


def _previous_end(event_type: str, payload: dict[str, Any]) -> Any:
    """The end before the event, in µs or None; `_UNKNOWN` when the event wrote none."""
    if "previous_t_invalid" in payload:
        if event_type != "UPDATE" and payload.get("t_invalid") is None:
            return _UNKNOWN
        return _microseconds(payload["previous_t_invalid"])
    return _UNKNOWN


def _microseconds(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return parse_time(value, "previous_t_invalid")
