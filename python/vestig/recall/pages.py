"""The rows behind the results of a call, which further pages bring, and the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestig.answers import ScoreFormula
from vestig.ports import Scan, ScanRow, is_approximate
from vestig.recall.confidence import scored

# Behind the results so many are ranked where a query asks for all, so that they can be counted.
COUNTED: Final = 100


def scores_of(rows: Sequence[ScanRow], line: ScoreFormula | None) -> list[float]:
    """Scores of the places of rows."""
    finals = [row.final_score for row in rows]
    return finals if line is None else scored(finals, line)


def better_scores(rows: Sequence[ScanRow], line: ScoreFormula) -> list[float]:
    """The scores of rows, of two versions of one statement the better one for both: they are kept
    or cut together."""
    scores = scores_of(rows, line)
    known = dict(zip([row.id for row in rows], scores, strict=True))

    def better(row: ScanRow, own: float) -> float:
        others = (id for id in (row.newer_than, row.older_than) if id is not None)
        return max(own, *(known.get(id, 0.0) for id in others), 0.0)

    return list(map(better, rows, scores))


def kept_behind(
    rows: Sequence[ScanRow],
    min_score: float | None,
    line: ScoreFormula | None,
    least: float | None,
) -> Sequence[ScanRow]:
    """Those of the rows behind the results that further pages keep.

    Args:
        min_score: `recall.min_score`.
        line: what makes a score of a final score, if something does.
        least: what the cut of the results leaves; None = all.
    """
    if min_score is not None:
        scores = scores_of(rows, line)
        rows = [row for row, one in zip(rows, scores, strict=True) if one >= min_score]
    if line is None or least is None:
        return rows
    scores = better_scores(rows, line)
    return [row for row, one in zip(rows, scores, strict=True) if one >= least]


def is_all(scan: Scan, ranked: int, limit: int, behind: int) -> bool:
    """Return whether further pages hold no more than what was kept of the rows behind the results:
    there are no other rows, or the last of them are left out, as all behind them would be."""
    if ranked <= limit:
        return True
    return not is_approximate(scan) and (behind < ranked - limit or scan.eligible <= ranked)
