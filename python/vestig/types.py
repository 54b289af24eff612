"""The vocabulary: frozen values that pass between the rooms and to the caller.

Times of public values are aware `datetime`s in UTC; times inside a `ChangeSet`
and of the core are integers, microseconds since 1970-01-01T00:00:00Z (`*_us`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

import msgspec

from vestig.decoders import converted
from vestig.other_words import NamesMissing
from vestig.reprs import brief, snippet
from vestig.times import to_plain

__all__ = [
    "Anchor",
    "AnchorKind",
    "AnchorState",
    "Claim",
    "CommitOutcome",
    "CommitOutcomeKind",
    "Degradation",
    "Difference",
    "Edge",
    "EdgeType",
    "Entity",
    "Event",
    "EventType",
    "Evidence",
    "ItemError",
    "JobState",
    "Kind",
    "Memory",
    "OriginType",
    "RecordWord",
    "RetentionPolicy",
    "Role",
    "SimilarMemory",
    "Source",
    "Stability",
    "Status",
    "SupersessionRecord",
    "TemporalWindow",
    "Trigger",
    "Word",
    "derived_origin",
]


class Word(StrEnum):
    """A word of a fixed list. Its value is what the ledger and exports hold; callers may write it
    in any case: the constructor accepts `Status("ACTIVE")` as `Status("active")`.

    Words that a caller chooses (role, origin type, stability, trigger, retention policy) appear
    in results as they are.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        folded = value.lower() if isinstance(value, str) else None
        return next((member for member in cls if member.value.lower() == folded), None)

    @property
    def word(self) -> str:
        """How results, JSON and texts write it.

        Example:
            >>> Role.USER.word, Status.ACTIVE.word
            ('user', 'ACTIVE')
        """
        return self.value


class RecordWord(Word):
    """A word for what a record is: its kind, state, outcome or type. As a text it is in capitals,
    whatever the ledger holds: its `value`.

    Example:
        >>> Status.ACTIVE == "ACTIVE", str(Status.ACTIVE), Status.ACTIVE.value
        (True, 'ACTIVE', 'active')
    """

    def __new__(cls, value: str) -> Self:
        """A member that compares, hashes and prints as its word in capitals."""
        member = str.__new__(cls, value.upper())
        member._value_ = value
        return member

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.word!r}>"

    @property
    def word(self) -> str:
        """The value in capitals."""
        return self.value.upper()


class Kind(RecordWord):
    """Kinds of memories: a text that was committed, or a summary of several."""

    MEMORY = "MEMORY"
    SUMMARY = "SUMMARY"


class Status(RecordWord):
    """State of a memory: valid, replaced by another, found wrong, or put aside."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


class Role(Word):
    """Who speaks in a conversation with an assistant. The words that others have for the same are
    taken: human; ai and model; function; developer.

    Example:
        >>> Role("Developer"), Role("human")
        (<Role.SYSTEM: 'system'>, <Role.USER: 'user'>)
    """

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        folded = value.lower() if isinstance(value, str) else value
        return super()._missing_(_OTHER_ROLES.get(folded, folded))


_OTHER_ROLES: Final[dict[object, str]] = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
}


class OriginType(Word):
    """Kinds of text of memories; weights depend on it."""

    CHAT_PEER = "chat_peer"
    CHAT_AGENT = "chat_agent"
    DOCUMENT = "document"
    NOTE = "note"


_AGENT_ROLES: Final = frozenset((Role.USER, Role.ASSISTANT, Role.TOOL))
# Roles whose statements nobody stands for until a user confirms them.
MODEL_ROLES: Final = frozenset((Role.ASSISTANT, Role.TOOL))


# What metadata `time_from` says where a document or a record does not tell when it was written.
_TIMES_OF_FILES: Final = frozenset(("file_time", "now", "turn_before"))


def is_undated(metadata: Mapping[str, Any]) -> bool:
    """Return whether the time of a memory with this metadata is only that of its file, its import
    or the turn before it, and does not tell when the text was written.

    Example:
        >>> is_undated({"time_from": "file_time"}), is_undated({"time_from": "front_matter"})
        (True, False)
    """
    return metadata.get("time_from") in _TIMES_OF_FILES


def derived_origin(
    role: str | None, author: str | None, session_id: str | None, title: str | None
) -> OriginType:
    """The origin type of a memory that was given none, from the memory alone. It is derived again
    at every read, so that memories of older stores follow the rule.

    Example:
        >>> derived_origin("tool", None, None, None).value
        'chat_agent'
        >>> derived_origin(None, "Dana", "s1", None).value
        'chat_peer'
        >>> derived_origin(None, "Dana", None, "Oslo").value
        'document'
    """
    if role in _AGENT_ROLES:
        return OriginType.CHAT_AGENT
    if author is not None and session_id is not None:
        return OriginType.CHAT_PEER
    return OriginType.NOTE if title is None else OriginType.DOCUMENT


class Stability(Word):
    """How long a fact tends to hold."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    EPHEMERAL = "ephemeral"
    UNKNOWN = "unknown"


