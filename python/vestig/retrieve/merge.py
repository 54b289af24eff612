"""Answers merged over the queries and rounds of a request: the order of what they found, the facts
in it, and which of these are news."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Final, TypeVar

import msgspec

from vestig.answers import RecallHit
from vestig.retrieve.queries import FacetForms, facets_hit
from vestig.retrieve.searches import PER_QUERY, Answer
from vestig.retrieve.values import EVIDENCE_KEPT, Fact, FactKey, evidence_key
from vestig.times import to_us
from vestig.types import Evidence

# The first places are those of the message itself: queries of fragments of it find much that is
# near a fragment alone.
LED_BY_FOCUS: Final = 5
# After these, so many of the focus stand behind each that another query found.
_OF_FOCUS: Final = 2

_Key = TypeVar("_Key", bound=Hashable)


def merged_order(
    answers: Iterable[Answer], key_of: Callable[[RecallHit], _Key | None]
) -> dict[_Key, RecallHit]:
    """Key → the hit by which it has its place, best first: the first five of the focus as recall
    ranks them; after these, what other queries found, best score first, each before two more of
    the focus.

    Args:
        key_of: two hits with one key are one; None = it does not count.
    """
    focus, others = dict[_Key, RecallHit](), dict[_Key, RecallHit]()
    for answer in answers:
        for hit in answer.hits:
            key = key_of(hit)
            if key is None:
                continue
            if answer.is_focus:
                focus.setdefault(key, hit)
            elif key not in others or _place(hit) < _place(others[key]):
                others[key] = hit
    order = dict(islice(focus.items(), LED_BY_FOCUS))
    rest = iter(focus.items())
    found = iter(sorted(others.items(), key=lambda pair: _place(pair[1])))
    every = len(focus.keys() | others.keys())
    while len(order) < every:
        for turn in (found, *[rest] * _OF_FOCUS):
            order.update(islice((pair for pair in turn if pair[0] not in order), 1))
    return order


def _place(hit: RecallHit) -> tuple[float, str]:
    return -hit.score, hit.id


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """Gains of an iteration: keys not seen before, new pieces of evidence, and sightings of what
    had been seen."""

    new_keys: frozenset[FactKey]
    new_evidence: int
    duplicates: int


class MergedFact(msgspec.Struct, kw_only=True):
    """All that was seen of one fact.

    `facts`: by memory id, the memories that state it. `iteration`: the first that found it.
    `queries`: numbers of those that it is among the best ten of. `evidence`: distinct pieces.
    `similarity`: the largest cosine of its memories to a query; None = none was compared.
    """

    key: FactKey
    iteration: int
    facts: dict[str, Fact]
    queries: set[int]
    evidence: tuple[Evidence, ...]
    similarity: float | None = None

    @property
    def words(self) -> list[str]:
        """Keywords of its memories and names that they mention, repeats kept."""
        facts = self.facts.values()
        return [word for one in facts for own in (one.keywords, one.entities) for word in own]

    def shown(self, id: str) -> Fact:
        """One of its memories, with the best evidence of all of them."""
        return msgspec.structs.replace(
            self.facts[id],
            evidence=tuple(best_evidence(self.evidence)),
            evidence_count=len(self.evidence),
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
    """The facts of a request by key, in the order in which they were found, and how often one was
    seen again. `facts`: by memory id."""

    def __init__(self) -> None:
        self.merged: dict[FactKey, MergedFact] = {}
        self.facts: dict[str, Fact] = {}
        self.duplicates = 0
        self._queries = 0

    def key_of(self, hit: RecallHit) -> FactKey | None:
        """The key of the fact that a hit states; None for a memory that is gone."""
        fact = self.facts.get(hit.id)
        return None if fact is None else fact.key

    def add(self, iteration: int, answers: Sequence[Answer], facts: Mapping[str, Fact]) -> Gain:
        """Takes what an iteration found: a memory once, whatever number of its queries found it.

        Args:
            facts: of the memories that were not known before.
        """
        self.facts |= facts
        seen = dict[str, list[tuple[int, int, RecallHit]]]()
        for number, answer in enumerate(answers, self._queries):
            for place, hit in enumerate(answer.hits):
                seen.setdefault(hit.id, []).append((number, place, hit))
        self._queries += len(answers)
        new_keys = set[FactKey]()
        new_evidence = duplicates = 0
        for id, sightings in seen.items():
            fact = self.facts.get(id)
            if fact is None:
                continue
            known = self.merged.get(fact.key)
            if known is None:
                new_keys.add(fact.key)
                known = self.merged[fact.key] = MergedFact(
                    key=fact.key, iteration=iteration, facts={}, queries=set(), evidence=()
                )
            else:
                duplicates += 1
            if id not in known.facts:
                before = len(known.evidence)
                known.evidence = _distinct(fact.evidence, known.evidence)
                new_evidence += len(known.evidence) - before
                known.facts[id] = fact
            known.queries.update(number for number, place, _ in sightings if place < PER_QUERY)
            near = [hit.similarity for _, _, hit in sightings if hit.similarity is not None]
            if known.similarity is not None:
                near.append(known.similarity)
            known.similarity = max(near, default=None)
        self.duplicates += duplicates
        return Gain(new_keys=frozenset(new_keys), new_evidence=new_evidence, duplicates=duplicates)


def _distinct(fresh: tuple[Evidence, ...], known: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The fresh pieces, each once, before the known ones; a known piece stays as it is."""
    if len(fresh) + len(known) < 2:
        # keys are dear, and there is nothing to tell apart
        return fresh or known
    by_key = {evidence_key(one): one for one in fresh} | {evidence_key(one): one for one in known}
    return tuple(by_key.values())


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
    found = {**known, **dict(zip(fresh, hits, strict=True))}
    if not merged:
        return Coverage(facets=found, score=0.0)
    if not facets:
        return Coverage(facets=found, score=1.0)
    kept = [found[key] for key, one in merged.items() if not above.isdisjoint(one.facts)]
    return Coverage(facets=found, score=len(frozenset[str]().union(*kept)) / len(facets))


def news_of(
    gain: Gain,
    order: Sequence[MergedFact],
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
        order: the facts after the iteration, best first.
        above: memories above the cut of recall.
        hit_before: facets that facts of earlier iterations contain.
    """
    keys = frozenset(
        one.key
        for one in order[:max_facts]
        if one.key in gain.new_keys
        and (not above.isdisjoint(one.facts) or coverage.facets[one.key] - hit_before)
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
