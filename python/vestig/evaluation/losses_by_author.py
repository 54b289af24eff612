"""Which relevant units a row does not find that another one finds, and who said them: a mean that
is lower on one kind of question is often lower on one kind of speaker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vestig.evaluation.benchmarks import Benchmark
from vestig.evaluation.metrics import Tally
from vestig.evaluation.report import AuthorUnits, Comparison

__all__ = ["CUT", "METRIC", "with_losses"]

CUT: Final = 10
METRIC: Final = f"recall@{CUT}"


def with_losses(
    comparisons: Iterable[Comparison], benchmark: Benchmark, tallies: Mapping[str, Tally]
) -> Iterator[Comparison]:
    """The comparisons, those of R@10 with the units lost by who said them."""
    authors = {
        key: {unit.id: unit.author or "" for unit in units}
        for key, units in benchmark.units.items()
    }
    asked = [
        (query.category, {id: authors[query.conversation][id] for id in query.relevant})
        for query in benchmark.queries
    ]
    for one in comparisons:
        if one.metric == METRIC:
            ours, theirs = (tallies[name].ranks for name in (one.row, one.against))
            yield msgspec.structs.replace(one, said_by=_said_by(one.category, asked, ours, theirs))
        else:
            yield one


def _said_by(
    category: str | None,
    asked: Sequence[tuple[str, Mapping[str, str]]],
    ours: Sequence[Mapping[str, int | None]],
    theirs: Sequence[Mapping[str, int | None]],
) -> dict[str, AuthorUnits]:
    relevant: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    for (kind, said), here, there in zip(asked, ours, theirs, strict=True):
        if category not in (None, kind):
            continue
        relevant.update(said.values())
        for id, author in said.items():
            found, other = _within(here[id]), _within(there[id])
            lost[author] += other and not found
            gained[author] += found and not other
    return {
        author: AuthorUnits(relevant=count, lost=lost[author], gained=gained[author])
        for author, count in sorted(relevant.items())
    }


def _within(place: int | None) -> bool:
    return place is not None and place <= CUT
