"""The objects that a commit takes beside its text: a claim with its evidence, entities that it
mentions, and where it comes from."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from vestig.arguments import (
    LIST_ITEMS_MAX,
    SCOPE_CHARS_MAX,
    label,
    listed,
    plain_object,
    text_argument,
)
from vestig.calls import argument as a
from vestig.calls.declaration import Nested, Request, checked, required_of, rows_of, schema_of
from vestig.errors import ValidationError
from vestig.ids import is_full_id
from vestig.language.names.ontology import UNTYPED
from vestig.language.text_forms import single_spaced
from vestig.times import from_us
from vestig.types import Claim, Evidence, OriginType


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
            raise ValidationError(field, type(value).__name__, "a list of objects")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(field, f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
        return tuple(self._one(f"{field}[{at}]", item) for at, item in enumerate(value))

    def _one(self, field: str, item: Any) -> Evidence:
        found: EvidenceRequest = Nested("", of=EvidenceRequest).check(field, item)
        if found.source_id is None and found.snippet is None:
            raise ValidationError(field, "neither", "a snippet, a source_id or both")
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
            raise ValidationError(field, type(value).__name__, "a list of names or objects")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(field, f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
        return tuple(_entity(f"{field}[{at}]", item) for at, item in enumerate(value))

    def schema(self, facts: a.Facts = a.NO_FACTS) -> dict[str, Any]:
        described = schema_of(rows_of(GivenEntity), required_of(GivenEntity), facts)
        return a.one_or_more({"anyOf": [self._item(), described]}, self._alone())


def _entity(field: str, item: Any) -> GivenEntity:
    if isinstance(item, Mapping):
        return checked(GivenEntity, item, field)
    if not isinstance(item, str):
        raise ValidationError(field, type(item).__name__, "a name, or an object with a name")
    name = label(field, item, SCOPE_CHARS_MAX)
    if name is None or not name.strip():
        raise ValidationError(field, item, "text that is not blank")
    return GivenEntity(name=name, is_text=True)


class Questions(a.Texts, frozen=True):
    """A list of questions; too long ones are left out later."""

    def check(self, field: str, value: Any) -> Any:
        value = listed(value)
        if not isinstance(value, (list, tuple)):
            raise ValidationError(field, type(value).__name__, "a list of questions")
        if len(value) > LIST_ITEMS_MAX:
            raise ValidationError(field, f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
        for at, item in enumerate(value):
            if not text_argument(f"{field}[{at}]", item).strip():
                raise ValidationError(f"{field}[{at}]", item, "a question that is not blank")
        return tuple(value)
