"""Facts that other tables hold of memories: whom they mention, which summaries cover them,
questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.ids import id_text
from vestig.store.records.values import Mentioned
from vestig.store.sqlite.lookups import known_ids, select_in
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.memories import NO_QUESTION

MENTIONS: Final = EDGE_CODES["MENTIONS"]
_SUMMARIZES: Final = EDGE_CODES["SUMMARIZES"]
# An unexpired memory: active or archived.
LIVE: Final = "m.t_expired_us IS NULL"


def mentions(conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]) -> list[Mentioned]:
    """Return what `LedgerView.mentions` returns."""
    found: dict[str, list[Mentioned]] = {}
    for memory, entity, confidence in _by_memory(
        conn,
        memory_ids,
        "SELECT m.id, n.id, e.confidence FROM memories m"
        f' JOIN edges e ON e.from_row = m."row" AND e.edge_type = {MENTIONS}'
        ' AND e.expired_seq = 0 JOIN entities n ON n."row" = e.to_row'
        " WHERE +m.namespace = ? AND n.expired_us IS NULL AND m.id IN (?*)"
        " ORDER BY e.confidence IS NOT NULL, e.confidence DESC, n.id",
        namespace,
    ):
        found.setdefault(memory, []).append(
            Mentioned(memory_id=memory, entity_id=id_text("ent", entity), confidence=confidence)
        )
    return [one for id in dict.fromkeys(memory_ids) for one in found.get(id, ())]


def mentioned_names(conn: apsw.Connection, rows: Sequence[int]) -> dict[int, list[str]]:
    """Return what `LedgerView.mentioned_names` returns."""
    sql = (
        'SELECT e.from_row, n.canonical_name FROM edges e JOIN entities n ON n."row" = e.to_row'
        f" WHERE e.edge_type = {MENTIONS} AND e.expired_seq = 0 AND n.expired_us IS NULL"
        " AND e.from_row IN (?*)"
    )
    found: dict[int, list[str]] = {}
    for row, name in select_in(conn, sql, rows):
        found.setdefault(row, []).append(name)
    return found


def mentioning(
    conn: apsw.Connection, namespace: str, entity_ids: Sequence[str]
) -> dict[str, list[str]]:
    """Return what `LedgerView.mentioning` returns."""
    keys = known_ids(entity_ids, "ent")
    sql = (
        "SELECT n.id, m.id FROM entities n"
        f' JOIN edges e ON e.to_row = n."row" AND e.edge_type = {MENTIONS}'
        f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {LIVE}'
        " WHERE +n.namespace = ? AND n.id IN (?*) ORDER BY m.seq DESC, m.id DESC"
    )
    found: dict[str, list[str]] = {id: [] for id in keys.values()}
    for entity, memory in select_in(conn, sql, tuple(keys), (namespace,)):
        found[keys[entity]].append(id_text("mem", memory))
    return {id: memories for id, memories in found.items() if memories}


def summaries_of(
    conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]
) -> dict[str, list[str]]:
    """Return what `LedgerView.summaries_of` returns."""
    found: dict[str, list[str]] = {}
    for memory, summary in _by_memory(
        conn,
        memory_ids,
        "SELECT o.id, m.id FROM memories o"
        f' JOIN edges e ON e.to_row = o."row" AND e.edge_type = {_SUMMARIZES}'
        f' AND e.expired_seq = 0 JOIN memories m ON m."row" = e.from_row AND {LIVE}'
        " WHERE +o.namespace = ? AND o.id IN (?*) ORDER BY m.seq DESC, m.id DESC",
        namespace,
    ):
        found.setdefault(memory, []).append(id_text("mem", summary))
    return found


def questions(
    conn: apsw.Connection, namespace: str, memory_ids: Sequence[str]
) -> dict[str, list[str]]:
    """Return what `LedgerView.questions` returns."""
    found: dict[str, list[str]] = {}
    for memory, position, text in _by_memory(
        conn,
        memory_ids,
        "SELECT m.id, q.position, q.text FROM memories m JOIN questions q ON q.memory ="
        ' m."row" WHERE +m.namespace = ? AND m.id IN (?*) ORDER BY q.memory, q.position',
        namespace,
    ):
        texts = found.setdefault(memory, [])
        if position != NO_QUESTION:
            texts.append(text)
    return found


def _by_memory(
    conn: apsw.Connection, ids: Sequence[str], sql: str, namespace: str
) -> list[tuple[Any, ...]]:
    """Rows whose first column, the id of one of these memories, becomes its text."""
    keys = known_ids(ids, "mem")
    return [(keys[row[0]], *row[1:]) for row in select_in(conn, sql, tuple(keys), (namespace,))]
