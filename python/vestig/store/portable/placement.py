"""Where restored records go: their namespaces and rows, and the links of the chain over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import apsw

from vestig.errors import ConflictError, ValidationError
from vestig.store.ledger import chain, settings
from vestig.store.ledger.writes import WriteTransaction
from vestig.store.sqlite.lookups import fetch, next_row
from vestig.store.tables.schema import CHAINED, INSERT, NODE_TABLES

# Links without rows are cheap but not free: the seqs of a file are limited by its lines.
_LINKS_FREE: Final = 1_000_000
_LINKS_PER_LINE: Final = 1_000


def id_conflict(id: str) -> ConflictError:
    """The id belongs to another namespace of the store."""
    return ConflictError(
        f"{id}: expected an id that is free in this store, another namespace holds it;"
        " nothing was written"
    )


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
    """Rows and links of one restore, inside its write transaction.

    `merge`: whether records are added by id to namespaces that hold some already. `keeps_seqs`:
    whether records keep the seqs of the file, which they do in an empty store. `rows`: id → row
    of the nodes of the file. `existing`: those of them that the store held before; they and what
    belongs to them stay as they are. `namespaces`: those that records of the file went to.
    """

    def __init__(self, txn: WriteTransaction, *, merge: bool, namespace: str | None) -> None:
        self._txn = txn
        self._conn = txn.connection
        self._namespace = namespace
        self._links: dict[int, _Link] = {}
        self._next: dict[str, int] = {}
        self._salts = chain.Salts()
        self.merge = merge
        self.keeps_seqs = txn.seq == 0
        self.rows: dict[str, int] = {}
        self.existing: set[str] = set()
        self.namespaces: set[str] = set()

    @property
    def next_seq(self) -> int:
        """The seq of the transaction of the restore, where records keep no seqs of the file."""
        return self._txn.seq + 1

    def salt(self) -> bytes:
        """A new salt of 16 random bytes."""
        return self._salts.take()

    def seq(self, seq: int) -> int:
        """The transaction that a record of this seq belongs to."""
        return seq if self.keeps_seqs else self.next_seq

    def link(self, seq: int) -> chain.Link:
        """The link of a transaction, begun at the first call."""
        return self._link(seq)

    def _link(self, seq: int) -> _Link:
        found = self._links.get(seq)
        if found is None:
            found = self._links[seq] = _Link(seq, self._txn.recorded_us)
        return found

    def namespace(self, namespace: str) -> str:
        """Where a record of this namespace goes.

        Raises:
            ConflictError: something is there already, and `merge` is off.
        """
        space = namespace if self._namespace is None else self._namespace
        if space not in self.namespaces:
            for table in NODE_TABLES.values():
                sql = f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1"
                if not self.merge and fetch(self._conn, sql, (space,)):
                    raise ConflictError(
                        f"namespace {space}: expected an empty one to restore into, it holds"
                        " records; import into another store or namespace, or add by id with"
                        " --merge"
                    )
            self.namespaces.add(space)
        return space

    def new_row(self, table: str) -> int:
        """The next free row number of a table."""
        if table not in self._next:
            self._next[table] = next_row(self._conn, table)
        row = self._next[table]
        self._next[table] += 1
        return row

    def row(self, id: str) -> int:
        """The row of a node of the file.

        Raises:
            ValidationError: no earlier line holds the node.
        """
        row = self.rows.get(id)
        if row is None:
            raise ValidationError("id", id, "a record that an earlier line holds")
        return row

    def write(self, table: str, values: Sequence[Any], seq: int) -> chain.Link:
        """Inserts a row under the link of this transaction, which is returned."""
        self._conn.execute(INSERT[table], values)
        link = self._link(seq)
        link.wrote(table, values)
        return link

    def close_links(self, seq_of_file: int, lines: int, rows: int) -> int:
        """Appends all links, through `seq_of_file` where seqs are kept, and gives the last seq.

        Raises:
            ValidationError: a seq that a file of so many lines cannot have.
        """
        txn = self._txn
        first = txn.seq + 1
        last = max(seq_of_file if self.keeps_seqs else first, *self._links, first)
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
