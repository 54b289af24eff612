"""A group of commits, and what it is decided against: one state of the store, and earlier items.

Earlier items of a group count as stored for later ones: `_known` holds every memory that the
group inserts or changes, as it will be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress

from vestig.changes import TurnPosition
from vestig.commit.document_version import DocumentVersion
from vestig.commit.item import Decision, Item, Slot, TextKey
from vestig.commit.keys import Neighbours, held_then, without
from vestig.commit.names import NameResolution, NameVectors
from vestig.commit.rows import Rows
from vestig.commit.speakers import keeps_key
from vestig.errors import VestigError
from vestig.memories import states
from vestig.memories.spans import Happening, Span, happenings, span_of
from vestig.session.session import Session
from vestig.store.records import item_rows, keyed_memories, rule_rows
from vestig.store.records.reads import LedgerView
from vestig.times import to_us
from vestig.types import Memory, OriginType, Status

LIVE = (Status.ACTIVE, Status.ARCHIVED)


class Group:
    """Up to a thousand commits into one namespace, and what the store and the earlier of them hold
    of their texts and keys."""

    def __init__(
        self,
        session: Session,
        items: list[Item],
        names: NameVectors,
        versions: Sequence[DocumentVersion] = (),
    ) -> None:
        self.session = session
        # documents whose last passages are among the items
        self._versions = versions
        self.names = names
        self._name_resolution = NameResolution(session, items, names)
        self.settings = session.config.settings
        self.items = items
        # whether nothing is to be written
        self.dry = all(item.request.dry_run for item in items)
        self.now_us = session.now_us()
        # place → memories with the same text at the same position, and the oldest unexpired one
        # at any, at `_seq`
        self._same_texts: list[list[Memory]] = []
        self._first_texts: list[Memory | None] = []
        # the memory of each key, and the content hashes that the store has, at `_seq`
        self._of_keys: dict[Slot, Memory | None] = {}
        self._hashes: set[str] = set()
        # (when it began to hold, text) of the nearest memories of the store
        self._beginnings: dict[str, tuple[int, str]] = {}
        self._seq: int | None = None
        self._start()

    def _start(self) -> None:
        """Nothing is decided yet."""
        self._rows = Rows(now_us=self.now_us, model=self.session.embedder.model)
        self._known: dict[str, Memory] = {}
        # ids of inserted memories by their text's key, oldest first, then by that and their
        # position, and by their item's place
        self._inserted_texts: dict[TextKey, list[str]] = {}
        self._inserted_turns: dict[tuple[TextKey, TurnPosition | None], str] = {}
        self._inserted: dict[int, str] = {}
        self._inserted_items: dict[str, Item] = {}
        self._inserted_of_models: dict[str, list[str]] = {}  # by the hash of their text
        # ids of inserted memories by their key, oldest first
        self._inserted_versions: dict[Slot, list[str]] = {}
        # keys of which a version holds again behind another one
        self._continued: set[Slot] = set()
        # those with a key by their text's key, oldest first
        self._inserted_values: dict[TextKey, list[str]] = {}
        # the last time of the clock at which the ledger or an earlier item was written
        self._latest_us = 0
        # whether an archived memory was made active again
        self._unarchived = False
        self._name_resolution.start()
        # superseded id → ids that superseded it
        self._successors: dict[str, set[str]] = {}

    def to_embed(self, view: LedgerView) -> tuple[list[Item], list[str]]:
        """Items whose text is new to the store and to the group, and what is embedded of names
        that are new to the store."""
        self._look_up(view)
        fresh, seen = [], set[tuple[TextKey, TurnPosition | None]]()
        texts, slots = set[TextKey](), set[Slot]()
        looked_up = zip(self.items, self._same_texts, self._first_texts, strict=True)
        for item, same, first in looked_up:
            key, position, slot = item.text_key, item.position, item.slot
            if slot is not None:
                current = self._of_keys[slot]
                known = current is not None and current.content_hash == item.identity
                known = known and slot not in slots
                slots.add(slot)
            else:
                known = bool(same) and same[0].status in LIVE
                known = known or (key, position) in seen
                if position is None:
                    known = known or first is not None or key in texts
                seen.add((key, position))
                texts.add(key)
            if (item.needs_vector or not known) and item.vector is None and item.deferred is None:
                fresh.append(item)
        if not fresh and not self.names.wanted:
            return [], []
        new = {id(item) for item in fresh}
        places = [
            place
            for place, item in enumerate(self.items)
            if id(item) in new or item.vector is not None
        ]
        return fresh, self._name_resolution.names_to_embed(view, places)

    def _look_up(self, view: LedgerView) -> None:
        """Memories with the same text, or with its key, per item; read once for each state of the
        store."""
        if self._seq == view.seq:
            return
        space = self.items[0].request.namespace
        known = view.known_hashes(space, [item.identity for item in self.items])
        slots = {item.asked_slot for item in self.items}
        self._of_keys = {
            slot: keyed_memories.current(view, *slot) for slot in slots if slot is not None
        }
        for item in self.items:
            self._stand_beside(view, item)
        self._hashes = known
        found: dict[tuple[TextKey, TurnPosition | None], list[Memory]] = {}
        first: dict[TextKey, Memory | None] = {}
        for item in self.items:
            key, position = item.text_key, item.position
            unknown = item.identity not in known or item.slot is not None
            if not unknown and (key, position) not in found:
                found[key, position] = view.same_text(*key, position)
                if key not in first:
                    first[key] = view.first_with_text(*key)
        noted = [item if item.slot is None else None for item in self.items]
        self._same_texts = [
            [] if one is None else found.get((one.text_key, one.position), []) for one in noted
        ]
        self._first_texts = [None if one is None else first.get(one.text_key) for one in noted]
        self._seq = view.seq

    def _stand_beside(self, view: LedgerView, item: Item) -> None:
        """Finds the memory that keeps the key of a statement of a model, in the store."""
        if item.is_of_model and item.asked_slot is not None and not item.is_history:
            named = list[Memory]()
            with suppress(VestigError):
                named.extend(self._named(view, item))
            item.stand_beside(keeps_key(item, self._of_keys[item.asked_slot], named))

    def _current(self, slot: Slot) -> Memory | None:
        """The active or archived memory with a key, as the group leaves it."""
        inserted = map(self._known.__getitem__, self._inserted_versions.get(slot, ()))
        stored = self._of_keys[slot]
        known = [] if stored is None else [self._known.get(stored.id, stored)]
        return next((one for one in (*inserted, *known) if one.status in LIVE), None)

    def _version_then(
        self, view: LedgerView, item: Item, slot: Slot, current: Memory | None
    ) -> Memory | None:
        """The replaced version with the text of an item that held when that begins."""
        if current is None or item.begins_us >= to_us(current.t_valid):
            return None
        found = [self._known[id] for id in self._inserted_versions.get(slot, ())]
        if item.identity in self._hashes:
            stored = self._of_keys[slot]
            expired = keyed_memories.expired_with_text(view, *slot, item.identity)
            known = expired if stored is None else [stored, *expired]
            found += [self._known.get(one.id, one) for one in known]
        same = (one for one in found if one.content_hash == item.identity)
        return held_then(item, current, same)

    def _same_text(self, place: int, item: Item) -> Memory | None:
        """An active or archived memory with this text, as the group leaves it: of a turn at its
        position; of a note another note, else the oldest turn."""
        earlier = self._inserted_turns.get((item.text_key, item.position))
        if earlier is not None:
            inserted = self._known[earlier]
            if inserted.status in LIVE:
                return inserted
        for memory in self._same_texts[place]:
            current = self._known.get(memory.id, memory)
            if current.status in LIVE:
                return current
        return self._oldest(place, item) if item.position is None else None

    def _oldest(self, place: int, item: Item) -> Memory | None:
        """The oldest active or archived memory with this text, as the group leaves it."""
        first = self._first_texts[place]
        if first is not None:
            current = self._known.get(first.id, first)
            return current if current.status in LIVE else None
        inserted = map(self._known.__getitem__, self._inserted_texts.get(item.text_key, ()))
        return next((memory for memory in inserted if memory.status in LIVE), None)

    def _first_text(self, place: int, item: Item, decision: Decision) -> Memory | None:
        """The memory that a turn repeats from another position; none that it replaces."""
        if item.position is None:
            return None
        oldest = self._oldest(place, item)
        replaced = oldest is not None and any(old.id == oldest.id for old in decision.replaced)
        return None if replaced else oldest

    def _was_live(self, place: int) -> bool:
        """Return whether the store holds the text as active or archived, and the group has ended
        that."""
        first = self._first_texts[place]
        if first is not None and self._known.get(first.id, first).status not in LIVE:
            return True
        return any(memory.status in LIVE for memory in self._same_texts[place])

    def _otherwise_kept(self, view: LedgerView, item: Item) -> list[Memory]:
        """The live memories with the text of an item, as the group leaves them: for one with a key
        the oldest without any, for one without those that have a key, but for texts of items."""
        found, inserted = list[Memory](), self._inserted_values
        if item.key is not None:
            inserted = self._inserted_texts
        if item.identity in self._hashes:
            if item.key is None:
                values = keyed_memories.with_text(view, *item.text_key)
                found += [one for one in values if not item_rows.of_memories(view, [one])]
            elif (first := view.first_with_text(*item.text_key)) is not None:
                found.append(first)
        ids = dict.fromkeys([*(one.id for one in found), *inserted.get(item.text_key, ())])
        known = {one.id: one for one in found} | self._known
        return [known[id] for id in ids if known[id].status in LIVE]

    def _value_of_text(self, view: LedgerView, item: Item, decision: Decision) -> Memory | None:
        """The value of a key that a note without one repeats: it holds open when that begins, no
        other key has its text, and nothing is to take its place."""
        request = item.request
        asks_own = item.position or item.document or item.beside or item.status
        if asks_own or decision.replaced or request.t_invalid is not None:
            return None
        if request.on_near_dup == "insert":
            return None
        found = self._otherwise_kept(view, item)
        if len(found) != 1 or found[0].status is not Status.ACTIVE:
            return None
        begun = to_us(found[0].t_valid) <= item.begins_us
        return found[0] if begun and found[0].t_invalid is None else None

    def _said_apart(self, view: LedgerView, item: Item, value: Memory) -> list[Memory]:
        """The notes without a key that state what a value of a key states, and no later than an
        item begins that takes its place: they are outdated with it."""
        owner = value.namespace, value.scope, value.author, value.content_hash
        inserted = [self._known[id] for id in self._inserted_texts.get(owner, ())]
        stored = [self._known.get(one.id, one) for one in view.same_text(*owner, None)]
        found = {one.id: one for one in (*stored, *inserted)}.values()
        return [
            one
            for one in found
            if one.status in LIVE
            and not (one.session_id or one.pinned or one.t_invalid)
            and one.origin_type is not OriginType.DOCUMENT
            and to_us(max(one.t_valid, one.last_seen_at or one.t_valid)) <= item.begins_us
            and not rule_rows.is_rule(view, one)
        ]

    def _mentioned(self, view: LedgerView, item: Item, memory: Memory) -> list[str]:
        """Names of the entities that a memory mentions; looked up where the item names any."""
        inserted = self._inserted_items.get(memory.id)
        if inserted is not None or not item.request.entities:
            return [] if inserted is None else [one.name for one in inserted.entities]
        space = memory.namespace
        ids = [one.entity_id for one in view.mentions(space, [memory.id])]
        return [
            name
            for entity in view.entities(space, ids)
            for name in (entity.canonical_name, *entity.aliases)
        ]

    def _is_live(self, id: str) -> bool:
        """Return whether a memory that is similar to one of the group is live, as the group leaves
        it."""
        known = self._known.get(id)
        return known is None or known.status in LIVE

    def _memory(self, view: LedgerView, item: Item, id: str) -> Memory | None:
        """The memory of an id as the items before leave it; None where there is none."""
        if id in self._known:
            return self._known[id]
        return next(iter(view.memories(item.request.namespace, [id])), None)

    def _replaced(self, view: LedgerView, item: Item) -> list[Memory]:
        """The memories named in `supersedes`; every id is checked before anything is written."""
        space, found = item.request.namespace, []
        for memory in self._named(view, item):
            current = self._known.get(memory.id, memory)
            states.check_replaceable(current)
            if current.status is Status.SUPERSEDED and current.id not in self._successors:
                records = view.supersessions(space, current.id)
                self._successors[current.id] = {
                    record.superseding_id
                    for record in records
                    if record.superseded_id == current.id
                }
            found.append(current)
        return found

    def _follow(self, view: LedgerView, place: int, item: Item, replaced: list[Memory]) -> None:
        """An item is later than what it replaces, and than what has its key or its text."""
        slot = item.asked_slot
        held = self._same_text(place, item) if slot is None else self._current(slot)
        self._latest_us = max(self._latest_us, view.last_recorded_us)
        item.follow(replaced if held is None else (*replaced, held), self._latest_us)
        if item.request.t_ref is None:
            self._latest_us = max(self._latest_us, item.reference_us)

    def _named(self, view: LedgerView, item: Item) -> Iterator[Memory]:
        """The memories named in `supersedes`, as they are stored."""
        for id in item.request.supersedes:
            yield self.session.memory(view, item.request.namespace, id, "supersedes")

    def _spans(
        self,
        view: LedgerView,
        item: Item,
        beside: Neighbours,
        by_key: Memory | None,
        current: Memory | None,
    ) -> Iterator[Span]:
        """The versions of a key that hold behind the beginning of an item, the earliest first.

        Args:
            by_key: what had the key and is replaced, as it was before.
        """
        before, begins_us = beside.before, item.begins_us
        if before is not None and (before.t_invalid is None or to_us(before.t_invalid) > begins_us):
            found = self._span(view, before)
            if by_key is not None:
                # it held beside what has the key, and is not what holds again
                found = found._replace(said_us=(), ends_us=begins_us + 1)
            elif current is None:
                # of a key that is free nothing returns
                found = found._replace(said_us=())
            yield found
        if by_key is not None:
            found = self._span(view, by_key)
            # nobody said since when it holds, where that is later
            yield found._replace(since_us=min(found.since_us, begins_us))
        if current is None:
            return
        last = None
        for last in beside.after:
            yield self._span(view, last)
        if last is None or last.id != current.id:
            yield self._span(view, current)

    def _without_stated(
        self, item: Item, by_key: Memory | None, spans: Iterator[Span]
    ) -> Iterator[Span]:
        """The same versions; where the first states what the item states, and is not replaced,
        without what was to hold again of it."""
        first = next(spans, None)
        if first is None:
            return spans
        spans = itertools.chain((first,), spans)
        stated = first.version
        if first.since_us > item.begins_us or stated.content_hash != item.identity:
            return spans
        replaced = by_key is not None and by_key.id == stated.id
        return spans if replaced else without(first, item.begins_us, spans)

    def _span(self, view: LedgerView, version: Memory) -> Span:
        return span_of(version, lambda: self._events(view, version))

    def _continues(self, view: LedgerView, version: Memory) -> bool:
        """Return whether a version holds again behind another one."""
        span = self._span(view, version)
        return span.since_us < span.begins_us

    def _said_by(self, view: LedgerView, item: Item, version: Memory) -> tuple[str, str | None]:
        """Source and actor of the text of a version; where they are not known, of the item."""
        first = next(iter(view.events(version.namespace, version.id)), None)
        if first is not None:
            return first.source, first.actor
        request = self._inserted_items.get(version.id, item).request
        return request.source, request.actor

    def _stored_us(self, view: LedgerView, version: Memory) -> int:
        """When a version was stored, in whatever store."""
        happened = self._events(view, version)
        return happened[0].recorded_us if happened else to_us(version.t_created)

    def _events(self, view: LedgerView, version: Memory) -> list[Happening]:
        """Events of a version, as the group leaves it, oldest first."""
        return happenings(view, version) + [
            Happening(one.event_type, one.occurred_us, self.now_us, one.payload)
            for one in self._rows.events
            if one.memory_id == version.id
        ]
