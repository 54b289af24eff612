"""A scan in which each text stands once: its best memory, before the cut to the limit."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.memories.equal_texts import distinct, text_keys
from vestig.ports import ChangedScan, Scan, ScanFunction, ScanRequest
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView

# The next scan asks for so many times the rows.
_GROWTH: Final = 4


def scan_distinct(
    session: Session,
    view: LedgerView,
    scan: ScanFunction,
    request: ScanRequest,
    namespace: str,
    known_at_us: int,
) -> Scan:
    """The scan of a request, with the best `limit` of different text; more rows are asked for
    where memories of one text are among the best."""
    asked = request
    while True:
        found = scan(view.seq, asked)
        ids = [row.id for row in found.rows]
        keys = text_keys(session, view, namespace, ids, known_at_us)
        places = distinct(ids, keys) if keys else range(len(ids))
        if len(places) == len(ids) and asked is request:
            return found
        enough = len(places) >= request.limit
        if enough or len(ids) < asked.limit or asked.limit >= found.eligible:
            break
        asked = msgspec.structs.replace(asked, limit=min(_GROWTH * asked.limit, found.eligible))
    rows = [found.rows[place] for place in places[: request.limit]]
    shown = {row.id for row in rows}
    watched = {request.watch[at : at + 16] for at in range(0, len(request.watch), 16)}
    return ChangedScan.of(
        found,
        rows=rows,
        watched=[
            *found.watched,
            *(row for row in found.rows if row.id in watched and row.id not in shown),
        ],
    )
