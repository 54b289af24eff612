"""What a memory is linked with, as `show(expand=1)` tells it: entities and related memories."""

from __future__ import annotations

from vestig.filters import Moments
from vestig.ports import LedgerView
from vestig.results import LinkedEntity, LinkedMemory
from vestig.times import from_us
from vestig.types import Edge, EdgeType, Memory

__all__ = ["entities_of", "related_to"]


def entities_of(view: LedgerView, memory: Memory, at: Moments) -> tuple[LinkedEntity, ...]:
    """Entities that the memory mentions, the surest first; no confidence = the caller named it."""
    edges = _edges(view, memory, EdgeType.MENTIONS, at)
    known = {one.id: one for one in view.entities(memory.namespace, [e.to_id for e in edges])}
    found = [
        LinkedEntity(
            id=edge.to_id,
            type=known[edge.to_id].entity_type,
            name=known[edge.to_id].canonical_name,
            confidence=edge.confidence,
        )
        for edge in edges
        if edge.to_id in known
    ]
    sure = {one.id: 1.0 if one.confidence is None else one.confidence for one in found}
    return tuple(sorted(found, key=lambda one: (-sure[one.id], one.id)))


def related_to(view: LedgerView, memory: Memory, at: Moments) -> tuple[LinkedMemory, ...]:
    """Memories with a RELATED edge to or from this one, the strongest first; expired ones are
    left out."""
    weights: dict[str, float] = {}
    for edge in _edges(view, memory, EdgeType.RELATED, at):
        other = edge.to_id if edge.from_id == memory.id else edge.from_id
        weights[other] = max(edge.weight, weights.get(other, 0.0))
    found = [
        LinkedMemory(id=one.id, weight=weights[one.id], content=one.content)
        for one in view.memories(memory.namespace, list(weights))
        if _holds(one, at)
    ]
    return tuple(sorted(found, key=lambda one: (-one.weight, one.id)))


def _edges(view: LedgerView, memory: Memory, edge_type: EdgeType, at: Moments) -> list[Edge]:
    """Edges of the memory as the store knew them; those that ended since come from all edges."""
    if not at.past:
        return view.edges(memory.namespace, memory.id, edge_type)
    every = view.list_edges(memory.namespace, edge_type=edge_type, limit=None, include_expired=True)
    return [edge for edge in every if memory.id in (edge.from_id, edge.to_id) and _holds(edge, at)]


def _holds(one: Memory | Edge, at: Moments) -> bool:
    """Whether it was current at K (T-13)."""
    known = from_us(at.known_at_us)
    return one.t_created <= known and (one.t_expired is None or one.t_expired > known)
