"""Recall: request → query → scan → result, with one embedding, one crossing into the core and one
read of the ledger. Many queries share one batch of the embedder, one state and one pass over the
arrays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from vestig.answers import (
    Analysis,
    Certainty,
    ContextBlock,
    Counts,
    Formula,
    RecallHit,
    RecallResult,
    certainty_of,
)
from vestig.arguments import listed
from vestig.calls.queries import RecallRequest
from vestig.changes import AccessTouch
from vestig.config import Config
from vestig.config.signals import KINDS
from vestig.errors import Description, ProviderError, StoreLockedError, ValidationError, kind_of
from vestig.language.languages import ENGLISH, language_of
from vestig.language.text_forms import as_it_stands, plain_characters
from vestig.language.time.expressions import days_in_figures, with_named_months
from vestig.language.words import asks_for_all, states
from vestig.other_words import by_caller
from vestig.ports import Scan, TokenStates, is_approximate
from vestig.recall.found_memories import FoundMemories, found_memories
from vestig.recall.judged import Judgements
from vestig.recall.query import BoundQuery, Query, Ranked, analyse, request_of, scan_together
from vestig.recall.query_entities import names_to_embed
from vestig.recall.ranking import ranking_of
from vestig.recall.request import Request
from vestig.recall.scan import APPROXIMATE, scanner
from vestig.recall.unread import each_known, read_when_known
from vestig.session.embedding import check_identity, query_vectors
from vestig.session.filter_names import unknown_names
from vestig.session.opening import check_reranker
from vestig.session.references import resolved
from vestig.session.session import Session, ahead_notice
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection, ln
from vestig.store.records.reads import LedgerView
from vestig.telemetry import current_trace, span
from vestig.times import from_us
from vestig.types import Degradation, ItemError, Memory

if TYPE_CHECKING:
    from vestig.recall.context.entries import Material

QUERIES_MAX: Final = 1_000
# Misses that are named where nothing is a result.
NEAREST_MAX: Final = 3
# Stands for a query while the other arguments are checked.
_ANY_QUERY: Final = "-"


_FieldsAndTimes = tuple[dict[str, Any], dict[str, float]]


class OneRecall:
    """One query, stage by stage.

    Args:
        models: whether models may read the query and its memories: a language model, a reranker
            and the judge.
    """

    def __init__(
        self, session: Session, config: Config, request: Request, *, models: bool = True
    ) -> None:
        self.session = session
        self.config = config
        self.request = request
        self.degraded: list[Degradation] = []
        # of the block, where one is asked for
        self.material: Material | None = None
        self.models = models
        if models and session.has_model:
            # imported here and below: without a model nothing of it is needed
            from vestig.recall.model_queries import with_synthesized_query

            self.request, self.degraded = with_synthesized_query(session, config, request)

    def run(self) -> RecallResult:
        """All stages."""
        started = time.perf_counter()
        trace = current_trace()
        assert trace is not None, "recall is an operation"
        before = len(trace)
        (embedded_query,) = _embedded_queries([self])
        embedded = time.perf_counter()
        with span("analyse"):
            query = self.analyse(embedded_query)
        analysed = time.perf_counter()
        fields, spent = self.read_at_one_state(query)
        read = time.perf_counter()
        format_ms = spent.pop("format")
        # waiting for a consistent state counts as scoring
        score_ms = 1e3 * (read - analysed) - sum(spent.values()) - format_ms
        timings = {
            "embed": 1e3 * (embedded - started),
            "analyse": 1e3 * (analysed - embedded) + spent.pop("analyse"),
            "score": score_ms,
            **spent,
        }
        result = self.result(fields, timings)
        ended = time.perf_counter()
        timings["format"] = format_ms + 1e3 * (ended - read)
        timings["total"] = 1e3 * (ended - started)
        if self.request.trace:
            return msgspec.structs.replace(result, trace=tuple(trace.spans[before:]))
        return result

    def analyse(self, embedded: _EmbeddedQuery) -> Query:
        """The query, without anything of the store."""
        names = None
        if self.models and self.session.has_model:
            from vestig.recall.model_queries import names_by_model

            names, degraded = names_by_model(self.session, self.config, self.request.query)
            self.degraded += degraded
        query = analyse(
            self.session,
            self.config,
            self.request,
            embedded.vector,
            embedded.states,
            names=names,
            # those that a language model finds are other ones
            name_vectors=embedded.names if names is None else None,
            judgements=Judgements() if self.models else None,
        )
        return query if self.models else query.without_reranker()

    def read_at_one_state(self, query: Query) -> tuple[dict[str, Any], dict[str, float]]:
        """`read`, with what a reranker or the judge says where it needs that."""
        return read_when_known(self.session, lambda view: self.read(view, query))

    def touch(self, hits: Sequence[RecallHit]) -> tuple[str, ...]:
        """Counts the access of the results; a busy store drops it with a warning."""
        if not self.request.touch or not hits:
            return ()
        touch = AccessTouch(
            memory_ids=tuple(hit.id for hit in hits), accessed_us=self.session.now_us()
        )
        try:
            self.session.ledger.touch(self.request.namespace, touch)
        except StoreLockedError:
            return ("the access was not counted: the store is locked",)
        return ()

    def result(self, fields: dict[str, Any], timings: dict[str, float]) -> RecallResult:
        """Return what `read` found, with its times and all that degraded. The access is counted."""
        session = self.session
        degraded = [*self.degraded, *session.keeper.take_degraded(), *fields["degraded"]]
        session.metrics.degraded(degraded)
        fields["degraded"] = tuple(degraded)
        fields["warnings"] += self.touch(fields["results"])
        return RecallResult(timings_ms=timings, **fields)

    def bound(self, view: LedgerView, query: Query) -> BoundQuery:
        """The query at the state of one view."""
        # changes are compared with the exact scan
        scan = None if self.request.expect else scanner(self.session, view)
        with span("analyse"):
            return BoundQuery(self.session, view, query, scan)

    def read(self, view: LedgerView, query: Query) -> tuple[dict[str, Any], dict[str, float]]:
        """Return what was found at the state of one view, as fields of the result; and the
        milliseconds of the stages in here: `analyse`, signals that are made outside of the core,
        `rank` (texts) and `format`."""
        started = time.perf_counter()
        bound = self.bound(view, query)
        return self.fields_and_times(bound, 1e3 * (time.perf_counter() - started))

    def fields_and_times(
        self, bound: BoundQuery, analyse_ms: float
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Return what `read` returns, by the bound query."""
        request, query = self.request, bound.query
        timings = {"analyse": analyse_ms}
        expected = None
        if request.expect:
            from vestig.recall.why_not import expected_of, why_not

            expected = expected_of(bound)
        with span("score") as counts:
            ranked = bound.ranked(watch=b"" if expected is None else expected.watch)
            scan = ranked.scan
            counts.update(eligible=scan.eligible, scored=scan.scored, walked=scan.walked)
        timings |= bound.extra_ms
        if "rerank" in timings:
            timings["rerank"] += query.rerank_scores.spent_ms
        if query.judgements is not None and query.judgements.spent_ms:
            timings["judge"] = query.judgements.spent_ms
        scored = time.perf_counter()
        with span("rank") as counts:
            page = ranked.results[request.offset :]
            withheld = ranked.silent or not ranked.results
            shown = msgspec.structs.replace(ranked, results=page)
            if withheld:
                # the nearest of what a threshold left out
                nearest = (ranked.results or ranked.rows)[: min(request.limit, NEAREST_MAX)]
                shown = msgspec.structs.replace(ranked, results=nearest)
            memories = found_memories(bound, shown, beside=not withheld)
            counts["returned"] = 0 if withheld else len(memories.hits)
        missing = None if expected is None else why_not(bound, ranked, expected)
        loaded = time.perf_counter()
        timings["rank"] = 1e3 * (loaded - scored)
        fields = self.fields(bound, ranked, memories, withheld=withheld)
        fields["why_not"] = missing
        if request.budget is not None:
            fields["context"], self.material = _context(bound, shown, fields)
        timings["format"] = 1e3 * (time.perf_counter() - loaded)
        return fields, timings

    def fields(
        self,
        bound: BoundQuery,
        ranked: Ranked,
        found: FoundMemories,
        *,
        withheld: bool,
    ) -> dict[str, Any]:
        """The fields of the result without its additions.

        Args:
            withheld: no memory that was found is a result.
        """
        request, ranking, scan = self.request, bound.query.ranking, ranked.scan
        results = () if withheld else found.hits
        at = request.moments
        return {
            "results": results,
            "query": request.asked or request.query,
            "namespace": request.namespace,
            "profile": self.config.profile,
            "mode": ranking.mode,
            "order": ranking.order,
            "seed": bound.seed,
            "seed_origin": bound.seed_origin,
            "seq": bound.view.seq,
            "as_of": _moment(at.as_of_given),
            "known_at": _moment(at.known_at_given),
            "valid_at": _moment(at.valid_at_given),
            "query_time": from_us(at.query_time_us),
            "analysis": _analysis(bound),
            "counts": Counts(
                stored=scan.stored,
                eligible=scan.eligible + ranked.replaced,
                folded=0 if withheld else found.folded,
                scored=scan.scored,
                walked=scan.walked,
                returned=len(results),
                below_min_score=ranked.below_min_score,
                cut=ranked.below_cut,
                approximate=is_approximate(scan),
            ),
            "formula": _formula(bound, ranked),
            "confidence": ranked.confidence,
            "certainty": _certainty(ranked, request, found),
            "missing": _as_asked(request, bound.missing(scan, [hit.content for hit in found.hits])),
            "abstained": ranked.silent,
            "nearest": found.hits if withheld else (),
            "associated": found.associated,
            "degraded": _degraded(bound, scan, found.pending),
            "warnings": self.warnings(bound, scan, ranked.confidence, found.later_updates),
            "least_confidence": ranked.least_confidence or None,
            "min_score": ranked.least if ranked.below_cut else ranking.min_score,
            "best_score": _best_score(ranked),
            "more": len(ranked.behind),
            "more_is_exact": ranked.behind_is_all,
            "before": len(ranked.results)
            if not withheld and len(ranked.results) <= request.offset
            else 0,
        }

    def warnings(
        self, bound: BoundQuery, scan: Scan, certainty: float | None, later: Sequence[str]
    ) -> tuple[str, ...]:
        """Warnings of the request, of its analysis and filter, and of the scan."""
        filter, core = self.request.filter, self.session.keeper.core
        empty = not scan.eligible
        unknown = unknown_names(self.session, bound.view, core, filter, empty=empty)
        found = [*self.request.warnings, *bound.query.warnings, *unknown, *later]
        if is_approximate(scan):
            found.append(APPROXIMATE)
        if self.request.silence is not None and certainty is None:
            found.append("silence held nothing back: words or meaning were not compared")
        language = language_of(self.request.asked or self.request.query)
        if certainty is not None and language not in (None, ENGLISH):
            found.append(f"the confidence is learned on English; the query is in {language}")
        return tuple(found)


