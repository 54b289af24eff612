"""Results of the calls on anchors."""

from __future__ import annotations

from vestig.results import SequenceResult, listing
from vestig.types import Anchor, Degradation, _Value


class MemoryAnchors(SequenceResult[Anchor], frozen=True, kw_only=True):
    """The anchors of a memory as they stand; a sequence of `Anchor`.

    `degraded`: what degraded when they were taken again.
    """

    anchors: tuple[Anchor, ...]
    memory_id: str
    seq: int
    degraded: tuple[Degradation, ...] = ()

    def __repr__(self) -> str:
        return listing(f"<MemoryAnchors {len(self)} of {self.memory_id}>", self.anchors)


class StaleMemory(_Value, frozen=True, kw_only=True):
    """A memory of which an anchor changed, or the file of one is gone.

    `anchors`: those that did; `deprecated`: it was ended by this call; `stays`: why no call ends
    it.
    """

    id: str
    text: str
    scope: str | None = None
    anchors: tuple[Anchor, ...]
    deprecated: bool = False
    stays: str | None = None


class StaleMemories(SequenceResult[StaleMemory], frozen=True, kw_only=True):
    """Memories whose sources changed or are gone; a sequence of `StaleMemory`.

    `looked_at`: active memories with anchors; `unknown`: how many of their anchors cannot be seen
    from here; `more`: how many stale ones are beyond the limit.
    """

    memories: tuple[StaleMemory, ...]
    looked_at: int = 0
    unknown: int = 0
    more: int = 0
    seq: int
    degraded: tuple[Degradation, ...] = ()

    def __repr__(self) -> str:
        return listing(f"<StaleMemories {len(self)} of {self.looked_at}>", self.memories)
