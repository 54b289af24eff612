"""Memories on their way to the projection, every row checked against the chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import apsw
import msgspec

from vestig.ids import id_text
from vestig.ports import ProjectionRow
from vestig.store import chain
from vestig.store.faults import damaged
from vestig.store.lookups import each, fetch, select_in
from vestig.store.rows import from_json
from vestig.store.schema import INDEX, columns_sql
from vestig.types import EventType, Kind, OriginType, Stability, Status

__all__ = ["projection_rows"]

_BATCH: Final = 2_048
_KIND: Final = {member.value: code for code, member in enumerate(Kind)}
_STATUS: Final = {member.value: code for code, member in enumerate(Status)}
_ORIGIN: Final = {member.value: code for code, member in enumerate(OriginType)}
_STABILITY: Final = {member.value: code for code, member in enumerate(Stability)}
_EVENT: Final = {member.value: code for code, member in enumerate(EventType)}

_M: Final = INDEX["memories"]
_OUT: Final = itemgetter(
    *(
        _M[name]
        for name in (
            "row", "id", "seq", "wseq", "content", "author", "namespace", "scope", "kind",
            "status", "role", "session_id", "sequence", "origin_type", "temporal_stability",
            "pinned", "t_valid_us", "t_invalid_us", "t_created_us", "t_expired_us", "metadata",
        )
    )
)  # fmt: skip
_E: Final = INDEX["events"]
_EVENT_OUT: Final = itemgetter(
    *(_E[n] for n in ("event_type", "occurred_us", "recorded_us", "seq", "row", "source", "actor"))
)
_MEMORIES: Final = f'SELECT {columns_sql("memories")} FROM memories WHERE "row" '
_VECTORS: Final = f"SELECT {columns_sql('vectors')} FROM vectors WHERE memory "
_EVENTS: Final = f"SELECT {columns_sql('events')} FROM events WHERE memory "
_ORDERS: Final = {_MEMORIES: ' ORDER BY "row"', _VECTORS: "", _EVENTS: ' ORDER BY memory, "row"'}


class _Proof:
    """What the chain says was written, for the seqs that a batch needs."""

    def __init__(
        self, conn: apsw.Connection, where: str, seq: int, retired: chain.RetiredDigests
    ) -> None:
        self._conn = conn
        self._where = where
        self._seq = seq
        self._retired = retired.through(conn, seq)
        self._written: dict[int, frozenset[bytes]] = {}

    def load(self, seqs: set[int]) -> None:
        """Keeps the links of these seqs and forgets the others."""
        missing = seqs - self._written.keys()
        for old in self._written.keys() - seqs:
            del self._written[old]
        wanted = sorted(missing)
        if wanted and wanted[-1] - wanted[0] < 2 * len(wanted):
            rows: Iterator[Any] = iter(
                each(
                    self._conn,
                    "SELECT seq, written FROM chain WHERE seq BETWEEN ? AND ?",
                    (wanted[0], wanted[-1]),
                )
            )
        else:
            rows = select_in(self._conn, "SELECT seq, written FROM chain WHERE seq IN (?*)", wanted)
        for seq, packed in rows:
            if seq in missing:
                try:
                    runs = chain.digests_of(packed)
                except (msgspec.MsgspecError, ValueError, TypeError, IndexError) as error:
                    raise damaged(self._where, f"an unreadable chain row {seq}") from error
                self._written[seq] = frozenset().union(
                    *(run for table, run in runs.items() if table in _PROVED)
                )

    def check(self, table: str, row: Sequence[Any], seq: int, id: bytes) -> None:
        """The row is the version that the chain holds as current at the view's seq."""
        digest = chain.digest(table, row)
        written = self._written.get(seq)
        if written is None or digest not in written:
            raise damaged(
                self._where,
                f"a row of table {table} of {id_text('mem', id)} that was never written so",
            )
        if self._retired.get(digest, self._seq + 1) <= self._seq:
            raise damaged(
                self._where,
                f"an older version of a row of table {table} of {id_text('mem', id)}",
            )


_PROVED: Final = frozenset(("memories", "vectors", "events"))


# Events by which a text came in (D-04); the filters `sources` and `actors` ask for these.
_STORING: Final = frozenset(("ADD", "IMPORT", "REINFORCE_EXACT", "REINFORCE_NEAR"))