class _EmbeddedQuery(NamedTuple):
    """The vector of a query, states of its word pieces, and vectors of the names in it by what is
    embedded of them."""

    vector: bytes | None
    states: TokenStates | None
    names: dict[str, bytes]


def _embedded_queries(calls: Sequence[OneRecall]) -> list[_EmbeddedQuery]:
    """The queries of calls with one configuration, from one batch; without vectors, words alone can
    still rank (`partial_backend`).

    Raises:
        ProviderError: the embedder failed, under a profile that needs vectors.
    """
    for call in calls:
        call.request = _with_days_read(call.session, call.request)
    first = calls[0]
    session, ranking = first.session, ranking_of(first.session, first.config)
    given = [call.request.query_vector for call in calls]
    texts = [call.request.query for call in calls] if None in given else []
    named = [names_to_embed(call.request.query, call.config) for call in calls]
    names = list(dict.fromkeys(name for own in named for name in own))
    made: list[tuple[bytes | None, TokenStates | None]] = []
    vectors = dict[str, bytes]()
    try:
        if texts or names:
            check_identity(session)
            every = query_vectors(session, [*texts, *names], late=ranking.counts_states)
            made = [*every[: len(texts)]]
            vectors = {
                name: vector for name, (vector, _) in zip(names, every[len(texts) :], strict=True)
            }
    except ProviderError as error:
        if not ranking.counts_words:
            raise
        lost = Degradation(
            code="partial_backend",
            detail=f"no query vector ({type(error).__name__}): ranked by words alone",
        )
        for call in calls:
            call.degraded.append(lost)
        made = [(None, None)] * len(texts)
    pairs = made if texts else [(vector, None) for vector in given]
    return [
        _EmbeddedQuery(*pair, {name: vectors[name] for name in own if name in vectors})
        for pair, own in zip(pairs, named, strict=True)
    ]


