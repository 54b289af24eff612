"""Retrieval from a conversation: analyse → plan → execute → evaluate → (plan | synthesise).

Several rounds of searches; novelty decides when they end. All state lives for one request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec import UNSET

from vestig.answers import RecallHit
from vestig.calls.queries import RetrieveRequest
from vestig.config import Config
from vestig.memories.read import anchors_of
from vestig.printed import OLDER, anchor_words
from vestig.recall.context.block import Measure
from vestig.recall.context.budget import fitting_text, measure
from vestig.recall.recall import NEAREST_MAX
from vestig.recall.request import QUERY_CHARS_MAX
from vestig.retrieve.calls import Calls, Deadline, ModelSteps, cleaned_queries
from vestig.retrieve.confidence import (
    Progress,
    StopReason,
    compute_confidence,
    compute_confidence_score,
    confidence_breakdown,
    stop_reason,
    verdict_counts,
)
from vestig.retrieve.messages import TurnSearch
from vestig.retrieve.rounds import FACTS_READ, MESSAGES_READ, Planner, Rounds
from vestig.retrieve.searches import Found, Searches
from vestig.retrieve.values import (
    FactDetail,
    FactKey,
    PlannedQuery,
    Request,
    RetrieveMetadata,
    RetrieveResult,
    TraceStep,
    fact_text,
    message_text,
    request_of,
)
from vestig.session.filter_names import has_names, unknown_names
from vestig.session.session import Session, ahead_notice, cleaned_query
from vestig.telemetry import INFO, log_event, span
from vestig.types import Degradation, Memory

# Steps of the trace that `debug` shows.
_TRACE_STEPS_MAX: Final = 20


class _Retrieval:
    """One request, step by step."""

    def __init__(self, session: Session, config: Config, request: Request) -> None:
        self.session = session
        self.config = config
        self.settings = config.settings.retrieve
        self.request = request
        self.deadline = Deadline(request.deadline_s)
        self.search = Searches(session, config, request, self.deadline)
        self.calls = Calls(session, self.deadline)
        self.planner = Planner(self.search, config, request)
        self.analysis = self.planner.analyse()
        window = request.messages[-MESSAGES_READ:]
        longer = sum(len(one.content) > QUERY_CHARS_MAX for one in window)
        self.model = ModelSteps(session, self.settings, window, self.deadline)
        self.rounds = Rounds(session, self.settings, request, self.analysis, self.planner.synonyms)
        self.generated = 0
        self.degraded: list[Degradation] = []
        # what there was no time for
        self.undone: list[str] = []
        self.warnings: list[str] = list(request.warnings)
        if has_names(request.filter):
            self.warnings += session.keeper.run(
                lambda view, core: unknown_names(session, view, core, request.filter)
            )
        if longer:
            self.warnings.append(
                f"{longer} of the last messages: the first {QUERY_CHARS_MAX} characters of each"
                " were read"
            )
        self.trace: list[TraceStep] = []
        # places of the facts that the budget has room for
        self.shown: list[int] = []
        # of all facts and turns, the best first, whatever the budget has room for; where there are
        # none, the nearest misses
        self.memory_ids: tuple[str, ...] = ()

    def run(self) -> RetrieveResult:
        """All steps."""
        self.note("analyse", f"{len(self.analysis.facets)} facets")
        reason = self.loop()
        with span("synthesise"):
            return self.synthesise(reason)

    def loop(self) -> StopReason:
        """Rounds until one of the reasons holds."""
        while True:
            with span("plan"):
                planned = [] if self.deadline.passed else self.plan()
            if self.deadline.passed:
                self.undone.append("no further round was begun")
                return "deadline"
            if not planned:
                return "no_queries"
            with span("execute", queries=len(planned)):
                self.execute(planned)
            with span("evaluate"):
                reason = self.evaluate()
            if reason is not None:
                return reason

    # --- the steps -------------------------------------------------------------------------

    def plan(self) -> list[PlannedQuery]:
        """The queries of the next round: those of the rules in the first one, so that a model that
        is silent costs no fact; then a model's, where there is one and it gives usable ones."""
        rounds = self.rounds
        iteration, tried, texts = rounds.count + 1, rounds.tried(), self.best_texts()
        planned: list[PlannedQuery] = []
        made = self.model.plan(iteration, tried, texts) if self.analysis.focus else None
        if made is not None:
            rounds.planned_by_model = True
            self.note("analyse", f"goal of {len(made.goal)} characters")
            most = self.settings.fallback_max_query_length
            known = {self.analysis.focus, *tried}
            planned = cleaned_queries(made.queries, known, most)
        if not planned:
            planned = self.planner.queries(self.analysis, iteration, tried, texts)
        if not tried and self.analysis.focus:
            planned = [PlannedQuery(text=self.analysis.focus, source="focus"), *planned]
        self.generated += len(planned)
        self.note("plan", f"{len(planned)} queries")
        return planned

    def best_texts(self) -> list[str]:
        """The texts of the best facts so far."""
        return [hit.content for hit in self.rounds.order.values()][:FACTS_READ]

    def execute(self, planned: list[PlannedQuery]) -> None:
        """One search over all planned queries."""

        def count(found: Found) -> int:
            return len({hit.id for one in found.answers for hit in one.hits})

        texts = [one.text for one in planned]
        found = self.calls.call("fact_search", texts, lambda: self.search.run(planned), count)
        if found is not None:
            self.degraded += found.degraded
            done = len(found.answers)
            if done < len(planned):
                self.undone.append(f"{len(planned) - done} of {len(planned)} queries were not run")
            for one in found.answers:
                self.session.metrics.add("vestig_queries_total", source=one.planned.source)
        self.rounds.add(None if found is None else found.answers)
        made = self.calls.made[-1]
        self.note("execute", f"{made.result_count} memories in {made.attempts} attempts")

    def evaluate(self) -> StopReason | None:
        """Return whether the round was the last. A model is asked only where its verdict could end
        it."""
        rounds, settings = self.rounds, self.settings
        at = Progress(
            iteration=rounds.count,
            max_iterations=self.request.max_iterations,
            max_facts=self.request.max_facts,
            failed=rounds.failed,
            used_s=self.deadline.used_s,
            deadline_s=self.request.deadline_s,
            facts=sum(rounds.new_facts),
            new_facts=rounds.new_facts[-1],
            streak=rounds.streak,
            coverage=rounds.coverage.score,
            score=rounds.score(self.calls),
            empty_calls=self.calls.empty_in_a_row,
            verdict=None,
        )
        reason = stop_reason(at, settings)
        if reason in (None, "tool_loop") and verdict_counts(at, settings):
            verdict = self.model.verdict(rounds.tried(), self.best_texts())
            reason = stop_reason(msgspec.structs.replace(at, verdict=verdict), settings)
        self.note(
            "evaluate",
            f"{rounds.new_facts[-1]} new, coverage {rounds.coverage.score:.2f},"
            f" {'on' if reason is None else reason}",
        )
        return reason

    def synthesise(self, reason: StopReason) -> RetrieveResult:
        """The final order of the facts, the turns beside them, and a summary by a model."""
        rounds = self.rounds
        turns = TurnSearch(self.search, self.config, self.request)
        facts, found = rounds.facts(), list[Memory]()
        if self.deadline.passed:
            self.undone.append("no turns were searched")
        elif self.analysis.focus and not rounds.is_doubtful:
            found = turns.best(self.calls, rounds.successful(), {fact.id for fact in facts})
        self.warnings += turns.warnings
        self.degraded += turns.degraded
        self.memory_ids = (*(fact.id for fact in facts), *(one.id for one in found))
        nearest = [hit.id for hit in rounds.order.values()][:NEAREST_MAX]
        self.memory_ids = self.memory_ids or tuple(nearest)
        sources = self.sources()
        older = rounds.older()
        lines = [
            fact_text(fact, [*([OLDER] if fact.id in older else ()), *sources.get(fact.id, ())])
            for fact in facts
        ]
        lines += [message_text(one, sources.get(one.id, ())) for one in found]
        kept = within_budget(lines, measure(self.session, self.request.budget))
        self.shown = [place for place in kept if place < len(facts)]
        texts = [kept[place] for place in self.shown]
        messages = [line for place, line in kept.items() if place >= len(facts)]
        self.note("synthesise", f"{len(texts)} facts, {len(messages)} turns")
        return self.result(reason, texts, messages, self.model.summary(texts, messages))

    def sources(self) -> dict[str, list[str]]:
        """Id of a memory of the answer → what has become of its sources, in words."""
        with self.session.ledger.read() as view:
            anchors = anchors_of(self.session, view, self.request.namespace, self.memory_ids)
        zone = self.config.settings.time.zone
        return {id: anchor_words(those, zone) for id, those in anchors.items()}

    # --- the answer ------------------------------------------------------------------------

    def result(
        self, reason: StopReason, facts: list[str], messages: list[str], summary: str
    ) -> RetrieveResult:
        """Everything put together, counted and logged."""
        rounds = self.rounds
        components = rounds.components(self.calls)
        score = compute_confidence_score(components)
        self.add_degraded(reason)
        metadata = RetrieveMetadata(
            request_id=self.request.request_id,
            seq=self.seq(),
            processing_time_ms=self.deadline.used_s * 1e3,
            queries_generated=self.generated,
            queries_executed=len(rounds.answers),
            tool_calls=tuple(self.calls.made),
            iterations_used=rounds.count,
            new_facts_per_iteration=tuple(rounds.new_facts),
            new_evidence_per_iteration=tuple(rounds.new_evidence),
            new_facts_last_iteration=rounds.new_facts[-1] if rounds.new_facts else 0,
            novelty_streak_without_gain=rounds.streak,
            coverage_score=rounds.coverage.score,
            unique_facts_seen=len(rounds.pool.merged),
            facts_returned=len(facts),
            messages_retrieved=len(messages),
            duplicates_merged=rounds.pool.duplicates,
            stop_reason=reason,
            confidence_score=score,
            confidence_breakdown=confidence_breakdown(components),
            degraded=tuple(self.degraded),
            warnings=tuple(self.warnings),
        )
        self.record(metadata)
        debug = self.request.debug
        return RetrieveResult(
            facts=tuple(facts),
            messages=tuple(messages),
            context_summary=summary,
            confidence=compute_confidence(score),
            metadata=metadata,
            details=self.details() if debug else UNSET,
            reasoning_trace=tuple(self.trace) if debug else UNSET,
        )

    def details(self) -> tuple[FactDetail, ...]:
        """Why each fact of the answer is there."""
        rounds = self.rounds
        returned = list(rounds.returned.items())
        return tuple(self.detail(*returned[place]) for place in self.shown)

    def detail(self, key: FactKey, hit: RecallHit) -> FactDetail:
        """Why one fact is there."""
        rounds = self.rounds
        answers, merged = rounds.answers, rounds.pool.merged[key]
        ranked_by = next(one for one in answers if one.holds(hit))
        return FactDetail(
            fact_key=key,
            memory_id=hit.id,
            query=ranked_by.planned.text,
            score=hit.score,
            similarity=merged.similarity,
            reason=hit.reason,
            iteration=merged.iteration,
            novelty_added=key in rounds.news,
            supporting_evidence_count=len(merged.evidence),
            query_coverage_count=len(merged.queries),
            queries=tuple(answers[at].planned.text for at in sorted(merged.queries)),
        )

    def seq(self) -> int:
        """The last state that facts are of."""
        if self.rounds.answers:
            return self.rounds.answers[-1].result.seq
        with self.session.ledger.read() as view:
            return view.seq

    def add_degraded(self, reason: StopReason) -> None:
        """Add what made the answer weaker, each code once."""
        if reason == "deadline" or self.undone:
            detail = "the time of the request was used up"
            detail += ": " + ", ".join(self.undone) if self.undone else ""
            self.degraded.append(Degradation(code="deadline_hit", detail=detail))
        with self.session.ledger.read() as view:
            self.degraded += ahead_notice(view.last_recorded_us, self.session.now_us())
        self.degraded += self.model.degraded
        self.degraded += self.session.keeper.take_degraded()
        self.degraded = list({one.code: one for one in self.degraded}.values())
        self.session.metrics.degraded(self.degraded)

    def record(self, metadata: RetrieveMetadata) -> None:
        """The counters and the records of this request: numbers, codes and ids."""
        metrics = self.session.metrics
        metrics.add("vestig_retrieve_stops_total", reason=metadata.stop_reason)
        log_event(
            INFO,
            "retrieve.stop",
            request_id=metadata.request_id,
            reason=metadata.stop_reason,
            iteration=metadata.iterations_used,
            floor=self.settings.early_stop_min_iterations,
            streak=metadata.novelty_streak_without_gain,
            coverage=metadata.coverage_score,
            unique_facts=metadata.unique_facts_seen,
            score=metadata.confidence_score,
        )
        sources = Counter(one.planned.source for one in self.rounds.answers)
        log_event(
            INFO,
            "retrieve.request",
            request_id=metadata.request_id,
            queries_generated=metadata.queries_generated,
            queries_executed=metadata.queries_executed,
            **{f"queries_{source}": count for source, count in sorted(sources.items())},
            new_facts=",".join(map(str, metadata.new_facts_per_iteration)),
            duplicates_merged=metadata.duplicates_merged,
            score=metadata.confidence_score,
        )

    def note(
        self,
        step: Literal["analyse", "plan", "execute", "evaluate", "synthesise"],
        detail: str,
    ) -> None:
        """Adds a step to the trace, the newest `_TRACE_STEPS_MAX` of which are shown."""
        if self.request.debug:
            made = TraceStep(step=step, iteration=self.rounds.count, detail=detail)
            self.trace = [*self.trace, made][-_TRACE_STEPS_MAX:]