def projection_rows(
    conn: apsw.Connection, where: str, seq: int, after_seq: int, retired: chain.RetiredDigests
) -> Iterator[ProjectionRow]:
    """`LedgerView.projection_rows`; reads in batches, so memory use does not grow."""
    proof = _Proof(conn, where, seq, retired)
    for selection in _selections(conn, after_seq):
        try:
            rows = list(_batch(conn, selection, proof))
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise damaged(where, "a row with values that were never written") from error
        yield from rows


_Selection = tuple[int, int] | list[int]


def _selections(conn: apsw.Connection, after_seq: int) -> Iterator[_Selection]:
    """Half-open ranges of rows, or lists of rows."""
    if after_seq <= 0:
        (last,) = fetch(conn, 'SELECT IFNULL(MAX("row"), 0) FROM memories')[0]
        for start in range(1, last + 1, _BATCH):
            yield start, start + _BATCH
        return
    touched: set[int] = set()
    for (packed,) in each(conn, "SELECT touched FROM chain WHERE seq > ?", (after_seq,)):
        touched.update(chain.unpack_rows(packed))
    rows = sorted(touched)
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        dense = part[-1] - part[0] + 1 == len(part)
        yield (part[0], part[-1] + 1) if dense else part


def _select(conn: apsw.Connection, sql: str, selection: _Selection) -> Iterator[tuple[Any, ...]]:
    if isinstance(selection, tuple):
        return each(conn, f"{sql}>= ?1 AND {_column(sql)} < ?2{_ORDERS[sql]}", selection)
    return select_in(conn, f"{sql}IN (?*){_ORDERS[sql]}", selection)


def _column(sql: str) -> str:
    return sql.rsplit("WHERE ", 1)[1]


def _batch(conn: apsw.Connection, selection: _Selection, proof: _Proof) -> Iterator[ProjectionRow]:
    memories = list(_select(conn, _MEMORIES, selection))
    vectors = {row[1]: row for row in _select(conn, _VECTORS, selection)}
    memory_at, seq_at, wseq_at = _E["memory"], _E["seq"], _M["wseq"]
    events = {
        memory: list(rows)
        for memory, rows in groupby(_select(conn, _EVENTS, selection), itemgetter(memory_at))
    }
    seqs = {row[wseq_at] for row in memories}
    seqs.update(row[2] for row in vectors.values())
    seqs.update(event[seq_at] for rows in events.values() for event in rows)
    proof.load(seqs)
    for memory in memories:
        yield _row(memory, vectors.get(memory[1]), events.get(memory[1], []), proof)


def _row(
    memory: tuple[Any, ...],
    vector: tuple[Any, ...] | None,
    events: list[tuple[Any, ...]],
    proof: _Proof,
) -> ProjectionRow:
    (
        _number, id, seq, wseq, content, author, namespace, scope, kind, status, role,
        session_id, sequence, origin, stability, pinned, t_valid, t_invalid, t_created,
        t_expired, metadata,
    ) = _OUT(memory)  # fmt: skip
    proof.check("memories", memory, wseq, id)
    touched = wseq
    embedding: bytes | None = None
    if vector is not None:
        proof.check("vectors", vector, vector[2], id)
        touched = max(touched, vector[2])
        embedding = vector[4]
    sources: dict[str, None] = {}
    actors: dict[str, None] = {}
    out = []
    for event in events:
        event_type, occurred, recorded, event_seq, number, source, actor = _EVENT_OUT(event)
        proof.check("events", event, event_seq, id)
        touched = max(touched, event_seq)
        out.append((_EVENT[event_type], occurred, recorded, event_seq, number))
        # Who withdrew or pinned a memory did not store it.
        if event_type in _STORING:
            sources[source] = None
            if actor is not None:
                actors[actor] = None
    return (
        id, seq, touched, content, author, namespace, scope, _KIND[kind], _STATUS[status], role,
        session_id, sequence, _ORIGIN[origin], _STABILITY[stability], pinned == 1, t_valid,
        t_invalid, t_created, t_expired, embedding, _tags(metadata), list(sources), list(actors),
        out,
    )  # fmt: skip


def _tags(metadata: str) -> list[str]:
    # Most memories have no tags, and decoding the rest of their metadata would be in vain.
    return from_json(metadata).get("tags", []) if '"tags"' in metadata else []
