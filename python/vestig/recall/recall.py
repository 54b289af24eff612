"""Recall: one embedding, one crossing into the core, one read of the ledger."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from vestig.answers import Analysis, Counts, Formula, RecallHit, RecallResult, WhyNot
from vestig.changes import AccessTouch
from vestig.config import Config
from vestig.config.signals import by_term
from vestig.errors import ProviderError, StoreLockedError, ValidationError
from vestig.ids import id_text
from vestig.memories.read import as_known, later_updates, replaced_as_known
from vestig.ports import LedgerView, Pieces
from vestig.recall.confidence import confidence
from vestig.recall.query import Asked, Asking, analysed, planned
from vestig.recall.ranking import recipe
from vestig.recall.reason import Question, explain
from vestig.recall.request import RecallPlan, RecallRequest
from vestig.session.embedding import check_identity, query_vectors
from vestig.session.opening import check_reranker
from vestig.session.session import Session
from vestig.times import from_us
from vestig.types import Degradation, Memory, OriginType

__all__ = ["recall"]


class _Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What one consistent read brought home."""

    asking: Asking
    scan: Any
    # those of the scan that were asked for
    rows: list[Any]
    confidence: float | None
    abstained: bool
    question: Question
    ids: list[str]
    memories: dict[str, Memory]
    replaced: dict[str, list[str]]
    questions: dict[str, list[str]]
    vectors: dict[str, tuple[str, bytes]]
    why_not: tuple[WhyNot, ...]
    # a `rendering.Gathered`, where a context is asked for
    gathered: Any
    warnings: tuple[str, ...]
    seq: int
    analyse_ms: float
    score_ms: float
    # signals that are made outside of the core, by name
    extras_ms: dict[str, float]
    load_ms: float


def _milliseconds(since: float) -> float:
    return (time.perf_counter() - since) * 1e3


def _scored(view: LedgerView, asking: Asking, analyse_ms: float) -> _Scored:
    """The scan and the texts, of one seq."""
    started = time.perf_counter()
    checked = asking.asked.plan
    namespace = checked.namespace
    expected = None
    if checked.expect:
        from vestig.recall.why_not import expected_of, why_not

        expected = expected_of(asking)
    scan = asking.run(
        limit=asking.recipe.looked_at(checked.limit),
        watch=b"" if expected is None else expected.watch,
    )
    rows = scan.rows[: checked.limit]
    told = confidence(scan) if asking.has_confidence else None
    least = checked.min_confidence
    abstained = least is not None and told is not None and told < least
    score_ms = _milliseconds(started)
    extras_ms = dict(asking.spent)
    question = asking.question(scan.terms)
    started = time.perf_counter()
    raw = [row.id for row in rows]
    found, replacing = view.recalled(namespace, raw)
    stored = [found[id] for id in raw if id in found]
    ids = [id_text("mem", id) for id in raw]
    memories = {one.id: one for one in as_known(view, namespace, stored, checked.moments)}
    asked_of = [id for id, row in zip(ids, rows, strict=True) if row.hypothetical is not None]
    missing = () if expected is None else why_not(asking, scan, expected, abstained)
    gathered = None
    if checked.budget is not None:
        from vestig.recall.context.entries import gather

        gathered = gather(asking, rows, memories, question)
    return _Scored(
        asking=asking,
        scan=scan,
        rows=rows,
        confidence=told,
        abstained=abstained,
        question=question,
        ids=ids,
        memories=memories,
        replaced=replaced_as_known(
            view, namespace, [id_text("mem", id) for id in replacing], checked.moments
        ),
        questions=view.questions(namespace, asked_of) if asked_of else {},
        vectors=view.vectors(namespace, ids) if checked.include_vectors and ids else {},
        why_not=missing,
        gathered=gathered,
        warnings=later_updates(view, memories.values(), checked.moments),
        seq=view.seq,
        analyse_ms=analyse_ms,
        score_ms=score_ms,
        extras_ms=extras_ms,
        load_ms=_milliseconds(started),
    )


