"""One hop from memories: by the entities they share, and by RELATED edges."""

from __future__ import annotations

from collections.abc import Sequence

from vestig.calls.graph import ExpandBothRequest, ExpandRequest
from vestig.ids import is_full_id
from vestig.session import nodes
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import EdgeType, Memory, Status, _Value


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
        elif found := nodes.unambiguous_id(view.ids_with_prefix(space, id), "ids", id):
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
