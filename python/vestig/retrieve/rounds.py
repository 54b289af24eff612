"""The rounds of a retrieval: what the conversation is about, the queries of each round, and where
it stands after it, in facts, in what was news and in how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vestig.config import Config
from vestig.config.recall_sections import RetrieveSettings
from vestig.recall.query import BoundQuery
from vestig.retrieve.calls import Calls, Deadline
from vestig.retrieve.confidence import (
    BEST_FACTS,
    Components,
    compute_confidence_score,
    coverage_component,
    evidence_component,
    reliability_component,
)
from vestig.retrieve.fact_search import FactSearch, QueryResults
from vestig.retrieve.queries import Synonyms, facet_forms, facets, fallback_queries, synonyms
from vestig.retrieve.rank import (
    FOCUS,
    OTHERS_WEIGHT,
    Coverage,
    FactPool,
    Gain,
    RankedFact,
    RankWeights,
    Sighting,
    coverage_of,
    news_of,
    ranked,
    streak_after,
)
from vestig.retrieve.values import Fact, FactKey, PlannedQuery, Request
from vestig.session.references import resolved
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection
from vestig.store.records.reads import LedgerView

_GOAL_CHARS: Final = 200
# Rounds from which the words of what was found make queries, and of how many facts.
_FACTS_FROM: Final = 3
FACTS_READ: Final = 10
# How many of the last messages are read for queries: what came before them is another subject.
MESSAGES_READ: Final = 5


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Analysis of a conversation. `names`: entities of the store that it names; `idf`: index term →
    idf over the eligible memories, None where the ranking counts no words."""

    goal: str
    focus: str
    recent: tuple[str, ...]
    names: tuple[str, ...]
    facets: tuple[str, ...]
    idf: Mapping[str, float] | None


def goal_of(contents: Sequence[str]) -> str:
    """The last message with a question mark, else the last one; at most 200 characters.

    Example:
        >>> goal_of(["Where is the key?", "I looked everywhere."])
        'Where is the key?'
    """
    asking = (text for text in reversed(contents) if "?" in text)
    return next(asking, contents[-1]).strip()[:_GOAL_CHARS]


