"""The order of facts: relevance over all queries of a request, beside novelty, recency and
diversity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import msgspec

from vestig.retrieve.merge import MergedFact
from vestig.retrieve.result import CompositeParts
from vestig.retrieve.types import FactKey
from vestig.times import DAY_US

# Relevance, novelty, recency and diversity.
_PartValues = tuple[float, float, float, float]

FOCUS: Final = 0
# More evidence than this, and more queries, add nothing.
_EVIDENCE_STEPS: Final = 3
_QUERY_STEPS: Final = 2


# By the number of the query: memory id → its level; None = they cannot be compared.
Levels = Mapping[int, Mapping[str, float | None]]


class RankWeights(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of the parts of a fact's rank, measured on labelled conversations: relevance decides,
    and of equally relevant facts those come first that more queries find. Novelty and recency
    changed no figure there. `recency_tau_days`: days in which recency falls to 1/e."""

    relevance: float = 0.85
    novelty: float = 0.0
    recency: float = 0.0
    diversity: float = 0.15
    recency_tau_days: float = 30.0


# Weight of the other queries of a request beside the message itself in relevance.
OTHERS_WEIGHT: Final = 0.5


class RankedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact at its place. `level`: its relevance before it was scaled; `levels`: that of each of
    its memories."""

    merged: MergedFact
    level: float
    levels: Mapping[str, float]
    parts: CompositeParts


def relevances(ids: Sequence[str], levels: Levels, others: float) -> dict[str, float]:
    """Memory id → level under the focus + `others` · mean level under the other queries.

    A memory that a query cannot be compared with counts for it as the least of these memories.

    Example:
        >>> levels = {0: {"a": 1.0, "b": 0.0}, 1: {"b": 2.0}, 2: {"a": 4.0}}
        >>> relevances(["a", "b"], levels, 0.5)
        {'a': 2.5, 'b': 1.5}
    """
    rows = {query: _without_gaps([row.get(id) for id in ids]) for query, row in levels.items()}
    focus = rows.pop(FOCUS, [0.0] * len(ids))
    if not rows:
        return dict(zip(ids, focus, strict=True))
    weight = others / len(rows)
    sums = map(math.fsum, zip(*rows.values(), strict=True))
    return {one: level + weight * total for one, level, total in zip(ids, focus, sums, strict=True)}


def _without_gaps(levels: list[float | None]) -> list[float]:
    """The least of the levels in the place of each None; 0 where there is no level."""
    if None not in levels:
        return cast("list[float]", levels)
    least = min((level for level in levels if level is not None), default=0.0)
    return [least if level is None else level for level in levels]


def scaled(values: Sequence[float]) -> list[float]:
    """Least 0, largest 1; all equal: 1.

    Example:
        >>> scaled([1.0, 3.0, 2.0]), scaled([5.0])
        ([0.0, 1.0, 0.5], [1.0])
    """
    if not values:
        return []
    low, high = min(values), max(values)
    return [1.0 if high == low else (value - low) / (high - low) for value in values]


def composite(
    relevance: float, novelty: float, recency: float, diversity: float, settings: RankWeights
) -> CompositeParts:
    """The parts, each from 0 to 1, with their weighted mean.

    Example:
        >>> weights = RankWeights(relevance=0.6, novelty=0.15, recency=0.1, diversity=0.15)
        >>> round(composite(0.9, 1.0, math.exp(-1), 1.0, weights).composite, 6)
        0.876788
    """
    values = (relevance, novelty, recency, diversity)
    return _parts_of(values, _composites([values], settings)[0])


def _parts_of(values: _PartValues, composite: float) -> CompositeParts:
    relevance, novelty, recency, diversity = values
    return CompositeParts(
        relevance=relevance,
        novelty=novelty,
        recency=recency,
        diversity=diversity,
        composite=composite,
    )


def _composites(rows: Iterable[_PartValues], settings: RankWeights) -> list[float]:
    """The weighted mean of the parts of each row."""
    weights = (settings.relevance, settings.novelty, settings.recency, settings.diversity)
    of_relevance, of_novelty, of_recency, of_diversity = weights
    whole = sum(weights)
    return [
        sum((of_relevance * a, of_novelty * b, of_recency * c, of_diversity * d)) / whole
        for a, b, c, d in rows
    ]


def ranked(
    facts: Mapping[FactKey, MergedFact],
    levels: Levels,
    settings: RankWeights,
    *,
    others: float,
    now_us: int,
    every_part: bool = False,
    check: Callable[[], None] | None = None,
) -> list[RankedFact]:
    """The facts of a request, best first, ties by key.

    Args:
        others: weight of the other queries beside the focus.
        now_us: to which ages count.
        every_part: also parts that weigh nothing; else they are 0 then.
        check: raises where there is no time left.
    """
    pool = list(facts.values())
    by_memory = relevances([id for one in pool for id in one.facts], levels, others)
    of_facts = [max(map(by_memory.__getitem__, one.facts)) for one in pool]
    zeros = [0.0] * len(pool)
    novelties = _novelties(pool, check) if every_part or settings.novelty else zeros
    recencies = (
        [_recency(one, now_us, settings.recency_tau_days) for one in pool]
        if every_part or settings.recency
        else zeros
    )
    diversities = [
        min(1.0, (len(one.queries) - 1) / _QUERY_STEPS) if one.queries else 0.0 for one in pool
    ]
    rows = list(zip(scaled(of_facts), novelties, recencies, diversities, strict=True))
    values = _composites(rows, settings)
    order = sorted([(-value, pool[at].place, at) for at, value in enumerate(values)])
    return [
        RankedFact(
            merged=pool[at],
            level=of_facts[at],
            levels={id: by_memory[id] for id in pool[at].facts},
            parts=_parts_of(rows[at], values[at]),
        )
        for _, _, at in order
    ]


def _novelties(pool: Sequence[MergedFact], check: Callable[[], None] | None) -> list[float]:
    """Of each fact: half for words that no fact of an earlier iteration shares, half for
    evidence."""
    words = [one.keywords for one in pool]
    found = []
    for one, own in zip(pool, words, strict=True):
        if check is not None:
            check()
        earlier = (
            other for fact, other in zip(pool, words, strict=True) if fact.iteration < one.iteration
        )
        nearest = max((_jaccard(own, other) for other in earlier), default=0.0)
        supported = min(1.0, max(0, len(one.evidence) - 1) / _EVIDENCE_STEPS)
        found.append(0.5 * (1 - nearest) + 0.5 * supported)
    return found


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def _recency(one: MergedFact, now_us: int, tau_days: float) -> float:
    """Of the newest beginning of what its memories say."""
    newest = max(fact.t_valid_us for fact in one.facts.values())
    return math.exp(-max(0, now_us - newest) / (tau_days * DAY_US))
