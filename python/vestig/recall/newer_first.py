"""The newer of two statements: a rule about the best results, for no weight finds it. A note that
says what has changed stands directly before an older one that it is like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from vestig.ids import id_bytes, id_text
from vestig.language.newer_words import says_change, speaks_of_past, speaks_of_present
from vestig.memories.equal_texts import recalled
from vestig.ports import LedgerView
from vestig.recall.ranking import NEWER_ROWS, Ranking
from vestig.recall.scan import ScanRow
from vestig.session.session import Session
from vestig.types import OriginType

if TYPE_CHECKING:
    from vestig.store.projection.scan_objects import Row

__all__ = ["newer_first"]

# How much later the newer one must hold, in microseconds.
GAP_US: Final = 3_600_000_000
COSINE_MIN: Final = 0.5
# How far the newer one's L may lie below that of the older one; the second, wider, where the
# question asks about now.
_LEVEL_MAX: Final = 2.0
_LEVEL_MAX_PRESENT: Final = 4.0
_NOTE: Final = tuple(OriginType).index(OriginType.NOTE)

# (newer, older) as places among the best results
_Pairs = set[tuple[int, int]]


def newer_first(
    session: Session,
    view: LedgerView,
    query: str,
    namespace: str,
    ranking: Ranking,
    rows: Sequence[ScanRow],
) -> Sequence[ScanRow]:
    """The rows in the order of results: a row that was moved has the final score of the one that
    it stands before, and names it (`newer_than`).

    Args:
        rows: best first, each text once.
    """
    if not ranking.newer_first:
        return rows
    # what costs least comes first: few results have a pair, whatever the question asks about
    pairs = _close_pairs(session, view, ranking, rows)
    if not pairs:
        return rows
    present = speaks_of_present(query)
    if not present and speaks_of_past(query):
        return rows
    most = _LEVEL_MAX_PRESENT if present else _LEVEL_MAX
    close = {pair for pair, difference in pairs.items() if difference <= most}
    if close:
        close = _changes(session, view, namespace, rows, close)
    return _moved(rows, close) if close else rows


def _close_pairs(
    session: Session, view: LedgerView, ranking: Ranking, rows: Sequence[ScanRow]
) -> dict[tuple[int, int], float]:
    """Pairs of notes of which the newer one is ranked lower, that are alike and ranked alike by the
    wider bound; and how far its L lies below that of the older one."""
    # those of a changed scan come from the core too
    best = cast("Sequence[Row]", rows[:NEWER_ROWS])
    if sum([row.origin == _NOTE for row in best]) < 2:
        return {}
    found = session.keeper.core.newer_pairs(
        view.seq,
        best,
        origin=_NOTE,
        gap_us=GAP_US,
        least_cosine=COSINE_MIN,
        most_below=_LEVEL_MAX_PRESENT,
        start=ranking.scores["start_enabled"],
    )
    return {(newer, older): below for newer, older, below in found}


def _changes(
    session: Session, view: LedgerView, namespace: str, rows: Sequence[ScanRow], pairs: _Pairs
) -> _Pairs:
    """Those pairs whose newer one says that something changed, or was stored as a possible update
    of the older one."""
    newer = {place: rows[place].id for place, _ in pairs}
    texts = recalled(session, view, namespace, list(newer.values()))
    changed = {
        place for place, id in newer.items() if id in texts and says_change(texts[id].content)
    }
    offered = {
        place: _possible_updates(view, namespace, id)
        for place, id in newer.items()
        if place not in changed
    }
    return {
        (one, other) for one, other in pairs if one in changed or rows[other].id in offered[one]
    }


def _possible_updates(view: LedgerView, namespace: str, id: bytes) -> set[bytes]:
    """Ids of the memories that this one may update, as its commit found."""
    events = view.events(namespace, id_text("mem", id))
    offers = (one.payload.get("possible_update_of") for one in events if one.seq <= view.seq)
    return {id_bytes(offer["memory_id"]) for offer in offers if offer}


def _moved(rows: Sequence[ScanRow], pairs: _Pairs) -> list[ScanRow]:
    """Each of the best, in their order, directly before the first that it is newer than."""
    shown = dict(enumerate(rows))
    order = list(shown)
    for place in order[1:NEWER_ROWS]:
        before = order[: order.index(place)]
        older = next((other for other in before if (place, other) in pairs), None)
        if older is not None:
            order.remove(place)
            order.insert(order.index(older), place)
            shown[place] = shown[place].put_before(shown[older])
    return [shown[place] for place in order]
