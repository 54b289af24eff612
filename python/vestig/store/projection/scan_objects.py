"""Objects that a scan takes and gives, as the core has it: for rooms above, which do not import the
core."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vestig._core import (
    FEATURES,
    ROWS_READ,
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

__all__ = [
    "FEATURES",
    "ROWS_READ",
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
