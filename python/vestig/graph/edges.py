"""Edges as callers see them: link, unlink, list, show (D-03, G-10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vestig.changes import ChangeSet
from vestig.errors import NotFoundError, ValidationError
from vestig.filters import count_argument, flag_argument
from vestig.ids import check_id_prefix
from vestig.lifecycle import edges as rules
from vestig.memories.states import clock_notice, finish
from vestig.ports import LedgerView
from vestig.session import nodes
from vestig.session.session import Context
from vestig.types import Degradation, Edge, Entity, Memory, _Value

__all__ = ["EdgeChange", "EdgeDetail", "EdgePage", "edge", "edges", "link", "unlink"]

LIST_LIMIT_DEFAULT = 20


class EdgeChange(nodes.Described, frozen=True, kw_only=True):
    """What `link` or `unlink` did; `changed` is false where it was already so."""

    edge: Edge
    action: str
    changed: bool
    seq: int
    degraded: tuple[Degradation, ...] = ()


class EdgeDetail(nodes.Described, frozen=True, kw_only=True):
    """One edge and what its ends are called."""

    edge: Edge
    from_label: str
    to_label: str


class EdgePage(_Value, frozen=True, kw_only=True):
    """Edges, newest first."""

    edges: tuple[EdgeDetail, ...]
    seq: int

    def __iter__(self) -> Iterator[EdgeDetail]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)


def link(
    context: Context,
    from_id: object,
    to_id: object,
    edge_type: object,
    *,
    relation: object,
    weight: object,
    confidence: object,
    evidence: object,
    namespace: object,
) -> EdgeChange:
    """Stores an edge of origin `caller`, or finds the one that is there."""
    settings = context.config.settings
    request = rules.link_request(
        from_id,
        to_id,
        edge_type,
        relation=relation,
        weight=weight,
        confidence=confidence,
        evidence=evidence,
        evidence_max=settings.m4.entity_extraction.max_evidence_length,
    )
    space = context.in_namespace(namespace)
    degraded: list[Degradation] = []
    with context.operation("link"):
        with context.ledger.write(context.now_us()) as txn:
            start = _end(context, txn, space, request, "from_id")
            end = _end(context, txn, space, request, "to_id")
            rules.check_ends(request, start, end)
            new = request.edge(start.id, end.id)
            found, seq = _same(txn, space, new), txn.seq
            if found is None:
                seq = txn.apply(ChangeSet(namespace=space, edges=(new,)))
                degraded.extend(clock_notice(txn.clock_stepped_back))
        if found is not None:
            return EdgeChange(edge=found, action="link", changed=False, seq=seq)
        notes = finish(context, degraded)
        with context.ledger.read() as view:
            stored = _same(view, space, new)
        assert stored is not None, "a written edge is readable"
        return EdgeChange(edge=stored, action="link", changed=True, seq=seq, degraded=notes)


def _end(
    context: Context, view: LedgerView, space: str, request: rules.LinkRequest, field: str
) -> Memory | Entity:
    id = getattr(request, field)
    if request.prefix == "ent":
        return nodes.entity(view, space, id, field)
    return context.memory(view, space, id, field)


def _same(view: LedgerView, space: str, new: Any) -> Edge | None:
    """The unexpired edge of this type and label between these ends (D-03)."""
    for edge in view.edges(space, new.from_id, new.edge_type):
        if (edge.from_id, edge.to_id, edge.relation) == (new.from_id, new.to_id, new.relation):
            return edge
    return None


def unlink(context: Context, edge_id: object, *, namespace: object) -> EdgeChange:
    """Ends an edge; one that has ended stays as it is."""
    space = context.in_namespace(namespace)
    degraded: list[Degradation] = []
    with context.operation("unlink"):
        with context.ledger.read() as view:
            # All edges are read to find it: not under the lock.
            found = _edge(view, space, edge_id, "edge_id")
        full, start = found.id, found.from_id
        with context.ledger.write(context.now_us()) as txn:
            before, seq = _known_edge(txn, space, full, start), txn.seq
            if before.t_expired is None:
                ended = ChangeSet(namespace=space, expired_edges=(full,), expired_from=(start,))
                seq = txn.apply(ended)
                degraded.extend(clock_notice(txn.clock_stepped_back))
        if before.t_expired is not None:
            return EdgeChange(edge=before, action="unlink", changed=False, seq=seq)
        notes = finish(context, degraded)
        with context.ledger.read() as view:
            after = _known_edge(view, space, full, start)
        return EdgeChange(edge=after, action="unlink", changed=True, seq=seq, degraded=notes)


def _edge(view: LedgerView, space: str, id: object, field: str) -> Edge:
    return _known_edge(view, space, nodes.full_edge_id(view, space, id, field))


def _known_edge(view: LedgerView, space: str, id: str, from_id: str | None = None) -> Edge:
    found = view.edge(space, id, from_id)
    if found is None:
        raise NotFoundError("Edge", id)
    return found


def edge(context: Context, id: object, *, snippet_len: object, namespace: object) -> EdgeDetail:
    """One edge, expired or not."""
    length = count_argument("snippet_len", snippet_len)
    space = context.in_namespace(namespace)
    with context.operation("edge"), context.ledger.read() as view:
        return _detailed(view, space, [_edge(view, space, id, "id")], length)[0]


def _detailed(view: LedgerView, space: str, found: list[Edge], length: int) -> list[EdgeDetail]:
    named = nodes.labels(view, space, found, length)
    return [
        EdgeDetail(edge=one, from_label=named[one.from_id], to_label=named[one.to_id])
        for one in found
    ]


def edges(
    context: Context,
    node_id: object,
    *,
    edge_type: object,
    limit: object,
    include_expired: object,
    snippet_len: object,
    namespace: object,
) -> EdgePage:
    """Edges of a namespace, or of one node, newest first."""
    kind = None if edge_type is None else rules.edge_type_argument(edge_type)
    if kind == rules.AFFECTS:
        raise ValidationError(
            "edge_type", kind, "a stored type", "AFFECTS is the log of a memory: see `events`"
        )
    most = count_argument("limit", LIST_LIMIT_DEFAULT if limit is None else limit)
    length = count_argument("snippet_len", snippet_len)
    expired = flag_argument("include_expired", include_expired)
    space = context.in_namespace(namespace)
    with context.operation("edges"), context.ledger.read() as view:
        if node_id is None:
            found = view.list_edges(space, edge_type=kind, limit=most, include_expired=expired)
        else:
            found = _of_node(context, view, space, node_id, kind, expired)[:most]
        return EdgePage(edges=tuple(_detailed(view, space, found, length)), seq=view.seq)


def _of_node(
    context: Context,
    view: LedgerView,
    space: str,
    node_id: object,
    kind: str | None,
    expired: bool,
) -> list[Edge]:
    """Edges that start or end at a memory or an entity."""
    if isinstance(node_id, str) and node_id.startswith("ent_"):
        id = nodes.entity(view, space, node_id, "node_id").id
    else:
        check_id_prefix("node_id", node_id, "mem")
        id = context.memory(view, space, node_id, "node_id").id
    if expired:
        every = view.list_edges(space, edge_type=kind, limit=None, include_expired=True)
        return [one for one in every if id in (one.from_id, one.to_id)]
    found = view.edges(space, id, kind)
    return sorted(found, key=lambda one: (-one.t_created.timestamp(), one.id))
