"""Metrics of one question over a ranking of distinct units, each from 0 to 1.

Gains are binary. For a cut k: `recall@k` is the share of the relevant units among the best k,
`precision@k` the share of the k places that hold a relevant one, `hit@k` whether any is there,
`all@k` whether all are, `ndcg@k` the discounted gain 1 / log2(rank + 1) over the best possible one
(Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002). `mrr` is 1 / rank
of the first relevant unit, 0 when none is found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vestig.evaluation.benchmarks import Benchmark
from vestig.evaluation.report import AuthorUnits, Comparison

CUTS: Final = (1, 5, 10, 20, 50)
# Length of the longest ranking of distinct units; `mrr` is 0 for what lies below.
DEPTH: Final = 200
FAMILIES: Final = ("recall", "precision", "hit", "all", "ndcg")
MRR: Final = "mrr"


def metric_name(family: str, cut: int) -> str:
    """The name of a metric with a cut.

    Example:
        >>> metric_name("recall", 5)
        'recall@5'
    """
    return f"{family}@{cut}"


METRICS: Final = (*(metric_name(family, cut) for family in FAMILIES for cut in CUTS), MRR)


def _discount(place: int) -> float:
    return 1 / math.log2(place + 2)


def ranked_gains(gains: Sequence[int], relevant: int, cuts: Sequence[int]) -> dict[str, float]:
    """`recall@k` and `ndcg@k` of a ranking in which one place may answer several labels.

    Args:
        gains: labels that each place is the first to answer.
        relevant: how many labels there are, >= 1.

    Example:
        >>> ranked_gains([0, 2], 2, (1, 5))["recall@5"]
        1.0
    """
    values: dict[str, float] = {}
    for cut in cuts:
        ideal = sum(_discount(place) for place in range(min(cut, relevant)))
        gain = sum(min(count, 1) * _discount(place) for place, count in enumerate(gains[:cut]))
        values[metric_name("recall", cut)] = sum(gains[:cut]) / relevant
        values[metric_name("ndcg", cut)] = gain / ideal
    return values


def _at(ranked: Sequence[str], relevant: Collection[str], cut: int) -> dict[str, float]:
    hits = [unit in relevant for unit in ranked[:cut]]
    found = sum(hits)
    ideal = sum(_discount(place) for place in range(min(cut, len(relevant))))
    gain = sum(_discount(place) for place, hit in enumerate(hits) if hit)
    values = (
        found / len(relevant),
        found / cut,
        float(found > 0),
        float(found == len(relevant)),
        gain / ideal,
    )
    return {metric_name(family, cut): v for family, v in zip(FAMILIES, values, strict=True)}


def _reciprocal(ranked: Sequence[str], relevant: Collection[str]) -> float:
    first = next((place for place, unit in enumerate(ranked) if unit in relevant), None)
    return 0.0 if first is None else 1 / (first + 1)


def score(ranked: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Every metric of one ranking of distinct units.

    Args:
        ranked: ids of units, best first, none twice.
        relevant: ids of the units that answer, at least one, none twice.

    Example:
        >>> found = score(["x", "a", "y", "b"], {"a", "b", "c"})
        >>> round(found["recall@5"], 4), found["hit@1"], found["mrr"]
        (0.6667, 0.0, 0.5)
    """
    return score_by_cut(dict.fromkeys((*CUTS, DEPTH), ranked), relevant)


def score_by_cut(
    rankings: Mapping[int, Sequence[str]], relevant: Collection[str]
) -> dict[str, float]:
    """Every metric where each cut has a ranking of its own: that of a recall with this limit.

    `rankings` holds one for each of `CUTS`; `mrr` is that of the longest, and where that holds
    no relevant unit, of the one for `DEPTH` if it is there.
    """
    values: dict[str, float] = {}
    for cut in CUTS:
        values.update(_at(rankings[cut], relevant, cut))
    values[MRR] = _reciprocal(rankings[CUTS[-1]], relevant)
    if not values[MRR] and DEPTH in rankings:
        values[MRR] = _reciprocal(rankings[DEPTH], relevant)
    return {name: values[name] for name in METRICS}


class Tally:
    """The metrics of many questions, and the ranks of their relevant units.

    Example:
        >>> tally = Tally()
        >>> tally.add(dict.fromkeys(CUTS, ["x", "a"]), {"a", "b"})
        >>> tally.scores["mrr"], tally.ranks
        ([0.5], [{'a': 2, 'b': None}])
    """

    def __init__(self) -> None:
        # of each question with units that its relevant ones have replaced: whether the first
        # relevant one stands above all of these
        self.newest_first: list[bool] = []
        self.scores: dict[str, list[float]] = {metric: [] for metric in METRICS}
        self.ranks: list[dict[str, int | None]] = []

    def add(
        self,
        rankings: Mapping[int, Sequence[str]],
        relevant: Collection[str],
        outdated: Collection[str] = (),
    ) -> None:
        """One question, as in `score_by_cut`.

        Args:
            outdated: units that the relevant ones have replaced.
        """
        for metric, value in score_by_cut(rankings, relevant).items():
            self.scores[metric].append(value)
        longest = rankings.get(DEPTH, rankings[CUTS[-1]])
        places = {unit: place for place, unit in enumerate(longest, 1)}
        self.ranks.append({unit: places.get(unit) for unit in sorted(relevant)})
        if outdated:
            first = min(places.get(unit, math.inf) for unit in relevant)
            self.newest_first.append(first < min(places.get(unit, math.inf) for unit in outdated))


CUT: Final = 10
METRIC: Final = f"recall@{CUT}"


def with_losses(
    comparisons: Iterable[Comparison], benchmark: Benchmark, tallies: Mapping[str, Tally]
) -> Iterator[Comparison]:
    """The comparisons; those of recall@10 with the units lost and gained by author."""
    authors = {
        key: {unit.id: unit.author or "" for unit in units}
        for key, units in benchmark.units.items()
    }
    authors_of = [
        (query.category, {id: authors[query.conversation][id] for id in query.relevant})
        for query in benchmark.queries
    ]
    for one in comparisons:
        if one.metric == METRIC:
            ours, theirs = (tallies[name].ranks for name in (one.row, one.against))
            yield msgspec.structs.replace(
                one, by_author=_by_author(one.category, authors_of, ours, theirs)
            )
        else:
            yield one


def _by_author(
    category: str | None,
    authors_of: Sequence[tuple[str, Mapping[str, str]]],
    ours: Sequence[Mapping[str, int | None]],
    theirs: Sequence[Mapping[str, int | None]],
) -> dict[str, AuthorUnits]:
    relevant: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    for (kind, author_of), here, there in zip(authors_of, ours, theirs, strict=True):
        if category not in (None, kind):
            continue
        relevant.update(author_of.values())
        for id, author in author_of.items():
            found, other = _within(here[id]), _within(there[id])
            lost[author] += other and not found
            gained[author] += found and not other
    return {
        author: AuthorUnits(relevant=count, lost=lost[author], gained=gained[author])
        for author, count in sorted(relevant.items())
    }


def _within(place: int | None) -> bool:
    return place is not None and place <= CUT
