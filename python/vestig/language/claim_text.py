"""A claim as text: as a person reads it, and as it is embedded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vestig.types import Claim

# An attribute of the product's own, nothing that the claim says.
_INTERNAL: Final = frozenset(("assessment",))


def claim_words(subject: str, relation: str | None, object: str | None) -> str:
    """`Subject relation object`; what is missing or blank is left out.

    Example:
        >>> claim_words("Ada", "WORKS_AT", "Acme"), claim_words("Ada", None, "tall")
        ('Ada WORKS_AT Acme', 'Ada tall')
    """
    return " ".join(part.strip() for part in (subject, relation, object) if part and part.strip())


def claim_attributes(attributes: Mapping[str, Any]) -> str:
    """`k=v, k=v` by name; empty values and internal attributes are left out, 0 and false are not.

    Example:
        >>> claim_attributes({"since": 2021, "role": "lead", "note": "", "assessment": "x"})
        'role=lead, since=2021'
    """
    return ", ".join(
        f"{name}={_written(value)}"
        for name, value in sorted(attributes.items())
        if name not in _INTERNAL and not _is_empty(value)
    )


def claim_embedded_text(
    subject: str,
    relation: str | None,
    object: str | None,
    attributes: Mapping[str, Any],
    snippets: Sequence[str] = (),
) -> str:
    """The text of a claim that is embedded: `Subject relation object. k=v. Evidence: a | b`; parts
    that are blank are left out.

    Example:
        >>> claim_embedded_text("Ada", "WORKS_AT", "Acme", {"since": 2021}, ["I joined Acme", ""])
        'Ada WORKS_AT Acme. since=2021. Evidence: I joined Acme'
    """
    told = " | ".join(" ".join(snippet.split()) for snippet in snippets if snippet.strip())
    parts = (
        claim_words(subject, relation, object),
        claim_attributes(attributes),
        f"Evidence: {told}" if told else "",
    )
    return ". ".join(part for part in parts if part)


def claim_text(claim: Claim) -> str:
    """Return what the memory of a claim is embedded as. The relation is the type of the
    relationship, else of the fact.

    Example:
        >>> claim_text(Claim(subject="Ada", fact_type="WORKS_AT", object="Acme"))
        'Ada WORKS_AT Acme'
    """
    return claim_embedded_text(
        claim.subject,
        claim.fact_type if claim.relationship_type is None else claim.relationship_type,
        claim.object,
        claim.attributes,
        [one.snippet for one in claim.evidence],
    )


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, (list, tuple, Mapping)) and not value)


def _written(value: Any) -> str:
    """A text on one line; anything else as JSON."""
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
