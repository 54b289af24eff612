"""The context block of a recall: the turns beside its results, and which memories say the same.

Half of the turns that a question wants and that are no results lie at most two turns from one that
is: the answer after a question, the question before an answer, what was said just before. They fill
what the results leave of a budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from vestig.answers import ContextBlock
from vestig.ids import id_bytes, id_text, split_ids
from vestig.language.words import asks, content_terms
from vestig.memories.read import anchors_of, as_known
from vestig.ports import ScanRow
from vestig.printed import anchor_words, headings
from vestig.recall.context.block import Counted, Entry, block
from vestig.recall.context.budget import measure, short_ids
from vestig.recall.query import BoundQuery
from vestig.session.session import Session
from vestig.times import from_us
from vestig.types import Anchor, Kind, Memory, OriginType, flags_of

if TYPE_CHECKING:
    from vestig.commit.canonical_form import CanonicalForm

# Places in the session that count, from the result's own, the nearest first.
OFFSETS: Final = (-1, 1, -2, 2)
_CHATS: Final = (OriginType.CHAT_PEER, OriginType.CHAT_AGENT)
# So many memories are looked up one by one; longer sessions are read around the results.
_LOOKED_UP_MAX: Final = 2_000
_REACH: Final = 32
_SEQUENCE_MAX: Final = 2**63 - 1
_SPANS_MAX: Final = 200


class Sessions:
    """Where eligible memories stand: the rank of their sequence among those of their session. Parts
    of one text share a place; what has no session or no sequence has none.

    Args:
        places: id → (scope, session, sequence).

    Example:
        >>> sessions = Sessions({"a": (None, "s", 4), "b": (None, "s", 7), "c": (None, None, 1)})
        >>> sessions.at("a", 1), sessions.at("b", 1), sessions.at("c", 0)
        (('b',), (), ())
    """

    def __init__(self, places: Mapping[str, tuple[str | None, str | None, int | None]]) -> None:
        by_session: dict[tuple[str | None, str], dict[int, list[str]]] = {}
        for id, (scope, session, sequence) in places.items():
            if session is not None and sequence is not None:
                by_session.setdefault((scope, session), {}).setdefault(sequence, []).append(id)
        self._where: dict[str, tuple[tuple[str | None, str], int]] = {}
        self._at: dict[tuple[tuple[str | None, str], int], tuple[str, ...]] = {}
        for key, rows in by_session.items():
            for place, sequence in enumerate(sorted(rows)):
                ids = tuple(sorted(rows[sequence]))
                self._at[key, place] = ids
                self._where.update(dict.fromkeys(ids, (key, place)))

    def at(self, id: str, offset: int) -> tuple[str, ...]:
        """Ids at the place that many after the memory's own."""
        where = self._where.get(id)
        return () if where is None else self._at.get((where[0], where[1] + offset), ())

    def whole(self, id: str) -> bool:
        """Return whether something stands at every place that the rules look at beside this one."""
        return all(self.at(id, offset) for offset in OFFSETS)

    def around(self, ids: Iterable[str]) -> list[str]:
        """Ids of everything that the rules look at beside these, each once."""
        found = (near for id in ids for offset in OFFSETS for near in self.at(id, offset))
        return list(dict.fromkeys(found))


def neighbours_of(results: Sequence[Memory], sessions: Sessions) -> list[str]:
    """Ids of the turns beside the results that are turns of a chat, each once: those directly
    beside the best one first, then those of the others, then those one further.

    Args:
        results: best first.
    """
    own = {one.id for one in results}
    chats = [one.id for one in results if one.origin_type in _CHATS]
    found = (
        near
        for offsets in (OFFSETS[:2], OFFSETS[2:])
        for id in chats
        for offset in offsets
        for near in sessions.at(id, offset)
    )
    return [id for id in dict.fromkeys(found) if id not in own]


