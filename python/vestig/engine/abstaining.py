"""Why-not of a call that abstained: its results came, and were held back (R-13, R-22)."""

from __future__ import annotations

import msgspec

from vestig.answers import Change, Standing, WhyNot
from vestig.recall.request import RecallPlan

__all__ = ["held_back", "held_back_too"]


def held_back(plan: RecallPlan, at: Standing) -> WhyNot:
    """The entry of a result that the call held back: without `min_confidence` it comes."""
    change = Change(
        kind="filter", key="min_confidence", before=plan.min_confidence, after=None, rank=at.rank
    )
    return WhyNot(
        id=at.id,
        stage="abstained",
        rank=at.rank,
        score=at.score,
        signals=at.signals,
        last_returned=None,
        change=change,
        runs=0,
    )


def held_back_too(entry: WhyNot) -> WhyNot:
    """The entry of what would not have come either: no single change of its rank is enough."""
    return msgspec.structs.replace(
        entry,
        last_returned=None,
        change=None,
        no_change="the call abstains, and without min_confidence others come before it",
    )
