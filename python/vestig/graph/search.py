"""Unified search over memories and entities."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.answers import Repeat
from vestig.calls.filter import ENTITY as ENTITY_KIND
from vestig.calls.filter import Filter
from vestig.calls.graph import SearchRequest
from vestig.changes import AccessTouch
from vestig.config.schema import Settings
from vestig.errors import StoreLockedError, ValidationError
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.graph.neighbourhood import node_id, skipped
from vestig.graph.search_result import (
    ENTITY,
    MEMORY,
    SCALES,
    Candidate,
    DecayRules,
    Loaded,
    Ranked,
    SearchHit,
    SearchResult,
    best_stored,
    entity_factor,
    fetch_size,
    graph_candidates,
    hybrid_candidates,
    memory_factor,
    vector_candidates,
)
from vestig.ids import id_bytes
from vestig.memories.read import as_known, distinct, repeats_of, text_keys
from vestig.recall.request import query_argument
from vestig.session.embedding import check_identity
from vestig.session.filter_names import unknown_names
from vestig.session.references import resolved
from vestig.session.session import Session, ahead_notice, cleaned_query
from vestig.store.projection.scan_objects import DEGREE_MAX, NodeScan, ln, power
from vestig.store.records.reads import LedgerView
from vestig.telemetry import current_trace, span
from vestig.types import Entity, Memory

_DEPTH_MAX: Final = 1_000
# Where old memories count less: hits below this drop out, and so many accesses slow it the most.
_FADED_BELOW: Final = 0.001
_ACCESSES_OF_FULL_HEAT: Final = 10


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request. `memories`, `entities`: whether they come; where only entities do,
    memories still lead from one to the other."""

    query: str | None
    type: str
    limit: int
    depth: int
    seeds: tuple[str, ...]
    memories: bool
    entities: bool
    filter: FilterParts
    min_similarity: float | None
    moments: Moments
    namespace: str
    decay: bool
    memory_ids: bool
    touch: bool
    trace: bool
    warnings: tuple[str, ...]


def _kinds(where: Filter) -> tuple[bool, bool]:
    """Return whether entities come, and whether memories come."""
    kinds = where.given().get("kinds")
    if kinds is None:
        return True, True
    return ENTITY_KIND in kinds, any(kind != ENTITY_KIND for kind in kinds)


def _query(asked: SearchRequest, seeds: tuple[str, ...]) -> Any:
    """The text to embed, None where nothing is embedded; with warnings."""
    blank = asked.query is None or (isinstance(asked.query, str) and not asked.query.strip())
    if asked.type == "graph" or (asked.type == "hybrid" and seeds and blank):
        return None, ()
    if asked.query is None:
        raise ValidationError("query", None, "a question or some words")
    return query_argument(asked.query)


def _no_seeds(value: object) -> ValidationError:
    allowed = "at least one id of a memory or an entity"
    error = ValidationError("seed_nodes", value, allowed)
    error.args = (f"graph search requires seed node IDs: {error}",)
    return error


def _plan(session: Session, asked: SearchRequest) -> _Plan:
    """Checks everything before any work is done.

    Raises:
        ValidationError: names the field, what came and what is allowed.
    """
    settings = session.config.settings
    seeds = asked.seed_nodes
    if asked.type == "graph" and not seeds:
        raise _no_seeds(asked.seed_nodes or None)
    wanted = settings.search.graph_depth if asked.graph_depth is None else asked.graph_depth
    entities, memories = _kinds(asked.where)
    # an entity has no scope
    entities = entities and session.scope is None
    query, warnings = _query(asked, seeds)
    least = asked.where.given().get("min_similarity")
    if least is not None and query is None:
        raise ValidationError(
            "min_similarity", least, "nothing: without a query nothing is compared"
        )
    space = session.namespace if asked.namespace is None else asked.namespace
    at = moments(
        session.now_us(),
        as_of=asked.as_of,
        known_at=asked.known_at,
        valid_at=asked.valid_at,
        query_time=asked.query_time,
    )
    parts = filter_parts(asked.where, space, at, include_expired=settings.recall.include_expired)
    return _Plan(
        query=query,
        type=asked.type,
        limit=settings.search.limit if asked.limit is None else asked.limit,
        depth=min(wanted, _DEPTH_MAX),
        seeds=seeds,
        memories=memories,
        entities=entities,
        filter=parts,
        min_similarity=least,
        moments=at,
        namespace=space,
        decay=bool(asked.decay),
        memory_ids=asked.include_memory_ids,
        touch=asked.touch,
        trace=asked.trace,
        warnings=(*warnings, *at.warnings),
    )


