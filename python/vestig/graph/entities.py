"""Entities as callers see them: list, show, merge, expire, purge (D-02, G-05)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from vestig.changes import ChangeSet
from vestig.errors import NotFoundError, ValidationError
from vestig.filters import count_argument, flag_argument
from vestig.ids import check_id_prefix
from vestig.lifecycle import entities as rules
from vestig.memories.states import Undo, clock_notice, finish
from vestig.ports import EntityListing, LedgerView
from vestig.session import nodes
from vestig.session.known_names import types_of
from vestig.session.session import Context
from vestig.types import Degradation, Entity, Memory, _Value

__all__ = [
    "EntityChange",
    "EntityDetail",
    "EntityPage",
    "ListedEntity",
    "PurgeReport",
    "expire_entity",
    "list_entities",
    "merge_entities",
    "purge_entities",
    "show_entity",
]


class ListedEntity(nodes.Described, frozen=True, kw_only=True):
    """One entity of a page and how many memories mention it."""

    entity: Entity
    mentions: int


class EntityPage(_Value, frozen=True, kw_only=True):
    """One page of entities, the most mentioned first; `total` counts the full listing."""

    entities: tuple[ListedEntity, ...]
    total: int
    offset: int
    seq: int

    def __iter__(self) -> Iterator[ListedEntity]:
        return iter(self.entities)

    def __len__(self) -> int:
        return len(self.entities)


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
    """What `merge_entities` or `expire_entity` did. `entity` is what is left: the other one of a
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
    """What `purge_entities` removed, or with `dry_run` would."""

    entity_ids: tuple[str, ...]
    entities_removed: int
    edges_removed: int
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()


def list_entities(
    context: Context,
    *,
    entity_type: object,
    offset: object,
    limit: object,
    include_expired: object,
    namespace: object,
) -> EntityPage:
    """One page and how many there are in all."""
    if entity_type is not None and (not isinstance(entity_type, str) or not entity_type.strip()):
        raise ValidationError("entity_type", entity_type, "the name of a type")
    space = context.in_namespace(namespace)
    listing = EntityListing(
        offset=count_argument("offset", offset, least=0),
        limit=count_argument("limit", limit),
        entity_type=None if entity_type is None else _type_name(context, entity_type),
        include_expired=flag_argument("include_expired", include_expired),
    )
    with context.operation("entities"), context.ledger.read() as view:
        found = view.list_entities(space, listing)
        return EntityPage(
            entities=tuple(ListedEntity(entity=one, mentions=count) for one, count in found),
            total=view.count_entities(space, listing),
            offset=listing.offset,
            seq=view.seq,
        )


def _type_name(context: Context, given: str) -> str:
    """A type by its name or a synonym; one that is no longer configured by its name."""
    known = types_of(context.config.settings.m4.entity_types).get(given)
    return given.strip().upper() if known is None else known.name


def show_entity(
    context: Context, id: object, *, expand: object, include_expired: object, namespace: object
) -> EntityDetail:
    """One entity; a merged one is what it was merged into."""
    whole = flag_argument("expand", expand)
    expired = flag_argument("include_expired", include_expired)
    space = context.in_namespace(namespace)
    with context.operation("entity"), context.ledger.read() as view:
        text = check_id_prefix("id", id, "ent")
        entity = _expired_too(view, space, text) if expired else nodes.entity(view, space, text)
        ids = view.mentioning(space, [entity.id]).get(entity.id, [])
        return EntityDetail(
            entity=entity,
            asked=None if entity.id.startswith(text) else text,
            mentions=len(ids),
            memory_ids=tuple(ids),
            memories=tuple(view.memories(space, ids)) if whole else None,
            ledger_seq=view.seq,
        )


def _expired_too(view: LedgerView, space: str, text: str) -> Entity:
    """The entity itself, even when it is expired or merged."""
    full = nodes.only(view.entity_ids_with_prefix(space, text), "id", text)
    if full is None:
        raise NotFoundError("Entity", text)
    return view.entities(space, [full])[0]


def merge_entities(context: Context, a: object, b: object, *, namespace: object) -> EntityChange:
    """Makes the first another name of the second."""
    space = context.in_namespace(namespace)
    with context.operation("merge_entities"):
        degraded: list[Degradation] = []
        with context.ledger.write(context.now_us()) as txn:
            old, kept = nodes.entity(txn, space, a, "a"), nodes.entity(txn, space, b, "b")
            parts = rules.merge(old, kept, txn.edges(space, old.id), txn.edges(space, kept.id))
            seq = txn.apply(parts.changes)
            degraded.extend(clock_notice(txn.clock_stepped_back))
        return EntityChange(
            entity=_now(context, space, kept.id),
            action="merge",
            merged_id=old.id,
            edges_moved=parts.moved,
            edges_folded=parts.folded,
            edges_expired=len(parts.changes.expired_edges),
            seq=seq,
            degraded=finish(context, degraded),
        )


def expire_entity(context: Context, id: object, *, namespace: object) -> EntityChange:
    """Hides an entity and its edges."""
    space = context.in_namespace(namespace)
    with context.operation("expire_entity"):
        degraded: list[Degradation] = []
        with context.ledger.write(context.now_us()) as txn:
            entity = nodes.entity(txn, space, id)
            changes: ChangeSet = rules.expire(entity, txn.edges(space, entity.id))
            seq = txn.apply(changes)
            degraded.extend(clock_notice(txn.clock_stepped_back))
        return EntityChange(
            entity=_now(context, space, entity.id),
            action="expire",
            edges_expired=len(changes.expired_edges),
            seq=seq,
            degraded=finish(context, degraded),
        )


def _now(context: Context, space: str, id: str) -> Entity:
    with context.ledger.read() as view:
        return view.entities(space, [id])[0]


def purge_entities(
    context: Context, ids: object, *, dry_run: object, namespace: object
) -> PurgeReport:
    """Removes expired entities for good."""
    dry = flag_argument("dry_run", dry_run)
    space = context.in_namespace(namespace)
    with context.operation("purge_entities"):
        going: list[str] = []
        counts: dict[str, int] = {}
        degraded: list[Degradation] = []
        seq = 0
        with suppress(Undo), context.ledger.write(context.now_us()) as txn:
            seq = txn.seq
            going = _going(txn, space, ids)
            if going:
                counts = txn.purge_entities(space, going)
                if dry:
                    raise Undo
                seq += 1
                degraded.extend(clock_notice(txn.clock_stepped_back))
        if going and not dry:
            finish(context, degraded)
        return PurgeReport(
            entity_ids=tuple(going),
            entities_removed=counts.get("entities", 0),
            edges_removed=counts.get("edges", 0),
            dry_run=dry,
            seq=seq,
            degraded=tuple(degraded),
        )


def _going(view: LedgerView, space: str, ids: object) -> list[str]:
    """Full ids of the entities to purge: those named, or all that are expired."""
    if ids is None:
        listing = EntityListing(limit=None, include_expired=True)
        found = (entity for entity, _ in view.list_entities(space, listing))
        return sorted(entity.id for entity in found if entity.expired_at is not None)
    if not isinstance(ids, (list, tuple)):
        raise ValidationError("ids", type(ids).__name__, "a list of entity ids")
    return list(dict.fromkeys(_expired_too(view, space, _id_text(id)).id for id in ids))


def _id_text(id: object) -> str:
    return check_id_prefix("ids", id, "ent")