class Trigger(Word):
    """Reasons why an agent commits a text."""

    PROBLEM_SOLUTION = "problem-solution"
    POSITIVE_FEEDBACK = "positive-feedback"
    CORRECTIVE_FEEDBACK = "corrective-feedback"
    LEARNING_SUCCESS = "learning-success"
    LEARNING_FAILURE = "learning-failure"


class RetentionPolicy(Word):
    """For how long a memory is worth keeping; half-lives are configuration."""

    PERMANENT = "permanent"
    DECISION = "decision"
    STANDARD = "standard"
    EPHEMERAL = "ephemeral"
    SESSION = "session"


class EventType(RecordWord):
    """Types of entries of the event log. A member's position is its code in the projection: new
    ones go to the end."""

    ADD = "ADD"
    IMPORT = "IMPORT"
    REINFORCE_EXACT = "REINFORCE_EXACT"
    REINFORCE_NEAR = "REINFORCE_NEAR"
    DEPRECATE = "DEPRECATE"
    SUPERSEDE = "SUPERSEDE"
    ARCHIVE = "ARCHIVE"
    UNARCHIVE = "UNARCHIVE"
    PIN = "PIN"
    UNPIN = "UNPIN"
    UPDATE = "UPDATE"
    ENTITY_EXTRACTED = "ENTITY_EXTRACTED"
    SUMMARY_CREATED = "SUMMARY_CREATED"
    CONFIRM = "CONFIRM"


class EdgeType(RecordWord):
    """Types of edges in the ledger. AFFECTS is none of them: it is a view of the event log."""

    MENTIONS = "MENTIONS"
    RELATED = "RELATED"
    SUMMARIZES = "SUMMARIZES"
    RELATION = "RELATION"
    PRODUCED = "PRODUCED"


class JobState(RecordWord):
    """State of an enrichment job."""

    PENDING = "pending"
    RUNNING = "running"
    SUBMITTED = "submitted"
    DONE = "done"
    FAILED = "failed"


class CommitOutcomeKind(RecordWord):
    """Outcomes of a commit: stored, one more sighting of an equal or a nearly equal memory, or
    refused by a hygiene rule."""

    INSERTED_NEW = "INSERTED_NEW"
    EXACT_DUPE = "EXACT_DUPE"
    NEAR_DUPE = "NEAR_DUPE"
    REJECTED_HYGIENE = "REJECTED_HYGIENE"