def _with_days_read(session: Session, request: Request) -> Request:
    """The request with the days of its query that stand there in figures as models know them, but
    for those that an eligible memory holds in the same figures: another may change no answer."""
    days = days_in_figures(request.query)
    if not days:
        return request

    def read(view: LedgerView, core: Projection) -> set[str]:
        # without a vector nothing is similar
        chosen = resolved(view, core, request.filter) | {"min_similarity": None}
        none_holds = ln(2.0 + 2.0 * session.keeper.eligible_count(view, chosen))
        found = core.idfs(view.seq, " ".join(days), CoreFilter(**chosen))
        # one memory more with a term takes ln 3 from its idf
        return {day for day in days if found.get(day, none_holds) < none_holds - 0.5}

    held = session.keeper.run(read)
    query = with_named_months(
        request.query, {day: other for day, other in days.items() if day not in held}
    )
    if query == request.query:
        return request
    arguments = msgspec.structs.replace(request.arguments, query=query)
    asked = request.asked or request.query
    return msgspec.structs.replace(request, query=query, asked=asked, arguments=arguments)


def _as_asked(request: Request, parts: Sequence[str]) -> tuple[str, ...]:
    """Parts of the query that is read, as they stand in the one that was asked, each once."""
    if request.asked is None:
        return tuple(parts)
    plain = plain_characters(request.asked)
    days = days_in_figures(plain)
    days = {figures: named for figures, named in days.items() if named in request.query}

    def in_figures(part: str) -> str:
        holding = (figures for figures, named in days.items() if part in named)
        return part if part in plain else next(holding, with_figures(part))

    def with_figures(part: str) -> str:
        for figures, named in days.items():
            part = part.replace(named, figures)
        return part

    found = [as_it_stands(in_figures(part), request.asked) for part in parts]
    return tuple(dict.fromkeys(found))


