"""Edges: link, unlink, one edge, a page of them."""

from __future__ import annotations

import math
import sys
from typing import Final

import msgspec

from vestig.arguments import (
    as_number,
    check_unicode,
    count_argument,
    flag_argument,
    relation_label,
)
from vestig.changes import ChangeSet, NewEdge
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import check_id_prefix, memory_id_text, new_id
from vestig.language.text_forms import evidence_text
from vestig.results import SequenceResult
from vestig.session import nodes
from vestig.session.entity_names import entity_id
from vestig.session.session import Session
from vestig.session.transaction import catch_up, clock_notice
from vestig.store.ledger.reads import LedgerView
from vestig.types import Degradation, Edge, EdgeType, Entity, Kind, Memory

AFFECTS: Final = "AFFECTS"
# All types of edges; AFFECTS is a view of the event log.
ALL_TYPES: Final = (*(kind.value for kind in EdgeType), AFFECTS)
# type → prefix of both ends
_LINKABLE: Final = {EdgeType.RELATED: "mem", EdgeType.SUMMARIZES: "mem", EdgeType.RELATION: "ent"}
_MAKERS: Final = {
    "MENTIONS": "extraction makes it, from the names in a memory's text",
    "PRODUCED": "every commit that has a source makes it",
    AFFECTS: "it is a view of the event log, which every change of a memory writes",
}
LIST_LIMIT_DEFAULT: Final = 20


class LinkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A checked link; memories by id, entities by id or name, as the caller wrote them."""

    from_id: str
    to_id: str
    edge_type: EdgeType
    relation: str | None
    weight: float
    confidence: float | None
    evidence: str | None

    def edge(self, from_id: str, to_id: str) -> NewEdge:
        """The row, between full ids."""
        return NewEdge(
            id=new_id("edge"),
            from_id=from_id,
            to_id=to_id,
            edge_type=self.edge_type,
            weight=self.weight,
            confidence=self.confidence,
            evidence=self.evidence,
            origin="caller",
            relation=self.relation,
        )


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


def link(
    session: Session,
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
    request = link_request(
        from_id,
        to_id,
        edge_type,
        relation=relation,
        weight=weight,
        confidence=confidence,
        evidence=evidence,
        evidence_chars_max=session.config.settings.entities.max_evidence_length,
    )
    space = session.in_namespace(namespace)
    degraded: list[Degradation] = []
    with session.operation("link", without_store="make"):
        request = _with_ids(session, space, request)
        with session.ledger.write(session.now_us(), make=False) as txn:
            start = _end(session, txn, space, request, "from_id")
            end = _end(session, txn, space, request, "to_id")
            check_ends(request, start, end)
            new = request.edge(start.id, end.id)
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


def link_request(
    from_id: object,
    to_id: object,
    edge_type: object,
    *,
    relation: object,
    weight: object,
    confidence: object,
    evidence: object,
    evidence_chars_max: int,
) -> LinkRequest:
    """The arguments of `link`, checked.

    Raises:
        ValidationError: names the field, what was given and what is allowed.
    """
    kind = _by_ends(from_id, to_id, relation) if edge_type is None else _linkable(edge_type)
    sure = None
    if confidence is not None:
        sure = number_argument("confidence", confidence, 1.0, "a number from 0 to 1, or null")
    return LinkRequest(
        from_id=_end_text("from_id", from_id, kind),
        to_id=_end_text("to_id", to_id, kind),
        edge_type=kind,
        relation=_relation(relation, kind),
        weight=number_argument("weight", weight, math.inf, "a finite number >= 0"),
        confidence=sure,
        evidence=None
        if evidence is None
        else evidence_text(_text("evidence", evidence), evidence_chars_max),
    )


def _by_ends(from_id: object, to_id: object, relation: object) -> EdgeType:
    """RELATED between two memories, RELATION between two entities."""
    ends = (_text("from_id", from_id), _text("to_id", to_id))
    memories = [memory_id_text(end) is not None for end in ends]
    if relation is not None or not any(memories):
        return EdgeType.RELATION
    if all(memories):
        return EdgeType.RELATED
    raise ValidationError("to_id", to_id, "two memories or two entities", f"from_id is {from_id!r}")


def _end_text(field: str, value: object, kind: EdgeType) -> str:
    """The id of a memory, or what a caller calls an entity."""
    if _LINKABLE[kind] == "mem":
        return check_id_prefix(field, value, "mem")
    text = _text(field, value).strip()
    if not text or text.startswith("mem_"):
        raise ValidationError(
            field, value, f"the id (ent_…) or the name of an entity for {kind.value}"
        )
    return text


def _with_ids(session: Session, space: str, request: LinkRequest) -> LinkRequest:
    """With the ids of the entities that are named."""
    if _LINKABLE[request.edge_type] == "mem":
        return request
    return msgspec.structs.replace(
        request,
        from_id=entity_id(session, space, request.from_id, "from_id"),
        to_id=entity_id(session, space, request.to_id, "to_id"),
    )


def edge_type_argument(value: object) -> str:
    """One of the ten types of edges.

    Raises:
        ValidationError: any other; lists the ten.

    Example:
        >>> edge_type_argument("RELATED")
        'RELATED'
    """
    if not isinstance(value, str) or value not in ALL_TYPES:
        raise ValidationError("edge_type", value, "one of " + ", ".join(ALL_TYPES))
    return str(value)


def _linkable(value: object) -> EdgeType:
    word = edge_type_argument(value)
    if word in _MAKERS:
        raise ValidationError(
            "edge_type", word, "one of " + ", ".join(_LINKABLE), f"{word}: {_MAKERS[word]}"
        )
    return EdgeType(word)


def _relation(value: object, edge_type: EdgeType) -> str | None:
    """The label of a RELATION."""
    if edge_type is EdgeType.RELATION:
        return relation_label(value)
    if value is not None:
        raise ValidationError("relation", value, f"nothing: {edge_type.value} has no label")
    return None


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValidationError(field, type(value).__name__, "text")
    return check_unicode(field, value)


def number_argument(field: str, value: object, most: float, allowed: str) -> float:
    """A finite number from 0 to `most`; true is no number.

    Example:
        >>> number_argument("weight", 1, 2.0, "a number from 0 to 2")
        1.0
    """
    given = as_number(value)
    if given is not None:
        # NaN is in no range; what no float can hold is above it.
        number = float(given) if abs(given) <= sys.float_info.max else math.inf
        if 0.0 <= number <= most and not math.isinf(number):
            return number + 0.0  # makes -0.0 a plain zero
    raise ValidationError(field, value, allowed)


def check_ends(request: LinkRequest, start: Memory | Entity, end: Memory | Entity) -> None:
    """Two different nodes, and a summary where a summary belongs.

    Raises:
        ValidationError: an edge from a node to itself, or SUMMARIZES from another kind.
    """
    if start.id == end.id:
        raise ValidationError("to_id", end.id, f"another node than from_id {start.id}")
    summary = isinstance(start, Memory) and start.kind is Kind.SUMMARY
    if request.edge_type is EdgeType.SUMMARIZES and not summary:
        raise ValidationError("from_id", start.id, "a memory of kind SUMMARY for SUMMARIZES")


def _end(
    session: Session, view: LedgerView, space: str, request: LinkRequest, field: str
) -> Memory | Entity:
    id = getattr(request, field)
    if _LINKABLE[request.edge_type] == "ent":
        return nodes.entity(view, space, id, field)
    return session.memory(view, space, id, field)


def _stored(view: LedgerView, space: str, new: NewEdge) -> Edge | None:
    """The unexpired edge of this type and label between these ends."""
    for edge in view.edges(space, new.from_id, new.edge_type):
        if (edge.from_id, edge.to_id, edge.relation) == (new.from_id, new.to_id, new.relation):
            return edge
    return None


def unlink(session: Session, edge_id: object, *, namespace: object) -> EdgeChange:
    """Ends an edge; one that has ended stays as it is."""
    space = session.in_namespace(namespace)
    degraded: list[Degradation] = []
    with session.operation("unlink", without_store="make"):
        with session.ledger.write(session.now_us(), make=False) as txn:
            before, seq = _edge(txn, space, edge_id, "edge_id"), txn.seq
            if before.t_expired is None:
                seq = txn.apply(ChangeSet(namespace=space, expired_edges=(before.id,)))
                degraded.extend(clock_notice(txn.clock_behind_us))
        if before.t_expired is not None:
            return EdgeChange(edge=before, action="unlink", changed=False, seq=seq)
        notes = catch_up(session, degraded)
        with session.ledger.read() as view:
            after = _edge(view, space, before.id, "edge_id")
        return EdgeChange(edge=after, action="unlink", changed=True, seq=seq, degraded=notes)


def edge(session: Session, id: object, *, snippet_len: object, namespace: object) -> EdgeDetail:
    """One edge, expired or not."""
    length = count_argument("snippet_len", snippet_len)
    space = session.in_namespace(namespace)
    with session.operation("edge"), session.ledger.read() as view:
        return _detailed(view, space, [_edge(view, space, id, "id")], length)[0]


def edges(
    session: Session,
    node_id: object,
    *,
    edge_type: object,
    limit: object,
    include_expired: object,
    snippet_len: object,
    namespace: object,
) -> EdgePage:
    """Edges of a namespace, or of one node, newest first."""
    kind = None if edge_type is None else edge_type_argument(edge_type)
    if kind == AFFECTS:
        raise ValidationError(
            "edge_type", kind, "a stored type", "AFFECTS is the log of a memory: see `events`"
        )
    most = count_argument("limit", LIST_LIMIT_DEFAULT if limit is None else limit)
    length = count_argument("snippet_len", snippet_len)
    expired = flag_argument("include_expired", include_expired)
    space = session.in_namespace(namespace)
    with session.operation("edges"):
        node = None if node_id is None else _node_text(session, space, node_id)
        with session.ledger.read() as view:
            if node is None:
                found = view.list_edges(space, edge_type=kind, limit=most, include_expired=expired)
            else:
                found = _of_node(session, view, space, node, kind, expired)[:most]
            return EdgePage(edges=tuple(_detailed(view, space, found, length)), seq=view.seq)


def _node_text(session: Session, space: str, given: object) -> str:
    """The id of a memory, or of the entity that is called so; ids may be beginnings."""
    memory = memory_id_text(given) if isinstance(given, str) else None
    return memory or entity_id(session, space, given, "node_id")


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


def _edge(view: LedgerView, space: str, id: object, field: str) -> Edge:
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
