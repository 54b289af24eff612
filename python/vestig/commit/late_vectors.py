"""Vectors that could not be made at commit, and the links that they bring."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.changes import ChangeSet, NewEvent, NewVector
from vestig.commit.canonical_form import differences
from vestig.commit.near_duplicates import CANDIDATES_MAX, stored_form
from vestig.commit.rows import related_edge, token_codes
from vestig.ids import id_bytes, id_text, new_id
from vestig.ports import Pieces
from vestig.session.session import Session
from vestig.store.ledger.reads import LedgerView
from vestig.types import EventType, Kind, Memory, PossibleUpdate, Status

# A late vector links to older memories only: more similar ones are read than get an edge.
_SIMILAR_READ: Final = 1_000


class LateVector(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are written with a vector, and whether it found a possible update."""

    changes: ChangeSet
    is_update: bool


class _Links(msgspec.Struct, frozen=True, kw_only=True):
    """The links that a late vector gives its memory with; `related`: (id, cosine), best first."""

    related: tuple[tuple[str, float], ...]
    update: PossibleUpdate | None


def late_vector(
    session: Session, memory: Memory, vectors: tuple[bytes, Pieces | None]
) -> LateVector:
    """Return what a memory's vector brings: the vector, links to older memories, a possible
    update."""
    links = session.keeper.run(lambda view, _: _links(session, view, memory, vectors[0]))
    return LateVector(
        changes=_changes(session, memory, vectors, links), is_update=links.update is not None
    )


def _links(session: Session, view: LedgerView, memory: Memory, vector: bytes) -> _Links:
    settings = session.config.settings
    near, linked = settings.hygiene.near_duplicate, settings.links.related
    space, scope, author = memory.namespace, memory.scope, memory.author
    ((close, related, _),) = session.keeper.core.similar(
        view.seq,
        vector,
        space,
        [scope],
        [author],
        [id_bytes(memory.id)],
        near.threshold,
        CANDIDATES_MAX if near.enabled else 0,
        linked.similarity_threshold,
        _SIMILAR_READ if linked.enabled else 0,
        unrelated=[b"".join(view.ids_with_text(space, scope, author, memory.content_hash))],
    )
    ids = [id_text("mem", raw) for raw, _ in [*close, *related]]
    known = {other.id: other for other in view.memories(memory.namespace, ids)}
    older = [
        (id, score)
        for id, score in ((id_text("mem", raw), score) for raw, score in related)
        if id in known and id != memory.id and known[id].seq < memory.seq
    ]
    linkable = memory.status is Status.ACTIVE and memory.kind is Kind.MEMORY
    return _Links(
        related=tuple(older[: linked.max_edges_per_memory]) if linkable else (),
        update=_possible_update(session, view, memory, close, known),
    )


def _possible_update(
    session: Session,
    view: LedgerView,
    memory: Memory,
    close: list[tuple[bytes, float]],
    known: dict[str, Memory],
) -> PossibleUpdate | None:
    """The best candidate that is older, unless an event names it already: a late match never
    removes a memory."""
    for raw, score in close:
        other = known.get(id_text("mem", raw))
        if other is None or other.content_hash == memory.content_hash or other.seq > memory.seq:
            continue
        if other.id in _offered(view, memory):
            return None
        different = differences(stored_form(session, other), stored_form(session, memory))
        return PossibleUpdate(memory_id=other.id, score=score, differs=different)
    return None


def _offered(view: LedgerView, memory: Memory) -> set[str]:
    """Memories that this one was said to update: a vector that is made again offers none twice."""
    events = view.events(memory.namespace, memory.id)
    offers = [event.payload.get("possible_update_of") for event in events]
    return {offer["memory_id"] for offer in offers if offer is not None}


def _changes(
    session: Session, memory: Memory, vectors: tuple[bytes, Pieces | None], links: _Links
) -> ChangeSet:
    vector, pieces = vectors
    model = session.embedder.model
    events: tuple[NewEvent, ...] = ()
    edges = [related_edge(memory.id, id, score) for id, score in links.related]
    if links.update is not None:
        payload: dict[str, Any] = {
            "content_hash": memory.content_hash,
            "tags": list(memory.tags),
            "artifact_ref": None,
            "possible_update_of": links.update.to_dict(),
        }
        events = (
            NewEvent(
                id=new_id("evt"),
                memory_id=memory.id,
                event_type=EventType.UPDATE,
                occurred_us=session.now_us(),
                source="system",
                payload=payload,
            ),
        )
        if links.update.memory_id not in {id for id, _ in links.related}:
            edges.append(
                related_edge(memory.id, links.update.memory_id, links.update.score, "guard")
            )
    return ChangeSet(
        namespace=memory.namespace,
        vectors=(NewVector(memory_id=memory.id, model=model, embedding=vector),),
        token_codes=() if pieces is None else (token_codes(memory.id, model, pieces),),
        events=events,
        edges=tuple(edges),
    )
