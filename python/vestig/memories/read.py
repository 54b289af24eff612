"""Reads of the ledger alone: one memory with its evidence, its events and chain, a page of many.

K is the time as of which the store is read, V the time at which facts are to hold (`Moments`).

Equal texts: memories of one namespace, scope and author with one content hash, all expired or
all unexpired, are one text, as turns are that repeat each other. Recall and search return it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vestig import calls
from vestig.answers import Repeat
from vestig.calls.filter import Filter
from vestig.changes import AccessTouch
from vestig.errors import Description, NotFoundError, StoreLockedError, ValidationError
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.ids import id_bytes, id_text, memory_id_text, split_ids
from vestig.language.text_forms import first_of
from vestig.memories.versions import versions_of
from vestig.other_words import by_caller
from vestig.results import JudgedMemory, LinkedEntity, LinkedMemory, MemoryDetail, MemoryPage
from vestig.session.filter_names import also_known, unknown_names
from vestig.session.references import resolved, row_listing
from vestig.session.session import Session, ahead_notice
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.store.records import anchor_rows, item_rows, keyed_memories
from vestig.store.records.memory_queries import equal_texts
from vestig.store.records.readable import check_forgotten
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Listing, RecalledMemory
from vestig.store.sqlite.connections import damaged
from vestig.times import DAY_US, format_us, from_us, to_us
from vestig.types import (
    Anchor,
    Edge,
    EdgeType,
    Event,
    EventType,
    Memory,
    Source,
    Status,
    SupersessionRecord,
    flags_of,
)

if TYPE_CHECKING:
    from vestig.calls.memories import (
        CountRequest,
        EventsRequest,
        GetRequest,
        HistoryRequest,
        KeysRequest,
        ListRequest,
        ShowRequest,
    )

SESSION_ORDER: Final = "session"
_HEAD_VALUES: Final = 5


def _similar(view: LedgerView, space: str, history: Sequence[Event]) -> tuple[JudgedMemory, ...]:
    """The memories that the first event names as similar, with the last verdict on each; those
    that are forgotten are left out."""
    found = {
        one["memory_id"]: JudgedMemory(memory_id=one["memory_id"], score=one["score"])
        for event in history
        for one in event.payload.get("similar", ())
    }
    for event in history:
        for one in event.payload.get("verdicts", ()):
            known = found.get(one["memory_id"])
            if known is not None:
                found[known.memory_id] = msgspec.structs.replace(
                    known,
                    verdict=one["verdict"],
                    confidence=one["confidence"],
                    ignored=one["ignored"],
                )
    there = {memory.id for memory in view.memories(space, list(found))} if found else set()
    return tuple(one for id, one in found.items() if id in there)


def show(session: Session, asked: ShowRequest) -> MemoryDetail:
    """One memory with its evidence; an access that finds the store locked is dropped."""
    now = session.now_us()
    at = moments(now, as_of=asked.as_of, known_at=asked.known_at, valid_at=asked.valid_at)
    with_links = asked.expand == 1
    space = session.in_namespace(asked.namespace)
    with session.operation("show"):
        with session.ledger.read() as view:
            (memory,) = as_known(view, space, [session.memory(view, space, asked.id)], at)
            expired = memory.t_expired is not None
            if item_rows.is_hidden(view, memory, now):
                raise NotFoundError("Memory", memory.id, "its item has expired")
            if not _visible(memory, at) or (expired and not asked.include_expired):
                raise NotFoundError(
                    "Memory", memory.id, "expired" if expired else "not known at that time"
                )
            vector = view.vectors(space, [memory.id]).get(memory.id)
            history = view.events(space, memory.id)
            if at.past:
                history = [e for e in history if to_us(e.recorded_at) <= at.known_at_us]
            values = () if vector is None else memoryview(vector[1]).cast("f")
            detail = MemoryDetail(
                memory=memory,
                access_velocity=access_velocity(memory, now),
                embedding_dimensions=None if vector is None else len(values),
                embedding_head=tuple(values[:_HEAD_VALUES]),
                sources=tuple(_sources(view, space, memory.id, at)),
                claim=view.claims(space, [memory.id]).get(memory.id),
                events=tuple(history),
                supersessions=tuple(_records(view, space, memory.id, at)),
                flags=tuple(flags_of(memory, from_us(at.query_time_us))),
                similar=_similar(view, space, history),
                mentions=entities_of(view, memory, at) if with_links else None,
                related=related_to(session, view, memory, at) if with_links else None,
                ledger_seq=view.seq,
                warnings=at.warnings + later_updates(view, [memory], at),
            )
        if vector is not None and not at.past and at.valid_at_us is None:
            found = versions_of(session, memory, vector[1])
            detail = msgspec.structs.replace(detail, versions=found)
        if asked.touch:
            seen = AccessTouch(memory_ids=(memory.id,), accessed_us=now)
            try:
                session.ledger.touch(space, seen)
            except StoreLockedError:
                dropped = "the access was not counted: the store is locked"
                return msgspec.structs.replace(detail, warnings=(*detail.warnings, dropped))
        return detail


def anchors_of(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[str]
) -> Mapping[str, tuple[Anchor, ...]]:
    """Id → its anchors and those of what it was made of, as they stand; only of those of these
    memories that have some."""
    if not ids or not anchor_rows.any_anchors(view):
        return {}
    # loaded where there are anchors: most stores have none
    from vestig.memories.anchors import as_they_stand

    return as_they_stand(session, view, namespace, ids)


def get(session: Session, asked: GetRequest) -> Memory:
    """The memory that has a key and holds now: of several versions the one that has begun and not
    ended, else what is announced to hold next; of an id, the memory whatever its status. A value
    that ended is none.

    Raises:
        NotFoundError: there is none.
    """
    space, name = session.in_namespace(asked.namespace), asked.key
    if asked.valid_at is not None:
        return _value_at(session, asked)
    with session.operation("get"), session.ledger.read() as view:
        if name.startswith("mem_"):
            return session.memory(view, space, name)
        key = keyed_memories.stored_key(view, space, name)
        # behind a clock that stepped back the last value is the one that was stored last
        now_us = max(session.now_us(), view.last_recorded_us)
        found = keyed_memories.current(view, space, asked.scope, key)
        if found is None or to_us(found.t_valid) > now_us:
            found = keyed_memories.holding(view, space, asked.scope, key, now_us) or next(
                keyed_memories.held_after(view, space, asked.scope, key, now_us), found
            )
        if found is not None and item_rows.is_hidden(view, found, now_us):
            found = None
        ended = (
            found is not None and found.t_invalid is not None and to_us(found.t_invalid) <= now_us
        )
        if found is not None and found.status is not Status.ARCHIVED and not ended:
            return found
        if memory_id_text(name) is not None and session.named_ids(view, space, f"mem_{name}"):
            return session.memory(view, space, name)
        if found is None:
            why = _in_scopes(view, space, asked, key)
        else:
            why = _ended(found) if ended else f"{found.id} has the key and is archived"
    raise NotFoundError("Memory", name, why or _no_key(name))


def _ended(last: Memory) -> str:
    """Return when the last value of a key ended, and how it is read, as a hint."""
    assert last.t_invalid is not None, "it ended"
    from shlex import quote

    key = last.key or ""
    reads = by_caller(
        f"get({last.id!r}) reads it, history({key!r}) every value",
        f"`vestig get {last.id}` reads it, `vestig history {quote(key)}` every value",
    )
    return f"its last value, {last.id}, ended at {format_us(to_us(last.t_invalid))}; {reads}"


def _no_key(name: str) -> str:
    """Return which keys there are to ask for, as a hint, where the name is no id."""
    if memory_id_text(name) is not None:
        return ""
    listed = by_caller(
        "keys() lists those that have one", "`vestig keys` lists those that have one"
    )
    by_words = by_caller(
        "search(query) finds memories by words, with the id that get and history take too",
        '`vestig search "…"` finds memories by words, whose ids `vestig get` and `vestig history`'
        " take too",
    )
    return f"no value under this key; {listed}{f', and {by_words}' if ' ' in name else ''}"


_SCOPES_NAMED: Final = 3


def _in_scopes(
    view: LedgerView, space: str, asked: GetRequest | HistoryRequest, stored: str
) -> str:
    """Return in which scopes a key that was asked for without one has a value, as a hint."""
    if asked.scope is not None:
        return ""
    named = keyed_memories.current_keys(view, space, stored, None)
    scopes = sorted(scope for key, scope in named if key == stored and scope is not None)
    if not scopes:
        return ""
    from shlex import quote

    ours = by_caller(f"get(key, scope={scopes[0]!r})", f"--scope {quote(scopes[0])}")
    return f"the key has a value in scope {first_of(scopes, _SCOPES_NAMED)}: name the scope, {ours}"


def _value_at(session: Session, asked: GetRequest) -> Memory:
    """The memory that a listing of the key has at a time."""
    if asked.key.startswith("mem_"):
        hint = by_caller("show(id, valid_at=…) says whether a memory held then")
        raise ValidationError("valid_at", Description("an id beside it"), "a key", hint)
    scope = None if asked.scope is None else (asked.scope,)
    where = Filter(keys=(asked.key,), scope=scope, unscoped=scope is None)
    listing = calls.memories.ListRequest(
        where=where, valid_at=asked.valid_at, namespace=asked.namespace, limit=1_000
    )
    found = page(session, listing).memories
    for one in found:
        # of a text in parts the first
        if one.key is not None and calls.items.key_of_part(one.key) == one.key:
            return one
    if found:
        return found[-1]
    assert asked.valid_at is not None
    said = f"the key had no value at {format_us(asked.valid_at)}"
    raise NotFoundError("Memory", asked.key, said)


def keys(session: Session, asked: KeysRequest) -> list[str]:
    """The keys that have an active memory, each once, ascending."""
    space = session.in_namespace(asked.namespace)
    with session.operation("keys"), session.ledger.read() as view:
        hidden = {
            (item.key, item.scope) for item in item_rows.expired(view, space, session.now_us())
        }
        found = {
            (calls.items.key_of_part(key), scope)
            for one in ((None,) if asked.scope is None else asked.scope)
            for key, scope in keyed_memories.current_keys(view, space, asked.prefix, one)
        }
        keys = sorted({key for key, _ in found - hidden})
    if (
        not keys
        and asked.prefix is not None
        and (begins := asked.prefix.rstrip("*%")) != asked.prefix
    ):
        shown = by_caller(f"store.keys({begins!r})", f"vestig keys --prefix '{begins}'")
        hint = f"no key begins so, and no sign stands for others; use {shown}"
        raise ValidationError("prefix", asked.prefix, "what a key begins with", hint)
    return keys


def history(session: Session, asked: HistoryRequest) -> list[Memory]:
    """Every value of a key, or the memory of an id, with all that replaced one of them or was
    replaced by it, by the time from which it holds, withdrawn ones too.

    Raises:
        NotFoundError: there is none.
    """
    space, name = session.in_namespace(asked.namespace), asked.key
    with session.operation("history"), session.ledger.read() as view:
        key = keyed_memories.stored_key(view, space, name)
        if name.startswith("mem_"):
            first = [session.memory(view, space, name)]
        else:
            first = keyed_memories.every_version(view, space, asked.scope, key)
            if not first and memory_id_text(name) is not None:
                ids = session.named_ids(view, space, f"mem_{name}")
                first = [session.memory(view, space, name)] if ids else []
        found = _versions(session, view, space, first)
        now_us = session.now_us()
        found = [one for one in found if not item_rows.is_hidden(view, one, now_us)]
        why = "" if found else _in_scopes(view, space, asked, key)
    if not found:
        raise NotFoundError("Memory", name, why or _no_key(name))
    return found


def _versions(
    session: Session, view: LedgerView, space: str, first: Sequence[Memory]
) -> list[Memory]:
    """The memories of the keys of these, and of the chains of replacements that any of them is in,
    by the time from which they hold; of one time, as they replaced each other."""
    found: dict[str, Memory] = {}
    chained: dict[str, int] = {}
    keys: set[tuple[str | None, str]] = set()
    left = list(first)
    for one in left:  # it grows meanwhile
        if one.id in found or not session.may_name(one.scope):
            continue
        found[one.id] = one
        if one.key is not None and (one.scope, one.key) not in keys:
            keys.add((one.scope, one.key))
            left += keyed_memories.every_version(view, space, one.scope, one.key)
        if one.id not in chained:
            records = view.supersessions(space, one.id)
            ids = dict.fromkeys(
                id for row in records for id in (row.superseded_id, row.superseding_id)
            )
            chained |= {id: place for place, id in enumerate(ids)}
            left += view.memories(space, list(ids))

    def place(one: Memory) -> tuple[datetime, datetime, int]:
        return one.t_valid, one.t_created, chained.get(one.id, 0)

    return sorted(found.values(), key=place)


_ITERATED: Final = 1_000


def every(session: Session, asked: CountRequest) -> Iterator[Memory]:
    """The memories that a filter lets through, by id; which they are is read at the first, and
    what is forgotten meanwhile is left out.

    Raises:
        StoreDamagedError: the ledger has lost one.
    """
    parts = _parts(session, asked)
    space = parts.namespace
    with session.operation("list"):
        raw = session.keeper.run(
            lambda view, core: session.keeper.eligible(view, resolved(view, core, parts))
        )
    ids = [id_text("mem", one) for one in split_ids(raw)]
    for start in range(0, len(ids), _ITERATED):
        with session.operation("list"), session.ledger.read() as view:
            wanted = ids[start : start + _ITERATED]
            memories = view.memories(space, wanted)
            if gone := set(wanted).difference(one.id for one in memories):
                check_forgotten(view, gone)
        yield from memories


def _visible(memory: Memory, at: Moments) -> bool:
    """Return whether the memory was known at K and, where V is given, true at V, expired or not."""
    if to_us(memory.t_created) > at.known_at_us:
        return False
    if at.valid_at_us is None:
        return True
    end = None if memory.t_invalid is None else to_us(memory.t_invalid)
    return to_us(memory.t_valid) <= at.valid_at_us and (end is None or at.valid_at_us < end)


def access_velocity(memory: Memory, now_us: int) -> float:
    """Accesses per day since creation, the first day counted whole."""
    days = (now_us - to_us(memory.t_created)) / DAY_US
    return memory.access_count / max(1.0, days)


def _sources(view: LedgerView, namespace: str, id: str, at: Moments) -> list[Source]:
    """Sources whose edges were recorded at or before K."""
    sources = view.sources(namespace, id)
    if not at.past:
        return sources
    known = {
        edge.from_id
        for edge in view.edges(namespace, id, EdgeType.PRODUCED)
        if to_us(edge.t_created) <= at.known_at_us
    }
    return [source for source in sources if source.id in known]


def _records(view: LedgerView, namespace: str, id: str, at: Moments) -> list[SupersessionRecord]:
    """Supersessions recorded at or before K."""
    records = view.supersessions(namespace, id)
    return [one for one in records if to_us(one.created_at) <= at.known_at_us]


def entities_of(view: LedgerView, memory: Memory, at: Moments) -> tuple[LinkedEntity, ...]:
    """Entities that the memory mentions, the surest first; no confidence = the caller named it."""
    edges = _edges(view, memory, EdgeType.MENTIONS, at)
    known = {one.id: one for one in view.entities(memory.namespace, [e.to_id for e in edges])}
    found = [
        LinkedEntity(
            id=edge.to_id,
            type=known[edge.to_id].entity_type,
            name=known[edge.to_id].canonical_name,
            confidence=edge.confidence,
        )
        for edge in edges
        if edge.to_id in known
    ]
    sure = {one.id: 1.0 if one.confidence is None else one.confidence for one in found}
    return tuple(sorted(found, key=lambda one: (-sure[one.id], one.id)))


def related_to(
    session: Session, view: LedgerView, memory: Memory, at: Moments
) -> tuple[LinkedMemory, ...]:
    """Memories with a RELATED edge to or from this one, the strongest first; expired ones are
    left out."""
    weights: dict[str, float] = {}
    for edge in _edges(view, memory, EdgeType.RELATED, at):
        other = edge.to_id if edge.from_id == memory.id else edge.from_id
        weights[other] = max(edge.weight, weights.get(other, 0.0))
    found = [
        LinkedMemory(id=one.id, weight=weights[one.id], content=one.content)
        for one in view.memories(memory.namespace, list(weights))
        if _was_current(one, at) and session.may_name(one.scope)
    ]
    return tuple(sorted(found, key=lambda one: (-one.weight, one.id)))


def _edges(view: LedgerView, memory: Memory, edge_type: EdgeType, at: Moments) -> list[Edge]:
    """Edges of the memory as the store knew them; those that ended since come from all edges."""
    if not at.past:
        return view.edges(memory.namespace, memory.id, edge_type)
    every = view.list_edges(memory.namespace, edge_type=edge_type, limit=None, include_expired=True)
    return [
        edge for edge in every if memory.id in (edge.from_id, edge.to_id) and _was_current(edge, at)
    ]


def _was_current(one: Memory | Edge, at: Moments) -> bool:
    """Return whether it was current at K."""
    known = from_us(at.known_at_us)
    return one.t_created <= known and (one.t_expired is None or one.t_expired > known)


def events(session: Session, asked: EventsRequest) -> list[Event]:
    """The log of one memory, oldest first."""
    space = session.in_namespace(asked.namespace)
    with session.operation("events"), session.ledger.read() as view:
        memory_id = session.memory(view, space, asked.id).id
        return view.events(space, memory_id, asked.limit)


def chain(session: Session, id: object, *, namespace: object = None) -> list[SupersessionRecord]:
    """Records of the chain of this memory, oldest to newest."""
    space = session.in_namespace(namespace)
    with session.operation("supersession_chain"), session.ledger.read() as view:
        return view.supersessions(space, session.memory(view, space, id).id)


def as_known(
    view: LedgerView, namespace: str, memories: Sequence[Memory], at: Moments
) -> list[Memory]:
    """The memories with their ends and counters as they stood at K."""
    if not at.past or not memories:
        return list(memories)
    ends = view.ends_before(namespace, at.known_at_us)
    counts = view.reinforcements_at(namespace, [one.id for one in memories], at.known_at_us)
    expired = view.expired_by(namespace, [one.id for one in memories], at.known_at_us)
    return [at_known_time(one, ends=ends, reinforced=counts, expired=expired) for one in memories]


def at_known_time(
    memory: Memory,
    *,
    ends: Mapping[str, int | None],
    reinforced: Mapping[str, tuple[int, int | None]],
    expired: AbstractSet[str],
) -> Memory:
    """The memory with its end, counters and withdrawal as they were known at K; `expired`: ids of
    the memories that were withdrawn by then."""
    changed: dict[str, object] = {}
    if memory.t_expired is not None and memory.id not in expired:
        changed = {"status": Status.ACTIVE, "t_expired": None, "superseded_by": None}
    if memory.id in ends:
        end = ends[memory.id]
        changed["t_invalid"] = None if end is None else from_us(end)
    if memory.id in reinforced:
        count, seen = reinforced[memory.id]
        changed["reinforce_count"] = count
        changed["last_seen_at"] = None if seen is None else from_us(seen)
    return msgspec.structs.replace(memory, **changed) if changed else memory


def replaced_as_known(
    view: LedgerView, namespace: str, ids: Sequence[str], at: Moments
) -> dict[str, list[str]]:
    """id → ids of the memories that it had directly replaced at K."""
    replaced = view.replaced_by(namespace, ids) if ids else {}
    if not at.past:
        return replaced
    known = {}
    for id in replaced:
        records = _records(view, namespace, id, at)
        known[id] = sorted(one.superseded_id for one in records if one.superseding_id == id)
    return known


def later_updates(view: LedgerView, memories: Iterable[Memory], at: Moments) -> tuple[str, ...]:
    """Warnings of a past read: fields shown as of today that an UPDATE changed after K."""
    if not at.past:
        return ()
    changed = [
        memory.id
        for memory in memories
        if any(
            event.event_type is EventType.UPDATE and to_us(event.recorded_at) > at.known_at_us
            for event in view.events(memory.namespace, memory.id)
        )
    ]
    return tuple(f"{id}: an UPDATE lies after that time; tags are those of today" for id in changed)


def _page_of(listing: Listing, asked: ListRequest) -> Listing:
    """The part of a listing that a page shows, in its order: conversations as they went where some
    are named, else the newest first."""
    order = asked.order_by
    if order is None:
        given = asked.where.given()
        order = SESSION_ORDER if given.get("session_ids") else calls.memories.ORDERS[0]
    return msgspec.structs.replace(
        listing,
        offset=asked.offset,
        limit=asked.limit,
        order_by=order,
        descending=order != SESSION_ORDER if asked.descending is None else asked.descending,
    )


def _needs_projection(parts: FilterParts) -> bool:
    """Return whether a field is none of the ledger's own columns, or a day is asked for: a memory
    holds on every day on which it was stated."""
    return not parts.is_of_rows or parts.moments.valid_at_us is not None


def _listing(view: LedgerView, core: Any, keeper: ProjectionKeeper, parts: FilterParts) -> Listing:
    """Return what of the ledger a filter lets through: by its own columns, or by ids where a field
    needs the projection, which then decides every field."""
    if _needs_projection(parts) or item_rows.any_expired(view, parts.moments.now_us):
        raw = keeper.eligible(view, resolved(view, core, parts))
        return Listing(limit=None, statuses=None, ids=tuple(split_ids(raw)))
    return row_listing(parts)


def _total(
    session: Session, view: LedgerView, core: Any, parts: FilterParts, listing: Listing
) -> int:
    """How many a listing has.

    Raises:
        StoreDamagedError: the projection, whose rows are those of the chain, has more or fewer.
    """
    if listing.ids is not None:
        return len(listing.ids)
    total = view.count_memories(parts.namespace, listing)
    if not parts.needs_ledger:
        known = session.keeper.eligible_count(view, resolved(view, core, parts))
        if known != total:
            raise damaged(
                session.ledger.where,
                f"{total} memories of such a listing where {known} were written",
            )
    return total


def _parts(session: Session, asked: ListRequest | CountRequest) -> FilterParts:
    at = moments(
        session.now_us(), as_of=asked.as_of, known_at=asked.known_at, valid_at=asked.valid_at
    )
    return filter_parts(asked.where, session.in_namespace(asked.namespace), at)


def page(session: Session, asked: ListRequest) -> MemoryPage:
    """One page and how many there are in all, of one state."""
    parts = _parts(session, asked)
    space, at = parts.namespace, parts.moments

    def read(view: LedgerView, core: Any) -> MemoryPage:
        listing = _page_of(_listing(view, core, session.keeper, parts), asked)
        memories = view.list_memories(space, listing)
        total = _total(session, view, core, parts, listing)
        wanted = max(0, min(listing.limit or 0, total - listing.offset))
        if len(memories) != wanted:
            fact = f"{len(memories)} memories of a page where {wanted} were written"
            raise damaged(session.ledger.where, fact)
        return MemoryPage(
            memories=tuple(as_known(view, space, memories, at)),
            total=total,
            offset=listing.offset,
            seq=view.seq,
            degraded=tuple(ahead_notice(view.last_recorded_us, session.now_us())),
            warnings=(
                *at.warnings,
                *unknown_names(session, view, core, parts, empty=not total),
                *also_known(view, core, parts),
                *later_updates(view, memories, at),
            ),
        )

    with session.operation("list"):
        found = session.keeper.run(read)
        session.metrics.degraded(found.degraded)
        return found


def count(session: Session, asked: CountRequest) -> int:
    """How many memories a full listing has."""
    parts = _parts(session, asked)

    def read(view: LedgerView, core: Any) -> int:
        listing = _listing(view, core, session.keeper, parts)
        return _total(session, view, core, parts, listing)

    with session.operation("count"):
        return session.keeper.run(read)


# --- equal texts ------------------------------------------------------------------------------

# Repeats that a result names; the others are counted.
REPEATS_MAX: Final = 50
# One takes about 250 bytes.
_ROWS_MAX: Final = 65_536


class _TextRows:
    """Row numbers and content hashes by the 16 bytes of an id. They never change, so what was read
    stays true."""

    def __init__(self) -> None:
        self.by_id: dict[bytes, tuple[int, bytes]] = {}

    def drop(self, _seq: int, /) -> None:
        """Those of forgotten memories go, with all others."""
        self.by_id = {}

    def of(
        self, view: LedgerView, namespace: str, ids: Sequence[bytes]
    ) -> list[tuple[int, bytes] | None]:
        """Of each of these memories; None for one that is unknown."""
        known = self.by_id
        missing = [id for id in ids if id not in known]
        if missing:
            if len(known) > _ROWS_MAX:
                known = self.by_id = {}
                missing = list(ids)
            known |= view.text_rows(namespace, missing)
        return [known.get(id) for id in ids]


def recalled(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[bytes]
) -> dict[bytes, RecalledMemory]:
    """The memories with these ids of 16 bytes, by the row numbers that this process has seen.

    Raises:
        StoreDamagedError: the text of one is not the one that was hashed.
    """
    rows = session.cache(_TextRows).of(view, namespace, ids)
    found = view.recalled_rows(namespace, [row[0] for row in rows if row is not None])
    # an id that came back under another number, after it was forgotten elsewhere
    missing = [id for id in ids if id not in found]
    return {**found, **view.recalled(namespace, missing)} if missing else found


def text_keys(
    session: Session, view: LedgerView, namespace: str, ids: Sequence[bytes], known_at_us: int
) -> dict[bytes, Hashable]:
    """id → key of its text, for those of these memories whose text another of them may have: two
    with equal keys are one text. For a callback of the keeper's `run`.

    Args:
        ids: 16 bytes each.
        known_at_us: what is expired, is it at this time.
    """
    rows = session.cache(_TextRows).of(view, namespace, ids)
    hashes = [None if row is None else row[1] for row in rows]
    if len(set(hashes)) == len(ids):
        return {}
    times = Counter(hashes)
    shared = {id: digest for id, digest in zip(ids, hashes, strict=True) if times[digest] > 1}
    owners = view.text_owners(namespace, list(shared))
    keys: dict[bytes, Hashable] = {}
    for id, (scope, author, end_us, expired_us, confirmed) in owners.items():
        expired = expired_us is not None and expired_us <= known_at_us
        # what holds is not shown as what ended, nor what a user states too as a statement of a
        # model alone
        keys[id] = shared[id], scope, author, end_us, expired, confirmed
    return keys


def distinct(ids: Sequence[bytes], keys: Mapping[bytes, Hashable]) -> list[int]:
    """Places of the ids whose text none before them has.

    Example:
        >>> distinct([b"a", b"b", b"c"], {b"a": 1, b"b": 1})
        [0, 2]
    """
    seen = set[Hashable]()
    found = []
    for place, id in enumerate(ids):
        key = keys.get(id)
        if key is None or key not in seen:
            found.append(place)
            seen.add(key)
    return found


def repeats_of(
    session: Session,
    view: LedgerView,
    namespace: str,
    ids: Sequence[str],
    known_at_us: int,
    filter: Callable[[], Mapping[str, Any]],
) -> dict[str, tuple[tuple[Repeat, ...], int]]:
    """id → the other memories of its text that a filter lets through, oldest first, and how many
    there are beyond those; only those that have any.

    Args:
        filter: gives the keyword arguments of the core's filter.
    """
    others = equal_texts(view, namespace, ids, known_at_us) if ids else {}
    if not others:
        return {}
    named = {id_bytes(other.id) for group in others.values() for other in group}
    given = filter()
    listed = given.get("ids")
    if listed is not None:
        named &= set(split_ids(listed))
    chosen = {**given, "ids": b"".join(sorted(named))}
    eligible = set(split_ids(session.keeper.eligible(view, chosen))) if named else set()
    found = {}
    for id, group in others.items():
        repeats = [
            Repeat(
                id=other.id,
                session_id=other.session_id,
                sequence=other.sequence,
                t_valid=from_us(other.t_valid_us),
            )
            for other in group
            if id_bytes(other.id) in eligible
        ]
        if repeats:
            found[id] = tuple(repeats[:REPEATS_MAX]), max(0, len(repeats) - REPEATS_MAX)
    return found