def sessions_of(bound: BoundQuery, results: Sequence[Memory]) -> Sessions:
    """The sessions of the results, only the memories that pass the filters of the call; of long
    sessions no more than what lies around the results."""
    placed = {
        one.id: one.sequence
        for one in results
        if one.session_id is not None and one.sequence is not None
    }
    names = sorted({str(one.session_id) for one in results if one.id in placed})
    if not names:
        return Sessions({})
    namespace, view = bound.request.namespace, bound.view
    eligible = set(split_ids(bound.eligible({**bound.filter(), "session_ids": names})))
    if len(eligible) <= _LOOKED_UP_MAX:
        ids = [id_text("mem", raw) for raw in eligible]
        return Sessions(view.places(namespace, ids))
    reaches = (_REACH, _SEQUENCE_MAX)
    for reach in reaches:
        turns = view.turns(namespace, names, _spans(placed.values(), reach))
        sessions = Sessions({id: at for id, at in turns.items() if id_bytes(id) in eligible})
        if all(map(sessions.whole, placed)):
            break
    return sessions


def _spans(sequences: Iterable[int], reach: int) -> list[tuple[int, int]]:
    """The sequences at most `reach` from one of these, as few spans."""
    spans = list[tuple[int, int]]()
    for sequence in sorted(sequences):
        low, high = max(0, sequence - reach), min(_SEQUENCE_MAX, sequence + reach)
        if spans and (low <= spans[-1][1] or len(spans) == _SPANS_MAX):
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    return spans


def turns_around(
    bound: BoundQuery, sessions: Sessions, results: Sequence[Memory]
) -> dict[str, Memory]:
    """The memories around these, by id."""
    near = sessions.around(one.id for one in results)
    namespace = bound.request.namespace
    return {memory.id: memory for memory in bound.view.memories(namespace, near)} if near else {}


