"""Answers of a language model about one memory, and the part that is kept.

An answer is untrusted: it is cut to the limits of the configuration, and nothing in it is ever
followed but a verdict, which can do one thing: one older memory is superseded by the new one, with
its text, its history and a record of who said so. Whatever else an answer says changes no memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from vestig.commit.canonical_form import canonical_form, is_same_statement
from vestig.commit.entities import KeptEntity
from vestig.config.recall_sections import EntitySettings
from vestig.config.schema import UpdateSettings
from vestig.language.names import cased_name, is_specific
from vestig.language.ontology import Ontology
from vestig.language.text_forms import CONTROL_CHARACTERS, evidence_text, normal_form, sentences
from vestig.language.time.expressions import find_windows
from vestig.lazy_pattern import lazy_pattern
from vestig.store.records import rule_rows
from vestig.store.records.reads import LedgerView
from vestig.types import Memory, Stability, Status

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


# --- verdicts on older memories ---------------------------------------------------------------

# Memories that one answer may replace.
SUPERSEDED_MAX: Final = 3
# Letters of scripts that put spaces between words; of the others any part may be a word.
_LETTER: Final = (
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_LETTERS: Final = lazy_pattern(_LETTER)
# Marks that end a sentence without a space behind them.
_FULL_STOP_WITHIN: Final = lazy_pattern(r"[。！？｡؟।]\s*\S")  # noqa: RUF001


class OlderMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was similar when the new one was stored. `is_claim`: it carries one; `is_rule`:
    it is the text of a rule."""

    memory: Memory
    is_claim: bool
    is_rule: bool = False


class FollowedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict about one older memory. `ignored`: why a memory that the model takes for replaced
    is not; None where it is, or where the model does not take it so."""

    memory: Memory
    verdict: Verdict
    confidence: float
    ignored: str | None = None

    @property
    def supersedes(self) -> bool:
        """Return whether the older memory is superseded."""
        return self.verdict == "supersedes" and self.ignored is None


class FollowedVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts in the order of the numbers, and how many items of the answer had a number that was
    not shown (`unknown_number`) or one that was judged before (`repeated_number`)."""

    verdicts: tuple[FollowedVerdict, ...]
    left_out: Mapping[str, int]

    @property
    def superseded(self) -> list[Memory]:
        """Return the memories that are superseded."""
        return [one.memory for one in self.verdicts if one.supersedes]

    def payload(self) -> dict[str, Any]:
        """The part of an event: ids and words of ours, no word of a text, which may be
        forgotten."""
        rows = [
            {
                "memory_id": one.memory.id,
                "verdict": one.verdict,
                "confidence": one.confidence,
                "superseded": one.supersedes,
                "ignored": one.ignored,
            }
            for one in self.verdicts
        ]
        return {"verdicts": rows, "left_out": dict(self.left_out)}


def older_memories(view: LedgerView, memory: Memory) -> dict[int, OlderMemory]:
    """Return the similar memories that are stored still, by number.

    A number is the place in what the commit recorded: it means the same memory in a batch that is
    answered a day later, whatever was forgotten meanwhile.
    """
    ids = recorded_similar(view, memory)
    found = {one.id: one for one in view.memories(memory.namespace, ids)}
    claims = view.claims(memory.namespace, ids) if ids else {}
    return {
        number: OlderMemory(
            memory=found[id], is_claim=id in claims, is_rule=rule_rows.is_rule(view, found[id])
        )
        for number, id in enumerate(ids, 1)
        if id in found
    }


def recorded_similar(view: LedgerView, memory: Memory) -> list[str]:
    """Ids of the memories that an event of a memory names as similar, nearest first; the first
    such event counts."""
    for event in view.events(memory.namespace, memory.id):
        similar = event.payload.get("similar")
        if similar:
            return [one["memory_id"] for one in similar]
    return []


def shown(older: Mapping[int, OlderMemory]) -> dict[int, Memory]:
    """Return the memories about which a model is asked: those that are active."""
    return {
        number: one.memory for number, one in older.items() if one.memory.status is Status.ACTIVE
    }


