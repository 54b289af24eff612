"""When memories began to hold, and their texts: what a list of them shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import apsw

from vestig.ids import id_text
from vestig.store.records.rows import STORING_EVENTS
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import fetch, known_ids, select_in
from vestig.types import RetentionPolicy, Status

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView


def beginnings(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """id → since when it holds (µs), and the normal form of its text, for those that are known."""
    keys = known_ids(ids, "mem")
    sql = "SELECT id, t_valid_us, content FROM memories WHERE +namespace = ? AND id IN (?*)"
    with store_faults(view.where):
        rows = select_in(view.connection, sql, tuple(keys), (namespace,))
        return {keys[id]: (since, text) for id, since, text in rows}


_KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(STORING_EVENTS))
_STATED: Final = (
    'SELECT DISTINCT m.id, e.source FROM memories m JOIN events e ON e.memory = m."row"'
    f" WHERE e.event_type IN ({_KINDS}) AND +m.namespace = ? AND m.id IN (?*)"
)


def stated_sources(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, set[str]]:
    """id → the source words of all events that stated its text, of the known ones."""
    found: dict[str, set[str]] = {}
    with store_faults(view.where):
        keys = tuple(known_ids(ids, "mem"))
        for id, source in select_in(view.connection, _STATED, keys, (namespace,)):
            found.setdefault(id_text("mem", id), set()).add(source)
    return found


_SUPERSEDED: Final = f"status = '{Status.SUPERSEDED.value}'"
# ?1: the namespace; ?2: now; ?3: superseded so long ago, null = not asked for
_DUE: Final = (
    "SELECT id, pinned, retention_policy, retention_until_us > ?2 FROM memories"
    " WHERE namespace = ?1 AND ((retention_until_us <= ?2"
    f" AND (retention_policy <> '{RetentionPolicy.DECISION.value}' OR {_SUPERSEDED}))"
    f" OR ({_SUPERSEDED} AND t_expired_us <= ?3))"
)


class DueMemory(NamedTuple):
    """A memory that is due. `kept_by`: what keeps it: pinned, permanent or retention_until; None =
    nothing does."""

    id: str
    kept_by: str | None


class DueTimes(NamedTuple):
    """Times by which memories are due, in microseconds: the end of their retention, and when they
    were superseded (None = that makes none due)."""

    now_us: int
    superseded_us: int | None


def due_memories(
    view: LedgerView, namespace: str, times: DueTimes, ids: Sequence[str] | None = None
) -> list[DueMemory]:
    """Memories whose retention is over, or that were superseded long ago, in the order in which
    they were stored. Of the policy `decision` only superseded ones are due.

    Args:
        ids: only these; None = all.
    """
    first = (namespace, *times)
    with store_faults(view.where):
        if ids is None:
            rows = fetch(view.connection, f'{_DUE} ORDER BY "row"', first)
        else:
            sql = f"{_DUE} AND id IN (?*)"
            rows = list(select_in(view.connection, sql, tuple(known_ids(ids, "mem")), first))
    return [DueMemory(id_text("mem", id), _kept_by(*kept)) for id, *kept in rows]


def count_all(view: LedgerView, namespace: str) -> int:
    """How many memories a namespace has, whatever their status."""
    with store_faults(view.where):
        sql = "SELECT COUNT(*) FROM memories WHERE namespace = ?"
        ((count,),) = fetch(view.connection, sql, (namespace,))
    return int(count)


def _kept_by(pinned: int, policy: str, protected: int | None) -> str | None:
    if pinned:
        return "pinned"
    if policy == RetentionPolicy.PERMANENT.value:
        return "permanent"
    return "retention_until" if protected else None


def embedded_rows(conn: apsw.Connection) -> list[int]:
    """Rows of the memories that have a vector."""
    return [row for (row,) in fetch(conn, "SELECT memory FROM vectors")]


def embedded_texts(
    conn: apsw.Connection, rows: Sequence[int]
) -> list[tuple[int, bytes, str | None, str, bytes]]:
    """(row, id, author, normal form of the text, vector) of these memories, by row."""
    sql = (
        'SELECT m."row", m.id, m.author, m.content, v.embedding FROM memories m'
        ' JOIN vectors v ON v.memory = m."row" WHERE m."row" IN (?*)'
    )
    return sorted(select_in(conn, sql, rows))
