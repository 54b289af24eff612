"""The rows that a language model's answer about a window of memories becomes: entities, claims with
their evidence, and the relations that follow from these.

Invariant: what an answer adds and the ends of the window's jobs are one transaction, decided from
the memories, names and claims as that transaction sees them. No embedder is called in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from vestig.changes import (
    AddedEvidence,
    ChangeSet,
    MemoryPatch,
    NewEvent,
    NewVector,
    evidence_rows,
    new_claim,
)
from vestig.commit.batch import Batch, SplitGroup
from vestig.commit.canonical_form import canonical_form, is_same_statement
from vestig.commit.entities import EntityDecision, EntityRows
from vestig.commit.item import Item, extract
from vestig.commit.names import NameVectors
from vestig.commit.pipeline import call_hooks, count_outcomes, prepare_part
from vestig.commit.rows import token_codes
from vestig.commit.vectors_ahead import embedded_as
from vestig.enrichment.claim_answer import (
    KeptAnswer,
    KeptClaim,
    Statement,
    WindowAnswer,
    evidence_of,
    kept_answer,
    name_form,
    statement_of,
)
from vestig.errors import ValidationError
from vestig.ids import id_bytes, new_id
from vestig.language.claim_text import claim_text
from vestig.language.names import aliases_of
from vestig.ports import Pieces
from vestig.session import references
from vestig.session.embedding import embed_memories, remember_identity
from vestig.session.model_calls import ParsedAnswer
from vestig.session.references import LATEST_US, ids_with_name, only_entity, types_of
from vestig.session.session import Session
from vestig.store.records.graph_rows import active_claims
from vestig.store.records.graph_writes import label_of
from vestig.store.records.memory_queries import unconfirmed
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult, UniquenessCollision
from vestig.types import (
    Claim,
    CommitOutcomeKind,
    EdgeType,
    Entity,
    EventType,
    Evidence,
    Memory,
    OriginType,
    Role,
    Status,
)

PROMPT: Final = "extract_claims"
_RETRIES: Final = 4
_LIVE: Final = (Status.ACTIVE, Status.ARCHIVED)


class WrittenAnswer(msgspec.Struct, kw_only=True):
    """Counts of what an answer added. `ends_unresolved`: names of claims that are no entity's, or
    several entities'; `unknown_types`: of entities, none of which the ontology has."""

    claims_added: int = 0
    claims_merged: int = 0
    items_dropped: int = 0
    ends_unresolved: int = 0
    entities_created: int = 0
    relations_created: int = 0
    unknown_types: tuple[str, ...] = ()


class _Ends(msgspec.Struct, frozen=True, kw_only=True):
    """The entities that a claim names: its subject and its object, as far as they are known."""

    subject: Entity | None
    object: Entity | None

    @property
    def ids(self) -> dict[str, str | None]:
        """As fields of a claim."""
        return {
            "subject_id": None if self.subject is None else self.subject.id,
            "object_id": None if self.object is None else self.object.id,
        }


class _Stated(msgspec.Struct, kw_only=True):
    """A claim of the answer with its ends; `evidence` of all claims of the answer that state it;
    `role` of the model that stated it, where nobody else did."""

    kept: KeptClaim
    role: Role | None
    ends: _Ends
    evidence: tuple[Evidence, ...]
    confidence: float

    @property
    def subject(self) -> str:
        """Whom it is about, by the entity's own name where it is one."""
        of = self.ends.subject
        return self.kept.subject if of is None else of.canonical_name

    @property
    def claim(self) -> Claim:
        """As it is stored."""
        kept = self.kept
        return Claim(
            subject=self.subject,
            fact_type=kept.fact_type,
            object=kept.object,
            object_type=kept.object_type,
            relationship_type=kept.relationship_type,
            attributes=dict(kept.attributes),
            confidence=self.confidence,
            evidence=self.evidence,
            **self.ends.ids,
        )

    @property
    def statement(self) -> Statement:
        """Return what it says of its subject."""
        return _statement(self.kept)


