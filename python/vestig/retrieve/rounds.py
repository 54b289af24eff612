"""The rounds of a retrieval: what the conversation is about, the queries of each round, and where
it stands after it, in facts, in what was news and in how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vestig.answers import RecallHit
from vestig.config import Config
from vestig.config.recall_sections import RetrieveSettings
from vestig.language.follow_ups import Turn, question_of
from vestig.recall.query_entities import named_entities
from vestig.recall.ranking import ranking_of
from vestig.retrieve.calls import Calls
from vestig.retrieve.confidence import (
    BEST_FACTS,
    LOW_MAX,
    Components,
    compute_confidence_score,
    coverage_component,
    evidence_component,
    reliability_component,
)
from vestig.retrieve.facts import facts_of
from vestig.retrieve.merge import (
    LED_BY_FOCUS,
    Coverage,
    FactPool,
    Gain,
    MergedFact,
    coverage_of,
    merged_order,
    news_of,
    streak_after,
)
from vestig.retrieve.queries import Synonyms, facet_forms, facets, fallback_queries, synonyms
from vestig.retrieve.searches import Answer, Searches
from vestig.retrieve.values import Fact, FactKey, PlannedQuery, Request
from vestig.session.references import resolved
from vestig.session.session import Session
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection
from vestig.store.records.reads import LedgerView

_GOAL_CHARS: Final = 200
# Rounds from which the words of what was found make queries, and of how many facts.
_FACTS_FROM: Final = 2
FACTS_READ: Final = 10
# How many of the last messages are read for queries: what came before them is another subject.
MESSAGES_READ: Final = 5


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """Analysis of a conversation.

    `focus`: the question, "" where the last message says nothing. `recent`: the messages that it
    leans on. `names`: entities of the store that it names. `idf`: index term → idf over the
    eligible memories, None where the ranking counts no words.
    """

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

    def __init__(self, search: Searches, config: Config, request: Request) -> None:
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
        said = [
            Turn(text, message.assistant)
            for text, message in zip(window, latest, strict=True)
            if text
        ]
        if not said:
            return Analysis(goal="", focus="", recent=(), names=(), facets=(), idf=None)
        question = question_of(said)
        focus = "" if question.says_nothing else question.text
        recent = tuple(turn.text for turn in said[question.first : question.last])
        goal = goal_of([*recent, focus]) if focus else ""
        names, idf = self._known_words("\n".join(dict.fromkeys((focus, goal, *recent))))
        return Analysis(
            goal=goal,
            focus=focus,
            recent=recent,
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
        session, text = self.search.session, self.search.cut(text)

        def read(
            view: LedgerView, core: Projection
        ) -> tuple[tuple[str, ...], Mapping[str, float] | None]:
            if self.deadline.passed:
                return (), None
            found, _ = named_entities(
                session,
                view,
                text,
                namespace=self.request.namespace,
                known_at_us=self.request.moments.known_at_us,
                config=self.search.config,
                vectors={},
            )
            names = tuple(one.name for one in found)
            return names, None if self.deadline.passed else self._idf(view, core, text)

        return session.keeper.run(read)

    def _idf(self, view: LedgerView, core: Projection, text: str) -> Mapping[str, float] | None:
        """Index term of a text → its idf over the eligible memories; None where the profile sums no
        terms, or the text has none."""
        if ranking_of(self.search.session, self.search.config).base != "linear":
            return None
        chosen = CoreFilter(**resolved(view, core, self.request.filter))
        return core.idfs(view.seq, self.search.cut(text), chosen) or None


class Rounds:
    """The rounds of one request.

    `answers`: of all queries that were run, in their order. `order`: fact key → the hit that speaks
    for it, best first. `new_facts`, `new_evidence`: of each round.
    """

    def __init__(
        self,
        session: Session,
        settings: RetrieveSettings,
        request: Request,
        analysis: Analysis,
        synonyms: Synonyms,
    ) -> None:
        self.session = session
        self.settings = settings
        self.request = request
        self.facets = facet_forms(analysis.facets, synonyms)
        self.answers: list[Answer] = []
        self.pool = FactPool()
        self.order: dict[FactKey, RecallHit] = {}
        self.coverage = Coverage(facets={}, score=0.0)
        self.hit: frozenset[str] = frozenset()
        self.news: frozenset[FactKey] = frozenset()
        self.new_facts: list[int] = []
        self.new_evidence: list[int] = []
        self.failures: list[bool] = []
        self.streak = 0
        # a language model plans queries, which may find what the message does not
        self.planned_by_model = False
        # of the confidence, as the last round left it that every request has
        self.parts = Components()

    @property
    def count(self) -> int:
        """How many rounds there were."""
        return len(self.new_facts)

    @property
    def failed(self) -> bool:
        """Return whether every back-end failed in the last two rounds."""
        return len(self.failures) > 1 and all(self.failures[-2:])

    @property
    def focus(self) -> Answer | None:
        """The answer of the focus; None = it was not run."""
        return next((one for one in self.answers if one.is_focus), None)

    @property
    def is_doubtful(self) -> bool:
        """Return whether recall would bring nothing for the message, and rules made all queries."""
        focus = self.focus
        return focus is not None and focus.is_doubtful and not self.planned_by_model

    def above(self) -> frozenset[str]:
        """The memories above the cut of recall for the focus; where it cuts nothing, all read."""
        above = None if self.focus is None else self.focus.above_cut()
        if above is not None:
            return above
        return frozenset(hit.id for one in self.answers for hit in one.read)

    @property
    def returned(self) -> dict[FactKey, RecallHit]:
        """The best facts, as many as the request takes: of a message that recall would be silent
        about its own five, or none."""
        most = self.request.max_facts
        if self.is_doubtful:
            most = 0 if self.focus is None or self.focus.is_silent else min(most, LED_BY_FOCUS)
        return dict(list(self.order.items())[:most])

    def older(self) -> frozenset[str]:
        """The memories of the returned facts beside which a newer version is returned."""
        shown = {hit.id: hit.reason.older_than for hit in self.returned.values()}
        return frozenset(id for id, newer in shown.items() if newer in shown)

    def tried(self) -> dict[str, int]:
        """Query → number of its results, of those that were run."""
        return {one.planned.text: len(one.hits) for one in self.answers}

    def add(self, answers: Sequence[Answer] | None) -> None:
        """Takes what a round found; None = its search failed."""
        self.failures.append(answers is None)
        gain = Gain(new_keys=frozenset(), new_evidence=0, duplicates=0)
        if answers is not None:
            self.answers += answers
            ids = dict.fromkeys(hit.id for one in answers for hit in one.hits)
            fresh = [id for id in ids if id not in self.pool.facts]
            with self.session.ledger.read() as view:
                facts = facts_of(view, self.request.namespace, fresh, self.request.moments)
            gain = self.pool.add(self.count + 1, answers, facts)
            self.order = merged_order(self.answers, self.pool.key_of)
            self.coverage = coverage_of(
                self.pool.merged, self.facets, self.above(), self.coverage.facets
            )
        above = self.above()
        news = news_of(
            gain,
            [self.pool.merged[key] for key in self.order],
            self.coverage,
            self.hit,
            max_facts=self.request.max_facts,
            above=above,
        )
        self.hit |= news.facets
        self.news |= news.keys
        self.new_facts.append(len(news.keys))
        self.new_evidence.append(gain.new_evidence)
        self.streak = streak_after(self.streak, len(news.keys), self.settings.novelty_min_new_facts)
        if self.count <= max(1, self.settings.early_stop_min_iterations):
            self.parts = self._parts(gain, above)

    def successful(self) -> list[Answer]:
        """The focus, and of the other queries those by which one of the best facts has its place;
        none where no query found any fact."""
        best = list(self.order.values())[:BEST_FACTS]
        return [one for one in self.answers if best and (one.is_focus or any(map(one.holds, best)))]

    def facts(self) -> list[Fact]:
        """The returned facts, each with its best evidence."""
        merged = self.pool.merged
        return [merged[key].shown(hit.id) for key, hit in self.returned.items()]

    def _parts(self, gain: Gain, above: frozenset[str]) -> Components:
        """Relevance, evidence and coverage so far, none of which depends on how many facts are
        returned; 0 without facts."""
        if not self.order:
            return Components()
        merged = self.pool.merged
        best: list[MergedFact] = [merged[key] for key in self.order][:BEST_FACTS]
        read = {self.pool.key_of(hit) for one in self.answers for hit in one.read} - {None}
        certain = None if self.focus is None else self.focus.result.confidence
        closest = max(one.similarity or 0.0 for one in best)
        return Components(
            # a profile without a confidence has its cosines
            relevance=min(1.0, max(0.0, closest)) if certain is None else certain,
            evidence=evidence_component([len(one.evidence) for one in best]),
            coverage=coverage_component(
                self.coverage.score,
                new_facts=sum(not above.isdisjoint(merged[key].facts) for key in gain.new_keys),
                unique_facts=len(read),
                queries_with_facts=sum(bool(one.hits) for one in self.answers),
                queries=len(self.answers),
                facts_by_several=sum(len(one.queries) > 1 for one in best),
                facts=len(best),
            ),
        )

    def components(self, calls: Calls) -> Components:
        """Return what the confidence is made of; 0 throughout without facts or where all calls
        failed."""
        if not self.order or calls.failed == len(calls.made):
            return Components()
        reliability = reliability_component(calls.failed, calls.retried, len(calls.made))
        relevance = self.parts.relevance
        if self.is_doubtful:
            relevance = min(relevance, LOW_MAX)
        return msgspec.structs.replace(self.parts, relevance=relevance, reliability=reliability)

    def score(self, calls: Calls) -> float:
        """The confidence so far, from 0 to 1."""
        return compute_confidence_score(self.components(calls))
