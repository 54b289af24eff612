"""How sure a retrieval is of what it found, and when that is enough: recall's own confidence and
what bears it out, a label, and the first rule that holds after a round, which is the reason to
stop.

Deterministic; no component that grows lowers the score, and there is none without relevance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from vestig.config.recall_sections import RetrieveSettings
from vestig.types import _Value

Label = Literal["high", "medium", "low"]

# The most relevant facts, whose evidence and queries count, however many are returned.
BEST_FACTS: Final = 10
# Distinct pieces of evidence from which a fact is as well supported as it can be.
_ENOUGH_EVIDENCE: Final = 3
# Shares of the components in the score, with the sum 1: relevance counts most, and the rest bears
# it out. The labels follow from the score: with the judge, nine of ten questions about nothing in a
# store are below medium, seven of ten that it nearly answers, and one of five that it answers.
_WEIGHTS: Final[Mapping[str, float]] = {
    "relevance": 0.35,
    "evidence": 0.20,
    "coverage": 0.25,
    "reliability": 0.20,
}
HIGH: Final = 0.60
_MEDIUM: Final = 0.20
# The greatest score that is low.
LOW_MAX: Final = math.nextafter(_MEDIUM, 0.0)


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a confidence, each from 0 to 1; all are 0 where no fact was found or every call
    failed."""

    relevance: float = 0.0
    evidence: float = 0.0
    coverage: float = 0.0
    reliability: float = 0.0


class ConfidencePart(_Value, frozen=True, kw_only=True):
    """A component, its share of the weights, and what it adds to the score: the product of both
    and of relevance."""

    value: float
    weight: float
    product: float


def evidence_component(counts: Sequence[int]) -> float:
    """How well facts are supported, from their numbers of distinct pieces of evidence; three are
    enough.

    Example:
        >>> evidence_component([1, 3, 6]), evidence_component([])
        (0.7777777777777777, 0.0)
    """
    shares = [min(1.0, count / _ENOUGH_EVIDENCE) for count in counts]
    return sum(shares) / len(shares) if shares else 0.0


def coverage_component(
    coverage: float,
    *,
    new_facts: int,
    unique_facts: int,
    queries_with_facts: int,
    queries: int,
    facts_by_several: int,
    facts: int,
) -> float:
    """How completely the search went over the question.

    Args:
        coverage: share of the facets that were hit, from 0 to 1.
        new_facts: of the last iteration, at most `unique_facts`.
        unique_facts: facts seen over all iterations.
        queries_with_facts, queries: those that found a fact, and all that were run.
        facts_by_several, facts: best facts that two queries or more found, and all of them.

    Example:
        >>> found = coverage_component(
        ...     0.5, new_facts=1, unique_facts=5, queries_with_facts=4, queries=4,
        ...     facts_by_several=2, facts=5,
        ... )
        >>> round(found, 9)
        0.62
    """
    settled = 1 - _share(new_facts, unique_facts) if unique_facts else 0.0
    return (
        0.50 * coverage
        + 0.20 * settled
        + 0.15 * _share(queries_with_facts, queries)
        + 0.15 * _share(facts_by_several, facts)
    )


def reliability_component(failed: int, retried: int, calls: int) -> float:
    """1 where no call of a back-end failed or was repeated; a call without results did not fail.

    Example:
        >>> reliability_component(0, 1, 4), reliability_component(4, 0, 4)
        (0.875, 0.0)
    """
    return max(0.0, 1 - (failed + 0.5 * retried) / calls) if calls else 0.0


def confidence_breakdown(components: Components) -> dict[str, ConfidencePart]:
    """Component → value, weight and product; the weights have the sum 1, the products that of the
    score. What relevance adds is its weight alone, for it bounds the whole.

    Example:
        >>> parts = confidence_breakdown(Components(relevance=0.5, reliability=0.8))
        >>> parts["relevance"].product, round(parts["reliability"].product, 9)
        (0.175, 0.08)
    """
    whole, bound = sum(_WEIGHTS.values()), components.relevance
    found = {}
    for name, weight in _WEIGHTS.items():
        value, share = getattr(components, name), weight / whole
        part = 1.0 if name == "relevance" else value
        found[name] = ConfidencePart(value=value, weight=share, product=bound * share * part)
    return found


def compute_confidence_score(components: Components) -> float:
    """Relevance times the weighted mean of 1 and the other components, from 0 to 1.

    Example:
        >>> found = Components(relevance=0.5, evidence=0.5, coverage=1, reliability=1)
        >>> round(compute_confidence_score(found), 9)
        0.45
    """
    parts = confidence_breakdown(components).values()
    return min(components.relevance, sum(part.product for part in parts))


def compute_confidence(score: float) -> Label:
    """The label of a score.

    Example:
        >>> compute_confidence(0.7), compute_confidence(0.3), compute_confidence(0.1)
        ('high', 'medium', 'low')
    """
    if score >= HIGH:
        return "high"
    return "medium" if score >= _MEDIUM else "low"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


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

_CERTAINTIES: Final[tuple[Label, ...]] = ("low", "medium", "high")
_STRONG_COVERAGE: Final = 0.9
_ENOUGH_COVERAGE: Final = 0.8
# Calls in a row without a result that make a loop.
_EMPTY_CALLS: Final = 3


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a model on stopping."""

    should_continue: bool
    confidence: Label


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
