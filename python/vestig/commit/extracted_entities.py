"""Entities that a model found in a stored memory, seen against one state of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from vestig.changes import ChangeSet, EntityPatch, NewEdge, NewEntity
from vestig.commit.entity_merge import merge_changes
from vestig.commit.model_answer import KeptEntity
from vestig.commit.names import new_entity
from vestig.commit.rows import EntityMention, mention_edge
from vestig.language.names import embedded_name, norm_name
from vestig.language.ontology import UNTYPED
from vestig.session import nodes
from vestig.session.entity_names import LATEST_US, ids_with_name
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import EdgeType, Entity, Memory

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EntityRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are written; how many entities no memory has room for; texts whose vectors are
    missing: with some of them nothing may be written; and names of unknown type that became those
    of a typed entity, by id."""

    changes: ChangeSet
    left_out: int
    missing: tuple[str, ...]
    merged: Mapping[str, str]


def entity_rows(
    session: Session,
    view: LedgerView,
    memory: Memory,
    entities: Sequence[KeptEntity],
    vectors: Mapping[str, bytes],
) -> EntityRows:
    """New entities, mentions, and merges of names whose type was unknown. What is there stays; a
    memory mentions at most `entities.max_per_memory`.

    For a callback of the keeper.

    Args:
        entities: best first.
        vectors: by embedded text.
    """
    decision = EntityDecision(session, view, [memory], vectors)
    for entity in entities:
        decision.add(entity, [memory.id])
    return decision.rows()


