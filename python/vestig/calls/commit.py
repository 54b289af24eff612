"""Writing a memory, and changing one."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from vestig.arguments import (
    LIST_ITEMS_MAX,
    SCOPE_CHARS_MAX,
    SOURCE_CHARS_MAX,
    check_validity,
    label,
    listed,
    plain_object,
    text_argument,
)
from vestig.calls import argument as a
from vestig.calls.anchors import Anchors, GivenAnchor
from vestig.calls.argument import (
    Choice,
    Flag,
    Function,
    Ids,
    Integer,
    Key,
    Label,
    Pairs,
    Switch,
    Tags,
    Text,
    Texts,
    Time,
    Words,
)
from vestig.calls.declaration import (
    NAMESPACE,
    InNamespace,
    MemoryId,
    Nested,
    Request,
    checked,
    required_of,
    rows_of,
    schema_of,
)
from vestig.calls.scope import ScopeName
from vestig.errors import Description, ValidationError, kind_of
from vestig.ids import is_full_id
from vestig.language.ontology import UNTYPED
from vestig.language.text_forms import single_spaced
from vestig.times import from_us
from vestig.types import (
    Claim,
    CommitOutcome,
    Evidence,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    StructuredText,
    Trigger,
    Word,
    derived_origin,
)


class ProvenanceRequest(Request, frozen=True, kw_only=True):
    """The rest of where a text comes from."""

    call: ClassVar = "provenance"

    agent: Annotated[
        str | None, a.Label("The program that stores it.", "--agent", default="cli")
    ] = None
    artifact_ref: Annotated[
        str | None, a.Label("A reference to its origin, such as a URL.", "--artifact-ref")
    ] = None
    origin_type: Annotated[
        OriginType | None,
        a.Choice(
            "What kind of text it is; derived when absent.", "--origin-type", words=OriginType
        ),
    ] = None


# --- a claim -----------------------------------------------------------------------------------


def _name(help: str, chars_max: int = SCOPE_CHARS_MAX) -> a.Label:
    return a.Label(help, chars_max=chars_max, blank=False, trim=True)


class _SourceId(a.Label, frozen=True):
    def check(self, field: str, value: Any) -> Any:
        text = super().check(field, value)
        if is_full_id(text, "source") or is_full_id(text, "mem"):
            return text
        allowed = "the whole id of a source (source_…) or a memory (mem_…)"
        raise ValidationError(field, text, allowed)

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        whole = r"^(?:source|mem)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
        return {"type": "string", "pattern": whole}


class EvidenceRequest(Request, frozen=True, kw_only=True):
    """The basis of a claim: a snippet, a source, or both."""

    call: ClassVar = "evidence"

    source_id: Annotated[str | None, _SourceId("The source or memory.", blank=False, trim=True)] = (
        None
    )
    timestamp: Annotated[int | None, a.Time("When it was stated.")] = None
    author: Annotated[str | None, _name("Who stated it.")] = None
    snippet: Annotated[str | None, _name("The words themselves.", 500)] = None


class _EvidenceList(a.Objects, frozen=True):
    def check(self, field: str, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise ValidationError(field, kind_of(value), "a list of objects")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(
                field, Description(f"{len(value)} items"), f"at most {LIST_ITEMS_MAX} items"
            )
        return tuple(self._one(f"{field}[{at}]", item) for at, item in enumerate(value))

    def _one(self, field: str, item: Any) -> Evidence:
        found: EvidenceRequest = Nested("", of=EvidenceRequest).check(field, item)
        if found.source_id is None and found.snippet is None:
            raise ValidationError(field, Description("neither"), "a snippet, a source_id or both")
        return Evidence(
            source_id=found.source_id,
            timestamp=None if found.timestamp is None else from_us(found.timestamp),
            author=found.author,
            snippet="" if found.snippet is None else single_spaced(found.snippet),
        )

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        item = schema_of(rows_of(EvidenceRequest), ("snippet",), facts)
        return {"type": "array", "items": item, "maxItems": LIST_ITEMS_MAX}


class _Attributes(a.Pairs, frozen=True):
    def check(self, field: str, value: Any) -> Any:
        return plain_object(field, value)

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": a.JSON_VALUES}


class _EntityId(a.Label, frozen=True):
    """A text still: what it names is resolved in the store."""

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        return a.id_schema("ent")


class ClaimRequest(Request, frozen=True, kw_only=True):
    """A statement of a text about a subject."""

    call: ClassVar = "claim"

    subject: Annotated[str, _name("Of whom, or of what.")]
    subject_id: Annotated[
        str | None,
        _EntityId("The entity that it is.", chars_max=SCOPE_CHARS_MAX, blank=False, trim=True),
    ] = None
    fact_type: Annotated[str, _name("What kind of fact, such as WORKS_AT.")]
    object: Annotated[str | None, _name("What is stated.", a.LABEL_CHARS_MAX)] = None
    object_id: Annotated[
        str | None,
        _EntityId("The entity that it is.", chars_max=SCOPE_CHARS_MAX, blank=False, trim=True),
    ] = None
    object_type: Annotated[str | None, _name("The type of that entity.")] = None
    relationship_type: Annotated[str | None, _name("How the two are related.")] = None
    attributes: Annotated[dict[str, Any] | None, _Attributes("JSON values by name.")] = None
    confidence: Annotated[float | None, a.Number("0 to 1.", least=0, most=1)] = None
    evidence: Annotated[tuple[Evidence, ...], _EvidenceList("What it is based on.")] = ()


class GivenClaim(Nested, frozen=True, kw_only=True):
    """A claim. `subject_id` and `object_id` are texts still, which the store resolves."""

    of: type[Request] = ClaimRequest

    def check(self, field: str, value: Any) -> Any:
        found = super().check(field, value)
        fields = {name: getattr(found, name) for name in found.__struct_fields__}
        return Claim(**fields | {"attributes": found.attributes or {}})


# --- entities and questions --------------------------------------------------------------------


class _TypeOfEntity(a.Label, frozen=True):
    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        if facts.entity_types is None:
            return super().schema(facts)
        return {"type": "string", "enum": list(facts.entity_types)}


class GivenEntity(Request, frozen=True, kw_only=True, gc=False):
    """An entity that the caller named; `type` is as written until the ontology checks it.
    `is_text`: given as one text, in which a type may stand before the name: `PERSON:Ada`."""

    call: ClassVar = "entity"

    name: Annotated[str, a.Label("Its name.", chars_max=SCOPE_CHARS_MAX, blank=False)]
    type: Annotated[
        str, _TypeOfEntity("Its type, such as PERSON.", chars_max=SCOPE_CHARS_MAX, blank=False)
    ] = UNTYPED
    confidence: Annotated[float, a.Number("0 to 1.", least=0, most=1)] = 1.0
    evidence: Annotated[
        str | None, a.Label("Words that name it.", chars_max=SCOPE_CHARS_MAX, blank=False)
    ] = None
    is_text: bool = False


class Entities(a.Texts, frozen=True):
    """Names, or objects of name, type, confidence and evidence."""

    def check(self, field: str, value: Any) -> Any:
        value = listed(value)
        if not isinstance(value, (list, tuple)):
            raise ValidationError(field, kind_of(value), "a list of names or objects")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(
                field, Description(f"{len(value)} items"), f"at most {LIST_ITEMS_MAX} items"
            )
        return tuple(_entity(f"{field}[{at}]", item) for at, item in enumerate(value))

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        described = schema_of(rows_of(GivenEntity), required_of(GivenEntity), facts)
        return a.one_or_more({"anyOf": [self._item(), described]}, self._alone())


def _entity(field: str, item: Any) -> GivenEntity:
    if isinstance(item, Mapping):
        return checked(GivenEntity, item, field)
    if not isinstance(item, str):
        raise ValidationError(field, kind_of(item), "a name, or an object with a name")
    name = label(field, item, SCOPE_CHARS_MAX)
    if name is None or not name.strip():
        raise ValidationError(field, item, "text that is not blank")
    return GivenEntity(name=name, is_text=True)


class Questions(a.Texts, frozen=True):
    """A list of questions; too long ones are left out later."""

    def check(self, field: str, value: Any) -> Any:
        value = listed(value)
        if not isinstance(value, (list, tuple)):
            raise ValidationError(field, kind_of(value), "a list of questions")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(
                field, Description(f"{len(value)} items"), f"at most {LIST_ITEMS_MAX} items"
            )
        for at, item in enumerate(value):
            if not text_argument(f"{field}[{at}]", item).strip():
                raise ValidationError(f"{field}[{at}]", item, "a question that is not blank")
        return tuple(value)

    def _item(self) -> a.Schema:
        return Text("", blank=False).schema()

    def _alone(self) -> a.Schema:
        return self._item()


class OnNearDup(Word):
    """Treatment of a text that restates a known fact."""

    REINFORCE = "reinforce"
    LINK = "link"
    INSERT = "insert"


# Fields of a memory that can be changed later.
_Tags = Annotated[
    tuple[str, ...] | None,
    Tags("Tags, by which reads select: a list, or one text with commas.", "--tags"),
]
_Metadata = Annotated[
    dict[str, Any] | None, Pairs("JSON values of the caller's own, by name.", "--metadata")
]
_Scope = Annotated[
    str | None,
    ScopeName(
        "A label inside the namespace, by which reads select.",
        "--scope",
        chars_max=SCOPE_CHARS_MAX,
    ),
]
_RetentionPolicy = Annotated[
    RetentionPolicy | None,
    Choice(
        "How long it is worth keeping; default lifecycle.default_policy.",
        "--retention",
        words=RetentionPolicy,
    ),
]
_RetentionUntil = Annotated[
    int | None, Time("Keep it until then; the next prune after it removes it.", "--retention-until")
]
_TValid = Annotated[int | None, Time("When the fact began to hold; default t_ref.", "--t-valid")]
_TInvalid = Annotated[int | None, Time("When the fact ended, if it did.", "--t-invalid")]
_TemporalStability = Annotated[
    Stability | None,
    Choice("How long such a fact holds; derived when absent.", "--stability", words=Stability),
]
_Trigger = Annotated[
    Trigger | None,
    Choice(
        "Why it is worth remembering.",
        "--trigger",
        words=Trigger,
        otherwise="what binds an action is a rule: rules.add(text, when)",
    ),
]


# Fields of a structured text.
_Topic = Annotated[str, Text("What it is about.", blank=False)]
_Context = Annotated[str, Text("What was the case.", blank=False)]
_Decisions = Annotated[tuple[str, ...], Texts("What was decided, an item each.", "--decision")]
_Rationale = Annotated[tuple[str, ...], Texts("Why, an item each.", "--rationale")]


class CommitRequest(Request, frozen=True, kw_only=True):
    """One text to remember. Times are microseconds since the epoch, None = absent: an empty list of
    tags is another thing than none. The text is as the caller gave it."""

    call: ClassVar = "commit"

    content: Annotated[
        str,
        Text(
            "The text to remember, best one self-contained fact. Line breaks and indentation are"
            " kept.",
            blank=False,
            stdin=True,
        ),
    ]
    author: Annotated[str | None, Label("Who said or wrote it.", "--author", trim=True)] = None
    role: Annotated[Role | None, Choice("Part in a dialogue.", "--role", words=Role)] = None
    session_id: Annotated[
        str | None, Label("The conversation it belongs to.", "--session-id", trim=True)
    ] = None
    sequence: Annotated[
        int | None,
        Integer(
            "Its position in that conversation, from 0; only there is its text a duplicate.",
            "--sequence",
            least=0,
            most=2**63 - 1,
        ),
    ] = None
    source: Annotated[
        str,
        Label(
            "A word for where it comes from.",
            "--source",
            chars_max=SOURCE_CHARS_MAX,
            blank=False,
            default="manual",
        ),
    ] = "manual"
    actor: Annotated[str | None, Label("Who stores it; kept in the event.", "--actor")] = None
    scope: _Scope = None
    namespace: Annotated[str, NAMESPACE] = "default"
    provenance: Annotated[
        ProvenanceRequest | None,
        Nested(
            "The rest of where it comes from: an object with agent, artifact_ref, origin_type.",
            of=ProvenanceRequest,
        ),
    ] = None
    agent: Annotated[str | None, Label("The program that stores it.", "--agent", default="cli")] = (
        None
    )
    artifact_ref: Annotated[
        str | None, Label("A reference to its origin, such as a URL.", "--artifact-ref")
    ] = None
    origin_type: Annotated[
        OriginType | None,
        Choice("What kind of text it is; derived when absent.", "--origin-type", words=OriginType),
    ] = None
    tags: _Tags = None
    metadata: _Metadata = None
    title: Annotated[
        str | None, Label("The title of the document or section it comes from.", "--title")
    ] = None
    t_valid: _TValid = None
    t_invalid: _TInvalid = None
    t_ref: Annotated[
        int | None,
        Time(
            "When it was said, for words such as today; default now, unknown beside t_valid.",
            "--t-ref",
        ),
    ] = None
    temporal_stability: _TemporalStability = None
    trigger: _Trigger = None
    entities: Annotated[
        tuple[GivenEntity, ...],
        Entities(
            "Entities that it mentions: names, TYPE:Name, or objects with name, type, confidence"
            " and evidence.",
            "--entity",
        ),
    ] = ()
    keywords: Annotated[
        tuple[str, ...], Texts("Keywords beside those found in the text.", "--keyword")
    ] = ()
    hypothetical_queries: Annotated[
        tuple[str, ...] | None,
        Questions("Questions that it answers, stored for some triggers.", "--question"),
    ] = None
    claim: Annotated[
        Claim | None,
        GivenClaim(
            "What it states of whom: an object with subject, fact_type, and any of subject_id,"
            " object, object_id, object_type, relationship_type, attributes, confidence,"
            " evidence.",
            "--claim",
        ),
    ] = None
    key: Annotated[
        str | None,
        Key(
            "What the text is the value of, such as maria.city: it takes the place of the text that"
            " has the key.",
            "--key",
        ),
    ] = None
    anchor: Annotated[
        tuple[GivenAnchor, ...],
        Anchors(
            "Its source, or a list of them: src/db.py:10-30, an address with a hash, or a memory's"
            " id; recall says when that changed.",
            "--anchor",
        ),
    ] = ()
    retention_policy: _RetentionPolicy = None
    retention_until: _RetentionUntil = None
    pinned: Annotated[bool, Flag("Protect it from decay and from being forgotten.", "--pin")] = (
        False
    )
    supersedes: Annotated[
        tuple[str, ...], Ids("Ids of memories that this fact replaces.", "--supersedes")
    ] = ()
    on_near_dup: Annotated[
        OnNearDup | None,
        Choice(
            "What to do with a text that restates a known fact; default"
            " hygiene.near_duplicate.on_near_dup.",
            "--on-near-dup",
            words=OnNearDup,
        ),
    ] = None
    enrich: Annotated[
        bool | None,
        Switch(
            "Work its jobs now, or leave them to the queue; default enrichment.mode.", "--enrich"
        ),
    ] = None
    strict: Annotated[bool, Flag("Raise `HygieneError` where the text is refused.", "--strict")] = (
        False
    )
    dry_run: Annotated[bool, Flag("Say what would happen and write nothing.", "--dry-run")] = False
    on_commit: Annotated[
        Callable[[CommitOutcome], None] | None,
        Function("Called with the outcome after the write, in place of open's."),
    ] = None

    def __post_init__(self) -> None:
        begins = self.t_ref if self.t_valid is None else self.t_valid
        if begins is not None:
            check_validity(begins, self.t_invalid)

    @property
    def structured(self) -> StructuredText | None:
        """The fields that the text is made of; None for one that was given as it is."""
        return None

    @property
    def origin(self) -> OriginType:
        """Return what kind of text it is."""
        if self.origin_type is not None:
            return self.origin_type
        return derived_origin(self.role, self.author, self.session_id, self.title)


def commit_request(
    arguments: Mapping[str, Any], namespace: str, kind: type[CommitRequest] | None = None
) -> CommitRequest:
    """The request that the arguments of a commit make; what stands in `provenance` is flat in it.

    Args:
        namespace: that of a commit that names none.
        kind: its declaration; None = of one text.

    Raises:
        ValidationError: as `checked`.

    Example:
        >>> commit_request({"content": "Hi", "provenance": {"agent": "ci"}}, "default").agent
        'ci'
    """
    flat = arguments
    if arguments.get("provenance") is not None:
        row = rows_of(CommitRequest)["provenance"]
        inside = row.check("provenance", arguments["provenance"])
        flat = {name: value for name, value in arguments.items() if name != "provenance"}
        flat |= {name: getattr(inside, name) for name in inside.__struct_fields__}
    if flat.get("namespace") is None:
        flat = {**flat, "namespace": namespace}
    asked = checked(CommitRequest if kind is None else kind, flat)
    if asked.structured is None:
        return asked
    return msgspec.structs.replace(asked, content=asked.structured.content)


class CommitStructuredRequest(CommitRequest, frozen=True, kw_only=True):
    """A structured text to remember: its content is made of its fields."""

    call: ClassVar = "commit_structured"

    topic: _Topic
    context: _Context
    decisions: _Decisions = ()
    rationale: _Rationale = ()
    # made of the fields
    content: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("topic", "context"):
            if not getattr(self, name).strip():
                raise ValidationError(
                    name, getattr(self, name), "text that is not blank", f"{name} cannot be empty"
                )

    @property
    def structured(self) -> StructuredText:
        """The fields, trimmed."""
        return StructuredText(
            topic=self.topic.strip(),
            context=self.context.strip(),
            decisions=tuple(one.strip() for one in self.decisions),
            rationale=tuple(one.strip() for one in self.rationale),
        )


STRUCTURED = ("topic", "context", "decisions", "rationale")
CLEARABLE = (
    "metadata", "tags", "scope", "retention_policy", "retention_until", "t_invalid",
    "temporal_stability", "trigger",
)  # fmt: skip


class UpdateRequest(Request, frozen=True, kw_only=True):
    """New values of a memory; None = keep, a name in `clear` = empty it."""

    call: ClassVar = "update"
    rules: ClassVar = (
        # the text is given, or made of its fields
        {
            "anyOf": [
                {"properties": {"content": {"type": "null"}}},
                {"properties": {name: {"type": "null"} for name in STRUCTURED}},
            ]
        },
    )

    id: MemoryId
    content: Annotated[
        str | None,
        Text(
            "Another text: it is committed as a memory that supersedes this one and ends when it"
            " was to end, with keywords and entities that were given beside it; the same text with"
            " other white space takes the place of the memory's.",
            "--content",
            stdin=True,
        ),
    ] = None
    topic: Annotated[
        str | None,
        Text("Of a structured memory: another topic.", "--topic"),
    ] = None
    context: Annotated[
        str | None, Text("Of a structured memory: another context.", "--context")
    ] = None
    decisions: Annotated[
        tuple[str, ...] | None,
        Texts("Of a structured memory: other decisions, all of them.", "--decision"),
    ] = None
    rationale: Annotated[
        tuple[str, ...] | None,
        Texts("Of a structured memory: another rationale, all of it.", "--rationale"),
    ] = None
    tags: Annotated[tuple[str, ...] | None, Tags("Tags that replace all it has.", "--tags")] = None
    metadata: Annotated[
        dict[str, Any] | None,
        Pairs("Other JSON values of the caller's own, all of them, by name.", "--metadata"),
    ] = None
    scope: _Scope = None
    retention_policy: _RetentionPolicy = None
    retention_until: _RetentionUntil = None
    t_valid: _TValid = None
    t_invalid: _TInvalid = None
    temporal_stability: _TemporalStability = None
    trigger: _Trigger = None
    clear: Annotated[
        tuple[str, ...], Words("Names of fields to empty.", "--clear", choices=CLEARABLE)
    ] = ()
    namespace: InNamespace = None
