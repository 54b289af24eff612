"""Edges that callers make: what may be linked to what (D-03, G-10)."""

from __future__ import annotations

import math
import sys
from typing import Final

import msgspec

from vestig.changes import NewEdge
from vestig.errors import ValidationError
from vestig.ids import check_id_prefix, new_id
from vestig.language.evidence import evidence_text
from vestig.types import EdgeType, Entity, Kind, Memory

__all__ = [
    "ALL_TYPES",
    "LinkRequest",
    "check_ends",
    "edge_type_argument",
    "link_request",
    "number_argument",
]

AFFECTS: Final = "AFFECTS"
# The ten types of D-03; AFFECTS is a view of the event log.
ALL_TYPES: Final = (*(kind.value for kind in EdgeType), AFFECTS)
# type → prefix of both ends
_LINKABLE: Final = {EdgeType.RELATED: "mem", EdgeType.SUMMARIZES: "mem", EdgeType.RELATION: "ent"}
_MAKERS: Final = {
    "MENTIONS": "extraction makes it, from the names in a memory's text",
    "CONTAINS": "ingesting a document makes it",
    "SUMMARIZED_BY": "ingesting a document makes it",
    "LINKED": "ingesting a document makes it, from the names in its text",
    "PRODUCED": "every commit that has a source makes it",
    "HAS_CHUNK": "ingesting a document makes it",
    AFFECTS: "it is a view of the event log, which every change of a memory writes",
}
_RELATION_CHARS_MAX: Final = 200


class LinkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A checked link; ids as the caller wrote them."""

    from_id: str
    to_id: str
    prefix: str
    edge_type: EdgeType
    relation: str | None
    weight: float
    confidence: float | None
    evidence: str | None

    def edge(self, from_id: str, to_id: str) -> NewEdge:
        """The row, between full ids."""
        return NewEdge(
            id=new_id("edge"),
            from_id=from_id,
            to_id=to_id,
            edge_type=self.edge_type,
            weight=self.weight,
            confidence=self.confidence,
            evidence=self.evidence,
            origin="caller",
            relation=self.relation,
        )


def edge_type_argument(value: object) -> str:
    """One of the ten types of edges.

    Raises:
        ValidationError: any other; lists the ten.

    Example:
        >>> edge_type_argument("RELATED")
        'RELATED'
    """
    if not isinstance(value, str) or value not in ALL_TYPES:
        raise ValidationError("edge_type", value, "one of " + ", ".join(ALL_TYPES))
    return str(value)


def _linkable(value: object) -> EdgeType:
    word = edge_type_argument(value)
    if word in _MAKERS:
        raise ValidationError(
            "edge_type", word, "one of " + ", ".join(_LINKABLE), f"{word}: {_MAKERS[word]}"
        )
    return EdgeType(word)


def number_argument(field: str, value: object, most: float, allowed: str) -> float:
    """A finite number from 0 to `most`; true is no number.

    Example:
        >>> number_argument("weight", 1, 2.0, "a number from 0 to 2")
        1.0
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # NaN is in no range; what no float can hold is above it.
        number = float(value) if abs(value) <= sys.float_info.max else math.inf
        if 0.0 <= number <= most and not math.isinf(number):
            return number + 0.0  # makes -0.0 a plain zero
    raise ValidationError(field, value, allowed)


def _plain(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValidationError(field, type(value).__name__, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValidationError(field, "…", "text without lone surrogates") from None
    return value


def _relation(value: object, edge_type: EdgeType) -> str | None:
    """The label of a RELATION: upper case, runs of white space made `_`."""
    if edge_type is not EdgeType.RELATION:
        if value is not None:
            raise ValidationError("relation", value, f"nothing: {edge_type.value} has no label")
        return None
    if value is None:
        raise ValidationError("relation", None, "the label of a RELATION, such as WORKS_AT")
    label = "_".join(_plain("relation", value).upper().split())
    if not 1 <= len(label) <= _RELATION_CHARS_MAX:
        raise ValidationError(
            "relation", f"{len(label)} characters", f"1 to {_RELATION_CHARS_MAX} characters"
        )
    return label


def link_request(
    from_id: object,
    to_id: object,
    edge_type: object,
    *,
    relation: object,
    weight: object,
    confidence: object,
    evidence: object,
    evidence_max: int,
) -> LinkRequest:
    """The arguments of `link`, checked (D-03).

    Raises:
        ValidationError: names the field, what came and what is allowed.
    """
    kind = _linkable(edge_type)
    prefix = _LINKABLE[kind]
    sure = None
    if confidence is not None:
        sure = number_argument("confidence", confidence, 1.0, "a number from 0 to 1, or null")
    return LinkRequest(
        from_id=check_id_prefix("from_id", from_id, prefix),
        to_id=check_id_prefix("to_id", to_id, prefix),
        prefix=prefix,
        edge_type=kind,
        relation=_relation(relation, kind),
        weight=number_argument("weight", weight, math.inf, "a finite number >= 0"),
        confidence=sure,
        evidence=None
        if evidence is None
        else evidence_text(_plain("evidence", evidence), evidence_max),
    )


def check_ends(request: LinkRequest, start: Memory | Entity, end: Memory | Entity) -> None:
    """Two different nodes, and a summary where a summary belongs.

    Raises:
        ValidationError: an edge from a node to itself, or SUMMARIZES from another kind.
    """
    if start.id == end.id:
        raise ValidationError("to_id", end.id, f"another node than from_id {start.id}")
    summary = isinstance(start, Memory) and start.kind is Kind.SUMMARY
    if request.edge_type is EdgeType.SUMMARIZES and not summary:
        raise ValidationError("from_id", start.id, "a memory of kind SUMMARY for SUMMARIZES")