def _context(
    bound: BoundQuery, ranked: Ranked, fields: dict[str, Any]
) -> tuple[ContextBlock, Material]:
    """The results as one block for a prompt, and what it is made of."""
    from vestig.recall.context.block import Counted
    from vestig.recall.context.entries import context_block, material_of
    from vestig.recall.layouts import line_without_results

    memories = [hit.memory for hit in fields["results"]]
    linked = [hit.memory for hit in fields["associated"]]
    line = line_without_results(RecallResult(timings_ms={}, **fields))
    hits = (*fields["results"], *fields["associated"])
    anchors = {hit.id: hit.anchors for hit in hits if hit.anchors}
    with span("context"):
        counted = None
        if (of_all := _ids_of_all(bound, ranked, memories)) is not None:
            # what the caller leaves out may be more of the same
            exact = ranked.behind_is_all and "exclude_ids" not in bound.request.filter.fields
            counted = Counted(ids=of_all, exact=exact)
        material = material_of(bound, memories, linked, ranked.results, anchors, counted)
        return context_block(bound, material, line), material


def _ids_of_all(
    bound: BoundQuery, ranked: Ranked, shown: Sequence[Memory]
) -> frozenset[str] | None:
    """Return the memories that a block counts: on the first page of a question that asks for all,
    those that pass the cut and state something; None for others, and where nothing was cut."""
    request = bound.request
    cut = ranked.least is not None and not request.offset
    if not (shown and cut and asks_for_all(request.query)):
        return None
    behind = bound.view.memories(request.namespace, [row.memory_id for row in ranked.behind])
    return frozenset(one.id for one in (*shown, *behind) if states(one.content))


def _certainty(ranked: Ranked, request: Request, found: FoundMemories) -> Certainty | None:
    """The confidence in words: at best doubtful where it was not enough to bring anything, or the
    query or the first memory is certainly in another language than English, on which it is
    learned."""
    if ranked.confidence is None:
        return None
    said = certainty_of(ranked.confidence)
    if said is not Certainty.LIKELY:
        return said
    texts = [request.asked or request.query, *(hit.content for hit in found.hits[:1])]
    foreign = any(language_of(text) not in (None, ENGLISH) for text in texts)
    return Certainty.DOUBTFUL if ranked.silent or foreign else said


def _best_score(ranked: Ranked) -> float | None:
    """The best score where `recall.min_score` or the cut left no result."""
    if ranked.results or not (ranked.below_min_score or ranked.below_cut):
        return None
    return ranked.score(ranked.rows[0])


