"""A query: analysed and embedded, then bound to one state of the store, where it can be scanned for
again and again with changes.

The topic of a query: which word pieces belong to which of its content terms.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from vestig.answers import QueryEntity, QueryName, ScoreFormula
from vestig.calls.queries import RecallRequest
from vestig.commit.text import normalise
from vestig.config import Config
from vestig.config.weights import METADATA
from vestig.embedders.checked import query_codes
from vestig.ids import id_bytes
from vestig.language import words
from vestig.language.languages import language_of
from vestig.language.time import expressions
from vestig.language.words import ContentTerm, content_terms
from vestig.memories.read import distinct, recalled, text_keys
from vestig.ports import (
    STATE_DIMENSIONS,
    Scan,
    ScanFunction,
    ScanRanking,
    ScanRequest,
    ScanRow,
    TokenStates,
)
from vestig.recall import pages, query_entities
from vestig.recall.confidence import (
    ConfidenceInput,
    confidence,
    fit,
    missing,
    score_formula,
)
from vestig.recall.judged import (
    Judgements,
    ReadRows,
    asks_the_judge,
    compared,
    is_ordered_by_judge,
    judged,
    may_read,
)
from vestig.recall.named_time import bounds_us, in_order_of_time, named_dates
from vestig.recall.ranking import (
    Ranking,
    RerankScores,
    ranking_of,
    rerank_pool,
    score_pool,
)
from vestig.recall.reason import Explainer, shares
from vestig.recall.request import Request, check_request, chosen_seed
from vestig.recall.scan import Ordered, scan_distinct, with_successors
from vestig.recall.silence import (
    SHARE_MIN,
    cuts_unasked,
    how_sure,
    share_min,
)
from vestig.recall.stored_questions import QuestionMatches, rows_that_ask, rows_with_answers
from vestig.recall.versions import (
    announced_last,
    asks_about_now,
    called_first,
    held_first,
    newest_first,
    told_first,
)
from vestig.session.references import resolved
from vestig.session.session import Session, cleaned_query
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Query as CoreQuery
from vestig.store.records.memory_queries import said_again, unconfirmed, values_of_keys
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import RecalledMemory
from vestig.telemetry import span
from vestig.times import from_us
from vestig.types import TemporalWindow

# Hidden states of word pieces, and by piece the content terms of its word, as places among them.
TopicPieces = tuple[bytes, list[list[int]]]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A request with what analysis and embedding make of its text, and the ranking of its
    configuration; nothing of it depends on a state of the store."""

    request: Request
    config: Config
    ranking: Ranking
    vector: bytes | None
    # hidden states of the word pieces of the text
    states: TokenStates | None
    keywords: tuple[str, ...]
    windows: tuple[TemporalWindow, ...]
    # where its temporal expressions stand, with and without windows: code points, half-open
    times: tuple[tuple[int, int], ...]
    # what is said about those that were not read
    warnings: tuple[str, ...]
    # the names that a language model found in it; None = rules find them
    names: tuple[QueryName, ...] | None
    # vectors of the names in it
    name_vectors: dict[str, bytes]
    # what a cross-encoder has scored so far
    rerank_scores: RerankScores
    # what the judge has said so far; None = it reads nothing for this query
    judgements: Judgements | None

    def least_score(
        self, by: Ranking, scores: Sequence[float], share: float = SHARE_MIN
    ) -> float | None:
        """The score below which a memory is no part of the answer; None = whatever it is.

        Args:
            by: the ranking that they are of.
            scores: probabilities; [] where there are none.
            share: of the best of them.
        """
        # without word pieces, a right answer has a low score too
        compares_pieces = self.states is not None or not by.counts_tokens
        return share * max(scores) if scores and compares_pieces else None

    def without_reranker(self) -> Query:
        """The same query, for which no cross-encoder reads."""
        ranking = msgspec.structs.replace(self.ranking, core_for_reranking=None)
        return msgspec.structs.replace(self, ranking=ranking)


