"""The context block of a recall: the neighbours of the results, and which of them say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from vestig.answers import ContextBlock
from vestig.commit.canonical_form import CanonicalForm, is_same_statement
from vestig.commit.near_duplicates import stored_form
from vestig.ids import id_bytes
from vestig.memories.read import as_known, flags_of
from vestig.ports import ScanRow
from vestig.recall.context.block import Entry, block
from vestig.recall.context.neighbours import neighbours_of
from vestig.recall.context.short_forms import measure, short_ids
from vestig.recall.context.turns import sessions_of, turns_around
from vestig.recall.query import BoundQuery
from vestig.session.session import Session
from vestig.times import from_us
from vestig.types import Kind, Memory


def context_block(
    bound: BoundQuery,
    memories: Sequence[Memory],
    linked: Sequence[Memory],
    rows: Sequence[ScanRow],
    nothing: str,
) -> ContextBlock:
    """The block of results, of their neighbours, and of what says the same; for a callback of the
    keeper's `run`.

    Args:
        memories: the results, as known at the time of the request; () where recall abstains.
        linked: what links lead to from the results, best first.
        rows: those of the results.
        nothing: the text without results.
    """
    settings = bound.session.config.settings
    entries = _entries(bound, memories, linked, rows) if memories else ()
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
    memories: Sequence[Memory],
    linked: Sequence[Memory],
    rows: Sequence[ScanRow],
) -> tuple[Entry, ...]:
    """Results, then neighbours, then what links lead to, with their flags."""
    request = bound.request
    sessions = sessions_of(bound, memories)
    turns = turns_around(bound, sessions, memories)
    near = _similar_enough(bound, [id for id in neighbours_of(memories, sessions) if id in turns])
    known = as_known(bound.view, request.namespace, [turns[id] for id in near], request.moments)
    query_time = from_us(request.moments.query_time_us)

    def entry(memory: Memory, rank: int, *, neighbour: bool = False, linked: bool = False) -> Entry:
        flags = tuple(flags_of(memory, query_time))
        return Entry(memory=memory, rank=rank, neighbour=neighbour, linked=linked, flags=flags)

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


def _versions(rows: Sequence[ScanRow]) -> dict[str, Literal["newest", "older"]]:
    """Of results that are versions of one statement, which is the newest of those shown."""
    shown = {row.id for row in rows}
    older = {row.memory_id: row.older_than for row in rows if row.older_than in shown}
    newest = {row.memory_id for row in rows if row.id in older.values()}
    found: dict[str, Literal["newest", "older"]] = dict.fromkeys(newest, "newest")
    return found | dict.fromkeys(older, "older")


# --- neighbours ---------------------------------------------------------------------------------


def _similar_enough(bound: BoundQuery, near: list[str]) -> list[str]:
    """Those that pass `min_similarity` too, which only a scan judges."""
    if not near or bound.request.filter.columns.get("min_similarity") is None:
        return near
    exact = BoundQuery(bound.session, bound.view, bound.query)
    scan = exact.scan(watch=b"".join(map(id_bytes, near)))
    passed = {row.memory_id for row in (*scan.rows, *scan.watched)}
    return [id for id in near if id in passed]


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