def _degraded(bound: BoundQuery, scan: Scan, pending: int) -> tuple[Degradation, ...]:
    """Degradations that lie in the data."""
    found = ahead_notice(bound.view.last_recorded_us, bound.session.now_us())
    if scan.unembedded:
        detail = "eligible memories have no vector yet: found by words only"
        found.append(Degradation(code="unembedded_skipped", detail=detail, count=scan.unembedded))
    if bound.query.rerank_scores.degraded is not None:
        found.append(bound.query.rerank_scores.degraded)
    if bound.query.judgements is not None and bound.query.judgements.degraded is not None:
        found.append(bound.query.judgements.degraded)
    if pending:
        detail = f"results have unfinished jobs; run {by_caller('`vestig housekeeping enrich`')}"
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


def _formula(bound: BoundQuery, ranked: Ranked) -> Formula:
    ranking = bound.query.ranking
    fields = ranking.fields
    linear = ranking.base == "linear"
    return Formula(
        base=ranking.base,
        bias={kind: own["bias"] for kind, own in zip(KINDS, fields.weights, strict=True)}
        if linear
        else None,
        pool=ranking.pool(bound.request.limit),
        path_power=fields.path_power,
        tracerank_power=fields.tracerank_power,
        tracerank_bound=fields.tracerank_bound if linear else None,
        association=fields.association,
        content_weight=fields.content_weight,
        query_weight=fields.question_weight,
        summary_prior=fields.summary_prior,
        score=ranked.line,
    )


def _moment(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)


def _with_silence(session: Session, config: Config, request: Request) -> Request:
    """The request with the silence of the configuration where the call names none.

    Raises:
        ValidationError: the call names one, and the profile has no confidence.
    """
    named, configured = request.silence, config.settings.recall.silence
    if named is None and configured is None:
        return request
    if ranking_of(session, config).has_confidence:
        return msgspec.structs.replace(request, silence=configured if named is None else named)
    if named is None:
        return request
    raise ValidationError(
        "silence",
        named,
        by_caller("None here"),
        f"the profile {config.profile} has no confidence: use one that ranks by words and"
        " meaning together (ranking.base: linear), such as default",
    )


def _checked_config(
    session: Session, overrides: Mapping[str, Any] | None, profile: str | None
) -> Config:
    """The configuration of a call.

    Raises:
        ConfigError: a wrong key, an unknown profile, or a reranker that is not there.
    """
    config = session.effective(overrides, profile)
    check_reranker(session.reranker, config.settings)
    return config


def _checked_request(
    session: Session, config: Config, arguments: RecallRequest, now_us: int
) -> Request:
    """The arguments checked under a configuration, with what it gives in their place.

    Raises:
        ValidationError: a wrong argument.
    """
    request = request_of(session, config, arguments, now_us)
    return _with_silence(session, config, request)


def recall(session: Session, arguments: RecallRequest) -> RecallResult:
    """The memories that answer a question."""
    return recalled(session, arguments)[0]


def recalled(session: Session, arguments: RecallRequest) -> tuple[RecallResult, Material | None]:
    """Return what `recall` returns, and what its block is made of."""
    config = _checked_config(session, arguments.config, arguments.profile)
    request = _checked_request(session, config, arguments, session.now_us())
    with session.operation("recall"):
        call = OneRecall(session, config, request)
        result = call.run()
        session.metrics.add("vestig_queries_total", source="recall")
        return result, call.material


def recall_many(
    session: Session,
    queries: object,
    arguments: RecallRequest,
) -> list[RecallResult | ItemError]:
    """The result of each query, as its own recall gives it; an entry in the place of a query that
    is none.

    Args:
        arguments: those of all queries, without a query.

    Raises:
        ValidationError: a wrong argument of all.
    """
    texts = listed(queries)
    if not isinstance(texts, (list, tuple)):
        raise ValidationError("queries", kind_of(queries), "a list of questions")
    if len(texts) > QUERIES_MAX:
        raise ValidationError(
            "queries", Description(f"{len(texts)} queries"), f"at most {QUERIES_MAX} queries"
        )
    config = _checked_config(session, arguments.config, arguments.profile)
    now_us = session.now_us()
    _checked_request(session, config, _with_query(arguments, _ANY_QUERY), now_us)
    found: list[RecallResult | ItemError | OneRecall] = []
    for index, text in enumerate(texts):
        try:
            request = _checked_request(session, config, _with_query(arguments, text), now_us)
        except ValidationError as error:
            found.append(ItemError(index=index, code=error.code, message=str(error)))
        else:
            found.append(OneRecall(session, config, request))
    calls = [one for one in found if isinstance(one, OneRecall)]
    with session.operation("recall_many"):
        results = iter(_Batch(session, calls).results() if calls else ())
        session.metrics.add("vestig_queries_total", len(calls), source="recall")
        return [next(results) if isinstance(one, OneRecall) else one for one in found]


