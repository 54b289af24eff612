"""The ranking of a configuration, as the core takes it, made once for each; and the scores of a
cross-encoder for the best few.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from vestig.config import Config, Settings
from vestig.config.recall_sections import ReasonSettings, UsageSettings
from vestig.config.signals import KINDS, LATE_TERMS
from vestig.config.weights import METADATA, weights_of
from vestig.errors import ProviderError
from vestig.ids import id_bytes, id_text
from vestig.ports import ScanFunction, ScanRanking, ScanRequest
from vestig.recall.confidence import ROWS_READ
from vestig.recall.reason import RERANK
from vestig.recall.unread import UnreadError
from vestig.recall.versions import ROWS_MOVED
from vestig.rerankers.checked import scores_within
from vestig.session.embedding import embedded_texts
from vestig.session.session import Session
from vestig.store.projection.scan_objects import Ranking as CoreRanking
from vestig.store.projection.scan_objects import RankingFields, TraceFields, WalkFields
from vestig.store.records.reads import LedgerView
from vestig.telemetry import error_type
from vestig.types import Degradation, EventType

POOL_MIN: Final = 50
POOL_PER_RESULT: Final = 5
_CACHED_MAX: Final = 64
_RECENCY: Final = METADATA.index("recency")
# TraceRank puts no memory before one that scores more than e to this power times as much without
# it: use breaks ties among what fits, and never lifts what does not.
_TRACERANK_BOUND: Final = 0.5
# Days in which nearness to a window that is open at one end falls to 1/e: "since March" means the
# weeks behind it more than the years.
_OPEN_SCALE_DAYS: Final = 30.0
# What `ranking.enabled: false` ranks by.
_BY_COSINE: Final[dict[str, Any]] = {
    "base": "semantic",
    "tracerank_power": 1.0,
    "association": 0.0,
    "alpha": 0.0,
    "questions": False,
    "start_enabled": False,
    "summary_prior": 0.0,
    "expand_summaries": False,
}


class Ranking(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The part of a configuration that decides ranks."""

    fields: RankingFields
    # the object that the core made of them and ranks by
    core: ScanRanking
    # the same by all terms but that of a cross-encoder, without walk, TraceRank and summaries: it
    # chooses what the cross-encoder reads; None = that term has no weight
    core_for_reranking: ScanRanking | None
    min_score: float | None
    direct_pool: str | int
    mode: str
    order: str
    seed: int | None
    # how many memories the walk adds beside the results
    associated: int
    # whether the newest of several versions comes first
    newer_first: bool
    # what a reason holds
    reasons: ReasonSettings
    # terms that weigh something, where terms are summed
    weighed: frozenset[str]
    # how many memories a cross-encoder reads
    rerank_pool: int

    @cached_property
    def base(self) -> str:
        """Where the final score starts from."""
        return self.fields.base

    @cached_property
    def meta_weights(self) -> dict[str, float]:
        """Weights of the metadata before unavailable signals are left out."""
        return dict(zip(METADATA, self.fields.meta_weights, strict=True))

    @cached_property
    def counts_recency(self) -> bool:
        """Return whether recency weighs something in the metadata."""
        return bool(self.fields.meta_weights[_RECENCY])

    @cached_property
    def counts_words(self) -> bool:
        """Return whether words alone can rank."""
        return self.base == "linear" and self.counts("words")

    @cached_property
    def counts_tokens(self) -> bool:
        """Return whether vectors of word pieces are compared."""
        return self.base == "linear" and any(map(self.counts, LATE_TERMS))

    @cached_property
    def counts_topic(self) -> bool:
        """Return whether memories are compared with the topic of the query."""
        return self.base == "linear" and self.counts("topic")

    @cached_property
    def counts_states(self) -> bool:
        """Return whether hidden states of the query's word pieces are looked at."""
        return self.counts_tokens or self.counts_topic

    @cached_property
    def has_confidence(self) -> bool:
        """Return whether its results have a confidence."""
        return self.counts_words

    def rows_for(self, limit: int) -> int:
        """How many rows are ranked for so many results: one more, which tells if there is another
        page; confidence and the newest of several versions look at the best few."""
        least = max(limit + 1, ROWS_READ) if self.has_confidence else limit + 1
        return max(least, ROWS_MOVED) if self.newer_first else least

    def counts(self, term: str) -> bool:
        """Return whether a term weighs something, where terms are summed."""
        return self.base != "linear" or term in self.weighed

    def pool(self, limit: int) -> int | str | None:
        """How many direct candidates; None = all."""
        if self.direct_pool == "all":
            return None
        if self.direct_pool == "auto":
            return max(POOL_MIN, POOL_PER_RESULT * limit)
        return self.direct_pool


