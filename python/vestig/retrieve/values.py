"""The values of a retrieval: the messages and limits of its request, the queries and facts between
its stages, its result and the lines in which facts and messages are written.

Nothing here reads a store; all of it is immutable.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from vestig.answers import Reason
from vestig.arguments import label, text_argument, time_us
from vestig.calls.filter import Filter
from vestig.calls.queries import RetrieveRequest
from vestig.config.recall_sections import RetrieveSettings
from vestig.errors import Description, ValidationError, kind_of
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.hints import NAME_CHARS_MAX, unknown_name_error
from vestig.ids import new_id
from vestig.language.claim_text import claim_attributes, claim_words
from vestig.language.text_forms import single_spaced
from vestig.messages import ASSISTANTS, NEVER_SPOKEN, joined_text
from vestig.other_words import by_caller, nearest
from vestig.printed import said_by
from vestig.recall.request import as_stored
from vestig.results import SequenceResult
from vestig.retrieve.confidence import ConfidencePart, Label, StopReason
from vestig.times import format_us, from_us, to_us
from vestig.types import Claim, Degradation, Evidence, Memory, _Value

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
    assistant: bool = False
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
        said_by: the role of a statement of an assistant or a tool, and whether it is confirmed; ""
            for others.
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
    said_by: str = ""


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


_ENTRIES_MAX: Final = 10_000
_FIELDS: Final = (
    "author",
    "author_name",
    "role",
    "content",
    "timestamp",
    "author_id",
    "message_id",
    "reference_message_id",
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A call of `retrieve` with the values of its store in the place of what it leaves open.
    `messages`: oldest first; the last one is the focus."""

    messages: tuple[Message, ...]
    where: Filter
    filter: FilterParts
    max_facts: int
    max_messages: int
    max_iterations: int
    budget: int
    request_id: str
    namespace: str
    moments: Moments
    deadline_s: float
    debug: bool
    warnings: tuple[str, ...]

    @property
    def focus(self) -> Message:
        """The message that is to be answered."""
        return self.messages[-1]


def request_of(
    asked: RetrieveRequest,
    settings: RetrieveSettings,
    *,
    now_us: int,
    namespace: str,
    include_expired: bool,
) -> Request:
    """Return what is searched for, before any work is done.

    Args:
        settings: what counts where the call says nothing.
        namespace: that of the store.
        include_expired: whether expired memories count where the filter does not say.

    Raises:
        ValidationError: a wrong message; names the field, what came and what is allowed. Two
            different scopes.
    """
    space = namespace if asked.namespace is None else asked.namespace
    at = moments(
        now_us,
        as_of=asked.as_of,
        known_at=asked.known_at,
        valid_at=asked.valid_at,
        query_time=asked.query_time,
    )
    where = scoped(asked)

    def chosen(name: str) -> int:
        value = getattr(asked, name)
        return int(getattr(settings, name) if value is None else value)

    return Request(
        messages=_messages(asked.messages),
        where=where,
        filter=filter_parts(where, space, at, include_expired=include_expired),
        max_facts=chosen("max_facts"),
        max_messages=chosen("max_messages"),
        max_iterations=chosen("max_iterations"),
        budget=chosen("budget"),
        request_id=new_id("req") if asked.request_id is None else asked.request_id,
        namespace=space,
        moments=at,
        deadline_s=chosen("deadline_ms") / 1e3,
        debug=asked.debug,
        warnings=at.warnings,
    )


