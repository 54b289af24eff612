"""The values that pass between the modules of this room: messages, queries, facts, evidence.

Nothing here reads a store; all of it is immutable.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Final, Literal

import msgspec

from vestig.times import format_us, to_us
from vestig.types import Claim, Evidence, _Value

__all__ = [
    "EVIDENCE_KEPT",
    "MEMORY_FACT",
    "Fact",
    "FactKey",
    "Message",
    "PlannedQuery",
    "QuerySource",
    "claim_key",
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


def evidence_key(evidence: Evidence) -> str:
    """Return what tells it from other evidence: its source, else a hash of time and snippet in
    their normal form, NFC and single spaces, the case kept.

    Example:
        >>> said = Evidence(source_id=None, timestamp=None, author=None, snippet="a  b")
        >>> evidence_key(said)[:8]
        '23ed0176'
    """
    if evidence.source_id is not None:
        return evidence.source_id
    when = "" if evidence.timestamp is None else format_us(to_us(evidence.timestamp))
    normal = " ".join(unicodedata.normalize("NFC", evidence.snippet).split())
    return hashlib.sha256(f"{when}\n{normal}".encode()).hexdigest()


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A memory seen as a fact.

    Args:
        key: what makes two memories one fact.
        id: of the memory that states it.
        content: its text.
        t_valid_us: since when it holds.
        claim: what it states of a subject; None for a plain memory.
        evidence: the best of it, at most `EVIDENCE_KEPT`.
        evidence_count: distinct pieces of evidence, those not kept too.
        keywords: of the memory, lower case.
        entities: names of the entities that it mentions.
        similarity: plain cosine to the query that it fits best; None where none was compared.
    """

    key: FactKey
    id: str
    content: str
    t_valid_us: int
    claim: Claim | None
    evidence: tuple[Evidence, ...]
    evidence_count: int
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    similarity: float | None


def memory_key(digest: bytes) -> FactKey:
    """The key of a plain memory: its text.

    Args:
        digest: SHA-256 of its text.
    """
    return ("", MEMORY_FACT, digest.hex(), None)


def claim_key(claim: Claim) -> FactKey:
    """The key of a memory with a claim: subject, type, object and relationship.

    Example:
        >>> claim = Claim(
        ...     subject="Ada  Lovelace", subject_id=None, fact_type="LIVES_IN", object="Oslo",
        ...     object_id=None, object_type=None, relationship_type=None, attributes={},
        ...     confidence=None, evidence=(),
        ... )
        >>> claim_key(claim)
        ('ada lovelace', 'LIVES_IN', 'oslo', None)
    """
    subject = folded_text(claim.subject) if claim.subject_id is None else claim.subject_id
    object = None if claim.object is None else folded_text(claim.object)
    return (subject, claim.fact_type, object, claim.relationship_type)
