"""The facts that memories state: claim, evidence, names and keywords, from one read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vestig.filters import Moments
from vestig.ids import id_bytes, id_text
from vestig.printed import said_by
from vestig.retrieve.values import Fact, claim_key, memory_key
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import RecalledMemory
from vestig.times import to_us
from vestig.types import Claim, Event, EventType, Evidence, Memory

_STATING: Final = frozenset(
    (EventType.ADD, EventType.IMPORT, EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)
)
_SNIPPET_CHARS_MAX: Final = 500


def facts_of(view: LedgerView, namespace: str, ids: Sequence[str], at: Moments) -> dict[str, Fact]:
    """Memory id → the fact that it states, as it was known; none for a memory that is gone."""
    raw = [id_bytes(id) for id in view.places(namespace, ids)]
    stored = {one.row: one for one in view.recalled(namespace, raw).values()}
    rows = tuple(stored)
    names, claims = view.mentioned_names(rows), view.claims_at(rows)
    evidence = _evidence(view, namespace, stored, claims, at)
    facts = [
        _fact(one, claims.get(row), tuple(evidence.get(row, ())), tuple(names.get(row, ())))
        for row, one in stored.items()
    ]
    return {fact.id: fact for fact in facts}


def _fact(
    stored: RecalledMemory,
    claim: Claim | None,
    evidence: tuple[Evidence, ...],
    names: tuple[str, ...],
) -> Fact:
    return Fact(
        key=memory_key(stored.digest) if claim is None else claim_key(claim),
        id=id_text("mem", stored.id),
        content=stored.content,
        t_valid_us=stored.t_valid_us,
        claim=claim,
        evidence=evidence,
        evidence_count=len(evidence),
        keywords=stored.keywords,
        entities=names,
        # what nobody but a user or a document states is plain unless it ended
        said_by="" if stored.plain else said_by(stored.make()),
    )


def _evidence(
    view: LedgerView,
    namespace: str,
    memories: Mapping[int, RecalledMemory],
    claims: Mapping[int, Claim],
    at: Moments,
) -> dict[int, Sequence[Evidence]]:
    """Row of a memory → where it was stated: what its claim names, else one piece for each event
    that stated its text."""
    found: dict[int, Sequence[Evidence]] = {
        row: claim.evidence for row, claim in claims.items() if claim.evidence
    }
    plain = [row for row in memories if row not in found]
    if not at.past:
        return found | view.evidence_at(plain)
    for row in plain:
        memory = memories[row].make()
        found[row] = [
            _piece(event, memory)
            for event in view.events(namespace, memory.id)
            if event.event_type in _STATING and to_us(event.recorded_at) <= at.known_at_us
        ]
    return found


def _piece(event: Event, memory: Memory) -> Evidence:
    variant = event.payload.get("variant")
    text = variant if isinstance(variant, str) else memory.content
    return Evidence(
        source_id=event.artifact_ref,
        timestamp=event.occurred_at,
        author=memory.author,
        snippet=text[:_SNIPPET_CHARS_MAX],
    )
