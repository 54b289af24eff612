"""Entities: list, show, merge, expire, purge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from vestig.calls.graph import (
    EntitiesRequest,
    EntityRequest,
    ExpireEntityRequest,
    MergeEntitiesRequest,
    PurgeEntitiesRequest,
)
from vestig.changes import ChangeSet, EntityPatch
from vestig.commit.entities import check_unexpired, merge_changes
from vestig.errors import NotFoundError
from vestig.results import SequenceResult
from vestig.session import nodes
from vestig.session.entity_names import entity_id, types_of
from vestig.session.session import Session
from vestig.session.transaction import RollBack, catch_up, clock_notice
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import EntityListing
from vestig.types import Degradation, Edge, Entity, Memory, _Value


class ListedEntity(nodes.Described, frozen=True, kw_only=True):
    """One entity of a page and how many memories mention it."""

    entity: Entity
    mentions: int


class EntityPage(SequenceResult[ListedEntity], frozen=True, kw_only=True):
    """One page of entities, the sequence of them, the most mentioned first; `total` counts the
    full listing."""

    entities: tuple[ListedEntity, ...]
    total: int
    offset: int
    seq: int


class EntityDetail(nodes.Described, frozen=True, kw_only=True):
    """One entity with the memories that mention it, newest first.

    `asked` is the id that was asked for when that entity was merged into this one. `memories`
    holds the memories themselves only where they were asked for.
    """

    entity: Entity
    asked: str | None
    mentions: int
    memory_ids: tuple[str, ...]
    memories: tuple[Memory, ...] | None
    ledger_seq: int

    def plain_fields(self) -> dict[str, Any]:
        """The entity's fields beside what mentions it."""
        fields = super().plain_fields()
        if self.memories is None:
            del fields["memories"]
        return fields


class EntityChange(nodes.Described, frozen=True, kw_only=True):
    """Outcome of `merge_entities` or `expire_entity`. `entity` is what is left: the other one of a
    merge, else the expired one."""

    entity: Entity
    action: str
    merged_id: str | None = None
    edges_moved: int = 0
    edges_folded: int = 0
    edges_expired: int = 0
    seq: int
    degraded: tuple[Degradation, ...] = ()


class PurgeReport(_Value, frozen=True, kw_only=True):
    """Counts of what `purge_entities` removed, or with `dry_run` would."""

    entity_ids: tuple[str, ...]
    entities_removed: int
    edges_removed: int
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()


def list_entities(session: Session, asked: EntitiesRequest) -> EntityPage:
    """One page and how many there are in all."""
    space = session.in_namespace(asked.namespace)
    kind = asked.entity_type
    listing = EntityListing(
        offset=asked.offset,
        limit=asked.limit,
        entity_type=None if kind is None else _type_name(session, kind),
        include_expired=asked.include_expired,
    )
    with session.operation("entities"), session.ledger.read() as view:
        found = view.list_entities(space, listing)
        return EntityPage(
            entities=tuple(ListedEntity(entity=one, mentions=count) for one, count in found),
            total=view.count_entities(space, listing),
            offset=listing.offset,
            seq=view.seq,
        )


def _type_name(session: Session, given: str) -> str:
    """A type by its name or a synonym; one that is no longer configured by its name."""
    known = types_of(session.config.settings.entities).get(given)
    return given.strip().upper() if known is None else known.name


def show_entity(session: Session, asked: EntityRequest) -> EntityDetail:
    """One entity; a merged one is what it was merged into."""
    expired = asked.include_expired
    space = session.in_namespace(asked.namespace)
    with session.operation("entity"):
        text = entity_id(session, space, asked.id, expired=expired)
        return _detail(session, space, text, with_memories=asked.expand, expired=expired)


def _detail(
    session: Session, space: str, text: str, *, with_memories: bool, expired: bool
) -> EntityDetail:
    with session.ledger.read() as view:
        entity = _expired_too(view, space, text) if expired else nodes.entity(view, space, text)
        ids = view.mentioning(space, [entity.id]).get(entity.id, [])
        return EntityDetail(
            entity=entity,
            asked=None if entity.id.startswith(text) else text,
            mentions=len(ids),
            memory_ids=tuple(ids),
            memories=tuple(view.memories(space, ids)) if with_memories else None,
            ledger_seq=view.seq,
        )


