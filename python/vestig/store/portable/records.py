"""The lines of an export: header, records of each kind, trailer.

A line carries a row of the ledger with ids in place of row numbers and times as text. Values
that the ledger keeps as JSON text (metadata, payload, keywords, times, aliases, counts) go through
as raw JSON, so that every byte of them survives. Salts and digests stay behind: they belong to one
chain.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Final, Literal

import msgspec

from vestig.ports import EmbeddingIdentity
from vestig.store.tables.memories import NO_QUESTION
from vestig.types import (
    EdgeType,
    EventType,
    JobState,
    Kind,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    Status,
    Trigger,
)

_INT_MAX: Final = 2**63 - 1
Integer = Annotated[int, msgspec.Meta(ge=-_INT_MAX, le=_INT_MAX)]
# More than any store counts, and far enough from the end of the numbers to go on counting.
_COUNT_MAX: Final = 2**53
_Count = Annotated[int, msgspec.Meta(ge=0, le=_COUNT_MAX)]
Seq = Annotated[int, msgspec.Meta(ge=1, le=_COUNT_MAX)]
Namespace = Annotated[str, msgspec.Meta(pattern=r"\A(?!\.{1,2}\Z)[a-z0-9._-]{1,64}\Z")]
HexDigest = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Time = str  # checked by `columns_of`, which reads it


class _Line(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record"
):
    """Base of all lines; `record` names the kind."""


class Header(_Line, frozen=True, kw_only=True, tag="header"):
    """First line. `namespace` is null when all of the store's namespaces follow; `namespaces`
    names those that follow, and `where` is the filter of a selection."""

    schema: str
    format_version: int
    origin: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    seq: _Count
    namespace: Namespace | None
    embedding: EmbeddingIdentity | None
    namespaces: tuple[Namespace, ...]
    where: dict[str, Any] | None


class Trailer(_Line, frozen=True, kw_only=True, tag="end"):
    """Last line: what the lines before it are.

    Attributes:
        counts: records by kind, the header left out.
        sha256: of all bytes before this line, unpacked, in hex.
        cut_references: references that are null or left out because their memory is not in the
            file: those that leave a selection, and superseded memories whose successor the store
            does not hold.
        zero_vectors: vectors of zeros.
        unscaled_vectors: vectors whose length is neither 0 nor 1, where the model normalises.
    """

    counts: dict[str, _Count]
    sha256: HexDigest
    cut_references: _Count
    zero_vectors: _Count
    unscaled_vectors: _Count


class SourceRecord(_Line, frozen=True, kw_only=True, tag="source"):
    """A source."""

    id: str
    namespace: Namespace
    seq: Seq
    source_type: Literal["file", "agentic", "legacy"]
    created_at: _Time
    ingested_at: _Time
    path: str | None
    agent: str | None
    session_id: str | None
    metadata: msgspec.Raw


class MemoryRecord(_Line, frozen=True, kw_only=True, tag="memory"):
    """A memory with its access counters.

    The vector is a line of its own; `embedding_model` says whether there is one. `content` is the
    text as it was given, `normal` its normal form, absent where it is the same. `content_hash` is
    that of the normal form.
    """

    id: str
    namespace: Namespace
    scope: str | None
    seq: Seq
    wseq: Seq
    kind: Kind
    content: str
    normal: str | msgspec.UnsetType = msgspec.UNSET
    content_hash: HexDigest
    author: str | None
    role: Role | None
    session_id: str | None
    sequence: Integer | None
    title: str | None
    origin_type: OriginType
    origin_derived: bool
    keywords: msgspec.Raw
    times: msgspec.Raw
    trigger: Trigger | None
    t_valid: _Time
    t_invalid: _Time | None
    t_created: _Time
    t_expired: _Time | None
    temporal_stability: Stability
    last_seen_at: _Time | None
    reinforce_count: _Count
    status: Status
    pinned: bool
    pinned_at: _Time | None
    pinned_reason: str | None
    retention_policy: RetentionPolicy
    retention_until: _Time | None
    superseded_by: str | None
    revives: str | None
    version: _Count
    metadata: msgspec.Raw
    access_count: _Count
    last_accessed_at: _Time | None
    processing: Literal["pending", "ready", "failed"]
    embedding_model: str | None


class VectorRecord(_Line, frozen=True, kw_only=True, tag="vector"):
    """A memory's embedding: float32 little-endian, base64."""

    memory: str
    seq: Seq
    model: str
    embedding: bytes


class TokenCodesRecord(_Line, frozen=True, kw_only=True, tag="token_codes"):
    """Codes of a memory's word pieces, as `ports.Pieces` describes them, base64; `axes`: SHA-256 of
    the mean and of the axes that they were made with."""

    memory: str
    seq: Seq
    model: str
    axes: bytes
    ids: bytes
    codes: bytes


class EventRecord(_Line, frozen=True, kw_only=True, tag="event"):
    """An entry of the event log."""

    id: str
    memory: str
    seq: Seq
    recorded_at: _Time
    event_type: EventType
    occurred_at: _Time
    source: str
    actor: str | None
    artifact_ref: str | None
    payload: msgspec.Raw


