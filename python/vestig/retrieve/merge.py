"""Facts over all iterations: one entry for each key, with all that was seen of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from vestig.retrieve.types import EVIDENCE_KEPT, Fact, FactKey, evidence_key
from vestig.times import to_us
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
