"""Taking memories out of the ledger, and what nothing supports any more (L-10, L-11).

Each removed row is retired in the chain, whose counts go on; salt and columns are gone, so no
guess of a text can be tested against a digest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.ids import id_bytes
from vestig.store import chain, marks
from vestig.store.lookups import each, fetch, select_in
from vestig.store.rows import to_json
from vestig.store.schema import EDGE_ENDS, INDEX, INSERT, PENDING_TABLE, columns_sql

__all__ = ["Act", "Removed", "collect", "remove"]

_M: Final = INDEX["memories"]
_TABLE_OF: Final = {"mem": "memories", "source": "sources"}
# Tables that hang on a memory, by the columns that name it; those under the chain first.
_CHAINED: Final = (
    ("vectors", ("memory",)),
    ("events", ("memory",)),
    ("supersessions", ("superseding", "superseded")),
)
_FROM_SOURCE: Final = tuple(
    code for code, (start, _end) in enumerate(EDGE_ENDS) if start == "source"
)
_PLAIN: Final = ("tags", "jobs", "access")
_KEY: Final = {
    "memories": "row", "vectors": "memory", "events": "row", "supersessions": "row",
    "sources": "row", "edges": "id",
}  # fmt: skip


class Act(NamedTuple):
    """Who forgets, where, and in which transaction at what time."""

    namespace: str
    actor: str | None
    seq: int
    recorded_us: int


class Removed(NamedTuple):
    """Rows that went, per table."""

    rows: dict[str, int]


class _Removal:
    """Removes rows under one link and counts them."""

    def __init__(self, conn: apsw.Connection, link: chain.Link) -> None:
        self.conn = conn
        self.link = link
        self.counts: Counter[str] = Counter()
        self.gone: list[tuple[str, tuple[Any, ...]]] = []

    def chained(self, table: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows of a table under the chain, once each; the rows that went."""
        key = _KEY[table]
        found = list({row[INDEX[table][key]]: row for row in rows}.values())
        for row in found:
            self.link.removed(table, row)
            self.gone.append((table, row))
        if table == "edges":
            at = [INDEX["edges"][c] for c in ("from_row", "edge_type", "to_row", "relation",
                                              "expired_seq")]  # fmt: skip
            self.conn.executemany(
                "DELETE FROM edges WHERE from_row = ? AND edge_type = ? AND to_row = ?"
                " AND relation = ? AND expired_seq = ?",
                [[row[i] for i in at] for row in found],
            )
        else:
            place = INDEX[table][key]
            self.conn.executemany(
                f'DELETE FROM {table} WHERE "{key}" = ?', [(row[place],) for row in found]
            )
        self.counts[table] += len(found)
        return found

    def select(self, table: str, column: str, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        sql = f'SELECT {columns_sql(table)} FROM {table} WHERE "{column}" IN (?*)'
        return select_in(self.conn, sql, keys)


def remove(conn: apsw.Connection, link: chain.Link, rows: Mapping[str, int], act: Act) -> Removed:
    """Removes these memories (id → row) and everything that is about them alone.

    What to search the files for is kept in `erasures` until it is proved to be gone.
    """
    conn.execute("PRAGMA defer_foreign_keys = ON")  # until COMMIT: parents may go first
    removal = _Removal(conn, link)
    numbers = sorted(rows.values())
    for table, columns in _CHAINED:
        found = [row for column in columns for row in removal.select(table, column, numbers)]
        removal.chained(table, found)
    sources = _edges(removal, numbers)
    _sources(removal, sources)
    _point_nowhere(removal, numbers, act.seq)
    for table in _PLAIN:
        for number in numbers:
            conn.execute(f"DELETE FROM {table} WHERE memory = ?", (number,))
            removal.counts[table] += conn.changes()
    removal.chained("memories", removal.select("memories", "row", numbers))
    pending = _pending_vectors(conn, numbers)
    _bury(removal, rows, act)
    marks.remember(conn, act.seq, removal.gone, pending)
    return Removed(rows=dict(removal.counts))


def _edges(removal: _Removal, numbers: Sequence[int]) -> set[int]:
    """Edges at these memories; rows of the sources that lost a product."""
    found: list[tuple[Any, ...]] = []
    sources: set[int] = set()
    for code, (start, end) in enumerate(EDGE_ENDS):
        columns = [c for p, c in ((start, "from_row"), (end, "to_row")) if p == "mem"]
        for column in columns:
            sql = f"SELECT {columns_sql('edges')} FROM edges WHERE {column} = ? AND edge_type = ?"
            for number in numbers:
                found += fetch(removal.conn, sql, (number, code))
    for row in removal.chained("edges", found):
        if row[INDEX["edges"]["edge_type"]] in _FROM_SOURCE:
            sources.add(row[INDEX["edges"]["from_row"]])
    return sources


def _sources(removal: _Removal, sources: Iterable[int]) -> None:
    """Those of these sources that have no other product."""
    alone = [row for row in sorted(sources) if not _supports(removal.conn, row)]
    removal.chained("sources", removal.select("sources", "row", alone))


def _supports(conn: apsw.Connection, source: int) -> bool:
    sql = "SELECT 1 FROM edges WHERE from_row = ? AND edge_type = ? LIMIT 1"
    return any(fetch(conn, sql, (source, code)) for code in _FROM_SOURCE)


def _point_nowhere(removal: _Removal, numbers: Sequence[int], seq: int) -> None:
    """`superseded_by` and `revives` of others become null."""
    going = set(numbers)
    held: dict[int, tuple[Any, ...]] = {}
    for column in ("superseded_by", "revives"):
        for row in removal.select("memories", column, numbers):
            held[row[_M["row"]]] = row
    for number, old in held.items():
        if number in going:
            continue
        new = list(old)
        for column in ("superseded_by", "revives"):
            if new[_M[column]] in going:
                new[_M[column]] = None
        new[_M["wseq"]] = seq
        removal.conn.execute(
            'UPDATE memories SET superseded_by = ?, revives = ?, wseq = ? WHERE "row" = ?',
            (new[_M["superseded_by"]], new[_M["revives"]], seq, number),
        )
        removal.link.replaced("memories", old, new)
        removal.link.touched.add(number)


def _pending_vectors(conn: apsw.Connection, numbers: Sequence[int]) -> list[bytes]:
    """Vectors of an unfinished re-embedding."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    if not fetch(conn, sql, (PENDING_TABLE,)):
        return []
    sql = f"SELECT embedding FROM {PENDING_TABLE} WHERE memory IN (?*)"
    found = [row[0] for row in select_in(conn, sql, numbers)]
    conn.executemany(
        f"DELETE FROM {PENDING_TABLE} WHERE memory = ?", [(number,) for number in numbers]
    )
    return found


def _bury(removal: _Removal, rows: Mapping[str, int], act: Act) -> None:
    salts = chain.Salts()
    events: Counter[int] = Counter()
    for table, row in removal.gone:
        if table == "events":
            events[row[INDEX["events"]["memory"]]] += 1
    for id, number in rows.items():
        counts = to_json({"events": events[number]})
        values = (
            salts.take(), number, id_bytes(id), act.namespace, act.seq, act.recorded_us, act.actor,
            counts,
        )  # fmt: skip
        removal.conn.execute(INSERT["tombstones"], values)
        removal.link.wrote("tombstones", values)


def collect(conn: apsw.Connection, link: chain.Link, namespace: str) -> dict[str, int]:
    """Removes sources of the namespace that support nothing, and edges that lost an end."""
    removal = _Removal(conn, link)
    loose: list[tuple[Any, ...]] = []
    for code, ends in enumerate(EDGE_ENDS):
        for column, prefix in zip(("from_row", "to_row"), ends, strict=True):
            table = _TABLE_OF.get(prefix)
            if table is not None:
                loose += each(
                    conn,
                    f"SELECT {columns_sql('edges')} FROM edges WHERE edge_type = ? AND NOT EXISTS"
                    f' (SELECT 1 FROM {table} WHERE "row" = {column})',
                    (code,),
                )
    removal.chained("edges", loose)
    rows = fetch(conn, 'SELECT "row" FROM sources WHERE namespace = ?', (namespace,))
    _sources(removal, (row for (row,) in rows))
    return {"sources": removal.counts["sources"], "edges": removal.counts["edges"]}
