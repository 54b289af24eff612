"""Surroundings of nodes: those that a call names as a start, the nearest by links with the links
between them, and memories one hop away, by the entities they share and by RELATED edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vestig.calls.filter import NO_FILTER
from vestig.calls.graph import ExpandBothRequest, ExpandRequest, NeighbourhoodRequest
from vestig.filters import Moments, filter_parts, moments
from vestig.ids import is_full_id, memory_id_text
from vestig.results import SequenceResult
from vestig.session import references
from vestig.session.references import (
    ids_with_name,
    is_entity_id,
    node_labels,
    only_entity,
    resolved,
)
from vestig.session.session import Session, ahead_notice
from vestig.store.projection.scan_objects import DEGREE_MAX, NodeScan
from vestig.store.records import graph_rows
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Edge, EdgeType, Memory, Status, _Value

# What a warning repeats of a name.
_NAME_CHARS_MAX: Final = 80
# id → (kind, depth), from the core's walk
_Reached = Mapping[str, tuple[str, int]]
# Fields of an edge in JSON.
_SHOWN: Final = ("id", "from_id", "to_id", "edge_type", "relation", "weight", "confidence")
# node → neighbour → weight
_Weights = Mapping[str, Mapping[str, float]]


def node_id(
    session: Session,
    view: LedgerView,
    core: Any,
    namespace: str,
    text: str,
    known_at_us: int,
    *,
    field: str,
) -> str | None:
    """The full id of a memory by its id, of an entity by id or name, at least 8 characters of an
    id; an entity that was merged by then is what it was merged into. None: unknown.

    Raises:
        ValidationError: several nodes have the name, or ids that begin so.
    """
    memory = memory_id_text(text)
    if memory is not None and (found := session.named_ids(view, namespace, memory)):
        return references.unambiguous_id(found, field, text)
    if is_entity_id(text):
        full = references.entity_with_prefix(view, namespace, text, field)
        ids = [] if full is None else [full]
        meant = references.following_merges(view, namespace, ids, known_at_us)
        one = None if full is None else meant[full]
    else:
        ids = ids_with_name(view, core, namespace, text, known_at_us)
        one = only_entity(view, namespace, ids, field, text, known_at_us)
    return None if one is None else one.id


def skipped(text: str) -> str:
    """The warning about a node that takes no part."""
    return f"{text[:_NAME_CHARS_MAX]} was skipped: unknown here, or not eligible"


class NeighbourhoodNode(_Value, frozen=True, kw_only=True, gc=False):
    """One node. `kind`: memory or entity; `depth`: the fewest links from a start, which
    has 0; `label`: the first characters of a memory, or type and name of an entity."""

    id: str
    kind: str
    depth: int
    label: str


class Neighbourhood(SequenceResult[NeighbourhoodNode], frozen=True, kw_only=True):
    """The sequence of the nodes, starts first, then by depth.

    `edges`: all links between two of them, the heaviest first. `left_out`: how many more nodes lie
    within the depth.
    """

    nodes: tuple[NeighbourhoodNode, ...]
    edges: tuple[Edge, ...]
    left_out: int
    namespace: str
    seq: int
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def plain_fields(self) -> dict[str, Any]:
        """The fields that JSON shows, of the edges what a picture needs; `edge show` has the
        rest."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        edges = [{name: getattr(edge, name) for name in _SHOWN} for edge in self.edges]
        shown["edges"] = [
            {name: value for name, value in edge.items() if value is not None} for edge in edges
        ]
        return shown


def nearest(
    starts: Sequence[str],
    reached: _Reached,
    weights: Callable[[Sequence[str]], _Weights],
    limit: int,
) -> list[str]:
    """The ids to show, depth by depth; of one depth those with the largest share of a walk that
    begins at the starts and takes each link by its weight, ties by id.

    Args:
        reached: what lies around, starts included.
        weights: gives the weights of the links around some nodes.
    """
    ring = sorted(starts)[:limit]
    shares = dict.fromkeys(ring, 1.0)
    kept = list(ring)
    depth = 0
    while ring and len(kept) < limit:
        depth += 1
        shares = _next_shares(shares, reached, depth, weights(ring))
        ring = sorted(shares, key=lambda id: (-shares[id], id))[: limit - len(kept)]
        kept += ring
    return kept


