"""Scans of the graph at one seq: nearest nodes by vector, and nodes around others by edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from vestig import _core
from vestig.ids import id_bytes, id_text
from vestig.store.tables.graph import NODE_PREFIXES

MEMORY: Final = "memory"
ENTITY: Final = "entity"
# By the code of a node's kind, as `NODE_PREFIXES`.
_KINDS: Final = (MEMORY, MEMORY, ENTITY)
# An entity with more neighbours is returned, not expanded.
DEGREE_MAX: Final = 1_000


class NodeScan:
    """Scans under one filter, for a callback of `ProjectionKeeper.run`.

    `chosen`: keyword arguments of `_core.Filter`. Every method raises `_core.SnapshotMoved` when
    the projection has left `seq`; `run` then reads again.
    """

    def __init__(self, core: _core.Projection, seq: int, chosen: dict[str, Any]) -> None:
        self._core = core
        self._seq = seq
        self._filter = _core.Filter(**chosen)

    def near(
        self, vector: bytes, memories: bool, entities: bool, top: int
    ) -> list[tuple[str, str, float]]:
        """(id, kind, cosine) of the nearest nodes, best first, ties by id."""
        rows = self._core.search(self._seq, vector, self._filter, memories, entities, top)
        return [
            (id_text(NODE_PREFIXES[kind], raw), _KINDS[kind], cosine) for raw, kind, cosine in rows
        ]

    def around(
        self,
        origins: Iterable[str],
        depth: int,
        memories: bool,
        entities: bool,
        others: bool = False,
    ) -> tuple[list[tuple[str, str, int]], list[str]]:
        """(id, kind, shortest depth) by depth, then id, and the entities that were too wide to
        expand. Ineligible origins are left out; `others`: the depth from another origin."""
        packed = b"".join(id_bytes(id) for id in sorted(origins))
        reached, wide = self._core.neighbourhood(
            self._seq, packed, depth, self._filter, memories, entities, DEGREE_MAX, others
        )
        named = [
            (id_text(NODE_PREFIXES[kind], raw), _KINDS[kind], far) for raw, kind, far in reached
        ]
        return named, [id_text("ent", raw) for raw in wide]
