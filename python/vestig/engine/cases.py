"""One item of a group while it is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from vestig.commit.item import Item
from vestig.commit.rows import Arrival
from vestig.times import from_us
from vestig.types import CommitOutcome, CommitOutcomeKind, Degradation, Memory, PossibleUpdate

__all__ = ["Case", "Draft", "GroupEnds", "Nearest", "outcome_of"]


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
    """How an item ended (C-11); `seq` None = nothing was written (dry run)."""
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
