"""The rows that a call keeps: its results and those behind them, which further pages bring; and the
scores of rows.

All pages of one size share an order and a cut, which the rows of the first page decide.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from vestig.answers import ScoreFormula
from vestig.ports import Scan, ScanRow, is_approximate
from vestig.recall.confidence import scored
from vestig.recall.judged import with_all_of_name
from vestig.recall.silence import meant_otherwise, with_what_may_answer

if TYPE_CHECKING:
    from vestig.recall.query import BoundQuery
    from vestig.recall.ranking import Ranking
    from vestig.recall.request import Request

# Behind the results so many are ranked where a query asks for all, so that they can be counted.
COUNTED: Final = 100


def scores_of(rows: Sequence[ScanRow], line: ScoreFormula | None) -> list[float]:
    """Scores of the places of rows."""
    finals = [row.final_score for row in rows]
    return finals if line is None else scored(finals, line)


def better_scores(rows: Sequence[ScanRow], line: ScoreFormula) -> list[float]:
    """The scores of rows, of those of which one was put before the other as the newer version the
    best one for all: they are kept or cut together."""
    scores = scores_of(rows, line)
    known = dict(zip([row.id for row in rows], scores, strict=True))
    linked = [
        {row.id, other}
        for row in rows
        for other in (row.newer_than, row.older_than)
        if other in known
    ]
    for _ in linked:
        for pair in linked:
            known |= dict.fromkeys(pair, max(known[id] for id in pair))
    return [max(known[row.id], 0.0) for row in rows]


def of_others(
    bound: BoundQuery, request: Request, by: Ranking, rows: Sequence[ScanRow], first: int
) -> frozenset[bytes]:
    """Return the rows that a call leaves out (`meant_otherwise`).

    Args:
        rows: best first.
        first: so many are ranked for a first page, which tell it without the others too.
    """
    found = meant_otherwise(bound, request, by, rows)
    if len(rows) <= first:
        return found
    return found | meant_otherwise(bound, request, by, rows[:first])


def over(
    rows: Sequence[ScanRow], min_score: float | None, line: ScoreFormula | None
) -> Sequence[ScanRow]:
    """Return the rows that score at least `recall.min_score`."""
    if min_score is None:
        return rows
    scores = scores_of(rows, line)
    return [row for row, one in zip(rows, scores, strict=True) if one >= min_score]


def kept_of(
    bound: BoundQuery,
    scan: Scan,
    namespace: str,
    rows: Sequence[ScanRow],
    chosen: Collection[bytes],
    first: int,
) -> Sequence[ScanRow]:
    """Return those of the rows that are part of the answer, or may be however little they score.

    Args:
        rows: best first.
        chosen: those that the cut leaves.
        first: so many have a place on a first page, which decides what else may answer; behind
            them, what each row is decides about it.
    """
    if len(chosen) == len(rows):
        return rows
    results, behind = rows[:first], rows[first:]
    kept = [row for row in results if row.id in chosen]
    if len(kept) < len(results):
        kept = [*with_what_may_answer(bound, scan, namespace, results, kept)]
    known = bound.query.judgements
    others = {} if known is None else known.in_other_language
    more = [row for row in behind if row.id in chosen or others.get(row.id, False)]
    return [*kept, *with_all_of_name(bound, scan, namespace, behind, more)]


def is_all(
    scan: Scan,
    rows: Sequence[ScanRow],
    limit: int,
    behind: Sequence[ScanRow],
    held: Collection[bytes],
) -> bool:
    """Return whether further pages hold no more than what is kept of the rows behind the results:
    there are no other rows, or the last of these are left out, as all behind them would be.

    Args:
        rows: all that were ranked.
        behind: those of them behind the first `limit` that are kept.
        held: memories that are not eligible.
    """
    if len(rows) <= limit:
        return True
    left_out = not behind or behind[-1].id != rows[-1].id
    eligible = sum(row.id not in held for row in rows)
    return not is_approximate(scan) and (left_out or scan.eligible <= eligible)
