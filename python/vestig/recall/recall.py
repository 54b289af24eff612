"""Recall: request → query → scan → result, with one embedding, one crossing into the core and one
read of the ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from vestig.answers import Analysis, Counts, Formula, RecallHit, RecallResult
from vestig.changes import AccessTouch
from vestig.config import Config
from vestig.config.signals import by_term
from vestig.errors import ProviderError, StoreLockedError, ValidationError
from vestig.ids import id_text
from vestig.memories.equal_texts import repeats_of
from vestig.memories.read import as_known, later_updates, replaced_as_known
from vestig.ports import LedgerView, Pieces
from vestig.recall.candidate_index import APPROXIMATE, scanner
from vestig.recall.confidence import confidence
from vestig.recall.model_queries import names_by_model, with_synthesized_query
from vestig.recall.query import BoundQuery, Query, analyse, request_of
from vestig.recall.ranking import ranking_of
from vestig.recall.request import RecallRequest, Request
from vestig.recall.rerank import TextsToScoreError
from vestig.recall.scan import Scan, ScanRow, is_approximate
from vestig.session.embedding import check_identity, query_vectors
from vestig.session.opening import check_reranker
from vestig.session.session import Session
from vestig.session.transaction import ahead_notice
from vestig.telemetry.spans import current_trace, span
from vestig.times import from_us
from vestig.types import Degradation, OriginType

__all__ = ["recall"]


def _milliseconds(since: float) -> float:
    return (time.perf_counter() - since) * 1e3


class _Recall:
    """One call, stage by stage."""

    def __init__(self, session: Session, config: Config, request: Request) -> None:
        self.session = session
        self.config = config
        self.request, self.degraded = with_synthesized_query(session, config, request)

    def run(self) -> RecallResult:
        """All stages."""
        started = time.perf_counter()
        trace = current_trace()
        assert trace is not None, "recall is an operation"
        before = len(trace.spans)
        vector, pieces = self.embed()
        embed_ms = _milliseconds(started)
        mark = time.perf_counter()
        with span("analyse"):
            names, degraded = names_by_model(self.session, self.config, self.request.query)
            self.degraded += degraded
            query = analyse(self.session, self.config, self.request, vector, pieces, names=names)
        analyse_ms = _milliseconds(mark)
        mark = time.perf_counter()
        result = self.read_at_one_state(query)
        # waiting for a consistent state counts as scoring
        spent = result.timings_ms
        score_ms = _milliseconds(mark) - sum(spent.values())
        mark = time.perf_counter()
        analyse_ms += spent.pop("analyse")
        format_ms = spent.pop("format")
        self.degraded += self.session.keeper.take_degraded()
        self.degraded += result.degraded
        self.session.metrics.degraded(self.degraded)
        timings = {"embed": embed_ms, "analyse": analyse_ms, "score": score_ms, **spent}
        result = msgspec.structs.replace(
            result,
            timings_ms=timings,
            degraded=tuple(self.degraded),
            warnings=(*result.warnings, *self.touch(result)),
        )
        if self.request.receipt:
            from vestig.recall.receipts import receipt_of

            receipt = receipt_of(self.session, query, result)
            result = msgspec.structs.replace(result, receipt=receipt)
        timings["format"] = format_ms + _milliseconds(mark)
        timings["total"] = _milliseconds(started)
        if self.request.trace:
            return msgspec.structs.replace(result, trace=tuple(trace.spans[before:]))
        return result

    def read_at_one_state(self, query: Query) -> RecallResult:
        """`read`, begun again each time that the reranker has to score memories first."""
        while True:
            try:
                return self.session.keeper.run(lambda view, _: self.read(view, query))
            except TextsToScoreError as wanted:
                timeout_s = self.config.settings.reranker.timeout_s
                query.rerank_scores.ask(self.session, self.request.query, wanted, timeout_s)

    def embed(self) -> tuple[bytes | None, Pieces | None]:
        """The query's vector and those of its word pieces; without any, words alone can still
        rank (`partial_backend`)."""
        if self.request.query_vector is not None:
            return self.request.query_vector, None
        ranking = ranking_of(self.session, self.config)
        # a change that `why_not` tries may weigh what the call itself does not
        late = ranking.counts_tokens or bool(self.request.expect)
        try:
            check_identity(self.session)
            return query_vectors(self.session, self.request.query, late=late)
        except ProviderError as error:
            if not ranking.counts_words:
                raise
            self.degraded.append(
                Degradation(
                    code="partial_backend",
                    detail=f"no query vector ({type(error).__name__}): ranked by words alone",
                )
            )
            return None, None

    def touch(self, result: RecallResult) -> tuple[str, ...]:
        """Counts the access of the results; a busy store drops it with a warning."""
        if not self.request.touch or not result:
            return ()
        touch = AccessTouch(
            memory_ids=tuple(hit.id for hit in result), accessed_us=self.session.now_us()
        )
        try:
            self.session.ledger.touch(self.request.namespace, touch)
        except StoreLockedError:
            return ("the access was not counted: the store is locked",)
        return ()

    def read(self, view: LedgerView, query: Query) -> RecallResult:
        """The result at the state of one view. `timings_ms` holds the stages in here: `analyse`,
        signals that are made outside of the core, `rank` (texts) and `format`."""
        mark = time.perf_counter()
        request = self.request
        # a receipt repeats, and changes are compared with, the exact scan
        exact = request.receipt or bool(request.expect)
        with span("analyse"):
            bound = BoundQuery(
                self.session, view, query, None if exact else scanner(self.session, view)
            )
        analyse_ms = _milliseconds(mark)
        expected = None
        if request.expect:
            from vestig.recall.why_not import expected_of, why_not

            expected = expected_of(bound)
        with span("score") as counts:
            scan = bound.scan(
                limit=query.ranking.rows_for(request.limit),
                watch=b"" if expected is None else expected.watch,
            )
            counts.update(eligible=scan.eligible, scored=scan.scored, walked=scan.walked)
        certainty = confidence(scan) if bound.has_confidence else None
        least = request.min_confidence
        abstained = least is not None and certainty is not None and certainty < least
        best_score = _best_score(bound, scan)
        timings = {"analyse": analyse_ms, **bound.extra_ms}
        if "rerank" in timings:
            timings["rerank"] += query.rerank_scores.spent_ms
        mark = time.perf_counter()
        with span("rank") as counts:
            hits, later = _hits(bound, scan)
            counts["returned"] = len(hits)
        missing = None if expected is None else why_not(bound, scan, expected, abstained)
        timings["rank"] = _milliseconds(mark)
        mark = time.perf_counter()
        result = msgspec.structs.replace(
            self.result(bound, scan, hits, certainty, abstained),
            best_score=best_score,
            why_not=missing,
            warnings=self.warnings(scan, certainty, later),
            timings_ms=timings,
        )
        if request.budget is not None:
            from vestig.recall.context.entries import context_block
            from vestig.recall.layouts import line_without_results

            memories = [hit.memory for hit in result]
            with span("context"):
                context = context_block(bound, scan, memories, line_without_results(result))
            result = msgspec.structs.replace(result, context=context)
        timings["format"] = _milliseconds(mark)
        return result

    def result(
        self,
        bound: BoundQuery,
        scan: Scan,
        hits: tuple[RecallHit, ...],
        certainty: float | None,
        abstained: bool,
    ) -> RecallResult:
        """The result without its additions.

        Args:
            certainty: the confidence.
        """
        results = () if abstained else hits
        at = self.request.moments
        return RecallResult(
            results=results,
            query=self.request.query,
            namespace=self.request.namespace,
            profile=self.config.profile,
            mode=bound.mode,
            order=bound.order,
            seed=bound.seed,
            seed_origin=bound.seed_origin,
            seq=bound.view.seq,
            as_of=_moment(at.as_of_given),
            known_at=_moment(at.known_at_given),
            valid_at=_moment(at.valid_at_given),
            query_time=from_us(at.query_time_us),
            analysis=_analysis(bound),
            counts=Counts(
                stored=scan.stored,
                eligible=scan.eligible,
                folded=sum(len(hit.repeats) + hit.repeats_more for hit in results),
                scored=scan.scored,
                walked=scan.walked,
                returned=len(results),
                below_min_score=scan.below_min_score,
                approximate=is_approximate(scan),
            ),
            formula=_formula(bound, scan),
            timings_ms={},
            confidence=certainty,
            abstained=abstained,
            nearest_misses=hits if abstained else (),
            degraded=_degraded(bound, scan, hits),
            min_confidence=self.request.min_confidence,
            min_score=bound.query.ranking.min_score,
        )

    def warnings(
        self, scan: Scan, certainty: float | None, later: Sequence[str]
    ) -> tuple[str, ...]:
        """Warnings of the request and of the scan."""
        found = [*self.request.warnings, *later]
        if is_approximate(scan):
            found.append(APPROXIMATE)
        if self.request.min_confidence is not None and certainty is None:
            found.append("min_confidence held nothing back: words or meaning were not compared")
        return tuple(found)


def _best_score(bound: BoundQuery, scan: Scan) -> float | None:
    """The best score where `recall.min_score` left no result."""
    if scan.rows or not scan.below_min_score:
        return None
    rows = bound.scan(ranking=bound.query.ranking.without_min_score(), limit=1).rows
    return rows[0].final_score if rows else None


def _hits(bound: BoundQuery, scan: Scan) -> tuple[tuple[RecallHit, ...], list[str]]:
    """The results as hits, and warnings of what replaced them later than the time of the
    request."""
    request, view = bound.request, bound.view
    namespace, moments = request.namespace, request.moments
    rows = scan.rows[: request.limit]
    stored, replacing = view.recalled(namespace, [row.id for row in rows])
    known = as_known(view, namespace, [stored[row.id] for row in rows if row.id in stored], moments)
    memories = {memory.id: memory for memory in known}
    ids = [id_text("mem", row.id) for row in rows]
    replaced = replaced_as_known(view, namespace, [id_text("mem", id) for id in replacing], moments)
    with_question = [
        id for id, row in zip(ids, rows, strict=True) if row.nearest_question is not None
    ]
    questions = view.questions(namespace, with_question) if with_question else {}
    vectors = view.vectors(namespace, ids) if request.include_vectors and ids else {}
    repeats = repeats_of(bound.session, view, namespace, ids, moments.known_at_us, bound.filter)
    explainer = bound.explainer(scan)

    def hit(id: str, row: ScanRow) -> RecallHit:
        memory = memories[id]
        nearest = row.nearest_question
        question = None if nearest is None else questions[id][nearest[0]]
        embedding: Any = UNSET
        if request.include_vectors:
            vector = vectors.get(id)
            embedding = None if vector is None else tuple(memoryview(vector[1]).cast("f"))
        others, more = repeats.get(id, ((), 0))
        return RecallHit(
            memory=memory,
            score=row.final_score,
            final=row.final_score,
            similarity=explainer.similarity(row),
            reason=partial(explainer.reason, row, memory, replaced.get(id, ()), question),
            embedding=embedding,
            repeats=others,
            repeats_more=more,
        )

    hits = tuple(hit(id, row) for id, row in zip(ids, rows, strict=True))
    return hits, list(later_updates(view, memories.values(), moments))


def _degraded(bound: BoundQuery, scan: Scan, hits: Sequence[RecallHit]) -> tuple[Degradation, ...]:
    """Degradations that lie in the data."""
    found = ahead_notice(bound.view.last_recorded_us, bound.session.now_us())
    if scan.unembedded:
        detail = "eligible memories have no vector yet: found by words only"
        found.append(Degradation(code="unembedded_skipped", detail=detail, count=scan.unembedded))
    if bound.query.rerank_scores.degraded is not None:
        found.append(bound.query.rerank_scores.degraded)
    pending = sum(hit.memory.processing == "pending" for hit in hits)
    if pending:
        detail = "results have unfinished jobs; run `vestig housekeeping enrich`"
        found.append(Degradation(code="enrichment_pending", detail=detail, count=pending))
    return tuple(found)


def _analysis(bound: BoundQuery) -> Analysis:
    return Analysis(
        keywords=bound.query.keywords,
        windows=bound.query.windows,
        entities=bound.entities,
        available=tuple(bound.available),
        weights=bound.shares(),
    )


def _formula(bound: BoundQuery, scan: Scan) -> Formula:
    ranking = bound.query.ranking
    scores = ranking.scores
    if ranking.base == "linear":
        bias = {
            origin.value: own["bias"]
            for origin, own in zip(OriginType, scores["weights"], strict=True)
        }
        weighed = ranking.weighed
    else:
        bias = None
        weighed = frozenset(name for name, share in bound.shares().items() if share != 0)
    return Formula(
        base=ranking.base,
        bias=bias,
        pool=ranking.pool(bound.request.limit),
        path_power=scores["path_power"],
        tracerank_power=scores["tracerank_power"],
        association=scores["association"],
        content_weight=scores["content_weight"],
        query_weight=scores["question_weight"],
        summary_prior=scores["summary_prior"],
        normalisers={
            name: most
            for name, most in by_term(scan.maxima).items()
            if most is not None and name in weighed
        },
    )


def _moment(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)


def _least_confidence(session: Session, config: Config, request: Request) -> Request:
    """The request with the threshold of the configuration where the call names none.

    Raises:
        ValidationError: the call names one, and the profile has no confidence.
    """
    named, configured = request.min_confidence, config.settings.recall.min_confidence
    if named is None and configured is None:
        return request
    if ranking_of(session, config).has_confidence:
        least = configured if named is None else named
        return msgspec.structs.replace(request, min_confidence=least)
    if named is None:
        return request
    raise ValidationError(
        "min_confidence",
        named,
        "None here",
        f"the profile {config.profile} has no confidence: use one that ranks by words and"
        " meaning together (ranking.base: linear), such as default",
    )


def recall(
    session: Session,
    arguments: RecallRequest,
    *,
    overrides: Mapping[str, Any] | None = None,
    profile: object = None,
) -> RecallResult:
    """The memories that answer a question.

    Args:
        overrides: keys of the configuration for this call.
        profile: a recall profile in place of the store's.
    """
    if profile is not None and not isinstance(profile, str):
        raise ValidationError("profile", profile, "the name of a recall profile")
    config = session.effective(overrides, profile)
    check_reranker(session.reranker, config.settings)
    request = _least_confidence(session, config, request_of(session, config, arguments))
    with session.operation("recall"):
        result = _Recall(session, config, request).run()
        session.metrics.add("vestig_queries_total", source="recall")
        return result
