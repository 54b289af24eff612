"""News: which facts an iteration added, and how much of the question they speak of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import msgspec

from vestig.retrieve.facets import FacetForms, facets_hit
from vestig.retrieve.merge import Gain, MergedFact
from vestig.retrieve.rank import RankedFact
from vestig.retrieve.types import FactKey


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """`facets`: fact key → the facets that it contains. `score`: the share of all facets that a
    fact above the cut contains."""

    facets: Mapping[FactKey, frozenset[str]]
    score: float


class News(msgspec.Struct, frozen=True, kw_only=True):
    """`keys`: the new facts that count; `facets`: those that all facts so far contain."""

    keys: frozenset[FactKey]
    facets: frozenset[str]


def coverage_of(
    merged: Mapping[FactKey, MergedFact],
    facets: FacetForms,
    above: Set[str],
    known: Mapping[FactKey, frozenset[str]],
) -> Coverage:
    """How much of the question the facts speak of.

    Args:
        facets: of goal and focus, with their forms; without any, one fact is enough.
        above: memories above the cut of recall, which count.
        known: facets of facts that were looked at before.
    """
    fresh = [key for key in merged if key not in known]
    hits = facets_hit(facets, [merged[key].words for key in fresh])
    own = {**known, **dict(zip(fresh, hits, strict=True))}
    found = {key: own[key] for key in merged}
    if not merged:
        return Coverage(facets=found, score=0.0)
    if not facets:
        return Coverage(facets=found, score=1.0)
    hit = {
        facet
        for key, own in found.items()
        if not above.isdisjoint(merged[key].facts)
        for facet in own
    }
    return Coverage(facets=found, score=len(hit) / len(facets))


def news_of(
    gain: Gain,
    order: Sequence[RankedFact],
    coverage: Coverage,
    hit_before: frozenset[str],
    *,
    max_facts: int,
    above: Set[str],
) -> News:
    """The facts of an iteration that count as new: keys not seen before among the best `max_facts`,
    above the cut of recall or with a facet that no fact before contained. Every search brings
    unseen facts; only relevant ones are news.

    Args:
        order: the best facts after the iteration, best first: at least `max_facts` of them, or
            all.
        above: memories above the cut of recall.
        hit_before: facets that facts of earlier iterations contain.
    """
    keys = frozenset(
        one.merged.key
        for one in order[:max_facts]
        if one.merged.key in gain.new_keys
        and (not above.isdisjoint(one.merged.facts) or coverage.facets[one.merged.key] - hit_before)
    )
    every = (facet for own in coverage.facets.values() for facet in own)
    return News(keys=keys, facets=frozenset(every))


def streak_after(streak: int, new_facts: int, min_new_facts: int) -> int:
    """Iterations in a row that brought less than `min_new_facts` facts.

    Example:
        >>> streak_after(1, 0, 1), streak_after(1, 1, 1), streak_after(1, 0, 0)
        (2, 0, 0)
    """
    return streak + 1 if new_facts < min_new_facts else 0
