"""The rows of anchors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.changes import NewAnchor
from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import NodeRows
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite.connections import (
    damaged,
    fetch,
    known_ids,
    next_row,
    rows_of,
    select_in,
    store_faults,
)
from vestig.store.tables.graph import EDGE_CODES
from vestig.store.tables.schema import INDEX, INSERT, columns_sql
from vestig.types import Status

_AT: Final = INDEX["anchors"]
_WIDTH: Final = len(_AT)
_COLUMNS: Final = columns_sql("anchors", "a")
_OTHER: Final = (
    '(SELECT id FROM memories WHERE "row" = a.other),'
    ' (SELECT status FROM memories WHERE "row" = a.other),'
    ' (SELECT scope FROM memories WHERE "row" = a.memory)'
)
_OWN: Final = f"SELECT a.memory, {_COLUMNS}, {_OTHER} FROM anchors a WHERE a.memory IN (?*)"
# Of the memories that a claim was read from, and of those that a summary covers.
_OF_SOURCES: Final = (
    f"SELECT e.memory, {_COLUMNS}, {_OTHER} FROM claim_evidence e"
    " JOIN anchors a ON a.memory = e.stated_in WHERE e.memory IN (?*)",
    f"SELECT x.from_row, {_COLUMNS}, {_OTHER} FROM edges x JOIN anchors a ON a.memory = x.to_row"
    f" WHERE x.edge_type = {EDGE_CODES['SUMMARIZES']} AND x.expired_seq = 0"
    " AND x.from_row IN (?*)",
)
_LINKS: Final = "SELECT seq, written FROM chain WHERE seq IN (?*)"
_ACTIVE: Final = (
    'SELECT DISTINCT m.id FROM anchors a JOIN memories m ON m."row" = a.memory'
    " WHERE m.namespace = ? AND m.status = ? ORDER BY m.id"
)


class AnchorRow(NamedTuple):
    """A stored anchor. `target` of a memory is its id, None where that was forgotten; `ended`: that
    memory was replaced or withdrawn; `committed`: of a file that a branch changed, 1 where it
    stands so in the commit; `scope`: of the memory whose anchor it is, and `of` its id where it
    came from another one."""

    position: int
    taken_us: int
    kind: str
    project: str | None
    target: str | None
    first_line: int | None
    last_line: int | None
    digest: bytes | None
    ends: int
    place: int
    equal: int
    size: int | None
    mtime_ns: int | None
    commit_id: str | None
    committed: int | None
    ended: bool
    scope: str | None
    of: str | None


_FIELDS: Final = tuple(_AT[name] for name in AnchorRow._fields if name in _AT)
_ENDED: Final = frozenset((Status.SUPERSEDED.value, Status.DEPRECATED.value))


def any_anchors(view: LedgerView) -> bool:
    """Return whether a store has an anchor at all."""
    return bool(view.fetch("SELECT 1 FROM anchors LIMIT 1"))


def of_memories(
    view: LedgerView, namespace: str, ids: Sequence[str], *, derived: bool = True
) -> dict[str, list[AnchorRow]]:
    """Id → its anchors, of those of these memories that have some, each target once.

    Args:
        derived: with those of the memories of which a claim or summary was made.

    Raises:
        StoreDamagedError: one was never written so.
    """
    with store_faults(view.where):
        stored = rows_of(view.connection, "memories", namespace, known_ids(ids, "mem"))
        by_row = {row: id for id, row in stored.items()}
        rows = sorted(by_row)
        found = list(select_in(view.connection, _OWN, rows))
        if derived:
            for sql in _OF_SOURCES:
                found += select_in(view.connection, sql, rows)
        _check(view, [row[1 : 1 + _WIDTH] for row in found])
        origins = {row[1 + _AT["memory"]] for row in found if row[1 + _AT["memory"]] != row[0]}
        names = dict(
            select_in(
                view.connection, 'SELECT "row", id FROM memories WHERE "row" IN (?*)',
                sorted(origins),
            )
        )  # fmt: skip
    anchors: dict[str, list[AnchorRow]] = {}
    seen = set[Any]()
    for memory, *rest in sorted(found, key=_order):
        columns = rest[:_WIDTH]
        origin = columns[_AT["memory"]]
        one = _anchor(columns, rest[_WIDTH:], None if origin == memory else names.get(origin))
        same = (
            memory,
            one.kind,
            one.project,
            one.target,
            one.first_line,
            one.last_line,
            one.digest,
            one.scope,
        )
        if same not in seen:
            seen.add(same)
            anchors.setdefault(by_row[memory], []).append(one)
    return anchors


def _order(row: Sequence[Any]) -> tuple[Any, ...]:
    origin, position = row[1 + _AT["memory"]], row[1 + _AT["position"]]
    return (row[0], origin != row[0], origin, position)


def _anchor(columns: Sequence[Any], looked_up: Sequence[Any], origin: bytes | None) -> AnchorRow:
    other, status, scope = looked_up
    values = dict(zip((n for n in AnchorRow._fields if n in _AT), _taken(columns), strict=True))
    if values["kind"] == "memory":
        values["target"] = None if other is None else id_text("mem", other)
    of = None if origin is None else id_text("mem", origin)
    return AnchorRow(**values, ended=status in _ENDED, scope=scope, of=of)


def _taken(columns: Sequence[Any]) -> list[Any]:
    return [columns[at] for at in _FIELDS]


def _check(view: LedgerView, rows: Sequence[Sequence[Any]]) -> None:
    """Raises `StoreDamagedError` where a row was never written so. Those of memories keep their seq
    when the other memory is forgotten, so that the transaction of that has their digest."""
    rows = [row for row in rows if row[_AT["kind"]] != "memory"]
    links = dict(select_in(view.connection, _LINKS, sorted({row[_AT["seq"]] for row in rows})))
    for row in rows:
        if chain.digest("anchors", row) not in (links.get(row[_AT["seq"]]) or b""):
            raise damaged(view.where, "a row of table anchors that was never written so")


def anchored(view: LedgerView, namespace: str) -> list[str]:
    """Ids of the active memories that have anchors of their own."""
    rows = view.fetch(_ACTIVE, (namespace, Status.ACTIVE.value))
    return [id_text("mem", id) for (id,) in rows]


def write(
    conn: apsw.Connection,
    link: chain.Link,
    nodes: NodeRows,
    anchors: Iterable[NewAnchor],
    *,
    seq: int,
    salts: chain.Salts,
) -> None:
    """Writes anchors: each in the place of the one that it replaces, else behind the others.

    Raises:
        NotFoundError: a memory that the namespace does not hold.
    """
    held: dict[int, list[tuple[Any, ...]]] = {}
    for new in anchors:
        memory = nodes.row(new.memory_id)
        if memory not in held:
            held[memory] = [] if memory in nodes.new_memories else _stored(conn, memory)
        own = held[memory]
        other = nodes.row(new.target) if new.kind == "memory" else None
        target = None if other is not None else new.target
        named = (new.kind, new.project, target, other, new.first_line, new.last_line)
        old = next((row for row in own if _is(row, new.position, named)), None)
        position = max((row[_AT["position"]] + 1 for row in own), default=0)
        row = (
            salts.take(),
            next_row(conn, "anchors") if old is None else old[_AT["row"]],
            memory, position if old is None else old[_AT["position"]], seq, new.taken_us, new.kind,
            new.project, target, other, new.first_line, new.last_line, new.digest, new.ends,
            new.place, new.equal, new.size, new.mtime_ns, new.commit,
            None if new.committed is None else int(new.committed),
        )  # fmt: skip
        if old is None:
            conn.execute(INSERT["anchors"], row)
            link.wrote("anchors", row)
        else:
            conn.execute(f"INSERT OR REPLACE{INSERT['anchors'].removeprefix('INSERT')}", row)
            link.replaced("anchors", old, row)
        link.touched.add(memory)
        held[memory] = [*(one for one in own if one is not old), row]


def _stored(conn: apsw.Connection, memory: int) -> list[tuple[Any, ...]]:
    return fetch(conn, f"SELECT {columns_sql('anchors')} FROM anchors WHERE memory = ?", (memory,))


def _is(row: Sequence[Any], position: int | None, named: tuple[Any, ...]) -> bool:
    if position is not None:
        return bool(row[_AT["position"]] == position)
    columns = ("kind", "project", "target", "other", "first_line", "last_line")
    return tuple(row[_AT[name]] for name in columns) == named
