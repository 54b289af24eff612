"""Figures of retrievals: which of the labelled memories are among the facts, and how sure a
retrieval was of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from vestig.evaluation.bootstrap import estimates
from vestig.evaluation.metrics import ranked_gains
from vestig.evaluation.report import RetrievalFigures
from vestig.retrieve.confidence import Label

if TYPE_CHECKING:
    from vestig.retrieve.result import RetrieveResult

CUTS: Final = (5, 10, 30)
LABELS: Final[tuple[Label, ...]] = ("high", "medium", "low")
# Facts among which all evidence makes an answer certain.
_CERTAIN_WITHIN: Final = 10
# Queries that rules should make of a question.
QUERIES_WANTED: Final = 6


class Retrieval(msgspec.Struct, frozen=True, kw_only=True):
    """One retrieval of a question with labels.

    `ranked`: of each returned fact, best first, the labels that it answers to. `relevant`: the
    labels of the question, none for one that the store does not answer. `first_queries`: queries
    of the first round beside the message itself.
    """

    ranked: tuple[frozenset[str], ...]
    relevant: frozenset[str]
    expected: Label | None
    got: Label
    score: float
    iterations: int
    stop_reason: str
    first_queries: int
    queries: int
    milliseconds: float

    @classmethod
    def of(
        cls,
        result: RetrieveResult,
        ranked: Sequence[Collection[str]],
        relevant: Collection[str],
        *,
        focus: str,
        expected: Label | None = None,
        labelled: bool = True,
    ) -> Retrieval:
        """A result as it is counted.

        Args:
            ranked: labels of each fact of the result.
            focus: the message that was to be answered.
            expected: None = what the labels say.
            labelled: whether it is known which labels are relevant, none among them.
        """
        made, wanted = result.metadata, frozenset(relevant)
        groups = tuple(frozenset(group) for group in ranked)
        first = made.tool_calls[0].queries if made.tool_calls else ()
        if expected is None and labelled:
            expected = expected_label(groups, wanted)
        return cls(
            ranked=groups,
            relevant=wanted,
            expected=expected,
            got=result.confidence,
            score=made.confidence_score,
            iterations=made.iterations_used,
            stop_reason=made.stop_reason,
            first_queries=sum(query.strip() != focus.strip() for query in first),
            queries=made.queries_executed,
            milliseconds=made.processing_time_ms,
        )


def expected_label(ranked: Sequence[Collection[str]], relevant: Collection[str]) -> Label:
    """`high` where all evidence is among the first ten facts, `medium` where some is, else `low`.

    Example:
        >>> expected_label([{"a"}, {"b"}], {"a", "b"}), expected_label([{"a"}], {"a", "b"})
        ('high', 'medium')
        >>> expected_label([{"a"}], set())
        'low'
    """
    wanted = set(relevant)
    found = wanted.intersection(set[str]().union(*ranked[:_CERTAIN_WITHIN]))
    if not found:
        return "low"
    return "high" if found == wanted else "medium"


def retrieval_scores(
    ranked: Sequence[Collection[str]], relevant: Collection[str]
) -> dict[str, float]:
    """`recall@k` and `ndcg@k` of one ranking for each of `CUTS`: each label counts where the first
    fact stands that answers to it.

    Example:
        >>> found = retrieval_scores([{"x"}, {"a"}], {"a", "b"})
        >>> found["recall@5"], round(found["ndcg@5"], 4)
        (0.5, 0.3869)
    """
    seen: set[str] = set()
    gains = []
    for group in ranked:
        fresh = set(relevant).intersection(group) - seen
        seen |= fresh
        gains.append(len(fresh))
    return ranked_gains(gains, len(set(relevant)), CUTS)


def figures(retrievals: Sequence[Retrieval]) -> RetrievalFigures:
    """All figures; null where there is nothing to take a mean of."""
    import numpy as np

    labelled = [one for one in retrievals if one.relevant]
    rows = [retrieval_scores(one.ranked, one.relevant) for one in labelled]
    times = [one.milliseconds for one in retrievals]
    expected = Counter((one.expected, one.got) for one in retrievals if one.expected is not None)
    p50, p95 = np.percentile(times, [50, 95]) if times else (None, None)
    return RetrievalFigures(
        retrievals=len(retrievals),
        labelled=len(labelled),
        metrics=estimates(columns(rows)),
        relevant_found=sum(
            len(one.relevant.intersection(frozenset[str]().union(*one.ranked))) for one in labelled
        ),
        iterations_mean=_mean([one.iterations for one in retrievals]),
        queries_mean=_mean([one.queries for one in retrievals]),
        enough_queries=_mean([one.first_queries >= QUERIES_WANTED for one in retrievals]),
        latency_p50_ms=None if p50 is None else float(p50),
        latency_p95_ms=None if p95 is None else float(p95),
        stop_reasons=dict(sorted(Counter(one.stop_reason for one in retrievals).items())),
        labels={
            label: {got: expected[label, got] for got in LABELS}
            for label in LABELS
            if any(expected[label, got] for got in LABELS)
        },
        got={label: sum(one.got == label for one in retrievals) for label in LABELS},
        score_mean=_mean([one.score for one in retrievals]),
    )


def columns(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Metric → one value for each row."""
    names = retrieval_scores((), {""}) if not rows else rows[0]
    return {name: [row[name] for row in rows] for name in names}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
