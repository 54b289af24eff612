"""Where restored records go: namespaces, rows and the links of the chain that cover them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.errors import ConflictError, ValidationError
from vestig.ids import id_bytes
from vestig.store.ledger import chain, settings
from vestig.store.ledger.schema import CHAINED, INSERT, NODE_TABLES
from vestig.store.ledger.writes import SqliteTransaction
from vestig.store.sqlite.lookups import fetch, next_row

__all__ = ["Placement"]

# Links without rows are cheap but not free: a file cannot ask for endless ones.
_LINKS_FREE: Final = 1_000_000
_LINKS_PER_LINE: Final = 1_000


class _Link(chain.Link):
    """A link whose rows are collected before its place in the chain is known."""

    def __init__(self, seq: int, recorded_us: int) -> None:
        super().__init__(b"", seq, recorded_us, [0] * len(CHAINED))

    def close(self, conn: apsw.Connection, previous: bytes, counts: list[int]) -> bytes:
        """Adds its rows to the counts so far and appends itself after `previous`."""
        self._previous = previous
        for at, number in enumerate(self._counts):
            counts[at] += number
        self._counts = counts
        return self.append(conn)


class Placement:
    """Rows and links of one restore, inside its write transaction."""

    def __init__(self, txn: SqliteTransaction, *, merge: bool, namespace: str | None) -> None:
        self._txn = txn
        self._conn = txn.connection
        self._merge = merge
        self._namespace = namespace
        self._keep_seq = txn.seq == 0
        self._rows: dict[str, int] = {}
        # Memories the store holds already, and what hangs on them, stay as they are.
        self._settled: set[str] = set()
        self._spaces: set[str] = set()
        self._links: dict[int, _Link] = {}
        self._next: dict[str, int] = {}
        self._salts = chain.Salts()

    def _seq(self, seq: int) -> int:
        return seq if self._keep_seq else self._txn.seq + 1

    def _link(self, seq: int) -> _Link:
        found = self._links.get(seq)
        if found is None:
            found = self._links[seq] = _Link(seq, self._txn.recorded_us)
        return found

    def _space(self, namespace: str) -> str:
        """Where the record goes; without `merge` nothing may be there yet."""
        space = namespace if self._namespace is None else self._namespace
        if space not in self._spaces:
            for table in NODE_TABLES.values():
                sql = f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1"
                if not self._merge and fetch(self._conn, sql, (space,)):
                    raise ConflictError(
                        f"namespace {space}: expected an empty one to restore into, it holds"
                        " records; import into another store or namespace, or add by id with"
                        " --merge"
                    )
            self._spaces.add(space)
        return space

    def _new_row(self, table: str) -> int:
        if table not in self._next:
            self._next[table] = next_row(self._conn, table)
        row = self._next[table]
        self._next[table] += 1
        return row

    def _row(self, id: str) -> int:
        """The row of a node of the file, or, when merging, of the store."""
        row = self._rows.get(id)
        if row is None and self._merge:
            table = NODE_TABLES[id.partition("_")[0]]
            found = fetch(
                self._conn, f'SELECT "row", namespace FROM {table} WHERE id = ?', (id_bytes(id),)
            )
            if found and self._space(found[0][1]) == found[0][1]:
                row = self._rows[id] = found[0][0]
                self._settled.add(id)
        if row is None:
            raise ValidationError("id", id, "a record that an earlier line holds")
        return row

    def _write(self, table: str, values: Sequence[Any], seq: int) -> _Link:
        self._conn.execute(INSERT[table], values)
        link = self._link(seq)
        link.wrote(table, values)
        return link

    def _close_links(self, seq_of_file: int, lines: int, rows: int) -> int:
        """Appends all links, through `seq_of_file` where seqs are kept, and gives the last seq.

        Raises:
            ValidationError: a seq that a file of so many lines cannot have.
        """
        txn = self._txn
        first = txn.seq + 1
        last = max(seq_of_file if self._keep_seq else first, *self._links, first)
        if last > _LINKS_FREE + _LINKS_PER_LINE * lines + first:
            raise ValidationError("seq", last, "a seq in keeping with the number of lines")
        settings.take_into_chain(self._conn, self._link(last), last)
        counts = txn.counts
        head = txn.head
        for seq in range(first, last + 1):
            head = self._link(seq).close(self._conn, head, counts)
            del self._links[seq]
        txn.rows_written = rows
        txn.applied = last, head
        return last
