"""The searches of a retrieval, every query ranked by recall without a walk, and the facts that the
found memories state.

Of the message that is to be answered (the focus) the best memories come into the pool, of every
other query the best ten. What a query says of a memory is its level: S, which under `linear` is L.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar, cast

import msgspec

from vestig.answers import ScoreFormula
from vestig.calls.queries import RecallRequest
from vestig.commit.text import content_hash, normalise
from vestig.config import Config
from vestig.config.schema import HygieneSettings
from vestig.errors import ProviderError
from vestig.filters import FilterParts, Moments
from vestig.ids import id_bytes, id_text, split_ids
from vestig.memories.read import distinct, text_keys
from vestig.ports import TokenStates
from vestig.recall.confidence import ROWS_READ, scored
from vestig.recall.query import BoundQuery, Query, analyse, request_of
from vestig.recall.query_entities import names_to_embed
from vestig.recall.ranking import Ranking, ranking_of
from vestig.recall.request import query_argument
from vestig.retrieve.calls import Deadline
from vestig.retrieve.rank import FOCUS, OTHERS_WEIGHT, Levels, relevances
from vestig.retrieve.values import Fact, PlannedQuery, Request, claim_key, memory_key
from vestig.session.embedding import check_identity, query_vectors
from vestig.session.references import resolved
from vestig.session.session import Session
from vestig.store.projection.scan_objects import Filter as CoreFilter
from vestig.store.projection.scan_objects import Projection, logistic
from vestig.store.projection.scan_objects import Query as CoreQuery
from vestig.store.projection.scan_objects import Ranking as CoreRanking
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import RecalledMemory
from vestig.times import to_us
from vestig.types import Claim, Degradation, Event, EventType, Evidence, Memory

# Memories of each query but the focus, and how far down one counts as a match of its query.
PER_QUERY: Final = 10
# Least of the focus: what is read does not depend on how much is returned.
READ: Final = 30
# More is asked for where memories of one text are among the best.
_GROWTH: Final = 4
_THREADS: Final = max(1, min(4, os.cpu_count() or 1))

_T = TypeVar("_T")


class EmbeddedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A planned query as recall analyses it."""

    planned: PlannedQuery
    analysed: Query


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """The result of recall for the focus.

    Args:
        confidence: that the store answers it; None where the profile has none.
        line: what makes a score of a final score.
        least: the score at which recall cuts; None = it cuts nothing.
        unembedded: eligible memories without a vector.
    """

    confidence: float | None = None
    line: ScoreFormula | None = None
    least: float | None = None
    unembedded: int = 0

    def keeps(self, levels: Sequence[float]) -> list[bool]:
        """Return of each level whether a memory of it stands above the cut."""
        least = self.least
        if self.line is None or least is None:
            return [True] * len(levels)
        return [score >= least for score in scored(list(map(logistic, levels)), self.line)]


class QueryResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all queries so far, at one state of the store.

    Args:
        seq: of that state.
        queries: in the order in which they were run; the first is the focus.
        best: of each query the ids of its best memories, of different texts.
        levels: S of each memory under each query.
        facts: memory id → the fact that it states, without a similarity.
        similarities: memory id → its largest cosine to a query; none where none was compared.
        bound: the queries at that state, for further searches of it.
        focus: recall's view of the first one.
        query_s: seconds that one query took.
    """

    seq: int
    queries: tuple[EmbeddedQuery, ...] = ()
    best: tuple[tuple[str, ...], ...] = ()
    levels: Levels = {}
    facts: Mapping[str, Fact] = {}
    similarities: Mapping[str, float] = {}
    bound: tuple[CoreQuery, ...] = ()
    focus: Focus = Focus()
    query_s: float = 0.0

    def matching(self, numbers: range) -> dict[str, frozenset[int]]:
        """Memory id → those of these queries that have it among their best ten; none for the rest
        of what the focus brought into the pool."""
        matched: dict[str, set[int]] = {}
        for number in numbers:
            for place, id in enumerate(self.best[number]):
                own = matched.setdefault(id, set())
                if place < PER_QUERY:
                    own.add(number)
        return {id: frozenset(own) for id, own in matched.items()}

    def above_cut(self) -> frozenset[str]:
        """The memories of those read that recall would keep for the focus."""
        of_focus = self.levels[FOCUS] if self.levels else {}
        known = [(id, level) for id in self.read if (level := of_focus.get(id)) is not None]
        kept = self.focus.keeps([level for _, level in known])
        return frozenset(id for (id, _), above in zip(known, kept, strict=True) if above)

    @property
    def read(self) -> frozenset[str]:
        """Return what came into the pool, however many facts were asked for."""
        widths = [READ if number == FOCUS else PER_QUERY for number in range(len(self.best))]
        pairs = zip(self.best, widths, strict=True)
        return frozenset(id for best, width in pairs for id in best[:width])


class FactSearch:
    """The fact searches of one request. Every method returns a value of its own and changes
    nothing, so that a call which is given up does no harm, and ends by itself (`TimeoutError`)
    where it looks at the deadline next."""

    def __init__(
        self, session: Session, config: Config, request: Request, deadline: Deadline
    ) -> None:
        self.session = session
        self.config = config
        self.request = request
        self.deadline = deadline
        ranking = ranking_of(session, config)
        # a recall of this request; each query takes the place of its text
        given = RecallRequest(query="-", limit=request.max_facts, namespace=request.namespace)
        self.call = msgspec.structs.replace(
            request_of(session, config, given), filter=request.filter, moments=request.moments
        )
        # confidence and levels know no walk, and no cross-encoder is asked
        self.ranking: Ranking = msgspec.structs.replace(ranking, core_for_reranking=None)

    def embed(
        self, planned: Sequence[PlannedQuery]
    ) -> tuple[tuple[EmbeddedQuery, ...], Degradation | None]:
        """Vectors of queries, in one batch; without any, words alone can still rank
        (`partial_backend`).

        Raises:
            ProviderError: the embedder failed, under a ranking that needs vectors.
        """
        texts = [one.text for one in planned]
        names = list(dict.fromkeys(name for text in texts for name in self._names(text)))
        try:
            check_identity(self.session)
            made: Sequence[tuple[bytes | None, TokenStates | None]] = query_vectors(
                self.session, [*texts, *names], late=self.ranking.counts_states
            )
            lost = None
        except ProviderError as error:
            if not self.ranking.counts_words:
                raise
            made = [(None, None)] * (len(texts) + len(names))
            lost = Degradation(
                code="partial_backend",
                detail=f"no vectors of queries ({type(error).__name__}): ranked by words alone",
            )
        named = {
            name: vector
            for name, (vector, _) in zip(names, made[len(texts) :], strict=True)
            if vector is not None
        }
        pairs = zip(planned, made[: len(texts)], strict=True)
        found = []
        for one, (vector, pieces) in pairs:
            self.deadline.check()
            query = self.analysed(one.text, vector, pieces, named)
            found.append(EmbeddedQuery(planned=one, analysed=query))
        return tuple(found), lost

    def _names(self, text: str) -> list[str]:
        return names_to_embed(text, self.config)

    def run(self, before: QueryResults | None, fresh: Sequence[EmbeddedQuery]) -> QueryResults:
        """All that was found before and what these queries find, at the newest state; of queries
        that there is no time for, the first ones, at least one."""
        known = before

        def read(view: LedgerView, core: Projection) -> QueryResults:
            state = known if known is not None and known.seq == view.seq else None
            queries = (*(known.queries if known is not None else ()), *fresh)
            return _State(self, view, core, queries, self.request.filter).found(state)

        return self.session.keeper.run(read)

    def whole(self, found: QueryResults) -> QueryResults:
        """The same with the level of every memory under every query."""
        return self.run(found, ())

    def best(
        self,
        queries: Sequence[EmbeddedQuery],
        filter: FilterParts,
        most: int,
        load: Callable[[LedgerView, Mapping[str, float]], _T],
    ) -> _T:
        """Return what is loaded of the best memories of each query under another filter.

        Args:
            most: memories of each query.
            load: of a state of the store and memory id → relevance.
        """

        def read(view: LedgerView, core: Projection) -> _T:
            state = _State(self, view, core, queries, filter)
            bound = [state.core_query(state.bound(one)) for one in queries]
            limits = dict.fromkeys(range(len(bound)), most)
            found = state.crossing(bound, range(len(bound)), limits, set())
            levels = dict(enumerate(found.rows()))
            return load(view, relevances(found.ids, levels, OTHERS_WEIGHT))

        return self.session.keeper.run(read)

    def cut(self, text: str) -> str:
        """As much of a text as recall reads of a query."""
        return query_argument(text)[0]

    def analysed(
        self,
        text: str,
        vector: bytes | None = None,
        pieces: TokenStates | None = None,
        names: dict[str, bytes] | None = None,
    ) -> Query:
        """A query as recall analyses it.

        Args:
            names: vectors of the names in it; None = no name is compared by its vector.
        """
        text = self.cut(text)
        call = msgspec.structs.replace(self.call, query=text, query_vector=vector)
        return analyse(self.session, self.config, call, vector, pieces, name_vectors=names or {})


class _Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the core: ids; of each query the places of its best among them, and S of each;
    of each id its largest cosine."""

    ids: list[str]
    best: list[list[int]]
    scores: list[list[float | None]]
    cosines: list[float | None]

    def rows(self) -> list[dict[str, float | None]]:
        """Of each query memory id → S."""
        return [dict(zip(self.ids, row, strict=True)) for row in self.scores]


