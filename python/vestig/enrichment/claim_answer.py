"""Answers of a language model about a window of memories, and the part that is kept. Pure.

An answer is untrusted: what it states must cite memories of the window, and nothing in it is ever
followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from vestig.arguments import LABEL_CHARS_MAX, SCOPE_CHARS_MAX, parse_time
from vestig.commit.entities import KeptEntity
from vestig.commit.keys import ONE_AT_A_TIME
from vestig.config.recall_sections import EntitySettings
from vestig.enrichment.memory_answer import is_name, is_type, stands_in
from vestig.errors import ValidationError
from vestig.language.names import cased_name, norm_name
from vestig.language.ontology import Ontology
from vestig.language.text_forms import CONTROL_CHARACTERS, evidence_text, single_spaced
from vestig.language.words import content_terms
from vestig.lazy_pattern import lazy_pattern
from vestig.times import from_us, to_us
from vestig.types import Evidence, Memory, Stability

# An entity of a type that the ontology does not have.
_OTHER: Final = "CONCEPT"
_QUOTE_CHARS_MAX: Final = 500
# A memory is quoted by its beginning where the model quotes nothing that stands in it.
_BEGINNING_CHARS: Final = 200
_ATTRIBUTES_MAX: Final = 32
_YEAR: Final = lazy_pattern(r"\d{4}(-\d{2})?")
_LABEL: Final = lazy_pattern(r"[A-Z][A-Z0-9_]*")


class FactType(msgspec.Struct, frozen=True):
    """A kind of fact: of which kind its object is, and attributes that a claim of it has, and
    those that it must have."""

    object_type: str | None
    required: tuple[str, ...]
    attributes: tuple[str, ...]


def _fact_types(table: str) -> Mapping[str, FactType]:
    """Lines of a name, `: kind of the object` where there is one, and attributes; `*` marks those
    that are required."""
    found = {}
    for line in table.strip().splitlines():
        head, _, tail = line.partition("|")
        name, _, object_type = head.partition(":")
        words = tail.split()
        found[name.strip()] = FactType(
            object_type.strip() or None,
            tuple(word[:-1] for word in words if word.endswith("*")),
            tuple(word.removesuffix("*") for word in words),
        )
    return MappingProxyType(found)


FACT_TYPES: Final = _fact_types("""
WORKS_AT: Organization | organization* role location start_date end_date
LIVES_IN: Place | location* since
TALKS_ABOUT: Topic | topic* sentiment
CLOSE_TO: Person | closeness_basis
STUDIED_AT: Institution | institution* degree_type field_of_study graduation_year status
HAS_SKILL: Skill | skill* proficiency_level years_experience learning_status
WORKING_ON: Project | project* role start_date project_type collaboration_mode
RELATED_TO: Person | relationship_type* relationship_basis
ATTENDED_EVENT: Event | event_name* event_type date role format location
RECOMMENDS | target* recommendation_strength context reason
AVOIDS | target* reason severity timeframe
PLANS_TO: Plan | plan* goal_type timeframe confidence_level
PREVIOUSLY | fact_type object_label* start_date end_date transition_reason
PREFERS | preference_target* preference_category preference_strength alternatives_considered reason
BELIEVES: Topic | stance* conviction_strength reasoning
DISLIKES | target* dislike_intensity reason still_engages
ENJOYS: Activity | activity* enjoyment_level frequency social_mode
EXPERIENCED: LifeEvent | event_type* event_date impact_level current_stage
CARES_ABOUT | importance_level* how_it_manifests related_actions
REMEMBERS | memory_type* emotional_valence approximate_date significance
CURIOUS_ABOUT: Topic | topic* curiosity_level* what_sparked_it exploration_status
WITNESSED | context* date their_role impact
""")


class Attribute(msgspec.Struct, frozen=True, kw_only=True):
    """A detail of a claim."""

    name: str
    value: str = ""


class WindowEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity as the model gives it. `sources`: numbers of memories; none: any that names it."""

    name: str
    type: str
    description: str = ""
    confidence: float | None = None
    evidence: str = ""
    sources: list[int] = msgspec.field(name="from", default_factory=list)


class WindowClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim as the model gives it; `sources`: numbers of the memories that state it."""

    content: str
    subject: str
    fact_type: str
    object: str = ""
    object_type: str = ""
    relationship_type: str = ""
    attributes: list[Attribute] = []
    confidence: float | None = None
    sources: list[int] = msgspec.field(name="from", default_factory=list)
    quote: str = ""
    t_valid: str = ""
    t_invalid: str = ""
    temporal_stability: Literal["static", "dynamic", "ephemeral", "unknown"] | None = None


class WindowAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer about a window."""

    entities: list[WindowEntity] = []
    claims: list[WindowClaim] = []


class KeptClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that passed every gate. `cited`: the memories that state it, by id, in the order of
    the window, each with the passage that does."""

    content: str
    subject: str
    fact_type: str
    object: str | None
    object_type: str | None
    relationship_type: str | None
    attributes: Mapping[str, str]
    confidence: float
    cited: Mapping[str, str]
    t_valid: str | None
    t_invalid: str | None
    stability: Stability | None


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The kept part of an answer: entities, each with the memories that name it (ids), and claims;
    how many items were dropped, and types of entities that the ontology does not have."""

    entities: tuple[tuple[KeptEntity, tuple[str, ...]], ...]
    claims: tuple[KeptClaim, ...]
    dropped: int
    unknown_types: tuple[str, ...]


def kept_answer(
    answer: WindowAnswer,
    memories: Mapping[int, Memory],
    *,
    least: float,
    settings: EntitySettings,
    types: Ontology,
) -> KeptAnswer:
    """The part of an answer that is stored.

    Args:
        memories: of the window by number, without those that are context; as they are now.
        least: the confidence from which a claim is kept.
        settings, types: of the entities.
    """
    claims = [_kept_claim(one, memories, least) for one in answer.claims]
    kept = tuple(one for one in claims if one is not None)
    named = {name_form(end) for one in kept for end in (one.subject, one.object or "") if end}
    entities: dict[str, tuple[KeptEntity, tuple[str, ...]]] = {}
    unknown: Counter[str] = Counter()
    dropped = len(claims) - len(kept)
    for given in answer.entities:
        type, is_known = _type_of(given.type, types)
        found = _kept_entity(given, type, memories, settings, named)
        if found is None:
            dropped += 1
            continue
        if not is_known:
            unknown[given.type.strip().upper()] += 1
        before = entities.get(found[0].key)
        entities[found[0].key] = found if before is None else _joined(before, found)
    return KeptAnswer(
        entities=tuple(entities.values()),
        claims=kept,
        dropped=dropped,
        unknown_types=tuple(unknown),
    )


# --- entities ---------------------------------------------------------------------------------


def _type_of(given: str, types: Ontology) -> tuple[str, bool]:
    """The type of an entity, and whether the ontology has the one that was given."""
    known = types.get(given.strip().upper())
    return (_OTHER, False) if known is None else (known.name, True)


def _kept_entity(
    given: WindowEntity,
    type: str,
    memories: Mapping[int, Memory],
    settings: EntitySettings,
    named: set[str],
) -> tuple[KeptEntity, tuple[str, ...]] | None:
    """The entity with the memories that name it; None where it is no name, too uncertain, or
    neither a memory nor a claim (`named`) has it."""
    # a term of a domain has more than one word, but what is only called one may be any name
    gate = type if given.type.strip().upper() == type else ""
    if (
        not is_type(given.type.strip())
        or not name_form(given.name)
        or not is_name(given.name, gate)
    ):
        return None
    name = cased_name(given.name)
    confidence = settings.min_confidence if given.confidence is None else given.confidence
    if confidence < settings.min_confidence and not settings.store_low_confidence:
        return None
    numbers = given.sources or list(memories)
    cited = [memories[number] for number in dict.fromkeys(numbers) if number in memories]
    naming = tuple(one.id for one in cited if _names(one, name))
    if not cited or (not naming and name_form(name) not in named):
        return None
    evidence, longest = single_spaced(given.evidence), settings.max_evidence_length
    told = any(evidence and evidence in single_spaced(one.content) for one in cited)
    kept = KeptEntity(
        name=name,
        type=type,
        confidence=min(1.0, max(0.0, confidence)),
        evidence=evidence_text(evidence, longest) if told else "",
        description=" ".join(CONTROL_CHARACTERS.sub("", given.description).split())[:longest],
    )
    return kept, naming


def _names(memory: Memory, name: str) -> bool:
    return stands_in(name.casefold(), memory.content.casefold())


def _joined(
    a: tuple[KeptEntity, tuple[str, ...]], b: tuple[KeptEntity, tuple[str, ...]]
) -> tuple[KeptEntity, tuple[str, ...]]:
    """One entity of two items with one key: the surer one, with the longer description."""
    best, other = (a[0], b[0]) if a[0].confidence >= b[0].confidence else (b[0], a[0])
    longer = max(best.description, other.description, key=len)
    kept = msgspec.structs.replace(best, description=longer)
    return kept, tuple(dict.fromkeys((*a[1], *b[1])))


# --- claims -----------------------------------------------------------------------------------


