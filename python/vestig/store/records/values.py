"""Values that reads of the ledger give, and what its queue and its log take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from vestig.changes import ChangeSet
from vestig.types import Kind, Memory, RetentionPolicy, Status

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

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
    """Outcome of a job: what it writes, or why this attempt failed. A function as `changes` decides
    inside the transaction, from its view."""

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


class UniquenessCollision(Exception):
    """The ledger refused a second unexpired memory with one text. Commit decides again."""
