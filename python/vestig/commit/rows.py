"""The rows that a decided commit writes. Pure.

A text that is known adds to its memory: `repeat_wishes` says what of the further arguments is done,
and names what would replace something that the memory holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from vestig.calls.argument import without_twins
from vestig.calls.commit import CommitRequest
from vestig.changes import (
    HOLDS_AGAIN,
    ChangeSet,
    EdgePatch,
    MemoryPatch,
    NewAnchor,
    NewClaim,
    NewEdge,
    NewEntity,
    NewEvent,
    NewJob,
    NewOriginalText,
    NewQuestion,
    NewSource,
    NewSupersession,
    NewTokenCodes,
    NewVector,
    new_claim,
)
from vestig.commit.item import Item
from vestig.ids import NewIds, new_id
from vestig.language.names import norm_name
from vestig.language.text_forms import evidence_text
from vestig.ports import Pieces
from vestig.times import format_us, from_us, to_us
from vestig.types import (
    MODEL_ROLES,
    Claim,
    EdgeType,
    EventType,
    Kind,
    Memory,
    RetentionPolicy,
    Role,
    Stability,
    Status,
    TemporalWindow,
    is_undated,
)


class EntityMention(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory's mention of an entity; `new`: the entity's row, when it is stored with it."""

    entity_id: str
    confidence: float
    evidence: str
    new: NewEntity | None = None


class Rows(msgspec.Struct, kw_only=True):
    """Rows of one transaction at `now_us` (microseconds), gathered in order; `model` made its
    vectors."""

    now_us: int
    model: str
    sources: list[NewSource] = msgspec.field(default_factory=list)
    memories: list[Memory] = msgspec.field(default_factory=list)
    vectors: list[NewVector] = msgspec.field(default_factory=list)
    token_codes: list[NewTokenCodes] = msgspec.field(default_factory=list)
    original_texts: list[NewOriginalText] = msgspec.field(default_factory=list)
    patches: list[MemoryPatch] = msgspec.field(default_factory=list)
    events: list[NewEvent] = msgspec.field(default_factory=list)
    edges: list[NewEdge] = msgspec.field(default_factory=list)
    edge_patches: list[EdgePatch] = msgspec.field(default_factory=list)
    supersessions: list[NewSupersession] = msgspec.field(default_factory=list)
    jobs: list[NewJob] = msgspec.field(default_factory=list)
    entities: list[NewEntity] = msgspec.field(default_factory=list)
    questions: list[NewQuestion] = msgspec.field(default_factory=list)
    questions_tried: list[str] = msgspec.field(default_factory=list)
    claims: list[NewClaim] = msgspec.field(default_factory=list)
    anchors: list[NewAnchor] = msgspec.field(default_factory=list)
    # (agent, session_id) → the agentic source of this transaction
    agents: dict[tuple[str, str | None, str | None], str] = msgspec.field(default_factory=dict)
    ids: NewIds = msgspec.field(default_factory=NewIds)

    def change_set(self, namespace: str) -> ChangeSet:
        """All of it as the value that the store writes."""
        written = {name: tuple(getattr(self, name)) for name in _WRITTEN}
        return ChangeSet(namespace=namespace, **written)


_WRITTEN: Final = tuple(
    name for name in Rows.__struct_fields__ if name in ChangeSet.__struct_fields__
)


def token_codes(memory_id: str, model: str, pieces: Pieces) -> NewTokenCodes:
    """The codes of a memory's word pieces as the store writes them."""
    return NewTokenCodes(memory_id=memory_id, model=model, **pieces._asdict())


def related_edge(
    from_id: str, to_id: str, score: float, origin: str = "computed", id: str | None = None
) -> NewEdge:
    """A RELATED edge, new → old, weight = confidence = cosine. `id` None = a new one."""
    return NewEdge(
        id=new_id("edge") if id is None else id,
        from_id=from_id,
        to_id=to_id,
        edge_type=EdgeType.RELATED,
        weight=max(0.0, score),
        confidence=min(1.0, max(0.0, score)),
        evidence=f"semantic_similarity={score:.3f}",
        origin=origin,
    )


