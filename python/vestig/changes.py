"""Changes of the ledger as values: a decision ends in a `ChangeSet`, which one transaction writes.

Times are integers, microseconds since the epoch (UTC), but for those of a `Memory`. Ids are full
text ids.
The store fills in what only the write transaction knows: `seq` and `recorded_at`
(transaction time, which never decreases along the ledger).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from vestig.times import to_us
from vestig.types import Claim, EdgeType, EventType, Evidence, Memory

__all__ = [
    "HOLDS_AGAIN",
    "AccessTouch",
    "AddedEvidence",
    "ChangeSet",
    "EdgePatch",
    "EntityPatch",
    "MemoryPatch",
    "NewAnchor",
    "NewClaim",
    "NewEdge",
    "NewEntity",
    "NewEvent",
    "NewEvidence",
    "NewItem",
    "NewJob",
    "NewQuestion",
    "NewRule",
    "NewSource",
    "NewSupersession",
    "NewTokenCodes",
    "NewVector",
    "RequestRecord",
    "RuleCounts",
    "TurnPosition",
]

# Where a turn stands: session and sequence. No sequence is a position of its own.
TurnPosition = tuple[str, int | None]


class NewVector(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory's embedding: float32 little-endian bytes as the embedder gave them."""

    memory_id: str
    model: str
    embedding: bytes


class NewTokenCodes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Codes of a memory's word pieces, as `ports.Pieces` describes them."""

    memory_id: str
    model: str
    ids: bytes
    codes: bytes


class NewOriginalText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory's text as it was given, where it differs from the normal form that the memory's row
    holds; None = it does not, and one that was stored is removed."""

    memory_id: str
    content: str | None


class MemoryPatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New values of some fields of an existing memory, as a `Memory` has them; the rest stays.

    `expired=True` sets `t_expired` to the transaction time where it is null.
    `reinforce` adds to `reinforce_count` and lifts `last_seen_at` to `seen_us`.
    """

    memory_id: str
    fields: dict[str, Any] = {}
    expired: bool = False
    reinforce: int = 0
    seen_us: int | None = None
    bump_version: bool = False


# In the payload of an event by which a text is stated again: it says that it holds at that time.
HOLDS_AGAIN: Final = "holds_again"


class NewEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event to append."""

    id: str
    memory_id: str
    event_type: EventType
    occurred_us: int
    source: str
    actor: str | None = None
    artifact_ref: str | None = None
    payload: dict[str, Any] = {}


class NewSource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A source. Agentic sources with the same (namespace, agent, session_id) are one:
    the store keeps the first and maps later ids to it."""

    id: str
    namespace: str
    source_type: str
    created_us: int
    path: str | None = None
    agent: str | None = None
    session_id: str | None = None
    metadata: dict[str, Any] = {}


class NewQuestion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A hypothetical question of a memory with its vector, by position from 0."""

    memory_id: str
    position: int
    text: str
    model: str
    embedding: bytes


class NewEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a claim was stated. `source_id`: a source or a memory of the namespace; `snippet` in
    normal form."""

    source_id: str | None = None
    stated_us: int | None = None
    author: str | None = None
    snippet: str = ""


class NewClaim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A statement of a memory about a subject; a memory has one at most. `subject_id` and
    `object_id`: entities of the namespace, or of this change set."""

    memory_id: str
    subject: str
    fact_type: str
    subject_id: str | None = None
    object: str | None = None
    object_id: str | None = None
    object_type: str | None = None
    relationship_type: str | None = None
    attributes: dict[str, Any] = {}
    confidence: float | None = None
    evidence: tuple[NewEvidence, ...] = ()


class AddedEvidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Further evidence of a claim that is stored, behind what it has. `confidence`: of the claim
    from now on; None = it stays."""

    memory_id: str
    evidence: tuple[NewEvidence, ...]
    confidence: float | None = None


class NewEntity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entity row to insert. Where the namespace has an unexpired entity with this
    `norm_key`, that one is used: edges of the change set then end there."""

    id: str
    namespace: str
    entity_type: str
    canonical_name: str
    norm_key: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    type_certain: bool = True
    origin: str = "extracted"
    model: str = ""
    embedding: bytes | None = None


class EntityPatch(msgspec.Struct, frozen=True, kw_only=True):
    """New values of some columns of an entity: description, aliases, type_certain, merged_into
    (an id), model and embedding. `expired=True` sets `expired_us` where it is null."""

    entity_id: str
    columns: dict[str, Any] = {}
    expired: bool = False


class NewEdge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An edge. Storing an unexpired (from, to, type, relation) again changes nothing.
    `t_created_us`: the transaction's time unless given (recomputed edges)."""

    id: str
    from_id: str
    to_id: str
    edge_type: EdgeType
    weight: float = 1.0
    confidence: float | None = None
    evidence: str | None = None
    origin: str = "computed"
    relation: str | None = None
    t_created_us: int | None = None


