"""What a ledger offers: consistent views, write transactions, the queue of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec

from vestig.changes import AccessTouch, ChangeSet
from vestig.ports.models import EmbeddingIdentity
from vestig.ports.scan import ProjectionRow
from vestig.types import (
    Claim,
    CommitOutcome,
    Edge,
    Entity,
    Event,
    Evidence,
    Kind,
    Memory,
    RetentionPolicy,
    Source,
    Status,
    SupersessionRecord,
)

__all__ = [
    "Clock",
    "CommitHook",
    "EntityListing",
    "EqualText",
    "Job",
    "JobResult",
    "Ledger",
    "LedgerView",
    "Listing",
    "Mentioned",
    "NamedEntity",
    "Progress",
    "RecalledMemory",
    "RequestRecord",
    "StoredAnswer",
    "TurnPosition",
    "UniquenessCollision",
    "WriteTransaction",
]

# Where a turn stands: session and sequence. No sequence is a position of its own.
TurnPosition = tuple[str, int | None]


# An entity as name resolution reads it, a plain row because there are many for each text: id, type,
# canonical name, seq, `expired_us`, id of the entity it was merged into.
NamedEntity = tuple[str, str, str, int, int | None, str | None]


class EqualText(NamedTuple):
    """A memory that says what another one says, and where it stands."""

    id: str
    session_id: str | None
    sequence: int | None
    t_valid_us: int


class RecalledMemory(msgspec.Struct, frozen=True):
    """A stored memory as one read saw it, its text checked against its hash.

    `row`: its number, which no other memory ever gets. `replaces`: it directly replaced another
    one. `repeated`: other memories, of any scope and author, have its hash, `digest`. `t_valid_us`:
    since when it holds. `plain`: it is active and not pinned, and nothing ends it. `make` gives the
    value, and needs no store.
    """

    row: int
    id: bytes
    content: str
    processing: str
    replaces: bool
    repeated: bool
    digest: bytes
    keywords: tuple[str, ...]
    t_valid_us: int
    plain: bool
    make: Callable[[], Memory]


class EntityListing(msgspec.Struct, frozen=True, kw_only=True):
    """Which entities to list. `entity_type` as stored; `limit` None = all."""

    offset: int = 0
    limit: int | None = 20
    entity_type: str | None = None
    include_expired: bool = False


class Mentioned(msgspec.Struct, frozen=True, kw_only=True):
    """One unexpired MENTIONS edge seen from its memory."""

    memory_id: str
    entity_id: str
    confidence: float | None


class Clock(Protocol):
    """Gives the current time."""

    def __call__(self) -> datetime:
        """The current time. A naive one is UTC."""
        ...


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories to list or count, in what order. None = no condition; `limit` None = all."""

    offset: int = 0
    limit: int | None = 20
    statuses: tuple[Status, ...] | None = (Status.ACTIVE,)
    kinds: tuple[Kind, ...] | None = None
    retention_policies: tuple[RetentionPolicy, ...] | None = None
    pinned: bool | None = None
    # 16 bytes each
    ids: tuple[bytes, ...] | None = None
    order_by: str = "created_at"
    descending: bool = True
    # As known at, and as valid at, an earlier moment; None = now.
    known_at_us: int | None = None
    valid_at_us: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """An enrichment job as the ledger holds it. `batch_id`: the batch that a `submitted` one is in,
    the marker of its submission until the batch has an id."""

    id: str
    namespace: str
    memory_id: str
    kind: str
    state: str
    attempts: int
    next_attempt_us: int | None
    last_error: str | None
    batch_id: str | None = None


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job: what it writes, or why this attempt failed. A function as `changes`
    decides inside the transaction, from its view."""

    job_id: str
    changes: ChangeSet | Callable[[LedgerView], ChangeSet | None] | None = None
    error: str | None = None


class StoredAnswer(NamedTuple):
    """The answer to a request that came with a key.

    `request_hash`: SHA-256 of route and body (32 bytes). It and `response` are None after a
    memory was forgotten that the response names: the request must not be done again, and its
    answer is gone.
    """

    key: str
    request_hash: bytes | None
    status: int
    response: str | None
    created_us: int


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the log of requests: numbers and codes. `id` is a `req_…`; `payload`, what was
    asked and answered as text, only where that is to be logged, and `began_seq` with it: the
    newest transaction when the request began."""

    id: str
    namespace: str
    route: str
    began_us: int
    duration_us: int
    status: int
    counts: dict[str, int] = {}
    confidence: float | None = None
    reason: str | None = None
    payload: str | None = None
    began_seq: int = 0


