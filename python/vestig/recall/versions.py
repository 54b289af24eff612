"""The newest version first: the second stage of the ranking, about its best few alone.

What a later memory says of the same takes the place of what an earlier one says, unless the
question asks about the past. Only the best few change places among each other, so that every list
of them holds what it held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from vestig.config.weights import NewestWeights
from vestig.language.words import speaks_of_past, speaks_of_present
from vestig.ports import ScanRow
from vestig.recall.ranking import ROWS_MOVED
from vestig.session.session import Session
from vestig.store.projection.scan_objects import Filter as CoreFilter

if TYPE_CHECKING:
    from vestig.store.projection.scan_objects import Row

# Among how many of the best older versions are looked for.
_OLDER_AMONG: Final = 8
# How fast an older version counts less the further it lies below the best, by L.
_FALL: Final = 2.0
# From here on two memories are versions of one.
_LINK_MIN: Final = 0.4


def asks_about_now(query: str, dated: bool) -> bool:
    """Return whether the newest version answers a question: it has a word of the present, or none
    of the past and no date.

    Example:
        >>> [asks_about_now(one, False) for one in ("Where does he live?", "Where did he live?")]
        [True, False]
    """
    return speaks_of_present(query) or not (dated or speaks_of_past(query))


def newest_first(
    session: Session,
    seq: int,
    filter: dict[str, Any],
    weights: NewestWeights,
    rows: Sequence[ScanRow],
) -> Sequence[ScanRow]:
    """The rows in the order of results. Each place keeps its final score; of several versions the
    newest names the next one (`newer_than`), the others the newest (`older_than`).

    Args:
        filter: keyword arguments of the core's filter that the rows passed.
        rows: best first, each text once.
    """
    # those of a changed scan come from the core too
    best = cast("Sequence[Row]", rows[:ROWS_MOVED])
    if len(best) < 2:
        return rows
    valid, recency, follows = session.keeper.core.versions(
        seq, CoreFilter(**filter), b"".join([row.id for row in best])
    )
    if not any(map(any, follows)):
        return rows
    levels = [row.start_score for row in best]
    raised = [
        level + weights.recency * recent + weights.succession * _succession(levels, own)
        for level, recent, own in zip(levels, recency, follows, strict=True)
    ]
    order = sorted(range(len(best)), key=lambda at: (-raised[at], at))
    groups = [group for group in _groups(follows) if len(group) > 1]
    for group in groups:
        places = sorted(order.index(at) for at in group)
        newest = sorted(group, key=lambda at: (-valid[at], order.index(at)))
        for place, at in zip(places, newest, strict=True):
            order[place] = at
    newer, older = dict[int, bytes](), dict[int, bytes]()
    for group in groups:
        first, second, *_ = sorted(group, key=order.index)
        newer[first] = best[second].id
        older.update((at, best[first].id) for at in group if at != first)
    finals = sorted((row.final_score for row in best), reverse=True)
    moved = [
        best[at].moved(final, newer.get(at), older.get(at))
        if at != place or at in newer or at in older
        else best[at]
        for place, (at, final) in enumerate(zip(order, finals, strict=True))
    ]
    return [*moved, *rows[ROWS_MOVED:]]


def _succession(levels: Sequence[float], follows: Sequence[float]) -> float:
    """How surely a memory is a later word on what one of the best says."""
    return max(
        math.exp(_FALL * min(0.0, level - levels[0])) * strength
        for level, strength in zip(levels[:_OLDER_AMONG], follows, strict=False)
    )


def _groups(follows: Sequence[Sequence[float]]) -> list[list[int]]:
    """Places of memories that are versions of one, each in one group."""
    group = list(range(len(follows)))
    for one, strengths in enumerate(follows):
        for other, strength in enumerate(strengths):
            if strength >= _LINK_MIN and group[one] != group[other]:
                joined, gone = group[one], group[other]
                group = [joined if own == gone else own for own in group]
    return [[at for at, own in enumerate(group) if own == name] for name in dict.fromkeys(group)]
