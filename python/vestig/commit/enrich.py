"""The job queue: each job makes the vectors that could not be made at commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from vestig.arguments import count_argument, flag_argument
from vestig.changes import ChangeSet, MemoryPatch, NewEvent, NewVector
from vestig.commit.fact_guard import differs, prepare
from vestig.commit.rows import related_edge, token_vectors
from vestig.errors import ProviderError, ProviderTimeoutError
from vestig.ids import id_bytes, id_text, new_id
from vestig.ports import Job, LedgerView, Pieces
from vestig.results import EnrichReport
from vestig.session.embedding import embed_memories, embedded_texts, remember_identity
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.time_limit import within
from vestig.times import to_us
from vestig.types import Degradation, EventType, Kind, Memory, PossibleUpdate, Status

__all__ = ["enrich", "enrich_inline", "run_job"]

JOBS_AT_ONCE: Final = 64
# A late vector links to older memories only: more similar ones are read than get an edge.
_SIMILAR_READ: Final = 1_000


class _Links(msgspec.Struct, frozen=True, kw_only=True):
    """What a late vector links its memory with; `related`: (id, cosine), best first."""

    related: tuple[tuple[str, float], ...]
    update: PossibleUpdate | None


def enrich(session: Session, limit: object = None, *, retry_failed: bool = False) -> EnrichReport:
    """Runs due jobs of the store's namespace; each is a transaction, and a failure is tried again
    later."""
    flag_argument("retry_failed", retry_failed)
    jobs_max = None if limit is None else count_argument("limit", limit)
    with session.operation("enrich", without_store="make"):
        if retry_failed:
            session.ledger.retry_failed(session.namespace, ("embed",), session.now_us())
        taken, done, retried, updates = 0, 0, 0, 0
        degraded: list[Degradation] = []
        while jobs_max is None or taken < jobs_max:
            room = JOBS_AT_ONCE if jobs_max is None else min(JOBS_AT_ONCE, jobs_max - taken)
            now = session.now_us()
            jobs = session.ledger.due_jobs(session.namespace, now, ("embed",), room)
            if not jobs:
                break
            taken += len(jobs)
            for ok, update in _run_jobs(session, session.namespace, jobs):
                done += ok
                retried += not ok
                updates += update
        if done:
            catch_up(session, degraded)
        with session.ledger.read() as view:
            states = view.stats(session.namespace)["jobs"]
        return EnrichReport(
            taken=taken,
            done=done,
            retried=retried,
            failed=states.get("failed", 0),
            pending=states.get("pending", 0) + states.get("running", 0),
            possible_updates=updates,
            degraded=tuple(degraded),
        )


def enrich_inline(session: Session, namespace: str, ids: Sequence[str]) -> None:
    """Tries these jobs of a commit at once, for at most `enrichment.inline_timeout_s` seconds in
    all; those that are not done then stay in the queue."""
    timeout_s = session.config.settings.enrichment.inline_timeout_s
    ends = time.monotonic() + timeout_s
    with session.operation("enrich"):
        for start in range(0, len(ids), JOBS_AT_ONCE):
            left_s = ends - time.monotonic()
            if left_s <= 0:
                break
            own = ids[start : start + JOBS_AT_ONCE]
            jobs = session.ledger.due_jobs(namespace, session.now_us(), ("embed",), len(own), own)
            _run_jobs(session, namespace, jobs, left_s)
        catch_up(session, [])


def _vectors(
    session: Session, texts: list[str], memories: list[Memory], left_s: float | None
) -> list[tuple[bytes, Pieces | None]]:
    """The vectors of memories' texts, within so many seconds; None = as long as it takes."""
    origins = [memory.origin_type.value for memory in memories]
    if left_s is None:
        return embed_memories(session, texts, origins)[0]
    try:
        return within(left_s, lambda: embed_memories(session, texts, origins))[0]
    except TimeoutError as error:
        raise ProviderTimeoutError(
            f'embedder "{session.embedder.model}": no vectors within the time that a commit waits'
            " (enrichment.inline_timeout_s); the job stays in the queue"
        ) from error


def _run_jobs(
    session: Session, namespace: str, jobs: list[Job], left_s: float | None = None
) -> list[tuple[bool, bool]]:
    """(done, found a possible update) of each job; one embedding call for all.

    Args:
        left_s: seconds that the embedding may take; None = as many as it takes.
    """
    with session.ledger.read() as view:
        found = view.memories(namespace, [job.memory_id for job in jobs])
        texts = dict(zip([one.id for one in found], embedded_texts(view, found), strict=True))
    memories = {memory.id: memory for memory in found}
    present = [job for job in jobs if job.memory_id in memories]
    results = []
    for job in jobs:
        if job.memory_id not in memories:
            session.ledger.finish_job(job.id, session.now_us(), changes=None, error=None)
            results.append((True, False))
    waiting = [memories[job.memory_id] for job in present]
    try:
        made = _vectors(session, [texts[one.id] for one in waiting], waiting, left_s)
    except ProviderError as error:
        for job in present:
            session.ledger.finish_job(
                job.id, session.now_us(), changes=None, error=str(error)[:500]
            )
        return results + [(False, False)] * len(present)
    for job, memory, vectors in zip(present, waiting, made, strict=True):
        results.append((True, run_job(session, job, memory, vectors)))
    return results


def run_job(
    session: Session, job: Job, memory: Memory, vectors: tuple[bytes, Pieces | None]
) -> bool:
    """Stores late vectors with the links that they bring; whether they found a possible update."""
    remember_identity(session)
    links = session.keeper.run(lambda view, _: _links(session, view, memory, vectors[0]))
    session.ledger.finish_job(
        job.id,
        session.now_us(),
        changes=_changes(session, memory, vectors, links),
        error=None,
    )
    return links.update is not None


def _links(session: Session, view: LedgerView, memory: Memory, vector: bytes) -> _Links:
    settings = session.config.settings
    near, linked = settings.hygiene.near_duplicate, settings.links.related
    space, scope, author = memory.namespace, memory.scope, memory.author
    ((close, related),) = session.keeper.core.similar(
        view.seq,
        vector,
        space,
        [scope],
        [author],
        [id_bytes(memory.id)],
        near.threshold,
        near.max_candidates if near.enabled else 0,
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
    """The best candidate: a late match never removes a memory."""
    settings = session.config.settings
    zone, classes = settings.time.zone, settings.hygiene.near_duplicate.guard
    texts = view.normal_texts(memory.namespace, [memory.id, *known])
    own = prepare(texts[memory.id], to_us(memory.t_valid), zone)
    for raw, score in close:
        other = known.get(id_text("mem", raw))
        if other is None or other.content_hash == memory.content_hash:
            continue
        theirs = prepare(texts[other.id], to_us(other.t_valid), zone)
        return PossibleUpdate(
            memory_id=other.id, score=score, differs=differs(own, theirs, classes)
        )
    return None


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
        token_vectors=() if pieces is None else (token_vectors(memory.id, model, pieces),),
        patches=(MemoryPatch(memory_id=memory.id, columns={"processing": "ready"}),),
        events=events,
        edges=tuple(edges),
    )
