"""Relevant units that one row finds and another does not, counted by author.

A mean that is lower on one category of questions is often lower on one author."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vestig.evaluation.benchmarks import Benchmark
from vestig.evaluation.metrics import Tally
from vestig.evaluation.report import AuthorUnits, Comparison

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
