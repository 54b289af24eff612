"""Successors of replaced memories, ranked at least where those would rank that they replaced.

A replaced memory is not eligible, yet what matched it is answered by the memory that took its
place: "Parcels go out with DPD" is what a question about DPD finds, and the successor need not
name DPD.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from vestig.ids import id_bytes
from vestig.memories.equal_texts import recalled
from vestig.ports import Scan, ScanRow
from vestig.types import Status

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.request import Request
    from vestig.store.projection.scan_objects import Row

# A scan with this request and these watched ids.
Rescan = Callable[["Request", bytes], Scan]


def with_successors(
    bound: BoundQuery, request: Request, scan: Scan, rescan: Rescan
) -> tuple[Sequence[ScanRow], Scan]:
    """Return the rows of a scan, each successor raised to the level and place of the replaced
    memory, and the scan that says how sure the store is: where one was raised, that with the
    replaced ones in it, for what they say is what the successor answers.

    A read of an earlier time changes nothing: there the replaced memory itself is found.

    Args:
        scan: that of the request.
    """
    rows = scan.rows
    wide_request = _with_expired(bound, request)
    if wide_request is None:
        return rows, scan
    wide = rescan(wide_request, b"")
    ranked = {row.id: row for row in rows}
    hidden = [row.id for row in wide.rows if row.id not in ranked]
    successors = _successors(bound, hidden, list(ranked))
    if not successors:
        return rows, scan
    lower = [id for id in dict.fromkeys(successors.values()) if id not in ranked]
    if lower:
        ranked |= {row.id: row for row in rescan(request, b"".join(lower)).watched}
    raised = dict[bytes, ScanRow]()
    for row in wide.rows:
        successor = ranked.get(successors.get(row.id, b""))
        # the best of several that it replaced is the first one
        if successor and successor.id not in raised and successor.final_score < row.final_score:
            # rows of a changed scan come from the core too
            raised[successor.id] = cast("Row", successor).replacing(cast("Row", row))
    if not raised:
        return rows, scan
    others = [row for row in rows if row.id not in raised]
    merged = sorted([*raised.values(), *others], key=lambda row: -row.final_score)
    return merged[: max(len(rows), len(raised))], wide


def _with_expired(bound: BoundQuery, request: Request) -> Request | None:
    """The request with replaced memories eligible too; None where that adds none."""
    filter, moments = request.filter, request.moments
    if moments.past or moments.valid_at_us is not None or filter.columns["include_expired"]:
        return None
    columns = filter.columns | {"include_expired": True}
    wide = msgspec.structs.replace(request, filter=msgspec.structs.replace(filter, columns=columns))
    count = bound.session.keeper.eligible_count
    more = count(bound.view, bound.filter(wide)) > count(bound.view, bound.filter(request))
    return wide if more else None


def _successors(
    bound: BoundQuery, ids: Sequence[bytes], ranked: Sequence[bytes]
) -> Mapping[bytes, bytes]:
    """Replaced memory → the one that stands for it now, of those of these that were replaced. A
    text that one of the ranked states again needs nobody to stand for it."""
    namespace = bound.request.namespace
    every = recalled(bound.session, bound.view, namespace, [*ids, *ranked])
    stated = {every[id].digest for id in ranked}
    found = dict[bytes, bytes]()
    heads = {id: id for id in ids if every[id].digest not in stated}
    while heads:
        stored = recalled(bound.session, bound.view, namespace, list(dict.fromkeys(heads.values())))
        memories = {id: one.make() for id, one in stored.items()}
        onward = dict[bytes, bytes]()
        for id, head in heads.items():
            memory = memories[head]
            if memory.status is Status.SUPERSEDED and memory.superseded_by is not None:
                onward[id] = id_bytes(memory.superseded_by)
            elif head != id and memory.status is Status.ACTIVE:
                found[id] = head
        heads = onward
    return found
