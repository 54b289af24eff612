"""One run of the queue of enrichment jobs: taking them, asking, writing what comes.

A job brings a vector that could not be made at commit, with its links, or what a language model
says of a memory.

Invariant: neither an embedder nor a model is called while the write lock is held. What a memory's
jobs write is one transaction with the ends of those jobs, so a job that runs twice writes once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from vestig.changes import ChangeSet, NewEvent, NewJob, NewVector
from vestig.commit.near_duplicates import CANDIDATES_MAX, SIMILAR_FOUND, SIMILAR_SHOWN
from vestig.commit.rows import related_edge, similar_payload, token_codes
from vestig.config.schema import Settings
from vestig.enrichment.memory_answer import (
    PROMPTS,
    answer_form,
    older_memories,
    prompt_values,
    read_parts,
    recorded_similar,
    shown,
    update_values,
)
from vestig.enrichment.memory_changes import (
    MODEL_KINDS,
    Answered,
    Writing,
    applies,
    kept_of,
    model_of,
    no_vectors,
)
from vestig.errors import (
    ConfigError,
    ModelBudgetError,
    ModelCallError,
    ProviderError,
    VestigError,
)
from vestig.ids import id_bytes, id_text, new_id
from vestig.ports import Pieces, within
from vestig.session.embedding import embed_memories, embedded_texts, remember_identity
from vestig.session.model_calls import ParsedAnswer, degradation_of
from vestig.session.session import Session
from vestig.store.records.jobs import JobRules
from vestig.store.records.memory_queries import ids_with_text
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult
from vestig.times import DAY_US
from vestig.turns import aside
from vestig.types import Degradation, EventType, Kind, Memory, Status

EMBED: Final = "embed"
KINDS: Final = (EMBED, *MODEL_KINDS)
JOBS_AT_ONCE: Final = 64
# What these say of a key, a right or a model is true of every call.
PAUSING: Final = (401, 403, 404)


class Tally(msgspec.Struct, kw_only=True):
    """Holds what a run did: jobs taken, done, left after a failed attempt, and sent in a batch;
    possible updates that late vectors found; memories that were superseded as a model judged; what
    degraded, by code; types that models invented."""

    taken: int = 0
    done: int = 0
    retried: int = 0
    submitted: int = 0
    updates: int = 0
    superseded: int = 0
    degraded: dict[str, Degradation] = msgspec.field(default_factory=dict)
    unknown_types: dict[str, int] = msgspec.field(default_factory=dict)

    def note(self, entry: Degradation) -> None:
        """One more case of what degraded."""
        known = self.degraded.get(entry.code)
        self.degraded[entry.code] = (
            entry if known is None else msgspec.structs.replace(known, count=known.count + 1)
        )

    def warnings(self) -> tuple[str, ...]:
        """Sentences for the report."""
        return tuple(
            f"{count} memories have an entity of the type {name}, which is none of the ontology:"
            " add it to entities, or expire it"
            for name, count in self.unknown_types.items()
        )


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that a model is asked about. `older`: the memories that it may replace, by number;
    read where a job is about them."""

    memory: Memory
    older: dict[int, Memory] = {}

    @property
    def prompt_values(self) -> dict[str, str]:
        """Text for each placeholder of the prompts."""
        return {**prompt_values(self.memory), **update_values(self.memory, self.older)}