class Planner:
    """Queries by rules, for one request."""

    def __init__(self, search: FactSearch, config: Config, request: Request) -> None:
        self.search = search
        self.settings = config.settings.retrieve
        self.request = request
        self.deadline = search.deadline
        self.synonyms: Synonyms = synonyms(self.settings.synonyms)

    def analyse(self) -> Analysis:
        """Return what the end of the conversation asks, by rules and by the names of the store;
        without names and facets that its time does not suffice for."""
        # cut first: whatever is said, the analysis costs what that of a few questions does
        latest = self.request.messages[-MESSAGES_READ:]
        window = [
            self.search.cut(message.content) if message.content.strip() else ""
            for message in latest
        ]
        goal = goal_of(window)
        focus = window[-1].strip() or goal
        names, idf = self._known_words("\n".join(dict.fromkeys((focus, goal, *window))))
        return Analysis(
            goal=goal,
            focus=focus,
            recent=tuple(window[:-1]),
            names=names,
            facets=() if self.deadline.passed else tuple(facets(goal, focus, names, idf=idf)),
            idf=idf,
        )

    def queries(
        self,
        analysis: Analysis,
        iteration: int,
        tried: Mapping[str, int],
        facts: Sequence[str],
    ) -> list[PlannedQuery]:
        """The queries of a round beside the focus, [] when nothing is left to ask, or no time to.

        Args:
            tried: query → number of its results.
            facts: texts of the facts found so far, best first.
        """
        texts = facts[:FACTS_READ] if iteration >= _FACTS_FROM else ()
        idf = analysis.idf
        if texts and idf is not None and not self.deadline.passed:
            said = "\n".join(texts)
            more = self.search.session.keeper.run(lambda view, core: self._idf(view, core, said))
            idf = {**(more or {}), **idf}
        if self.deadline.passed:
            return []
        return fallback_queries(
            analysis.focus,
            analysis.recent,
            None if analysis.goal == analysis.focus else analysis.goal,
            tried,
            iteration,
            analysis.names,
            facts=texts,
            idf=idf,
            max_queries=self.settings.fallback_max_queries,
            max_length=self.settings.fallback_max_query_length,
            synonym_table=self.synonyms,
        )

    def _known_words(self, text: str) -> tuple[tuple[str, ...], Mapping[str, float] | None]:
        """Names of entities of the store in a text, and the idf of its index terms."""
        if not text.strip() or self.deadline.passed:
            return (), None
        query = self.search.analysed(text)

        def read(
            view: LedgerView, core: Projection
        ) -> tuple[tuple[str, ...], Mapping[str, float] | None]:
            if self.deadline.passed:
                return (), None
            bound = BoundQuery(self.search.session, view, query)
            names = tuple(one.name for one in bound.entities)
            return names, None if self.deadline.passed else self._idf(view, core, text)

        return self.search.session.keeper.run(read)

    def _idf(self, view: LedgerView, core: Projection, text: str) -> Mapping[str, float] | None:
        """Index term of a text → its idf over the eligible memories; None where the profile sums no
        terms, or the text has none."""
        if self.search.ranking.base != "linear":
            return None
        chosen = CoreFilter(**resolved(view, core, self.request.filter))
        return core.idfs(view.seq, self.search.cut(text), chosen) or None


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
        self.found: QueryResults | None = None
        # the memories above the cut of recall
        self.above: frozenset[str] = frozenset()
        self.pool = FactPool()
        self.order: list[RankedFact] = []
        self.coverage = Coverage(facets={}, score=0.0)
        self.hit: frozenset[str] = frozenset()
        self.news: frozenset[FactKey] = frozenset()
        self.new_facts: list[int] = []
        self.new_evidence: list[int] = []
        self.failures: list[bool] = []
        self.streak = 0
        # of the confidence, as the last round left it that every request has
        self.parts = Components()
        self._ends: list[int] = []

    @property
    def count(self) -> int:
        """How many rounds there were."""
        return len(self.new_facts)

    @property
    def failed(self) -> bool:
        """Return whether every back-end failed in the last two rounds."""
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

    def add(self, found: QueryResults | None) -> None:
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
            above=self.above,
        )
        self.hit |= news.facets
        self.news |= news.keys
        self.new_facts.append(len(news.keys))
        self.new_evidence.append(gain.new_evidence)
        self.streak = streak_after(self.streak, len(news.keys), self.settings.novelty_min_new_facts)
        if self.count <= max(1, self.settings.early_stop_min_iterations):
            self.parts = self._parts(gain)

    def finish(self, found: QueryResults, deadline: Deadline, *, every_part: bool) -> None:
        """Ranks by the levels of every fact under every query.

        Raises:
            TimeoutError: the order is as it was.
        """
        deadline.check()
        self._merge(found, None)
        self._rank(range(len(found.queries)), deadline, every_part=every_part)

    def _merge(self, found: QueryResults, end: int | None) -> Gain:
        """Takes what the round until this query found, and gives what was new in it; where the
        store has changed since, all rounds count anew."""
        start = len(self._ends)
        if self.found is None or self.found.seq != found.seq:
            self.pool, start = FactPool(), 0
        self.found, self.above = found, found.above_cut()
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
            self.above,
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
            RankWeights(),
            others=OTHERS_WEIGHT,
            now_us=self.request.moments.query_time_us,
            every_part=every_part,
            check=None if deadline is None else deadline.check,
        )

    def facts(self) -> list[Fact]:
        """The returned facts, each with its best evidence."""
        return [one.merged.shown(one.levels) for one in self.returned]

    def _parts(self, gain: Gain) -> Components:
        """Relevance, evidence and coverage so far, none of which depends on how many facts are
        returned; 0 without facts."""
        found = self.found
        if found is None or not self.order:
            return Components()
        best = sorted(self.order, key=lambda one: (-one.level, one.merged.place))[:BEST_FACTS]
        read, above, merged = found.read, self.above, self.pool.merged
        new = (merged[key] for key in gain.new_keys)
        closest = max(one.merged.similarity or 0.0 for one in best)
        certain = found.focus.confidence
        return Components(
            # a profile without a confidence has its cosines
            relevance=min(1.0, max(0.0, closest)) if certain is None else certain,
            evidence=evidence_component([len(one.merged.evidence) for one in best]),
            coverage=coverage_component(
                self.coverage.score,
                new_facts=sum(not above.isdisjoint(one.facts) for one in new),
                unique_facts=sum(not read.isdisjoint(one.facts) for one in merged.values()),
                queries_with_facts=sum(bool(own) for own in found.best),
                queries=len(found.queries),
                facts_by_several=sum(len(one.merged.queries) > 1 for one in best),
                facts=len(best),
            ),
        )

    def components(self, calls: Calls) -> Components:
        """Return what the confidence is made of; 0 throughout without facts or where all calls
        failed."""
        if not self.returned or calls.failed == len(calls.made):
            return Components()
        reliability = reliability_component(calls.failed, calls.retried, len(calls.made))
        return msgspec.structs.replace(self.parts, reliability=reliability)

    def score(self, calls: Calls) -> float:
        """The confidence so far, from 0 to 1."""
        return compute_confidence_score(self.components(calls))