class EdgePatch(msgspec.Struct, frozen=True, kw_only=True):
    """New values of the unexpired edge between two nodes; where there is none, nothing. Id and
    times stay: it is the same edge. `expired=True` ends it instead."""

    from_id: str
    to_id: str
    edge_type: EdgeType
    weight: float = 1.0
    confidence: float | None = None
    evidence: str | None = None
    expired: bool = False


class NewSupersession(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A supersession record."""

    superseding_id: str
    superseded_id: str
    reason: str


class NewItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value of a key, in the place of the one before it. `value`: JSON; `created_us`: the
    transaction's time unless the key had a value before."""

    namespace: str
    scope: str | None
    key: str
    value: str
    version: int
    created_us: int | None
    expires_us: int | None


class RuleCounts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How often a rule fired, gave way to its exception, and denied; `last_fired_us`: the last time
    that it fired."""

    fired: int = 0
    gave_way: int = 0
    denied: int = 0
    last_fired_us: int | None = None


class NewRule(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The rule of a memory, in the place of the one that it had. `condition` and `exception` as
    they were written; `counts`: those with which it begins."""

    memory_id: str
    condition: str
    decision: str
    exception: str | None = None
    counts: RuleCounts | None = None


class NewAnchor(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An anchor of a memory, in the place of the one of the same target and lines. `target`: path,
    address or id; `digest`: of the lines or of the caller's hash, None for a memory; `ends`,
    `place`, `equal`: as `repository.files.Span` has them; `size`, `mtime_ns`: of the file, None
    where they prove nothing; `committed`: of a file that the branch changed, whether it stands so
    in the commit; `position`: of the anchor that it replaces, whatever its lines."""

    memory_id: str
    taken_us: int
    kind: str
    target: str
    project: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    digest: bytes | None = None
    ends: int = 0
    place: int = 1
    equal: int = 1
    size: int | None = None
    mtime_ns: int | None = None
    commit: str | None = None
    committed: bool | None = None
    position: int | None = None


class NewJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An enrichment job, pending from the start; none where one of its kind waits for the memory
    already. `kind`: `embed`, `entities`, `hypothetical`, `stability`, `updates`,
    `claims` or `summary`."""

    id: str
    memory_id: str
    kind: str


class AccessTouch(msgspec.Struct, frozen=True, kw_only=True):
    """One access of each memory and entity, and what is added to the counts of rules, by the ids
    of their memories: bookkeeping, takes no `seq`."""

    memory_ids: tuple[str, ...] = ()
    entity_ids: tuple[str, ...] = ()
    rules: tuple[tuple[str, RuleCounts], ...] = ()
    accessed_us: int


class ChangeSet(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one transaction writes, in this order."""

    namespace: str
    sources: tuple[NewSource, ...] = ()
    # their contents are normal forms; `seq` and `t_created` are those of the transaction
    memories: tuple[Memory, ...] = ()
    vectors: tuple[NewVector, ...] = ()
    patches: tuple[MemoryPatch, ...] = ()
    events: tuple[NewEvent, ...] = ()
    edges: tuple[NewEdge, ...] = ()
    supersessions: tuple[NewSupersession, ...] = ()
    jobs: tuple[NewJob, ...] = ()
    entities: tuple[NewEntity, ...] = ()
    entity_patches: tuple[EntityPatch, ...] = ()
    questions: tuple[NewQuestion, ...] = ()
    # ids of edges that end with this transaction
    expired_edges: tuple[str, ...] = ()
    edge_patches: tuple[EdgePatch, ...] = ()
    # memories whose questions were generated, perhaps none: [] instead of null
    questions_tried: tuple[str, ...] = ()
    token_codes: tuple[NewTokenCodes, ...] = ()
    original_texts: tuple[NewOriginalText, ...] = ()
    claims: tuple[NewClaim, ...] = ()
    items: tuple[NewItem, ...] = ()
    added_evidence: tuple[AddedEvidence, ...] = ()
    rules: tuple[NewRule, ...] = ()
    anchors: tuple[NewAnchor, ...] = ()


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


def evidence_rows(evidence: Iterable[Evidence]) -> tuple[NewEvidence, ...]:
    """The rows of evidence."""
    return tuple(
        NewEvidence(
            source_id=one.source_id,
            stated_us=None if one.timestamp is None else to_us(one.timestamp),
            author=one.author,
            snippet=one.snippet,
        )
        for one in evidence
    )


def new_claim(memory_id: str, claim: Claim) -> NewClaim:
    """The row of a claim."""
    fields = {name: getattr(claim, name) for name in claim.__struct_fields__ if name != "evidence"}
    evidence = evidence_rows(claim.evidence)
    return NewClaim(memory_id=memory_id, evidence=evidence, **fields)
