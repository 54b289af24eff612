"""The vocabulary: frozen values that pass between the rooms and to the caller.

Times of public values are aware `datetime`s in UTC; times inside a `ChangeSet`
and of the core are integers, microseconds since 1970-01-01T00:00:00Z (`*_us`).
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from vestig.times import to_plain

__all__ = [
    "CommitOutcome",
    "CommitOutcomeKind",
    "Degradation",
    "Edge",
    "EdgeType",
    "Entity",
    "Event",
    "EventType",
    "ItemError",
    "JobState",
    "Kind",
    "Memory",
    "OriginType",
    "PossibleUpdate",
    "RetentionPolicy",
    "Role",
    "Source",
    "Stability",
    "Status",
    "SupersessionRecord",
    "TemporalWindow",
    "Trigger",
]


class Kind(StrEnum):
    """What a memory is."""

    MEMORY = "MEMORY"
    SUMMARY = "SUMMARY"


class Status(StrEnum):
    """Lifecycle state."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


class Role(StrEnum):
    """Who spoke in a conversation with an assistant."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class OriginType(StrEnum):
    """What kind of text a memory is; weights depend on it."""

    CHAT_PEER = "chat_peer"
    CHAT_AGENT = "chat_agent"
    DOCUMENT = "document"
    NOTE = "note"


class Stability(StrEnum):
    """How long a fact tends to hold."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    EPHEMERAL = "ephemeral"
    UNKNOWN = "unknown"


class Trigger(StrEnum):
    """Why an agent kept a memory."""

    PROBLEM_SOLUTION = "problem-solution"
    POSITIVE_FEEDBACK = "positive-feedback"
    CORRECTIVE_FEEDBACK = "corrective-feedback"
    LEARNING_SUCCESS = "learning-success"
    LEARNING_FAILURE = "learning-failure"


class RetentionPolicy(StrEnum):
    """How long a memory is worth keeping."""

    PERMANENT = "permanent"
    DECISION = "decision"
    STANDARD = "standard"
    EPHEMERAL = "ephemeral"
    SESSION = "session"


class EventType(StrEnum):
    """Entries of the append-only event log. The order is the code in the projection."""

    ADD = "ADD"
    IMPORT = "IMPORT"
    REINFORCE_EXACT = "REINFORCE_EXACT"
    REINFORCE_NEAR = "REINFORCE_NEAR"
    DEPRECATE = "DEPRECATE"
    SUPERSEDE = "SUPERSEDE"
    ARCHIVE = "ARCHIVE"
    RESTORE = "RESTORE"
    PIN = "PIN"
    UNPIN = "UNPIN"
    UPDATE = "UPDATE"
    ENTITY_EXTRACTED = "ENTITY_EXTRACTED"
    SUMMARY_CREATED = "SUMMARY_CREATED"


class EdgeType(StrEnum):
    """Edge types that the ledger stores (D-03; AFFECTS is a view of the event log)."""

    MENTIONS = "MENTIONS"
    RELATED = "RELATED"
    SUMMARIZES = "SUMMARIZES"
    CONTAINS = "CONTAINS"
    SUMMARIZED_BY = "SUMMARIZED_BY"
    LINKED = "LINKED"
    PRODUCED = "PRODUCED"
    HAS_CHUNK = "HAS_CHUNK"
    RELATION = "RELATION"