class _State:
    """One state of the store, for a callback of the keeper's `run`.

    Args:
        filter: which memories take part; messages of the request never do.
    """

    def __init__(
        self,
        search: FactSearch,
        view: LedgerView,
        core: Projection,
        queries: Sequence[EmbeddedQuery],
        filter: FilterParts,
    ) -> None:
        self.search = search
        self.view = view
        self.core = core
        self.queries = tuple(queries)
        self.deadline = search.deadline
        mine = own_messages(view, search.request, search.config.settings.hygiene)
        self.parts = msgspec.structs.replace(filter, exclude_ids=(*filter.exclude_ids, *mine))
        self.filter = CoreFilter(**resolved(view, core, self.parts))

    @property
    def space(self) -> str:
        """The namespace of the request."""
        return self.search.request.namespace

    @property
    def at(self) -> Moments:
        """The times of the request."""
        return self.search.request.moments

    def found(self, before: QueryResults | None) -> QueryResults:
        """Return what all queries found; those of `before` are not run again, but for the levels of
        what is new."""
        start = self.first() if before is None else before
        done = len(start.best)
        queries = self.queries[: done + self.fitting(start)]
        more = [self.core_query(self.bound(one)) for one in queries[len(start.bound) :]]
        bound = (*start.bound, *more)
        pool, fresh = set(start.facts), range(done, len(queries))
        if fresh:
            # the focus is read again for what the others find
            asked = [*([FOCUS] if done else []), *fresh]
            limits = {number: self.limit(number) for number in fresh}
        else:
            asked = [n for n in range(done) if not pool <= start.levels[n].keys()]
            limits = {}
        began_s = self.deadline.used_s
        found = self.crossing(bound, asked, limits, pool)
        took_s = self.deadline.used_s - began_s
        own = found.best[len(asked) - len(fresh) :]
        best = (*start.best, *(tuple(found.ids[at] for at in places) for places in own))
        levels = dict(start.levels)
        for number, row in zip(asked, found.rows(), strict=True):
            levels[number] = {**levels.get(number, {}), **row}
        self.deadline.check()
        pool = {id for ids in best for id in ids}
        missing = sorted(id_bytes(id) for id in pool if id not in start.facts)
        facts = {**start.facts, **facts_of(self.view, self.space, missing, self.at)}
        return msgspec.structs.replace(
            start,
            queries=queries,
            best=best,
            levels=levels,
            facts=facts,
            similarities=self.closest(start.similarities, found),
            bound=bound,
            query_s=took_s / len(asked) if fresh else start.query_s,
        )

    def closest(self, known: Mapping[str, float], found: _Crossing) -> Mapping[str, float]:
        """The largest cosine of each memory to a query; none where no query has a vector."""
        if all(one.analysed.vector is None for one in self.queries):
            return {}
        closest = dict(known)
        for id, cosine in zip(found.ids, found.cosines, strict=True):
            if cosine is not None and cosine > closest.get(id, -2.0):
                closest[id] = cosine
        return closest

    def fitting(self, start: QueryResults) -> int:
        """How many of the queries that were not run there is time for."""
        waiting, left_s = len(self.queries) - len(start.best), self.deadline.left_s
        if waiting * start.query_s <= left_s:
            return waiting
        return max(1, int(left_s / start.query_s))

    def first(self) -> QueryResults:
        """Return what recall says of the focus; nothing is found yet."""
        focus = self.bound(self.queries[FOCUS])
        asked = msgspec.structs.replace(focus.request, filter=self.parts, silence=1.0)
        began_s = self.deadline.used_s
        ranked = focus.ranked(request=asked, ranking=self.search.ranking, limit=ROWS_READ)
        # the other queries run in several threads
        query_s = (self.deadline.used_s - began_s) / min(_THREADS, len(self.queries))
        return QueryResults(
            seq=self.view.seq,
            bound=(self.core_query(focus),),
            focus=Focus(
                confidence=ranked.confidence,
                line=ranked.line,
                least=ranked.least,
                unembedded=ranked.scan.unembedded,
            ),
            query_s=query_s,
        )

    def limit(self, number: int) -> int:
        """How many memories a query brings into the pool."""
        return max(self.search.request.max_facts, READ) if number == FOCUS else PER_QUERY

    def bound(self, one: EmbeddedQuery) -> BoundQuery:
        """A query at this state."""
        self.deadline.check()
        return BoundQuery(self.search.session, self.view, one.analysed)

    def core_query(self, bound: BoundQuery) -> CoreQuery:
        """A bound query as the core takes it."""
        return bound.core_query(self.search.ranking, bound.request)

    def crossing(
        self,
        bound: Sequence[CoreQuery],
        asked: Sequence[int],
        limits: Mapping[int, int],
        watch: set[str],
    ) -> _Crossing:
        """The best memories of these queries, of different texts and as many as the limits say, and
        the levels of these and of others."""
        if not asked:
            return _Crossing(ids=[], best=[], scores=[], cosines=[])
        queries = [bound[number] for number in asked]
        wanted = [limits.get(number, 0) for number in asked]
        raised = list(wanted)
        while True:
            self.deadline.check()
            raw, places, scores, cosines = self.core.levels(
                self.view.seq,
                queries,
                self.filter,
                cast("CoreRanking", self.search.ranking.core),
                limits=raised,
                watch=b"".join(sorted(map(id_bytes, watch))),
                threads=_THREADS,
            )
            ids = split_ids(raw)
            kept = [self.distinct(ids, own) for own in places]
            short = [
                at
                for at, own in enumerate(kept)
                if len(own) < wanted[at] and len(places[at]) >= raised[at] > 0
            ]
            if not short:
                return _Crossing(
                    ids=[id_text("mem", id) for id in ids],
                    best=[own[:most] for own, most in zip(kept, wanted, strict=True)],
                    scores=scores,
                    cosines=cosines,
                )
            for at in short:
                raised[at] *= _GROWTH

    def distinct(self, ids: Sequence[bytes], places: Sequence[int]) -> list[int]:
        """The places without those of texts that stand before them."""
        own = [ids[place] for place in places]
        keys = text_keys(self.search.session, self.view, self.space, own, self.at.known_at_us)
        return [places[at] for at in distinct(own, keys)] if keys else list(places)