def _with_query(arguments: RecallRequest, query: object) -> RecallRequest:
    return msgspec.structs.replace(arguments, query=query)


def analysed_together(calls: Sequence[OneRecall]) -> list[Query]:
    """The queries of calls with one configuration, embedded in one batch."""
    embedded = _embedded_queries(calls)
    return [call.analyse(one) for call, one in zip(calls, embedded, strict=True)]


def read_together(
    session: Session, calls: Sequence[OneRecall], queries: Sequence[Query]
) -> list[RecallResult]:
    """Return what calls with all but their text in common find at one state of the store. What
    degraded is not counted, nor is an access.

    Args:
        queries: of each call.
    """
    found, _ = _Batch(session, calls).read_at_one_state(queries)
    return [RecallResult(timings_ms=spent, **fields) for fields, spent in found]


class _Batch:
    """Calls with all but their text in common."""

    def __init__(self, session: Session, calls: Sequence[OneRecall]) -> None:
        self.session = session
        self.calls = calls

    def results(self) -> list[RecallResult]:
        """Of each call. What is done for all together counts the same part for each."""
        started = time.perf_counter()
        embedded = _embedded_queries(self.calls)
        embed_ms = self.part_ms(started)
        mark = time.perf_counter()
        queries = [call.analyse(one) for call, one in zip(self.calls, embedded, strict=True)]
        analyse_ms = self.part_ms(mark)
        found, scan_ms = self.read_at_one_state(queries)
        results = []
        for call, (fields, spent) in zip(self.calls, found, strict=True):
            timings = {
                "embed": embed_ms,
                "analyse": analyse_ms + spent.pop("analyse"),
                "score": scan_ms + spent.pop("score"),
                **spent,
            }
            timings["total"] = sum(timings.values())
            results.append(call.result(fields, timings))
        return results

    def part_ms(self, since: float) -> float:
        """The part of one call in the time since."""
        return 1e3 * (time.perf_counter() - since) / len(self.calls)

    def read_at_one_state(self, queries: Sequence[Query]) -> tuple[list[_FieldsAndTimes], float]:
        """Return what each call found, with what a reranker or the judge says where it needs that;
        and the milliseconds of the scans for each."""

        def read(view: LedgerView) -> tuple[list[_FieldsAndTimes], float]:
            started = time.perf_counter()
            bounds = [
                call.bound(view, query) for call, query in zip(self.calls, queries, strict=True)
            ]
            analyse_ms = self.part_ms(started)
            started = time.perf_counter()
            self.scan(bounds)
            scan_ms = self.part_ms(started)
            each = zip(self.calls, bounds, strict=True)
            return each_known(
                partial(self.fields_and_times, *one, analyse_ms) for one in each
            ), scan_ms

        return read_when_known(self.session, read)

    def fields_and_times(
        self, call: OneRecall, bound: BoundQuery, analyse_ms: float
    ) -> _FieldsAndTimes:
        """Return what one call found, with its times."""
        started = time.perf_counter()
        fields, spent = call.fields_and_times(bound, analyse_ms)
        took_ms = 1e3 * (time.perf_counter() - started)
        within_ms = sum(spent.values()) - spent.get("judge", 0.0)
        spent["score"] = took_ms - within_ms + analyse_ms
        return fields, spent

    def scan(self, bounds: Sequence[BoundQuery]) -> None:
        """The scans of all queries together, where each is an exact one of its query alone."""
        request, ranking = self.calls[0].request, bounds[0].query.ranking
        alone = ranking.core_for_reranking is not None or bool(request.expect)
        if not alone and all(bound.is_exact for bound in bounds):
            scan_together(bounds)