def _next_shares(
    shares: Mapping[str, float],
    reached: _Reached,
    depth: int,
    weights: _Weights,
) -> dict[str, float]:
    """Share of the walk of each node of a depth, of those of the depth before it."""
    found: dict[str, float] = {}
    for id, around in weights.items():
        outward = {
            other: weight
            for other, weight in around.items()
            if reached.get(other, ("", -1))[1] == depth
        }
        whole = sum(outward.values())
        for other, weight in outward.items():
            # links of weight 0 lead on as well, behind all others
            share = weight / whole if whole > 0 else 0.0
            found[other] = found.get(other, 0.0) + shares[id] * share
    return found


class _Read:
    """One call. `read` may run more than once, when ledger and projection move apart."""

    def __init__(self, session: Session, asked: NeighbourhoodRequest) -> None:
        self.session = session
        self.asked = asked
        self.space = session.in_namespace(asked.namespace)
        self.moments: Moments = moments(
            session.now_us(), as_of=asked.as_of, known_at=asked.known_at, valid_at=asked.valid_at
        )
        at = self.moments
        self.known_at_us = at.known_at_us if at.past else None

    def read(self, view: LedgerView, core: Any) -> Neighbourhood:
        """The neighbourhood in one state of the store."""
        asked = self.asked
        parts = filter_parts(
            NO_FILTER,
            self.space,
            self.moments,
            include_expired=asked.include_expired,
            include_archived=asked.include_expired,
        )
        scan = NodeScan(core, view.seq, resolved(view, core, parts, nodes=True))
        warnings = [*self.moments.warnings]
        named = {
            text: node_id(
                self.session, view, core, self.space, text, self.moments.known_at_us, field="ids"
            )
            for text in asked.ids
        }
        origins = [id for id in named.values() if id is not None]
        around, wide = scan.around(origins, asked.depth, True, True)
        reached = {id: (kind, depth) for id, kind, depth in around}
        warnings += [skipped(text) for text, id in named.items() if id not in reached]
        warnings += [f"{id} has more than {DEGREE_MAX} neighbours: not expanded" for id in wide]
        hubs = set(wide)

        def weights(ids: Sequence[str]) -> _Weights:
            walked = [id for id in ids if id not in hubs]
            return graph_rows.weights_around(view, self.space, walked, self.known_at_us)

        starts = [id for id, (_, depth) in reached.items() if depth == 0]
        chosen = nearest(starts, reached, weights, asked.limit)
        labels = node_labels(view, self.space, chosen, asked.snippet_len)
        return Neighbourhood(
            nodes=tuple(
                NeighbourhoodNode(
                    id=id, kind=reached[id][0], depth=reached[id][1], label=labels[id]
                )
                for id in chosen
            ),
            edges=tuple(graph_rows.edges_between(view, self.space, chosen, self.known_at_us)),
            left_out=len(reached) - len(chosen),
            namespace=self.space,
            seq=view.seq,
            degraded=(
                *ahead_notice(view.last_recorded_us, self.session.now_us()),
                *self.session.keeper.take_degraded(),
            ),
            warnings=tuple(warnings),
        )


def neighbourhood(session: Session, asked: NeighbourhoodRequest) -> Neighbourhood:
    """The nodes that are nearest by links to those given."""
    call = _Read(session, asked)
    with session.operation("neighbourhood"):
        result = session.keeper.run(call.read)
        session.metrics.degraded(result.degraded)
        return result


class ViaEntities(_Value, frozen=True, kw_only=True):
    """A memory that shares entities with the given ones; the score counts them."""

    memory: Memory
    retrieval_reason: str = "graph_expansion_entity"
    shared_entities: tuple[str, ...]
    expansion_score: int


class ViaRelated(_Value, frozen=True, kw_only=True):
    """A memory with a RELATED edge to one of the given ones; the best edge's weight."""

    memory: Memory
    retrieval_reason: str = "graph_expansion_related"
    similarity_score: float
    source_memory_id: str


class Expansion(_Value, frozen=True, kw_only=True):
    """Both ways of `expand_with_graph`."""

    via_entities: tuple[ViaEntities, ...]
    via_related: tuple[ViaRelated, ...]


