"""The decision about a group of commits, against one state of the store.

Earlier items of a group count as stored for later ones: `_known` holds every memory that the
group inserts or changes, as it will be. A decision can be repeated: each starts from its view.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from vestig.changes import ChangeSet, TurnPosition
from vestig.commit.canonical_form import CanonicalForm, differences, is_same_statement
from vestig.commit.document_version import DocumentVersion
from vestig.commit.item import Decision, Item, Slot, TextKey, outcome_of
from vestig.commit.keys import check_replaceable_by_key, is_placed, neighbours, version_end
from vestig.commit.names import NameResolution, NameVectors, stored_claim
from vestig.commit.near_duplicates import (
    CANDIDATES_MAX,
    SIMILAR_FOUND,
    SIMILAR_SHOWN,
    NearDuplicate,
    SimilarMemories,
    item_form,
    quoted_first,
    similar_memories,
    similar_memory,
    stored_form,
)
from vestig.commit.rows import (
    Rows,
    add_confirmation,
    add_memory,
    add_mentions,
    add_nearest,
    add_reinforcement,
    add_repetition,
    add_state,
    reinforced,
    repeat_wishes,
)
from vestig.commit.speakers import beside_warning, is_said_again, keeps_key
from vestig.errors import VestigError
from vestig.firewall import holds_marker
from vestig.memories import states
from vestig.session.session import Session
from vestig.store.records import keyed_memories
from vestig.store.records.memory_queries import beginnings, unconfirmed_with_text
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import UniquenessCollision
from vestig.times import format_us, from_us, to_us
from vestig.types import (
    CommitOutcomeKind,
    Degradation,
    Kind,
    Memory,
    SimilarMemory,
    Status,
)

_LIVE = (Status.ACTIVE, Status.ARCHIVED)


class SplitGroup(Exception):
    """The item at `place` can only be decided when those before it are written."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def _beginnings(view: LedgerView, item: Item, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """id → when it began to hold (µs), and its text."""
    return beginnings(view, item.request.namespace, ids) if ids else {}


def _successor(item: Item, id: str, t_valid_us: int) -> states.Successor:
    """A memory in the place of an older one, by whoever committed the item."""
    request = item.request
    return states.Successor(
        id=id,
        t_valid_us=t_valid_us,
        source=request.source,
        actor=request.actor,
        key=item.key,
        scope=request.scope,
    )


def _position(memory: Memory) -> TurnPosition | None:
    """Session and sequence of a turn; None for a note."""
    return None if memory.session_id is None else (memory.session_id, memory.sequence)


class Batch:
    """Up to a thousand commits into one namespace, of which each is written or none."""

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
        # whether an archived memory was made active again
        self._unarchived = False
        self._name_resolution.start()
        # superseded id → ids that superseded it
        self._successors: dict[str, set[str]] = {}

    # --- deduplicate by hash ---------------------------------------------------------------

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
                known = bool(same) and same[0].status in _LIVE
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

    # --- decide ----------------------------------------------------------------------------

    def decide(self, view: LedgerView) -> ChangeSet:
        """The rows of all items, decided in order against this view; an item whose `supersedes`
        names nothing that can be replaced gets its `error` and no rows.

        Raises:
            UniquenessCollision: the store changed so that a text needs a vector after all.
            SplitGroup: an item inserts a text that an earlier item supersedes, or one similar to
                a memory that an earlier item unarchives.
        """
        self._start()
        self._look_up(view)
        repeating = {at for at, item in enumerate(self.items) if item.identity in self._hashes}
        similar = similar_memories(self.session, view, self.items, repeating)
        shown = {id for one in similar.values() for id, _ in one.known[:SIMILAR_SHOWN]}
        self._beginnings = _beginnings(view, self.items[0], sorted(shown))
        for item in self.items:
            item.decision = item.error = None
        for place, item in enumerate(self.items):
            try:
                self._decide(view, place, similar.get(place, SimilarMemories()))
            except VestigError as error:
                # only `supersedes`, `claim` and `key` can refuse here, before any row of the item
                # is made
                item.error = error
        for version in self._versions:
            version.add_rows(view, self._rows)
        return self._rows.change_set(self.items[0].request.namespace)

    def _decide(self, view: LedgerView, place: int, similar: SimilarMemories) -> None:
        item = self.items[place]
        decision = Decision(replaced=self._replaced(view, item))
        for old in decision.replaced:
            decision.warnings += states.rule_warnings(view, old)
        if item.is_of_model and item.asked_slot is not None and not item.is_history:
            keeps = keeps_key(item, self._current(item.asked_slot), decision.replaced)
            if keeps != item.beside and not self.dry:
                # an earlier item gives or takes the key
                raise SplitGroup(place)
            item.stand_beside(keeps)
        if item.claim is not None:
            item.claim = stored_claim(self.session, view, item.request.namespace, item.claim)
        if item.is_history:
            self._insert(view, place, decision, similar)
        elif item.slot is None:
            self._decide_text(view, place, decision, similar)
        else:
            self._decide_version(view, place, item.slot, decision, similar)
        if item.beside is not None:
            decision.warnings.append(beside_warning(item))
        if item.is_of_user and not item.is_masked:
            self._confirm(view, item, decision, similar)
        item.decision = decision

    def _decide_text(
        self, view: LedgerView, place: int, decision: Decision, similar: SimilarMemories
    ) -> None:
        """A text is compared with equal texts, then with those that state the same."""
        item = self.items[place]
        same = self._same_text(place, item)
        repeated = self._first_text(place, item, decision) if same is None else None
        if same is not None:
            self._reinforce(view, item, decision, same, None)
        elif repeated is None and not self.dry and self._was_live(place):
            # An earlier item supersedes the text; the ledger takes it again when that is written.
            raise SplitGroup(place)
        elif self._lacks_vector(place):
            raise UniquenessCollision("the text was in the store a moment ago")
        elif repeated is not None:
            self._insert(view, place, decision, similar, repeated)
        else:
            verdict = self._near_duplicate(view, item, decision, similar)
            match = verdict.match
            if match is not None and item.position in (None, _position(match)):
                self._reinforce(view, item, decision, match, verdict.score)
            elif match is not None:
                self._insert(view, place, decision, similar, match, near=True)
            elif self._unarchived and not self.dry:
                # An unarchived memory is similar to others again when its return is written.
                raise SplitGroup(place)
            else:
                self._insert(view, place, decision, similar)
                if verdict.nearest is not None:
                    add_nearest(self._rows, self._inserted[place], verdict.nearest)

    def _lacks_vector(self, place: int) -> bool:
        """Return whether the text was to be found in the store, and is no longer, by another writer
        or an earlier item; it and those after it then get vectors."""
        item = self.items[place]
        if item.vector is not None or item.deferred is not None:
            return False
        for later in self.items[place:]:
            later.needs_vector = True
        return True

    def _decide_version(
        self,
        view: LedgerView,
        place: int,
        slot: Slot,
        decision: Decision,
        similar: SimilarMemories,
    ) -> None:
        """A text with a key is compared with the memory that has the key, and with nothing else."""
        item, current = self.items[place], self._current(slot)
        if current is not None and current.content_hash == item.identity:
            self._reinforce(view, item, decision, current, None)
            return
        if current is not None and all(old.id != current.id for old in decision.replaced):
            check_replaceable_by_key(current)
            if to_us(current.t_valid) <= item.begins_us:
                decision.by_key = current
            elif not current.confirmed and not item.is_of_model:
                # what a model states from later on keeps no key from a user
                decision.replaced.append(current)
        if self._lacks_vector(place):
            raise UniquenessCollision("the key had this text a moment ago")
        if self._unarchived and not self.dry:
            raise SplitGroup(place)
        self._insert(view, place, decision, similar)

    def _current(self, slot: Slot) -> Memory | None:
        """The active or archived memory with a key, as the group leaves it."""
        inserted = map(self._known.__getitem__, self._inserted_versions.get(slot, ()))
        stored = self._of_keys[slot]
        known = [] if stored is None else [self._known.get(stored.id, stored)]
        return next((one for one in (*inserted, *known) if one.status in _LIVE), None)

    def _same_text(self, place: int, item: Item) -> Memory | None:
        """An active or archived memory with this text, as the group leaves it: of a turn at its
        position; of a note another note, else the oldest turn."""
        earlier = self._inserted_turns.get((item.text_key, item.position))
        if earlier is not None:
            inserted = self._known[earlier]
            if inserted.status in _LIVE:
                return inserted
        for memory in self._same_texts[place]:
            current = self._known.get(memory.id, memory)
            if current.status in _LIVE:
                return current
        return self._oldest(place, item) if item.position is None else None

    def _oldest(self, place: int, item: Item) -> Memory | None:
        """The oldest active or archived memory with this text, as the group leaves it."""
        first = self._first_texts[place]
        if first is not None:
            current = self._known.get(first.id, first)
            return current if current.status in _LIVE else None
        inserted = map(self._known.__getitem__, self._inserted_texts.get(item.text_key, ()))
        return next((memory for memory in inserted if memory.status in _LIVE), None)

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
        if first is not None and self._known.get(first.id, first).status not in _LIVE:
            return True
        return any(memory.status in _LIVE for memory in self._same_texts[place])

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

    def _named(self, view: LedgerView, item: Item) -> Iterator[Memory]:
        """The memories named in `supersedes`, as they are stored."""
        for id in item.request.supersedes:
            yield self.session.memory(view, item.request.namespace, id, "supersedes")

    def _near_duplicate(
        self, view: LedgerView, item: Item, decision: Decision, similar: SimilarMemories
    ) -> NearDuplicate:
        """The first candidate that makes the same statement, else the best."""
        settings, request = self.settings.hygiene.near_duplicate, item.request
        how = request.on_near_dup or settings.on_near_dup
        if not settings.enabled or how == "insert" or item.vector is None or item.is_masked:
            return NearDuplicate()
        decision.compared = True
        if not similar.candidates and not similar.in_group:
            return NearDuplicate()
        candidates = self._candidates(view, item, decision, similar)
        nearest: tuple[str, float] | None = None
        elsewhere: NearDuplicate | None = None
        for memory, score in candidates[:CANDIDATES_MAX]:
            here = item.position in (None, _position(memory))
            if elsewhere is not None and not here:
                continue
            if how == "link":
                return NearDuplicate(nearest=(memory.id, score))
            if not holds_marker(memory.content) and is_same_statement(
                self._form(memory), item_form(item)
            ):
                # a turn restates what stands at its position; elsewhere it repeats the best
                verdict = NearDuplicate(match=memory, score=score)
                if here:
                    return verdict
                elsewhere = verdict
            elif nearest is None:
                nearest = memory.id, score
        return NearDuplicate(nearest=nearest) if elsewhere is None else elsewhere

    def _candidates(
        self, view: LedgerView, item: Item, decision: Decision, similar: SimilarMemories
    ) -> list[tuple[Memory, float]]:
        """Best first, ties by id; of the store and of earlier items of the group."""
        threshold = self.settings.hygiene.near_duplicate.threshold
        scored, memories = list(similar.candidates), dict[str, Memory]()
        for place, score in similar.in_group:
            id = self._inserted.get(place) if score >= threshold else None
            other = self.items[place]
            if id is not None and other.key is None and other.owner == item.owner:
                memories[id] = self._known[id]
                scored.append((id, score))
        missing = [id for id, _ in similar.candidates if id not in self._known]
        if missing:
            stored = view.memories(item.request.namespace, missing)
            memories |= {memory.id: memory for memory in stored}
        excluded = {memory.id for memory in decision.replaced}
        found = []
        for id, score in sorted(scored, key=lambda pair: (-pair[1], pair[0])):
            memory = self._known.get(id) or memories.get(id)
            if memory is None or memory.key is not None:
                continue
            if memory.status in _LIVE and id not in excluded:
                found.append((memory, score))
        return found

    def _form(self, memory: Memory) -> CanonicalForm:
        inserted = self._inserted_items.get(memory.id)
        return stored_form(self.session, memory) if inserted is None else item_form(inserted)

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

    def _reinforce(
        self,
        view: LedgerView,
        item: Item,
        decision: Decision,
        memory: Memory,
        score: float | None,
    ) -> None:
        if any(old.id == memory.id for old in decision.replaced):
            decision.replaced = []
            decision.warnings.append(
                f"the text is that of {memory.id}, which `supersedes` names: nothing was superseded"
            )
        self._unarchived |= memory.status is Status.ARCHIVED
        wishes = repeat_wishes(memory, item.request, self._mentioned(view, item, memory))
        if not memory.confirmed and not item.is_of_model:
            # the memory is a statement of somebody else too
            wishes.fields["confirmed"] = True
            decision.confirms = (memory.id,)
        event, fields = add_reinforcement(self._rows, item, memory, wishes, near_score=score)
        decision.warnings += [f"{memory.id} holds the text already: {kept}" for kept in wishes.kept]
        self._known[memory.id] = reinforced(memory, fields, item)
        exact = score is None
        if exact and item.given != memory.content:
            decision.warnings.append(
                f"{memory.id} holds the same text with other white space or another Unicode form:"
                " that stays, and the one given here stands in the event"
            )
        if item.claim is not None:
            decision.warnings.append(
                f"{memory.id} holds the fact already: the claim was not stored with it"
            )
        decision.kind = CommitOutcomeKind.EXACT_DUPE if exact else CommitOutcomeKind.NEAR_DUPE
        decision.memory_id, decision.event_id, decision.score = memory.id, event.id, score
        self._supersede(item, decision, memory.id, to_us(memory.t_valid))

    def _insert(
        self,
        view: LedgerView,
        place: int,
        decision: Decision,
        similar: SimilarMemories,
        repeated: Memory | None = None,
        *,
        near: bool = False,
    ) -> None:
        """A new memory; `repeated`: what says the same at another position of a session."""
        item, chosen = self.items[place], self.settings
        mentions, left_out = self._name_resolution.mentions(view, place)
        if left_out:
            decision.warnings.append(
                f"{left_out} of {len(item.entities)} entities were left out: below"
                " entities.min_confidence, or more than max_per_memory"
            )
        decision.revives = self._revived(view, place)
        known = self._known_of_the_same(item, decision, similar)
        decision.similar = self._similar(view, item, quoted_first(view, item, known))
        decision.repeats = None if repeated is None else repeated.id
        memory = add_memory(
            self._rows,
            item,
            related=self._related(similar),
            # a model is asked about more than are shown
            similar=known if "updates" in item.model_jobs else known[:SIMILAR_SHOWN],
            revives=decision.revives,
            repeats=decision.repeats,
            claim=item.claim,
        )
        decision.memory_id, decision.event_id = memory.id, self._rows.events[-1].id
        add_state(self._rows, item, memory)
        if repeated is not None:
            add_repetition(self._rows, item, repeated, memory.id, near=near)
            self._known[repeated.id] = reinforced(repeated, {}, item)
        add_mentions(
            self._rows,
            memory.id,
            mentions,
            with_edges=chosen.links.mentions.enabled,
            evidence_chars_max=chosen.entities.max_evidence_length,
        )
        self._name_resolution.inserted(place, mentions)
        self._known[memory.id] = msgspec.structs.replace(memory, content=item.given)
        if item.key is None:
            self._inserted_texts.setdefault(item.text_key, []).append(memory.id)
            self._inserted_turns[item.text_key, item.position] = memory.id
        self._inserted[place], self._inserted_items[memory.id] = memory.id, item
        if item.is_of_model:
            self._inserted_of_models.setdefault(item.identity, []).append(memory.id)
        decision.kind = CommitOutcomeKind.INSERTED_NEW
        queued = len(item.job_kinds(has_similar=bool(known)))
        decision.jobs = tuple(job.id for job in self._rows.jobs[-queued:]) if queued else ()
        # a dry run has no ids for what it does not store
        stored = [one for one in mentions if one.new is None or not self.dry]
        decision.entities = tuple([one.entity_id for one in stored])
        self._supersede(item, decision, memory.id, item.begins_us)
        if item.slot is not None:
            self._order_version(view, item, item.slot, decision, memory)

    def _confirm(
        self, view: LedgerView, item: Item, decision: Decision, similar: SimilarMemories
    ) -> None:
        """Confirms the statements of models that a statement of a user, made later, makes too."""
        ids, space = [*self._inserted_of_models.get(item.identity, ())], item.request.namespace
        if item.identity in self._hashes:
            ids += unconfirmed_with_text(view, space, item.request.scope, item.identity)
        near = self.settings.hygiene.near_duplicate
        if near.enabled and item.vector is not None:
            ids += [id for id, score in similar.known if score >= near.threshold]
            places = [at for at, score in similar.in_group if score >= near.threshold]
            ids += [self._inserted[at] for at in places if at in self._inserted]
        unknown = [id for id in dict.fromkeys(ids) if id not in self._known]
        stored = view.memories(space, unknown) if unknown else []
        by_id = {one.id: one for one in stored} | self._known
        for memory in map(by_id.get, dict.fromkeys(ids)):
            if memory is None or not is_said_again(memory, item, self._form):
                continue
            add_confirmation(self._rows, item, memory.id, decision.memory_id)
            self._known[memory.id] = msgspec.structs.replace(memory, confirmed=True)
            decision.confirms += (memory.id,)

    def _revived(self, view: LedgerView, place: int) -> str | None:
        """The newest expired memory with the text of an item, of its key where it has one."""
        item = self.items[place]
        if item.slot is None:
            return next((memory.id for memory in self._same_texts[place]), None)
        inserted = map(
            self._known.__getitem__, reversed(self._inserted_versions.get(item.slot, []))
        )
        stored = self._of_keys[item.slot]
        # one that the group expired is not expired in the store
        known = [] if stored is None else [self._known.get(stored.id, stored)]
        for one in (*inserted, *known):
            if one.content_hash == item.identity and one.status not in _LIVE:
                return one.id
        if item.identity not in self._hashes:
            return None
        found = keyed_memories.expired_with_text(view, *item.slot, item.identity)
        return next((memory.id for memory in found), None)

    def _known_of_the_same(
        self, item: Item, decision: Decision, similar: SimilarMemories
    ) -> list[tuple[str, float]]:
        """(id, cosine) of known memories of the same, without those that the commit replaces; the
        nearest first."""
        gone = {old.id for old in decision.replaced}
        if decision.by_key is not None:
            gone.add(decision.by_key.id)
        scored = list(similar.known)
        # a dry run has no ids for what it does not store
        for at, score in () if self.dry else similar.in_group:
            id = self._inserted.get(at)
            if id is not None and score >= self.settings.similar.min_score:
                other = self.items[at]
                if other.owner[:2] == item.owner[:2]:
                    scored.append((id, score))
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        live = ((id, score) for id, score in scored if id not in gone and self._is_live(id))
        return list(itertools.islice(live, SIMILAR_FOUND))

    def _similar(
        self, view: LedgerView, item: Item, known: Sequence[tuple[str, float]]
    ) -> tuple[SimilarMemory, ...]:
        """These memories as the outcome names them."""
        found = []
        for id, score in known:
            alike = score >= self.settings.hygiene.near_duplicate.threshold
            different = differences(self._form_of(view, item, id), item_form(item)) if alike else ()
            inserted = self._inserted_items.get(id)
            if inserted is not None:
                beginning = inserted.begins_us, inserted.text
            else:
                beginning = self._beginnings.get(id) or _beginnings(view, item, [id])[id]
            found.append(similar_memory(id, score, beginning, different))
        return tuple(found)

    def _is_live(self, id: str) -> bool:
        """Return whether a memory that is similar to one of the group is live, as the group leaves
        it."""
        known = self._known.get(id)
        return known is None or known.status in _LIVE

    def _form_of(self, view: LedgerView, item: Item, id: str) -> CanonicalForm:
        inserted = self._inserted_items.get(id)
        if inserted is not None:
            return item_form(inserted)
        (memory,) = view.memories(item.request.namespace, [id])
        return stored_form(self.session, memory)

    def _related(self, similar: SimilarMemories) -> tuple[tuple[str, float], ...]:
        """RELATED edges of a new memory: the best of the store and of the group."""
        chosen = self.settings.links.related
        if not chosen.enabled:
            return ()
        scored = [
            (id, score)
            for id, score in similar.related
            if id not in self._known or self._known[id].status is Status.ACTIVE
        ]
        for place, score in similar.in_group:
            id = self._inserted.get(place) if score >= chosen.similarity_threshold else None
            if id is None:
                continue
            # of the namespace of the group, like every memory of it
            memory = self._known[id]
            if memory.status is Status.ACTIVE and memory.kind is Kind.MEMORY:
                scored.append((id, score))
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        return tuple(scored[: chosen.max_edges_per_memory])

    def _supersede(
        self, item: Item, decision: Decision, successor_id: str, t_valid_us: int
    ) -> None:
        """Supersession rows of `supersedes` and of the key, in the commit's own transaction."""
        successor = _successor(item, successor_id, t_valid_us)
        for old in decision.replaced:
            known = self._successors.setdefault(old.id, set())
            if successor_id in known:
                continue  # repeating a pair writes nothing
            known.add(successor_id)
            decision.warnings += states.replacement_warnings(old, successor)
            self._replace(old, successor)
        replaced = [old.id for old in decision.replaced]
        if decision.by_key is not None:
            self._replace(decision.by_key, successor, by_key=True)
            replaced.append(decision.by_key.id)
        decision.superseded = tuple(replaced)

    def _replace(self, old: Memory, successor: states.Successor, *, by_key: bool = False) -> None:
        """The rows of one replacement. `by_key`: the old memory holds no longer than until the
        successor begins."""
        end_us, reason = None, ""
        if by_key:
            reason, end_us = "key", successor.t_valid_us
            if old.t_invalid is not None:
                end_us = min(end_us, to_us(old.t_invalid))
        parts = states.replace(
            old, successor, reason=reason, t_invalid_us=end_us, now_us=self.now_us
        )
        self._rows.patches.append(parts.patch)
        self._rows.events.append(parts.event)
        self._rows.supersessions.append(parts.record)
        self._known[old.id] = msgspec.structs.replace(
            self._known.get(old.id, old),
            status=Status.SUPERSEDED,
            superseded_by=successor.id,
            t_invalid=parts.patch.fields.get("t_invalid", old.t_invalid),
            t_expired=old.t_expired or from_us(self.now_us),
        )

    def _order_version(
        self, view: LedgerView, item: Item, slot: Slot, decision: Decision, memory: Memory
    ) -> None:
        """Places an inserted memory among the versions of its key: the one before it ends where it
        begins; older news is superseded at once by the one after it."""
        versions = self._inserted_versions.setdefault(slot, [])
        if is_placed(item, decision.by_key, self._current(slot)):
            replaced = set(decision.superseded)
            beside = neighbours(
                view,
                slot,
                item.begins_us,
                [self._known[id] for id in versions if id not in replaced],
                lambda one: self._known.get(one.id, one),
                replaced,
            )
            current = self._current(slot)
            if beside.before is not None:
                self._end_version(item, beside.before, item.begins_us)
            if current is None and beside.after is not None:
                # what had the key since then was withdrawn, and does not return
                begins_us = to_us(beside.after.t_valid)
                self._end_version(item, self._known[memory.id], begins_us)
            elif current is not None:
                after = current if beside.after is None else beside.after
                successor = _successor(item, after.id, to_us(after.t_valid))
                self._replace(self._known[memory.id], successor, by_key=True)
                decision.warnings.append(
                    f"{current.id} stays current under the key, for it holds from"
                    f" {format_us(to_us(current.t_valid))} on: this text is older and was stored"
                    " as history"
                )
        versions.append(memory.id)

    def _end_version(self, item: Item, version: Memory, end_us: int) -> None:
        """The end of a version where another begins before it."""
        if version.t_invalid is not None and to_us(version.t_invalid) <= end_us:
            return
        patch, event = version_end(version, end_us, self.now_us)
        request = item.request
        self._rows.events.append(
            msgspec.structs.replace(event, source=request.source, actor=request.actor)
        )
        self._rows.patches.append(patch)
        self._known[version.id] = msgspec.structs.replace(version, t_invalid=from_us(end_us))

    # --- after the transaction -------------------------------------------------------------

    def inline_jobs(self) -> list[str]:
        """Ids of the jobs of this group that are tried at once (`enrichment.mode: inline`)."""
        inline = self.settings.enrichment.mode == "inline"
        return [
            job
            for item in self.items
            if item.decision is not None
            and (inline if item.request.enrich is None else item.request.enrich)
            for job in item.decision.jobs
        ]

    def finish(self, seq: int | None, degraded: list[Degradation]) -> None:
        """Outcomes of all items; `seq` None = nothing was written (dry run)."""
        for item in self.items:
            if item.decision is not None:
                hygiene = self.settings.hygiene
                item.outcome = outcome_of(item, item.decision, hygiene, seq, degraded)