class _Value(NamesMissing, msgspec.Struct, frozen=True, kw_only=True):
    """Base of public values: immutable, and `to_dict()` is the JSON of every surface. Printed, a
    value is its fields that say something."""

    # fields that printing leaves out
    _silent: ClassVar[Collection[str]] = ()

    def __repr__(self) -> str:
        names = self.__struct_fields__
        defaults = dict(zip(reversed(names), reversed(self.__struct_defaults__), strict=False))
        fields = [(name, getattr(self, name)) for name in names if name not in self._silent]
        return brief(
            type(self).__name__,
            [
                (name, value)
                for name, value in fields
                if value not in _NOTHING and value != defaults.get(name, msgspec.NODEFAULT)
            ],
        )

    def __hash__(self) -> int:
        """That of the id, which equal values share: a dictionary among the fields has none."""
        if "id" in self.__struct_fields__:
            return hash(getattr(self, "id"))  # noqa: B009 - the base itself has no id
        return msgspec.Struct.__hash__(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; times as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
        plain = to_plain(self)
        assert isinstance(plain, dict)
        return plain


_NOTHING: Final[tuple[object, ...]] = (None, (), "", {}, msgspec.UNSET)


class TemporalWindow(_Value, frozen=True, kw_only=True):
    """A half-open window [start, end) found in a text; None = open on that side. `either`: the
    expression may mean this window or another one, which stands beside it."""

    text: str
    start: datetime | None
    end: datetime | None
    grain: str
    either: bool = False


class Degradation(_Value, frozen=True, kw_only=True):
    """A result comes from a weaker path, such as one without vectors. `code` is stable, `detail`
    is a sentence, `count` is the number of cases."""

    code: str
    detail: str
    count: int = 1


class ItemError(_Value, frozen=True, kw_only=True):
    """One failed item of a batch: its position from 0, the code of the error and its message. It
    is false, as a commit that was refused is."""

    index: int
    code: str
    message: str

    def __bool__(self) -> bool:
        return False


class AnchorKind(Word):
    """Kinds of anchors: lines of a file, an address, or another memory."""

    FILE = "file"
    URL = "url"
    MEMORY = "memory"


class AnchorState(Word):
    """State of an anchor: as it was, at other lines, with another text, not there, or not seen."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


class Anchor(_Value, frozen=True, kw_only=True):
    """The source that a memory speaks of, and how it stands.

    Attributes:
        kind: `file`, `url` or `memory`.
        target: the path within the repository, the address, or the id of the memory; None for a
            memory that was forgotten.
        lines: first and last line when it was taken; None for all of the file.
        state: `same`, `moved`, `changed`, `gone`, or `unknown` where it cannot be seen from here.
        now: where these lines stand, of what is the same or moved.
        equal: how many places of the file have these lines; of several `now` is the likeliest.
        why: the reason why the state is unknown.
        file: the path of the file in which the lines stand now, where their own is gone.
        project: the name of the repository.
        commit: the commit that was checked out when it was taken.
        taken_at: when it was taken.
        position: its place among the anchors of its memory.
        of: the memory whose anchor it is, where a claim or summary was made of that one.
    """

    kind: AnchorKind
    target: str | None
    lines: tuple[int, int] | None = None
    state: AnchorState = AnchorState.UNKNOWN
    now: tuple[int, int] | None = None
    equal: int = 1
    why: str | None = None
    file: str | None = None
    project: str | None = None
    commit: str | None = None
    taken_at: datetime
    position: int = 0
    of: str | None = None

    def plain_fields(self) -> dict[str, Any]:
        """The fields that JSON shows: those that say something."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.equal == 1:
            del shown["equal"]
        return {name: value for name, value in shown.items() if value is not None}

    def in_brief(self) -> dict[str, Any]:
        """Return what JSON shows of it beside a result: what it is, and how it stands."""
        shown = self.plain_fields()
        return {
            name: shown[name]
            for name in ("target", "lines", "state", "now", "equal", "file", "taken_at", "of")
            if name in shown
        }


class Difference(_Value, frozen=True, kw_only=True):
    """A run of words in which a text differs from an older one: what stood in the `old` text, and
    what the `new` one has there. One of them may be empty.

    Example:
        >>> str(Difference(old="500 EUR", new="500 USD"))
        "'500 EUR' → '500 USD'"
    """

    old: str
    new: str

    def __str__(self) -> str:
        """Both runs, quoted."""
        return f"{self.old!r} → {self.new!r}"


class SimilarMemory(_Value, frozen=True, kw_only=True):
    """A memory of the same namespace and scope that may be about the same as a new text.

    `score`: cosine of both vectors. `t_valid`: from when it holds. `beginning`: the first 120
    characters of its text, on one line. `differs`: the words in which nearly equal texts differ, in
    order, at most eight runs of them; () where the texts are less alike.
    """

    memory_id: str
    score: float
    t_valid: datetime
    beginning: str
    differs: tuple[Difference, ...] = ()


class StructuredText(_Value, frozen=True, kw_only=True):
    """The fields that the text of a structured memory is made of.

    Example:
        >>> made = StructuredText(topic="Queue", context="Jobs were lost", decisions=("use acks",))
        >>> made.content
        'Topic: Queue. Jobs were lost. Decisions: use acks.'
    """

    topic: str
    context: str
    decisions: tuple[str, ...] = ()
    rationale: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The text: every field in a sentence, empty ones left out."""
        lists = {"Decisions": self.decisions, "Rationale": self.rationale}
        parts = [f"Topic: {self.topic}", self.context]
        parts += [f"{name}: {'; '.join(items)}" for name, items in lists.items() if items]
        return " ".join(part if part.endswith(_SENTENCE_ENDS) else f"{part}." for part in parts)

    @property
    def doc_hash(self) -> str:
        """Return SHA-256 of the fields as canonical JSON; equal ones have equal texts."""
        # a start without a structured memory does not load it
        from hashlib import sha256

        return sha256(msgspec.json.encode(self.to_dict(), order="sorted")).hexdigest()


_SENTENCE_ENDS: Final = (".", "!", "?", "…", "\u3002", "\uff01", "\uff1f")


class _OfStores(msgspec.StructMeta):
    """The class of classes that only a store makes objects of. Elsewhere the name of such a class
    is the one that opens a store."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        """An object of the class."""
        try:
            return super().__call__(*args, **fields)
        except TypeError:
            made = f"a {cls.__name__} is made by a store alone; use vestig.open(path)"
            raise TypeError(made) from None


class Memory(_Value, frozen=True, metaclass=_OfStores):
    """One memory.

    `content`: its text as it was given, trimmed at its ends. `content_hash`: SHA-256 of its normal
    form (NFC, single spaces, indentation of lines). `t_valid` to `t_invalid`: when its statement
    holds; `t_created` to `t_expired`: when the store knew it. Ends are None while open. `sequence`:
    position in the session. `confirmed`: false for a statement of an assistant or a tool until a
    user states the same or `confirm` is called, true for all others. `key`: what the text is the
    value of. `version` is 1 for a new memory and grows with each `update`.
    """

    id: str
    namespace: str
    scope: str | None
    seq: int
    kind: Kind
    content: str
    content_hash: str
    author: str | None
    role: Role | None
    confirmed: bool
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
    key: str | None = None

    def __repr__(self) -> str:
        at = self.t_expired or self.t_created
        marks = state_marks(self, flags_of(self, at), _day)
        if self.t_invalid is not None and self.t_invalid > at:
            marks.append(f"until {_day(self.t_invalid)}")
        said = {"key": self.key, "scope": self.scope, "author": self.author}
        parts = [self.id, repr(snippet(self.content))]
        parts += [f"{name}={snippet(value)!r}" for name, value in said.items() if value is not None]
        parts += [f"({', '.join(marks)})"] if marks else []
        return f"<Memory {' '.join(parts)}>"

    @property
    def created_at(self) -> datetime:
        """Read-only alias of `t_created`."""
        return self.t_created

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags, () when none were ever given."""
        return tuple(self.metadata.get("tags", ()))

    @property
    def structured(self) -> StructuredText | None:
        """The fields that its text was made of; None for a text that was given as it is."""
        fields = self.metadata.get("structured")
        return None if fields is None else converted(fields, StructuredText)


def flags_of(memory: Memory, query_time: datetime) -> list[str]:
    """Return what a reader should know of the state of a memory as it was known: withdrawn, not
    valid at the query's time, pinned; of a statement of a model, whether it is confirmed."""
    flags = []
    expired = memory.t_expired is not None and not holds_until_successor(memory, query_time)
    if memory.t_invalid is not None and memory.t_invalid <= query_time and not expired:
        flags.append("no_longer_valid")
    if memory.t_valid > query_time:
        flags.append("not_yet_valid")
    if expired:
        flags.append("expired")
    if memory.status is Status.ARCHIVED:
        flags.append("archived")
    if memory.pinned:
        flags.append("pinned")
    if memory.role in MODEL_ROLES:
        flags.append("confirmed" if memory.confirmed else "unconfirmed")
    return flags


def holds_until_successor(memory: Memory, at: datetime) -> bool:
    """Return whether a memory is superseded by one that begins later than this: it holds until
    then."""
    end = memory.t_invalid
    return memory.status is Status.SUPERSEDED and end is not None and end > max(memory.t_valid, at)


def state_marks(
    memory: Memory, flags: Collection[str], day: Callable[[datetime], str] | None
) -> list[str]:
    """Return what a reader has to know of the state of a memory, without the day where none is
    given: that it was withdrawn or replaced, ended, does not hold yet, or was put aside."""
    marks = []
    if "expired" in flags:
        marks.append("replaced" if memory.status is Status.SUPERSEDED else "withdrawn")
    if "no_longer_valid" in flags and memory.t_invalid is not None:
        marks.append("ended" if day is None else f"ended {day(memory.t_invalid)}")
    if "not_yet_valid" in flags:
        marks.append("not yet" if day is None else f"from {day(memory.t_valid)}")
    if "archived" in flags:
        marks.append("archived")
    return marks


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


class Event(_Value, frozen=True, kw_only=True):
    """One entry of the append-only event log. `occurred_at`: when it happened; `recorded_at`: when
    the store learnt of it; `seq`: the state of the ledger that it is part of."""

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
    """A directed edge between two nodes. `weight` is at least 0, `confidence` 0 to 1, None where
    none was given; `relation` is the label of a RELATION."""

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
    """Where memories come from: a conversation, a file, a tool."""

    id: str
    source_type: str
    created_at: datetime
    ingested_at: datetime
    path: str | None
    agent: str | None
    session_id: str | None
    metadata: dict[str, Any]


class SupersessionRecord(_Value, frozen=True, kw_only=True):
    """`superseding_id` replaced `superseded_id`. `warnings`: of the call that wrote it."""

    superseding_id: str
    superseded_id: str
    reason: str
    created_at: datetime
    warnings: tuple[str, ...] = ()


class Evidence(_Value, frozen=True, kw_only=True):
    """One place where something was stated.

    `source_id`: a source or a memory of the store, or the reference that its event carries;
    `timestamp`: when it was stated; `snippet`: what was said, in its normal form, at most 500
    characters.
    """

    source_id: str | None
    timestamp: datetime | None
    author: str | None
    snippet: str


class Claim(_Value, frozen=True, kw_only=True):
    """A statement of a memory about a subject.

    `fact_type` says what kind of fact it is, such as `WORKS_AT`. `subject_id` and `object_id` are
    entities of the namespace. `confidence` lies in 0 to 1. Each is None where none was given.
    """

    subject: str
    subject_id: str | None = None
    fact_type: str
    object: str | None = None
    object_id: str | None = None
    object_type: str | None = None
    relationship_type: str | None = None
    attributes: dict[str, Any] = {}
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()


class MaskedSecret(_Value, frozen=True, kw_only=True):
    """Secrets that a marker `[secret:RULE]` stands for: the rule by which they were found, how
    many there were, and which characters of what was given they are: `content[34:42]`,
    `metadata.login.password[0:5]`."""

    rule: str
    count: int
    places: tuple[str, ...] = ()


class CommitOutcome(_Value, frozen=True, kw_only=True):
    """The result of a commit.

    `memory_id`: the memory that now stands for the text, None when refused.
    `matched_memory_id` and `query_score`: the memory that it repeats, and the cosine. `key`: what
    the text is the value of. `similar`: what is known of the same already, at most three memories,
    the nearest first. `revives`: an expired memory with an equal text. `repeats`: the oldest
    memory with the text of a turn that is a memory of its own. `beside`: the memory that keeps the
    key that was asked for, since this text is a statement of an assistant or a tool. `confirms`:
    such statements that this one of a user confirms. `masked`: secrets that were found in
    the arguments, and do not stand in what is stored. `echoes`: memories that came back as the
    store prints them and were taken out; `echo_places`: the characters of the text that they were,
    such as `content[0:80]`, once its secrets were masked. `seq`: the state of the ledger after it.
    It is false where the text was refused.
    """

    _silent: ClassVar[Collection[str]] = (
        "content_hash", "occurred_at", "source", "namespace", "thresholds", "event_id", "jobs",
    )  # fmt: skip

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
    key: str | None = None
    hygiene_reasons: tuple[str, ...] = ()
    thresholds: dict[str, float] = {}
    deduplicated: bool = False
    similar: tuple[SimilarMemory, ...] = ()
    revives: str | None = None
    repeats: str | None = None
    beside: str | None = None
    confirms: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    masked: tuple[MaskedSecret, ...] = ()
    echoes: tuple[str, ...] = ()
    echo_places: tuple[str, ...] = ()
    event_id: str | None = None
    seq: int | None = None
    jobs: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()

    def __bool__(self) -> bool:
        return self.outcome is not CommitOutcomeKind.REJECTED_HYGIENE

    @property
    def possible_update_of(self) -> SimilarMemory | None:
        """The nearest of `similar` whose text is nearly the same and states something else."""
        return next((one for one in self.similar if one.differs), None)