def _add_source(rows: Rows, item: Item, memory_id: str) -> None:
    """The agentic source, shared by (agent, session_id), and its PRODUCED edge. The source of a
    passage is written with the version of its document."""
    if item.document is not None:
        return
    request = item.request
    key = (request.namespace, request.agent, request.session_id)
    source_id = rows.agents.get(key)
    if source_id is None:
        source_id = rows.agents[key] = rows.ids.take("source")
        rows.sources.append(
            NewSource(
                id=source_id,
                namespace=request.namespace,
                source_type="agentic",
                created_us=rows.now_us,
                agent=request.agent,
                session_id=request.session_id,
            )
        )
    rows.edges.append(
        NewEdge(
            id=rows.ids.take("edge"),
            from_id=source_id,
            to_id=memory_id,
            edge_type=EdgeType.PRODUCED,
        )
    )


def _event(
    rows: Rows, item: Item, memory_id: str, kind: EventType, payload: Mapping[str, Any]
) -> NewEvent:
    request = item.request
    return NewEvent(
        id=rows.ids.take("evt"),
        memory_id=memory_id,
        event_type=kind,
        occurred_us=item.reference_us,
        source=request.source,
        actor=request.actor,
        artifact_ref=request.artifact_ref,
        payload={
            "content_hash": item.content_hash,
            "tags": list(request.tags or ()),
            "artifact_ref": request.artifact_ref,
            **payload,
        },
    )


def _first_event(rows: Rows, item: Item, memory_id: str, payload: dict[str, Any]) -> NewEvent:
    """The event with which a memory begins; that of a passage names the version of its document."""
    if item.document is not None:
        kind, payload = EventType.IMPORT, {**payload, "source_id": item.document}
    else:
        kind = EventType.IMPORT if item.request.source == "import" else EventType.ADD
    return _event(rows, item, memory_id, kind, payload)


def add_memory(
    rows: Rows,
    item: Item,
    *,
    related: Sequence[tuple[str, float]] = (),
    similar: Sequence[tuple[str, float]] = (),
    revives: str | None = None,
    repeats: str | None = None,
    claim: Claim | None = None,
) -> Memory:
    """The rows of a new memory. `related`: (id, cosine) of the memories it is linked with;
    `revives`: the expired memory that had the same text; `repeats`: the memory of another position
    that says the same; `claim`: with full ids; `similar`: (id, cosine) of what was known of the
    same, nearest first."""
    request = item.request
    jobs = item.job_kinds(has_similar=bool(similar))
    memory = _memory(rows, item, revives, has_jobs=bool(jobs))
    rows.memories.append(memory)
    _add_forms(rows, memory.id, item)
    rows.jobs += [NewJob(id=rows.ids.take("job"), memory_id=memory.id, kind=kind) for kind in jobs]
    payload: dict[str, Any] = {
        "revives": revives,
        "repeats": repeats,
        "similar": similar_payload(similar),
        "structured": request.structured is not None,
        "key": item.key,
    }
    if item.beside is not None:
        payload["beside"] = item.beside
    rows.events.append(_first_event(rows, item, memory.id, payload))
    _add_questions(rows, memory.id, item)
    rows.claims += [] if claim is None else [new_claim(memory.id, claim)]
    _add_anchors(rows, item, memory.id)
    _add_source(rows, item, memory.id)
    _add_related(rows, memory.id, related)
    return memory


# Lists of rows that belong to a memory.
_OF_MEMORY: Final = (
    "vectors", "token_codes", "original_texts", "questions", "questions_tried", "claims", "anchors",
    "edges", "jobs",
)  # fmt: skip


