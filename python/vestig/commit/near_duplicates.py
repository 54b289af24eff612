"""Memories that are similar to a group of new ones, and what the fact guard compares of them.

Similar ones of the store come from one call of the core for each namespace, those of the group
from one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vestig.commit.fact_guard import GuardText, prepare
from vestig.commit.item import Item
from vestig.ids import id_bytes, id_text
from vestig.ports import LedgerView
from vestig.session.session import Session
from vestig.store.projection.keeper import similar_within
from vestig.times import to_us
from vestig.types import Memory

__all__ = ["SimilarMemories", "item_guard", "similar_memories", "stored_guard"]

_FLOAT32_BYTES: Final = 4
# Texts near new ones tend to be the same few; each takes about a kilobyte.
_GUARDS_MAX: Final = 4_096


class SimilarMemories(msgspec.Struct, frozen=True, kw_only=True):
    """What is similar to one item. `candidates` (possible near-duplicates) and `related`: (id,
    cosine) in the store, best first. `in_group`: (place, cosine) of earlier items of the group
    above the lower of the two thresholds."""

    candidates: tuple[tuple[str, float], ...] = ()
    related: tuple[tuple[str, float], ...] = ()
    in_group: tuple[tuple[int, float], ...] = ()


def similar_memories(
    session: Session, view: LedgerView, items: Sequence[Item]
) -> dict[int, SimilarMemories]:
    """By place, for every item that has a vector; {} where the configuration has no use for it."""
    settings = session.config.settings
    if not (settings.hygiene.near_duplicate.enabled or settings.links.related.enabled):
        return {}
    places = [place for place, item in enumerate(items) if item.vector is not None]
    found: dict[int, SimilarMemories] = {}
    for space in dict.fromkeys(items[place].request.namespace for place in places):
        of_space = [place for place in places if items[place].request.namespace == space]
        found.update(_in_namespace(session, view, items, of_space))
    return found


def _excluded(view: LedgerView, item: Item) -> bytes:
    """Packed ids of the memories that the item replaces: they are no near-duplicates of it."""
    request = item.request
    if not request.supersedes:
        return b""
    known = (view.ids_with_prefix(request.namespace, id, 2) for id in request.supersedes)
    return b"".join(id_bytes(id) for ids in known for id in ids)


def _in_namespace(
    session: Session, view: LedgerView, items: Sequence[Item], places: list[int]
) -> dict[int, SimilarMemories]:
    settings = session.config.settings
    near, related = settings.hygiene.near_duplicate, settings.links.related
    vectors = [items[place].vector or b"" for place in places]
    requests = [items[place].request for place in places]
    packed = b"".join(vectors)
    answers = session.keeper.core.similar(
        view.seq,
        packed,
        requests[0].namespace,
        [request.scope for request in requests],
        [request.author for request in requests],
        [_excluded(view, items[place]) for place in places],
        near.threshold,
        near.max_candidates if near.enabled else 0,
        related.similarity_threshold,
        related.max_edges_per_memory if related.enabled else 0,
    )
    thresholds = [near.threshold] * near.enabled + [related.similarity_threshold] * related.enabled
    own: list[list[tuple[int, float]]] = [[] for _ in places]
    if len(places) > 1 and thresholds:
        own = similar_within(packed, len(vectors[0]) // _FLOAT32_BYTES, min(thresholds))
    return {
        place: SimilarMemories(
            candidates=tuple((id_text("mem", raw), score) for raw, score in close),
            related=tuple((id_text("mem", raw), score) for raw, score in linked),
            in_group=tuple((places[j], score) for j, score in earlier),
        )
        for place, (close, linked), earlier in zip(places, answers, own, strict=True)
    }


class GuardTexts:
    """What the fact guard compares of stored memories, by id."""

    def __init__(self) -> None:
        self.by_id: dict[str, GuardText] = {}

    def drop(self, _seq: int, /) -> None:
        """Facts of forgotten memories go, with all others."""
        self.by_id.clear()


def stored_guard(session: Session, view: LedgerView, memory: Memory) -> GuardText:
    """What the fact guard compares of a stored memory; its relative times are measured from its own
    reference time. Text and reference time never change, so what was prepared stays true."""
    guards = session.cache(GuardTexts).by_id
    guard = guards.get(memory.id)
    if guard is None:
        first = view.events(memory.namespace, memory.id, 1)
        at = to_us(first[0].occurred_at if first else memory.t_valid)
        guard = prepare(memory.content, at, session.config.settings.time.zone)
        if len(guards) >= _GUARDS_MAX:
            guards.clear()
        guards[memory.id] = guard
    return guard


def item_guard(session: Session, item: Item) -> GuardText:
    """What the fact guard compares of an item's text; made once."""
    if item.guard is None:
        item.guard = prepare(item.text, item.reference_us, session.config.settings.time.zone)
    return item.guard