def _expired_too(view: LedgerView, space: str, text: str) -> Entity:
    """The entity itself, even when it is expired or merged."""
    full = nodes.entity_with_prefix(view, space, text, "id")
    if full is None:
        raise NotFoundError("Entity", text)
    return view.entities(space, [full])[0]


def merge_entities(session: Session, asked: MergeEntitiesRequest) -> EntityChange:
    """Makes the first another name of the second."""
    space = session.in_namespace(asked.namespace)
    with session.operation("merge_entities", without_store="make"):
        degraded: list[Degradation] = []
        a, b = (entity_id(session, space, getattr(asked, name), name) for name in ("a", "b"))
        with session.ledger.write(session.now_us(), make=False) as txn:
            old, new = nodes.entity(txn, space, a, "a"), nodes.entity(txn, space, b, "b")
            parts = merge_changes(old, new, txn.edges(space, old.id), txn.edges(space, new.id))
            seq = txn.apply(parts.changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        return EntityChange(
            entity=_stored(session, space, new.id),
            action="merge",
            merged_id=old.id,
            edges_moved=parts.moved,
            edges_folded=parts.folded,
            edges_expired=len(parts.changes.expired_edges),
            seq=seq,
            degraded=catch_up(session, degraded),
        )


def expire_entity(session: Session, asked: ExpireEntityRequest) -> EntityChange:
    """Hides an entity and its edges."""
    space = session.in_namespace(asked.namespace)
    with session.operation("expire_entity", without_store="make"):
        degraded: list[Degradation] = []
        text = entity_id(session, space, asked.id)
        with session.ledger.write(session.now_us(), make=False) as txn:
            entity = nodes.entity(txn, space, text)
            changes: ChangeSet = expire_changes(entity, txn.edges(space, entity.id))
            seq = txn.apply(changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        return EntityChange(
            entity=_stored(session, space, entity.id),
            action="expire",
            edges_expired=len(changes.expired_edges),
            seq=seq,
            degraded=catch_up(session, degraded),
        )


def expire_changes(entity: Entity, edges: Sequence[Edge]) -> ChangeSet:
    """Hides an entity and its edges.

    Raises:
        ConflictError: it is expired already.
    """
    check_unexpired(entity, "expire")
    return ChangeSet(
        namespace=entity.namespace,
        entity_patches=(EntityPatch(entity_id=entity.id, expired=True),),
        expired_edges=tuple(edge.id for edge in edges),
    )


def _stored(session: Session, space: str, id: str) -> Entity:
    with session.ledger.read() as view:
        return view.entities(space, [id])[0]


def purge_entities(session: Session, asked: PurgeEntitiesRequest) -> PurgeReport:
    """Removes expired entities for good."""
    ids, dry = asked.ids, asked.dry_run
    space = session.in_namespace(asked.namespace)
    with session.operation("purge_entities", without_store="make"):
        named = ids and [entity_id(session, space, id, "ids", expired=True) for id in ids]
        purged: list[str] = []
        counts: dict[str, int] = {}
        degraded: list[Degradation] = []
        seq = 0
        with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
            seq = txn.seq
            purged = _to_purge(txn, space, named)
            if purged:
                counts = txn.purge_entities(space, purged)
                if dry:
                    raise RollBack
                seq += 1
                degraded.extend(clock_notice(txn.clock_behind_us))
        if purged and not dry:
            catch_up(session, degraded)
        return PurgeReport(
            entity_ids=tuple(purged),
            entities_removed=counts.get("entities", 0),
            edges_removed=counts.get("edges", 0),
            dry_run=dry,
            seq=seq,
            degraded=tuple(degraded),
        )


def _to_purge(view: LedgerView, space: str, ids: Sequence[str] | None) -> list[str]:
    """Full ids of the entities to purge: those named, or all that are expired."""
    if ids is None:
        listing = EntityListing(limit=None, include_expired=True)
        found = (entity for entity, _ in view.list_entities(space, listing))
        return sorted(entity.id for entity in found if entity.expired_at is not None)
    return list(dict.fromkeys(_expired_too(view, space, id).id for id in ids))
