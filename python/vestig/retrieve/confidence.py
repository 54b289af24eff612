"""How well the facts of a request answer it: four components, a weighted score, a label.

Deterministic, and no component that grows lowers the score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Final, Literal

import msgspec

from vestig.config.retrieve_sections import RetrieveConfidenceSettings
from vestig.types import _Value

__all__ = [
    "Components",
    "ConfidencePart",
    "Label",
    "compute_confidence",
    "compute_confidence_score",
    "confidence_breakdown",
    "coverage_component",
    "evidence_component",
    "relevance_component",
    "reliability_component",
]

Label = Literal["high", "medium", "low"]

# The most similar facts, whose mean counts as much as that of all.
_BEST: Final = 3
# Distinct pieces of evidence from which a fact is as well supported as it can be.
_ENOUGH_EVIDENCE: Final = 3
_DEFAULTS: Final = RetrieveConfidenceSettings()


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """What a confidence is made of, each from 0 to 1; all are 0 where no fact was returned or every
    call failed."""

    relevance: float = 0.0
    evidence: float = 0.0
    coverage: float = 0.0
    reliability: float = 0.0


class ConfidencePart(_Value, frozen=True, kw_only=True):
    """A component, its share of the weights, and their product: a part of the score."""

    value: float
    weight: float
    product: float


def relevance_component(
    focus_confidence: float | None,
    similarities: Sequence[float],
    settings: RetrieveConfidenceSettings = _DEFAULTS,
) -> float:
    """Recall's own confidence for the focus. Where there is none: half the mean closeness of the
    returned facts and half that of the three most similar, where `sim_lo` counts as 0 and `sim_hi`
    as 1; 0 without facts.

    Example:
        >>> round(relevance_component(None, [0.75, 0.70, 0.60, 0.45, 0.40]), 6)
        0.663333
        >>> relevance_component(0.4, [0.9])
        0.4
    """
    if focus_confidence is not None:
        return focus_confidence
    low, high = settings.sim_lo, settings.sim_hi
    close = [min(max((one - low) / (high - low), 0.0), 1.0) for one in similarities]
    return 0.5 * _mean(close) + 0.5 * _mean(nlargest(_BEST, close))


def evidence_component(counts: Sequence[int]) -> float:
    """How well the returned facts are supported, from their numbers of distinct pieces of evidence;
    three are enough.

    Example:
        >>> evidence_component([1, 3, 6]), evidence_component([])
        (0.7777777777777777, 0.0)
    """
    return _mean([min(1.0, count / _ENOUGH_EVIDENCE) for count in counts])


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
        facts_by_several, facts: returned facts that two queries or more found, and all of them.

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


def confidence_breakdown(
    components: Components, settings: RetrieveConfidenceSettings = _DEFAULTS
) -> dict[str, ConfidencePart]:
    """Component → value, weight and product; the weights have the sum 1, the products that of the
    score.

    Example:
        >>> parts = confidence_breakdown(Components(relevance=0.5, reliability=1.0))
        >>> parts["relevance"].product, parts["reliability"].weight
        (0.175, 0.2)
    """
    weights: Mapping[str, float] = msgspec.structs.asdict(settings.weights)
    whole = sum(weights.values())
    found = {}
    for name, weight in weights.items():
        value, share = getattr(components, name), weight / whole
        found[name] = ConfidencePart(value=value, weight=share, product=share * value)
    return found


def compute_confidence_score(
    components: Components, settings: RetrieveConfidenceSettings = _DEFAULTS
) -> float:
    """The weighted mean of the components, from 0 to 1.

    Example:
        >>> round(
        ...     compute_confidence_score(
        ...         Components(relevance=0.2, evidence=1, coverage=1, reliability=1)
        ...     ),
        ...     9,
        ... )
        0.72
    """
    parts = confidence_breakdown(components, settings).values()
    return min(1.0, sum(part.product for part in parts))


def compute_confidence(
    score: float, relevance: float, settings: RetrieveConfidenceSettings = _DEFAULTS
) -> Label:
    """The label of a score. Many weak matches make no high one: it takes relevance as well.

    Example:
        >>> compute_confidence(0.7, 0.4), compute_confidence(0.72, 0.2), compute_confidence(0.3, 1)
        ('high', 'medium', 'low')
    """
    if score >= settings.high and relevance >= settings.high_min_relevance:
        return "high"
    return "medium" if score >= settings.medium else "low"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
