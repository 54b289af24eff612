"""Epochs of the clock: where a ledger whose time ran ahead went on with a corrected time.

Transaction time never decreases within an epoch. The order of transactions is that of their seqs.
"""

from __future__ import annotations

from typing import NamedTuple

import apsw

from vestig.store.ledger.schema import columns_sql
from vestig.store.sqlite.lookups import fetch

__all__ = ["ClockEpoch", "clock_epochs"]


class ClockEpoch(NamedTuple):
    """`seq`: the transaction that began the epoch, at `corrected_us`; `before_us`: the time of the
    transaction before it."""

    seq: int
    before_us: int
    corrected_us: int
    actor: str | None


def clock_epochs(conn: apsw.Connection) -> list[ClockEpoch]:
    """All epochs but the first of the ledger, oldest first."""
    sql = f"SELECT {columns_sql('clock_epochs')} FROM clock_epochs ORDER BY seq"
    return [ClockEpoch(*row[1:]) for row in fetch(conn, sql)]
