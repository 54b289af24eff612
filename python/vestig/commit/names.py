"""The entities that a memory names: those the caller gave, and what is stored of a name."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vestig.calls.commit import GivenEntity
from vestig.changes import NewEntity
from vestig.config.recall_sections import EntitySettings
from vestig.errors import ValidationError
from vestig.hints import did_you_mean
from vestig.ids import new_id
from vestig.language.names import Mention, aliases_of, norm_key
from vestig.language.ontology import UNTYPED, Ontology


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
    """Return those whose confidence reaches the minimum; with `store_low_confidence`, all."""
    if settings.store_low_confidence:
        return list(names)
    return [name for name in names if name.confidence >= settings.min_confidence]


class EntityMention(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A memory's mention of an entity; `new`: the entity's row, when it is stored with it."""

    entity_id: str
    confidence: float
    evidence: str
    new: NewEntity | None = None


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