class EntityDecision:
    """Rows about entities that some memories of one namespace name, gathered entity by entity.

    Args:
        memories: at least one.
        vectors: by embedded text.
        origin: of an entity that is new.
    """

    def __init__(
        self,
        session: Session,
        view: LedgerView,
        memories: Sequence[Memory],
        vectors: Mapping[str, bytes],
        origin: str = "extracted",
    ) -> None:
        self._session = session
        self._view = view
        self._space = memories[0].namespace
        self._vectors = vectors
        self._origin = origin
        self._chosen = session.config.settings
        # memory → every entity that it mentions once this is written → its certainty
        self._mentioned: dict[str, dict[str, float]] = {one.id: {} for one in memories}
        for edge in view.mentions(self._space, list(self._mentioned)):
            certain = 1.0 if edge.confidence is None else edge.confidence
            self._mentioned[edge.memory_id][edge.entity_id] = certain
        self._merged: dict[str, str] = {}
        self._new: list[NewEntity] = []
        self._patches: list[EntityPatch] = []
        self._edges: list[NewEdge] = []
        self._ended: list[str] = []
        self._missing: dict[str, None] = {}
        self._left_out = 0

    def rows(self) -> EntityRows:
        """All of it."""
        return EntityRows(
            changes=ChangeSet(
                namespace=self._space,
                entities=tuple(self._new),
                entity_patches=tuple(self._patches),
                edges=tuple(self._edges),
                expired_edges=tuple(self._ended),
            ),
            left_out=self._left_out,
            missing=tuple(self._missing),
            merged=self._merged,
        )

    def add(
        self, kept: KeptEntity, memories: Sequence[str], *, needed: bool = False
    ) -> Entity | None:
        """One entity with its mentions by those of these memories (ids) that have room for it; None
        where none has, unless the entity is `needed` otherwise."""
        known = self._with_name(kept)
        target = _target(kept, known)
        untyped = [
            one
            for one in known
            if one.entity_type == UNTYPED
            and (target is None or one.id != target.id)
            and norm_name(one.canonical_name) == norm_name(kept.name)
        ]
        there = {one.id for one in [*untyped, *([target] if target else [])]}
        most = self._chosen.entities.max_per_memory
        rooms = [
            id
            for id in memories
            if there & self._mentioned[id].keys() or len(self._mentioned[id]) < most
        ]
        if not rooms and not needed:
            self._left_out += 1
            return None
        entity = self._inserted(kept) if target is None else self._described(target, kept)
        for one in untyped:
            self._merge(one, entity, kept, rooms)
        for id in rooms if self._chosen.links.mentions.enabled else ():
            if entity.id not in self._mentioned[id]:
                self._edges.append(self._mention(id, entity.id, kept))
                self._mentioned[id][entity.id] = kept.confidence
        return entity

    def _with_name(self, kept: KeptEntity) -> list[Entity]:
        """Unexpired entities with this name or alias, oldest first."""
        space, core = self._space, self._session.keeper.core
        ids = ids_with_name(self._view, core, space, kept.name, LATEST_US)
        meant = nodes.following_merges(self._view, space, ids).values()
        found = {
            one.id: one
            for one in meant
            if one is not None and one.expired_at is None and one.id not in self._merged
        }
        by_key = self._view.entities_by_key(space, [kept.key])
        return list({**found, **{one.id: one for one in by_key.values()}}.values())

    def _vector(self, text: str) -> bytes | None:
        vector = self._vectors.get(text)
        if vector is None:
            self._missing[text] = None
        return vector

    def _inserted(self, kept: KeptEntity) -> Entity:
        vector = self._vector(embedded_name(kept.name, kept.description))
        row = new_entity(
            self._space,
            kept.name,
            kept.type,
            origin=self._origin,
            model=self._session.embedder.model,
            embedding=vector,
        )
        row = msgspec.structs.replace(row, description=kept.description)
        self._new.append(row)
        return _as_entity(row)

    def _described(self, entity: Entity, kept: KeptEntity) -> Entity:
        """A longer description replaces a shorter."""
        if len(kept.description) <= len(entity.description):
            return entity
        vector = self._vector(embedded_name(entity.canonical_name, kept.description))
        if vector is not None:
            columns = {
                "description": kept.description,
                "model": self._session.embedder.model,
                "embedding": vector,
            }
            self._patches.append(EntityPatch(entity_id=entity.id, columns=columns))
        return msgspec.structs.replace(entity, description=kept.description)

    def _merge(
        self, untyped: Entity, entity: Entity, kept: KeptEntity, memories: Sequence[str]
    ) -> None:
        """The name of unknown type becomes another name of the typed one, with its edges."""
        space = self._space
        is_new = any(row.id == entity.id for row in self._new)
        there = [] if is_new else self._view.edges(space, entity.id)
        parts = merge_changes(untyped, entity, self._view.edges(space, untyped.id), there)
        self._merged[untyped.id] = entity.id
        self._patches.extend(parts.changes.entity_patches)
        self._ended.extend(parts.changes.expired_edges)
        for edge in parts.changes.edges:
            own = edge.from_id in memories and edge.edge_type is EdgeType.MENTIONS
            certain = 1.0 if edge.confidence is None else edge.confidence
            better = own and kept.confidence > certain
            self._edges.append(self._mention(edge.from_id, entity.id, kept) if better else edge)
        for mentioned in self._mentioned.values():
            before = mentioned.pop(untyped.id, None)
            if before is not None:
                mentioned[entity.id] = max(before, kept.confidence)

    def _mention(self, memory_id: str, entity_id: str, kept: KeptEntity) -> NewEdge:
        mention = EntityMention(
            entity_id=entity_id, confidence=kept.confidence, evidence=kept.evidence
        )
        return mention_edge(memory_id, mention, self._chosen.entities.max_evidence_length)


def _target(kept: KeptEntity, known: Sequence[Entity]) -> Entity | None:
    """The entity that is meant: one of this type; for a name without type the only one that has
    it."""
    same = [one for one in known if one.entity_type == kept.type]
    if same:
        exact = [one for one in same if norm_name(one.canonical_name) == norm_name(kept.name)]
        return (exact or same)[0]
    return known[0] if kept.type == UNTYPED and len(known) == 1 else None


def _as_entity(row: NewEntity) -> Entity:
    """An entity that is about to be written, as a merge sees it."""
    return Entity(
        id=row.id,
        namespace=row.namespace,
        seq=0,
        entity_type=row.entity_type,
        canonical_name=row.canonical_name,
        norm_key=row.norm_key,
        description=row.description,
        aliases=row.aliases,
        type_certain=row.type_certain,
        origin=row.origin,
        created_at=_EPOCH,
        expired_at=None,
        merged_into=None,
        access_count=0,
        last_accessed_at=None,
    )
