"""The links of the chain over restored rows."""

from __future__ import annotations

from typing import Final

import apsw

from vestig.errors import ValidationError
from vestig.store.integrity import chain
from vestig.store.records import settings
from vestig.store.records.writes import WriteTransaction
from vestig.store.tables.schema import CHAINED

# Links without rows are cheap but not free: the seqs of a file are limited by its lines.
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


class Links:
    """The links of one restore, inside its write transaction.

    `keeps_seqs`: whether records keep the seqs of the file, which they do in an empty store.
    `next_seq`: that of the transaction of the restore, where they do not.
    """

    def __init__(self, txn: WriteTransaction) -> None:
        self._txn = txn
        self._links: dict[int, _Link] = {}
        self.keeps_seqs = txn.seq == 0
        self.next_seq = txn.seq + 1

    def seq(self, seq: int) -> int:
        """The transaction that a record of this seq belongs to."""
        return seq if self.keeps_seqs else self.next_seq

    def link(self, seq: int) -> _Link:
        """The link of a transaction, begun at the first call."""
        found = self._links.get(seq)
        if found is None:
            found = self._links[seq] = _Link(seq, self._txn.recorded_us)
        return found

    def close(self, seq_of_file: int, lines: int, rows: int) -> int:
        """Appends all links, through `seq_of_file` where seqs are kept, and gives the last seq.

        Raises:
            ValidationError: a seq that a file of so many lines cannot have.
        """
        txn, first = self._txn, self.next_seq
        last = max(seq_of_file if self.keeps_seqs else first, *self._links, first)
        if last > _LINKS_FREE + _LINKS_PER_LINE * lines + first:
            raise ValidationError("seq", last, "a seq in keeping with the number of lines")
        settings.take_into_chain(txn.connection, self.link(last), last)
        counts, head = txn.counts, txn.head
        for seq in range(first, last + 1):
            head = self.link(seq).close(txn.connection, head, counts)
            del self._links[seq]
        txn.rows_written = rows
        txn.applied = last, head
        return last