class QueueRun:
    """Works the due jobs of one namespace.

    Args:
        ids: only these; None = all.
        limit: most jobs that are taken; None = all.
        ends_at: `time.monotonic()` from which no job is begun; None = as long as it takes.
    """

    def __init__(
        self,
        session: Session,
        namespace: str,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
        ends_at: float | None = None,
    ) -> None:
        self.tally = Tally()
        # why no model is asked any more; None = nothing stands against it
        self.paused: Exception | None = None
        self.session = session
        self.namespace = namespace
        self._ids = ids
        self._limit = limit
        self._ends_at = ends_at
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        # jobs that this run took and has not ended
        self._running: dict[str, None] = {}
        self.meter = session.models.meter()
        self._failures: list[BaseException] = []

    def __enter__(self) -> QueueRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No further job is begun; those that were begun are due again."""
        self._stopped.set()
        with self._lock:
            running, self._running = list(self._running), {}
        if running:
            # where the ledger cannot be written the lease frees them
            with suppress(VestigError):
                self.session.ledger.release_jobs(running, self.session.now_us())

    def degraded(self) -> list[Degradation]:
        """Return what degraded, one entry for each code."""
        return list(self.tally.degraded.values())

    def note(self, error: Exception) -> None:
        """One more case of what made the result weaker."""
        with self._lock:
            self.tally.note(degradation_of(error))

    # --- taking and ending -------------------------------------------------------------------

    @property
    def is_limited(self) -> bool:
        """Return whether no more than a number of jobs may be taken."""
        return self._limit is not None

    def _room(self, most: int) -> int:
        """How many jobs may be taken, at most so many."""
        over = self._ends_at is not None and time.monotonic() >= self._ends_at
        if self._stopped.is_set() or over:
            return 0
        return most if self._limit is None else min(most, self._limit - self.tally.taken)

    def hold(self, jobs: Sequence[Job]) -> None:
        """This run has taken these jobs."""
        with self._lock:
            self._hold(jobs)

    def _hold(self, jobs: Sequence[Job]) -> None:
        self.tally.taken += len(jobs)
        self._running.update(dict.fromkeys(job.id for job in jobs))

    def submitted(self, jobs: Sequence[Job]) -> None:
        """A batch has these jobs; this run holds them no more."""
        with self._lock:
            self.tally.submitted += len(jobs)
            for job in jobs:
                self._running.pop(job.id, None)

    def _finish(self, results: Sequence[JobResult]) -> list[str]:
        ended = self.session.ledger.finish_jobs(results, self.session.now_us())
        self._count(ended, [one.job_id for one in results if one.error is not None])
        return ended

    def _count(self, ended: Sequence[str], failures: Sequence[str]) -> None:
        with self._lock:
            for id in ended:
                self._running.pop(id, None)
            lost = set(failures) & set(ended)
            self.tally.retried += len(lost)
            self.tally.done += len(ended) - len(lost)

    def fail(self, jobs: Sequence[Job], why: str, error: Exception | None = None) -> None:
        """One failed attempt of each; none where only the time of a commit was over."""
        self.note(ModelCallError(why) if error is None else error)
        if self._ends_at is not None and time.monotonic() >= self._ends_at:
            self._release(jobs)
        else:
            self._finish([JobResult(job_id=job.id, error=why) for job in jobs])

    def pause(self, jobs: Sequence[Job], error: Exception) -> None:
        """Nothing is asked in this run any more. These jobs have made no attempt; where today's
        calls are used up, they wait for midnight UTC."""
        self.note(error)
        until_us = None
        if isinstance(error, ModelBudgetError):
            until_us = (self.session.now_us() // DAY_US + 1) * DAY_US
        with self._lock:
            self.paused = error
        self._release(jobs, until_us, str(error))

    def _release(
        self, jobs: Sequence[Job], until_us: int | None = None, reason: str | None = None
    ) -> None:
        """Those of these jobs that this run holds are due again, without an attempt."""
        with self._lock:
            own = [job.id for job in jobs if job.id in self._running]
            for id in own:
                del self._running[id]
        if own:
            now = self.session.now_us()
            self.session.ledger.release_jobs(own, now, until_us=until_us, reason=reason)

    # --- vectors -------------------------------------------------------------------------------

    def embed(self) -> None:
        """Makes missing vectors, until no due job is left or the limit or the time is reached."""
        while room := self._room(JOBS_AT_ONCE):
            jobs = self.session.ledger.due_jobs(
                self.namespace, self.session.now_us(), (EMBED,), room, self._ids
            )
            if not jobs:
                return
            self.hold(jobs)
            self._embed(jobs)

    def _embed(self, jobs: list[Job]) -> None:
        """One embedding call for all of them."""
        session = self.session
        with session.ledger.read() as view:
            found = view.memories(self.namespace, [job.memory_id for job in jobs])
            texts = embedded_texts(view, found)
        memories = {memory.id: memory for memory in found}
        present = [job for job in jobs if job.memory_id in memories]
        gone = [JobResult(job_id=job.id) for job in jobs if job.memory_id not in memories]
        if gone:
            self._finish(gone)
        if not present:
            return
        try:
            remember_identity(session)
            made = dict(zip(memories, self._vectors(texts), strict=True))
        except ProviderError as error:
            self._finish([JobResult(job_id=job.id, error=str(error)) for job in present])
            return
        for job in present:
            late = late_vector(session, memories[job.memory_id], made[job.memory_id])
            ended = self._finish([JobResult(job_id=job.id, changes=late.changes)])
            self.tally.updates += late.is_update and bool(ended)

    def _vectors(self, texts: list[str]) -> list[tuple[bytes, Pieces | None]]:
        session = self.session
        if self._ends_at is None:
            return embed_memories(session, texts)[0]
        left_s = self._ends_at - time.monotonic()
        try:
            return within(left_s, lambda: embed_memories(session, texts))[0]
        except TimeoutError as error:
            raise no_vectors(session) from error

    # --- the model -----------------------------------------------------------------------------

    def ask(self) -> None:
        """Asks the language model about `enrichment.workers` memories at once, until no due job is
        left, the limit or the time is reached, or it cannot be asked."""
        if not self.session.has_model:
            return
        workers = self.session.config.settings.enrichment.workers
        if self._ids is not None:
            workers = min(workers, len(self._ids))
        if workers == 1:
            self._ask_each()
            return
        threads = [
            threading.Thread(target=self._ask_in_thread, name=f"vestig-enrich-{n}", daemon=True)
            for n in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            with aside():
                thread.join()
        if self._failures:
            raise self._failures[0]

    def _ask_in_thread(self) -> None:
        try:
            self._ask_each()
        except BaseException as error:  # raised again in the caller's thread
            self._failures.append(error)
            self._stopped.set()

    def _ask_each(self) -> None:
        while groups := self._take():
            for jobs in groups:
                self._enrich_memory(jobs)

    def _take(self) -> list[list[Job]]:
        """The due jobs of the next memory; of several where few may be taken."""
        ledger, now = self.session.ledger, self.session.now_us()
        with self._lock:
            room = self._room(len(MODEL_KINDS))
            if room <= 0 or self.paused is not None:
                return []
            if room == len(MODEL_KINDS):
                groups = ledger.due_jobs_by_memory(self.namespace, now, MODEL_KINDS, 1, self._ids)
            else:
                jobs = ledger.due_jobs(self.namespace, now, MODEL_KINDS, room, self._ids)
                groups = by_memory(jobs)
            for jobs in groups:
                self._hold(jobs)
            return groups

    def waiting(self, jobs: Sequence[Job]) -> tuple[Subject | None, list[Job]]:
        """The memory of these jobs, and those that still have something to do; the others are
        ended."""
        subject, open_ = waiting_jobs(self.session, self.namespace, jobs)
        idle = [JobResult(job_id=job.id) for job in jobs if job not in open_]
        if idle:
            self._finish(idle)
        return subject, open_

    def _enrich_memory(self, jobs: list[Job]) -> None:
        subject, open_ = self.waiting(jobs)
        for model, group in by_model(open_, self.session.config.settings).items():
            assert subject is not None, "jobs without a memory are ended"
            if self.paused is None:
                self._ask(subject, group, model)
            else:
                self._release(group)

    def _ask(self, subject: Subject, jobs: list[Job], model: str | None) -> None:
        """One call for all of these jobs, and what it gives."""
        kinds = kinds_of(jobs)
        ends_at = time.monotonic() + JobRules().lease_s
        try:
            asked = self.session.models.ask(
                [PROMPTS[kind] for kind in kinds],
                subject.prompt_values,
                answer=answer_form(kinds),
                model=model,
                ends_at=ends_at if self._ends_at is None else min(ends_at, self._ends_at),
                costs=self.meter,
            )
        except (ModelBudgetError, ConfigError) as error:
            self.pause(jobs, error)
        except ProviderError as error:
            if isinstance(error, ModelCallError) and error.status in PAUSING:
                self.pause(jobs, error)
            else:
                self.fail(jobs, str(error), error)
        else:
            self.store(subject.memory, jobs, asked)

    def store(
        self, memory: Memory, jobs: Sequence[Job], asked: ParsedAnswer[msgspec.Struct]
    ) -> None:
        """Writes what a model answered about a memory, and ends these jobs."""
        answer, faults = read_parts(asked.value, [job.kind for job in jobs], asked.dropped)
        answered = Answered(
            answer=answer,
            model=asked.model,
            prompt_version=asked.prompt_version,
            entities=kept_of(self.session, answer, memory),
        )
        lost = [JobResult(job_id=j.id, error=faults[j.kind]) for j in jobs if j.kind in faults]
        for fault in faults.values():
            self.note(ModelCallError(fault))
        good = [job for job in jobs if job.kind not in faults]
        if not good:
            self._finish(lost)
            return
        try:
            writing = Writing(self.session, memory, good, answered, self._ends_at)
            ended = writing.write(lost)
        except ProviderError as error:
            self.fail(jobs, str(error), error)
            return
        self._count(ended, [one.job_id for one in lost])
        with self._lock:
            self.tally.superseded += writing.superseded if ended else 0
        if answered.entities is not None:
            self._note_types(answered.entities.unknown_types)

    def _note_types(self, types: Sequence[str]) -> None:
        with self._lock:
            for type in types:
                self.tally.unknown_types[type] = self.tally.unknown_types.get(type, 0) + 1


def waiting_jobs(
    session: Session, namespace: str, jobs: Sequence[Job]
) -> tuple[Subject | None, list[Job]]:
    """The memory of these jobs, None where it is gone, and those that still have something to
    do."""
    settings = session.config.settings
    with session.ledger.read() as view:
        found = view.memories(namespace, [jobs[0].memory_id])
        answered = view.questions(namespace, [jobs[0].memory_id])
        judged = found and any(job.kind == "updates" for job in jobs)
        older = shown(older_memories(view, found[0])) if judged else {}
    if not found:
        return None, []
    [memory] = found
    open_ = [
        job
        for job in jobs
        if applies(job.kind, memory, settings, memory.id in answered)
        and (older or job.kind != "updates")
    ]
    return Subject(memory=memory, older=older), open_


def by_model(jobs: Sequence[Job], settings: Settings) -> dict[str | None, list[Job]]:
    """Jobs by the model that is asked; None = `llm.model`."""
    groups: dict[str | None, list[Job]] = {}
    for job in jobs:
        groups.setdefault(model_of(job.kind, settings), []).append(job)
    return groups


def kinds_of(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The kinds of these jobs, in the order in which they are asked for."""
    return tuple(kind for kind in MODEL_KINDS if any(job.kind == kind for job in jobs))


def by_memory(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs of one memory together, in the order given."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.memory_id, []).append(job)
    return list(groups.values())


# --- vectors that come late -------------------------------------------------------------------

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
        unrelated=[b"".join(ids_with_text(view, (space, scope, author, memory.content_hash)))],
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
