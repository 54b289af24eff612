"""Entities that a model found in a memory, seen against one state of the store, and one entity as
another name of a second one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from vestig.changes import ChangeSet, EntityPatch, NewEdge, NewEntity
from vestig.commit.names import new_entity
from vestig.commit.rows import EntityMention, mention_edge
from vestig.errors import ConflictError
from vestig.ids import new_id
from vestig.language.names import embedded_name, norm_key, norm_name
from vestig.language.ontology import UNTYPED
from vestig.session import references
from vestig.session.references import LATEST_US, ids_with_name
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, to_us
from vestig.types import Edge, EdgeType, Entity, Memory

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class KeptEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that passed every gate; `type` is one of the ontology, or one that the model
    invented. `evidence`: an exact passage of the text, "" where there is none."""

    name: str
    type: str
    confidence: float
    evidence: str
    description: str

    @property
    def key(self) -> str:
        """Entities of a namespace with equal keys are one."""
        return norm_key(self.name, self.type)


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
        meant = references.following_merges(self._view, space, ids).values()
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


# --- merge ------------------------------------------------------------------------------------


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """The transaction of a merge: how many edges now start or end at the other entity, and how
    many were there already."""

    changes: ChangeSet
    moved: int
    folded: int


def merge_changes(a: Entity, b: Entity, edges_a: Sequence[Edge], edges_b: Sequence[Edge]) -> Merge:
    """Makes `a` another name of `b`.

    Args:
        a, b: as they stand now; a merged one is given as what it was merged into.
        edges_a, edges_b: the unexpired edges of both.

    Raises:
        ConflictError: one entity, or an expired one.
    """
    if a.id == b.id:
        raise ConflictError(
            f"cannot merge {a.id} into {b.id}: they are one entity already; name two"
        )
    for entity in (a, b):
        check_unexpired(entity, "merge")
    there = {_key(edge): edge for edge in edges_b}
    ended, fresh, folded = [edge.id for edge in edges_a], list[NewEdge](), 0
    best: dict[tuple[str, str, str, str | None], Edge] = {}
    for edge in edges_a:
        moved = _redirected(edge, a.id, b.id)
        if moved.from_id == moved.to_id:
            continue
        known = best.get(_key(moved)) or there.get(_key(moved))
        folded += known is not None
        if known is None or _certainty(moved) > _certainty(known):
            best[_key(moved)] = moved
    for key, edge in best.items():
        if key in there:
            # time travel still shows the edge with the confidence it had
            ended.append(there[key].id)
        fresh.append(_new_edge(edge))
    columns = {"merged_into": b.id}
    changes = ChangeSet(
        namespace=b.namespace,
        entity_patches=(
            EntityPatch(entity_id=b.id, columns=_joined_names(a, b)),
            EntityPatch(entity_id=a.id, columns=columns, expired=True),
        ),
        edges=tuple(fresh),
        expired_edges=tuple(ended),
    )
    moved_only = sum(key not in there for key in best)
    return Merge(changes=changes, moved=moved_only, folded=folded)


def _joined_names(a: Entity, b: Entity) -> dict[str, object]:
    """Names of a become aliases of b; a longer description replaces a shorter."""
    columns: dict[str, object] = {}
    known = {norm_name(name) for name in (b.canonical_name, *b.aliases)}
    aliases = list(b.aliases)
    for name in (a.canonical_name, *a.aliases):
        if norm_name(name) not in known:
            known.add(norm_name(name))
            aliases.append(name)
    if len(aliases) > len(b.aliases):
        columns["aliases"] = tuple(aliases)
    if len(a.description) > len(b.description):
        columns["description"] = a.description
    return columns


def _key(edge: Edge) -> tuple[str, str, str, str | None]:
    return (edge.from_id, edge.to_id, edge.edge_type, edge.relation)


def _redirected(edge: Edge, old: str, new: str) -> Edge:
    return msgspec.structs.replace(
        edge,
        from_id=new if edge.from_id == old else edge.from_id,
        to_id=new if edge.to_id == old else edge.to_id,
    )


def _certainty(edge: Edge) -> float:
    """No confidence counts as full confidence, as in recall."""
    return 1.0 if edge.confidence is None else edge.confidence


def _new_edge(edge: Edge) -> NewEdge:
    return NewEdge(
        id=new_id("edge"),
        from_id=edge.from_id,
        to_id=edge.to_id,
        edge_type=edge.edge_type,
        weight=edge.weight,
        confidence=edge.confidence,
        evidence=edge.evidence,
        origin=edge.origin,
        relation=edge.relation,
    )


def check_unexpired(entity: Entity, action: str) -> None:
    """Raises:
    ConflictError: the entity is expired.
    """
    if entity.expired_at is not None:
        since = format_us(to_us(entity.expired_at))
        raise ConflictError(
            f"cannot {action} {entity.id}: it is expired since {since}; a memory that names it"
            " again makes a new one"
        )
