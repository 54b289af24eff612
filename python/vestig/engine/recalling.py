"""Recall: one embedding, one crossing into the core, one read of the ledger (R-01 … R-18)."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vestig.changes import AccessTouch
from vestig.config import Config
from vestig.engine.context import Context
from vestig.engine.embedding import check_identity
from vestig.engine.ranking import recipe
from vestig.engine.reading import later_updates, replaced_as_known
from vestig.errors import ProviderError, StoreLockedError, ValidationError
from vestig.ids import id_bytes, id_text
from vestig.language import temporal, words
from vestig.ports import LedgerView, ScanRequest
from vestig.recall.reason import Question, at_known_time, explain
from vestig.recall.request import RecallPlan, RecallRequest, plan
from vestig.results import Analysis, Counts, Formula, RecallHit, RecallResult
from vestig.times import from_us
from vestig.types import Degradation, Memory, TemporalWindow

__all__ = ["check_fields", "recall"]


# places in `_core.SIGNALS`
_COSINE: Final = 0
_LEXICAL: Final = 5


class _Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What one consistent read brought home."""

    scan: Any
    memories: dict[str, Memory]
    replaced: dict[str, list[str]]
    vectors: dict[str, tuple[str, bytes]]
    warnings: tuple[str, ...]
    seq: int
    score_ms: float
    load_ms: float


def _milliseconds(since: float) -> float:
    return (time.perf_counter() - since) * 1e3


def _windows(query: str, at_us: int, zone: str) -> list[TemporalWindow]:
    return [
        TemporalWindow(
            text=found.text,
            start=None if found.window_start_us is None else from_us(found.window_start_us),
            end=None if found.window_end_us is None else from_us(found.window_end_us),
            grain=found.grain,
        )
        for found in temporal.find_windows(query, at_us, zone=zone)
        if found.resolved
    ]