class LedgerView(Protocol):
    """One consistent state of the ledger: everything read through it belongs to `seq`.

    Ids of another namespace are treated as unknown everywhere.
    """

    @property
    def seq(self) -> int:
        """Number of the last committed write transaction, from 0."""
        ...

    @property
    def head(self) -> bytes:
        """Head of the chain at `seq` (32 bytes)."""
        ...

    def memories(self, namespace: str, ids: Sequence[str]) -> list[Memory]:
        """The known ones of these full ids, in the order given. Verifies `content_hash` of each
        text and raises `StoreDamagedError` when it differs."""
        ...

    def recalled(self, namespace: str, ids: Sequence[bytes]) -> dict[bytes, RecalledMemory]:
        """id → the memories with these ids of 16 bytes, verified as by `memories`; raises
        `StoreDamagedError` where one is missing."""
        ...

    def recalled_rows(self, namespace: str, rows: Sequence[int]) -> dict[bytes, RecalledMemory]:
        """As `recalled`, by the row numbers that `text_rows` gives."""
        ...

    def places(
        self, namespace: str, ids: Sequence[str]
    ) -> dict[str, tuple[str | None, str | None, int | None]]:
        """id → (scope, session, sequence) of the known ones."""
        ...

    def turns(
        self, namespace: str, sessions: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> dict[str, tuple[str | None, str | None, int | None]]:
        """As `places`, for memories of these sessions with a sequence in one of the spans (both
        ends in, at most 200). May read all memories."""
        ...

    def ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full memory ids that start with `prefix`, ascending."""
        ...

    def known_hashes(self, namespace: str, hashes: Sequence[str]) -> set[str]:
        """Those of these content hashes that some memory of the namespace has, expired or not."""
        ...

    def ids_with_hashes(self, namespace: str, hashes: Sequence[str]) -> list[bytes]:
        """Ids (16 bytes) of the memories with one of these content hashes, expired or not,
        ascending."""
        ...

    def same_text(
        self,
        namespace: str,
        scope: str | None,
        author: str | None,
        content_hash: str,
        position: TurnPosition | None,
    ) -> list[Memory]:
        """Memories with this text at a position of a session; None = notes, and expired turns.
        Unexpired (active, archived) first, then by newest seq."""
        ...

    def first_with_text(
        self, namespace: str, scope: str | None, author: str | None, content_hash: str
    ) -> Memory | None:
        """The oldest unexpired memory with this text, at whatever position; None when there is
        none."""
        ...

    def text_rows(self, namespace: str, ids: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        """id of 16 bytes → (row number, content hash of 32 bytes) of the known ones. Neither ever
        changes, and no other memory gets the number of a forgotten one."""
        ...

    def text_owners(
        self, namespace: str, ids: Sequence[bytes]
    ) -> dict[bytes, tuple[str | None, str | None, int | None]]:
        """id of 16 bytes → (scope, author, when it expired in µs) of the known ones."""
        ...

    def equal_texts(
        self, namespace: str, ids: Sequence[str], known_at_us: int
    ) -> dict[str, list[EqualText]]:
        """id → the other memories of its scope and author with its content hash, that are expired
        at this time if it is, and unexpired if it is; by `t_valid`, oldest first. Only those that
        have any."""
        ...

    def ids_with_text(
        self, namespace: str, scope: str | None, author: str | None, content_hash: str
    ) -> list[bytes]:
        """Ids (16 bytes) of the unexpired memories with this text."""
        ...

    def repeated_texts(self, namespace: str) -> list[list[bytes]]:
        """Ids (16 bytes) of the memories of each text of a scope and author that more than one has,
        expired ones too. Reads the hashes of all memories."""
        ...

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """id → (model, float32 bytes) for those that have a vector."""
        ...

    def normal_texts(self, namespace: str, ids: Sequence[str]) -> dict[str, str]:
        """id → normal form of the text, which hashes, vectors and terms are made of."""
        ...

    def events(self, namespace: str, memory_id: str, limit: int | None = None) -> list[Event]:
        """Events of a memory, oldest first (by seq, then row)."""
        ...

    def sources(self, namespace: str, memory_id: str) -> list[Source]:
        """Sources with an unexpired PRODUCED edge to the memory, oldest first."""
        ...

    def edges(self, namespace: str, node_id: str, edge_type: str | None = None) -> list[Edge]:
        """Unexpired edges that start or end at the node, by weight descending, then id."""
        ...

    def supersessions(self, namespace: str, memory_id: str) -> list[SupersessionRecord]:
        """All records of the chain that this memory belongs to, oldest to newest."""
        ...

    def replaced_by(self, namespace: str, ids: Sequence[str]) -> dict[str, list[str]]:
        """id → ids of the memories that it directly replaced, ascending; only those that did."""
        ...

    def head_at(self, seq: int) -> bytes | None:
        """Head of the chain after transaction `seq`; None when there is none."""
        ...

    def list_memories(self, namespace: str, listing: Listing) -> list[Memory]:
        """One page. Ties by id ascending."""
        ...

    def count_memories(self, namespace: str, listing: Listing) -> int:
        """How many a full listing would give; offset and limit are ignored."""
        ...

    def listed_ids(self, namespace: str, listing: Listing) -> list[str]:
        """Ids of a full listing, ascending; offset, limit and order are ignored."""
        ...

    def ids_with_metadata(self, namespace: str, wanted: dict[str, Any]) -> list[str]:
        """Ids whose metadata equals `wanted` in every key given."""
        ...

    @property
    def last_recorded_us(self) -> int:
        """The time of the last transaction, in microseconds."""
        ...

    def expired_by(self, namespace: str, ids: Sequence[str], known_at_us: int) -> set[str]:
        """Those of these ids whose withdrawal counts as recorded by that moment."""
        ...

    def ends_before(self, namespace: str, known_at_us: int) -> dict[str, int | None]:
        """id → `t_invalid_us` as known at that moment, for memories whose end was written by an
        event recorded after it: what was recorded later is not known yet."""
        ...

    def reinforcements_at(
        self, namespace: str, ids: Sequence[str], known_at_us: int
    ) -> dict[str, tuple[int, int | None]]:
        """id → (reinforce_count, last_seen_us) counting events recorded until then."""
        ...

    def recorded_refs(
        self, namespace: str, scope: str | None, refs: Sequence[str]
    ) -> dict[str, str]:
        """artifact_ref → memory id for references already recorded in that scope."""
        ...

    def removed_after(self, after_seq: int) -> list[tuple[bytes, int]]:
        """(id, seq that removed it) of memories and entities of all namespaces that were removed
        after `after_seq`."""
        ...

    def touched_after(self, after_seq: int) -> set[str]:
        """Ids of the memories of all namespaces that a transaction after `after_seq` wrote or
        touched."""
        ...

    def forgotten_at(self, namespace: str, id: str) -> int | None:
        """When the memory with this id, or this prefix of one, was forgotten, in µs; or None."""
        ...

    def products_of(self, namespace: str, source_ids: Sequence[str]) -> list[str]:
        """Ids of the memories that these sources produced, ascending."""
        ...

    def recorded_by(self, namespace: str, refs: Sequence[str]) -> list[str]:
        """Ids of the memories of which an event carries one of these references, ascending."""
        ...

    # --- entities, edges, questions ----------------------------------------------------------

    def entities(self, namespace: str, ids: Sequence[str]) -> list[Entity]:
        """The known ones of these full ids, expired ones too, in the order given."""
        ...

    def entity_ids_with_prefix(self, namespace: str, prefix: str, limit: int = 6) -> list[str]:
        """Full entity ids that start with `prefix`, ascending."""
        ...

    def entities_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, Entity]:
        """norm_key → the unexpired entity that has it."""
        ...

    def entity_ids_by_key(self, namespace: str, norm_keys: Sequence[str]) -> dict[str, str]:
        """norm_key → id of the unexpired entity that has it."""
        ...

    def named_entities(self, namespace: str, ids: Sequence[str]) -> list[NamedEntity]:
        """The known ones of these full ids, expired ones too, in no order."""
        ...

    def list_entities(self, namespace: str, listing: EntityListing) -> list[tuple[Entity, int]]:
        """One page with the number of memories that mention each; most mentions first, then
        id."""
        ...

    def count_entities(self, namespace: str, listing: EntityListing) -> int:
        """How many a full listing would give."""
        ...

    def mentions(self, namespace: str, memory_ids: Sequence[str]) -> list[Mentioned]:
        """Unexpired MENTIONS of these memories to unexpired entities, by memory in the order
        given, then by confidence descending (null first), then entity id."""
        ...

    def mentioned_names(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """Row number of a memory → canonical names of the entities that it mentions, as `mentions`
        has them, in no order; rows that mention none are left out."""
        ...

    def mentioning(self, namespace: str, entity_ids: Sequence[str]) -> dict[str, list[str]]:
        """entity id → ids of unexpired (active or archived) memories that mention it, newest
        first (seq, then id descending); one batched read."""
        ...

    def summaries_of(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → unexpired summaries with an unexpired SUMMARIZES edge to it, newest
        first."""
        ...

    def edge(self, namespace: str, edge_id: str) -> Edge | None:
        """One edge, expired or not; both ends lie in the namespace."""
        ...

    def edge_ids_with_prefix(self, namespace: str, prefix: str) -> list[str]:
        """Full edge ids that start with `prefix`, ascending."""
        ...

    def list_edges(
        self,
        namespace: str,
        *,
        edge_type: str | None = None,
        limit: int | None = 20,
        include_expired: bool = False,
    ) -> list[Edge]:
        """Newest first (t_created descending, then id)."""
        ...

    def outgoing(self, namespace: str, edge_type: str, memory_ids: Sequence[str]) -> list[Edge]:
        """Unexpired edges of a type that start at these memories, by start in the order given,
        then end id."""
        ...

    def questions(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, list[str]]:
        """memory id → its hypothetical questions in order; absent = not generated (null)."""
        ...

    def holds(self, namespace: str, id: str) -> bool:
        """Whether the namespace holds the memory, entity or source with this full id."""
        ...

    def claims(self, namespace: str, memory_ids: Sequence[str]) -> dict[str, Claim]:
        """memory id → its claim with all evidence, in the order in which it was given; only those
        that carry one."""
        ...

    def claims_at(self, rows: Sequence[int]) -> dict[int, Claim]:
        """As `claims`, by the row numbers of memories."""
        ...

    def evidence_at(self, rows: Sequence[int]) -> dict[int, list[Evidence]]:
        """Row number of a memory → where its text was stated, oldest first: one item for each event
        that added, imported or reinforced it. `source_id` is the artifact that the event names,
        else the file that it came from, else None; `snippet` the text, or the variant of it that
        was given then."""
        ...

    # --- the whole store ---------------------------------------------------------------------

    def namespaces(self) -> list[str]:
        """Namespaces that hold memories, ascending."""
        ...

    def projection_rows(self, after_seq: int) -> Iterator[ProjectionRow]:
        """Whole rows of every memory, then of every entity (of all namespaces) that a transaction
        after `after_seq` wrote or touched, by seq. Verifies each ledger row against the chain."""
        ...

    def stats(self, namespace: str) -> dict[str, Any]:
        """Counts of the namespace by name; `bytes` is the size of the whole ledger, `seq` that of
        the store."""
        ...


class WriteTransaction(LedgerView, Protocol):
    """A view that can write. `seq` is still the one before the transaction's own."""

    @property
    def clock_behind_us(self) -> int:
        """How far the wall clock lies before the last recorded time, which is used instead, in
        microseconds; 0 = it does not."""
        ...

    def keep_answer(self, namespace: str, answer: StoredAnswer, *, since_us: int) -> None:
        """Keeps the answer to a request with a key, with what else this transaction writes or
        alone; takes no seq. Answers from before `since_us` are dropped.

        Raises:
            ConflictError: an answer is kept for the key already; leaving the transaction with this
                error undoes all of it.
        """
        ...

    @property
    def applied(self) -> tuple[int, bytes] | None:
        """The seq and the head of what was written; None before."""
        ...

    def new_rows(self) -> list[ProjectionRow] | None:
        """Rows of the projection for what `apply` wrote; None when it did more than write new
        memories and entities, so that the rows must be read. Answers once."""
        ...


class UniquenessCollision(Exception):
    """The ledger refused a second unexpired memory with one text. Commit decides again."""


class Ledger(Protocol):
    """All records of a store, the truth. Thread-safe: threads may read while one writes."""

    @property
    def store_uuid(self) -> bytes:
        """16 random bytes made at creation."""
        ...

    @property
    def moved(self) -> bool:
        """Whether what lies at the place of this store is no longer what was opened."""
        ...

    def read(self) -> AbstractContextManager[LedgerView]:
        """One read transaction."""
        ...

    def write(self, now_us: int) -> AbstractContextManager[WriteTransaction]:
        """One write transaction: BEGIN IMMEDIATE, waits at most `lock_timeout_s`, commits
        durably on leaving, rolls back on an exception. `now_us` is the wall clock; the
        transaction's time is max(now, last recorded); see `clock_behind_us`.

        Raises:
            StoreLockedError: no lock in time, or a read-only store.
        """
        ...

    def touch(self, namespace: str, touch: AccessTouch) -> None:
        """Access counters in one write without a seq."""
        ...

    def due_jobs(
        self,
        namespace: str,
        now_us: int,
        kinds: Sequence[str],
        limit: int,
        ids: Sequence[str] | None = None,
    ) -> list[Job]:
        """Takes due jobs, of `ids` only where given: running, under a lease that can expire."""
        ...

    def finish_job(
        self, job_id: str, now_us: int, *, changes: ChangeSet | None, error: str | None
    ) -> None:
        """Done (results and state in one transaction), or one failed attempt."""
        ...

    def due_jobs_by_memory(
        self,
        namespace: str,
        now_us: int,
        kinds: Sequence[str],
        limit: int,
        ids: Sequence[str] | None = None,
    ) -> list[list[Job]]:
        """As `due_jobs`, all due kinds of a memory together, for `limit` memories."""
        ...

    def due_job_counts(self, now_us: int, kinds: Sequence[str]) -> dict[str, int]:
        """Namespace → number of its due jobs; only those that have some. Takes no lock."""
        ...

    def finish_jobs(self, results: Sequence[JobResult], now_us: int) -> list[str]:
        """Ends several jobs of one namespace in one transaction: what those that succeeded write is
        one change set, each of the others is one failed attempt. Ids of the jobs that were ended: a
        job that is gone or done already is left out with all that it would have written, and what a
        decision raises undoes everything.
        """
        ...

    def release_jobs(
        self,
        job_ids: Sequence[str],
        now_us: int,
        *,
        until_us: int | None = None,
        reason: str | None = None,
    ) -> int:
        """Running and submitted jobs are pending again without an attempt: due at once, or at
        `until_us`. `reason` becomes their last error. How many."""
        ...

    def submit_jobs(self, job_ids: Sequence[str], batch_id: str, now_us: int) -> int:
        """Running and submitted jobs are part of a batch; how many. Leases do not apply to them.

        Called before the batch is submitted, with a marker of the caller as `batch_id`, and again
        with the id that the batch was given: a marker that stays is a batch that may or may not
        exist, and is found by listing.
        """
        ...

    def submitted_batches(self, namespace: str) -> dict[str, list[Job]]:
        """Batch or marker → its submitted jobs, oldest first."""
        ...

    def reserve_model_calls(self, day: int, count: int, limit: int | None) -> bool:
        """Reserves calls of a model before they are sent, for all processes of the store; False,
        and nothing reserved, when the day would have more than `limit` (None = no limit).

        Args:
            day: days since 1970-01-01 (UTC).
        """
        ...

    def reserved_model_calls(self, day: int) -> int:
        """How many calls of that day were reserved."""
        ...

    def answer_of(self, namespace: str, key: str, *, since_us: int) -> StoredAnswer | None:
        """The answer that was kept for this key at `since_us` or later."""
        ...

    def log_requests(self, requests: Sequence[RequestRecord]) -> None:
        """Appends to the log of requests; takes no seq."""
        ...

    def retry_failed(self, namespace: str, kinds: Sequence[str], now_us: int) -> int:
        """Jobs that had failed for good are pending again; how many."""
        ...

    def embedding_identity(self) -> EmbeddingIdentity | None:
        """Which model made the vectors; None until the first vector."""
        ...

    def set_embedding_identity(self, identity: EmbeddingIdentity) -> None:
        """Stores it where none is stored yet. The caller refuses a different one."""
        ...

    def close(self) -> None:
        """Idempotent."""
        ...


# Called with the outcome of each commit.
CommitHook = Callable[[CommitOutcome], None]


# Called with (done, total or None).
Progress = Callable[[int, int | None], None]
