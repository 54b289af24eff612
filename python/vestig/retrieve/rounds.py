"""Where a retrieval stands after each of its rounds: facts, what was news, how sure it is."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.config.retrieve_sections import RetrieveSettings
from vestig.retrieve.calls import Calls
from vestig.retrieve.confidence import (
    Components,
    compute_confidence_score,
    coverage_component,
    evidence_component,
    relevance_component,
    reliability_component,
)
from vestig.retrieve.deadline import Deadline
from vestig.retrieve.facets import facet_forms
from vestig.retrieve.fact_search import Found
from vestig.retrieve.merge import FactPool, Gain, Sighting
from vestig.retrieve.novelty import Coverage, coverage_of, news_of, streak_after
from vestig.retrieve.plan import FACTS_READ, Analysis
from vestig.retrieve.rank import FOCUS, RankedFact, ranked
from vestig.retrieve.request import Request
from vestig.retrieve.synonyms import Synonyms
from vestig.retrieve.types import Fact, FactKey

__all__ = ["RELEVANCE_FLOOR", "Rounds"]

# The cosine from which a fact counts as similar, where the embedder declares none.
RELEVANCE_FLOOR = 0.35


class Rounds:
    """The rounds of one request.

    `order`: the best facts, as many as are read. `new_facts`, `new_evidence`: of each round.
    """

    def __init__(
        self, settings: RetrieveSettings, request: Request, analysis: Analysis, synonyms: Synonyms
    ) -> None:
        self.settings = settings
        self.request = request
        self.facets = facet_forms(analysis.facets, synonyms)
        least = settings.coverage_min_similarity
        self.least = RELEVANCE_FLOOR if least is None else least
        self.found: Found | None = None
        self.pool = FactPool()
        self.order: list[RankedFact] = []
        self.coverage = Coverage(facets={}, score=0.0)
        self.hit: frozenset[str] = frozenset()
        self.news: frozenset[FactKey] = frozenset()
        self.new_facts: list[int] = []
        self.new_evidence: list[int] = []
        self.failures: list[bool] = []
        self.streak = 0
        self._ends: list[int] = []

    @property
    def count(self) -> int:
        """How many rounds there were."""
        return len(self.new_facts)

    @property
    def failed(self) -> bool:
        """Whether every back-end failed in the last two rounds."""
        return len(self.failures) > 1 and all(self.failures[-2:])

    @property
    def returned(self) -> list[RankedFact]:
        """The best facts, as many as the request takes."""
        return self.order[: self.request.max_facts]

    def tried(self) -> dict[str, int]:
        """Query → number of its results, of those that were run."""
        if self.found is None:
            return {}
        pairs = zip(self.found.queries, self.found.best, strict=True)
        return {one.planned.text: len(best) for one, best in pairs}

    def add(self, found: Found | None) -> None:
        """Takes what a round found; None = its search failed."""
        self.failures.append(found is None)
        if found is None:
            gain = Gain(new_keys=frozenset(), new_evidence=0, duplicates=0)
        else:
            gain = self._merge(found, len(found.queries))
            first = self._ends[-2] if len(self._ends) > 1 else 0
            self._rank([FOCUS, *range(first, len(found.queries))])
        news = news_of(
            gain,
            self.order,
            self.coverage,
            self.hit,
            max_facts=self.request.max_facts,
            least=self.least,
        )
        self.hit |= news.facets
        self.news |= news.keys
        self.new_facts.append(len(news.keys))
        self.new_evidence.append(gain.new_evidence)
        self.streak = streak_after(self.streak, len(news.keys), self.settings.novelty_min_new_facts)

    def finish(self, found: Found, deadline: Deadline, *, every_part: bool) -> None:
        """Ranks by the levels of every fact under every query.

        Raises:
            TimeoutError: the order is as it was.
        """
        deadline.check()
        self._merge(found, None)
        self._rank(range(len(found.queries)), deadline, every_part=every_part)

    def _merge(self, found: Found, end: int | None) -> Gain:
        """Takes what the round until this query found, and gives what was new in it; where the
        store has changed since, all rounds count anew."""
        start = len(self._ends)
        if self.found is None or self.found.seq != found.seq:
            self.pool, start = FactPool(), 0
        self.found = found
        if end is not None:
            self._ends.append(end)
        gain = Gain(new_keys=frozenset(), new_evidence=0, duplicates=0)
        for number in range(start, len(self._ends)):
            first = self._ends[number - 1] if number else 0
            matching = found.matching(range(first, self._ends[number]))
            sightings = [Sighting(found.facts[id], own) for id, own in matching.items()]
            gain = self.pool.add(number + 1, sightings)
        self.pool.compare(found.similarities)
        self.coverage = coverage_of(
            self.pool.merged,
            self.facets,
            self.least,
            self.coverage.facets,
        )
        return gain

    def _rank(
        self, numbers: Sequence[int], deadline: Deadline | None = None, *, every_part: bool = False
    ) -> None:
        assert self.found is not None, "called with what was found"
        levels = self.found.levels
        self.order = ranked(
            self.pool.merged,
            {number: levels[number] for number in dict.fromkeys(numbers)},
            self.settings.rank,
            others=self.settings.others,
            now_us=self.request.moments.query_time_us,
            every_part=every_part,
            most=max(self.request.max_facts, FACTS_READ),
            check=None if deadline is None else deadline.check,
        )

    def facts(self) -> list[Fact]:
        """The returned facts, each with its best evidence."""
        return [one.merged.shown(one.levels) for one in self.returned]

    def components(self, calls: Calls) -> Components:
        """What the confidence is made of; 0 throughout without facts or where all calls failed."""
        returned = self.returned
        if not returned or self.found is None or calls.failed == len(calls.made):
            return Components()
        similar = [
            0.0 if one.merged.similarity is None else one.merged.similarity for one in returned
        ]
        return Components(
            relevance=relevance_component(
                self.found.focus_confidence, similar, self.settings.confidence
            ),
            evidence=evidence_component([len(one.merged.evidence) for one in returned]),
            coverage=coverage_component(
                self.coverage.score,
                new_facts=self.new_facts[-1],
                unique_facts=len(self.pool.merged),
                queries_with_facts=sum(bool(best) for best in self.found.best),
                queries=len(self.found.queries),
                facts_by_several=sum(len(one.merged.queries) > 1 for one in returned),
                facts=len(returned),
            ),
            reliability=reliability_component(calls.failed, calls.retried, len(calls.made)),
        )

    def score(self, calls: Calls) -> float:
        """The confidence so far, from 0 to 1."""
        return compute_confidence_score(self.components(calls), self.settings.confidence)
