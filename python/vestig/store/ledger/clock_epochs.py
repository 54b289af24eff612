"""Epochs of the clock: where a ledger whose time ran ahead went on with a corrected time.

Transaction time never decreases within an epoch. The order of transactions is that of their seqs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from vestig.store.ledger import chain
from vestig.store.ledger.graph_removal import Removal
from vestig.store.ledger.schema import EDGE_ENDS, INSERT, columns_sql
from vestig.store.sqlite.faults import damaged
from vestig.store.sqlite.lookups import fetch

__all__ = ["ClockEpoch", "EpochTimes", "clock_epochs", "read_epochs", "write_epoch"]

_TABLE: Final = "clock_epochs"
_SELECT: Final = f"SELECT {columns_sql(_TABLE)} FROM {_TABLE} ORDER BY seq"
# Nodes with a recorded time after ?1, in themselves, their events or the edges that start there.
_LATER_NODES: Final = {
    "memories": """
        SELECT "row" FROM memories WHERE t_created_us > ?1 OR t_expired_us > ?1
        UNION SELECT memory FROM events WHERE recorded_us > ?1
        UNION SELECT from_row FROM edges WHERE edge_type IN ({mem})
            AND (t_created_us > ?1 OR t_expired_us > ?1)""",
    "entities": """
        SELECT "row" FROM entities WHERE created_us > ?1 OR expired_us > ?1
        UNION SELECT from_row FROM edges WHERE edge_type IN ({ent})
            AND (t_created_us > ?1 OR t_expired_us > ?1)""",
}


class ClockEpoch(NamedTuple):
    """`seq`: the transaction that began the epoch, at `corrected_us`; `before_us`: the time of the
    transaction before it."""

    seq: int
    before_us: int
    corrected_us: int
    actor: str | None


class EpochTimes:
    """How recorded times of earlier epochs compare: one that lies after a corrected time counts as
    that corrected time. What is stored and shown stays as it was written.

    Args:
        epochs: all of a ledger, oldest first.
    """

    def __init__(self, epochs: Sequence[ClockEpoch] = ()) -> None:
        self.epochs = tuple(epochs)

    def counted(self, recorded_us: int, seq: int) -> int:
        """What a time counts as that transaction `seq` recorded.

        Example:
            >>> times = EpochTimes([ClockEpoch(7, 900, 500, None)])
            >>> [times.counted(*one) for one in ((900, 6), (400, 6), (900, 8))]
            [500, 400, 900]
        """
        for epoch in self.epochs:
            if seq < epoch.seq and recorded_us > epoch.corrected_us:
                recorded_us = epoch.corrected_us
        return recorded_us

    def recorded_below(self, known_at_us: int) -> int:
        """The seq below which everything counts as recorded by that moment; 0 = no such."""
        return max((one.seq for one in self.epochs if one.corrected_us <= known_at_us), default=0)


def clock_epochs(conn: apsw.Connection) -> list[ClockEpoch]:
    """All epochs but the first of the ledger, oldest first."""
    return [ClockEpoch(*row[1:]) for row in fetch(conn, _SELECT)]


def read_epochs(conn: apsw.Connection, where: str) -> EpochTimes:
    """The epochs of a ledger, each checked against the chain.

    Raises:
        StoreDamagedError: a row that was never written so, or one that is missing.
    """
    rows = fetch(conn, _SELECT)
    for row in rows:
        _check(conn, where, row)
    return EpochTimes([ClockEpoch(*row[1:]) for row in rows])


def _check(conn: apsw.Connection, where: str, row: Sequence[Any]) -> None:
    links = fetch(conn, "SELECT written FROM chain WHERE seq = ?", (row[1],))
    try:
        written = chain.digests_of(links[0][0]).get(_TABLE, []) if links else []
    except (msgspec.MsgspecError, ValueError, TypeError, IndexError) as error:
        raise damaged(where, f"an unreadable chain row {row[1]}") from error
    if chain.digest(_TABLE, row) not in written:
        raise damaged(where, f"a row of table {_TABLE} that was never written so")


def write_epoch(conn: apsw.Connection, link: chain.Link, salt: bytes, epoch: ClockEpoch) -> None:
    """Writes an epoch, and new versions of the nodes whose times count differently from it on, so
    that the projection reads them again."""
    values = (salt, *epoch)
    conn.execute(INSERT[_TABLE], values)
    link.wrote(_TABLE, values)
    removal = Removal(conn, link)
    codes = {
        prefix: ", ".join(str(code) for code, ends in enumerate(EDGE_ENDS) if ends[0] == prefix)
        for prefix in ("mem", "ent")
    }
    for table, sql in _LATER_NODES.items():
        rows = [row for (row,) in fetch(conn, sql.format(**codes), (epoch.corrected_us,))]
        for old in list(removal.select(table, "row", rows)):
            removal.rewrite(table, old, epoch.seq, {})
