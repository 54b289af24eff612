"""The rows that a language model's answer about one memory becomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from vestig.changes import ChangeSet, MemoryPatch, NewEvent, NewQuestion
from vestig.commit.entities import EntityRows, entity_rows
from vestig.commit.item import is_allowed, usable_questions
from vestig.config.schema import Settings
from vestig.enrichment.memory_answer import (
    PROMPTS,
    KeptEntities,
    ModelAnswer,
    followed_verdicts,
    kept_entities,
    older_memories,
    stability_of,
)
from vestig.errors import ProviderTimeoutError
from vestig.ids import new_id
from vestig.memories.states import Successor, replace
from vestig.ports import within
from vestig.session.embedding import remember_identity
from vestig.session.references import types_of
from vestig.session.session import Session
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import Job, JobResult, UniquenessCollision
from vestig.times import to_us
from vestig.types import EventType, Memory, Stability, Status

MODEL_KINDS: Final = tuple(PROMPTS)
_LIVE: Final = (Status.ACTIVE, Status.ARCHIVED)
_RETRIES: Final = 3


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model about a memory. `prompt_version`: name, version and hash of each
    prompt; `entities`: what of the entities is kept."""

    answer: ModelAnswer
    model: str
    prompt_version: str
    entities: KeptEntities | None = None


def model_of(kind: str, settings: Settings) -> str | None:
    """The model that is asked for a kind; None = `llm.model`.

    Example:
        >>> model_of("stability", Settings()) is None
        True
    """
    models = {"entities": settings.entities.model, "hypothetical": settings.questions.model}
    return models.get(kind)


def applies(kind: str, memory: Memory, settings: Settings, has_questions: bool) -> bool:
    """Return whether a job of this kind still has something to do for a memory."""
    if memory.status not in _LIVE:
        return False
    if kind == "entities":
        return settings.entities.enabled
    if kind == "hypothetical":
        return not has_questions and is_allowed(memory.trigger, settings.questions)
    if kind == "updates":
        return settings.updates.enabled and memory.status is Status.ACTIVE
    return memory.temporal_stability is Stability.UNKNOWN


