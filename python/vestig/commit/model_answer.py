"""Answers of a language model about one memory, and the part that is kept. Pure.

An answer is untrusted: it is cut to the limits of the configuration, and nothing in it is ever
followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from vestig.config.recall_sections import EntitySettings
from vestig.language.names import cased_name, is_specific, norm_key
from vestig.language.ontology import Ontology
from vestig.language.text_forms import CONTROL_CHARACTERS, evidence_text
from vestig.language.time.expressions import find_windows
from vestig.types import Memory, Stability

# kind of job → its prompt
PROMPTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "entities": "extract_entities",
        "hypothetical": "generate_hypothetical_queries",
        "stability": "classify_stability",
        "updates": "judge_updates",
    }
)
NAME_CHARS_MAX: Final = 200
TYPE_CHARS_MAX: Final = 64
Verdict = Literal["supersedes", "supplements", "unrelated"]
# Types of terms of a domain, which have more than one word.
_TERMS: Final = ("CONCEPT",)


class ExtractedEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity as the model gives it. Without a name or a type the reader drops it."""

    name: str
    type: str
    confidence: float | None = None
    evidence: str = ""
    description: str = ""


class JudgedUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict about one older memory. Without a number or a verdict the reader drops it.
    `subject` makes the model name what both texts speak of before it compares them; nothing reads
    it."""

    number: int
    verdict: Verdict
    subject: str = ""
    old_value: str = ""
    new_value: str = ""
    confidence: float | None = None


class ModelAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The members of an answer; UNSET = not asked for, or missing."""

    entities: list[ExtractedEntity] | UnsetType = UNSET
    queries: list[str] | UnsetType = UNSET
    stability: Literal["static", "dynamic", "ephemeral", "unknown"] | UnsetType = UNSET
    updates: list[JudgedUpdate] | UnsetType = UNSET


# kind of job → the member of the answer that it is about
_MEMBERS: Final = MappingProxyType(
    {
        "entities": "entities",
        "hypothetical": "queries",
        "stability": "stability",
        "updates": "updates",
    }
)


@cache
def answer_form(kinds: tuple[str, ...]) -> type[msgspec.Struct]:
    """The form of an answer to the prompts of these kinds.

    Example:
        >>> answer_form(("hypothetical", "stability")).__struct_fields__
        ('queries', 'stability')
    """
    fields = {field.name: field for field in msgspec.structs.fields(ModelAnswer)}
    wanted = [fields[_MEMBERS[kind]] for kind in kinds]
    return msgspec.defstruct(
        "ModelAnswer", [(field.name, field.type, UNSET) for field in wanted], kw_only=True
    )


def read_parts(
    value: msgspec.Struct, kinds: Sequence[str], dropped: int
) -> tuple[ModelAnswer, dict[str, str]]:
    """The answer, and for each kind that it does not answer what is wrong.

    Args:
        value: an instance of `answer_form(kinds)`.
        dropped: items of its lists that were bad.

    Example:
        >>> form = answer_form(("hypothetical", "stability"))
        >>> read_parts(form(stability="static"), ("hypothetical", "stability"), 0)[1]
        {'hypothetical': 'the answer has no member queries'}
    """
    given: dict[str, Any] = {name: getattr(value, name) for name in value.__struct_fields__}
    faults = {}
    for kind in kinds:
        member = _MEMBERS[kind]
        found = given[member]
        if found is UNSET:
            faults[kind] = f"the answer has no member {member}"
        elif found == [] and dropped:
            faults[kind] = f"every item under {member} may have been dropped ({dropped} were bad)"
    return ModelAnswer(**given), faults


class KeptEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity that passed every gate; `type` is one of the ontology, or one that the model
    invented. `evidence`: an exact passage of the text, "" where there is none."""

    name: str
    type: str
    confidence: float
    evidence: str
    description: str

    @property
    def key(self) -> str:
        """Entities of a namespace with equal keys are one."""
        return norm_key(self.name, self.type)


class KeptEntities(msgspec.Struct, frozen=True, kw_only=True):
    """Entities, best first; how many were no names, too uncertain or too many; and types that the
    ontology does not have."""

    entities: tuple[KeptEntity, ...]
    unusable: int = 0
    uncertain: int = 0
    too_many: int = 0
    unknown_types: tuple[str, ...] = ()


def kept_entities(
    given: Sequence[ExtractedEntity], text: str, settings: EntitySettings, types: Ontology
) -> KeptEntities:
    """Return what of the entities that a model gives is stored, best first, ties by position in the
    text.

    Example:
        >>> from vestig.language.ontology import read_ontology
        >>> found = [ExtractedEntity(name="Ada", type="human", confidence=1.7),
        ...          ExtractedEntity(name="7", type="PERSON", confidence=0.9)]
        >>> kept = kept_entities(found, "Ada came.", EntitySettings(), read_ontology(None))
        >>> kept.entities[0].type, kept.entities[0].confidence, kept.unusable
        ('PERSON', 1.0, 1)
    """
    usable: dict[str, tuple[int, KeptEntity]] = {}
    unusable = uncertain = 0
    unknown: dict[str, None] = {}
    for one in given:
        kept, invented = _checked_entity(one, text, settings, types)
        if kept is None:
            unusable += 1
            continue
        if kept.confidence < settings.min_confidence and not settings.store_low_confidence:
            uncertain += 1
            continue
        place = text.casefold().find(kept.name.casefold())
        before = usable.get(kept.key)
        if before is None or kept.confidence > before[1].confidence:
            usable[kept.key] = (len(text) if place < 0 else place, kept)
        if invented:
            unknown[kept.type] = None
    ranked = sorted(usable.values(), key=lambda pair: (-pair[1].confidence, pair[0]))
    return KeptEntities(
        entities=tuple(kept for _, kept in ranked[: settings.max_per_memory]),
        unusable=unusable,
        uncertain=uncertain,
        too_many=max(0, len(ranked) - settings.max_per_memory),
        unknown_types=tuple(unknown),
    )


def _checked_entity(
    given: ExtractedEntity, text: str, settings: EntitySettings, types: Ontology
) -> tuple[KeptEntity | None, bool]:
    """The entity, None where it is no name; and whether its type is none of the ontology."""
    type = given.type.strip().upper()
    known = types.get(type)
    named = type if known is None else known.name
    if not is_type(named) or not is_name(given.name, named):
        return None, False
    evidence, longest = given.evidence.strip(), settings.max_evidence_length
    confidence = settings.min_confidence if given.confidence is None else given.confidence
    kept = KeptEntity(
        name=cased_name(given.name),
        type=named,
        confidence=min(1.0, max(0.0, confidence)),
        evidence=evidence_text(evidence, longest) if evidence in text else "",
        description=" ".join(CONTROL_CHARACTERS.sub("", given.description).split())[:longest],
    )
    return kept, known is None


def is_type(type: str) -> bool:
    """Return whether a text can be the type of an entity."""
    return 0 < len(type) <= TYPE_CHARS_MAX and CONTROL_CHARACTERS.search(type) is None


def is_name(given: str, type: str) -> bool:
    """Return whether it is a specific name: no date, no single letter, no number; a term of a
    domain has more than one word."""
    name = cased_name(given) if given.strip() else ""
    if len(name) > NAME_CHARS_MAX or CONTROL_CHARACTERS.search(name) or not is_specific(name):
        return False
    if type in _TERMS and len(name.split()) < 2:
        return False
    return not any(one.start == 0 and one.end == len(name) for one in find_windows(name, 0))


def stability_of(answer: ModelAnswer) -> Stability:
    """Return what the model says of how long the memory stays true."""
    return Stability(answer.stability) if isinstance(answer.stability, str) else Stability.UNKNOWN


def prompt_values(memory: Memory) -> dict[str, str]:
    """Return what the prompts are given of a memory."""
    trigger = "" if memory.trigger is None else memory.trigger.value
    return {"content": memory.content, "trigger": trigger}
