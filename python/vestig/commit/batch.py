"""The decision about a group of commits, against one state of the store.

A decision can be repeated: each starts from its view.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from vestig.changes import ChangeSet, TurnPosition, new_claim
from vestig.commit.canonical_form import CanonicalForm, differences, is_same_statement
from vestig.commit.document_version import add_versions
from vestig.commit.group import LIVE, Group
from vestig.commit.item import Decision, Item, Slot, outcome_of
from vestig.commit.keys import (
    Place,
    again_warning,
    changes_end,
    check_replaceable_by_key,
    goes_on_warning,
    held_then,
    is_placed,
    known_warning,
    neighbours,
    overlap_warning,
    place_of,
    place_warning,
    said_meanwhile,
    successor_of,
    tells_more,
    version_end,
)
from vestig.commit.names import stored_claim, told
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
    OF_A_RULE,
    add_confirmation,
    add_continuation,
    add_memory,
    add_mentions,
    add_nearest,
    add_reinforcement,
    add_repetition,
    add_state,
    reinforced,
    repeat_wishes,
    retention_warnings,
)
from vestig.commit.speakers import (
    begins_anew,
    beside_warning,
    comes_before,
    has_ended,
    held_earlier,
    is_said_again,
    keeps_key,
    stays_ended,
)
from vestig.errors import VestigError
from vestig.firewall import holds_marker
from vestig.memories import states
from vestig.memories.spans import Stretch, continuation, told_times
from vestig.store.records import keyed_memories, rule_rows
from vestig.store.records.memory_parts import moved, parts_for
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


class SplitGroup(Exception):
    """The item at `place` can only be decided when those before it are written."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


def _position(memory: Memory) -> TurnPosition | None:
    """Session and sequence of a turn; None for a note."""
    return None if memory.session_id is None else (memory.session_id, memory.sequence)