def questions_before(bound: BoundQuery, replies: Sequence[Memory]) -> dict[str, str]:
    """Of memories that reply to a question, id → its text, of those that have a session."""
    sessions = sessions_of(bound, replies)
    turns = turns_around(bound, sessions, replies)
    found = dict[str, str]()
    for reply in replies:
        for id in sessions.at(reply.id, -1):
            if id in turns and asks(turns[id].content):
                found[reply.id] = turns[id].content
    return found


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the parts of the block of a recall, as `block` takes them."""

    entries: tuple[Entry, ...]
    twins: frozenset[frozenset[str]]
    short_ids: dict[str, str]
    counted: Counted | None


def material_of(
    bound: BoundQuery,
    memories: Sequence[Memory],
    linked: Sequence[Memory],
    rows: Sequence[ScanRow],
    anchors: Mapping[str, Sequence[Anchor]],
    counted: Counted | None,
) -> Material:
    """Return the results, their neighbours, and what says the same; for a callback of the keeper's
    `run`.

    Args:
        memories: the results, as known at the time of the request; () where recall abstains.
        linked: what links lead to from the results, best first.
        rows: those of the results.
        anchors: those of results and of what links lead to, as they stand.
        counted: what is counted, where the question asks for all.
    """
    entries = _entries(bound, memories, linked, rows, anchors) if memories else ()
    ids = [one.memory.id for one in entries]
    return Material(
        entries=entries,
        twins=_twins(bound, entries),
        short_ids=short_ids(bound.view, bound.request.namespace, ids),
        counted=counted,
    )


def context_block(bound: BoundQuery, material: Material, nothing: str) -> ContextBlock:
    """The block within the budget of the request.

    Args:
        nothing: the note without results.
    """
    return block(
        material.entries,
        material.twins,
        measure(bound.session, bound.request.budget or 0),
        material.short_ids,
        zone=bound.session.config.settings.time.zone,
        nothing=nothing,
        counted=material.counted,
    )


def _entries(
    bound: BoundQuery,
    memories: Sequence[Memory],
    linked: Sequence[Memory],
    rows: Sequence[ScanRow],
    anchors: Mapping[str, Sequence[Anchor]],
) -> tuple[Entry, ...]:
    """Results, then neighbours, then what links lead to, with their flags."""
    request = bound.request
    sessions = sessions_of(bound, memories)
    turns = turns_around(bound, sessions, memories)
    near = _similar_enough(bound, [id for id in neighbours_of(memories, sessions) if id in turns])
    known = as_known(bound.view, request.namespace, [turns[id] for id in near], request.moments)
    query_time = from_us(request.moments.query_time_us)
    anchors = {**anchors, **anchors_of(bound.session, bound.view, request.namespace, near)}
    zone = bound.session.config.settings.time.zone

    terms = {one.term for one in bound.content}

    def entry(memory: Memory, rank: int, *, neighbour: bool = False, linked: bool = False) -> Entry:
        flags = tuple(flags_of(memory, query_time))
        sources = tuple(anchor_words(anchors.get(memory.id, ()), zone))
        return Entry(
            memory=memory, rank=rank, neighbour=neighbour, linked=linked, flags=flags,
            sources=sources, begins=section_of(memory, terms),
        )  # fmt: skip

    beside = set(near)
    versions = _versions(rows)
    return (
        *(
            msgspec.structs.replace(entry(memory, rank), version=versions.get(memory.id))
            for rank, memory in enumerate(memories)
        ),
        *(entry(memory, rank, neighbour=True) for rank, memory in enumerate(known)),
        *(
            entry(memory, rank, linked=True)
            for rank, memory in enumerate(linked)
            if memory.id not in beside
        ),
    )


def section_of(memory: Memory, terms: AbstractSet[str]) -> int:
    """Return where the section of a passage begins that has more of these terms than any before it;
    0 where the first has as many, and of all else."""
    if memory.origin_type is not OriginType.DOCUMENT:
        return 0
    text = memory.content
    places = [place for place, _ in headings(text)]
    # a heading right above another one is of the same section
    starts = [
        0,
        *(at for at, above in zip(places, [0, *places], strict=False) if _is_text(text[above:at])),
    ]
    best, most = 0, -1
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        shared = len(terms & {one.term for one in content_terms(text[start:end], ())})
        if shared > most:
            best, most = start, shared
    return best


def _is_text(section: str) -> bool:
    """Return whether a section has more than the line of its heading."""
    return bool(section.partition("\n")[2].strip())


def _versions(rows: Sequence[ScanRow]) -> dict[str, Literal["newest", "older"]]:
    """Of results that are versions of one statement, which is the newest of those shown."""
    shown = {row.id for row in rows}
    older = {row.memory_id: row.older_than for row in rows if row.older_than in shown}
    newest = {row.memory_id for row in rows if row.id in older.values()}
    found: dict[str, Literal["newest", "older"]] = dict.fromkeys(newest, "newest")
    return found | dict.fromkeys(older, "older")


def _similar_enough(bound: BoundQuery, near: list[str]) -> list[str]:
    """Those that pass `min_similarity` too, which only a scan judges."""
    if not near or "min_similarity" not in bound.request.filter.fields:
        return near
    exact = BoundQuery(bound.session, bound.view, bound.query)
    scan = exact.scan(watch=b"".join(map(id_bytes, near)))
    passed = {row.memory_id for row in (*scan.rows, *scan.watched)}
    return [id for id in near if id in passed]


def _twins(bound: BoundQuery, entries: Sequence[Entry]) -> frozenset[frozenset[str]]:
    """Pairs of one scope and author that make the same statement. A neighbour is evidence in its
    own session, so its line is no place of another one."""
    groups: dict[tuple[str | None, str | None], list[Memory]] = {}
    neighbours = {one.memory.id for one in entries if one.neighbour}
    sessions = {one.memory.id: one.memory.session_id for one in entries}
    for memory in (one.memory for one in entries):
        if memory.kind is Kind.MEMORY:
            groups.setdefault((memory.scope, memory.author), []).append(memory)
    pairs = {pair for group in groups.values() for pair in _same_statements(bound.session, group)}
    return frozenset(
        pair
        for pair in pairs
        if pair.isdisjoint(neighbours) or len({sessions[id] for id in pair}) == 1
    )


def _same_statements(session: Session, group: Sequence[Memory]) -> Iterator[frozenset[str]]:
    from vestig.commit.canonical_form import is_same_statement
    from vestig.commit.near_duplicates import stored_form

    alike: dict[tuple[str, ...], list[tuple[Memory, CanonicalForm]]] = {}
    for memory in group:
        form = stored_form(session, memory)
        # the first token alone may be another one in equal forms
        known = alike.setdefault(form.tokens[1:], [])
        for earlier, other in known:
            if is_same_statement(other, form):
                yield frozenset((earlier.id, memory.id))
        known.append((memory, form))
