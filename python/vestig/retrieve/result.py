"""The result of `retrieve`. Immutable values."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from vestig.results import SequenceResult
from vestig.retrieve.confidence import ConfidencePart, Label
from vestig.retrieve.stop import StopReason
from vestig.retrieve.types import FactKey
from vestig.types import Degradation, _Value


class ToolCall(_Value, frozen=True, kw_only=True):
    """One search of a retrieval, over the texts of its queries. `result_count`: distinct facts, or
    turns; `attempts` from 1; `error` names the kind of a failure, never a text."""

    name: Literal["fact_search", "message_search"]
    queries: tuple[str, ...]
    result_count: int
    success: bool
    duration_ms: float
    attempts: int
    timestamp: datetime
    error: str | None = None


class TraceStep(_Value, frozen=True, kw_only=True):
    """One step of a retrieval, with the numbers that it came to."""

    step: Literal["analyse", "plan", "execute", "evaluate", "synthesise"]
    iteration: int
    detail: str


class CompositeParts(_Value, frozen=True, kw_only=True):
    """Parts of a fact's rank, each from 0 to 1, and their weighted mean."""

    relevance: float
    novelty: float
    recency: float
    diversity: float
    composite: float


class FactDetail(_Value, frozen=True, kw_only=True):
    """Why a fact is among the results. `level`: its relevance before it was scaled; `iteration`:
    the first that found it; `novelty_added`: whether it counted as news there."""

    fact_key: FactKey
    memory_id: str
    similarity: float | None
    level: float
    parts: CompositeParts
    iteration: int
    novelty_added: bool
    supporting_evidence_count: int
    query_coverage_count: int
    queries: tuple[str, ...]


class RetrieveMetadata(_Value, frozen=True, kw_only=True):
    """Counts and figures of a retrieval. Queries count as queries, not as calls; facts by their
    keys.

    `coverage_score`: the share of what was asked about that a fact speaks of, from 0 to 1.
    `duplicates_merged`: sightings of facts that had been seen before. `stop_reason`: why the last
    iteration was the last. `confidence_breakdown`: component → value, weight, product; the products
    have the sum `confidence_score`.
    """

    request_id: str
    seq: int
    processing_time_ms: float
    queries_generated: int
    queries_executed: int
    tool_calls: tuple[ToolCall, ...]
    iterations_used: int
    new_facts_per_iteration: tuple[int, ...]
    new_evidence_per_iteration: tuple[int, ...]
    new_facts_last_iteration: int
    novelty_streak_without_gain: int
    coverage_score: float
    unique_facts_seen: int
    facts_returned: int
    messages_retrieved: int
    duplicates_merged: int
    stop_reason: StopReason
    confidence_score: float
    confidence_breakdown: dict[str, ConfidencePart]
    degraded: tuple[Degradation, ...] = ()
    warnings: tuple[str, ...] = ()


class RetrieveResult(SequenceResult[str], frozen=True, kw_only=True):
    """Facts and turns for the end of a conversation, each as one line of text, best first. It is
    the sequence of its facts.

    `context_summary` is empty without a model. `details`, one of each fact in its order, and
    `reasoning_trace` are there only with `debug`.
    """

    facts: tuple[str, ...]
    messages: tuple[str, ...]
    context_summary: str
    confidence: Label
    metadata: RetrieveMetadata
    details: tuple[FactDetail, ...] | UnsetType = UNSET
    reasoning_trace: tuple[TraceStep, ...] | UnsetType = UNSET
