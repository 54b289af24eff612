"""The claim that a caller gives with a text, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vestig.arguments import (
    LABEL_CHARS_MAX,
    LIST_ITEMS_MAX,
    SCOPE_CHARS_MAX,
    as_number,
    label,
    plain_object,
    time_us,
)
from vestig.changes import NewClaim, NewEvidence
from vestig.errors import ValidationError
from vestig.hints import check_names
from vestig.ids import is_full_id
from vestig.language.text_forms import single_spaced
from vestig.times import from_us, to_us
from vestig.types import Claim, Evidence

CLAIM_FIELDS: Final = (
    "subject",
    "subject_id",
    "fact_type",
    "object",
    "object_id",
    "object_type",
    "relationship_type",
    "attributes",
    "confidence",
    "evidence",
)
EVIDENCE_FIELDS: Final = ("source_id", "timestamp", "author", "snippet")
SNIPPET_CHARS_MAX: Final = 500


def given_claim(value: object) -> Claim | None:
    """The argument `claim`: an object of `CLAIM_FIELDS`, of which `subject` and `fact_type` are
    required. `subject_id` and `object_id` are texts still, which `claim_references` resolves.

    Raises:
        ValidationError: the first bad field, with its place.

    Example:
        >>> given_claim({"subject": "Ana", "fact_type": "WORKS_AT", "object": "Acme"}).object
        'Acme'
    """
    if value is None:
        return None
    fields = _fields("claim", value, CLAIM_FIELDS)
    return Claim(
        subject=_required("claim.subject", fields.get("subject")),
        subject_id=_optional("claim.subject_id", fields.get("subject_id")),
        fact_type=_required("claim.fact_type", fields.get("fact_type")),
        object=_optional("claim.object", fields.get("object"), LABEL_CHARS_MAX),
        object_id=_optional("claim.object_id", fields.get("object_id")),
        object_type=_optional("claim.object_type", fields.get("object_type")),
        relationship_type=_optional("claim.relationship_type", fields.get("relationship_type")),
        attributes=plain_object("claim.attributes", fields.get("attributes") or {}),
        confidence=_share("claim.confidence", fields.get("confidence")),
        evidence=_evidence(fields.get("evidence")),
    )


def _fields(field: str, value: object, names: Sequence[str]) -> Mapping[str, Any]:
    """An object with these fields only."""
    if not isinstance(value, Mapping):
        raise ValidationError(field, type(value).__name__, f"an object of {', '.join(names)}")
    check_names(value, names, field, path=field)
    return value


def _required(field: str, value: object) -> str:
    text = _optional(field, value)
    if text is None:
        raise ValidationError(field, value, "text that is not blank")
    return text


def _optional(field: str, value: object, chars_max: int = SCOPE_CHARS_MAX) -> str | None:
    text = label(field, value, chars_max)
    if text is not None and not text.strip():
        raise ValidationError(field, value, "text that is not blank")
    return None if text is None else text.strip()


def _share(field: str, value: object) -> float | None:
    if value is None:
        return None
    number = as_number(value)
    if number is not None and 0 <= number <= 1:
        return float(number)
    raise ValidationError(field, value, "a number from 0 to 1")


def _evidence(value: object) -> tuple[Evidence, ...]:
    field = "claim.evidence"
    if value is None:
        return ()
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise ValidationError(field, type(value).__name__, "a list of objects")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError(field, f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
    return tuple(_one_evidence(f"{field}[{at}]", item) for at, item in enumerate(value))


def _one_evidence(field: str, item: object) -> Evidence:
    fields = _fields(field, item, EVIDENCE_FIELDS)
    source_id = _source_id(f"{field}.source_id", fields.get("source_id"))
    snippet = _optional(f"{field}.snippet", fields.get("snippet"), SNIPPET_CHARS_MAX)
    if source_id is None and snippet is None:
        raise ValidationError(field, "neither", "a snippet, a source_id or both")
    stated_us = time_us(f"{field}.timestamp", fields.get("timestamp"))
    return Evidence(
        source_id=source_id,
        timestamp=None if stated_us is None else from_us(stated_us),
        author=_optional(f"{field}.author", fields.get("author")),
        snippet="" if snippet is None else single_spaced(snippet),
    )


def _source_id(field: str, value: object) -> str | None:
    text = _optional(field, value)
    if text is None or is_full_id(text, "source") or is_full_id(text, "mem"):
        return text
    raise ValidationError(field, text, "the whole id of a source (source_…) or a memory (mem_…)")


def new_claim(memory_id: str, claim: Claim) -> NewClaim:
    """The row of a claim."""
    fields = {name: getattr(claim, name) for name in CLAIM_FIELDS if name != "evidence"}
    evidence = tuple(
        NewEvidence(
            source_id=one.source_id,
            stated_us=None if one.timestamp is None else to_us(one.timestamp),
            author=one.author,
            snippet=one.snippet,
        )
        for one in claim.evidence
    )
    return NewClaim(memory_id=memory_id, evidence=evidence, **fields)