def update_values(memory: Memory, older: Mapping[int, Memory]) -> dict[str, str]:
    """Return what the prompt is given beside the new text: JSON, so that no text can be taken for
    another number."""
    lines = [
        _line({"number": number, **_origin(one), "text": one.content})
        for number, one in older.items()
    ]
    return {"origin": _line(_origin(memory)), "older": "\n".join(lines)}


def _line(values: Mapping[str, object]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _origin(memory: Memory) -> dict[str, str | None]:
    return {"since": memory.t_valid.date().isoformat(), "author": memory.author}


def followed_verdicts(
    judged: Sequence[JudgedUpdate],
    memory: Memory,
    older: Mapping[int, OlderMemory],
    settings: UpdateSettings,
) -> FollowedVerdicts:
    """Decides which older memories are superseded by a new one: the surest first, at most three.

    Args:
        judged: the answer.
        memory: the new memory, as it is now.
        older: by number, as they are now.
    """
    left_out: Counter[str] = Counter()
    found: dict[int, FollowedVerdict] = {}
    superseded = 0
    for one in sorted(judged, key=_confidence, reverse=True):
        other = older.get(one.number)
        if other is None or one.number in found:
            left_out["unknown_number" if other is None else "repeated_number"] += 1
            continue
        ignored = None
        if one.verdict == "supersedes":
            ignored = ignored_because(one, memory, other, settings)
            if ignored is None and superseded == SUPERSEDED_MAX:
                ignored = "too_many"
            superseded += ignored is None
        found[one.number] = FollowedVerdict(
            memory=other.memory,
            verdict=one.verdict,
            confidence=_confidence(one),
            ignored=ignored,
        )
    return FollowedVerdicts(
        verdicts=tuple(found[number] for number in sorted(found)), left_out=left_out
    )


def ignored_because(
    judged: JudgedUpdate, memory: Memory, other: OlderMemory, settings: UpdateSettings
) -> str | None:
    """Return why a verdict that an older memory is replaced is not followed; None = it is."""
    old = other.memory
    if (old.namespace, old.scope) != (memory.namespace, memory.scope):
        return "other_scope"
    if old.status is not Status.ACTIVE or memory.status is not Status.ACTIVE:
        return "not_active"
    if other.is_rule:
        return "rule"
    if old.pinned:
        return "pinned"
    if old.confirmed and not memory.confirmed:
        return "unconfirmed"
    if old.key is not None and old.key != memory.key:
        return "other_key"
    if old.t_valid >= memory.t_valid:
        return "not_older"
    if _confidence(judged) < settings.min_confidence:
        return "uncertain"
    if not stands_in(judged.old_value, old.content):
        return "old_value_not_found"
    if not stands_in(judged.new_value, memory.content):
        return "new_value_not_found"
    if is_same_statement(canonical_form(judged.old_value), canonical_form(judged.new_value)):
        return "equal_values"
    if not other.is_claim and not is_one_sentence(old.content):
        return "says_more"
    return None


def _confidence(judged: JudgedUpdate) -> float:
    given = 0.0 if judged.confidence is None else judged.confidence
    return min(1.0, max(0.0, given))


def stands_in(value: str, text: str) -> bool:
    """Return whether a passage stands in a text word for word, as whole words; layout does not
    matter.

    Example:
        >>> stands_in("Porto", "Maria lives in Porto."), stands_in("or", "Maria lives in Porto.")
        (True, False)
    """
    passage, whole = normal_form(value).strip(), normal_form(text)
    if not passage:
        return False
    at = whole.find(passage)
    while at >= 0:
        end = at + len(passage)
        if not _within_word(whole, at) and not _within_word(whole, end):
            return True
        at = whole.find(passage, at + 1)
    return False


def _within_word(text: str, at: int) -> bool:
    """Return whether a place is between two letters or digits of one word."""
    return 0 < at < len(text) and all(_LETTERS.match(one) for one in text[at - 1 : at + 1])


def is_one_sentence(text: str) -> bool:
    """Return whether a text says one thing: a single sentence on a single line.

    Example:
        >>> is_one_sentence("Maria lives in Porto."), is_one_sentence("It rained. Who came?")
        (True, False)
    """
    whole = text.strip()
    if len(whole.splitlines()) > 1 or _FULL_STOP_WITHIN.search(whole):
        return False
    return sum(1 for _ in sentences(whole)) == 1
