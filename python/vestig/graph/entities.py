"""Entities: list, show, merge, expire, purge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from vestig.arguments import check_unicode, count_argument, flag_argument, listed
from vestig.changes import ChangeSet, EntityPatch, NewEdge
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.ids import new_id
from vestig.language.names.forms import norm_name
from vestig.ports import EntityListing, LedgerView
from vestig.results import SequenceResult
from vestig.session import nodes
from vestig.session.entity_names import entity_id
from vestig.session.known_names import types_of
from vestig.session.session import Session
from vestig.session.transaction import RollBack, catch_up, clock_notice
from vestig.times import format_us, to_us
from vestig.types import Degradation, Edge, Entity, Memory, _Value

__all__ = [
    "EntityChange",
    "EntityDetail",
    "EntityPage",
    "ListedEntity",
    "Merge",
    "PurgeReport",
    "expire_changes",
    "expire_entity",
    "list_entities",
    "merge_changes",
    "merge_entities",
    "purge_entities",
    "show_entity",
]


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


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """The transaction of a merge: how many edges now start or end at the other entity, and how
    many were there already."""

    changes: ChangeSet
    moved: int
    folded: int


def list_entities(
    session: Session,
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
    if isinstance(entity_type, str):
        check_unicode("entity_type", entity_type)
    space = session.in_namespace(namespace)
    listing = EntityListing(
        offset=count_argument("offset", offset, least=0),
        limit=count_argument("limit", limit),
        entity_type=None if entity_type is None else _type_name(session, entity_type),
        include_expired=flag_argument("include_expired", include_expired),
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


def show_entity(
    session: Session, id: object, *, expand: object, include_expired: object, namespace: object
) -> EntityDetail:
    """One entity; a merged one is what it was merged into."""
    with_memories = flag_argument("expand", expand)
    expired = flag_argument("include_expired", include_expired)
    space = session.in_namespace(namespace)
    with session.operation("entity"):
        text = entity_id(session, space, id, expired=expired)
        return _detail(session, space, text, with_memories=with_memories, expired=expired)


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


def merge_entities(session: Session, a: object, b: object, *, namespace: object) -> EntityChange:
    """Makes the first another name of the second."""
    space = session.in_namespace(namespace)
    with session.operation("merge_entities", without_store="make"):
        degraded: list[Degradation] = []
        a, b = entity_id(session, space, a, "a"), entity_id(session, space, b, "b")
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
        _check_unexpired(entity, "merge")
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


def expire_entity(session: Session, id: object, *, namespace: object) -> EntityChange:
    """Hides an entity and its edges."""
    space = session.in_namespace(namespace)
    with session.operation("expire_entity", without_store="make"):
        degraded: list[Degradation] = []
        text = entity_id(session, space, id)
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
    _check_unexpired(entity, "expire")
    return ChangeSet(
        namespace=entity.namespace,
        entity_patches=(EntityPatch(entity_id=entity.id, expired=True),),
        expired_edges=tuple(edge.id for edge in edges),
    )


def _check_unexpired(entity: Entity, action: str) -> None:
    if entity.expired_at is not None:
        since = format_us(to_us(entity.expired_at))
        raise ConflictError(
            f"cannot {action} {entity.id}: it is expired since {since}; a memory that names it"
            " again makes a new one"
        )


def _stored(session: Session, space: str, id: str) -> Entity:
    with session.ledger.read() as view:
        return view.entities(space, [id])[0]


def purge_entities(
    session: Session, ids: object, *, dry_run: object, namespace: object
) -> PurgeReport:
    """Removes expired entities for good."""
    dry = flag_argument("dry_run", dry_run)
    space = session.in_namespace(namespace)
    with session.operation("purge_entities", without_store="make"):
        named = None if ids is None else _named(session, space, ids)
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


def _named(session: Session, space: str, ids: object) -> list[str]:
    ids = listed(ids)
    if not isinstance(ids, (list, tuple)):
        raise ValidationError("ids", type(ids).__name__, "a list of entity ids")
    return [entity_id(session, space, id, "ids", expired=True) for id in ids]


def _to_purge(view: LedgerView, space: str, ids: Sequence[str] | None) -> list[str]:
    """Full ids of the entities to purge: those named, or all that are expired."""
    if ids is None:
        listing = EntityListing(limit=None, include_expired=True)
        found = (entity for entity, _ in view.list_entities(space, listing))
        return sorted(entity.id for entity in found if entity.expired_at is not None)
    return list(dict.fromkeys(_expired_too(view, space, id).id for id in ids))