def add_continuation(
    rows: Rows,
    item: Item,
    memory: Memory,
    told: Mapping[str, Any],
    belonging: ChangeSet,
    said_by: tuple[str, str | None],
) -> Memory:
    """The rows of a memory by which the text of another one holds again; returns it as it is.

    Args:
        item: the text for which that was so.
        told: since when the text was stated to hold, and until when, as its first event has it.
        belonging: what belongs to the memory.
        said_by: source and actor of the text that holds again.
    """
    state = "pending" if belonging.jobs else "ready"
    memory = msgspec.structs.replace(memory, processing=state)
    rows.memories.append(memory)
    for name in _OF_MEMORY:
        getattr(rows, name).extend(getattr(belonging, name))
    payload = {
        "tags": list(memory.tags),
        "artifact_ref": None,
        "content_hash": memory.content_hash,
        "revives": memory.revives,
        "repeats": None,
        "similar": [],
        "structured": memory.structured is not None,
        "key": memory.key,
        **told,
    }
    event = _event(rows, item, memory.id, EventType.ADD, payload)
    source, actor = said_by
    event = msgspec.structs.replace(event, occurred_us=rows.now_us, source=source, actor=actor)
    rows.events.append(msgspec.structs.replace(event, artifact_ref=None))
    if memory.status is Status.ARCHIVED:
        archived = _event(rows, item, memory.id, EventType.ARCHIVE, {"reason": "key"})
        rows.events.append(msgspec.structs.replace(archived, occurred_us=rows.now_us))
    return memory


_PUT_ASIDE: Final = {
    Status.SUPERSEDED: EventType.SUPERSEDE,
    Status.DEPRECATED: EventType.DEPRECATE,
    Status.ARCHIVED: EventType.ARCHIVE,
}


def add_state(rows: Rows, item: Item, memory: Memory) -> None:
    """The event of a memory that is stored with the state which it had in another store; what
    superseded it may not be known here."""
    if memory.status is Status.ACTIVE:
        return
    payload: dict[str, Any] = {"reason": "import"}
    if item.is_history:
        end = None if memory.t_invalid is None else format_us(to_us(memory.t_invalid))
        payload |= {"t_invalid": end, "previous_t_invalid": end}
    if memory.status is Status.SUPERSEDED:
        payload["superseded_by"] = None
    made = _event(rows, item, memory.id, _PUT_ASIDE[memory.status], payload)
    rows.events.append(msgspec.structs.replace(made, occurred_us=rows.now_us))


def _add_anchors(rows: Rows, item: Item, memory_id: str) -> None:
    rows.anchors += [msgspec.structs.replace(one, memory_id=memory_id) for one in item.anchors]


def _memory(rows: Rows, item: Item, revives: str | None, *, has_jobs: bool) -> Memory:
    """A new memory, whose content is the normal form of its text."""
    request = item.request
    return Memory(
        id=rows.ids.take("mem"),
        namespace=request.namespace,
        scope=request.scope,
        # of the transaction
        seq=0,
        kind=Kind.MEMORY,
        content=item.text,
        content_hash=item.content_hash,
        author=request.author,
        role=request.role,
        confirmed=not item.is_of_model,
        session_id=request.session_id,
        sequence=request.sequence,
        title=request.title,
        origin_type=request.origin,
        origin_derived=request.origin_type is None,
        embedding_model=None,
        keywords=item.keywords,
        times=item.windows,
        trigger=request.trigger,
        t_valid=from_us(item.begins_us),
        t_invalid=_moment(request.t_invalid),
        t_created=from_us(rows.now_us),
        t_expired=from_us(rows.now_us) if item.is_history else None,
        temporal_stability=item.stability,
        last_seen_at=None,
        reinforce_count=0,
        status=Status.ACTIVE if item.status is None else item.status,
        processing="pending" if has_jobs else "ready",
        pinned=request.pinned,
        pinned_at=from_us(rows.now_us) if request.pinned else None,
        pinned_reason=None,
        retention_policy=item.policy,
        retention_until=_moment(request.retention_until),
        access_count=0,
        last_accessed_at=None,
        superseded_by=None,
        revives=revives,
        version=1,
        metadata=_metadata(request),
        key=item.key,
    )


def _moment(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)


def _metadata(request: CommitRequest) -> dict[str, Any]:
    """The metadata of a new memory: what the store keeps there, then the caller's own."""
    kept: dict[str, Any] = {"source": request.source}
    if request.tags is not None:
        kept["tags"] = list(request.tags)
    if request.structured is not None:
        kept["structured"] = request.structured.to_dict()
    return kept | (request.metadata or {})