class Batch(Group):
    """Up to a thousand commits into one namespace, of which each is written or none."""

    # --- decide ----------------------------------------------------------------------------

    def decide(self, view: LedgerView) -> ChangeSet:
        """The rows of all items, decided in order against this view; an item whose `supersedes`
        names nothing that can be replaced gets its `error` and no rows.

        Raises:
            UniquenessCollision: the store changed so that a text needs a vector after all.
            SplitGroup: an item inserts a text that an earlier item supersedes or stores, or one
                similar to a memory that an earlier item unarchives.
        """
        self._start()
        self._look_up(view)
        repeating = {at for at, item in enumerate(self.items) if item.identity in self._hashes}
        similar = similar_memories(self.session, view, self.items, repeating)
        shown = {id for one in similar.values() for id, _ in one.known[:SIMILAR_SHOWN]}
        self._beginnings = beginnings(view, self.items[0].request.namespace, sorted(shown))
        for item in self.items:
            item.decision = item.error = None
        for place, item in enumerate(self.items):
            try:
                self._decide(view, place, similar.get(place, SimilarMemories()))
            except VestigError as error:
                # only `supersedes`, `claim` and `key` can refuse here, before any row of the item
                # is made
                item.error = error
        add_versions(view, self._rows, self._versions)
        return self._rows.change_set(self.items[0].request.namespace)

    def _decide(self, view: LedgerView, place: int, similar: SimilarMemories) -> None:
        item = self.items[place]
        decision = Decision(replaced=self._replaced(view, item))
        self._follow(view, place, item, decision.replaced)
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
        if item.ends_us is not None and (inserted := self._inserted.get(place)) is not None:
            self._end_version(item, self._known[inserted], item.ends_us)
        if decision.kind is CommitOutcomeKind.INSERTED_NEW:
            decision.warnings += retention_warnings(item.request, self.now_us)
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
        if same is not None and self._begins_anew(view, item, same):
            self._insert_anew(view, place, decision, similar, same)
        elif same is not None:
            inserted = map(self._known.__getitem__, self._inserted_texts.get(item.text_key, ()))
            left = (self._known.get(one.id, one) for one in self._same_texts[place])
            known = None if decision.replaced else held_then(item, same, (*inserted, *left))
            self._reinforce(view, item, decision, known or same, None)
        elif repeated is None and not self.dry and self._was_live(place):
            # An earlier item supersedes the text; the ledger takes it again when that is written.
            raise SplitGroup(place)
        elif self._lacks_vector(place):
            raise UniquenessCollision("the text was in the store a moment ago")
        elif (value := self._value_of_text(view, item, decision)) is not None:
            self._reinforce(view, item, decision, value, None)
        elif repeated is not None:
            self._insert(view, place, decision, similar, repeated)
        else:
            verdict = self._near_duplicate(view, item, decision, similar)
            match = verdict.match
            here = match is not None and item.position in (None, _position(match))
            if match is not None and here and self._begins_anew(view, item, match):
                self._insert_anew(view, place, decision, similar, match)
            elif match is not None and here:
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

    def _begins_anew(self, view: LedgerView, item: Item, known: Memory) -> bool:
        """Return whether a text that ended is stored anew; a rule that binds still is not ended."""
        if not begins_anew(item, known):
            return False
        assert known.t_invalid is not None, "it has ended"
        return to_us(known.t_invalid) <= self.now_us or not rule_rows.is_rule(view, known)

    def _insert_anew(
        self,
        view: LedgerView,
        place: int,
        decision: Decision,
        similar: SimilarMemories,
        known: Memory,
    ) -> None:
        """Stores a text anew that a memory stated until it ended: the new one takes its place."""
        if (known.id in self._inserted_items or self._unarchived) and not self.dry:
            raise SplitGroup(place)
        if self._lacks_vector(place):
            raise UniquenessCollision("the text had a memory that holds")
        if all(old.id != known.id for old in decision.replaced):
            decision.replaced.append(known)
            decision.warnings += states.rule_warnings(view, known)
        if known.content_hash == self.items[place].identity:
            decision.revives = known.id
        if known.pinned and not self.items[place].request.pinned:
            decision.warnings.append(f"{known.id}, which ended, is pinned; what holds again is not")
        self._insert(view, place, decision, similar)

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
        if slot in self._continued and not self.dry:
            # what holds again can be compared once it is stored
            raise SplitGroup(place)
        item, current = self.items[place], self._current(slot)
        then = None if decision.replaced else self._version_then(view, item, slot, current)
        span = None if then is None else self._span(view, then)
        anew = span is not None and changes_end(item, span) and item.may_follow(span.version)
        if span is not None and not anew:
            self._reinforce(view, item, decision, span.version, None)
            if current is not None and current.id != span.version.id:
                decision.warnings.append(known_warning(span, current, self.now_us))
            return
        if current is not None and not anew and current.content_hash == item.identity:
            if begins_anew(item, current):
                self._insert_anew(view, place, decision, similar, current)
                return
            if not (
                comes_before(item, current, self.now_us)
                or (current.confirmed and held_earlier(item, current))
            ):
                self._reinforce(view, item, decision, current, None)
                return
        if current is not None and all(old.id != current.id for old in decision.replaced):
            self._take_place(view, item, decision, current)
        if self._lacks_vector(place):
            raise UniquenessCollision("the key had this text a moment ago")
        if self._unarchived and not self.dry:
            raise SplitGroup(place)
        self._insert(view, place, decision, similar)
        if current is not None and current.id in decision.superseded:
            self._end_notes(view, item, decision, current)

    def _end_notes(self, view: LedgerView, item: Item, decision: Decision, value: Memory) -> None:
        """Replaces the notes that state what a replaced value of a key states."""
        assert decision.memory_id is not None, "it was inserted"
        for note in self._said_apart(view, item, value):
            successor = successor_of(item, decision.memory_id, item.begins_us)
            self._replace(note, successor, by_key=True)
            decision.superseded += (note.id,)

    def _take_place(
        self, view: LedgerView, item: Item, decision: Decision, current: Memory
    ) -> None:
        """Decides whether an item takes the place of what has its key: not where it ends before
        that begins, or when it begins itself."""
        ends_us, same = item.request.t_invalid, current.content_hash == item.identity
        if not same:
            check_replaceable_by_key(current)
        if ends_us is not None and ends_us <= max(item.begins_us, to_us(current.t_valid)):
            return
        if to_us(current.t_valid) <= item.begins_us:
            decision.by_key = current
        elif same and current.confirmed:
            return
        elif tells_more(
            item, current, lambda: self._stored_us(view, current)
        ) and not self._continues(view, current):
            decision.by_key = current
            decision.warnings.append(
                f"nobody said since when {current.id} holds, so this later text takes its"
                f" place; if it is history, commit the text of {current.id} again"
            )
        elif not current.confirmed and not item.is_of_model:
            # what a model states from later on keeps no key from a user
            decision.replaced.append(current)

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
            if memory.status in LIVE and id not in excluded:
                found.append((memory, score))
        return found

    def _form(self, memory: Memory) -> CanonicalForm:
        inserted = self._inserted_items.get(memory.id)
        return stored_form(self.session, memory) if inserted is None else item_form(inserted)

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
                f"the text is that of {memory.id}, which it is to supersede: nothing was superseded"
            )
        request, archived = item.request, memory.status is Status.ARCHIVED
        shortens = request.t_invalid is not None or request.retention_until is not None
        wishes = repeat_wishes(
            memory,
            request,
            self._mentioned(view, item, memory),
            is_rule=(shortens or archived) and rule_rows.is_rule(view, memory),
        )
        self._unarchived |= archived and not wishes.stays_archived
        decision.replaced = [] if wishes.stays_archived else decision.replaced
        if begins_anew(item, memory):
            wishes.kept.append(f"it ends when it did, {OF_A_RULE}")
        elif has_ended(item, memory):
            decision.warnings.append(stays_ended(item, memory))
        elif request.t_valid is None and comes_before(item, memory, self.now_us):
            wishes.keep("t_valid", format_us(to_us(memory.t_valid)))
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
        self._supersede(view, item, decision, memory.id, to_us(memory.t_valid))

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
        decision.revives = decision.revives or self._revived(view, place)
        known = self._known_of_the_same(item, decision, similar)
        decision.similar = self._shown(view, item, decision, known)
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
        if item.key is not None:
            self._inserted_values.setdefault(item.text_key, []).append(memory.id)
        else:
            self._inserted_texts.setdefault(item.text_key, []).append(memory.id)
            self._inserted_turns[item.text_key, item.position] = memory.id
        self._inserted[place], self._inserted_items[memory.id] = memory.id, item
        if item.is_of_model:
            self._inserted_of_models.setdefault(item.identity, []).append(memory.id)
        decision.kind = CommitOutcomeKind.INSERTED_NEW
        queued = len(item.job_kinds(has_similar=bool(known)))
        decision.jobs = tuple(job.id for job in self._rows.jobs[-queued:]) if queued else ()
        decision.entities = told(self.session, mentions, dry=self.dry)
        self._supersede(view, item, decision, memory.id, item.begins_us)
        if item.slot is not None:
            self._order_version(view, item, item.slot, decision, memory)

    def _shown(
        self, view: LedgerView, item: Item, decision: Decision, known: Sequence[tuple[str, float]]
    ) -> tuple[SimilarMemory, ...]:
        """Known memories beside a new one: the same text kept otherwise first."""
        shown = quoted_first(view, item, known)
        # a dry run has no ids for what it does not store
        gone = {*(old.id for old in decision.replaced), *(self._inserted_items if self.dry else ())}
        same = [one.id for one in self._otherwise_kept(view, item) if one.id not in gone]
        shown = [*((id, 1.0) for id in same), *shown][: max(SIMILAR_SHOWN, len(shown))]
        return self._similar(view, item, shown)

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
            if one.content_hash == item.identity and one.status not in LIVE:
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
            memory = self._memory(view, item, id) if alike else None
            different = differences(self._form(memory), item_form(item)) if memory else ()
            inserted = self._inserted_items.get(id)
            if inserted is not None:
                beginning = inserted.begins_us, inserted.text
            else:
                space = item.request.namespace
                beginning = self._beginnings.get(id) or beginnings(view, space, [id])[id]
            found.append(similar_memory(id, score, beginning, different))
        return tuple(found)

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
        self,
        view: LedgerView,
        item: Item,
        decision: Decision,
        successor_id: str,
        t_valid_us: int,
    ) -> None:
        """Supersession rows of `supersedes` and of the key, in the commit's own transaction."""
        successor = successor_of(item, successor_id, t_valid_us)
        by_key = [] if decision.by_key is None else [decision.by_key]
        ends = {successor_id, *(one.id for one in (*decision.replaced, *by_key))}
        for old in decision.replaced:
            known = self._successors.setdefault(old.id, set())
            if successor_id in known:
                continue  # repeating a pair writes nothing
            known.add(successor_id)
            decision.warnings += states.replacement_warnings(old, successor, self.now_us)
            decision.warnings += states.replaced_before_warnings(
                old, ends, lambda id: self._memory(view, item, id), self.now_us
            )
            self._replace(old, successor)
        replaced = [old.id for old in decision.replaced]
        if decision.by_key is not None:
            self._replace(decision.by_key, successor, by_key=True)
            replaced.append(decision.by_key.id)
        decision.superseded = tuple(replaced)

    def _replace(self, old: Memory, successor: states.Successor, *, by_key: bool = False) -> None:
        """The rows of one replacement. `by_key`: for the key alone. A value of the same key holds
        until the successor begins at most, also where it was to end later."""
        end_us = None
        of_key = old.key is not None and (old.key, old.scope) == (successor.key, successor.scope)
        if by_key or of_key:
            end_us = max(successor.t_valid_us, to_us(old.t_valid))
            if old.t_invalid is not None:
                end_us = min(end_us, to_us(old.t_invalid))
        reason = "key" if by_key else ""
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
        """Places an inserted memory among the versions of its key: each that it interrupts ends
        where it begins, and holds again where it ends; older news is superseded at once by what
        comes after it."""
        versions = self._inserted_versions.setdefault(slot, [])
        current, by_key = self._current(slot), decision.by_key
        versions.append(memory.id)
        if by_key is None and not is_placed(item, current):
            return
        gone = {*decision.superseded, memory.id}
        beside = neighbours(
            view,
            slot,
            item.begins_us,
            [self._known[id] for id in versions if id not in gone],
            lambda one: self._known.get(one.id, one),
            gone,
        )
        if current is None and (after := next(beside.after, None)) is not None:
            # what was replaced or withdrawn does not return, and ends nothing
            warning = overlap_warning(item, after)
            decision.warnings += [] if warning is None else [warning]
        ends_us = item.request.t_invalid
        if ends_us == item.begins_us:
            if current is not None:
                self._replace(memory, successor_of(item, current.id, to_us(current.t_valid)))
                decision.warnings.append(f"this text holds at no time: {current.id} stays current")
            return
        spans = self._spans(view, item, beside, by_key, current)
        stated = self._without_stated(item, by_key, spans)
        place = place_of(item.begins_us, ends_us, stated)
        following = self._placed(view, item, decision, place, memory, current)
        if following is not None:
            left, now = self._known[memory.id], self._current(slot)
            decision.warnings.append(place_warning(left, following, now or left, self.now_us))

    def _placed(
        self,
        view: LedgerView,
        item: Item,
        decision: Decision,
        place: Place,
        memory: Memory,
        current: Memory | None,
    ) -> Memory | None:
        """Writes the rows of a place; returns the stored version that the text gives way to."""
        known = item.request.t_invalid
        order, made = list[Memory](), {memory.id}
        for stretch in place.stretches:
            if not stretch.new:
                assert stretch.span is not None, "it is that of a version"
                order.append(stretch.span.version)
            elif not order:
                order.append(memory)
            else:
                of = memory if stretch.span is None else stretch.span.version
                order.append(self._hold_again(view, item, of, stretch))
                made.add(order[-1].id)
                id = None if self.dry else order[-1].id
                decision.warnings.append(
                    goes_on_warning(stretch, id)
                    if stretch.span is None
                    else again_warning(of, stretch, known, id)
                )
        for one, after in itertools.pairwise(order):
            if one.id in made or (current is not None and one.id == current.id):
                successor = successor_of(item, after.id, to_us(after.t_valid))
                self._replace(self._known.get(one.id, one), successor, by_key=True)
        for span, at_us in place.cuts:
            self._cut(item, decision, span.version, at_us, [one for one in order if one.id in made])
        decision.warnings += said_meanwhile(place.cuts, self._known[memory.id])
        return next((one for one in order[1:2] if one.id not in made), None)

    def _cut(
        self, item: Item, decision: Decision, version: Memory, at_us: int, made: Sequence[Memory]
    ) -> None:
        """A version ends where a text takes its place, or holds again."""
        if version.id in decision.superseded:
            return
        was_to_hold = version.t_invalid is None or to_us(version.t_invalid) > self.now_us
        if self._known.get(version.id, version).status in LIVE:
            by = [one for one in made if to_us(one.t_valid) <= at_us][-1]
            self._replace(version, successor_of(item, by.id, at_us), by_key=True)
        else:
            self._end_version(item, version, at_us)
        decision.superseded += (version.id,) if was_to_hold else ()

    def _hold_again(self, view: LedgerView, item: Item, known: Memory, stretch: Stretch) -> Memory:
        """The memory by which the text of an item, or of a version, holds again."""
        id = self._rows.ids.take("mem")
        if (inserted := self._inserted_items.get(known.id)) is None:
            text = view.normal_texts(known.namespace, [known.id]).get(known.id, known.content)
            belonging = parts_for(view, known, id)
            claims = view.claims(known.namespace, [known.id]).values()
            self._rows.claims += [new_claim(id, claim) for claim in claims]
        else:
            text = inserted.text
            belonging = moved(self._rows.change_set(known.namespace), known.id, id)
        made = continuation(known, stretch, text, id, self.now_us)
        by = self._said_by(view, item, known)
        made = add_continuation(self._rows, item, made, told_times(stretch), belonging, by)
        made = self._known[id] = msgspec.structs.replace(made, content=known.content)
        assert item.slot is not None, "it has a place among versions"
        self._inserted_versions[item.slot].append(id)
        self._continued.add(item.slot)
        return made

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
            if item.decision and (inline if (own := item.request.enrich) is None else own)
            for job in item.decision.jobs
        ]

    def finish(self, seq: int | None, degraded: list[Degradation]) -> None:
        """Outcomes of all items; `seq` None = nothing was written (dry run)."""
        hygiene = self.settings.hygiene
        for item in self.items:
            if item.decision is not None:
                item.outcome = outcome_of(item, item.decision, hygiene, seq, degraded)
