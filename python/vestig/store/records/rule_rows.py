"""The rows of rules, and of how often each fired."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.changes import NewRule, RuleCounts
from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.records.graph_rows import NodeRows
from vestig.store.records.memory_versions import put_rows
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite.connections import (
    damaged,
    known_ids,
    rows_of,
    select_in,
)
from vestig.store.tables.schema import INDEX, columns_sql
from vestig.types import Memory

_AT: Final = INDEX["rules"]
_WIDTH: Final = len(_AT)
_SELECT: Final = (
    f"SELECT {columns_sql('rules', 'r')}, m.id, IFNULL(c.fired, 0), IFNULL(c.gave_way, 0),"
    " IFNULL(c.denied, 0), c.last_fired_us FROM rules r"
    ' JOIN memories m ON m."row" = r.memory LEFT JOIN rule_counts c ON c.memory = r.memory'
    " WHERE m.namespace = ?"
)
_LINKS: Final = "SELECT seq, written FROM chain WHERE seq IN (?*)"
_COUNT: Final = (
    "INSERT INTO rule_counts VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory) DO UPDATE SET"
    " fired = fired + excluded.fired, gave_way = gave_way + excluded.gave_way,"
    " denied = denied + excluded.denied,"
    " last_fired_us = IFNULL(excluded.last_fired_us, last_fired_us)"
)


class RuleRow(NamedTuple):
    """A stored rule, without the memory that is its text."""

    memory_id: str
    condition: str
    decision: str
    exception: str | None
    fired: int
    gave_way: int
    denied: int
    last_fired_us: int | None


def of_namespace(view: LedgerView, namespace: str) -> list[RuleRow]:
    """All rules, those whose memories are active no longer too, in the order of their memories."""
    return _rows(view, f"{_SELECT} ORDER BY r.memory", (namespace,))


def of_memory(view: LedgerView, namespace: str, id: str) -> RuleRow | None:
    """The rule of a memory; None where it has none."""
    keys = known_ids([id], "mem")
    found = _rows(view, f"{_SELECT} AND m.id = ?", (namespace, next(iter(keys)))) if keys else []
    return found[0] if found else None


def is_rule(view: LedgerView, memory: Memory) -> bool:
    """Return whether a memory is the text of a rule. Such a one ends by a call that names it:
    nothing else takes its place or withdraws it."""
    return of_memory(view, memory.namespace, memory.id) is not None


def beside_named(
    view: LedgerView, namespace: str, memories: Iterable[Memory], named: tuple[str, ...]
) -> list[str]:
    """Ids of those of these memories that are texts of rules which may bind, and that a call does
    not name by id, or the beginning of one."""
    rules = {row.memory_id for row in of_namespace(view, namespace)}
    return [
        one.id
        for one in memories
        if one.id in rules and one.t_expired is None and not one.id.startswith(named)
    ]


def _rows(view: LedgerView, sql: str, values: tuple[Any, ...]) -> list[RuleRow]:
    """Rules as the transactions that they name have written them.

    Raises:
        StoreDamagedError: one was never written so.
    """
    rows = view.fetch(sql, values)
    links = dict(view.fetch_in(_LINKS, sorted({row[_AT["seq"]] for row in rows})))
    found = []
    for row in rows:
        columns, (id, *counts) = row[:_WIDTH], row[_WIDTH:]
        memory_id = id_text("mem", id)
        if chain.digest("rules", columns) not in (links.get(columns[_AT["seq"]]) or b""):
            what = f"a row of table rules of {memory_id} that was never written so"
            raise damaged(view.where, what)
        said = (columns[_AT[name]] for name in ("condition", "decision", "exception"))
        found.append(RuleRow(memory_id, *said, *counts))
    return found


def write(
    conn: apsw.Connection,
    link: chain.Link,
    nodes: NodeRows,
    rules: Iterable[NewRule],
    *,
    seq: int,
    salts: chain.Salts,
) -> None:
    """Writes rules, each in the place of the one that its memory had."""
    rows = [
        (salts.take(), nodes.row(new.memory_id), seq, new.condition, new.decision, new.exception)
        for new in rules
    ]
    put_rows(conn, link, "rules", rows, nodes.new_memories)
    conn.executemany(
        "INSERT INTO rule_counts VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory) DO NOTHING",
        [
            (nodes.row(new.memory_id), *_counted(new.counts))
            for new in rules
            if new.counts is not None
        ],
    )


def _counted(counts: RuleCounts) -> tuple[int, int, int, int | None]:
    return counts.fired, counts.gave_way, counts.denied, counts.last_fired_us


def count(conn: apsw.Connection, namespace: str, counts: Sequence[tuple[str, RuleCounts]]) -> None:
    """Adds to the counts of rules; of one that is gone meanwhile nothing is counted."""
    memories = rows_of(conn, "memories", namespace, known_ids([id for id, _ in counts], "mem"))
    there: Collection[int] = {
        row
        for (row,) in select_in(
            conn, "SELECT memory FROM rules WHERE memory IN (?*)", sorted(memories.values())
        )
    }
    conn.executemany(
        _COUNT,
        [
            (memories[id], *_counted(one))
            for id, one in counts
            if id in memories and memories[id] in there
        ],
    )