class Writing:
    """The rows that an answer writes for some jobs of a memory.

    Args:
        ends_at: `time.monotonic()` until which vectors may be made; None = as long as it takes.
    """

    def __init__(
        self,
        session: Session,
        memory: Memory,
        jobs: Sequence[Job],
        answered: Answered,
        ends_at: float | None,
    ) -> None:
        self._session = session
        self._memory = memory
        self._jobs = jobs
        self._answered = answered
        self._ends_at = ends_at
        self._vectors: dict[str, bytes] = {}
        # memories that the last decision superseded
        self.superseded = 0
        queries = answered.answer.queries
        most = session.config.settings.questions.max_per_memory
        self._questions = usable_questions(queries, most) if isinstance(queries, list) else ()

    def _embed(self, texts: Sequence[str]) -> None:
        wanted = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not wanted:
            return
        remember_identity(self._session)
        if self._ends_at is None:
            made = self._session.embed(wanted)
        else:
            try:
                made = within(self._ends_at - time.monotonic(), lambda: self._session.embed(wanted))
            except TimeoutError as error:
                raise no_vectors(self._session) from error
        self._vectors.update(zip(wanted, made, strict=True))

    def write(self, others: Sequence[JobResult]) -> list[str]:
        """Writes all results, and those of other jobs of the memory, in one transaction; ids of the
        jobs that were ended.

        Raises:
            ProviderError: the embedder failed.
        """
        rows = self._session.keeper.run(lambda view, _: self._entity_rows(view))
        self._embed([*self._questions, *(() if rows is None else rows.missing)])
        for attempt in range(_RETRIES):
            missing: list[str] = []
            results = [
                JobResult(job_id=job.id, changes=self._deciding(job.kind, missing))
                for job in self._jobs
            ]
            try:
                return self._session.ledger.finish_jobs([*results, *others], self._session.now_us())
            except UniquenessCollision:
                if attempt == _RETRIES - 1:
                    raise
                self._embed(missing)
        raise AssertionError("unreachable")

    def _deciding(self, kind: str, missing: list[str]) -> Callable[[LedgerView], ChangeSet | None]:
        """Return what a kind writes, decided inside the transaction."""

        def decide(view: LedgerView) -> ChangeSet | None:
            return self._decided(kind, view, missing)

        return decide

    def _decided(self, kind: str, view: LedgerView, missing: list[str]) -> ChangeSet | None:
        now = view.memories(self._memory.namespace, [self._memory.id])
        if not now:
            return None
        [memory] = now
        questions = view.questions(memory.namespace, [memory.id])
        if not applies(kind, memory, self._session.config.settings, memory.id in questions):
            return None
        if kind == "hypothetical":
            return self._question_rows()
        if kind == "stability":
            return self._stability_rows(memory)
        if kind == "updates":
            return self._update_rows(view, memory)
        rows = self._session.keeper.run_locked(view, lambda: self._entity_rows(view))
        assert rows is not None, "a job of this kind has entities"
        if rows.missing:
            missing.extend(rows.missing)
            raise UniquenessCollision("a name is new that was not a moment ago")
        return msgspec.structs.replace(rows.changes, events=(self._extracted(rows),))

    def _entity_rows(self, view: LedgerView) -> EntityRows | None:
        kept = self._answered.entities
        if kept is None:
            return None
        return entity_rows(self._session, view, self._memory, kept.entities, self._vectors)

    def _question_rows(self) -> ChangeSet:
        memory, model = self._memory, self._session.embedder.model
        rows = tuple(
            NewQuestion(
                memory_id=memory.id,
                position=position,
                text=text,
                model=model,
                embedding=self._vectors[text],
            )
            for position, text in enumerate(self._questions)
        )
        tried = () if rows else (memory.id,)
        return ChangeSet(namespace=memory.namespace, questions=rows, questions_tried=tried)

    def _stability_rows(self, memory: Memory) -> ChangeSet | None:
        found = stability_of(self._answered.answer)
        if found is Stability.UNKNOWN:
            return None
        fields = {"temporal_stability": found}
        before = {"temporal_stability": memory.temporal_stability}
        payload: dict[str, Any] = {"old": before, "new": fields, **self._origin("stability")}
        return ChangeSet(
            namespace=memory.namespace,
            patches=(MemoryPatch(memory_id=memory.id, fields=fields, bump_version=True),),
            events=(self._event(EventType.UPDATE, payload),),
        )

    def _update_rows(self, view: LedgerView, memory: Memory) -> ChangeSet | None:
        """Supersedes by the memories as they are now, and records every verdict."""
        judged = self._answered.answer.updates
        if not isinstance(judged, list) or not judged:
            return None
        chosen = self._session.config.settings.updates
        followed = followed_verdicts(judged, memory, older_memories(view, memory), chosen)
        successor = Successor(
            id=memory.id,
            t_valid_us=to_us(memory.t_valid),
            source="system",
            actor=self._answered.model,
        )
        replaced = [
            replace(
                old, successor, reason="model", t_invalid_us=None, now_us=self._session.now_us()
            )
            for old in followed.superseded
        ]
        self.superseded = len(replaced)
        payload = {**self._origin("updates"), **followed.payload()}
        return ChangeSet(
            namespace=memory.namespace,
            patches=tuple(one.patch for one in replaced),
            events=(self._event(EventType.UPDATE, payload), *(one.event for one in replaced)),
            supersessions=tuple(one.record for one in replaced),
        )

    def _extracted(self, rows: EntityRows) -> NewEvent:
        kept = self._answered.entities
        assert kept is not None, "called only with entities"
        chosen = self._session.config.settings.entities
        payload: dict[str, Any] = {
            "extractor": "model",
            **self._origin("entities"),
            "entity_count": len(kept.entities) - rows.left_out,
            "min_confidence": chosen.min_confidence,
            "left_out": {
                "unusable": kept.unusable,
                "uncertain": kept.uncertain,
                "too_many": kept.too_many + rows.left_out,
            },
            "unknown_types": list(kept.unknown_types),
        }
        return self._event(EventType.ENTITY_EXTRACTED, payload)

    def _origin(self, kind: str) -> dict[str, str]:
        """The model, and the version and hash of the prompt."""
        name = PROMPTS[kind]
        for label in self._answered.prompt_version.split():
            if label.startswith(f"{name}/"):
                _, version, digest = label.split("/")
                return {
                    "model_name": self._answered.model,
                    "prompt_version": version,
                    "prompt_hash": digest,
                }
        raise AssertionError("every kind has its prompt in the answer's version")

    def _event(self, kind: EventType, payload: dict[str, Any]) -> NewEvent:
        return NewEvent(
            id=new_id("evt"),
            memory_id=self._memory.id,
            event_type=kind,
            occurred_us=self._session.now_us(),
            source="system",
            payload=payload,
        )


def kept_of(session: Session, answer: ModelAnswer, memory: Memory) -> KeptEntities | None:
    """Return what of an answer's entities is kept; None where none were asked for."""
    if not isinstance(answer.entities, list):
        return None
    chosen = session.config.settings.entities
    return kept_entities(answer.entities, memory.content, chosen, types_of(chosen))


def no_vectors(session: Session) -> ProviderTimeoutError:
    """The error of an embedder that takes longer than a commit waits."""
    return ProviderTimeoutError(
        f'embedder "{session.embedder.model}": no vectors within the time that a commit waits'
        " (enrichment.inline_timeout_s); the job stays in the queue"
    )