class _Recall:
    """One call, stage by stage."""

    def __init__(self, session: Session, config: Config, checked: RecallPlan) -> None:
        self.session = session
        self.config = config
        self.plan = checked
        self.timings: dict[str, float] = {}
        self.degraded: list[Degradation] = []

    def vectors(self) -> tuple[bytes | None, Pieces | None]:
        """The query's vector and those of its word pieces; without any, words alone can still
        answer (`partial_backend`)."""
        if self.plan.query_vector is not None:
            return self.plan.query_vector, None
        made = recipe(self.session, self.config)
        # a switch that is tried may ask for what the call itself does not use
        late = made.counts_tokens or bool(self.plan.expect)
        try:
            check_identity(self.session)
            return query_vectors(self.session, self.plan.query, late=late)
        except ProviderError as error:
            if not made.counts_words:
                raise
            self.degraded.append(
                Degradation(
                    code="partial_backend",
                    detail=f"no query vector ({type(error).__name__}): ranked by words alone",
                )
            )
            return None, None

    def run(self) -> RecallResult:
        """All stages."""
        started = time.perf_counter()
        vector, pieces = self.vectors()
        self.timings["embed"] = _milliseconds(started)
        mark = time.perf_counter()
        asked = analysed(self.session, self.config, self.plan, vector, pieces)
        analyse_ms = _milliseconds(mark)
        mark = time.perf_counter()
        found = self.session.keeper.run(lambda view, core: self.read(view, core, asked))
        self.timings["analyse"] = analyse_ms + found.analyse_ms
        # waiting for a consistent state counts as scoring
        apart = found.load_ms + found.analyse_ms + sum(found.extras_ms.values())
        self.timings["score"] = _milliseconds(mark) - apart
        self.timings.update(found.extras_ms)
        self.timings["rank"] = found.load_ms
        mark = time.perf_counter()
        hits = self.hits(found)
        notes = getattr(found.scan, "notes", ())
        warnings = [*self.plan.warnings, *found.warnings, *notes]
        if self.plan.min_confidence is not None and found.confidence is None:
            warnings.append("min_confidence held nothing back: words or meaning were not compared")
        self.touch([] if found.abstained else hits, warnings)
        self.notice(found, hits)
        result = self.attached(self.result(found, hits, warnings), found)
        result.timings_ms["format"] = _milliseconds(mark)
        result.timings_ms["total"] = _milliseconds(started)
        return result

    def read(self, view: LedgerView, core: Any, asked: Asked) -> _Scored:
        """Analysis that needs the store, the scan, the texts."""
        from vestig.recall.candidate_index import scanner

        mark = time.perf_counter()
        # what a receipt repeats, and what changes are compared with, is the exact scan
        exact = self.plan.receipt or bool(self.plan.expect)
        scan = self.session.keeper.scan if exact else scanner(self.session, view)
        asking = Asking(self.session, view, core, scan, asked)
        return _scored(view, asking, _milliseconds(mark))

    def hits(self, found: _Scored) -> list[RecallHit]:
        """Rows and memories joined, with reasons."""
        hits = []
        shown = found.asking.recipe.explained
        for id, row in zip(found.ids, found.rows, strict=True):
            memory = found.memories[id]
            reason = explain(
                row,
                memory,
                found.replaced.get(id, ()),
                found.questions.get(id, ()),
                found.question,
                shown,
            )
            hits.append(
                RecallHit(
                    memory=memory,
                    score=row.final_score,
                    similarity=reason.similarity,
                    reason=reason,
                    embedding=self.embedding(found, id),
                )
            )
        return hits

    def embedding(self, found: _Scored, id: str) -> Any:
        """A hit's vector as numbers; UNSET unless asked for, None when there is none."""
        if not self.plan.include_vectors:
            return UNSET
        stored = found.vectors.get(id)
        return None if stored is None else tuple(memoryview(stored[1]).cast("f"))

    def touch(self, hits: list[RecallHit], warnings: list[str]) -> None:
        """Counts the access of what is returned; a busy store drops it with a warning."""
        if not self.plan.touch or not hits:
            return
        touch = AccessTouch(
            memory_ids=tuple(hit.id for hit in hits), accessed_us=self.session.now_us()
        )
        try:
            self.session.ledger.touch(self.plan.namespace, touch)
        except StoreLockedError:
            warnings.append("the access was not counted: the store is locked")

    def notice(self, found: _Scored, hits: list[RecallHit]) -> None:
        """Degradations that lie in the data."""
        self.degraded.extend(self.session.keeper.take_degraded())
        skipped = found.scan.unembedded
        if skipped:
            detail = "eligible memories have no vector yet: found by words only"
            self.degraded.append(
                Degradation(code="unembedded_skipped", detail=detail, count=skipped)
            )
        if found.asking.asked.reranked.degraded is not None:
            self.degraded.append(found.asking.asked.reranked.degraded)
        pending = sum(hit.memory.processing == "pending" for hit in hits)
        if pending:
            detail = "results have unfinished jobs; run `vestig housekeeping enrich`"
            self.degraded.append(
                Degradation(code="enrichment_pending", detail=detail, count=pending)
            )
        self.session.metrics.degraded(self.degraded)

    def result(self, found: _Scored, hits: list[RecallHit], warnings: list[str]) -> RecallResult:
        """The answer."""
        at, scan, asking = self.plan.moments, found.scan, found.asking
        results = () if found.abstained else tuple(hits)
        return RecallResult(
            results=results,
            query=self.plan.query,
            namespace=self.plan.namespace,
            profile=self.config.profile,
            mode=asking.mode,
            order=asking.order,
            seed=asking.seed,
            seed_origin=asking.seed_origin,
            seq=found.seq,
            as_of=_moment(at.as_of_given),
            known_at=_moment(at.known_at_given),
            valid_at=_moment(at.valid_at_given),
            query_time=from_us(at.query_time_us),
            analysis=Analysis(
                keywords=asking.asked.keywords,
                windows=asking.asked.windows,
                entities=asking.entities,
                available=tuple(asking.available),
                weights=asking.shares(),
            ),
            counts=Counts(
                stored=scan.stored,
                eligible=scan.eligible,
                scored=scan.scored,
                walked=scan.walked,
                returned=len(results),
                below_min_score=scan.below_min_score,
                approximate=getattr(scan, "approximate", False),
            ),
            formula=_formula(asking, scan),
            timings_ms=self.timings,
            confidence=found.confidence,
            abstained=found.abstained,
            nearest_misses=tuple(hits) if found.abstained else (),
            why_not=found.why_not if self.plan.expect else UNSET,
            degraded=tuple(self.degraded),
            warnings=tuple(warnings),
        )

    def attached(self, result: RecallResult, found: _Scored) -> RecallResult:
        """The answer with its context and its receipt, where they are asked for."""
        if self.plan.budget is not None:
            from vestig.recall.context.entries import context_block

            block = context_block(
                self.session,
                found.gathered,
                returned=len(result.results),
                budget=self.plan.budget,
            )
            result = msgspec.structs.replace(result, context=block)
        if not self.plan.receipt:
            return result
        from vestig.recall.receipts import receipt_of

        receipt = receipt_of(self.session, found.asking.asked, result)
        return msgspec.structs.replace(result, receipt=receipt)


