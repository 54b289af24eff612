"""When memories began to hold, and their texts: what a list of them shows."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.store.ledger.reads import LedgerView
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import known_ids, select_in


def beginnings(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """id → since when it holds (µs), and the normal form of its text, for those that are known."""
    keys = known_ids(ids, "mem")
    sql = "SELECT id, t_valid_us, content FROM memories WHERE +namespace = ? AND id IN (?*)"
    with store_faults(view.where):
        rows = select_in(view.connection, sql, tuple(keys), (namespace,))
        return {keys[id]: (since, text) for id, since, text in rows}