def _known(view: LedgerView, space: str, ids: Sequence[str], expired: bool) -> list[str]:
    """Full ids of the memories given, once each; unknown and hidden ones are skipped."""
    full: list[str] = []
    for id in ids:
        if is_full_id(id, "mem"):
            full.append(id)
        elif found := references.unambiguous_id(view.ids_with_prefix(space, id), "ids", id):
            full.append(found)
    return [*_visible(view, space, list(dict.fromkeys(full)), expired)]


def _seen(memory: Memory, expired: bool) -> bool:
    """Archived memories are hidden from ordinary reads; expired ones unless asked for."""
    return memory.status is Status.ACTIVE or (expired and memory.t_expired is not None)


def _visible(view: LedgerView, space: str, ids: Sequence[str], expired: bool) -> dict[str, Memory]:
    found = view.memories(space, ids) if ids else []
    return {memory.id: memory for memory in found if _seen(memory, expired)}


def _confident(confidence: float | None, least: float) -> bool:
    return confidence is None or confidence >= least


def _sharing(view: LedgerView, space: str, given: list[str], least: float) -> dict[str, set[str]]:
    """Other memory → the entities that it shares with the given ones."""
    mentioned = [one for one in view.mentions(space, given) if _confident(one.confidence, least)]
    ids = list(dict.fromkeys(one.entity_id for one in mentioned))
    shared: dict[str, set[str]] = {}
    inputs = set(given)
    for entity_id in ids:
        for edge in view.edges(space, entity_id, EdgeType.MENTIONS):
            if edge.from_id not in inputs and _confident(edge.confidence, least):
                shared.setdefault(edge.from_id, set()).add(entity_id)
    return shared


def via_entities(session: Session, asked: ExpandRequest) -> list[ViaEntities]:
    """Memories that mention the same entities, most shared first, ties by id."""
    expired, least = asked.include_expired, asked.min_confidence
    if least is None:
        least = session.config.settings.links.expansion.min_confidence
    space = session.in_namespace(asked.namespace)
    with session.operation("expand_via_entities"), session.ledger.read() as view:
        given = _known(view, space, asked.ids, expired)
        if not given or not asked.limit:
            return []
        shared = _sharing(view, space, given, least)
        visible = _visible(view, space, sorted(shared), expired)
        best = sorted(visible, key=lambda id: (-len(shared[id]), id))[: asked.limit]
        return [
            ViaEntities(
                memory=visible[id],
                shared_entities=tuple(sorted(shared[id])),
                expansion_score=len(shared[id]),
            )
            for id in best
        ]


def via_related(session: Session, asked: ExpandRequest) -> list[ViaRelated]:
    """Memories with a RELATED edge, heaviest first, ties by id."""
    expired, least = asked.include_expired, asked.min_confidence or 0.0
    space = session.in_namespace(asked.namespace)
    with session.operation("expand_via_related"), session.ledger.read() as view:
        given = _known(view, space, asked.ids, expired)
        if not given or not asked.limit:
            return []
        heaviest: dict[str, tuple[float, str]] = {}
        inputs = set(given)
        for id in sorted(given):
            for edge in view.edges(space, id, EdgeType.RELATED):
                other = edge.to_id if edge.from_id == id else edge.from_id
                if other in inputs or not _confident(edge.confidence, least):
                    continue
                if other not in heaviest or edge.weight > heaviest[other][0]:
                    heaviest[other] = (edge.weight, id)
        visible = _visible(view, space, sorted(heaviest), expired)
        best = sorted(visible, key=lambda id: (-heaviest[id][0], id))[: asked.limit]
        return [
            ViaRelated(
                memory=visible[id],
                similarity_score=heaviest[id][0],
                source_memory_id=heaviest[id][1],
            )
            for id in best
        ]


def via_both(session: Session, asked: ExpandBothRequest) -> Expansion:
    """Return what both ways add; limits of None are those of `links.expansion`."""
    own = session.config.settings.links.expansion
    most, others = asked.entity_limit, asked.related_limit

    def request(limit: int) -> ExpandRequest:
        return ExpandRequest(ids=asked.ids, limit=limit, namespace=asked.namespace)

    return Expansion(
        via_entities=tuple(
            via_entities(session, request(own.max_expand_via_entities if most is None else most))
        ),
        via_related=tuple(
            via_related(session, request(own.max_expand_via_related if others is None else others))
        ),
    )