class Rankings:
    """The rankings of the configurations that an open store has recalled with."""

    def __init__(self) -> None:
        # id of a configuration → (it, its ranking)
        self._made: dict[int, tuple[Config, Ranking]] = {}

    def of(self, config: Config) -> Ranking:
        """The ranking of a configuration, made once."""
        entry = self._made.get(id(config))
        if entry is None or entry[0] is not config:
            if len(self._made) >= _CACHED_MAX:
                self._made.clear()
            entry = self._made[id(config)] = (config, ranking_of_settings(config.settings))
        return entry[1]

    def drop(self, _seq: int, /) -> None:
        """A ranking holds nothing of memories."""


def ranking_of(session: Session, config: Config) -> Ranking:
    """The ranking of a configuration; `Session` has one object for equal configurations."""
    return session.cache(Rankings).of(config)


def ranking_of_settings(settings: Settings) -> Ranking:
    """The ranking of settings, made anew."""
    walk, final, given = settings.walk, settings.ranking, settings.reference
    questions = settings.questions
    given_fields = RankingFields(
        base=final.base,
        weights=[weights_of(settings, kind) for kind in KINDS],
        trace=_trace(settings.usage),
        tracerank_power=final.tracerank_power,
        tracerank_bound=_TRACERANK_BOUND,
        path_power=final.path_power,
        association=final.association,
        alpha=given.alpha_meta,
        meta_weights=(
            given.keyword_weight,
            given.temporal_weight,
            given.entity_weight,
            given.recency_weight,
        ),
        keyword_mode=given.keyword_mode,
        entity_mode=given.entity_mode,
        recency_tau_days=given.recency_tau_days,
        open_scale_days=_OPEN_SCALE_DAYS,
        content_weight=questions.content_weight,
        question_weight=questions.question_weight,
        questions=questions.enabled,
        start_enabled=walk.start.enabled,
        start_limit=walk.start.limit,
        walk=_walk(settings) if final.enabled and walk.enabled else None,
        summary_prior=settings.recall.summary_prior,
        expand_summaries=settings.recall.expand_summaries,
        late_pool=settings.signals.late.pool,
        sittings=settings.signals.sittings.enabled,
    )
    # without a ranking: every eligible memory, max(0, cosine) · TraceRank
    fields = given_fields if final.enabled else msgspec.structs.replace(given_fields, **_BY_COSINE)
    weighed = frozenset[str]().union(*fields.weights)
    reranks = fields.base == "linear" and RERANK in weighed
    return Ranking(
        fields=fields,
        core=CoreRanking(fields),
        core_for_reranking=_for_reranking(fields) if reranks else None,
        min_score=settings.recall.min_score,
        direct_pool=final.pool if final.enabled else "all",
        mode=walk.mode,
        order=walk.order,
        seed=walk.seed,
        associated=walk.associated,
        newer_first=fields.base == "linear" and final.newer_first,
        reasons=settings.recall.reasons,
        weighed=weighed,
        rerank_pool=settings.signals.rerank.pool,
    )


def _for_reranking(fields: RankingFields) -> CoreRanking:
    without = [
        {name: weight for name, weight in own.items() if name != RERANK} for own in fields.weights
    ]
    return CoreRanking(
        msgspec.structs.replace(
            fields,
            weights=without,
            walk=None,
            start_enabled=True,
            tracerank_power=0.0,
            association=0.0,
            summary_prior=0.0,
            expand_summaries=False,
        )
    )


def _walk(settings: Settings) -> WalkFields:
    walk, related = settings.walk, settings.links.related
    return WalkFields(
        **_named_alike(walk, WalkFields),
        deterministic=walk.mode == "deterministic",
        threshold=walk.deterministic_threshold,
        theta=related.similarity_threshold,
        mentions="MENTIONS" in walk.edge_types,
        related="RELATED" in walk.edge_types,
        max_edges=related.max_edges_per_memory,
    )


def _trace(usage: UsageSettings) -> TraceFields:
    alike = _named_alike(usage, TraceFields)
    weights = [usage.event_weights.get(kind, 0.0) for kind in EventType]
    return TraceFields(
        **alike | {"event_weights": weights},
        spacing_enabled=usage.spacing.enabled,
        spacing_bonus=usage.spacing.bonus,
        spacing_days=usage.spacing.spacing_days,
        connectivity_enabled=usage.graph_connectivity_enabled,
    )