def own_messages(view: LedgerView, request: Request, settings: HygieneSettings) -> list[str]:
    """Ids of the memories that are messages of the request, by their text or by their reference in
    the scopes of the request: agents store a turn before they ask."""
    texts = {content_hash(normalise(one.content, settings)) for one in request.messages}
    found = {id_text("mem", id) for id in view.ids_with_hashes(request.namespace, tuple(texts))}
    named = [one.message_id for one in request.messages if one.message_id is not None]
    if named:
        found.update(view.recorded_by(request.namespace, named))
    return sorted(found)


_STATING: Final = frozenset(
    (EventType.ADD, EventType.IMPORT, EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)
)
_SNIPPET_CHARS_MAX: Final = 500


def facts_of(
    view: LedgerView, namespace: str, ids: Sequence[bytes], at: Moments
) -> dict[str, Fact]:
    """Memory id → the fact that it states, as it was known; without a similarity.

    Args:
        ids: 16 bytes each.
    """
    if not ids:
        return {}
    stored = {one.row: one for one in view.recalled(namespace, ids).values()}
    rows = tuple(stored)
    names, claims = view.mentioned_names(rows), view.claims_at(rows)
    evidence = _evidence(view, namespace, stored, claims, at)
    facts = [
        _fact(one, claims.get(row), tuple(evidence.get(row, ())), tuple(names.get(row, ())))
        for row, one in stored.items()
    ]
    return {fact.id: fact for fact in facts}


def _fact(
    stored: RecalledMemory,
    claim: Claim | None,
    evidence: tuple[Evidence, ...],
    names: tuple[str, ...],
) -> Fact:
    return Fact(
        key=memory_key(stored.digest) if claim is None else claim_key(claim),
        id=id_text("mem", stored.id),
        content=stored.content,
        t_valid_us=stored.t_valid_us,
        claim=claim,
        evidence=evidence,
        evidence_count=len(evidence),
        keywords=stored.keywords,
        entities=names,
        similarity=None,
    )


def _evidence(
    view: LedgerView,
    namespace: str,
    memories: Mapping[int, RecalledMemory],
    claims: Mapping[int, Claim],
    at: Moments,
) -> dict[int, Sequence[Evidence]]:
    """Row of a memory → where it was stated: what its claim names, else one piece for each event
    that stated its text."""
    found: dict[int, Sequence[Evidence]] = {
        row: claim.evidence for row, claim in claims.items() if claim.evidence
    }
    plain = [row for row in memories if row not in found]
    if not at.past:
        return found | view.evidence_at(plain)
    for row in plain:
        memory = memories[row].make()
        found[row] = [
            _piece(event, memory)
            for event in view.events(namespace, memory.id)
            if event.event_type in _STATING and to_us(event.recorded_at) <= at.known_at_us
        ]
    return found


def _piece(event: Event, memory: Memory) -> Evidence:
    variant = event.payload.get("variant")
    text = variant if isinstance(variant, str) else memory.content
    return Evidence(
        source_id=event.artifact_ref,
        timestamp=event.occurred_at,
        author=memory.author,
        snippet=text[:_SNIPPET_CHARS_MAX],
    )
