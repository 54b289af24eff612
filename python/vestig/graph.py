"""The part of a ledger view that reads the graph: entities and edges (D-02, D-03)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from vestig.types import Edge, Entity

__all__ = ["EntityListing", "GraphView", "Mentioned", "NamedEntity"]

# What names need of an entity, as a plain row because texts ask for many: id, type, canonical
# name, seq, `expired_us`, id of the entity it was merged into
NamedEntity = tuple[str, str, str, int, int | None, str | None]


class EntityListing(msgspec.Struct, frozen=True, kw_only=True):
    """What `entity list` asks for; types as stored."""

    offset: int = 0
    limit: int | None = 20
    entity_type: str | None = None
    include_expired: bool = False


class Mentioned(msgspec.Struct, frozen=True, kw_only=True):
    """One unexpired MENTIONS edge seen from its memory."""

    memory_id: str
    entity_id: str
    confidence: float | None


class GraphView(Protocol):
    """Entities and edges of one consistent state. Ids of another namespace are unknown."""

    def namespaces(self) -> list[str]:
        """Namespaces that hold memories, ascending."""
        ...

    def entities(self, namespace: str, ids: Sequence[str]) -> list[Entity]:
        """The known ones of these full ids, expired ones too, in the order given."""
        ...

    def entity_ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full entity ids that start with `prefix`, ascending."""
        ...

    def entities_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, Entity]:
        """norm_key → the unexpired entity that has it."""
        ...

    def entity_ids_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, str]:
        """norm_key → id of the unexpired entity that has it."""
        ...

    def named_entities(self, namespace: str, ids: Sequence[str]) -> list[NamedEntity]:
        """The known ones of these full ids, expired ones too, in no order."""
        ...

    def list_entities(self, namespace: str, listing: EntityListing) -> list[tuple[Entity, int]]:
        """One page with the number of memories that mention each; most mentions first, then
        id."""
        ...

    def count_entities(self, namespace: str, listing: EntityListing) -> int:
        """How many a full listing would give."""
        ...

    def mentions(self, namespace: str, memory_ids: Sequence[str]) -> list[Mentioned]:
        """Unexpired MENTIONS of these memories to unexpired entities, by memory in the order
        given, then by confidence descending (null first), then entity id."""
        ...

    def mentioning(self, namespace: str, entity_ids: Sequence[str]) -> dict[str, list[str]]:
        """entity id → ids of unexpired (active or archived) memories that mention it, newest
        first (seq, then id descending); one batched read (G-25)."""
        ...

    def summaries_of(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → unexpired summaries with an unexpired SUMMARIZES edge to it, newest
        first."""
        ...

    def edge(self, namespace: str, edge_id: str, from_id: str | None = None) -> Edge | None:
        """One edge, expired or not; both ends lie in the namespace. May read all edges, unless it
        is known where the edge starts."""
        ...

    def edge_ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full edge ids that start with `prefix`, ascending. May read all edges."""
        ...

    def list_edges(
        self,
        namespace: str,
        *,
        edge_type: str | None = None,
        limit: int | None = 20,
        include_expired: bool = False,
    ) -> list[Edge]:
        """Newest first (t_created descending, then id)."""
        ...

    def outgoing(self, namespace: str, edge_type: str, memory_ids: Sequence[str]) -> list[Edge]:
        """Unexpired edges of a type that start at these memories, by start in the order given,
        then end id."""
        ...

    def questions(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → its hypothetical questions in order; absent = not generated (null)."""
        ...