def _messages(value: object) -> tuple[Message, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        hint = by_caller("recall(query) takes a question") if isinstance(value, str) else ""
        raise ValidationError("messages", kind_of(value), "a list of messages", hint)
    if not value:
        error = ValidationError("messages", Description("an empty list"), "at least one entry")
        error.args = ("messages must contain at least one entry",)
        raise error
    if len(value) > _ENTRIES_MAX:
        raise ValidationError(
            "messages", Description(f"{len(value)} entries"), f"at most {_ENTRIES_MAX}"
        )
    found = [_message(f"messages[{at}]", item) for at, item in enumerate(value)]
    said = tuple(one for one in found if one is not None)
    if not said:
        raise ValidationError(
            "messages", Description("no text"), "at least one entry that somebody said"
        )
    return said


def _message(field: str, item: object) -> Message | None:
    """One message; None where nobody says anything in it: it is of a tool or of the system, or only
    calls a tool. Names that other programs give a message are left aside, but for misspelt ones of
    ours."""
    if not isinstance(item, Mapping):
        raise ValidationError(field, kind_of(item), "an object with content")
    for name in item:
        near = nearest(str(name)[:NAME_CHARS_MAX], _FIELDS)
        if name not in _FIELDS and near:
            raise unknown_name_error(str(name), _FIELDS, field, near=near, path=field)
    content = joined_text(f"{field}.content", item, item.get("content"))
    role = label(f"{field}.role", item.get("role"))
    author, alias = (label(f"{field}.{name}", item.get(name)) for name in _FIELDS[:2])
    if author is not None and alias is not None and author != alias:
        raise ValidationError(f"{field}.author_name", alias, "the same text as author, or neither")
    if content is None or (author is alias is None and role in NEVER_SPOKEN):
        return None
    stated = time_us(f"{field}.timestamp", item.get("timestamp"))
    return Message(
        content=as_stored(text_argument(f"{field}.content", content)),
        author=author or alias or role or "user",
        assistant=(role or author or alias) in ASSISTANTS,
        timestamp_us=stated,
        author_id=label(f"{field}.author_id", item.get("author_id")),
        message_id=label(f"{field}.message_id", item.get("message_id")),
        reference_message_id=label(
            f"{field}.reference_message_id", item.get("reference_message_id")
        ),
    )


def scoped(asked: RetrieveRequest) -> Filter:
    """The filter of a call, with the scope that older clients name beside it."""
    inside, seen = asked.where.given().get("scope"), "where.scope"
    for name in ("scope", "channel_id"):
        value = getattr(asked, name)
        if value is None:
            continue
        if inside is not None and inside != (value,):
            raise ValidationError(
                name, value, f"the scope that {seen} names, for both mean where.scope"
            )
        inside, seen = (value,), name
    return asked.where if inside is None else msgspec.structs.replace(asked.where, scope=inside)


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


class FactDetail(_Value, frozen=True, kw_only=True):
    """Why a fact is among the results. `query`: the one whose recall ranks it, with the `score` and
    the `reason` that it has there; `similarity`: the largest cosine to a query; `iteration`: the
    first that found it; `novelty_added`: whether it counted as news there."""

    fact_key: FactKey
    memory_id: str
    query: str
    score: float
    similarity: float | None
    reason: Reason
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


def fact_text(fact: Fact, sources: Sequence[str] = ()) -> str:
    """A fact as a line that begins with its day: what its claim says, with confidence and evidence,
    or the content of a plain memory behind who said it.

    Args:
        sources: what has become of its sources, in words.
    """
    statement, day = fact.claim, from_us(fact.t_valid_us)
    if statement is None:
        author = next((one.author for one in fact.evidence if one.author), None)
        speaker = _speaker(author, fact.said_by)
        said = f"{speaker}: {fact.content}" if speaker else fact.content
        return f"{_day(day)} {_limits(sources)}{single_spaced(said)}"
    mark = f"({fact.said_by}) " if fact.said_by else ""
    words = f"{_limits(sources)}{mark}{_stated(statement)}"
    return fact_line(day, words, statement.confidence, fact.evidence)


def _limits(sources: Sequence[str]) -> str:
    return f"({'; '.join(sources)}) " if sources else ""


def _speaker(author: str | None, said_by: str) -> str:
    """Who said it, with the role of a model; "" where nobody is named."""
    return " ".join(part for part in (author, f"({said_by})" if said_by else None) if part)


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


def message_text(memory: Memory, sources: Sequence[str] = ()) -> str:
    """A turn as a line, as in `message_line`, behind what has become of its sources; its time is
    when its statement began to hold."""
    speaker = f"{_limits(sources)}{_speaker(memory.author, said_by(memory))}".rstrip()
    return message_line(memory.t_valid, speaker, memory.content)


def message_line(time: datetime, author: str | None, content: str) -> str:
    """`[YYYY-MM-DD] author: content`, cut to 300 characters.

    Example:
        >>> message_line(datetime(2026, 3, 18, 9), "Ada", "The key is under the mat")
        '[2026-03-18] Ada: The key is under the mat'
    """
    said = f"{author}: {content}" if author else content
    return f"{_day(time)} {single_spaced(said)}"[:_MESSAGE_CHARS_MAX]