class JobState(StrEnum):
    """State of an enrichment job."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class CommitOutcomeKind(StrEnum):
    """The four ends of a commit."""

    INSERTED_NEW = "INSERTED_NEW"
    EXACT_DUPE = "EXACT_DUPE"
    NEAR_DUPE = "NEAR_DUPE"
    REJECTED_HYGIENE = "REJECTED_HYGIENE"


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of public values: immutable, and `to_dict()` is the JSON of every surface."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
        plain = to_plain(self)
        assert isinstance(plain, dict)
        return plain


class TemporalWindow(_Value, frozen=True, kw_only=True):
    """A half-open window [start, end) found in a text; None = open on that side."""

    text: str
    start: datetime | None
    end: datetime | None
    grain: str


class Degradation(_Value, frozen=True, kw_only=True):
    """A result was made by a weaker path."""

    code: str
    detail: str
    count: int = 1


class ItemError(_Value, frozen=True, kw_only=True):
    """One failed item of a batch."""

    index: int
    code: str
    message: str


class PossibleUpdate(_Value, frozen=True, kw_only=True):
    """A near text that states another fact; `differs` lists guard classes."""

    memory_id: str
    score: float
    differs: tuple[str, ...]


class Memory(_Value, frozen=True, kw_only=True):
    """One memory as the ledger holds it."""

    id: str
    namespace: str
    scope: str | None
    seq: int
    kind: Kind
    content: str
    content_hash: str
    author: str | None
    role: Role | None
    session_id: str | None
    sequence: int | None
    title: str | None
    origin_type: OriginType
    origin_derived: bool
    embedding_model: str | None
    keywords: tuple[str, ...]
    times: tuple[TemporalWindow, ...]
    trigger: Trigger | None
    t_valid: datetime
    t_invalid: datetime | None
    t_created: datetime
    t_expired: datetime | None
    temporal_stability: Stability
    last_seen_at: datetime | None
    reinforce_count: int
    status: Status
    processing: str
    pinned: bool
    pinned_at: datetime | None
    pinned_reason: str | None
    retention_policy: RetentionPolicy
    retention_until: datetime | None
    access_count: int
    last_accessed_at: datetime | None
    superseded_by: str | None
    revives: str | None
    version: int
    metadata: dict[str, Any]

    @property
    def created_at(self) -> datetime:
        """Read-only alias of `t_created`."""
        return self.t_created

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags, () when none were ever given."""
        return tuple(self.metadata.get("tags", ()))


class Event(_Value, frozen=True, kw_only=True):
    """One entry of the append-only log."""

    id: str
    memory_id: str
    event_type: EventType
    occurred_at: datetime
    recorded_at: datetime
    seq: int
    source: str
    actor: str | None
    artifact_ref: str | None
    payload: dict[str, Any]


class Entity(_Value, frozen=True, kw_only=True):
    """A name that memories mention. `merged_into` is set only when it is expired."""

    id: str
    namespace: str
    seq: int
    entity_type: str
    canonical_name: str
    norm_key: str
    description: str
    aliases: tuple[str, ...]
    type_certain: bool
    origin: str
    created_at: datetime
    expired_at: datetime | None
    merged_into: str | None
    access_count: int = 0
    last_accessed_at: datetime | None = None


class Edge(_Value, frozen=True, kw_only=True):
    """A link between two nodes."""

    id: str
    from_id: str
    to_id: str
    edge_type: EdgeType
    relation: str | None
    weight: float
    confidence: float | None
    evidence: str | None
    origin: str
    t_created: datetime
    t_expired: datetime | None
    t_valid: datetime | None = None
    t_invalid: datetime | None = None


class Source(_Value, frozen=True, kw_only=True):
    """Where memories came from."""

    id: str
    source_type: str
    created_at: datetime
    ingested_at: datetime
    source_hash: str | None
    path: str | None
    agent: str | None
    session_id: str | None
    metadata: dict[str, Any]


class SupersessionRecord(_Value, frozen=True, kw_only=True):
    """`superseding_id` replaced `superseded_id`."""

    superseding_id: str
    superseded_id: str
    reason: str
    created_at: datetime


class CommitOutcome(_Value, frozen=True, kw_only=True):
    """What a commit did."""

    outcome: CommitOutcomeKind
    memory_id: str | None
    matched_memory_id: str | None = None
    query_score: float | None = None
    content_hash: str
    occurred_at: datetime
    source: str
    tags: tuple[str, ...] = ()
    artifact_ref: str | None = None
    namespace: str
    scope: str | None = None
    hygiene_reasons: tuple[str, ...] = ()
    thresholds: dict[str, float] = {}
    deduplicated: bool = False
    possible_update_of: PossibleUpdate | None = None
    revives: str | None = None
    superseded: tuple[str, ...] = ()
    event_id: str | None = None
    seq: int | None = None
    jobs: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()
