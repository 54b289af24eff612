"""Checks that rows read for the projection are the versions that the chain has as current."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any, Final
from weakref import WeakKeyDictionary

import apsw
import msgspec

from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.sqlite.connections import damaged, each, fetch, select_in
from vestig.store.tables.schema import ALL, INDEX, NODE_TABLES, columns_sql

# Tables whose rows go to the projection.
_CHECKED: Final = frozenset(table.name for table in ALL if table.projected)

_TABLE: Final = NODE_TABLES["mem"]
_M: Final = INDEX[_TABLE]
_MEMORIES: Final = f'SELECT {columns_sql(_TABLE)} FROM {_TABLE} WHERE "row" IN (?*)'
_KNOWN_MAX: Final = 65_536
_LINKS: Final = "SELECT seq, written FROM chain WHERE seq IN (?*)"


class CheckedMemories:
    """The memories that were found to be as they were written, until a file changes: those of an
    unchanged file are not checked again. Shared by all readers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: WeakKeyDictionary[apsw.Connection, tuple[int, set[int]]] = WeakKeyDictionary()

    def check(self, conn: apsw.Connection, where: str, rows: Sequence[int]) -> None:
        """Checks that memories are as the links that they name have written them. Whether a later
        link has replaced them is left to the projection.

        Args:
            rows: row numbers of memories.

        Raises:
            StoreDamagedError: one was never written so.
        """
        # the number changes with every commit of another connection, whatever it has changed
        ((version,),) = fetch(conn, "PRAGMA data_version")
        with self._lock:
            at, known = self._known.get(conn, (version, set[int]()))
            if at != version or len(known) > _KNOWN_MAX:
                known = set()
        fresh = [row for row in rows if row not in known]
        if fresh:
            _check_memories(conn, where, fresh)
            with self._lock:
                self._known[conn] = version, known.union(fresh)


def _check_memories(conn: apsw.Connection, where: str, rows: Sequence[int]) -> None:
    found = list(select_in(conn, _MEMORIES, rows))
    links = dict(select_in(conn, _LINKS, list({row[_M["wseq"]] for row in found})))
    for row in found:
        # digests of one link side by side, each of which is beyond chance
        if chain.digest(_TABLE, row) not in (links.get(row[_M["wseq"]]) or b""):
            raise _unwritten(where, _TABLE, id_text("mem", row[_M["id"]]))


def _unwritten(where: str, table: str, node: str) -> Exception:
    return damaged(where, f"a row of table {table} of {node} that was never written so")


class DigestCheck:
    """Rows of a view against the links that wrote them, which `load` reads for a batch of rows."""

    def __init__(
        self, conn: apsw.Connection, where: str, seq: int, retired: chain.RetiredDigests
    ) -> None:
        self._conn = conn
        self._where = where
        self._seq = seq
        self._retired = retired.through(conn, seq)
        self._written: dict[int, frozenset[bytes]] = {}

    def load(self, seqs: set[int]) -> None:
        """Reads the links of these seqs and drops the others."""
        missing = seqs - self._written.keys()
        for old in self._written.keys() - seqs:
            del self._written[old]
        wanted = sorted(missing)
        if wanted and wanted[-1] - wanted[0] < 2 * len(wanted):
            rows: Iterator[tuple[Any, ...]] = iter(
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
                    *(run for table, run in runs.items() if table in _CHECKED)
                )

    def check(
        self, table: str, row: Sequence[Any], seq: int, id: bytes, prefix: str = "mem"
    ) -> None:
        """Checks that a row of this node is the version that the chain has as current at the view's
        seq.

        Raises:
            StoreDamagedError: it was never written so, or is an older version.
        """
        digest = chain.digest(table, row)
        written = self._written.get(seq)
        if written is None or digest not in written:
            raise self._unwritten(table, id, prefix)
        if self._retired.get(digest, self._seq + 1) <= self._seq:
            raise self._older(table, id, prefix)

    def check_all(
        self, table: str, rows: Sequence[Any], width: int, id: bytes, prefix: str
    ) -> None:
        """`check` of many rows of a node, each with the seq that wrote it as its last value
        behind the `width` columns of the table.

        Raises:
            StoreDamagedError: one was never written so, or is an older version.
        """
        digests = [chain.digest(table, row[:width]) for row in rows]
        for digest, row in zip(digests, rows, strict=True):
            if digest not in self._written.get(row[-1], ()):
                raise self._unwritten(table, id, prefix)
        if not self._retired.keys().isdisjoint(digests):
            newest = self._seq
            if any(self._retired.get(digest, newest + 1) <= newest for digest in digests):
                raise self._older(table, id, prefix)

    def _unwritten(self, table: str, id: bytes, prefix: str) -> Exception:
        return _unwritten(self._where, table, id_text(prefix, id))

    def _older(self, table: str, id: bytes, prefix: str) -> Exception:
        node = id_text(prefix, id)
        return damaged(self._where, f"an older version of a row of table {table} of {node}")

    def missing_end(self, table: str, id: bytes, prefix: str) -> Exception:
        """The error for an edge of this node whose other end is gone."""
        return damaged(self._where, f"a row of table {table} of {id_text(prefix, id)} without end")
