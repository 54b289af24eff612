"""Facts merged over the rounds of a request, which of them are news, and their order: relevance
over all queries, beside novelty, recency and diversity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, NamedTuple, cast

import msgspec

from vestig.retrieve.queries import FacetForms, facets_hit
from vestig.retrieve.values import EVIDENCE_KEPT, CompositeParts, Fact, FactKey, evidence_key
from vestig.times import DAY_US, to_us
from vestig.types import Evidence


class Sighting(NamedTuple):
    """A memory that an iteration found, and the numbers of the queries that it is among the best
    of."""

    fact: Fact
    queries: frozenset[int]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """Gains of an iteration: keys not seen before, new pieces of evidence, and sightings of what
    had been seen."""

    new_keys: frozenset[FactKey]
    new_evidence: int
    duplicates: int


class MergedFact(msgspec.Struct, kw_only=True):
    """All that was seen of one fact.

    `facts`: by memory id, the memories that state it. `iteration`: the first that found it.
    `queries`: numbers of those that it is among the best of. `evidence`: distinct pieces.
    `similarity`: the largest cosine of its memories to a query; None = none was compared.
    """

    key: FactKey
    iteration: int
    facts: dict[str, Fact]
    queries: set[int]
    evidence: tuple[Evidence, ...]
    similarity: float | None = None
    # the key in a form that sorts
    place: tuple[str, ...] = ()

    @property
    def keywords(self) -> frozenset[str]:
        """Of all of its memories."""
        return frozenset(word for one in self.facts.values() for word in one.keywords)

    @property
    def words(self) -> list[str]:
        """Keywords of its memories and names that they mention, repeats kept."""
        facts = self.facts.values()
        return [word for one in facts for own in (one.keywords, one.entities) for word in own]

    def speaker(self, levels: Mapping[str, float]) -> Fact:
        """The memory that speaks for it: the one with the largest level."""
        if len(self.facts) == 1:
            return next(iter(self.facts.values()))
        return self.facts[min(self.facts, key=lambda id: (-levels.get(id, float("-inf")), id))]

    def shown(self, levels: Mapping[str, float]) -> Fact:
        """The memory that speaks for it, with the best evidence of all of them."""
        return msgspec.structs.replace(
            self.speaker(levels),
            evidence=tuple(best_evidence(self.evidence)),
            evidence_count=len(self.evidence),
            similarity=self.similarity,
        )


def best_evidence(found: Iterable[Evidence]) -> list[Evidence]:
    """The best pieces: with a known author, then the newer, then the longer ones.

    Example:
        >>> long, short = (
        ...     Evidence(source_id=None, timestamp=None, author=None, snippet=text)
        ...     for text in ("a longer text", "a text")
        ... )
        >>> said = Evidence(source_id=None, timestamp=None, author="Ada", snippet="hm")
        >>> [one.snippet for one in best_evidence([short, long, said])]
        ['hm', 'a longer text', 'a text']
    """

    def order(one: Evidence) -> tuple[bool, float, int, str]:
        stated = float("-inf") if one.timestamp is None else to_us(one.timestamp)
        return one.author is None, -stated, -len(one.snippet), one.snippet

    return sorted(found, key=order)[:EVIDENCE_KEPT]


class FactPool:
    """The facts of a request by key, and how often one was seen again."""

    def __init__(self) -> None:
        self.merged: dict[FactKey, MergedFact] = {}
        self.duplicates = 0

    def add(self, iteration: int, sightings: Iterable[Sighting]) -> Gain:
        """Takes what an iteration found: a memory once, whatever number of its queries found it."""
        new_keys = set[FactKey]()
        new_evidence = duplicates = 0
        for fact, queries in sightings:
            known = self.merged.get(fact.key)
            if known is None:
                new_keys.add(fact.key)
                known = self.merged[fact.key] = MergedFact(
                    key=fact.key,
                    iteration=iteration,
                    facts={},
                    queries=set(),
                    evidence=(),
                    place=tuple([part or "" for part in fact.key]),
                )
            else:
                duplicates += 1
            if fact.id not in known.facts:
                before = len(known.evidence)
                known.evidence = _distinct(fact.evidence, known.evidence)
                new_evidence += len(known.evidence) - before
                known.facts[fact.id] = fact
            known.queries |= queries
        self.duplicates += duplicates
        return Gain(new_keys=frozenset(new_keys), new_evidence=new_evidence, duplicates=duplicates)

    def compare(self, similarities: Mapping[str, float]) -> None:
        """Takes the largest cosine of each memory."""
        for one in self.merged.values():
            known = [similarities[id] for id in one.facts if id in similarities]
            one.similarity = max(known, default=None)


def _distinct(fresh: tuple[Evidence, ...], known: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The fresh pieces, each once, before the known ones; a known piece stays as it is."""
    if len(fresh) + len(known) < 2:
        # keys are dear, and there is nothing to tell apart
        return fresh or known
    by_key = {evidence_key(one): one for one in fresh} | {evidence_key(one): one for one in known}
    return tuple(by_key.values())


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
