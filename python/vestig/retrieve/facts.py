"""Memories as facts: what they state, where it was said, what they mention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vestig.filters import Moments
from vestig.memories.read import as_known
from vestig.ports import LedgerView
from vestig.retrieve.types import Fact, claim_key, memory_key
from vestig.times import to_us
from vestig.types import Claim, Event, EventType, Evidence, Memory

__all__ = ["facts_of"]

_STATING: Final = frozenset(
    (EventType.ADD, EventType.IMPORT, EventType.REINFORCE_EXACT, EventType.REINFORCE_NEAR)
)
_SNIPPET_CHARS_MAX: Final = 500


def facts_of(
    view: LedgerView, namespace: str, ids: Sequence[bytes], at: Moments
) -> dict[str, Fact]:
    """Memory id → the fact that it states, as it was known; without a similarity.

    Args:
        ids: 16 bytes each.
    """
    if not ids:
        return {}
    stored = view.recalled(namespace, ids)
    memories = as_known(view, namespace, [one.make() for one in stored.values()], at)
    texts = [memory.id for memory in memories]
    names, claims = _names(view, namespace, texts), view.claims(namespace, texts)
    evidence = _evidence(view, namespace, memories, claims, at)
    return {
        memory.id: _fact(
            memory,
            claims.get(memory.id),
            tuple(evidence.get(memory.id, ())),
            names.get(memory.id, ()),
        )
        for memory in memories
    }


def _fact(
    memory: Memory, claim: Claim | None, evidence: tuple[Evidence, ...], names: tuple[str, ...]
) -> Fact:
    return Fact(
        key=memory_key(memory) if claim is None else claim_key(claim),
        memory=memory,
        claim=claim,
        evidence=evidence,
        evidence_count=len(evidence),
        keywords=memory.keywords,
        entities=names,
        similarity=None,
    )


def _names(view: LedgerView, namespace: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Memory id → names of the entities that it mentions."""
    mentions = view.mentions(namespace, ids)
    wanted = list(dict.fromkeys(one.entity_id for one in mentions))
    rows = view.named_entities(namespace, wanted) if wanted else []
    known = {id: name for id, _, name, *_ in rows}
    found: dict[str, tuple[str, ...]] = {}
    for one in mentions:
        if one.entity_id in known:
            found[one.memory_id] = (*found.get(one.memory_id, ()), known[one.entity_id])
    return found


def _evidence(
    view: LedgerView,
    namespace: str,
    memories: Sequence[Memory],
    claims: Mapping[str, Claim],
    at: Moments,
) -> dict[str, Sequence[Evidence]]:
    """Memory id → where it was stated: what its claim names, else one piece for each event that
    stated its text."""
    plain = [one for one in memories if not (one.id in claims and claims[one.id].evidence)]
    found: dict[str, Sequence[Evidence]] = {
        id: claim.evidence for id, claim in claims.items() if claim.evidence
    }
    if not at.past:
        return found | view.evidence_of(namespace, [one.id for one in plain])
    below = view.recorded_below(at.known_at_us)
    for memory in plain:
        events = view.events(namespace, memory.id)
        found[memory.id] = [
            _piece(event, memory)
            for event in events
            if event.event_type in _STATING
            and (to_us(event.recorded_at) <= at.known_at_us or event.seq < below)
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
