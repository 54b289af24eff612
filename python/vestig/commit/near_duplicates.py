"""Memories near a group of new vectors: the store's in one crossing, and the group's own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vestig.commit.item import Item
from vestig.ids import id_bytes, id_text
from vestig.ports import LedgerView
from vestig.session.session import Session
from vestig.store.projection.keeper import similar_within

__all__ = ["NOBODY", "Neighbours", "neighbours"]

_FLOAT32_BYTES = 4


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """`near` and `related`: (id, cosine), best first. `group`: (place, cosine) of earlier items
    of the group above the lower of the two thresholds."""

    near: tuple[tuple[str, float], ...] = ()
    related: tuple[tuple[str, float], ...] = ()
    group: tuple[tuple[int, float], ...] = ()


NOBODY = Neighbours()


def neighbours(session: Session, view: LedgerView, items: Sequence[Item]) -> dict[int, Neighbours]:
    """By place, for every item that has a vector; nobody where neighbours count for nothing."""
    settings = session.config.settings
    if not (settings.hygiene.near_duplicate.enabled or settings.links.related.enabled):
        return {}
    places = [place for place, item in enumerate(items) if item.vector is not None]
    found: dict[int, Neighbours] = {}
    for space in dict.fromkeys(items[place].request.namespace for place in places):
        mine = [place for place in places if items[place].request.namespace == space]
        found.update(_in_namespace(session, view, items, mine))
    return found


def _excluded(view: LedgerView, item: Item) -> bytes:
    """Memories that the item replaces are no near-duplicates of it."""
    request = item.request
    if not request.supersedes:
        return b""
    known = (view.ids_with_prefix(request.namespace, id, 2) for id in request.supersedes)
    return b"".join(id_bytes(id) for ids in known for id in ids)


def _in_namespace(
    session: Session, view: LedgerView, items: Sequence[Item], places: list[int]
) -> dict[int, Neighbours]:
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
    wanted = [near.threshold] * near.enabled + [related.similarity_threshold] * related.enabled
    own: list[list[tuple[int, float]]] = [[] for _ in places]
    if len(places) > 1 and wanted:
        own = similar_within(packed, len(vectors[0]) // _FLOAT32_BYTES, min(wanted))
    return {
        place: Neighbours(
            near=tuple((id_text("mem", raw), score) for raw, score in close),
            related=tuple((id_text("mem", raw), score) for raw, score in linked),
            group=tuple((places[j], score) for j, score in earlier),
        )
        for place, (close, linked), earlier in zip(places, answers, own, strict=True)
    }