def request_of(
    session: Session, config: Config, arguments: RecallRequest, now_us: int | None = None
) -> Request:
    """The arguments checked under a configuration.

    Args:
        now_us: the time of the call; None = that of the clock.

    Raises:
        ValidationError: a wrong argument.
    """
    settings = config.settings
    arguments, warnings = cleaned_query(session, arguments)
    request = check_request(
        arguments,
        now_us=session.now_us() if now_us is None else now_us,
        limit_default=settings.recall.default_limit,
        namespace=session.namespace,
        include_expired=settings.recall.include_expired,
        dimensions=session.embedder.dimensions,
    )
    if not warnings:
        return request
    return msgspec.structs.replace(request, warnings=(*warnings, *request.warnings))


def analyse(
    session: Session,
    config: Config,
    request: Request,
    vector: bytes | None,
    states: TokenStates | None,
    *,
    names: tuple[QueryName, ...] | None = None,
    rerank_scores: RerankScores | None = None,
    judgements: Judgements | None = None,
    name_vectors: dict[str, bytes] | None = None,
) -> Query:
    """Keywords, windows and vectors of names of a request's text.

    Args:
        vector, states: of the text and of its word pieces; None = it was not embedded.
        names: those that a language model found; None = rules find them.
        rerank_scores: those of a call that compares this query with its own; None = none yet.
        judgements: of the judge, for this query; None = it reads nothing.
        name_vectors: those of `names_to_embed`; None = they are made here.
    """
    settings = config.settings
    if name_vectors is None:
        name_vectors = query_entities.name_vectors(session, request.query, config, names)
    times = expressions.find_times(
        request.query, request.moments.query_time_us, zone=settings.time.zone
    )
    keywords = words.keywords(
        request.query,
        extra_stopwords=settings.keywords.stopwords,
    )
    return Query(
        request=request,
        config=config,
        ranking=ranking_of(session, config),
        vector=vector,
        states=states,
        keywords=tuple(keywords),
        windows=tuple(one.as_window() for one in times.windows),
        times=tuple([(one.start, one.end) for one in times.expressions]),
        warnings=(*times.warnings, *expressions.of_no_known_days(request.query, times)),
        names=names,
        name_vectors=name_vectors,
        rerank_scores=RerankScores() if rerank_scores is None else rerank_scores,
        judgements=judgements,
    )


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """The memories of one call in the order of its results.

    Args:
        scan: its rows in the order of the ranking alone.
        rows: all that were ranked, best first; more than the results.
        results: the best, as many as were wanted, without those below the least score.
        below_min_score: how many these are.
        below_cut: how many more were left out as no part of the answer; `least`: the score below
            which they are.
        confidence: that the memories answer the query; None where there is none.
        least_confidence: below it nothing is brought; 0 = whatever it is. `silent`: it is below,
            and `results` are the nearest misses.
        line: what makes a score of a final score; None = the score is the final score.
        behind: what further pages would hold, as far as it was ranked; `behind_is_all`: else there
            may be more.
        replaced: how many of the rows are not eligible but held in the time asked about.
    """

    scan: Scan
    rows: Sequence[ScanRow]
    results: Sequence[ScanRow]
    below_min_score: int
    below_cut: int
    least: float | None
    confidence: float | None
    least_confidence: float
    silent: bool
    line: ScoreFormula | None
    behind: Sequence[ScanRow]
    behind_is_all: bool
    replaced: int

    def score(self, row: ScanRow) -> float:
        """The probability that a memory is part of the answer; its final score where there is no
        confidence."""
        return self.scores([row])[0]

    def scores(self, rows: Sequence[ScanRow]) -> list[float]:
        """Return what `score` returns, of several rows."""
        return pages.scores_of(rows, self.line)