class EdgeRecord(_Line, frozen=True, kw_only=True, tag="edge"):
    """An edge. `expired_seq` is 0 while it is unexpired."""

    id: str
    from_id: str
    edge_type: EdgeType
    to_id: str
    relation: str
    expired_seq: _Count
    seq: Seq
    weight: Annotated[float, msgspec.Meta(ge=0)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    evidence: str | None
    origin: str
    t_valid: _Time | None
    t_invalid: _Time | None
    t_created: _Time
    t_expired: _Time | None


class EntityRecord(_Line, frozen=True, kw_only=True, tag="entity"):
    """An entity with its access counters; the vector is a line of its own."""

    id: str
    namespace: Namespace
    seq: Seq
    wseq: Seq
    entity_type: str
    canonical_name: str
    norm_key: str
    description: str
    aliases: msgspec.Raw
    type_certain: bool
    origin: str
    created_at: _Time
    expired_at: _Time | None
    merged_into: str | None
    access_count: _Count
    last_accessed_at: _Time | None


class EntityVectorRecord(_Line, frozen=True, kw_only=True, tag="entity_vector"):
    """An entity's embedding: float32 little-endian, base64."""

    entity: str
    seq: Seq
    model: str
    embedding: bytes


class QuestionRecord(_Line, frozen=True, kw_only=True, tag="question"):
    """A hypothetical question with its vector; position -1, without either: they were tried."""

    memory: str
    position: Annotated[int, msgspec.Meta(ge=NO_QUESTION, le=_INT_MAX)]
    seq: Seq
    text: str
    model: str
    embedding: bytes


class SupersessionRecord(_Line, frozen=True, kw_only=True, tag="supersession"):
    """`superseding` replaced `superseded`."""

    superseding: str
    superseded: str
    reason: str
    created_at: _Time
    seq: Seq


class JobRecord(_Line, frozen=True, kw_only=True, tag="job"):
    """An enrichment job. A running one is written as pending: leases do not travel. `batch_id` is
    that of a submitted one."""

    id: str
    memory: str
    kind: str
    state: JobState
    attempts: _Count
    next_attempt_at: _Time | None
    last_error: str | None
    batch_id: str | None
    created_at: _Time
    updated_at: _Time


class ClaimRecord(_Line, frozen=True, kw_only=True, tag="claim"):
    """A statement of a memory about a subject; each piece of its evidence is a line of its own."""

    memory: str
    seq: Seq
    subject: str
    subject_id: str | None
    fact_type: str
    object: str | None
    object_id: str | None
    object_type: str | None
    relationship_type: str | None
    attributes: msgspec.Raw
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None


class EvidenceRecord(_Line, frozen=True, kw_only=True, tag="evidence"):
    """Where the claim of a memory was stated: `source_id` is a source or a memory."""

    memory: str
    seq: Seq
    position: _Count
    source_id: str | None
    stated_at: _Time | None
    author: str | None
    snippet: str


class ModelCallsRecord(_Line, frozen=True, kw_only=True, tag="model_calls"):
    """Calls of a language model that were reserved for a day (UTC)."""

    day: date
    reserved: _Count


class IdempotencyKeyRecord(_Line, frozen=True, kw_only=True, tag="idempotency_key"):
    """The answer to a request with a key. Hash and response are null where a forgetting erased
    them."""

    namespace: Namespace
    key: Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{1,128}\Z")]
    request_hash: HexDigest | None
    status: Annotated[int, msgspec.Meta(ge=100, le=599)]
    response: str | None
    created_at: _Time


class RequestLogRecord(_Line, frozen=True, kw_only=True, tag="request"):
    """An entry of the log of requests. `payload` is null where texts are not logged, and where a
    forgetting erased it."""

    id: str
    namespace: Namespace
    route: str
    began_at: _Time
    duration: _Count
    status: Annotated[int, msgspec.Meta(ge=100, le=599)]
    counts: msgspec.Raw
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None
    reason: str | None
    payload: str | None


class TombstoneRecord(_Line, frozen=True, kw_only=True, tag="tombstone"):
    """A memory that was forgotten: nothing of its text, and no hash."""

    id: str
    namespace: Namespace
    seq: Seq
    forgotten_at: _Time
    actor: str | None
    counts: msgspec.Raw


class DeclaredRecord(_Line, frozen=True, kw_only=True):
    """A row of a table whose declaration says all of its line; its class is made of that."""


Record = (
    SourceRecord
    | MemoryRecord
    | VectorRecord
    | EventRecord
    | EdgeRecord
    | EntityRecord
    | EntityVectorRecord
    | QuestionRecord
    | SupersessionRecord
    | JobRecord
    | TokenCodesRecord
    | TombstoneRecord
    | ClaimRecord
    | EvidenceRecord
    | ModelCallsRecord
    | IdempotencyKeyRecord
    | RequestLogRecord
    | DeclaredRecord
)


def kind_of(record: Header | Trailer | Record | type[Record]) -> str:
    """Return the word that a line has under `record`."""
    return str(record.__struct_config__.tag)
