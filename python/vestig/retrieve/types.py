"""The values that pass between the modules of this room: messages, queries, facts, evidence.

Nothing here reads a store; all of it is immutable.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from vestig.times import format_us, to_us
from vestig.types import Memory, _Value

__all__ = [
    "EVIDENCE_KEPT",
    "MEMORY_FACT",
    "Evidence",
    "Fact",
    "FactKey",
    "FusedHit",
    "Message",
    "PlannedQuery",
    "QueryScore",
    "QuerySource",
    "Statement",
    "evidence_key",
    "folded_text",
    "memory_key",
]

# (id or normalised name of the subject, type, normalised object, type of the relationship); null
# stays None. Two memories with one key state one fact.
FactKey = tuple[str, str, str | None, str | None]

# The type of a fact whose memory carries no claim.
MEMORY_FACT: Final = "MEMORY"
# Pieces of evidence that are kept of a fact.
EVIDENCE_KEPT: Final = 5

# Where a query comes from: the focus itself, one of the sources of the fallback generator, a model.
QuerySource = Literal[
    "focus", "entity", "phrase", "keyword", "synonym", "question", "goal", "model"
]


def folded_text(text: str) -> str:
    """Lower case with single spaces, as keys of facts and duplicates compare texts.

    Example:
        >>> folded_text("  Ada   LOVELACE ")
        'ada lovelace'
    """
    return " ".join(text.lower().split())


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the conversation that the caller gave, checked. Times in microseconds."""

    content: str
    author: str = "user"
    timestamp_us: int | None = None
    author_id: str | None = None
    message_id: str | None = None
    reference_message_id: str | None = None


class PlannedQuery(_Value, frozen=True, kw_only=True):
    """A query that an iteration runs, and what it was made of."""

    text: str
    source: QuerySource


class Evidence(_Value, frozen=True, kw_only=True):
    """One sighting of a fact. `snippet`: what was said, at most 500 characters."""

    source_id: str | None
    timestamp: datetime | None
    author: str | None
    snippet: str

    @property
    def key(self) -> str:
        """What tells it from other evidence."""
        return evidence_key(self.source_id, self.timestamp, self.snippet)


def evidence_key(source_id: str | None, timestamp: datetime | None, snippet: str) -> str:
    """The source, else a hash of time and snippet in their normal form: NFC and single spaces, the
    case is kept.

    Example:
        >>> evidence_key("source_1", None, "a"), evidence_key(None, None, "a  b")[:8]
        ('source_1', '23ed0176')
    """
    if source_id is not None:
        return source_id
    when = "" if timestamp is None else format_us(to_us(timestamp))
    normal = " ".join(unicodedata.normalize("NFC", snippet).split())
    return hashlib.sha256(f"{when}\n{normal}".encode()).hexdigest()


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim says; `confidence` from 0 to 1, None where it has none."""

    subject: str
    subject_id: str | None
    fact_type: str
    object: str | None
    relationship_type: str | None
    attributes: Mapping[str, Any]
    confidence: float | None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A memory seen as a fact.

    Args:
        key: what makes two memories one fact.
        memory: the memory that states it.
        statement: what its claim says; None for a plain memory.
        evidence: the best of it, at most `EVIDENCE_KEPT`.
        evidence_count: distinct pieces of evidence, those not kept too.
        keywords: of the memory, lower case.
        entities: names of the entities that it mentions.
        similarity: plain cosine to the query that it fits best; None where none was compared.
    """

    key: FactKey
    memory: Memory
    statement: Statement | None
    evidence: tuple[Evidence, ...]
    evidence_count: int
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    similarity: float | None


def memory_key(memory: Memory) -> FactKey:
    """The key of a plain memory: its text."""
    return ("", MEMORY_FACT, memory.content_hash, None)


class QueryScore(_Value, frozen=True, kw_only=True):
    """What one voter said of a memory for one query; `rank` from 1, `score` on the voter's own
    scale."""

    query: str
    voter: Literal["vector", "keyword"]
    rank: int
    score: float


class FusedHit(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a fused search: the largest cosine and lexical score over the queries, and what
    the fusion made of all votes. The three are on different scales."""

    memory_id: bytes
    similarity: float | None
    keyword_score: float | None
    fusion_score: float
    query_scores: tuple[QueryScore, ...]
    appeared_in_query_count: int