class BoundQuery:
    """A query at the state of one view: entities and seed are those of this state, and every scan
    sees it.

    Args:
        view: for a callback of the keeper's `run`, so that the projection stands at its seq.
        scan: all eligible memories, or candidates; None = all.
    """

    def __init__(
        self, session: Session, view: LedgerView, query: Query, scan: ScanFunction | None = None
    ) -> None:
        self.session = session
        self.view = view
        self.query = query
        # milliseconds that signals from outside of the core took, by their name
        self.extra_ms: dict[str, float] = {}
        self._scan: ScanFunction = session.keeper.scan if scan is None else scan
        # made together with those of other queries: `scan_together`
        self.first_scan: tuple[ScanRequest, Scan] | None = None
        request = query.request
        # `unknown_names`: those in the query that no entity has
        self.entities, self.unknown_names = query_entities.named_entities(
            session,
            view,
            request.query,
            namespace=request.namespace,
            known_at_us=request.moments.known_at_us,
            config=query.config,
            vectors=query.name_vectors,
            names=query.names,
        )
        text = normalise(request.query, query.config.settings.hygiene)
        self.seed, self.seed_origin = chosen_seed(request.seed, query.ranking.seed, text, view.seq)

    @property
    def request(self) -> Request:
        """Return what the query was made of."""
        return self.query.request

    @property
    def is_exact(self) -> bool:
        """Return whether all eligible memories are scanned, not candidates."""
        return self._scan == self.session.keeper.scan

    @property
    def mode(self) -> str:
        """How the walk chooses edges: probabilistic or deterministic."""
        return self.query.ranking.mode

    @property
    def order(self) -> str:
        """Which offer of the walk is taken first: best or dfs."""
        return self.query.ranking.order

    @cached_property
    def content(self) -> Sequence[ContentTerm]:
        """Terms of the query that say what it is about."""
        return content_terms(self.request.query, self.query.times)

    def content_terms(self, scan: Scan) -> list[str]:
        """Return them without those of a date that an eligible memory meets."""
        return [one.term for one in self.content if not (one.in_time and scan.dates_met)]

    def confidence_input(self, scan: Scan) -> ConfidenceInput:
        """Return what of the query and a scan counts for confidence."""
        return ConfidenceInput(
            terms=scan.terms,
            document_frequencies=scan.document_frequencies,
            eligible=scan.eligible,
            content_terms=self.content,
            dates_met=scan.dates_met,
            entity_count=len(self.entities),
            unknown_names=self.unknown_names,
        )

    def confidence(self, scan: Scan, ranking: Ranking | None = None) -> float | None:
        """The probability that the memories of a scan answer the query; None where the ranking has
        none, or meaning was not compared."""
        by = self.query.ranking if ranking is None else ranking
        if not by.has_confidence or self.query.vector is None:
            return None
        return confidence(scan, self.confidence_input(scan))

    def missing(self, scan: Scan, texts: Sequence[str]) -> tuple[str, ...]:
        """Names and words of the query that no eligible memory holds; `texts` as `missing`."""
        known, read = self.confidence_input(scan), bool(self.query.windows)
        return missing(self.request.query, known, texts, times_read=read)

    @property
    def available(self) -> list[str]:
        """Metadata signals that the query has something for."""
        return _available(self.query, self.entities)

    def shares(self) -> dict[str, float]:
        """Shares of the available signals in the metadata; {} where it has no part."""
        return _shares(self.query, self.entities)

    def ranked(
        self,
        *,
        request: Request | None = None,
        ranking: Ranking | None = None,
        limit: int | None = None,
        watch: bytes = b"",
    ) -> Ranked:
        """The results, and what was ranked behind them; what is not given is that of the query.

        Args:
            watch: as `scan`.
        """
        chosen = self.request if request is None else request
        by = self.query.ranking if ranking is None else ranking
        limit = chosen.limit if limit is None else limit
        scan, rows, evidence, answers, held, holding = self._ordered(request, ranking, limit, watch)
        plain = self.confidence(evidence, by)
        # the first page decides about all of them
        first = limit - chosen.offset
        others = pages.of_others(self, chosen, by, rows, self.rows_for(first, by))
        best = [row for row in rows[:first] if row.id not in others]
        sure = how_sure(
            self, chosen, by, scan, best, holding, others=others, plain=plain, answers=answers
        )
        confidence, silent, unread = sure.confidence, sure.silent, sure.unread
        line = None
        if confidence is not None:
            finals = [row.final_score for row in rows]
            line = score_formula(fit(scan).score, confidence, finals)
        passing = pages.over(rows, by.min_score, line)
        shown = {row.id for row in rows[:limit]}
        results = [row for row in passing if row.id in shown]
        least, kept = None, passing  # in silence, these are the nearest misses
        cuts = cuts_unasked(self, by, scan)
        wanted = cuts or chosen.budget is not None or chosen.silence is not None
        share = share_min(chosen.query, sure.judged) if cuts else SHARE_MIN
        if unread:
            kept = [row for row in passing if row.id in unread]
        elif line is not None and wanted and not (chosen.all or silent):
            scores = pages.better_scores(passing, line)
            least = self.query.least_score(by, scores, share)
        if least is not None:
            whole = {row.id for row, one in zip(passing, scores, strict=True) if one >= least}
            kept = pages.kept_of(self, scan, chosen.namespace, passing, whole, first)
        if not (silent or chosen.all):
            kept = [row for row in kept if row.id not in others]
        behind = [] if silent else [row for row in kept if row.id not in shown]
        kept = [row for row in kept if row.id in shown]
        return Ranked(
            scan=scan,
            rows=rows,
            results=kept,
            below_min_score=min(limit, len(rows)) - len(results),
            below_cut=len(results) - len(kept),
            least=least,
            confidence=confidence,
            least_confidence=sure.needed,
            silent=silent,
            line=line,
            behind=behind,
            behind_is_all=silent or bool(unread) or pages.is_all(scan, rows, limit, behind, held),
            replaced=sum(row.id in held for row in rows),
        )

    def _ordered(
        self, request: Request | None, ranking: Ranking | None, limit: int, watch: bytes
    ) -> Ordered:
        """The rows of a scan in the order of results."""
        chosen, by = request or self.request, ranking or self.query.ranking
        judge = self.query.config.settings.judge if may_read(self, by) else None
        count = max(self.rows_for(limit, by), 0 if judge is None else judge.pool)
        questions = self.stored_questions(chosen, by)
        others = b"".join(questions.ids)

        def rescan(wide: Request, watch: bytes, without: bytes = others) -> Scan:
            return self.scan(
                request=wide, ranking=by, limit=limit, rows=count, watch=watch, without=without
            )

        def scan_without(without: bytes, watch: bytes) -> Scan:
            return rescan(chosen, watch, without)

        scan = self.scan(
            request=request, ranking=ranking, limit=limit, rows=count, watch=watch, without=others
        )
        rows, evidence, held, replaced = with_successors(self, chosen, by, scan, rescan)
        if self.query.judgements is not None:
            self.query.judgements.replaced = replaced
        rows, answered = rows_with_answers(questions, rows, scan_without)
        if answered is not None:
            rows = self._each_text_once(chosen, rows)
        reads = judge is not None and is_ordered_by_judge(self)
        read = judged(self, judge, chosen.query, rows) if judge and reads else None
        if by.newer_first:
            rows = held_first(self._newest_first(chosen, scan, rows, read, others), held)
            rows = self._announced_last(chosen, rows)
        elif read is not None:
            rows = read.rows
        rows = told_first(rows, chosen.query, self.recalled)
        rows = called_first(rows, chosen.query, self.recalled)
        holding = {*held}
        if by.newer_first:
            rows, inside = in_order_of_time(self, chosen, rows, held)
            holding |= inside
        if questions.ids and len(rows) < count:
            rows = [*rows, *rows_that_ask(questions, rows, count - len(rows), scan_without)]
        best = read.best if read is not None and asks_the_judge(self, scan) else None
        return Ordered(scan, rows, answered or evidence, best, held, holding)

    def _newest_first(
        self,
        request: Request,
        scan: Scan,
        rows: Sequence[ScanRow],
        read: ReadRows | None,
        without: bytes,
    ) -> Sequence[ScanRow]:
        """The rows, or those that the judge read, with the newest of several versions first."""
        judge, query = self.query.config.settings.judge, request.query
        return newest_first(
            self.session,
            self.view.seq,
            self._filter_without(request, without),
            rows if read is None else read.rows,
            [row.start_score for row in rows] if read is None else read.levels,
            {} if read is None else read.read,
            query=query,
            content=self.content_terms(scan),
            of_now=asks_about_now(query, bool(self.query.windows)),
            at_us=request.moments.holding_at_us,
            unconfirmed=partial(unconfirmed, self.view, request.namespace),
            said_again=partial(said_again, self.view, request.namespace, request.moments),
            recalled=self.recalled,
            keyed=partial(values_of_keys, self.view, request.namespace),
            compared=partial(compared, self, judge, query),
        )

    def _announced_last(self, request: Request, rows: Sequence[ScanRow]) -> Sequence[ScanRow]:
        """The rows with what does not hold yet behind what does, unless more than now is asked
        about."""
        of_now = asks_about_now(request.query, bool(self.query.windows))
        if not of_now or words.speaks_of_future(request.query):
            return rows
        keyed = partial(values_of_keys, self.view, request.namespace)
        return announced_last(rows, keyed, request.moments.holding_at_us)

    def rows_for(self, limit: int, by: Ranking) -> int:
        """How many rows are ranked for so many results."""
        least, several = by.rows_for(limit), words.asks_for_all(self.request.query)
        return max(least, limit + pages.COUNTED) if several else least

    def recalled(self, ids: Sequence[bytes]) -> Mapping[bytes, RecalledMemory]:
        """The memories with these ids."""
        return recalled(self.session, self.view, self.request.namespace, ids)

    def _each_text_once(self, request: Request, rows: Sequence[ScanRow]) -> list[ScanRow]:
        """The first row of each text."""
        ids = [row.id for row in rows]
        known_at_us = request.moments.known_at_us
        keys = text_keys(self.session, self.view, request.namespace, ids, known_at_us)
        return [rows[place] for place in distinct(ids, keys)] if keys else [*rows]

    def stored_questions(self, request: Request, by: Ranking) -> QuestionMatches:
        """Return the stored questions that are like the query, where the ranking compares words."""
        if not by.counts_words:
            return QuestionMatches((), {})
        found = self.session.keeper.core.asked(
            self.view.seq,
            self.core_query(by, request),
            CoreFilter(**self.filter(request)),
            by.fields.sittings,
        )
        return QuestionMatches.of(found)

    def _filter_without(self, request: Request, without: bytes) -> dict[str, Any]:
        """Keyword arguments of the core's filter, without these memories."""
        filter = self.filter(request)
        if not without:
            return filter
        return filter | {"exclude_ids": (filter.get("exclude_ids") or b"") + without}

    def scan(
        self,
        *,
        request: Request | None = None,
        ranking: Ranking | None = None,
        limit: int | None = None,
        rows: int | None = None,
        watch: bytes = b"",
        without: bytes = b"",
    ) -> Scan:
        """One scan, in which each text stands once; what is not given is that of the query.

        Args:
            rows: how many are returned; None = `limit`.
            watch: ids (16 bytes each) whose rows are in `watched` when they are not returned.
            without: ids of memories that take no part.
        """
        chosen = self.request if request is None else request
        limit = chosen.limit if limit is None else limit
        known = self.first_scan
        if known is not None and request is None and ranking is None and not (watch or without):
            made, found = known
            if (made.shown, made.limit) == (limit, rows):
                return self._distinct(made, chosen, _known_first(made, found, self._scan))
        ranked_by = self.query.ranking if ranking is None else ranking
        filter = self._filter_without(chosen, without)
        made = self.scan_request(chosen, ranked_by, limit, filter, rows)
        if watch:
            made = msgspec.structs.replace(made, watch=watch)
        if ranked_by.core_for_reranking is not None:
            made = self._reranked(made, ranked_by.core_for_reranking, ranked_by.rerank_pool)
        return self._distinct(made, chosen, self._scan)

    def _distinct(self, made: ScanRequest, request: Request, scan: ScanFunction) -> Scan:
        known_at_us = request.moments.known_at_us
        return scan_distinct(self.session, self.view, scan, made, request.namespace, known_at_us)

    def scan_request(
        self,
        request: Request,
        ranking: Ranking,
        limit: int,
        filter: dict[str, Any],
        rows: int | None = None,
    ) -> ScanRequest:
        """Return what the core is asked.

        Args:
            filter: what `filter` gives for the request.
            rows: as `scan`.
        """
        return ScanRequest(
            query=self.core_query(ranking, request),
            filter=CoreFilter(**filter),
            ranking=ranking.core,
            limit=limit if rows is None else rows,
            # of a page, so that all pages of one size share an order
            pool=ranking.pool(limit - request.offset),
            shown=limit,
        )

    def filter(self, request: Request | None = None) -> dict[str, Any]:
        """Keyword arguments of `_core.Filter`, with the ids that only the ledger knows."""
        if request is None or request is self.request:
            return self._own_filter
        return resolved(self.view, self.session.keeper.core, request.filter)

    @cached_property
    def _own_filter(self) -> dict[str, Any]:
        return resolved(self.view, self.session.keeper.core, self.request.filter)

    def eligible(self, filter: dict[str, Any]) -> bytes:
        """Ids that a filter lets through, 16 bytes each; `min_similarity` is not looked at."""
        return self.session.keeper.eligible(self.view, filter)

    def is_stored(self, id: str) -> bool:
        """Return whether a memory of this id lies in any namespace."""
        return self.session.keeper.core.row(id_bytes(id)) is not None

    def core_query(self, ranking: Ranking, request: Request) -> CoreQuery:
        """The query as the core takes it, with what the ranking weighs."""
        if ranking is self.query.ranking and request is self.request:
            return self._own_core_query
        return self._core_query(ranking, request)

    @cached_property
    def _own_core_query(self) -> CoreQuery:
        return self._core_query(self.query.ranking, self.request)

    def _core_query(self, ranking: Ranking, request: Request) -> CoreQuery:
        query, text = self.query, self.request.query
        windows = [*map(bounds_us, query.windows)]
        given: dict[str, Any] = {
            "vector": query.vector,
            "query_time_us": request.moments.query_time_us,
            "keywords": query.keywords,
            "windows": windows,
            "entities": [(id_bytes(entity.id), entity.score) for entity in self.entities],
            "seed": self.seed,
        }
        if ranking.base != "linear":
            return CoreQuery(text=None, **given)
        states = query.states if ranking.counts_tokens else None
        return CoreQuery(
            text=text,
            names_text=text,
            content=self.content,
            topic=self._topic() if ranking.counts_topic else None,
            dates=named_dates(query.windows),
            pieces=None if states is None else query_codes(states),
            pieces_in_time=[] if states is None else pieces_in_time(states, query.times),
            **given,
        )

    def _topic(self) -> TopicPieces | None:
        """Return what the topic is made of; None = the vector of the query is its topic."""
        states, vector = self.query.states, self.query.vector
        if states is None or vector is None or len(vector) != 4 * STATE_DIMENSIONS:
            return None
        return topic_pieces(self.request.query, self.content, states)

    def _reranked(self, request: ScanRequest, ranking: ScanRanking, count: int) -> ScanRequest:
        started = time.perf_counter()
        with span("rerank", memories=count):
            pool = rerank_pool(self._scan, self.view.seq, request, ranking, count)
            scores = score_pool(
                self.view,
                self.request.namespace,
                self.request.query,
                pool,
                self.query.rerank_scores,
                self.query.config.settings.reranker.timeout_s,
            )
        self._add_time("rerank", started)
        return msgspec.structs.replace(request, query=request.query.with_rerank_scores(scores))

    def _add_time(self, name: str, since: float) -> None:
        spent = (time.perf_counter() - since) * 1e3
        self.extra_ms[name] = self.extra_ms.get(name, 0.0) + spent

    def explainer(self, scan: Scan) -> Explainer:
        """Return what explains the rows of a scan."""
        return explainer_of(self.query, self.entities, scan)