class AnswerWriting:
    """Writes an answer about a window.

    Args:
        memories: of the window by number, without those that are context.
        jobs: of these memories.
    """

    def __init__(
        self,
        session: Session,
        memories: Mapping[int, Memory],
        jobs: Sequence[Job],
        asked: ParsedAnswer[WindowAnswer],
    ) -> None:
        self._session = session
        self._memories = memories
        self._jobs = jobs
        self._asked = asked
        first = next(iter(memories.values()))
        self._space, self._scope = first.namespace, first.scope
        # vectors of names, and of the texts of memories
        self._names = NameVectors()
        self._texts: dict[str, tuple[bytes, Pieces | None]] = {}
        self._decision: _AnswerDecision | None = None

    def write(self) -> tuple[list[str], WrittenAnswer]:
        """Writes all of it in one transaction; ids of the jobs that were ended, and counts.

        Raises:
            ProviderError: the embedder failed.
        """
        with suppress(UniquenessCollision):  # it says what has no vector yet, as the decision does
            self._session.keeper.run(lambda view, _: self._decided(view))
        for attempt in range(_RETRIES):
            self._embed()
            try:
                ended = self._session.ledger.finish_jobs(
                    [JobResult(job_id=job.id, changes=self._once()) for job in self._jobs],
                    self._session.now_us(),
                )
            except UniquenessCollision:
                if attempt == _RETRIES - 1:
                    raise
                continue
            return ended, self._finished(bool(ended))
        raise AssertionError("unreachable")

    def _once(self) -> Callable[[LedgerView], ChangeSet | None]:
        """Whichever of the jobs is still there decides for all of them."""
        self._decision = None

        def decide(view: LedgerView) -> ChangeSet | None:
            if self._decision is not None:
                return None
            changes = self._session.keeper.run_locked(view, lambda: self._decided(view))
            if self._missing:
                raise UniquenessCollision("a text is new that was not a moment ago")
            return changes

        return decide

    @property
    def _missing(self) -> bool:
        decision = self._decision
        return decision is not None and bool(decision.texts or self._names.wanted)

    def _decided(self, view: LedgerView) -> ChangeSet | None:
        stored = view.memories(self._space, [one.id for one in self._memories.values()])
        live = {one.id: one for one in stored if one.status in _LIVE}
        memories = {n: live[one.id] for n, one in self._memories.items() if one.id in live}
        self._decision = _AnswerDecision(
            self._session, view, memories, self._asked, (self._names, self._texts)
        )
        return self._decision.changes() if memories else None

    def _embed(self) -> None:
        """Vectors of what the last decision found to have none."""
        decision, self._decision = self._decision, None
        texts = [] if decision is None else list(decision.texts)
        names = [name for name in self._names.wanted if name not in self._names.known]
        if texts or names:
            remember_identity(self._session)
            made, others = embed_memories(self._session, texts, names)
            self._texts.update(zip(texts, made, strict=True))
            self._names.known |= zip(names, others, strict=True)
        self._names.wanted.clear()

    def _finished(self, written: bool) -> WrittenAnswer:
        """The counts; the hooks hear of the memories that were made."""
        decision = self._decision
        if decision is None or not written:
            return WrittenAnswer(items_dropped=self._asked.dropped)
        decision.finish()
        return decision.counts