def _kept_claim(
    given: WindowClaim, memories: Mapping[int, Memory], least: float
) -> KeptClaim | None:
    """The claim; None where it cites no memory of the window, is too uncertain, lacks an attribute
    of its type, or is none, or would end another value though nothing of it stands in the
    window."""
    fact_type = label_form(given.fact_type)
    subject, object = _text(given.subject), _text(given.object)
    relationship = _text(given.relationship_type) or None
    confidence = min(1.0, max(0.0, least if given.confidence is None else given.confidence))
    cited = [memories[number] for number in dict.fromkeys(given.sources) if number in memories]
    read = memories.values()
    known = FACT_TYPES.get(fact_type, FactType(None, (), ()))
    attributes = _attributes(given.attributes)
    if relationship is not None and "relationship_type" in known.required:
        attributes.setdefault("relationship_type", relationship)
    if (
        not cited
        or confidence < least
        or (fact_type in ONE_AT_A_TIME and not any(_states(one, given) for one in read))
        or not given.content.strip()
        or not 0 < len(subject) <= SCOPE_CHARS_MAX
        or len(object) > LABEL_CHARS_MAX
        or len(fact_type) > SCOPE_CHARS_MAX
        or not _LABEL.fullmatch(fact_type)
        or any(name not in attributes for name in known.required)
    ):
        return None
    object_type = _text(given.object_type)[:SCOPE_CHARS_MAX] or known.object_type
    return KeptClaim(
        content=given.content,
        subject=subject,
        fact_type=fact_type,
        object=object or None,
        object_type=object_type if object else None,
        relationship_type=None if relationship is None else relationship[:SCOPE_CHARS_MAX],
        attributes=attributes,
        confidence=confidence,
        cited={one.id: _passage(given.quote, one) for one in cited},
        t_valid=_time(given.t_valid),
        t_invalid=_time(given.t_invalid),
        stability=_stability(given.temporal_stability),
    )


def _states(memory: Memory, claim: WindowClaim) -> bool:
    """Return whether what a claim quotes stands in a memory, or a word of its object does, or
    without one of what it says beside its subject."""
    text = single_spaced(memory.content).casefold()
    quote = single_spaced(claim.quote).casefold()
    if quote and quote in text:
        return True
    said = claim.object if claim.object.strip() else claim.content
    subject = {one.term for one in content_terms(claim.subject, ())}
    terms = {one.term for one in content_terms(said, ())} - subject
    return not terms.isdisjoint(one.term for one in content_terms(memory.content, ()))


def label_form(given: str) -> str:
    """A label in capitals, its words joined by `_`.

    Example:
        >>> label_form("works at"), label_form("Lives-in")
        ('WORKS_AT', 'LIVES_IN')
    """
    return "_".join(given.upper().replace("-", " ").replace("_", " ").split())


def _text(given: str) -> str:
    return " ".join(CONTROL_CHARACTERS.sub("", given).split())


def _time(given: str) -> str | None:
    """A time; that of a month or a year is its beginning; None for other words."""
    text = given.strip()
    if _YEAR.fullmatch(text):
        text = f"{text}-01-01"[:10] if len(text) == 4 else f"{text}-01"
    try:
        parse_time(text, "time")
    except ValidationError:
        return None
    return text


def _attributes(given: Sequence[Attribute]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, value = "_".join(_text(one.name).casefold().split()), _text(one.value)
        fits = len(name) <= SCOPE_CHARS_MAX and len(value) <= LABEL_CHARS_MAX
        if name and value and fits and len(found) < _ATTRIBUTES_MAX:
            found.setdefault(name, value)
    return found


def _passage(quote: str, memory: Memory) -> str:
    """The quoted passage where it stands in the memory, else the memory's beginning."""
    text, wanted = single_spaced(memory.content), single_spaced(quote)
    if wanted and len(wanted) <= _QUOTE_CHARS_MAX and wanted in text:
        return wanted
    return text[:_BEGINNING_CHARS].rstrip()


def _stability(given: str | None) -> Stability | None:
    return None if given in (None, "unknown") else Stability(given)


def evidence_of(claim: KeptClaim, memories: Mapping[str, Memory]) -> tuple[Evidence, ...]:
    """The evidence of a claim, in the order of its memories' times."""
    cited = [(memories[id], passage) for id, passage in claim.cited.items() if id in memories]
    cited.sort(key=lambda pair: to_us(pair[0].t_valid))
    return tuple(
        Evidence(
            source_id=memory.id,
            timestamp=from_us(to_us(memory.t_valid)),
            author=memory.author,
            snippet=passage,
        )
        for memory, passage in cited
    )


# What a claim states, as far as two are compared.
Statement = tuple[Any, ...]


def statement_of(
    fact_type: str,
    relationship_type: str | None,
    object: str | None,
    attributes: Mapping[str, Any],
) -> Statement:
    """Return what a claim says of its subject: claims of one subject with equal statements are one.

    Example:
        >>> one = statement_of("works at", None, "ACME", {"role": "Lead "})
        >>> one == statement_of("WORKS_AT", None, "Acme", {"role": "lead", "since": ""})
        True
    """
    values = {name.casefold(): _value_form(value) for name, value in attributes.items()}
    return (
        label_form(fact_type),
        "" if relationship_type is None else label_form(relationship_type),
        "" if object is None else name_form(object),
        tuple(sorted((name, value) for name, value in values.items() if value)),
    )


def _value_form(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return " ".join(text.split()).casefold()


def name_form(name: str) -> str:
    """A name as names are compared; "" for a text without a visible character.

    Example:
        >>> name_form(" Acme. ") == name_form("ACME"), name_form(" ")
        (True, '')
    """
    try:
        return norm_name(name)
    except ValidationError:
        return ""