def explainer_of(query: Query, entities: Sequence[QueryEntity], scan: Scan) -> Explainer:
    """Return what explains the rows of a scan of a query that names these entities."""
    request, ranking = query.request, query.ranking
    content = content_terms(request.query, query.times)
    return Explainer(
        terms=scan.terms,
        content={
            one.term: request.query[one.start : one.end]
            for one in reversed(content)
            if not (scan.dates_met and one.in_time)
        },
        windows=query.windows,
        entities={id_bytes(entity.id): entity for entity in entities},
        linear=ranking.base == "linear",
        pool_means=scan.pool_means,
        meta_shares=_shares(query, entities),
        has_vector=query.vector is not None,
        query_time=from_us(request.moments.query_time_us),
        language=language_of(request.asked or request.query),
        parts=ranking.reasons,
        judgements={}
        if query.judgements is None
        else query.judgements.for_reasons(query.request.query),
    )


def _available(query: Query, entities: Sequence[QueryEntity]) -> list[str]:
    has = (query.keywords, query.windows, entities, query.ranking.counts_recency)
    return [name for name, given in zip(METADATA, has, strict=True) if given]


def _shares(query: Query, entities: Sequence[QueryEntity]) -> dict[str, float]:
    ranking = query.ranking
    if ranking.base not in ("semantic", "blend") or not ranking.fields.start_enabled:
        return {}
    return shares(ranking.meta_weights, _available(query, entities))


