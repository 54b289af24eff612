"""The entities that a memory names: those the caller gave, and what is stored of a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vestig.arguments import LIST_ITEMS_MAX, SCOPE_CHARS_MAX, as_number, label, listed
from vestig.changes import NewEntity
from vestig.config.graph_sections import EntitySettings
from vestig.errors import ValidationError
from vestig.hints import check_names, did_you_mean
from vestig.ids import new_id
from vestig.language.names.forms import aliases_of, norm_key
from vestig.language.names.gazetteer import Mention
from vestig.language.names.ontology import UNTYPED, Ontology

_FIELDS: Final = ("name", "type", "confidence", "evidence")


class GivenEntity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entity that the caller named; `type` is as written until `with_known_types` checks it."""

    name: str
    type: str = UNTYPED
    confidence: float = 1.0
    evidence: str | None = None
    # given as one text, in which a type may stand before the name: `PERSON:Ada`
    is_text: bool = False


def given_entities(value: object) -> tuple[GivenEntity, ...]:
    """The argument `entities`: names, or objects of name, type, confidence and evidence.

    Raises:
        ValidationError: the first bad item, with its place.

    Example:
        >>> given_entities(["Ada", {"name": "NATO", "type": "ORG"}])[1].type
        'ORG'
    """
    value = listed(value)
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        raise ValidationError("entities", type(value).__name__, "a list of names or objects")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError("entities", f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
    return tuple(_given(f"entities[{at}]", item) for at, item in enumerate(value))


def _given(field: str, item: object) -> GivenEntity:
    if isinstance(item, str):
        return GivenEntity(name=_text(field, item), is_text=True)
    if not isinstance(item, Mapping):
        raise ValidationError(field, type(item).__name__, "a name, or an object with a name")
    check_names(item, _FIELDS, field, path=field)
    named, evidence = item.get("type"), item.get("evidence")
    return GivenEntity(
        name=_text(f"{field}.name", item.get("name")),
        type=UNTYPED if named is None else _text(f"{field}.type", named),
        confidence=_share(f"{field}.confidence", item.get("confidence")),
        evidence=None if evidence is None else _text(f"{field}.evidence", evidence),
    )


def _text(field: str, value: object) -> str:
    text = label(field, value, SCOPE_CHARS_MAX)
    if text is None or not text.strip():
        raise ValidationError(field, value, "text that is not blank")
    return text


def _share(field: str, value: object) -> float:
    if value is None:
        return 1.0
    number = as_number(value)
    if number is not None and 0 <= number <= 1:
        return float(number)
    raise ValidationError(field, value, "a number from 0 to 1")


def with_known_types(given: Sequence[GivenEntity], types: Ontology) -> tuple[GivenEntity, ...]:
    """The same with types of the ontology; synonyms name their type. A text `TYPE:Name` is a name
    of that type where the store has it, and otherwise a name with a colon.

    Raises:
        ValidationError: a type that the store does not have.
    """
    typed = []
    for at, entity in enumerate(_split(one, types) for one in given):
        known = types.get(entity.type)
        if known is None:
            field = f"entities[{at}].type"
            written = entity.type.strip().upper()
            hint = did_you_mean(written, types.names, otherwise="add it to entities")
            names = ", ".join((*types.names, UNTYPED))
            raise ValidationError(field, entity.type, f"one of {names}", hint)
        typed.append(msgspec.structs.replace(entity, type=known.name))
    return tuple(typed)


def _split(entity: GivenEntity, types: Ontology) -> GivenEntity:
    """A text `TYPE:Name` as type and name."""
    head, _, name = entity.name.partition(":")
    if not entity.is_text or not name.strip() or types.get(head) is None:
        return entity
    return msgspec.structs.replace(entity, name=name.strip(), type=head)


def sure_enough(names: Sequence[Mention], settings: EntitySettings) -> list[Mention]:
    """Return those whose confidence reaches the minimum."""
    return [name for name in names if name.confidence >= settings.min_confidence]


class EntityMention(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory's mention of an entity; `new`: the entity's row, when it is stored with it."""

    entity_id: str
    confidence: float
    evidence: str
    new: NewEntity | None = None


def embedded_name(name: str, description: str = "") -> str:
    """The text that is embedded of an entity.

    Example:
        >>> embedded_name("Ada Lovelace", "wrote notes")
        'ada lovelace wrote notes'
    """
    low = name.lower()
    return f"{low} {description}" if description else low


def new_entity(
    namespace: str, name: str, type: str, *, origin: str, model: str, embedding: bytes | None
) -> NewEntity:
    """The row of a name that the store does not know."""
    return NewEntity(
        id=new_id("ent"),
        namespace=namespace,
        entity_type=type,
        canonical_name=name,
        norm_key=norm_key(name, type),
        aliases=aliases_of(name, type),
        type_certain=type != UNTYPED,
        origin=origin,
        model="" if embedding is None else model,
        embedding=embedding,
    )