def _formula(asking: Asking, scan: Any) -> Formula:
    made = asking.recipe
    ranking = made.ranking
    bias = None
    every = made.base != "linear"
    if not every:
        bias = {
            origin.value: own["bias"]
            for origin, own in zip(OriginType, ranking["weights"], strict=True)
        }
    return Formula(
        base=made.base,
        bias=bias,
        pool=made.pool(asking.asked.plan.limit),
        path_power=ranking["path_power"],
        tracerank_power=ranking["tracerank_power"],
        association=ranking["association"],
        content_weight=ranking["content_weight"],
        query_weight=ranking["query_weight"],
        summary_prior=ranking["summary_prior"],
        normalisers={
            name: most if every or name in made.weighed else None
            for name, most in by_term(scan.maxima).items()
        },
    )


def _moment(us: int | None) -> Any:
    return None if us is None else from_us(us)


def recall(
    session: Session,
    request: RecallRequest,
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
    checked = planned(session, config, request)
    if checked.min_confidence is not None and not recipe(session, config).has_confidence:
        raise ValidationError(
            "min_confidence",
            checked.min_confidence,
            "None here",
            f"the profile {config.profile} has no confidence: use one that ranks by words and"
            " meaning together (ranking.base: linear), such as default",
        )
    with session.operation("recall"):
        result = _Recall(session, config, checked).run()
        for stage, spent in result.timings_ms.items():
            session.metrics.observe("recall", stage, spent / 1e3)
        session.metrics.add("vestig_queries_total", source="recall")
        return result
