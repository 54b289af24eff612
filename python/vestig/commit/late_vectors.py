"""Vectors that could not be made at commit, and the links that they bring."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.changes import ChangeSet, NewEvent, NewJob, NewVector
from vestig.commit.model_updates import recorded_similar
from vestig.commit.near_duplicates import CANDIDATES_MAX, SIMILAR_FOUND, SIMILAR_SHOWN
from vestig.commit.rows import related_edge, similar_payload, token_codes
from vestig.ids import id_bytes, id_text, new_id
from vestig.ports import Pieces
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.types import EventType, Kind, Memory, Status

# A late vector links to older memories only: more similar ones are read than get an edge.
_SIMILAR_READ: Final = 1_000


class LateVector(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are written with a vector, and whether it found a nearly equal text that states
    something else."""

    changes: ChangeSet
    is_update: bool


class _Links(msgspec.Struct, frozen=True, kw_only=True):
    """Memories that a late vector finds, (id, cosine), best first: `related`; `similar`, those
    known of the same; `nearest`, the nearly equal text that states something else."""

    related: tuple[tuple[str, float], ...]
    similar: tuple[tuple[str, float], ...]
    nearest: tuple[str, float] | None


def late_vector(
    session: Session, memory: Memory, vectors: tuple[bytes, Pieces | None]
) -> LateVector:
    """Return what a memory's vector brings: the vector, links to older memories, and those that
    were similar."""
    links = session.keeper.run(lambda view, _: _links(session, view, memory, vectors[0]))
    return LateVector(
        changes=_changes(session, memory, vectors, links), is_update=links.nearest is not None
    )


def _links(session: Session, view: LedgerView, memory: Memory, vector: bytes) -> _Links:
    settings = session.config.settings
    near, linked = settings.hygiene.near_duplicate, settings.links.related
    space, scope, author = memory.namespace, memory.scope, memory.author
    ((close, related, similar, _),) = session.keeper.core.similar(
        view.seq,
        vector,
        space,
        [scope],
        [author],
        [id_bytes(memory.id)],
        (near.threshold, CANDIDATES_MAX if near.enabled else 0),
        (linked.similarity_threshold, _SIMILAR_READ if linked.enabled else 0),
        (settings.similar.min_score, _SIMILAR_READ),
        unrelated=[b"".join(view.ids_with_text(space, scope, author, memory.content_hash))],
    )
    ids = [id_text("mem", raw) for raw, _ in [*close, *related, *similar]]
    known = {other.id: other for other in view.memories(memory.namespace, ids)}

    def older(found: list[tuple[bytes, float]]) -> list[tuple[Memory, float]]:
        others = [(known.get(id_text("mem", raw)), score) for raw, score in found]
        return [
            (other, score)
            for other, score in others
            if other is not None and other.id != memory.id and other.seq < memory.seq
        ]

    linkable = memory.status is Status.ACTIVE and memory.kind is Kind.MEMORY
    edges = older(related)[: linked.max_edges_per_memory] if linkable else []
    offered = bool(recorded_similar(view, memory))
    most = SIMILAR_FOUND if _is_judged(session) else SIMILAR_SHOWN
    known_of_it = [] if offered else older(similar)[:most]
    return _Links(
        related=tuple([(other.id, score) for other, score in edges]),
        similar=tuple([(other.id, score) for other, score in known_of_it]),
        nearest=None if offered else _nearest(memory, older(close)),
    )


def _nearest(memory: Memory, close: list[tuple[Memory, float]]) -> tuple[str, float] | None:
    """The best older candidate of another text: a late match never removes a memory. A memory with
    a key is compared with nothing but its key."""
    if memory.key is not None:
        return None
    for other, score in close:
        if other.key is None and other.content_hash != memory.content_hash:
            return other.id, score
    return None


def _is_judged(session: Session) -> bool:
    """Return whether a language model is asked which similar memories a new one replaces."""
    return session.has_model and session.config.settings.updates.enabled


def _changes(
    session: Session, memory: Memory, vectors: tuple[bytes, Pieces | None], links: _Links
) -> ChangeSet:
    vector, pieces = vectors
    model = session.embedder.model
    events: tuple[NewEvent, ...] = ()
    jobs: tuple[NewJob, ...] = ()
    edges = [related_edge(memory.id, id, score) for id, score in links.related]
    if links.similar:
        payload: dict[str, Any] = {
            "content_hash": memory.content_hash,
            "tags": list(memory.tags),
            "artifact_ref": None,
            "similar": similar_payload(links.similar),
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
        if _is_judged(session):
            jobs = (NewJob(id=new_id("job"), memory_id=memory.id, kind="updates"),)
    if links.nearest is not None and links.nearest[0] not in {id for id, _ in links.related}:
        edges.append(related_edge(memory.id, *links.nearest, "guard"))
    return ChangeSet(
        namespace=memory.namespace,
        vectors=(NewVector(memory_id=memory.id, model=model, embedding=vector),),
        token_codes=() if pieces is None else (token_codes(memory.id, model, pieces),),
        events=events,
        edges=tuple(edges),
        jobs=jobs,
    )
