"""Entities and mentions of a memory: the caller's names, the gates, the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from vestig.arguments import LIST_ITEMS_MAX, SCOPE_CHARS_MAX, label
from vestig.changes import NewEdge, NewEntity
from vestig.commit.rows import Rows
from vestig.errors import ValidationError
from vestig.hints import did_you_mean
from vestig.ids import new_id
from vestig.language.edge_evidence import evidence_text
from vestig.language.names.forms import aliases_of, norm_key
from vestig.language.names.gazetteer import Mention
from vestig.language.names.ontology import UNTYPED, Ontology
from vestig.types import EdgeType

__all__ = [
    "GivenEntity",
    "Use",
    "given_entities",
    "kept",
    "link",
    "mention",
    "new_entity",
    "spoken_name",
    "typed",
]

_FIELDS: Final = ("name", "type", "confidence", "evidence")


class GivenEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that the caller named; `type` as written until `typed` has seen it."""

    name: str
    type: str = UNTYPED
    confidence: float = 1.0
    evidence: str | None = None


def given_entities(value: object) -> tuple[GivenEntity, ...]:
    """The argument `entities`: names, or objects of name, type, confidence and evidence.

    Raises:
        ValidationError: the first bad item, with its place.

    Example:
        >>> given_entities(["Ada", {"name": "NATO", "type": "ORG"}])[1].type
        'ORG'
    """
    if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
        raise ValidationError("entities", type(value).__name__, "a list of names or objects")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError("entities", f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
    return tuple(_given(f"entities[{at}]", item) for at, item in enumerate(value))


def _given(field: str, item: object) -> GivenEntity:
    if isinstance(item, str):
        return GivenEntity(name=_text(field, item))
    if not isinstance(item, Mapping):
        raise ValidationError(field, type(item).__name__, "a name, or an object with a name")
    for key in item:
        if key not in _FIELDS:
            hint = did_you_mean(str(key), _FIELDS, 0.5)
            allowed = f"an object of {', '.join(_FIELDS)}"
            raise ValidationError(field, str(key)[:60], allowed, hint)
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
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ValidationError(field, value, "a number from 0 to 1")


def typed(given: Sequence[GivenEntity], types: Ontology) -> tuple[GivenEntity, ...]:
    """The same with types of the ontology; synonyms name their type.

    Raises:
        ValidationError: a type that the store does not have.
    """
    found = []
    for at, entity in enumerate(given):
        known = types.get(entity.type)
        if known is None:
            field = f"entities[{at}].type"
            said = entity.type.strip().upper()
            hint = did_you_mean(said, types.names, otherwise="add it to m4.entity_types")
            names = ", ".join((*types.names, UNTYPED))
            raise ValidationError(field, entity.type, f"one of {names}", hint)
        found.append(msgspec.structs.replace(entity, type=known.name))
    return tuple(found)


class Gates(Protocol):
    """What the gates read of `m4.entity_extraction`."""

    @property
    def min_confidence(self) -> float: ...
    @property
    def store_low_confidence(self) -> bool: ...


def kept(names: Sequence[Mention], gates: Gates) -> list[Mention]:
    """Those that are certain enough; with `store_low_confidence` all of them."""
    if gates.store_low_confidence:
        return list(names)
    return [name for name in names if name.confidence >= gates.min_confidence]


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A memory's mention of an entity; `new` when the entity is stored with it."""

    entity_id: str
    confidence: float
    evidence: str
    new: NewEntity | None = None


def spoken_name(name: str, description: str = "") -> str:
    """What is embedded of an entity.

    Example:
        >>> spoken_name("Ada Lovelace", "wrote notes")
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


class NameSettings(Protocol):
    """What the rows read of `m4`."""

    @property
    def entity_extraction(self) -> Any: ...
    @property
    def edge_creation(self) -> Any: ...


def link(rows: Rows, memory_id: str, uses: Sequence[Use], settings: NameSettings) -> None:
    """Entities that the memory names, new ones stored with it, and its MENTIONS."""
    rows.entities.extend(use.new for use in uses if use.new is not None)
    if settings.edge_creation.mentions.enabled:
        most = settings.entity_extraction.max_evidence_length
        rows.edges.extend(mention(memory_id, use, most) for use in uses)


def mention(memory_id: str, use: Use, evidence_length_max: int) -> NewEdge:
    """The MENTIONS edge of one use."""
    return NewEdge(
        id=new_id("edge"),
        from_id=memory_id,
        to_id=use.entity_id,
        edge_type=EdgeType.MENTIONS,
        confidence=use.confidence,
        evidence=evidence_text(use.evidence, evidence_length_max),
    )
