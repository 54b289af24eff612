"""Elements of the graph: entities, which are listed, shown, merged, expired and purged, and edges,
which are made, ended, shown and listed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from vestig.arguments import relation_label
from vestig.calls.graph import (
    EdgeRequest,
    EdgesRequest,
    EntitiesRequest,
    EntityRequest,
    ExpireEntityRequest,
    LinkRequest,
    MergeEntitiesRequest,
    PurgeEntitiesRequest,
    UnlinkRequest,
)
from vestig.changes import ChangeSet, EntityPatch, NewEdge
from vestig.commit.entities import check_unexpired, merge_changes
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import check_id_prefix, memory_id_text, new_id
from vestig.language.text_forms import evidence_text
from vestig.results import SequenceResult
from vestig.session import references
from vestig.session.references import entity_id, types_of
from vestig.session.session import RollBack, Session, catch_up, clock_notice
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import EntityListing
from vestig.types import Degradation, Edge, EdgeType, Entity, Kind, Memory, _Value

# type → prefix of both ends
_LINKABLE: Final = {EdgeType.RELATED: "mem", EdgeType.SUMMARIZES: "mem", EdgeType.RELATION: "ent"}
_MAKERS: Final = {
    "MENTIONS": "extraction makes it, from the names in a memory's text",
    "PRODUCED": "every commit that has a source makes it",
    "AFFECTS": "it is a view of the event log, which every change of a memory writes",
}
_ENDS: Final = ("from_id", "to_id")


class ListedEntity(references.Described, frozen=True, kw_only=True):
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


class EntityDetail(references.Described, frozen=True, kw_only=True):
    """One entity with the memories that mention it, newest first; `mentions` counts all of them.

    `asked` is the id that was asked for when that entity was merged into this one.
    """

    entity: Entity
    asked: str | None
    mentions: int
    memories: tuple[Memory, ...]
    ledger_seq: int


class EntityChange(references.Described, frozen=True, kw_only=True):
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
        return _detail(session, space, text, limit=asked.limit, expired=expired)


def _detail(session: Session, space: str, text: str, *, limit: int, expired: bool) -> EntityDetail:
    with session.ledger.read() as view:
        entity = (
            _expired_too(view, space, text) if expired else references.entity(view, space, text)
        )
        ids = view.mentioning(space, [entity.id]).get(entity.id, [])
        return EntityDetail(
            entity=entity,
            asked=None if entity.id.startswith(text) else text,
            mentions=len(ids),
            memories=tuple(view.memories(space, ids[:limit])),
            ledger_seq=view.seq,
        )


def _expired_too(view: LedgerView, space: str, text: str) -> Entity:
    """The entity itself, even when it is expired or merged."""
    full = references.entity_with_prefix(view, space, text, "id")
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
            old, new = references.entity(txn, space, a, "a"), references.entity(txn, space, b, "b")
            parts = merge_changes(old, new, txn.edges(space, old.id), txn.edges(space, new.id))
            seq = txn.apply(parts.changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        return EntityChange(
            entity=_stored_entity(session, space, new.id),
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
            entity = references.entity(txn, space, text)
            changes: ChangeSet = expire_changes(entity, txn.edges(space, entity.id))
            seq = txn.apply(changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        return EntityChange(
            entity=_stored_entity(session, space, entity.id),
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


def _stored_entity(session: Session, space: str, id: str) -> Entity:
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


class EdgeChange(references.Described, frozen=True, kw_only=True):
    """Outcome of `link` or `unlink`; `changed` is false where it was already so."""

    edge: Edge
    action: str
    changed: bool
    seq: int
    degraded: tuple[Degradation, ...] = ()


class EdgeDetail(references.Described, frozen=True, kw_only=True):
    """One edge and what its ends are called."""

    edge: Edge
    from_label: str
    to_label: str


class EdgePage(SequenceResult[EdgeDetail], frozen=True, kw_only=True):
    """The sequence of the edges, newest first."""

    edges: tuple[EdgeDetail, ...]
    seq: int


def link(session: Session, asked: LinkRequest) -> EdgeChange:
    """Stores an edge of origin `caller`, or finds the one that is there."""
    kind = _by_ends(asked) if asked.edge_type is None else _linkable(asked.edge_type)
    ends = {name: _end_text(name, getattr(asked, name), kind) for name in _ENDS}
    new = NewEdge(
        id=new_id("edge"),
        from_id=ends["from_id"],
        to_id=ends["to_id"],
        edge_type=kind,
        weight=asked.weight,
        confidence=asked.confidence,
        evidence=_cut(session, asked.evidence),
        origin="caller",
        relation=_relation(asked.relation, kind),
    )
    space = session.in_namespace(asked.namespace)
    degraded: list[Degradation] = []
    with session.operation("link", without_store="make"):
        if _LINKABLE[kind] == "ent":
            ends = {name: entity_id(session, space, text, name) for name, text in ends.items()}
        with session.ledger.write(session.now_us(), make=False) as txn:
            start, end = (_end(session, txn, space, kind, ends[name], name) for name in _ENDS)
            _check_ends(kind, start, end)
            new = msgspec.structs.replace(new, from_id=start.id, to_id=end.id)
            found, seq = _stored_edge(txn, space, new), txn.seq
            if found is None:
                seq = txn.apply(ChangeSet(namespace=space, edges=(new,)))
                degraded.extend(clock_notice(txn.clock_behind_us))
        if found is not None:
            return EdgeChange(edge=found, action="link", changed=False, seq=seq)
        notes = catch_up(session, degraded)
        with session.ledger.read() as view:
            stored = _stored_edge(view, space, new)
        assert stored is not None, "a written edge is readable"
        return EdgeChange(edge=stored, action="link", changed=True, seq=seq, degraded=notes)


def _by_ends(asked: LinkRequest) -> EdgeType:
    """RELATED between two memories, RELATION between two entities."""
    memories = [memory_id_text(getattr(asked, name)) is not None for name in _ENDS]
    if asked.relation is not None or not any(memories):
        return EdgeType.RELATION
    if all(memories):
        return EdgeType.RELATED
    raise ValidationError(
        "to_id", asked.to_id, "two memories or two entities", f"from_id is {asked.from_id!r}"
    )


def _end_text(field: str, text: str, kind: EdgeType) -> str:
    """The id of a memory, or what a caller calls an entity."""
    if _LINKABLE[kind] == "mem":
        return check_id_prefix(field, text, "mem")
    if text.strip().startswith("mem_"):
        raise ValidationError(
            field, text, f"the id (ent_…) or the name of an entity for {kind.value}"
        )
    return text.strip()


def _linkable(word: str) -> EdgeType:
    if word in _MAKERS:
        raise ValidationError(
            "edge_type", word, "one of " + ", ".join(_LINKABLE), f"{word}: {_MAKERS[word]}"
        )
    return EdgeType(word)


def _relation(given: str | None, kind: EdgeType) -> str | None:
    """The label of a RELATION."""
    if kind is EdgeType.RELATION:
        return relation_label(given)
    if given is not None:
        raise ValidationError("relation", given, f"nothing: {kind.value} has no label")
    return None


def _cut(session: Session, evidence: str | None) -> str | None:
    most = session.config.settings.entities.max_evidence_length
    return None if evidence is None else evidence_text(evidence, most)


def _check_ends(kind: EdgeType, start: Memory | Entity, end: Memory | Entity) -> None:
    """Two different nodes, and a summary where a summary belongs.

    Raises:
        ValidationError: an edge from a node to itself, or SUMMARIZES from another kind.
    """
    if start.id == end.id:
        raise ValidationError("to_id", end.id, f"another node than from_id {start.id}")
    summary = isinstance(start, Memory) and start.kind is Kind.SUMMARY
    if kind is EdgeType.SUMMARIZES and not summary:
        raise ValidationError("from_id", start.id, "a memory of kind SUMMARY for SUMMARIZES")


def _end(
    session: Session, view: LedgerView, space: str, kind: EdgeType, id: str, field: str
) -> Memory | Entity:
    if _LINKABLE[kind] == "ent":
        return references.entity(view, space, id, field)
    return session.memory(view, space, id, field)


def _stored_edge(view: LedgerView, space: str, new: NewEdge) -> Edge | None:
    """The unexpired edge of this type and label between these ends."""
    for edge in view.edges(space, new.from_id, new.edge_type):
        if (edge.from_id, edge.to_id, edge.relation) == (new.from_id, new.to_id, new.relation):
            return edge
    return None


def unlink(session: Session, asked: UnlinkRequest) -> EdgeChange:
    """Ends an edge; one that has ended stays as it is."""
    space = session.in_namespace(asked.namespace)
    degraded: list[Degradation] = []
    with session.operation("unlink", without_store="make"):
        with session.ledger.write(session.now_us(), make=False) as txn:
            before, seq = _edge(txn, space, asked.edge_id, "edge_id"), txn.seq
            if before.t_expired is None:
                seq = txn.apply(ChangeSet(namespace=space, expired_edges=(before.id,)))
                degraded.extend(clock_notice(txn.clock_behind_us))
        if before.t_expired is not None:
            return EdgeChange(edge=before, action="unlink", changed=False, seq=seq)
        notes = catch_up(session, degraded)
        with session.ledger.read() as view:
            after = _edge(view, space, before.id, "edge_id")
        return EdgeChange(edge=after, action="unlink", changed=True, seq=seq, degraded=notes)


def edge(session: Session, asked: EdgeRequest) -> EdgeDetail:
    """One edge, expired or not."""
    space = session.in_namespace(asked.namespace)
    with session.operation("edge"), session.ledger.read() as view:
        found = _edge(view, space, asked.id, "id")
        return _detailed(view, space, [found], asked.snippet_len)[0]


def edges(session: Session, asked: EdgesRequest) -> EdgePage:
    """Edges of a namespace, or of one node, newest first."""
    kind, most, expired = asked.edge_type, asked.limit, asked.include_expired
    space = session.in_namespace(asked.namespace)
    with session.operation("edges"):
        node = None if asked.node_id is None else _node_text(session, space, asked.node_id)
        with session.ledger.read() as view:
            if node is None:
                found = view.list_edges(space, edge_type=kind, limit=most, include_expired=expired)
            else:
                found = _of_node(session, view, space, node, kind, expired)[:most]
            shown = tuple(_detailed(view, space, found, asked.snippet_len))
            return EdgePage(edges=shown, seq=view.seq)


def _node_text(session: Session, space: str, given: str) -> str:
    """The id of a memory, or of the entity that is called so; ids may be beginnings."""
    return memory_id_text(given) or entity_id(session, space, given, "node_id")


def _of_node(
    session: Session,
    view: LedgerView,
    space: str,
    node_id: str,
    kind: str | None,
    expired: bool,
) -> list[Edge]:
    """Edges that start or end at a memory or an entity."""
    if node_id.startswith("ent_"):
        id = references.entity(view, space, node_id, "node_id").id
    else:
        id = session.memory(view, space, node_id, "node_id").id
    if expired:
        every = view.list_edges(space, edge_type=kind, limit=None, include_expired=True)
        return [one for one in every if id in (one.from_id, one.to_id)]
    found = view.edges(space, id, kind)
    return sorted(found, key=lambda one: (-one.t_created.timestamp(), one.id))


def _edge(view: LedgerView, space: str, id: str, field: str) -> Edge:
    full = references.full_edge_id(view, space, id, field)
    found = view.edge(space, full)
    if found is None:
        raise NotFoundError("Edge", full)
    return found


def _detailed(view: LedgerView, space: str, found: list[Edge], length: int) -> list[EdgeDetail]:
    named = references.labels(view, space, found, length)
    return [
        EdgeDetail(edge=one, from_label=named[one.from_id], to_label=named[one.to_id])
        for one in found
    ]
