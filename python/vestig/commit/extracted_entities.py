"""Entities that a model found in a stored memory, seen against one state of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from vestig.changes import ChangeSet, EntityPatch, NewEdge, NewEntity
from vestig.commit.entity_merge import merge_changes
from vestig.commit.model_answer import KeptEntity
from vestig.commit.names import EntityMention, embedded_name, new_entity
from vestig.commit.rows import mention_edge
from vestig.language.names.forms import norm_name
from vestig.language.names.ontology import UNTYPED
from vestig.session import nodes
from vestig.session.entity_names import LATEST_US, ids_with_name
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import EdgeType, Entity, Memory

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EntityRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are written; how many entities the memory has no room for; and texts whose vectors
    are missing: with some of them nothing may be written."""

    changes: ChangeSet
    left_out: int
    missing: tuple[str, ...]


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
    decision = _Decision(session, view, memory, vectors)
    for entity in entities:
        decision.add(entity)
    return decision.rows()


class _Decision:
    """Rows about one memory, gathered entity by entity."""

    def __init__(
        self, session: Session, view: LedgerView, memory: Memory, vectors: Mapping[str, bytes]
    ) -> None:
        self._session = session
        self._view = view
        self._memory = memory
        self._vectors = vectors
        self._chosen = session.config.settings
        # every entity that the memory mentions once this is written → its certainty
        self._mentioned: dict[str, float] = {
            edge.entity_id: 1.0 if edge.confidence is None else edge.confidence
            for edge in view.mentions(memory.namespace, [memory.id])
        }
        self._merged: set[str] = set()
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
                namespace=self._memory.namespace,
                entities=tuple(self._new),
                entity_patches=tuple(self._patches),
                edges=tuple(self._edges),
                expired_edges=tuple(self._ended),
            ),
            left_out=self._left_out,
            missing=tuple(self._missing),
        )

    def add(self, kept: KeptEntity) -> None:
        """One entity with its mention, unless the memory has no room for it."""
        known = self._with_name(kept)
        target = _target(kept, known)
        untyped = [
            one
            for one in known
            if one.entity_type == UNTYPED
            and (target is None or one.id != target.id)
            and norm_name(one.canonical_name) == norm_name(kept.name)
        ]
        there = any(one.id in self._mentioned for one in [*untyped, *([target] if target else [])])
        if not there and len(self._mentioned) >= self._chosen.entities.max_per_memory:
            self._left_out += 1
            return
        entity = self._inserted(kept) if target is None else self._described(target, kept)
        for one in untyped:
            self._merge(one, entity, kept)
        if self._chosen.links.mentions.enabled and entity.id not in self._mentioned:
            self._edges.append(self._mention(entity.id, kept))
            self._mentioned[entity.id] = kept.confidence

    def _with_name(self, kept: KeptEntity) -> list[Entity]:
        """Unexpired entities with this name or alias, oldest first."""
        space, core = self._memory.namespace, self._session.keeper.core
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
            self._memory.namespace,
            kept.name,
            kept.type,
            origin="extracted",
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

    def _merge(self, untyped: Entity, entity: Entity, kept: KeptEntity) -> None:
        """The name of unknown type becomes another name of the typed one, with its edges."""
        space = self._memory.namespace
        is_new = any(row.id == entity.id for row in self._new)
        there = [] if is_new else self._view.edges(space, entity.id)
        parts = merge_changes(untyped, entity, self._view.edges(space, untyped.id), there)
        self._merged.add(untyped.id)
        self._patches.extend(parts.changes.entity_patches)
        self._ended.extend(parts.changes.expired_edges)
        for edge in parts.changes.edges:
            own = edge.from_id == self._memory.id and edge.edge_type is EdgeType.MENTIONS
            certain = 1.0 if edge.confidence is None else edge.confidence
            better = own and kept.confidence > certain
            self._edges.append(self._mention(entity.id, kept) if better else edge)
        before = self._mentioned.pop(untyped.id, None)
        if before is not None:
            self._mentioned[entity.id] = max(before, kept.confidence)

    def _mention(self, entity_id: str, kept: KeptEntity) -> NewEdge:
        mention = EntityMention(
            entity_id=entity_id, confidence=kept.confidence, evidence=kept.evidence
        )
        return mention_edge(self._memory.id, mention, self._chosen.entities.max_evidence_length)


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
