"""What a group of commits comes to, seen against one state of the store.

Earlier items of a group exist for later ones: `_known` holds every memory that the group has
inserted or changed, as it will be. Deciding is repeatable: each call starts from its view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from vestig.changes import ChangeSet, NewEvent, NewMemory
from vestig.commit import rows as row
from vestig.commit.fact_guard import GuardText, differs
from vestig.commit.item import Item, arrival, guard_of, stored_guard, text_key
from vestig.commit.name_resolution import NameVectors, Naming
from vestig.commit.names import link
from vestig.commit.near_duplicates import NOBODY, Neighbours, neighbours
from vestig.commit.rows import Arrival, Found, Rows
from vestig.errors import VestigError
from vestig.memories import states
from vestig.ports import LedgerView, UniquenessCollision
from vestig.session.session import Session
from vestig.times import from_us, to_us
from vestig.types import (
    CommitOutcome,
    CommitOutcomeKind,
    Degradation,
    Kind,
    Memory,
    PossibleUpdate,
    Status,
)

__all__ = ["Batch", "Case", "Draft", "GroupEnds", "Nearest", "outcome_of"]


class GroupEnds(Exception):
    """The item at `place` can only be decided when those before it are written."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome before the transaction gave it a seq."""

    kind: CommitOutcomeKind
    memory_id: str | None
    event_id: str | None
    score: float | None = None
    update: PossibleUpdate | None = None
    revives: str | None = None
    jobs: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Case(msgspec.Struct, kw_only=True):
    """One item while it is decided."""

    place: int
    item: Item
    came: Arrival
    replaced: list[Memory]
    warnings: list[str]
    superseded: tuple[str, ...] = ()
    checked_near: bool = False
    draft: Draft | None = None


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of the fact guard: a match, or the best one that differs."""

    match: Memory | None = None
    score: float | None = None
    update: PossibleUpdate | None = None


class Hygiene(Protocol):
    """What an outcome says of `hygiene`."""

    @property
    def min_chars(self) -> int: ...
    @property
    def max_chars(self) -> int: ...
    @property
    def near_duplicate(self) -> Any: ...


def outcome_of(
    case: Case, hygiene: Hygiene, seq: int | None, degraded: Sequence[Degradation]
) -> CommitOutcome:
    """How an item ended; `seq` None = nothing was written (dry run)."""
    item, draft, request = case.item, case.draft, case.item.request
    assert draft is not None, "a decided case has a draft"
    written = seq is not None
    thresholds: dict[str, float] = {
        "min_chars": hygiene.min_chars,
        "max_chars": hygiene.max_chars,
    }
    if case.checked_near:
        thresholds["near_duplicate_threshold"] = hygiene.near_duplicate.threshold
    duplicate = draft.kind is not CommitOutcomeKind.INSERTED_NEW
    entries = list(degraded)
    if item.deferred is not None and not duplicate:
        detail = f"stored without a vector ({item.deferred}): found by words until embedded"
        if not draft.jobs:
            detail += "; no job was queued, `vestig rebuild --embeddings` makes it"
        entries.append(Degradation(code="embedding_deferred", detail=detail))
    return CommitOutcome(
        outcome=draft.kind,
        memory_id=draft.memory_id if written or duplicate else None,
        matched_memory_id=draft.memory_id if duplicate else None,
        query_score=draft.score,
        content_hash=item.content_hash,
        occurred_at=from_us(item.reference_us),
        source=request.source,
        tags=request.tags,
        artifact_ref=request.artifact_ref,
        namespace=request.namespace,
        scope=request.scope,
        thresholds=thresholds,
        deduplicated=duplicate,
        possible_update_of=draft.update,
        revives=draft.revives,
        superseded=case.superseded,
        event_id=draft.event_id if written else None,
        seq=seq,
        jobs=draft.jobs if written else (),
        entities=draft.entities,
        warnings=tuple(case.warnings),
        degraded=tuple(entries),
    )


_LIVE = (Status.ACTIVE, Status.ARCHIVED)


class Batch:
    """Up to a thousand commits into one namespace, of which each is written or none."""

    def __init__(self, session: Session, items: list[Item], names: NameVectors) -> None:
        self.session = session
        self.names = names
        self._naming = Naming(session, items, names)
        self.settings = session.config.settings
        self.items = items
        self.now_us = session.now_us()
        self._exact: list[list[Memory]] = []
        # the state that `_exact` is of
        self._seq: int | None = None
        self._start()

    def _start(self) -> None:
        self._rows = Rows()
        self._cases: list[Case] = []
        self._known: dict[str, Memory] = {}
        # inserted, and not asked for since
        self._new: dict[str, NewMemory] = {}
        self._texts: dict[tuple[Any, ...], str] = {}
        self._inserted: dict[int, str] = {}
        self._pending: dict[str, Item] = {}
        self._restored = False
        self._naming.start()
        # superseded id → ids that superseded it
        self._successors: dict[str, set[str]] = {}

    @property
    def dry(self) -> bool:
        """Whether nothing is to be written."""
        return all(item.request.dry_run for item in self.items)

    # --- before the decision ---------------------------------------------------------------

    def to_embed(self, view: LedgerView) -> tuple[list[Item], list[str]]:
        """Items whose text is new to the store and to the group, and what is embedded of names
        that are new to the store."""
        self._look_up(view)
        fresh, seen = [], set[tuple[Any, ...]]()
        for item, same in zip(self.items, self._exact, strict=True):
            known = bool(same) and same[0].status in _LIVE
            key = text_key(item)
            wanted = item.needs_vector or not (known or key in seen)
            if wanted and item.vector is None and item.deferred is None:
                fresh.append(item)
            seen.add(key)
        if not fresh and not self.names.wanted:
            return [], []
        new = {id(item) for item in fresh}
        places = [
            place
            for place, item in enumerate(self.items)
            if id(item) in new or item.vector is not None
        ]
        return fresh, self._naming.to_embed(view, places)

    def _look_up(self, view: LedgerView) -> None:
        """Memories with the same text, per item; asked once for each state of the store."""
        if self._seq == view.seq:
            return
        space = self.items[0].request.namespace
        known = view.known_hashes(space, [item.content_hash for item in self.items])
        self._exact = [
            view.same_text(space, item.request.scope, item.request.author, item.content_hash)
            if item.content_hash in known
            else []
            for item in self.items
        ]
        self._seq = view.seq

    # --- the decision ----------------------------------------------------------------------

    def decide(self, view: LedgerView) -> ChangeSet:
        """The rows of all items, decided in order against this view; an item whose `supersedes`
        names nothing that can be replaced gets its `error` and no rows.

        Raises:
            UniquenessCollision: the store changed so that a text needs a vector after all.
            GroupEnds: an item inserts a text that an earlier item withdraws, or a neighbour of
                one that it restores.
        """
        self._start()
        self._look_up(view)
        near = neighbours(self.session, view, self.items)
        for place, item in enumerate(self.items):
            item.error = None
            try:
                self._decide(view, place, item, near.get(place, NOBODY))
            except VestigError as error:
                # only `supersedes` can refuse here, before any row of the item is made
                item.error = error
        return self._rows.change_set(self.items[0].request.namespace)

    def _decide(self, view: LedgerView, place: int, item: Item, near: Neighbours) -> None:
        case = Case(
            place=place,
            item=item,
            came=arrival(self.session, item, self.now_us),
            replaced=self._replaced(view, item),
            warnings=list(item.warnings),
        )
        same = self._same_text(place, item)
        if same is not None:
            self._reinforce(case, same, None)
        elif not self.dry and any(memory.status in _LIVE for memory in self._exact[place]):
            # An earlier item withdraws the text; the ledger frees it when that is written.
            raise GroupEnds(place)
        elif item.vector is None and item.deferred is None:
            # The memory that held the text is gone, by another writer or by an earlier item.
            for later in self.items[place:]:
                later.needs_vector = True
            raise UniquenessCollision("the text was in the store a moment ago")
        else:
            nearest = self._nearest(view, case, near)
            if nearest.match is not None:
                self._reinforce(case, nearest.match, nearest.score)
            elif self._restored and not self.dry:
                # A restored memory is a neighbour again when its return is written.
                raise GroupEnds(place)
            else:
                self._insert(view, case, near, nearest.update)
        self._cases.append(case)

    def _same_text(self, place: int, item: Item) -> Memory | None:
        """An active or archived memory with this text, as the group leaves it."""
        pending = self._texts.get(text_key(item))
        if pending is not None:
            inserted = self._inserted_as(pending)
            if inserted.status in _LIVE:
                return inserted
        for memory in self._exact[place]:
            current = self._known.get(memory.id, memory)
            if current.status in _LIVE:
                return current
        return None

    def _replaced(self, view: LedgerView, item: Item) -> list[Memory]:
        """The memories named in `supersedes`; every id is checked before anything is written."""
        space, found = item.request.namespace, []
        for id in item.request.supersedes:
            memory = self.session.memory(view, space, id, "supersedes")
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

    def _inserted_as(self, id: str) -> Memory:
        """A memory that an earlier item inserted, as the group leaves it."""
        new = self._new.pop(id, None)
        if new is not None:
            self._known[id] = row.memory_of(new, self.now_us)
        return self._known[id]

    # --- near-duplicates -------------------------------------------------------------------

    def _nearest(self, view: LedgerView, case: Case, near: Neighbours) -> Nearest:
        """The first candidate that states the same fact, else a hint at the best."""
        chosen, request = self.settings.hygiene.near_duplicate, case.item.request
        skipped = chosen.skip_manual_source and request.source == "manual"
        how = request.on_near_dup
        if not chosen.enabled or skipped or how == "insert" or case.item.vector is None:
            return Nearest()
        case.checked_near = True
        if not near.near and not near.group:
            return Nearest()
        candidates = self._candidates(view, case, near)
        best: PossibleUpdate | None = None
        for memory, score in candidates[: chosen.max_candidates]:
            if how == "link":
                update = PossibleUpdate(memory_id=memory.id, score=score, differs=())
                return Nearest(update=update)
            own = guard_of(self.session, case.item)
            different = differs(own, self._guard(view, memory), chosen.guard)
            if not different:
                return Nearest(match=memory, score=score)
            if best is None:
                best = PossibleUpdate(memory_id=memory.id, score=score, differs=different)
        return Nearest(update=best)

    def _candidates(
        self, view: LedgerView, case: Case, near: Neighbours
    ) -> list[tuple[Memory, float]]:
        """Best first, ties by id; of the store and of earlier items of the group."""
        space = case.item.request.namespace
        missing = [id for id, _ in near.near if id not in self._known]
        memories = {memory.id: memory for memory in view.memories(space, missing)}
        threshold = self.settings.hygiene.near_duplicate.threshold
        scored = list(near.near)
        mine = text_key(case.item)[:3]
        for place, score in near.group:
            id = self._inserted.get(place)
            if id is not None and score >= threshold and text_key(self.items[place])[:3] == mine:
                memories[id] = self._inserted_as(id)
                scored.append((id, score))
        excluded = {memory.id for memory in case.replaced}
        found = []
        for id, score in sorted(scored, key=lambda pair: (-pair[1], pair[0])):
            memory = self._known.get(id) or memories.get(id)
            if memory is not None and memory.status in _LIVE and id not in excluded:
                found.append((memory, score))
        return found

    def _guard(self, view: LedgerView, memory: Memory) -> GuardText:
        """Relative times of a stored text are measured from its own reference time."""
        if memory.id in self._pending:
            return guard_of(self.session, self._pending[memory.id])
        return stored_guard(self.session, view, memory)

    # --- rows ------------------------------------------------------------------------------

    def _reinforce(self, case: Case, memory: Memory, score: float | None) -> None:
        if any(old.id == memory.id for old in case.replaced):
            case.replaced = []
            case.warnings.append(
                f"the text is that of {memory.id}, which `supersedes` names: nothing was superseded"
            )
        self._restored |= memory.status is Status.ARCHIVED
        event, columns = row.reinforce(self._rows, case.came, memory, near_score=score)
        self._known[memory.id] = row.merged(memory, columns, case.came)
        kind = CommitOutcomeKind.EXACT_DUPE if score is None else CommitOutcomeKind.NEAR_DUPE
        case.draft = Draft(kind=kind, memory_id=memory.id, event_id=event.id, score=score)
        self._supersede(case, memory.id, to_us(memory.t_valid))

    def _insert(
        self, view: LedgerView, case: Case, near: Neighbours, update: PossibleUpdate | None
    ) -> None:
        uses, lost = self._naming.uses(view, case.place)
        if lost:
            case.warnings.append(
                f"{lost} of {len(case.item.entities)} entities were left out: below"
                " entities.min_confidence, or more than max_per_memory"
            )
        expired = [memory.id for memory in self._exact[case.place]]
        found = Found(
            related=self._related(case, near),
            possible_update=update,
            revives=expired[0] if expired else None,
        )
        memory = row.insert(self._rows, case.came, found)
        link(self._rows, memory.id, uses, self.settings)
        self._naming.inserted(case.place, uses)
        if update is not None:
            row.link_possible_update(self._rows, memory.id, update)
        self._new[memory.id] = memory
        self._texts[text_key(case.item)] = memory.id
        self._inserted[case.place] = memory.id
        self._pending[memory.id] = case.item
        event: NewEvent = self._rows.events[-1]
        jobs = (self._rows.jobs[-1].id,) if case.came.embed_later else ()
        case.draft = Draft(
            kind=CommitOutcomeKind.INSERTED_NEW,
            memory_id=memory.id,
            event_id=event.id,
            update=update,
            revives=found.revives,
            jobs=jobs,
            # a dry run has no ids for what it does not store
            entities=tuple(use.entity_id for use in uses if use.new is None or not self.dry),
        )
        self._supersede(case, memory.id, memory.t_valid_us)

    def _related(self, case: Case, near: Neighbours) -> tuple[tuple[str, float], ...]:
        """RELATED edges of a new memory: the best of the store and of the group."""
        chosen = self.settings.links.related
        if not chosen.enabled:
            return ()
        space = case.item.request.namespace
        scored = [
            (id, score)
            for id, score in near.related
            if id not in self._known or self._known[id].status is Status.ACTIVE
        ]
        for place, score in near.group:
            id = self._inserted.get(place)
            if id is None or score < chosen.similarity_threshold:
                continue
            memory = self._inserted_as(id)
            alive = memory.status is Status.ACTIVE and memory.kind is Kind.MEMORY
            if alive and memory.namespace == space:
                scored.append((id, score))
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        return tuple(scored[: chosen.max_edges_per_memory])

    def _supersede(self, case: Case, successor_id: str, t_valid_us: int) -> None:
        """Supersession rows of `supersedes`, in the commit's own transaction."""
        successor = states.Successor(id=successor_id, t_valid_us=t_valid_us)
        for old in case.replaced:
            known = self._successors.setdefault(old.id, set())
            if successor_id in known:
                continue  # repeating a pair writes nothing
            known.add(successor_id)
            parts = states.replace(old, successor, reason="", t_invalid_us=None, now_us=self.now_us)
            self._rows.patches.append(parts.patch)
            self._rows.events.append(parts.event)
            self._rows.supersessions.append(parts.record)
            end = parts.patch.columns.get("t_invalid_us")
            self._known[old.id] = msgspec.structs.replace(
                self._known.get(old.id, old),
                status=Status.SUPERSEDED,
                superseded_by=successor_id,
                t_invalid=old.t_invalid if end is None else from_us(end),
                t_expired=old.t_expired or from_us(self.now_us),
            )
        case.superseded = tuple(old.id for old in case.replaced)

    # --- after the transaction -------------------------------------------------------------

    def wants_inline(self) -> bool:
        """Whether a job of this group is to be tried at once (`enrichment.mode: inline`)."""
        inline = self.settings.enrichment.mode == "inline"
        return any(
            case.draft is not None
            and case.draft.jobs
            and (inline if case.item.request.enrich is None else case.item.request.enrich)
            for case in self._cases
        )

    def finish(self, seq: int | None, degraded: list[Degradation]) -> None:
        """Outcomes of all items; `seq` None = nothing was written (dry run)."""
        for case in self._cases:
            case.item.outcome = outcome_of(case, self.settings.hygiene, seq, degraded)