def _known_first(made: ScanRequest, found: Scan, scan: ScanFunction) -> ScanFunction:
    """A scan function that has the scan of one request."""

    def known(seq: int, request: ScanRequest) -> Scan:
        return found if request is made else scan(seq, request)

    return known


def scan_together(bounds: Sequence[BoundQuery]) -> None:
    """Make the scan that `ranked` begins with for each of these queries, which have all but their
    text in common, in one pass over the arrays."""
    first = bounds[0]
    filter, limit = first.filter(), first.request.limit
    made = [
        bound.scan_request(
            bound.request,
            bound.query.ranking,
            limit,
            filter,
            bound.rows_for(limit, bound.query.ranking),
        )
        for bound in bounds
    ]
    found = first.session.keeper.scan_many(first.view.seq, made)
    for bound, request, scan in zip(bounds, made, found, strict=True):
        bound.first_scan = request, scan
        # the same for all: it is read once
        bound._own_filter = filter


def topic_pieces(
    text: str, content: Sequence[ContentTerm], states: TokenStates
) -> TopicPieces | None:
    """The word pieces of a query that belong to a content word; None where there is none.

    Without places no piece belongs to any.

    A piece belongs to the terms whose words it lies in: to an identifier as a whole and to the part
    of it. Special pieces and punctuation belong to none.

    Args:
        content: of the text.
    """
    numbers = struct.unpack(f"<{len(states.places) // 4}I", states.places)
    places = list(zip(numbers[::2], numbers[1::2], strict=True))
    size = len(states.states) // max(1, len(places))
    kept, terms = list[bytes](), list[list[int]]()
    for at, (start, end) in enumerate(places):
        if not any(map(str.isalnum, text[start:end])):
            continue
        own = [n for n, one in enumerate(content) if start < one.end and one.start < end]
        if own:
            kept.append(states.states[at * size : (at + 1) * size])
            terms.append(own)
    return (b"".join(kept), terms) if kept else None


def pieces_in_time(states: TokenStates, times: Sequence[tuple[int, int]]) -> list[int]:
    """Places of the word pieces of a query that stand inside one of its expressions of time."""
    numbers = struct.unpack(f"<{len(states.places) // 4}I", states.places)
    places = zip(numbers[::2], numbers[1::2], strict=True)
    return [
        at
        for at, (start, end) in enumerate(places)
        if end > start and any(low <= start and end <= high for low, high in times)
    ]