def _add_related(rows: Rows, memory_id: str, related: Sequence[tuple[str, float]]) -> None:
    take = rows.ids.take
    rows.edges += [related_edge(memory_id, id, score, id=take("edge")) for id, score in related]


def _add_forms(rows: Rows, memory_id: str, item: Item) -> None:
    """The text as it was given, where it differs from its normal form, and the vectors of that."""
    if item.given != item.text:
        rows.original_texts.append(NewOriginalText(memory_id=memory_id, content=item.given))
    if item.vector is not None:
        rows.vectors.append(NewVector(memory_id=memory_id, model=rows.model, embedding=item.vector))
    if item.pieces is not None:
        rows.token_codes.append(token_codes(memory_id, rows.model, item.pieces))


def _add_questions(rows: Rows, memory_id: str, item: Item) -> None:
    """Hypothetical questions with their vectors; that none was usable is recorded, and differs
    from not tried. A question without a vector is not stored."""
    questions = item.embedded_questions
    if questions is None:
        return
    made = [
        NewQuestion(
            memory_id=memory_id, position=position, text=text, model=rows.model, embedding=vector
        )
        for position, (text, vector) in enumerate(questions)
    ]
    rows.questions.extend(made)
    if not made:
        rows.questions_tried.append(memory_id)


def similar_payload(similar: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Similar memories as an event holds them, without a word of their texts: they may be
    forgotten."""
    return [{"memory_id": id, "score": score} for id, score in similar]


def add_nearest(rows: Rows, memory_id: str, nearest: tuple[str, float]) -> None:
    """The RELATED edge to the best near duplicate (id, cosine) that makes another statement, even
    when RELATED edges are off or at their limit."""
    id, score = nearest
    linked = any(edge.from_id == memory_id and edge.to_id == id for edge in rows.edges)
    if not linked:
        rows.edges.append(related_edge(memory_id, id, score, "guard"))


def add_mentions(
    rows: Rows,
    memory_id: str,
    mentions: Sequence[EntityMention],
    *,
    with_edges: bool,
    evidence_chars_max: int,
) -> None:
    """Entities that the memory names, new ones stored with it, and its MENTIONS edges."""
    rows.entities += [mention.new for mention in mentions if mention.new is not None]
    if with_edges:
        rows.edges += [
            mention_edge(memory_id, one, evidence_chars_max, rows.ids.take("edge"))
            for one in mentions
        ]


def mention_edge(
    memory_id: str, mention: EntityMention, evidence_chars_max: int, id: str | None = None
) -> NewEdge:
    """The MENTIONS edge of one mention. `id` None = a new one."""
    return NewEdge(
        id=new_id("edge") if id is None else id,
        from_id=memory_id,
        to_id=mention.entity_id,
        edge_type=EdgeType.MENTIONS,
        confidence=mention.confidence,
        evidence=evidence_text(mention.evidence, evidence_chars_max),
    )


def united_windows(
    known: Sequence[TemporalWindow], new: Sequence[TemporalWindow]
) -> tuple[TemporalWindow, ...] | None:
    """Windows of this occurrence joined to those known; None when nothing is added."""
    have = {(window.start, window.end) for window in known}
    fresh = [window for window in new if (window.start, window.end) not in have]
    return (*known, *fresh) if fresh else None


def stated_us(item: Item, known: Memory) -> int:
    """The time of which an item states what is known: the one that it names, no earlier than the
    known memory begins, else when it was said."""
    named = item.request.t_valid
    return item.reference_us if named is None else max(named, to_us(known.t_valid))


def _says_again(item: Item, known: Memory) -> bool:
    """Return whether an item says at a later time than before that what is known holds. What a
    model repeats of others does not, nor what is repeated of a user without a role, a passage that
    stays, or what a file has without telling when it was said: it may be an older copy."""
    request = item.request
    if request.role is None and known.role == Role.USER:
        return False
    told = request.t_valid is not None or request.t_ref is not None
    timed = not is_undated(request.metadata or {}) if told else request.artifact_ref is None
    later = stated_us(item, known) > to_us(known.t_valid)
    return timed and later and item.document is None and item.may_follow(known)


def add_reinforcement(
    rows: Rows, item: Item, known: Memory, wishes: RepeatWishes, *, near_score: float | None
) -> tuple[NewEvent, dict[str, Any]]:
    """EXACT_DUPE, or NEAR_DUPE with its score: event, counters, tags, provenance, and what else
    the caller asked that is done.

    Returns the event and the fields that change, for later items of the same batch.
    """
    request, fields = item.request, dict(wishes.fields)
    payload: dict[str, Any] = {"matched_memory_id": known.id}
    added = list(without_twins(request.tags or (), known.tags))
    if added:
        metadata = fields.get("metadata", known.metadata)
        fields["metadata"] = metadata | {"tags": [*known.tags, *added]}
    other = {k: v for k, v in (request.metadata or {}).items() if k not in known.metadata
             or known.metadata[k] != v}  # fmt: skip
    payload |= {"added_tags": added, "metadata": other}
    windows = united_windows(known.times, item.windows)
    if windows is not None:
        fields["times"] = windows
    if item.windows:
        payload["times"] = [
            {
                "text": window.text,
                "start": None if window.start is None else format_us(to_us(window.start)),
                "end": None if window.end is None else format_us(to_us(window.end)),
            }
            for window in item.windows
        ]
    if near_score is not None:
        payload |= {"query_score": near_score, "variant": item.given}
    elif item.given != known.content:
        payload["variant"] = item.given
    if item.position is None and _says_again(item, known):
        payload[HOLDS_AGAIN] = True
    kind = EventType.REINFORCE_EXACT if near_score is None else EventType.REINFORCE_NEAR
    event = _event(rows, item, known.id, kind, payload)
    seen_us = stated_us(item, known)
    event = msgspec.structs.replace(event, occurred_us=seen_us)
    updated = _update_events(rows, item, known, wishes)
    # an end that the caller gives is later than this statement, another end is not
    rows.events += [event, *updated] if "t_invalid" in fields else [*updated, event]
    if fields.get("pinned"):
        fields["pinned_at"] = from_us(rows.now_us)
        rows.events.append(_event(rows, item, known.id, EventType.PIN, {"reason": None}))
    if fields.get("confirmed"):
        rows.events.append(_event(rows, item, known.id, EventType.CONFIRM, {"said_in": None}))
    if known.status is Status.ARCHIVED and not wishes.stays_archived:
        fields["status"] = Status.ACTIVE
        why = {"reason": "said again"}
        rows.events.append(_event(rows, item, known.id, EventType.UNARCHIVE, why))
    rows.patches.append(
        MemoryPatch(
            memory_id=known.id,
            fields=fields,
            reinforce=1,
            seen_us=seen_us,
            bump_version=bool(updated),
        )
    )
    _add_anchors(rows, item, known.id)
    _add_source(rows, item, known.id)
    if "trigger" in fields and "hypothetical" in item.model_jobs:
        rows.jobs.append(NewJob(id=rows.ids.take("job"), memory_id=known.id, kind="hypothetical"))
    return event, fields


def _update_events(
    rows: Rows, item: Item, known: Memory, wishes: RepeatWishes
) -> tuple[NewEvent, ...]:
    if not wishes.new:
        return ()
    payload: dict[str, Any] = {"old": wishes.old, "new": wishes.new}
    if "t_invalid" in wishes.new:
        payload |= {"t_invalid": wishes.new["t_invalid"], "previous_t_invalid": None}
    return (_event(rows, item, known.id, EventType.UPDATE, payload),)


def add_repetition(rows: Rows, item: Item, known: Memory, repeated_by: str, *, near: bool) -> None:
    """A turn that says what `known` says at another position: its event and its counters. Nothing
    else of `known` changes, and nothing of the turn but its id stands in the event."""
    request = item.request
    rows.events.append(
        NewEvent(
            id=rows.ids.take("evt"),
            memory_id=known.id,
            event_type=EventType.REINFORCE_NEAR if near else EventType.REINFORCE_EXACT,
            occurred_us=stated_us(item, known),
            source=request.source,
            actor=request.actor,
            payload={
                "content_hash": known.content_hash,
                "tags": [],
                "artifact_ref": None,
                "repeated_by": repeated_by,
                **({HOLDS_AGAIN: True} if _says_again(item, known) else {}),
            },
        )
    )
    rows.patches.append(
        MemoryPatch(memory_id=known.id, reinforce=1, seen_us=stated_us(item, known))
    )


def add_confirmation(rows: Rows, item: Item, id: str, said_in: str | None) -> None:
    """A statement of a model that a user makes too: its event and its mark. `said_in`: the memory
    of the user's statement."""
    rows.patches.append(MemoryPatch(memory_id=id, fields={"confirmed": True}))
    rows.events.append(
        NewEvent(
            id=rows.ids.take("evt"),
            memory_id=id,
            event_type=EventType.CONFIRM,
            occurred_us=item.reference_us,
            source=item.request.source,
            actor=item.request.author,
            payload={"said_in": said_in},
        )
    )


def reinforced(known: Memory, fields: Mapping[str, Any], item: Item) -> Memory:
    """The memory as later items of the batch see it."""
    seen = from_us(stated_us(item, known))
    return msgspec.structs.replace(
        known,
        reinforce_count=known.reinforce_count + 1,
        last_seen_at=seen if known.last_seen_at is None else max(seen, known.last_seen_at),
        **fields,
    )


# --- repetitions ------------------------------------------------------------------------------

# From the first forgotten to the last.
_LASTING: Final = (
    RetentionPolicy.SESSION,
    RetentionPolicy.EPHEMERAL,
    RetentionPolicy.STANDARD,
    RetentionPolicy.DECISION,
    RetentionPolicy.PERMANENT,
)


OF_A_RULE: Final = "for the text is a rule, which a repeat does not end: removing the rule does"
_WITHOUT_END: Final = (
    "retention_until stays absent, for what is kept without end is kept longest; an update sets it"
)
_STAYS_ARCHIVED: Final = (
    "it stays archived, for the text is a rule, which no repeat by a model begins: unarchive does"
)
_BINDS_AGAIN: Final = "it is archived no longer, and a rule again: removing the rule ends it"


class RepeatWishes(msgspec.Struct, kw_only=True):
    """`fields`: new values of the memory. `old`, `new`: of the fields among them, as an
    UPDATE event has them. `kept`: fields of the memory that are not what the caller asked, with
    the reason. `stays_archived`: an archived memory does not become active."""

    fields: dict[str, Any] = msgspec.field(default_factory=dict)
    old: dict[str, Any] = msgspec.field(default_factory=dict)
    new: dict[str, Any] = msgspec.field(default_factory=dict)
    kept: list[str] = msgspec.field(default_factory=list)
    stays_archived: bool = False

    def change(self, name: str, old: Any, new: Any) -> None:
        """A field gets a value."""
        self.fields[name], self.old[name], self.new[name] = new, old, new

    def change_time(self, name: str, new_us: int) -> None:
        """A time that was absent, or a later one, gets a value."""
        self.fields[name] = from_us(new_us)
        self.old[name], self.new[name] = None, format_us(new_us)

    def keep(self, name: str, value: object) -> None:
        """A field stays as it is."""
        self.kept.append(f"{name} stays {'absent' if value is None else value}")


def repeat_wishes(
    known: Memory, request: CommitRequest, mentioned: Collection[str], *, is_rule: bool = False
) -> RepeatWishes:
    """Return what becomes of the arguments of a commit whose text `known` holds.

    What adds is done: a pin, a later end of its retention, an end or a title or a trigger where
    there is none, a stability where it is unknown, more keywords, names that `metadata` lacks. An
    archived memory becomes active, but for a rule that a model repeats. Anything else that was
    asked and differs is in `kept`. Tags and `supersedes` act elsewhere.

    Args:
        known: the memory that holds the text.
        request: the arguments of the repeat.
        mentioned: names of the entities that the memory mentions.
        is_rule: it is the text of a rule, which only a call that names it ends.
    """
    wishes = RepeatWishes()
    if is_rule and known.status is Status.ARCHIVED:
        wishes.stays_archived = request.role in MODEL_ROLES
        wishes.kept.append(_STAYS_ARCHIVED if wishes.stays_archived else _BINDS_AGAIN)
        if wishes.stays_archived and request.supersedes:
            wishes.kept.append("nothing is superseded by what stays archived")
    if request.pinned and not known.pinned:
        wishes.fields["pinned"] = True
    _retention(wishes, known, request, is_rule=is_rule)
    _times(wishes, known, request, is_rule=is_rule)
    _words(wishes, known, request)
    keywords = [word for word in request.keywords if word not in known.keywords]
    if keywords:
        wishes.change("keywords", known.keywords, (*known.keywords, *keywords))
    _added_metadata(wishes, known, request)
    names = {norm_name(name) for name in mentioned}
    missing = [one.name for one in request.entities if norm_name(one.name) not in names]
    if missing:
        wishes.kept.append(f"entities are not added ({', '.join(missing)})")
    if request.hypothetical_queries:
        wishes.kept.append("hypothetical_queries are not added")
    return wishes


def _retention(
    wishes: RepeatWishes, known: Memory, request: CommitRequest, *, is_rule: bool
) -> None:
    policy, held = request.retention_policy, known.retention_policy
    if policy is not None and policy is not held:
        if _LASTING.index(policy) > _LASTING.index(held):
            wishes.change("retention_policy", held, policy)
        else:
            wishes.keep("retention_policy", held.value)
    until = request.retention_until
    if until is None:
        return
    before = None if known.retention_until is None else to_us(known.retention_until)
    if before is None and is_rule:
        wishes.kept.append(f"retention_until stays absent, {OF_A_RULE}")
    elif before is None:
        wishes.kept.append(_WITHOUT_END)
    elif until > before:
        wishes.change_time("retention_until", until)
        wishes.old["retention_until"] = format_us(before)
    elif until < before:
        wishes.keep("retention_until", format_us(before))


def retention_warnings(request: CommitRequest, now_us: int) -> list[str]:
    """Return what is said of a new memory whose retention is over when it is stored."""
    until = request.retention_until
    if until is None or until > now_us:
        return []
    return [f"its retention ended at {format_us(until)}: prune removes what is past it"]


def _times(wishes: RepeatWishes, known: Memory, request: CommitRequest, *, is_rule: bool) -> None:
    begins, ends = to_us(known.t_valid), known.t_invalid
    if request.t_valid not in (None, begins):
        wishes.keep("t_valid", format_us(begins))
    asked = request.t_invalid
    if asked is None:
        return
    if ends is not None:
        if to_us(ends) != asked:
            wishes.keep("t_invalid", format_us(to_us(ends)))
    elif is_rule:
        wishes.kept.append(f"t_invalid stays open, {OF_A_RULE}")
    elif asked > begins:
        wishes.change_time("t_invalid", asked)
    else:
        wishes.kept.append(f"t_invalid stays open, for t_valid is {format_us(begins)}")


def _words(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    stability = request.temporal_stability
    if stability is not None and stability is not known.temporal_stability:
        if known.temporal_stability is Stability.UNKNOWN:
            wishes.change("temporal_stability", known.temporal_stability, stability)
        else:
            wishes.keep("temporal_stability", known.temporal_stability.value)
    held = {
        "title": known.title,
        "trigger": None if known.trigger is None else known.trigger.value,
    }
    for name, value in held.items():
        asked = getattr(request, name)
        if asked is not None and value is None:
            wishes.change(name, None, asked)
        elif asked not in (None, value):
            wishes.keep(name, repr(value))
    role = None if known.role is None else known.role.value
    if request.role not in (None, role):
        wishes.keep("role", role)
    if request.origin_type not in (None, known.origin_type):
        wishes.keep("origin_type", known.origin_type.value)


def _added_metadata(wishes: RepeatWishes, known: Memory, request: CommitRequest) -> None:
    added = {
        name: one for name, one in (request.metadata or {}).items() if name not in known.metadata
    }
    if added:
        wishes.change("metadata", known.metadata, known.metadata | added)
    if request.structured is not None and request.structured != known.structured:
        wishes.kept.append("the structured fields are not added")
    for name, value in (request.metadata or {}).items():
        if name not in added and known.metadata[name] != value:
            wishes.keep(f"metadata.{name}", repr(known.metadata[name]))