class _AnswerDecision:
    """The rows that an answer adds to one state of the store."""

    def __init__(
        self,
        session: Session,
        view: LedgerView,
        memories: Mapping[int, Memory],
        asked: ParsedAnswer[WindowAnswer],
        vectors: tuple[NameVectors, Mapping[str, tuple[bytes, Pieces | None]]],
    ) -> None:
        settings = session.config.settings
        self._session = session
        self._view = view
        self._asked = asked
        self._names, self._texts = vectors
        self._memories = {one.id: one for one in memories.values()}
        self._kept: KeptAnswer = kept_answer(
            asked.value,
            memories,
            least=settings.cognify.min_confidence,
            settings=settings.entities,
            types=types_of(settings.entities),
        )
        self.counts = WrittenAnswer(
            items_dropped=asked.dropped + self._kept.dropped,
            unknown_types=self._kept.unknown_types,
        )
        # texts of memories whose vectors are missing
        self.texts: dict[str, None] = {}
        self._items: list[Item] = []
        self._stated_by: dict[int, _Stated] = {}
        self._batch: Batch | None = None
        self._parts: list[ChangeSet] = []

    def changes(self) -> ChangeSet | None:
        """All rows; where a vector is missing they are not whole.

        Raises:
            UniquenessCollision: another writer was faster.
        """
        space = next(iter(self._memories.values())).namespace
        entities = self._entities()
        self._parts.append(entities.changes)
        self._extracted_events(entities)
        fresh = self._known_claims(space)
        self._insert(fresh, entities.merged)
        names = [name for name in ChangeSet.__struct_fields__ if name != "namespace"]
        joined = {
            name: tuple(x for one in self._parts for x in getattr(one, name)) for name in names
        }
        self.counts.entities_created = len({one.norm_key for one in joined["entities"]})
        found = ChangeSet(namespace=space, **joined)
        self.counts.relations_created = self._new_relations(found)
        return found

    def finish(self) -> None:
        """After the transaction: outcomes, and the hooks."""
        if self._batch is not None:
            with self._session.ledger.read() as view:
                self._batch.finish(view.seq, [])
            done = [one for one in self._items if one.error is None]
            outcomes = [one.outcome for one in done]
            count_outcomes(self._session, [one for one in outcomes if one is not None])
            call_hooks(self._session, done)

    # --- entities and ends -------------------------------------------------------------------

    def _entities(self) -> EntityRows:
        """The rows of the entities; what claims name is found among them, then in the store."""
        decision = EntityDecision(
            self._session, self._view, list(self._memories.values()), self._names.known, "cognify"
        )
        by_name: dict[str, dict[str, Entity]] = {}
        ends = {name_form(end) for one in self._kept.claims for end in _ends_of(one)}
        for kept, naming in self._kept.entities:
            needed = name_form(kept.name) in ends
            entity = decision.add(kept, naming, needed=needed)
            if entity is not None:
                for name in (kept.name, *aliases_of(kept.name, kept.type)):
                    by_name.setdefault(name_form(name), {})[entity.id] = entity
        rows = decision.rows()
        self.counts.items_dropped += rows.left_out
        self._names.wanted.update(dict.fromkeys(rows.missing))
        self._stated = self._stated_claims(by_name)
        return rows

    def _stated_claims(self, by_name: Mapping[str, Mapping[str, Entity]]) -> list[_Stated]:
        """The claims of the answer; those that state the same are one."""
        found: list[_Stated] = []
        by_statement: dict[Statement, list[_Stated]] = {}
        for kept in self._kept.claims:
            evidence = evidence_of(kept, self._memories)
            ends = _Ends(
                subject=self._end(kept.subject, by_name),
                object=None if kept.object is None else self._end(kept.object, by_name),
            )
            stated = _Stated(
                kept=kept,
                role=self._role(kept),
                ends=ends,
                evidence=evidence,
                confidence=kept.confidence,
            )
            alike, claim = by_statement.setdefault(stated.statement, []), stated.claim
            same = next((one for one in alike if self._is_same_subject(one, claim)), None)
            if same is None:
                alike.append(stated)
                found.append(stated)
                continue
            same.evidence += _new_evidence(same.evidence, evidence)
            same.role = None if stated.role is None else same.role
            same.confidence = max(same.confidence, kept.confidence)
            self.counts.claims_merged += 1
        return found

    def _role(self, kept: KeptClaim) -> Role | None:
        """The role of a claim that rests on statements of models alone; None for others."""
        cited = [self._memories[id] for id in kept.cited]
        return cited[0].role if cited and not any(one.confirmed for one in cited) else None

    def _end(self, name: str, by_name: Mapping[str, Mapping[str, Entity]]) -> Entity | None:
        """The entity that an end of a claim is; None where it is none, or several have its name."""
        here = by_name.get(name_form(name), {})
        if here:
            found = next(iter(here.values())) if len(here) == 1 else None
        else:
            core, space = self._session.keeper.core, self._space
            ids = ids_with_name(self._view, core, space, name, LATEST_US)
            try:
                found = only_entity(self._view, space, ids, "claim", name)
            except ValidationError:
                found = None
        if found is None or found.expired_at is not None:
            self.counts.ends_unresolved += 1
            return None
        return found

    @property
    def _space(self) -> str:
        return next(iter(self._memories.values())).namespace

    # --- claims that are known ---------------------------------------------------------------

    def _known_claims(self, space: str) -> list[_Stated]:
        """Adds evidence to the claims of the store that state the same, and attaches a claim to a
        cited memory whose own text it is; those that are left."""
        scope = next(iter(self._memories.values())).scope
        types = {one.kept.fact_type for one in self._stated}
        stored = active_claims(self._view, space, scope, types) if types else {}
        by_statement: dict[Statement, list[str]] = {}
        for id, one in sorted(stored.items()):
            by_statement.setdefault(_statement(one), []).append(id)
        carrying = self._view.claims(space, list(self._memories))
        left = []
        for stated in self._stated:
            alike = by_statement.get(stated.statement, ())
            same = next((id for id in alike if self._is_same_subject(stated, stored[id])), None)
            if same is not None:
                self._add_evidence(same, stored[same], stated)
                continue
            own = next((one for one in self._said_by(stated) if one.id not in carrying), None)
            if own is None:
                left.append(stated)
                continue
            carrying[own.id] = stated.claim
            self._attach(own, stated)
        return left

    def _is_same_subject(self, stated: _Stated, other: Claim) -> bool:
        """Return whether a claim is about the same subject."""
        own = stated.ends.subject
        if own is not None and other.subject_id is not None:
            meant = references.following_merges(self._view, self._space, [other.subject_id])
            now = meant[other.subject_id]
            return own.id == (other.subject_id if now is None else now.id)
        forms = (name_form(stated.kept.subject), name_form(stated.subject))
        return name_form(other.subject) in forms

    def _said_by(self, stated: _Stated) -> list[Memory]:
        """The cited memories whose own text a claim is."""
        form = canonical_form(stated.kept.content)
        cited = [self._memories[id] for id in stated.kept.cited]
        same = [one for one in cited if is_same_statement(canonical_form(one.content), form)]
        return sorted(same, key=lambda one: not one.confirmed)

    def _add_evidence(self, id: str, known: Claim, stated: _Stated) -> None:
        """The stored claim gets what the answer adds to it; nothing where it has all of it."""
        self.counts.claims_merged += 1
        more = _new_evidence(known.evidence, stated.evidence)
        sure = stated.confidence if stated.confidence > (known.confidence or 0.0) else None
        if stated.role is None and unconfirmed(self._view, self._space, [id_bytes(id)]):
            said_in = next(iter(stated.kept.cited))
            confirmed = ChangeSet(
                namespace=self._space,
                patches=(MemoryPatch(memory_id=id, fields={"confirmed": True}),),
                events=(self._event(id, EventType.CONFIRM, {"said_in": said_in}),),
            )
            self._parts.append(confirmed)
        if not more and sure is None:
            return
        evidence = (*known.evidence, *more)
        self._restate(
            id,
            msgspec.structs.replace(known, evidence=evidence),
            {"evidence": len(known.evidence), "confidence": known.confidence},
            {
                "evidence": len(evidence),
                "confidence": known.confidence if sure is None else sure,
            },
            added_evidence=(
                AddedEvidence(memory_id=id, evidence=evidence_rows(more), confidence=sure),
            ),
        )

    def _attach(self, memory: Memory, stated: _Stated) -> None:
        """The claim is that of a memory which had none."""
        self.counts.claims_added += 1
        claim = stated.claim
        self._restate(
            memory.id,
            claim,
            {"claim": None},
            {"claim": claim.fact_type},
            claims=(new_claim(memory.id, claim),),
        )

    def _restate(
        self, id: str, claim: Claim, old: dict[str, Any], new: dict[str, Any], **rows: Any
    ) -> None:
        """The rows of a stored memory whose claim is another one now, and its new vector."""
        text = claim_text(claim)
        made = self._texts.get(text)
        if made is None:
            self.texts[text] = None
            return
        vector, pieces = made
        model = self._session.embedder.model
        codes = () if pieces is None else (token_codes(id, model, pieces),)
        changes = ChangeSet(
            namespace=self._space,
            vectors=(NewVector(memory_id=id, model=model, embedding=vector),),
            token_codes=codes,
            patches=(MemoryPatch(memory_id=id, bump_version=True),),
            events=(self._event(id, EventType.UPDATE, {"old": old, "new": new}),),
        )
        self._parts.append(msgspec.structs.replace(changes, **rows))

    # --- claims that are new -----------------------------------------------------------------

    def _insert(self, stated: Sequence[_Stated], merged: Mapping[str, str]) -> None:
        """New memories, each with its claim, as a commit makes them."""
        part = prepare_part(self._session, [self._arguments(one) for one in stated])
        for place, item in part.items:
            if item.outcome is None:
                item.claim = msgspec.structs.replace(
                    stated[place].claim, subject_id=None, object_id=None
                )
                self._stated_by[id(item)] = stated[place]
                self._items.append(item)
        self.counts.items_dropped += len(stated) - len(self._items)
        changes = self._decided_batch()
        if changes is None:
            return
        ids: dict[str, _Stated] = {}
        for item in self._items:
            decision = item.decision
            if item.error is not None or decision is None or decision.memory_id is None:
                self.counts.items_dropped += 1
            elif decision.kind is CommitOutcomeKind.INSERTED_NEW:
                ids[decision.memory_id] = self._stated_by[id(item)]
            else:
                self._repeat(decision.memory_id, self._stated_by[id(item)], ids)
        self.counts.claims_added += len(ids)
        self._parts.append(self._completed(changes, ids, merged))

    def _arguments(self, stated: _Stated) -> dict[str, Any]:
        """Return what a claim is committed with."""
        kept, first = stated.kept, stated.evidence[0]
        types = types_of(self._session.config.settings.entities)
        given: dict[str, Any] = {
            "content": kept.content,
            "source": "import",
            "actor": self._asked.model,
            "namespace": self._space,
            "scope": next(iter(self._memories.values())).scope,
            "t_ref": first.timestamp,
            "claim": {"subject": stated.subject, "fact_type": kept.fact_type},
            "entities": [
                {"name": one.canonical_name, "type": one.entity_type}
                for one in (stated.ends.subject, stated.ends.object)
                if one is not None and types.get(one.entity_type) is not None
            ],
        }
        if stated.role is not None:
            given |= {"role": stated.role.value, "origin_type": OriginType.NOTE.value}
        if kept.stability is not None:
            given["temporal_stability"] = kept.stability.value
        for name in ("t_valid", "t_invalid"):
            if getattr(kept, name) is not None:
                given[name] = getattr(kept, name)
        return given

    def _decided_batch(self) -> ChangeSet | None:
        """The rows of the new memories; those that cannot stand in one transaction with the others
        are dropped."""
        settings = self._session.config.settings
        judged = settings.updates.enabled and settings.enrichment.mode != "off"
        for item in self._items:
            extract(item, settings, model=False)
            # the entities were read, and whether it lasts
            item.model_jobs = ("updates",) if judged else ()
        while self._items:
            batch = self._batch = Batch(self._session, self._items, self._names)
            _, names = batch.to_embed(self._view)
            self._names.wanted.update(dict.fromkeys(names))
            for item in self._items:
                text = embedded_as(item)
                if text in self._texts:
                    item.vector, item.pieces = self._texts[text]
                else:
                    self.texts[text] = None
            if self.texts or self._names.wanted:
                return None
            try:
                return batch.decide(self._view)
            except SplitGroup as split:
                self.counts.items_dropped += len(self._items) - split.place
                self._items = self._items[: split.place]
        self._batch = None
        return None

    def _repeat(self, id: str, stated: _Stated, fresh: Mapping[str, _Stated]) -> None:
        """A claim whose text a memory holds already is the claim of that one, or its evidence."""
        known = self._view.claims(self._space, [id]).get(id)
        if id in fresh:
            self.counts.items_dropped += 1
        elif known is not None:
            self._add_evidence(id, known, stated)
        else:
            [memory] = self._view.memories(self._space, [id])
            self._attach(memory, stated)

    def _completed(
        self, changes: ChangeSet, ids: Mapping[str, _Stated], merged: Mapping[str, str]
    ) -> ChangeSet:
        """The rows of new memories with what a commit does not know: the entities of this answer,
        and which model read it."""
        claims = tuple(
            msgspec.structs.replace(one, **ids[one.memory_id].ends.ids) for one in changes.claims
        )
        events = tuple(
            msgspec.structs.replace(one, payload={**one.payload, **self._origin()})
            if one.memory_id in ids and one.event_type is EventType.IMPORT
            else one
            for one in changes.events
        )
        edges = tuple(
            msgspec.structs.replace(one, to_id=merged[one.to_id]) if one.to_id in merged else one
            for one in changes.edges
        )
        return msgspec.structs.replace(changes, claims=claims, events=events, edges=edges)

    # --- events and counts -------------------------------------------------------------------

    def _extracted_events(self, rows: EntityRows) -> None:
        """One event for each memory of the window that mentions more than before."""
        mentions = [e for e in rows.changes.edges if e.edge_type is EdgeType.MENTIONS]
        own = [edge.from_id for edge in mentions if edge.from_id in self._memories]
        least = self._session.config.settings.entities.min_confidence
        events = tuple(
            self._event(
                id,
                EventType.ENTITY_EXTRACTED,
                {"extractor": "model", "entity_count": own.count(id), "min_confidence": least},
            )
            for id in dict.fromkeys(own)
        )
        self._parts.append(ChangeSet(namespace=self._space, events=events))

    def _event(self, memory_id: str, kind: EventType, payload: dict[str, Any]) -> NewEvent:
        return NewEvent(
            id=new_id("evt"),
            memory_id=memory_id,
            event_type=kind,
            occurred_us=self._session.now_us(),
            source="system",
            actor=self._asked.model,
            payload={**payload, **self._origin()},
        )

    def _origin(self) -> dict[str, str]:
        """The model, and the version and hash of the prompt."""
        _, version, digest = self._asked.prompt_version.split("/")
        return {
            "model_name": self._asked.model,
            "prompt_version": version,
            "prompt_hash": digest,
        }

    def _new_relations(self, changes: ChangeSet) -> int:
        """How many relations these claims bring that the store does not have."""
        keys = {one.id: one.norm_key for one in changes.entities}
        stated = {
            (keys.get(one.subject_id, one.subject_id), keys.get(one.object_id, one.object_id),
             label_of(one.fact_type, one.relationship_type))
            for one in changes.claims
            if one.subject_id is not None and one.object_id is not None
            and one.subject_id != one.object_id
        }  # fmt: skip
        subjects = {one[0] for one in stated if one[0].startswith("ent_")}
        there = {
            (edge.from_id, edge.to_id, edge.relation)
            for subject in subjects
            for edge in self._view.edges(self._space, subject, EdgeType.RELATION.value)
        }
        return len(stated - there)


def _ends_of(claim: KeptClaim) -> tuple[str, ...]:
    return (claim.subject,) if claim.object is None else (claim.subject, claim.object)


def _statement(claim: Claim | KeptClaim) -> Statement:
    return statement_of(claim.fact_type, claim.relationship_type, claim.object, claim.attributes)


def _new_evidence(known: Sequence[Evidence], given: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The evidence of memories that state nothing yet."""
    have = {one.source_id for one in known}
    return tuple(one for one in given if one.source_id not in have)
