"""Edges: link, unlink, one edge, a page of them."""

from __future__ import annotations

from typing import Final

import msgspec

from vestig.arguments import relation_label
from vestig.calls.graph import EdgeRequest, EdgesRequest, LinkRequest, UnlinkRequest
from vestig.changes import ChangeSet, NewEdge
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import check_id_prefix, memory_id_text, new_id
from vestig.language.text_forms import evidence_text
from vestig.results import SequenceResult
from vestig.session import nodes
from vestig.session.entity_names import entity_id
from vestig.session.session import Session
from vestig.session.transaction import catch_up, clock_notice
from vestig.store.records.reads import LedgerView
from vestig.types import Degradation, Edge, EdgeType, Entity, Kind, Memory

# type → prefix of both ends
_LINKABLE: Final = {EdgeType.RELATED: "mem", EdgeType.SUMMARIZES: "mem", EdgeType.RELATION: "ent"}
_MAKERS: Final = {
    "MENTIONS": "extraction makes it, from the names in a memory's text",
    "PRODUCED": "every commit that has a source makes it",
    "AFFECTS": "it is a view of the event log, which every change of a memory writes",
}
_ENDS: Final = ("from_id", "to_id")


class EdgeChange(nodes.Described, frozen=True, kw_only=True):
    """Outcome of `link` or `unlink`; `changed` is false where it was already so."""

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
            found, seq = _stored(txn, space, new), txn.seq
            if found is None:
                seq = txn.apply(ChangeSet(namespace=space, edges=(new,)))
                degraded.extend(clock_notice(txn.clock_behind_us))
        if found is not None:
            return EdgeChange(edge=found, action="link", changed=False, seq=seq)
        notes = catch_up(session, degraded)
        with session.ledger.read() as view:
            stored = _stored(view, space, new)
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
        return nodes.entity(view, space, id, field)
    return session.memory(view, space, id, field)


def _stored(view: LedgerView, space: str, new: NewEdge) -> Edge | None:
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
        id = nodes.entity(view, space, node_id, "node_id").id
    else:
        id = session.memory(view, space, node_id, "node_id").id
    if expired:
        every = view.list_edges(space, edge_type=kind, limit=None, include_expired=True)
        return [one for one in every if id in (one.from_id, one.to_id)]
    found = view.edges(space, id, kind)
    return sorted(found, key=lambda one: (-one.t_created.timestamp(), one.id))


def _edge(view: LedgerView, space: str, id: str, field: str) -> Edge:
    full = nodes.full_edge_id(view, space, id, field)
    found = view.edge(space, full)
    if found is None:
        raise NotFoundError("Edge", full)
    return found


def _detailed(view: LedgerView, space: str, found: list[Edge], length: int) -> list[EdgeDetail]:
    named = nodes.labels(view, space, found, length)
    return [
        EdgeDetail(edge=one, from_label=named[one.from_id], to_label=named[one.to_id])
        for one in found
    ]