class _Recall:
    """One call, stage by stage."""

    def __init__(self, context: Context, config: Config, checked: RecallPlan) -> None:
        self.context = context
        self.config = config
        self.settings = config.settings
        self.plan = checked
        self.timings: dict[str, float] = {}
        self.degraded: list[Degradation] = []
        self.recipe = recipe(context, config)
        self.ranking = self.recipe.ranking(checked.limit, checked.moments.query_time_us)
        self.linear = self.recipe.base == "linear"

    def vector(self) -> bytes | None:
        """The query's vector; without one, words alone can still answer (`partial_backend`)."""
        if self.plan.query_vector is not None:
            return self.plan.query_vector
        try:
            check_identity(self.context)
            return self.context.embed([self.plan.query])[0]
        except ProviderError as error:
            if not (self.linear and self.settings.m5.signals.lexical.enabled):
                raise
            self.degraded.append(
                Degradation(
                    code="partial_backend",
                    detail=f"no query vector ({type(error).__name__}): ranked by words alone",
                )
            )
            return None

    def run(self) -> RecallResult:
        """All stages."""
        started = time.perf_counter()
        vector = self.vector()
        self.timings["embed"] = _milliseconds(started)
        mark = time.perf_counter()
        question, keywords = self.analyse(vector is not None)
        self.timings["analyse"] = _milliseconds(mark)
        mark = time.perf_counter()
        scored = self.context.keeper.run(lambda view, _: self.score(view, vector))
        # waiting for a consistent state counts as scoring
        self.timings["score"] = _milliseconds(mark) - scored.load_ms
        self.timings["rank"] = scored.load_ms
        mark = time.perf_counter()
        question = msgspec.structs.replace(question, terms=scored.scan.terms)
        hits = self.hits(scored, question)
        warnings = [*self.plan.warnings, *scored.warnings]
        self.touch(hits, warnings)
        self.notice(scored, hits)
        result = self.result(scored, hits, question, keywords, warnings)
        result.timings_ms["format"] = _milliseconds(mark)
        result.timings_ms["total"] = _milliseconds(started)
        return result

    def analyse(self, has_vector: bool) -> tuple[Question, tuple[str, ...]]:
        """Keywords and windows of the query (R-03)."""
        settings, at = self.settings, self.plan.moments
        found = words.keywords(
            self.plan.query,
            limit=settings.keywords.max_per_memory,
            extra_stopwords=settings.keywords.stopwords,
        )
        question = Question(
            keywords={word: frozenset(words.terms(word)) for word in found},
            terms=(),
            windows=_windows(self.plan.query, at.query_time_us, settings.time.zone),
            weights=self.recipe.weights if self.linear else [{"bias": 0.0}] * 4,
            has_vector=has_vector,
            query_time=from_us(at.query_time_us),
            known_at=from_us(at.known_at_us),
        )
        return question, tuple(found)

    def score(self, view: LedgerView, vector: bytes | None) -> _Scored:
        """The scan and the texts, of one seq."""
        started = time.perf_counter()
        checked, namespace = self.plan, self.plan.namespace
        request = ScanRequest(
            query={"vector": vector, "text": checked.query if self.linear else None},
            filter=self.filter(view),
            ranking=self.ranking,
            walk=None,
            trace=self.recipe.trace,
        )
        scan = self.context.keeper.scan(view.seq, request)
        score_ms = _milliseconds(started)
        started = time.perf_counter()
        ids = [id_text("mem", row.id) for row in scan.rows]
        memories = {memory.id: memory for memory in view.memories(namespace, ids)}
        if checked.moments.past:
            known = checked.moments.known_at_us
            ends = view.ends_before(namespace, known)
            reinforced = view.reinforcements_at(namespace, ids, known)
            for id, memory in memories.items():
                memories[id] = at_known_time(
                    memory, ends=ends, reinforced=reinforced, known_at=from_us(known)
                )
        return _Scored(
            scan=scan,
            memories=memories,
            replaced=replaced_as_known(view, namespace, ids, checked.moments),
            vectors=view.vectors(namespace, ids) if checked.include_vectors and ids else {},
            warnings=later_updates(view, memories.values(), checked.moments),
            seq=view.seq,
            score_ms=score_ms,
            load_ms=_milliseconds(started),
        )

    def filter(self, view: LedgerView) -> dict[str, Any]:
        """The filters that only the ledger can resolve, as ids."""
        checked, namespace = self.plan, self.plan.namespace
        chosen = dict(checked.filter)
        wanted: set[str] | None = None
        if checked.ids is not None:
            wanted = {full for id in checked.ids for full in self.known(view, id)}
        if checked.metadata is not None:
            matching = set(view.ids_with_metadata(namespace, checked.metadata))
            wanted = matching if wanted is None else wanted & matching
        if wanted is not None:
            chosen["ids"] = b"".join(id_bytes(id) for id in sorted(wanted))
        if checked.exclude_ids:
            excluded = {full for id in checked.exclude_ids for full in self.known(view, id)}
            chosen["exclude_ids"] = b"".join(id_bytes(id) for id in sorted(excluded))
        if checked.moments.past:
            ends = view.ends_before(namespace, checked.moments.known_at_us)
            chosen["ends"] = [(id_bytes(id), end) for id, end in ends.items()]
        return chosen

    def known(self, view: LedgerView, id: str) -> list[str]:
        """Ids that an id or prefix stands for; an unknown one matches nothing (R-02)."""
        return view.ids_with_prefix(self.plan.namespace, id, 1_000)

    def hits(self, scored: _Scored, question: Question) -> list[RecallHit]:
        """Rows and memories joined, with reasons."""
        hits = []
        for row in scored.scan.rows:
            memory = scored.memories[id_text("mem", row.id)]
            reason = explain(
                row, memory, scored.replaced.get(memory.id, ()), question, self.recipe.explained
            )
            hits.append(
                RecallHit(
                    memory=memory,
                    score=row.final_score,
                    similarity=reason.similarity,
                    reason=reason,
                    embedding=self.embedding(scored, memory.id),
                )
            )
        return hits

    def embedding(self, scored: _Scored, id: str) -> Any:
        """A hit's vector as numbers; UNSET unless asked for, None when there is none."""
        if not self.plan.include_vectors:
            return msgspec.UNSET
        stored = scored.vectors.get(id)
        return None if stored is None else tuple(memoryview(stored[1]).cast("f"))

    def touch(self, hits: list[RecallHit], warnings: list[str]) -> None:
        """Counts the access of what is returned (L-12); a busy store drops it with a warning."""
        if not self.plan.touch or not hits:
            return
        touch = AccessTouch(
            memory_ids=tuple(hit.id for hit in hits), accessed_us=self.context.now_us()
        )
        try:
            self.context.ledger.touch(self.plan.namespace, touch)
        except StoreLockedError:
            warnings.append("the access was not counted: the store is locked")

    def notice(self, scored: _Scored, hits: list[RecallHit]) -> None:
        """Degradations that lie in the data."""
        self.degraded.extend(self.context.keeper.take_degraded())
        skipped = scored.scan.unembedded
        if skipped:
            detail = "eligible memories have no vector yet: found by words only"
            self.degraded.append(
                Degradation(code="unembedded_skipped", detail=detail, count=skipped)
            )
        pending = sum(hit.memory.processing == "pending" for hit in hits)
        if pending:
            detail = "results have unfinished jobs; run `vestig housekeeping enrich`"
            self.degraded.append(
                Degradation(code="enrichment_pending", detail=detail, count=pending)
            )
        self.context.metrics.degraded(self.degraded)

    def result(
        self,
        scored: _Scored,
        hits: list[RecallHit],
        question: Question,
        keywords: tuple[str, ...],
        warnings: list[str],
    ) -> RecallResult:
        """The answer (R-17)."""
        at, scan = self.plan.moments, scored.scan
        present = (("keyword", keywords), ("temporal", question.windows))
        available = [name for name, found in present if found]
        return RecallResult(
            results=tuple(hits),
            query=self.plan.query,
            namespace=self.plan.namespace,
            profile=self.config.profile,
            seq=scored.seq,
            as_of=_moment(at.as_of_given),
            known_at=_moment(at.known_at_given),
            valid_at=_moment(at.valid_at_given),
            query_time=from_us(at.query_time_us),
            analysis=Analysis(
                keywords=keywords,
                windows=tuple(question.windows),
                available=tuple(available),
            ),
            counts=Counts(
                stored=scan.stored,
                eligible=scan.eligible,
                scored=scan.scored,
                returned=len(hits),
                below_min_score=scan.below_min_score,
                approximate=False,
            ),
            formula=Formula(
                base=self.ranking["base"],
                pool=self.ranking["pool"],
                tracerank_power=self.ranking["tracerank_power"],
                normalisers={"cosine": scan.maxima[_COSINE], "lexical": scan.maxima[_LEXICAL]},
            ),
            timings_ms=self.timings,
            degraded=tuple(self.degraded),
            warnings=tuple(warnings),
        )


