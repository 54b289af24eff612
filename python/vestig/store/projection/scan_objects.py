"""Objects that a scan takes and gives, as the core has it, for rooms above, which do not import the
core; and scans of the graph at one seq, the nearest nodes by vector and nodes around others by
edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from vestig import _core
from vestig._core import (
    FEATURES,
    ROWS_READ,
    VERSION_SIGNALS,
    Filter,
    Projection,
    Query,
    Ranking,
    Row,
    absent_names,
    confidence_features,
    ln,
    logistic,
)
from vestig._core import pow as power
from vestig.ids import id_bytes, id_text
from vestig.store.tables.graph import NODE_PREFIXES

__all__ = [
    "FEATURES",
    "ROWS_READ",
    "VERSION_SIGNALS",
    "Filter",
    "Projection",
    "Query",
    "Ranking",
    "RankingFields",
    "Row",
    "TraceFields",
    "WalkFields",
    "absent_names",
    "confidence_features",
    "ln",
    "logistic",
    "power",
]


class TraceFields(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of TraceRank, which the core reads by these names.

    Args:
        event_weights: one weight for each code of `EventType`.
    """

    enabled: bool = True
    event_weights: Sequence[float]
    tau_days: float = 21.0
    # an event with a newer one within a day repeats it and counts a fifth: a busy hour is no habit
    cooldown_hours: float = 24.0
    burst_discount: float = 0.2
    k: float = 0.35
    temporal_decay_enabled: bool = True
    dynamic_tau_days: float = 90.0
    # None: a quarter of dynamic_tau_days, between 3 and 7
    ephemeral_tau_days: float | None = None
    static_boost: float = 1.0
    # no count of repetitions outweighs meaning
    clip_min: float = 0.25
    clip_max: float = 2.0
    spacing_enabled: bool = False
    # two weeks between repetitions earn the whole bonus of spaced practice
    spacing_bonus: float = 0.25
    spacing_days: float = 14.0
    connectivity_enabled: bool = False
    graph_k: float = 0.15


class WalkFields(msgspec.Struct, frozen=True, kw_only=True):
    """The traversal from the start nodes, which the core reads by these names.

    Args:
        threshold: of the deterministic mode.
        order: "best" or "dfs".
        theta: RELATED threshold of `normalize_weights`.
        max_edges: neighbours per node and edge type.
    """

    deterministic: bool
    threshold: float
    order: str
    max_nodes: int
    exploration_factor: float
    signal_decay: float
    normalize_weights: bool
    theta: float
    mentions: bool
    related: bool
    min_signal: float
    max_hops: int | None
    max_entity_degree: int
    use_tracerank: bool
    max_edges: int


class RankingFields(msgspec.Struct, frozen=True, kw_only=True):
    """How scores are made, which the core reads by these names.

    Args:
        base: "semantic", "blend", "linear" or "cosine".
        weights: of people's chats and of all else, by names of signals and "bias"; absent = off.
        tracerank_bound: where the base is linear, TraceRank's factor lies within e^(±bound/2);
            None = no bound.
        association: where the base is linear, walked memories are ranked with the others only when
            it is above 0.
        meta_weights: of keyword, temporal, entity and recency in S_meta.
        keyword_mode: "jaccard" or "weighted".
        entity_mode: "overlap" or "weighted".
        content_weight, question_weight: of the cosines with the content and with the nearest stored
            question in S_query.
        questions: stored questions count.
        start_limit: number of start nodes of the walk.
        walk: None = no walk.
        late_pool: how many of the best memories are compared by their word pieces.
        sittings: notes of one sitting are neighbours.
    """

    base: str
    weights: Sequence[dict[str, float]]
    trace: TraceFields
    tracerank_power: float
    tracerank_bound: float | None = None
    path_power: float
    association: float
    alpha: float
    meta_weights: tuple[float, float, float, float]
    keyword_mode: str
    entity_mode: str
    recency_tau_days: float
    open_scale_days: float
    content_weight: float
    question_weight: float
    questions: bool
    start_enabled: bool
    start_limit: int
    walk: WalkFields | None
    summary_prior: float
    expand_summaries: bool
    late_pool: int = 128
    sittings: bool = True


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
