"""The time that a question names, and what holds in it: of several values of one thing those that
hold in it come first, in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, cast

from vestig.ids import id_bytes
from vestig.language.time.expressions import is_yearless
from vestig.language.words import speaks_of_past
from vestig.ports import ScanRow
from vestig.recall.text_pairs import Aligned, Parts
from vestig.recall.versions import ROWS_MOVED
from vestig.store.projection.scan_objects import Row
from vestig.store.records.memory_queries import values_of_keys
from vestig.times import to_us
from vestig.types import Memory, TemporalWindow

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.request import Request


def named_time(windows: Sequence[TemporalWindow]) -> TemporalWindow | None:
    """The window of a query that names one time; None where it names none, several, or one that may
    mean another."""
    window = windows[0] if len(windows) == 1 else None
    return None if window is None or window.either else window


def named_dates(
    windows: Sequence[TemporalWindow],
) -> list[tuple[int | None, int | None, bool]]:
    """(start, end, whether every year is meant) of each window; of two that an expression without
    a year may mean, the first stands for every year."""
    found: list[tuple[int | None, int | None, bool]] = []
    for index, window in enumerate(windows):
        yearless = is_yearless(window.text)
        second = index > 0 and window.either and windows[index - 1].text == window.text
        if not (yearless and second):
            found.append((*bounds_us(window), yearless))
    return found


def bounds_us(window: TemporalWindow) -> tuple[int | None, int | None]:
    """Both ends of a window in microseconds; None = open."""
    start, end = (None if at is None else to_us(at) for at in (window.start, window.end))
    return start, end


def holds_in(begins: datetime, ends: datetime | None, window: TemporalWindow) -> bool:
    """Return whether what holds from one time to another holds in a window; in one without a
    beginning, until its end."""
    if window.end is not None and begins >= window.end:
        return False
    if ends is None:
        return True
    if window.start is not None:
        return ends > window.start
    return window.end is not None and ends >= window.end


class InTime(NamedTuple):
    """Rows in the order of the time that a question names.

    Attributes:
        holding: those that hold in it, where others are of the same thing.
    """

    rows: Sequence[ScanRow]
    holding: frozenset[bytes] = frozenset()


def in_order_of_time(
    bound: BoundQuery, request: Request, rows: Sequence[ScanRow], held: Mapping[bytes, bytes]
) -> InTime:
    """Return the rows with those that hold in the time that a question names before those of the
    same thing that do not, and in order of time; of a time that is not over, unless the question
    speaks of the past, the last one first. Each place keeps its final score. What holds in it is
    shown together.

    Args:
        rows: best first, each text once.
        held: replaced memory → successor, of those that held then.
    """
    window, moments = named_time(bound.query.windows), request.moments
    if window is None or moments.past or moments.valid_at_us is not None or len(rows) < 2:
        return InTime(rows)
    best = cast(list[Row], [*rows])
    stored = bound.recalled([row.id for row in best])
    memories = [stored[row.id].make() for row in best]
    moved, holding = [*best], set[bytes]()
    start, end = bounds_us(window)
    closed = start is not None and end is not None
    lasts = (
        start is not None
        and end is not None
        and start <= moments.query_time_us < end
        and not speaks_of_past(request.query)
    )
    for group in _of_one_thing(bound, request, best, memories, held):
        inside = [at for at in group if _is_in(memories[at], window)]
        if not inside:
            continue
        holding |= {best[at].id for at in inside}
        if closed:
            inside.sort(key=lambda at: memories[at].t_valid, reverse=lasts)
        order = inside + [at for at in group if at not in inside]
        last = best[max(inside, key=lambda at: memories[at].t_valid)].id
        other = next((best[at].id for at in inside if best[at].id != last), None)
        for place, at in zip(group, order, strict=True):
            newer, older = best[at].newer_than, best[at].older_than
            if other is not None and at in inside:
                newer, older = (other, None) if best[at].id == last else (None, last)
            moved[place] = best[at].moved(
                best[place].final_score, newer_than=newer, older_than=older
            )
    return InTime(moved, frozenset(holding))


def _is_in(memory: Memory, window: TemporalWindow) -> bool:
    return holds_in(memory.t_valid, memory.t_invalid, window)


def _of_one_thing(
    bound: BoundQuery,
    request: Request,
    rows: Sequence[ScanRow],
    memories: Sequence[Memory],
    held: Mapping[bytes, bytes],
) -> list[list[int]]:
    """Places of the rows that are values of one thing, best first: of one key, of which one
    replaced the other, or alike in words where one ended before the other began."""
    groups = {at: [at] for at in range(len(rows))}
    joined = [
        *_of_one_key(bound, request, rows),
        *_replaced(rows, memories, held),
        *_alike(bound, rows, memories),
    ]
    for one, other in joined:
        if groups[one] is not groups[other]:
            both = sorted(groups[one] + groups[other])
            for at in both:
                groups[at] = both
    return [group for at, group in groups.items() if group[0] == at and len(group) > 1]


def _of_one_key(
    bound: BoundQuery, request: Request, rows: Sequence[ScanRow]
) -> Iterator[tuple[int, int]]:
    slots = values_of_keys(bound.view, request.namespace, [row.id for row in rows])
    first: dict[tuple[str | None, str], int] = {}
    for at, row in enumerate(rows):
        if row.id in slots:
            yield first.setdefault(slots[row.id].slot, at), at


def _replaced(
    rows: Sequence[ScanRow], memories: Sequence[Memory], held: Mapping[bytes, bytes]
) -> Iterator[tuple[int, int]]:
    places = {row.id: at for at, row in enumerate(rows)}
    for at, row in enumerate(rows):
        by = memories[at].superseded_by
        for successor in (held.get(row.id), None if by is None else id_bytes(by)):
            if successor in places:
                yield at, places[successor]


def _alike(
    bound: BoundQuery, rows: Sequence[ScanRow], memories: Sequence[Memory]
) -> Iterator[tuple[int, int]]:
    """Pairs of like texts of which one ended before the other began, and between which no word of
    the question but its time tells."""
    best = range(min(len(rows), ROWS_MOVED))
    if all(memories[at].t_invalid is None for at in best):
        return
    query = bound.request.query
    for start, end in sorted(bound.query.times, reverse=True):
        query = f"{query[:start]} {query[end:]}"
    parts = {at: Parts(memories[at].content) for at in best if memories[at].confirmed}
    for one, other in combinations(parts, 2):
        first, second = sorted((one, other), key=lambda at: memories[at].t_valid)
        ended = memories[first].t_invalid
        if ended is None or ended > memories[second].t_valid:
            continue
        pair = Aligned(parts[first], parts[second])
        apart = pair.means_first(query) or Aligned(parts[second], parts[first]).means_first(query)
        if pair.is_alike and not apart and memories[one].scope == memories[other].scope:
            yield one, other