class _Search:
    """One call. `read` may run more than once, when ledger and projection move apart."""

    def __init__(self, session: Session, settings: Settings, checked: _Plan) -> None:
        self.session = session
        self.plan = checked
        self.floor = _FADED_BELOW if checked.decay else None
        self.rules = _rules(settings)
        self.warnings: list[str] = []

    def run(self) -> SearchResult:
        """Embeds the query, then reads one state of the store."""
        trace = current_trace()
        assert trace is not None, "graph_search is an operation"
        before = len(trace.spans)
        vector = None
        if self.plan.query is not None:
            check_identity(self.session)
            vector = self.session.embed([self.plan.query])[0]
        result = self.session.keeper.run(lambda view, core: self.read(view, core, vector))
        if self.plan.trace:
            result = msgspec.structs.replace(result, trace=tuple(trace.spans[before:]))
        self.session.metrics.degraded(result.degraded)
        return self.touched(result) if self.plan.touch and result.results else result

    def read(self, view: LedgerView, core: Any, vector: bytes | None) -> SearchResult:
        """The nodes of one state of the store, best first."""
        self.view, self.core, self.vector = view, core, vector
        unknown = unknown_names(self.session, view, core, self.plan.filter)
        self.warnings = [*self.plan.warnings, *unknown]
        chosen = resolved(view, core, self.plan.filter, nodes=True)
        self.nodes = NodeScan(core, view.seq, chosen)
        fetch = self.candidates()
        with span("rank") as counts:
            taken, gone = best_stored(fetch, self.load, self.distinct, self.plan.limit, self.floor)
            covered = self.memory_ids(taken)
            self.repeats = self.repeats_of(taken)
            counts.update(returned=len(taken), stale=gone)
        return SearchResult(
            results=tuple(self.hit(item, covered) for item in taken),
            query=self.plan.query,
            type=self.plan.type,
            score_scale=SCALES[self.plan.type],
            decayed=self.plan.decay,
            namespace=self.plan.namespace,
            seq=view.seq,
            degraded=(
                *ahead_notice(view.last_recorded_us, self.session.now_us()),
                *self.session.keeper.take_degraded(),
            ),
            warnings=tuple(self.warnings),
        )

    # --- filters and seeds -------------------------------------------------------------------

    def seeds(self) -> list[tuple[str, str]]:
        """(id, kind) of the seeds that the filter lets through; the others are warned about."""
        if not self.plan.seeds:
            return []
        space, at = self.plan.namespace, self.plan.moments.known_at_us
        named = {
            text: node_id(self.session, self.view, self.core, space, text, at, field="seed_nodes")
            for text in self.plan.seeds
        }
        known = {id for id in named.values() if id is not None}
        kinds = {id: kind for id, kind, _ in self.nodes.around(known, 0, True, True)[0]}
        for text, id in named.items():
            if id not in kinds:
                self.warnings.append(f"seed {skipped(text)}")
        return list(kinds.items())

    # --- candidates ----------------------------------------------------------------------------

    def candidates(self) -> Callable[[int], Sequence[Candidate]]:
        """A function that gives the n best candidates."""
        if self.plan.type == "vector":
            return lambda count: vector_candidates(self.near(count))
        seeds = self.seeds()
        if self.plan.type == "graph":
            found = graph_candidates(self.reach([id for id, _ in seeds])) if seeds else []
        else:
            found = self.both(seeds)
        return lambda count: found[:count]

    def near(self, count: int) -> list[tuple[str, str, float]]:
        """Vector hits, best first."""
        assert self.vector is not None, "a query was embedded"
        with span("score", wanted=count) as counts:
            rows = self.nodes.near(self.vector, self.plan.memories, self.plan.entities, count)
            least = self.plan.min_similarity
            if least is not None:
                (least,) = struct.unpack("f", struct.pack("f", least))  # as cosines are
                rows = [row for row in rows if row[2] >= least]
            counts["found"] = len(rows)
            return rows

    def reach(self, origins: Sequence[str], others: bool = False) -> list[tuple[str, str, int]]:
        """Nodes around the origins with their shortest depth; `others`: from another origin."""
        with span("walk", origins=len(origins)) as counts:
            reached, wide = self.nodes.around(
                origins, self.plan.depth, self.plan.memories, self.plan.entities, others
            )
            counts["reached"] = len(reached)
        for id in wide:
            self.warnings.append(f"{id} has more than {DEGREE_MAX} neighbours: not expanded")
        return reached

    def both(self, seeds: Sequence[tuple[str, str]]) -> list[Candidate]:
        """Vector hits with what lies around them."""
        hits = [] if self.vector is None else self.near(fetch_size(self.plan.limit))
        origins = dict.fromkeys([*(id for id, _, _ in hits), *(id for id, _ in seeds)])
        reached = self.reach([*origins], others=True) if self.plan.depth and origins else []
        wanted = {MEMORY: self.plan.memories, ENTITY: self.plan.entities}
        return hybrid_candidates(hits, reached, [seed for seed in seeds if wanted[seed[1]]])

    # --- nodes ---------------------------------------------------------------------------------

    def load(self, candidates: Sequence[Candidate]) -> Mapping[str, Loaded]:
        """The nodes that the ledger holds, as known at K, each with what fading leaves of it."""
        found: dict[str, Any] = {}
        space = self.plan.namespace
        ids = [one.id for one in candidates if one.kind == MEMORY]
        if ids:
            memories = as_known(self.view, space, self.view.memories(space, ids), self.plan.moments)
            found.update({memory.id: memory for memory in memories})
        ids = [one.id for one in candidates if one.kind == ENTITY]
        if ids:
            found.update({entity.id: entity for entity in self.view.entities(space, ids)})
        factors = self.factors(found) if self.plan.decay else dict.fromkeys(found, 1.0)
        return {id: Loaded(node=node, factor=factors[id]) for id, node in found.items()}

    def distinct(self, ranked: list[Ranked]) -> list[Ranked]:
        """The best one of each text, as known at K."""
        ids = [id_bytes(one.candidate.id) for one in ranked]
        memories = [id for id, one in zip(ids, ranked, strict=True) if isinstance(one.node, Memory)]
        at = self.plan.moments.known_at_us
        keys = text_keys(self.session, self.view, self.plan.namespace, memories, at)
        return [ranked[place] for place in distinct(ids, keys)]

    def factors(self, found: Mapping[str, Memory | Entity]) -> dict[str, float]:
        """The factor by which decay lowers each node's score, 0 to 1."""
        space, now = self.plan.namespace, self.plan.moments.query_time_us
        names = [id for id, node in found.items() if isinstance(node, Entity)]
        mentioning = self.view.mentioning(space, names) if names else {}
        wanted = list(dict.fromkeys(id for ids in mentioning.values() for id in ids))
        memories = {memory.id: memory for memory in self.view.memories(space, wanted)}
        factors = {}
        for id, node in found.items():
            if isinstance(node, Entity):
                mine = [memories[one] for one in mentioning.get(id, ()) if one in memories]
                factors[id] = entity_factor(node, mine, now, self.rules)
            else:
                factors[id] = memory_factor(node, now, self.rules)
        return factors

    def memory_ids(self, taken: Sequence[Ranked]) -> dict[str, tuple[str, ...]]:
        """Hit → the memories behind it, newest first; one look-up per kind for all."""
        if not self.plan.memory_ids:
            return {}
        space = self.plan.namespace
        entities = [one.candidate.id for one in taken if one.candidate.kind == ENTITY]
        memories = [one.candidate.id for one in taken if one.candidate.kind == MEMORY]
        mentioning = self.view.mentioning(space, entities) if entities else {}
        covering = self.view.summaries_of(space, memories) if memories else {}
        covered = {id: tuple(mentioning.get(id, ())) for id in entities}
        # What covers a memory was made after it.
        covered.update({id: (*covering.get(id, ()), id) for id in memories})
        return covered

    def repeats_of(self, taken: Sequence[Ranked]) -> Mapping[str, tuple[tuple[Repeat, ...], int]]:
        """Hit → the other memories of its text, and how many are not named."""
        space, at = self.plan.namespace, self.plan.moments.known_at_us
        ids = [one.candidate.id for one in taken if one.candidate.kind == MEMORY]
        return repeats_of(
            self.session,
            self.view,
            space,
            ids,
            at,
            lambda: resolved(self.view, self.core, self.plan.filter),
        )

    def hit(self, item: Ranked, covered: Mapping[str, tuple[str, ...]]) -> SearchHit:
        """One line of the list."""
        one = item.candidate
        repeats, more = self.repeats.get(one.id, ((), 0))
        return SearchHit(
            node_id=one.id,
            kind=one.kind,
            score=item.score,
            source=one.source,
            graph_depth=one.depth,
            similarity=one.similarity,
            node=item.node,
            repeats=repeats,
            repeats_more=more,
            memory_ids=covered[one.id] if self.plan.memory_ids else None,
            raw_score=item.raw if self.plan.decay else None,
        )

    def touched(self, result: SearchResult) -> SearchResult:
        """Counts the access of what is returned; a busy store drops it with a warning."""
        touch = AccessTouch(
            memory_ids=tuple(hit.id for hit in result if hit.kind == MEMORY),
            entity_ids=tuple(hit.id for hit in result if hit.kind == ENTITY),
            accessed_us=self.session.now_us(),
        )
        try:
            self.session.ledger.touch(self.plan.namespace, touch)
        except StoreLockedError:
            dropped = "the access was not counted: the store is locked"
            return msgspec.structs.replace(result, warnings=(*result.warnings, dropped))
        return result


def _rules(settings: Settings) -> DecayRules:
    """Decay as configured."""
    kept = settings.lifecycle.retention
    return DecayRules(
        half_lives={
            "permanent": None,
            "decision": kept["decision_half_life_days"],
            "standard": kept["standard_half_life_days"],
            "ephemeral": kept["ephemeral_half_life_days"],
            "session": kept["session_half_life_days"],
        },
        default_policy=settings.lifecycle.default_policy,
        by_access=settings.decay.basis == "access",
        reference=_ACCESSES_OF_FULL_HEAT,
        power=power,
        ln=ln,
    )


def search(session: Session, asked: SearchRequest) -> SearchResult:
    """Memories and entities by meaning, by links, or by both."""
    settings = session.config.settings
    asked, warnings = cleaned_query(session, asked)
    checked = _plan(session, asked)
    if warnings:
        checked = msgspec.structs.replace(checked, warnings=(*warnings, *checked.warnings))
    with session.operation("graph_search"):
        result = _Search(session, settings, checked).run()
        session.metrics.add("vestig_queries_total", source="graph_search")
        return result