def _moment(us: int | None) -> Any:
    return None if us is None else from_us(us)


def check_fields(given: Mapping[str, Any]) -> None:
    """An unknown field is answered with the nearest valid name (B-13)."""
    valid = RecallRequest.__struct_fields__
    for name, value in given.items():
        if name not in valid:
            near = difflib.get_close_matches(name, [*valid, "config", "profile"], 1)
            hint = f"did you mean {near[0]}?" if near else ""
            raise ValidationError(name, type(value).__name__, "a field of recall", hint)


def recall(context: Context, request: RecallRequest, overrides: Any, profile: Any) -> RecallResult:
    """The routine behind `recall` and `search`."""
    if profile is not None and not isinstance(profile, str):
        raise ValidationError("profile", profile, "the name of a recall profile")
    config = context.effective(overrides, profile)
    settings = config.settings
    checked = plan(
        request,
        now_us=context.now_us(),
        limit_default=settings.recall.default_limit,
        query_chars_max=settings.recall.max_query_chars,
        namespace=context.namespace,
        include_expired=settings.m3.retrieval.include_expired,
        dimensions=context.embedder.dimensions,
    )
    with context.operation("recall"):
        result = _Recall(context, config, checked).run()
        for stage, spent in result.timings_ms.items():
            context.metrics.observe("recall", stage, spent / 1e3)
        context.metrics.add("vestig_queries_total", source="recall")
        return result
