"""Edges at many nodes, and between them, as they were known at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.ids import id_text
from vestig.store.records.graph_rows import edge_of, edge_sql, stored_codes
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import known_ids, select_in
from vestig.store.tables.graph import EDGE_ENDS
from vestig.types import Edge

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

_UNEXPIRED: Final = "e.expired_seq = 0"
_KNOWN_THEN: Final = "e.t_created_us <= ? AND IFNULL(e.t_expired_us > ?, 1)"


def _rows(
    view: LedgerView, namespace: str, ids: Sequence[str], side: int, known_at_us: int | None
) -> Iterator[tuple[Any, ...]]:
    """Rows for `edge_of` of the edges that start (side 0) or end (side 1) at one of these nodes."""
    times = () if known_at_us is None else (known_at_us, known_at_us)
    held = _UNEXPIRED if known_at_us is None else _KNOWN_THEN
    for code in stored_codes():
        keys = known_ids(ids, EDGE_ENDS[code][side])
        if keys:
            alias = "ft"[side]
            sql = edge_sql(code, f"{held} AND +{alias}.namespace = ? AND {alias}.id IN (?*)")
            yield from select_in(view.connection, sql, tuple(keys), (*times, namespace))


def weights_around(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int | None
) -> dict[str, dict[str, float]]:
    """Node → neighbour → the sum of the weights of the edges between them, in both directions.

    Args:
        known_at_us: None = as it is now.
    """
    found: dict[str, dict[str, float]] = {id: {} for id in ids}
    with store_faults(view.where):
        for side in (0, 1):
            for row in _rows(view, namespace, ids, side, known_at_us):
                ends = [id_text(EDGE_ENDS[row[3]][end], row[1 + end]) for end in (0, 1)]
                around = found[ends[side]]
                around[ends[1 - side]] = around.get(ends[1 - side], 0.0) + row[5]
    return found


def edges_between(
    view: LedgerView, namespace: str, ids: Sequence[str], known_at_us: int | None
) -> list[Edge]:
    """Edges of which both ends are among these nodes, by weight descending, then id.

    Args:
        known_at_us: None = as it is now.
    """
    wanted = set(ids)
    with store_faults(view.where):
        rows = _rows(view, namespace, ids, 0, known_at_us)
        found = [edge_of(row) for row in rows if id_text(EDGE_ENDS[row[3]][1], row[2]) in wanted]
    return sorted(found, key=lambda edge: (-edge.weight, edge.id))
