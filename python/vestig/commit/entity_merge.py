"""One entity as another name of a second one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vestig.changes import ChangeSet, EntityPatch, NewEdge
from vestig.errors import ConflictError
from vestig.ids import new_id
from vestig.language.names import norm_name
from vestig.times import format_us, to_us
from vestig.types import Edge, Entity


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
