"""What reading calls return: results, their reasons, reports. Immutable values."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from vestig.types import (
    Degradation,
    Event,
    ItemError,
    Memory,
    Source,
    SupersessionRecord,
    TemporalWindow,
    _Value,
)

__all__ = [
    "Analysis",
    "Counts",
    "DoctorReport",
    "EnrichReport",
    "Finding",
    "ForgetReport",
    "Formula",
    "GcReport",
    "ImportReport",
    "MemoryDetail",
    "MemoryPage",
    "Reason",
    "RecallHit",
    "RecallResult",
    "SignalTrace",
    "TraceRankBoost",
]


class SignalTrace(_Value, frozen=True, kw_only=True):
    """One term of the score (Q-02). None = the signal was unavailable for this query."""

    raw: float | None
    normalised: float | None
    weight: float | None
    matched: tuple[str, ...] | UnsetType = UNSET


class TraceRankBoost(_Value, frozen=True, kw_only=True):
    """Every factor of T-11; `multiplier` is the clipped product."""

    multiplier: float
    trace: float
    basic: float
    connectivity: float
    confidence: float
    unclipped: float
    events: int
    stability: str


class Reason(_Value, frozen=True, kw_only=True):
    """Why a memory came and every number behind its rank (R-14).

    `final_score` = base(start_score) · path_score · tracerank_boost.multiplier ^ tracerank_power,
    with base as in R-12 and the power in the result's `formula`.
    """

    retrieval_method: str
    similarity: float | None
    final_score: float
    semantic_score: float | UnsetType = UNSET
    signals: dict[str, SignalTrace] | UnsetType = UNSET
    start_score: float | UnsetType = UNSET
    base: float | UnsetType = UNSET
    path: tuple[str, ...] | UnsetType = UNSET
    hops: int | UnsetType = UNSET
    path_score: float | UnsetType = UNSET
    tracerank_boost: TraceRankBoost | UnsetType = UNSET
    flags: tuple[str, ...] | UnsetType = UNSET
    explanation: str | UnsetType = UNSET


class RecallHit(_Value, frozen=True, kw_only=True):
    """One memory that came, with its score, its plain cosine and the reason.

    `similarity` is None only when the query had no vector (`partial_backend`).
    """

    memory: Memory
    score: float
    similarity: float | None
    reason: Reason
    embedding: tuple[float, ...] | UnsetType | None = UNSET

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The memory's text."""
        return self.memory.content

    def plain_fields(self) -> dict[str, Any]:
        """The memory's fields beside score, similarity and reason, as JSON shows them."""
        fields = {name: getattr(self.memory, name) for name in self.memory.__struct_fields__}
        fields.update(score=self.score, similarity=self.similarity, reason=self.reason)
        if self.embedding is not UNSET:
            fields["embedding"] = self.embedding
        return fields


class Analysis(_Value, frozen=True, kw_only=True):
    """What was understood of the query (R-03)."""

    keywords: tuple[str, ...]
    windows: tuple[TemporalWindow, ...]
    available: tuple[str, ...]


class Counts(_Value, frozen=True, kw_only=True):
    """How many memories took part. `approximate` tells whether the scan was not exact (R-20)."""

    stored: int
    eligible: int
    scored: int
    returned: int
    below_min_score: int
    approximate: bool


class Formula(_Value, frozen=True, kw_only=True):
    """What a reader needs to compute a final score again (R-12, Q-03)."""

    base: str
    pool: int | None
    tracerank_power: float
    normalisers: dict[str, float | None]


class RecallResult(_Value, frozen=True, kw_only=True):
    """The answer of `recall` (R-17)."""

    results: tuple[RecallHit, ...]
    query: str | None
    namespace: str
    profile: str
    seq: int
    as_of: datetime | None
    known_at: datetime | None
    valid_at: datetime | None
    query_time: datetime
    analysis: Analysis
    counts: Counts
    formula: Formula
    timings_ms: dict[str, float]
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Any:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


class MemoryDetail(_Value, frozen=True, kw_only=True):
    """One memory with its evidence (`show`). `ledger_seq` is the state that was read."""

    memory: Memory
    access_velocity: float
    embedding_dimensions: int | None
    embedding_head: tuple[float, ...]
    sources: tuple[Source, ...]
    events: tuple[Event, ...]
    supersessions: tuple[SupersessionRecord, ...]
    flags: tuple[str, ...]
    ledger_seq: int
    warnings: tuple[str, ...] = ()

    def plain_fields(self) -> dict[str, Any]:
        """The memory's fields beside its evidence."""
        fields = {name: getattr(self.memory, name) for name in self.memory.__struct_fields__}
        for name in self.__struct_fields__[1:]:
            fields[name] = getattr(self, name)
        return fields


class MemoryPage(_Value, frozen=True, kw_only=True):
    """One page of a listing (L-15); `total` counts the full listing."""

    memories: tuple[Memory, ...]
    total: int
    offset: int
    seq: int
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Any:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


class EnrichReport(_Value, frozen=True, kw_only=True):
    """What `enrich` did: jobs taken, done, failed for now, failed for good, still waiting."""

    taken: int
    done: int
    retried: int
    failed: int
    pending: int
    possible_updates: int
    degraded: tuple[Degradation, ...] = ()


class ImportReport(_Value, frozen=True, kw_only=True):
    """Exact counts of an import (I-02): `lines` = the sum of the counts that follow it."""

    format: str
    lines: int
    imported: int
    skipped: int
    duplicates: int
    rejected: int
    failed: int
    memories: int
    errors: tuple[ItemError, ...] = ()
    errors_more: int = 0
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class ForgetReport(_Value, frozen=True, kw_only=True):
    """What `forget` removed, and the proof that it is gone from every file (L-10).

    `rows_removed` counts per table. `shared_occurrences`: forgotten bytes that other live records
    hold as well. `residues` is 0: anything else is an error. `outside`: what is not of this store
    and may still hold the texts.
    """

    memory_ids: tuple[str, ...]
    rows_removed: dict[str, int]
    entities_removed: int = 0
    summaries_removed: tuple[str, ...] = ()
    edges_removed: int
    files_scanned: int
    bytes_scanned: int
    shared_occurrences: int
    residues: int
    outside: str
    dry_run: bool = False
    seq: int
    degraded: tuple[Degradation, ...] = ()


class GcReport(_Value, frozen=True, kw_only=True):
    """What `gc` removed, or with `dry_run` would (L-11)."""

    sources_removed: int
    entities_removed: int = 0
    edges_removed: int
    dry_run: bool = False
    seq: int


class Finding(_Value, frozen=True, kw_only=True):
    """One line of `doctor`: level is ok, finding or damage."""

    check: str
    level: str
    detail: str


class DoctorReport(_Value, frozen=True, kw_only=True):
    """Result of all checks (S-08)."""

    findings: tuple[Finding, ...]
    seq: int

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 3 damage."""
        levels = {finding.level for finding in self.findings}
        return 3 if "damage" in levels else 1 if "finding" in levels else 0

    def plain_fields(self) -> dict[str, Any]:
        """Findings and the verdict."""
        return {"findings": self.findings, "seq": self.seq, "exit_code": self.exit_code}