def _named_alike(section: msgspec.Struct, fields: type[msgspec.Struct]) -> dict[str, Any]:
    """The settings that the core reads by the names that they have in a section."""
    names = set(fields.__struct_fields__) & set(section.__struct_fields__)
    return {name: getattr(section, name) for name in names}


class TextsToScore(NamedTuple):
    """Memories that the reranker has to score for a query.

    Args:
        texts: of them, as they are embedded.
        known: where their scores are missing.
        timeout_s: seconds that the reranker may take for one query in all.
    """

    query: str
    ids: list[str]
    texts: list[str]
    known: RerankScores
    timeout_s: float

    def ask(self, session: Session) -> None:
        """Lets the reranker score them; where it fails, the call goes on without it."""
        self.known.ask(session, self)


class RerankScores:
    """The scores of one call, by memory id: each memory is read once, however often it is ranked.

    Args:
        beside: those of the call's own question, where this is another that is compared with it:
            both share the time, and what fails here is said there.
    """

    def __init__(self, beside: RerankScores | None = None) -> None:
        self.scores: dict[str, float] = {}
        self.missing = False
        self.degraded: Degradation | None = None
        self.spent_ms = 0.0
        self.beside = beside
        self._others: dict[str, RerankScores] = {}

    def of_text(self, text: str) -> RerankScores:
        """Those of another question that is compared with the call's own; kept, so that a read that
        begins again finds what was scored before."""
        if text not in self._others:
            self._others[text] = RerankScores(beside=self)
        # a reranker that failed reads no more in a call
        self._others[text].missing |= self.missing
        return self._others[text]

    def ask(self, session: Session, wanted: TextsToScore) -> None:
        """Adds the reranker's scores of these memories; where it fails, or has taken `timeout_s`
        seconds in all, the call goes on without it (`degraded`)."""
        assert session.reranker is not None, "checked before the query was analysed"
        started = time.perf_counter()
        timed = self if self.beside is None else self.beside
        timeout_s = wanted.timeout_s
        left_s = timeout_s - timed.spent_ms / 1e3
        try:
            scores = scores_within(session.reranker, wanted.query, wanted.texts, left_s, timeout_s)
        except ProviderError as error:
            kind = error_type(error)
            session.metrics.add(
                "vestig_errors_total",
                operation="rerank",
                error_type="timeout" if kind == "timeout" else "network",
            )
            self._fail(error)
        else:
            self.scores.update(zip(wanted.ids, scores, strict=True))
        timed.spent_ms += (time.perf_counter() - started) * 1e3

    def _fail(self, error: ProviderError) -> None:
        told = self if self.beside is None else self.beside
        self.missing = told.missing = True
        # the first scan is that of the results; scores that it had stay in them
        without = "what else was compared went" if told.scores else "ranked"
        detail = f"{error}: {without} without it"
        told.degraded = Degradation(code="partial_backend", detail=detail)


def score_pool(
    view: LedgerView,
    namespace: str,
    query: str,
    pool: list[bytes],
    known: RerankScores,
    timeout_s: float,
) -> list[tuple[bytes, float]] | None:
    """The scores of these memories; None = the term is unavailable.

    Args:
        timeout_s: seconds that the reranker may take for one query in all.

    Raises:
        UnreadError: the reranker has to read some of them first.
    """
    if not query.strip():
        return None
    ids = [id_text("mem", id) for id in pool]
    unknown = [id for id in ids if id not in known.scores]
    if known.missing and (unknown or not ids):
        return None
    if unknown:
        memories = view.memories(namespace, unknown)
        texts = embedded_texts(view, memories)
        ids = [one.id for one in memories]
        raise UnreadError([TextsToScore(query, ids, texts, known, timeout_s)])
    return [(id_bytes(id), known.scores[id]) for id in ids]


def rerank_pool(
    scan: ScanFunction, seq: int, request: ScanRequest, ranking: ScanRanking, count: int
) -> list[bytes]:
    """The best memories by all other terms, in any order.

    Args:
        ranking: by these terms, without a walk and without TraceRank.
    """
    wanted = msgspec.structs.replace(request, ranking=ranking, limit=count, pool=count, watch=b"")
    return [row.id for row in scan(seq, wanted).rows]
