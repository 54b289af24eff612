"""When a retrieval ends: after each iteration the first rule that holds is the one reason."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from vestig.config.recall_sections import RetrieveSettings
from vestig.retrieve.confidence import HIGH

StopReason = Literal[
    "error",
    "deadline",
    "max_iterations",
    "strong_first_pass",
    "max_facts",
    "novelty_exhausted",
    "llm_confident",
    "tool_loop",
    "no_queries",
]
Certainty = Literal["high", "medium", "low"]

_CERTAINTIES: Final = ("low", "medium", "high")
_STRONG_COVERAGE: Final = 0.9
_ENOUGH_COVERAGE: Final = 0.8
# Calls in a row without a result that make a loop.
_EMPTY_CALLS: Final = 3


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a model on stopping."""

    should_continue: bool
    confidence: Certainty


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a retrieval stands after an iteration.

    Args:
        iteration: its number from 1.
        max_iterations, max_facts: of the request.
        failed: whether every back-end failed in this and in the previous iteration.
        used_s, deadline_s: time since the start, and what there is.
        facts: distinct facts so far.
        new_facts: of this iteration.
        streak: iterations in a row without enough new facts.
        coverage, score: from 0 to 1.
        empty_calls: calls of one tool in a row, up to the last, that found nothing.
        verdict: None = no model was asked, or it gave none.
    """

    iteration: int
    max_iterations: int
    max_facts: int
    failed: bool
    used_s: float
    deadline_s: float
    facts: int
    new_facts: int
    streak: int
    coverage: float
    score: float
    empty_calls: int
    verdict: Verdict | None


def stop_reason(at: Progress, settings: RetrieveSettings) -> StopReason | None:
    """The first reason that holds; None = another iteration, if there is a query left to run
    (else `no_queries`).

    That the last call found something is never a reason, and a model's verdict alone never is.
    """
    if at.failed:
        return "error"
    if at.used_s >= at.deadline_s:
        return "deadline"
    if at.iteration >= at.max_iterations:
        return "max_iterations"
    above_floor = at.iteration >= settings.early_stop_min_iterations
    strong = at.coverage >= _STRONG_COVERAGE and at.score >= HIGH
    if not above_floor and strong:
        return "strong_first_pass"
    if above_floor and at.facts >= at.max_facts and at.coverage >= _ENOUGH_COVERAGE:
        return "max_facts"
    if above_floor and at.streak >= settings.novelty_patience:
        return "novelty_exhausted"
    if _confident(at, settings):
        return "llm_confident"
    return "tool_loop" if at.empty_calls >= _EMPTY_CALLS else None


def verdict_counts(at: Progress, settings: RetrieveSettings) -> bool:
    """Return whether a model's verdict could end a search there: not before the floor, and only
    where the round brought nothing new or enough was found."""
    rests = at.new_facts < settings.novelty_min_new_facts or at.coverage >= _ENOUGH_COVERAGE
    return rests and at.iteration >= settings.early_stop_min_iterations


def _confident(at: Progress, settings: RetrieveSettings) -> bool:
    if at.verdict is None or at.verdict.should_continue or not verdict_counts(at, settings):
        return False
    sure = _CERTAINTIES.index(at.verdict.confidence)
    return sure >= _CERTAINTIES.index(settings.stop_confidence_required)
