"""The context block of a recall: the neighbours of the results, and which of them say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from vestig.answers import ContextBlock
from vestig.commit.canonical_form import CanonicalForm, is_same_statement
from vestig.commit.near_duplicates import stored_form
from vestig.ids import id_bytes, id_text, split_ids
from vestig.memories.read import as_known, flags_of
from vestig.recall.context.block import Entry, block
from vestig.recall.context.neighbours import (
    OFFSETS,
    RankedTurn,
    Sessions,
    evidence_neighbours,
)
from vestig.recall.context.short_forms import measure, short_ids
from vestig.recall.query import BoundQuery
from vestig.recall.scan import ScanRow
from vestig.session.session import Session
from vestig.times import from_us
from vestig.types import Kind, Memory

__all__ = ["context_block"]

# So many memories are looked up one by one; longer sessions are read around the results.
_LOOKED_UP_MAX: Final = 2_000
_REACH: Final = 32
_SEQUENCE_MAX: Final = 2**63 - 1
_SPANS_MAX: Final = 200
_LEXICAL: Final = "lexical"
_LEXICAL_BESIDE: Final = {offset: f"neighbours.lexical.{offset:+d}" for offset in OFFSETS}


def context_block(
    bound: BoundQuery,
    rows: Sequence[ScanRow],
    memories: Sequence[Memory],
    linked: Sequence[Memory],
    nothing: str,
) -> ContextBlock:
    """The block of results, of their neighbours, and of what says the same; for a callback of the
    keeper's `run`.

    Args:
        rows: of the results.
        memories: the results, as known at the time of the request; () where recall abstains.
        linked: what links lead to from the results, best first.
        nothing: the text without results.
    """
    settings = bound.session.config.settings
    entries = _entries(bound, rows, memories, linked) if memories else ()
    return block(
        entries,
        _twins(bound, entries),
        measure(bound.session, bound.request.budget or 0),
        short_ids(bound.view, bound.request.namespace, [one.memory.id for one in entries]),
        zone=settings.time.zone,
        nothing=nothing,
    )


def _entries(
    bound: BoundQuery,
    rows: Sequence[ScanRow],
    memories: Sequence[Memory],
    linked: Sequence[Memory],
) -> tuple[Entry, ...]:
    """Results, then neighbours, then what links lead to, with their flags."""
    request = bound.request
    results = [_ranked_turn(row, memory) for row, memory in zip(rows, memories, strict=True)]
    sessions = _sessions(bound, memories)
    turns = _around(bound, sessions, memories)
    near = _similar_enough(bound, evidence_neighbours(results, sessions, turns))
    known = as_known(bound.view, request.namespace, [turns[id] for id, _ in near], request.moments)
    query_time = from_us(request.moments.query_time_us)

    def entry(memory: Memory, rank: int, *, neighbour: bool = False, linked: bool = False) -> Entry:
        flags = tuple(flags_of(memory, query_time))
        return Entry(memory=memory, rank=rank, neighbour=neighbour, linked=linked, flags=flags)

    beside = {id for id, _ in near}
    return (
        *(entry(memory, rank) for rank, memory in enumerate(memories)),
        *(
            entry(memory, rank, neighbour=True)
            for memory, (_, rank) in zip(known, near, strict=True)
        ),
        *(
            entry(memory, rank, linked=True)
            for rank, memory in enumerate(linked)
            if memory.id not in beside
        ),
    )


# --- neighbours ---------------------------------------------------------------------------------


def _ranked_turn(row: ScanRow, memory: Memory) -> RankedTurn:
    beside = {offset: row.signal(name)[0] or 0.0 for offset, name in _LEXICAL_BESIDE.items()}
    return RankedTurn(memory=memory, words=row.signal(_LEXICAL)[1] or 0.0, words_beside=beside)


def _sessions(bound: BoundQuery, results: Sequence[Memory]) -> Sessions:
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


def _around(bound: BoundQuery, sessions: Sessions, results: Sequence[Memory]) -> dict[str, Memory]:
    near = sessions.around(one.id for one in results)
    namespace = bound.request.namespace
    return {memory.id: memory for memory in bound.view.memories(namespace, near)} if near else {}


def _similar_enough(bound: BoundQuery, near: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those that pass `min_similarity` too, which only a scan judges."""
    if not near or bound.request.filter.columns.get("min_similarity") is None:
        return near
    exact = BoundQuery(bound.session, bound.view, bound.query)
    scan = exact.scan(watch=b"".join(id_bytes(id) for id, _ in near))
    passed = {row.memory_id for row in (*scan.rows, *scan.watched)}
    return [(id, rank) for id, rank in near if id in passed]


# --- texts that say the same ---------------------------------------------------------------------


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
    alike: dict[tuple[str, ...], list[tuple[Memory, CanonicalForm]]] = {}
    for memory in group:
        form = stored_form(session, memory)
        # the first token alone may be another one in equal forms
        known = alike.setdefault(form.tokens[1:], [])
        for earlier, other in known:
            if is_same_statement(other, form):
                yield frozenset((earlier.id, memory.id))
        known.append((memory, form))