class Retrieved(msgspec.Struct, frozen=True, kw_only=True):
    """A result, and the ids of the memories behind its facts and messages, the best first; where it
    has none, of the nearest misses."""

    result: RetrieveResult
    memory_ids: tuple[str, ...]


def within_budget(lines: Sequence[str], measure: Measure) -> dict[int, str]:
    """Place → line, of the lines that fit into the budget together: whole ones, the earlier first.
    Where not even the first fits, its text is cut at the end of a word and marked.

    Example:
        >>> words = Measure(count=lambda text: len(text.split()), counted_by="words", budget=5)
        >>> within_budget(["a b c", "d e", "f"], words)
        {0: 'a b c', 2: 'f'}
        >>> within_budget(["a b c d e f"], words)
        {0: 'a b c d e…'}
    """
    left, kept = measure.budget, dict[int, str]()
    for place, whole in enumerate(lines):
        line = whole if place else fitting_text(whole, left, "…", measure.count)
        # a line ends with one token more
        tokens = measure.count(line) + (1 if kept else 0)
        if tokens <= left:
            kept[place] = line
            left -= tokens
    return kept


def retrieve(session: Session, asked: RetrieveRequest) -> RetrieveResult:
    """Facts, turns and a confidence for the end of a conversation."""
    return retrieved(session, asked).result


def retrieved(session: Session, asked: RetrieveRequest) -> Retrieved:
    """Return what `retrieve` returns, and the memories behind its texts."""
    config = session.config
    with session.operation("retrieve"):
        asked, warnings = cleaned_query(session, asked)
        request = request_of(
            asked,
            config.settings.retrieve,
            now_us=session.now_us(),
            namespace=session.namespace,
            include_expired=config.settings.recall.include_expired,
        )
        request = msgspec.structs.replace(request, warnings=(*warnings, *request.warnings))
        retrieval = _Retrieval(session, config, request)
        return Retrieved(result=retrieval.run(), memory_ids=retrieval.memory_ids)
