"""The result of `retrieve` as immutable values, and its layouts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from vestig.language.claim_text import claim_attributes, claim_words
from vestig.language.text_forms import single_spaced
from vestig.results import SequenceResult
from vestig.retrieve.confidence import ConfidencePart, Label
from vestig.retrieve.stop import StopReason
from vestig.retrieve.types import MEMORY_FACT, Fact, FactKey
from vestig.times import from_us
from vestig.types import Claim, Degradation, Evidence, Memory, _Value


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


_SNIPPET_CHARS_MAX: Final = 500
_MESSAGE_CHARS_MAX: Final = 300


def fact_text(fact: Fact) -> str:
    """A fact as a line that begins with its day: what its claim says, with confidence and evidence,
    or the content of a plain memory behind who said it."""
    statement, day = fact.claim, from_us(fact.t_valid_us)
    if statement is None:
        author = next((one.author for one in fact.evidence if one.author), None)
        said = fact.content if author is None else f"{author}: {fact.content}"
        return f"{_day(day)} {single_spaced(said)}"
    return fact_line(day, _stated(statement), statement.confidence, fact.evidence)


def fact_line(
    day: datetime, words: str, confidence: float | None, evidence: Sequence[Evidence]
) -> str:
    """`[YYYY-MM-DD] words (confidence: 0.90, evidence: Author: "snippet" | …)`. A confidence that
    is not known is left out; of a snippet at most 500 characters are shown.

    Example:
        >>> seen = Evidence(source_id=None, timestamp=None, author="Ada", snippet="I moved")
        >>> fact_line(datetime(2026, 3, 18, 9), "Ada lives in Oslo", 0.9, [seen])
        '[2026-03-18] Ada lives in Oslo (confidence: 0.90, evidence: Ada: "I moved")'
        >>> fact_line(datetime(2026, 3, 18, 9), "Ada lives in Oslo", None, [])
        '[2026-03-18] Ada lives in Oslo (evidence: unknown)'
    """
    told = " | ".join(_quoted(one) for one in evidence) or "unknown"
    sure = "" if confidence is None else f"confidence: {confidence:.2f}, "
    return f"{_day(day)} {single_spaced(words)} ({sure}evidence: {told})"


def _day(moment: datetime) -> str:
    return f"[{moment.date().isoformat()}]"


def _stated(statement: Claim) -> str:
    relation = statement.relationship_type
    if relation is None and statement.fact_type != MEMORY_FACT:
        relation = statement.fact_type
    words = claim_words(statement.subject, relation, statement.object)
    return f"{words} {claim_attributes(statement.attributes)}".strip()


def _quoted(evidence: Evidence) -> str:
    snippet = f'"{single_spaced(evidence.snippet)[:_SNIPPET_CHARS_MAX]}"'
    return f"{evidence.author}: {snippet}" if evidence.author else snippet


def message_text(memory: Memory) -> str:
    """A turn as a line, as in `message_line`; its time is when its statement began to hold."""
    return message_line(memory.t_valid, memory.author, memory.content)


def message_line(time: datetime, author: str | None, content: str) -> str:
    """`[YYYY-MM-DD] author: content`, cut to 300 characters.

    Example:
        >>> message_line(datetime(2026, 3, 18, 9), "Ada", "The key is under the mat")
        '[2026-03-18] Ada: The key is under the mat'
    """
    said = f"{author}: {content}" if author else content
    return f"{_day(time)} {single_spaced(said)}"[:_MESSAGE_CHARS_MAX]
