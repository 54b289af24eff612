"""Memories that are similar to a group of new ones, and the canonical forms of their texts.

One call of the core for each namespace finds near-duplicates, RELATED memories and what is known of
the same, in the store and among the items themselves: each array is read once for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Final

import msgspec

from vestig.commit.canonical_form import CanonicalForm, canonical_form
from vestig.commit.item import Item, TextKey
from vestig.ids import id_bytes, id_text
from vestig.language.text_forms import one_line
from vestig.session.session import Session
from vestig.store.records.memory_queries import ids_with_text
from vestig.store.records.reads import LedgerView
from vestig.times import from_us
from vestig.types import Difference, Memory, SimilarMemory

# Memories that a new text is compared with: the same statement is among the nearest few.
CANDIDATES_MAX: Final = 50
# Similar memories that the core gives: more than are shown, for a commit replaces some of them.
SIMILAR_FOUND: Final = 8
SIMILAR_SHOWN: Final = 3
_BEGINNING_CHARS: Final = 120
# Texts near new ones tend to be the same few; each takes about a kilobyte.
_FORMS_MAX: Final = 4_096


class SimilarMemories(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Memories that are similar to one item. `candidates` (possible near-duplicates), `related` and
    `known` (of any author): (id, cosine) in the store, best first. `in_group`: (place, cosine) of
    earlier items of the group above the lowest of the thresholds."""

    candidates: tuple[tuple[str, float], ...] = ()
    related: tuple[tuple[str, float], ...] = ()
    known: tuple[tuple[str, float], ...] = ()
    in_group: tuple[tuple[int, float], ...] = ()


class NearDuplicate(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate that makes the same statement, with its cosine; else `nearest`, id and cosine
    of the best."""

    match: Memory | None = None
    score: float | None = None
    nearest: tuple[str, float] | None = None


def similar_memories(
    session: Session, view: LedgerView, items: Sequence[Item], repeating: Container[int]
) -> dict[int, SimilarMemories]:
    """By place, for every item that has a vector.

    Args:
        repeating: places of the items whose text the store holds; memories of one text are not
            related.
    """
    places = [place for place, item in enumerate(items) if item.vector is not None]
    found: dict[int, SimilarMemories] = {}
    for space in dict.fromkeys(items[place].request.namespace for place in places):
        of_space = [place for place in places if items[place].request.namespace == space]
        found.update(_in_namespace(session, view, items, of_space, repeating))
    return found


def _excluded(view: LedgerView, item: Item) -> bytes:
    """Packed ids of the memories that the item replaces: they are no near-duplicates of it."""
    request = item.request
    if not request.supersedes:
        return b""
    known = (view.ids_with_prefix(request.namespace, id, 2) for id in request.supersedes)
    return b"".join(id_bytes(id) for ids in known for id in ids)


def _in_namespace(
    session: Session,
    view: LedgerView,
    items: Sequence[Item],
    places: list[int],
    repeating: Container[int],
) -> dict[int, SimilarMemories]:
    settings = session.config.settings
    near, related = settings.hygiene.near_duplicate, settings.links.related
    requests = [items[place].request for place in places]
    texts, numbers = dict[TextKey, int](), list[int]()
    for place in places:
        numbers.append(texts.setdefault(items[place].text_key, len(texts)))
    min_score = settings.similar.min_score
    thresholds = [near.threshold] * near.enabled + [related.similarity_threshold] * related.enabled
    answers = session.keeper.core.similar(
        view.seq,
        b"".join([items[place].vector or b"" for place in places]),
        requests[0].namespace,
        [request.scope for request in requests],
        [request.author for request in requests],
        [_excluded(view, items[place]) for place in places],
        (near.threshold, CANDIDATES_MAX if near.enabled else 0),
        (related.similarity_threshold, related.max_edges_per_memory if related.enabled else 0),
        (min_score, SIMILAR_FOUND),
        unrelated=_same_texts(view, items, places, repeating),
        earlier=(numbers, min([*thresholds, min_score])),
    )
    return {
        place: SimilarMemories(
            candidates=tuple([(id_text("mem", raw), score) for raw, score in close]),
            related=tuple([(id_text("mem", raw), score) for raw, score in linked]),
            known=tuple([(id_text("mem", raw), score) for raw, score in known]),
            in_group=tuple([(places[at], score) for at, score in earlier]),
        )
        for place, (close, linked, known, earlier) in zip(places, answers, strict=True)
    }


def _same_texts(
    view: LedgerView, items: Sequence[Item], places: Sequence[int], repeating: Container[int]
) -> list[bytes]:
    """Packed ids of the memories that have the text of each item."""
    known: dict[TextKey, bytes] = {}
    found = []
    for place in places:
        key = items[place].text_key
        if place in repeating and key not in known:
            known[key] = b"".join(ids_with_text(view, key))
        found.append(known.get(key, b""))
    return found


def quoted_first(
    view: LedgerView, item: Item, known: Sequence[tuple[str, float]]
) -> list[tuple[str, float]]:
    """(id, cosine) of the memories that an outcome names: all that the text quotes as the store
    prints them, with other words, then what is known of the same."""
    if not item.quoted:
        return list(known[:SIMILAR_SHOWN])
    vectors = view.vectors(item.request.namespace, item.quoted)
    quoted = [(id, _cosine(item.vector, vectors.get(id))) for id in item.quoted]
    others = [one for one in known if one[0] not in item.quoted]
    return [*quoted, *others][: max(SIMILAR_SHOWN, len(quoted))]


def _cosine(own: bytes | None, stored: tuple[str, bytes] | None) -> float:
    """Return the cosine of two vectors; 0 where one is missing."""
    if own is None or stored is None or len(own) != len(stored[1]):
        return 0.0
    one, other = memoryview(own).cast("f"), memoryview(stored[1]).cast("f")
    norms = math.sqrt(sum(x * x for x in one) * sum(y * y for y in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / norms if norms else 0.0


def similar_memory(
    id: str, score: float, beginning: tuple[int, str], differs: tuple[Difference, ...]
) -> SimilarMemory:
    """A similar memory as an outcome names it; `beginning`: since when it holds (µs), its text."""
    since_us, text = beginning
    return SimilarMemory(
        memory_id=id,
        score=score,
        t_valid=from_us(since_us),
        beginning=one_line(text, _BEGINNING_CHARS),
        differs=differs,
    )


class CanonicalForms:
    """Canonical forms of stored memories, by id."""

    def __init__(self) -> None:
        self.by_id: dict[str, CanonicalForm] = {}

    def drop(self, _seq: int, /) -> None:
        """Forms of forgotten memories go, with all others."""
        self.by_id.clear()


def stored_form(session: Session, memory: Memory) -> CanonicalForm:
    """The canonical form of a stored memory's text, which no update changes."""
    forms = session.cache(CanonicalForms).by_id
    form = forms.get(memory.id)
    if form is None:
        form = canonical_form(memory.content)
        if len(forms) >= _FORMS_MAX:
            forms.clear()
        forms[memory.id] = form
    return form


def item_form(item: Item) -> CanonicalForm:
    """The canonical form of an item's text; made once."""
    if item.form is None:
        item.form = canonical_form(item.text)
    return item.form
