"""One item of a group while it is decided."""

from __future__ import annotations

import msgspec

from vestig.commit.rows import Arrival
from vestig.engine.items import Item
from vestig.types import CommitOutcomeKind, Memory, PossibleUpdate

__all__ = ["Case", "Draft", "GroupEnds", "Nearest"]


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
