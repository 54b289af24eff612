"""Memories that links lead to beside the results of a recall."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.memories.equal_texts import text_keys
from vestig.ports import ScanRow
from vestig.recall.query import BoundQuery, Ranked


def associated_rows(bound: BoundQuery, ranked: Ranked) -> Sequence[ScanRow]:
    """The best memories that the walk reached from the results: none of them is a result or has
    the text of one, and each text is there once."""
    most, reached = bound.query.ranking.associated, ranked.scan.associated
    if not most or not reached:
        return ()
    results = [row.id for row in ranked.results]
    chosen = [row for row in reached if row.start in results and row.id not in results]
    if not chosen:
        return ()
    request = bound.request
    ids = [*results, *(row.id for row in chosen)]
    keys = text_keys(bound.session, bound.view, request.namespace, ids, request.moments.known_at_us)
    seen = {keys[id] for id in results if id in keys}
    found = list[ScanRow]()
    for row in chosen:
        key = keys.get(row.id)
        if key is None or key not in seen:
            found.append(row)
            if key is not None:
                seen.add(key)
    return found[:most]
