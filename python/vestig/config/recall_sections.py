"""Keys of recall and search: `questions`, `walk`, `ranking`, `reference`, `index`,
`recall`, `search`, `decay`.

The built-in values of what a profile may set are those of the profile `default`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from vestig.config.kinds import (
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Section,
    Seed,
    Share,
    SignedShare,
    Text,
)
from vestig.config.signals import OriginWeights

__all__ = [
    "DecaySettings",
    "IndexSettings",
    "QuestionSettings",
    "RankingSettings",
    "RecallSettings",
    "ReferenceSettings",
    "SearchSettings",
    "WalkSettings",
]


class QuestionSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    allowed_triggers: tuple[Text, ...] = ("problem-solution", "learning-failure")
    max_per_memory: Count = 2
    offline: Literal["none", "templates"] = "none"
    content_weight: Share = 0.4
    question_weight: Share = 0.6


class StartSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    limit: Count = 5


class WalkSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    mode: Literal["probabilistic", "deterministic"] = "probabilistic"
    order: Literal["best", "dfs"] = "best"
    max_nodes: Count = 20
    exploration_factor: NotNegative = 1.0
    signal_decay: NotNegative = 1.0
    normalize_weights: bool = True
    start: StartSettings = StartSettings()
    seed: Seed | None = None
    edge_types: tuple[Literal["RELATED", "MENTIONS"], ...] = ("RELATED",)
    min_signal: Share = 0.01
    max_hops: Count | None = None
    max_entity_degree: Count = 50
    use_tracerank: bool = True
    deterministic_threshold: Share = 0.5


class RankingSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    base: Literal["linear", "semantic", "blend", "cosine"] = "linear"
    pool: Literal["auto", "all", "starts"] | Count = "auto"
    # A linked memory from outside the pool stands behind what meaning finds and before what it
    # does not find; more of it costs recall in chats (`vestig eval`).
    association: Share = 0.05
    path_power: NotNegative = 1.0
    tracerank_power: NotNegative = 0.5
    weights: OriginWeights = OriginWeights()


class ReferenceSettings(Section, frozen=True, kw_only=True):
    """Of the given formula: `ranking.base` semantic or blend."""

    alpha_meta: Share = 0.3
    keyword_weight: Share = 0.5
    temporal_weight: Share = 0.3
    entity_weight: Share = 0.2
    recency_weight: Share = 0.0
    recency_tau_days: Positive = 30.0
    keyword_mode: Literal["jaccard", "weighted"] = "weighted"
    entity_mode: Literal["overlap", "weighted"] = "weighted"


class IndexSettings(Section, frozen=True, kw_only=True):
    mode: Literal["auto", "exact"] = "auto"
    approximate_above: Count = 3_000_000


class ReasonSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    include_path: bool = True
    include_scores: bool = True


class RecallSettings(Section, frozen=True, kw_only=True):
    default_limit: Count = 5
    profile: Text = "default"
    profiles: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    format: Literal["text", "compact", "explain", "list", "json"] = "text"
    min_score: float | None = None
    include_expired: bool = False
    max_query_chars: Count = 4000
    temporal_open_scale_days: Positive = 30.0
    entity_similarity_threshold: Share | None = None
    expand_summaries: bool = False
    summary_prior: SignedShare = 0.0
    reasons: ReasonSettings = ReasonSettings()


class SearchDecaySettings(Section, frozen=True, kw_only=True):
    enabled: bool = False
    floor: Share = 0.001


class SearchSettings(Section, frozen=True, kw_only=True):
    limit: Count = 10
    graph_depth: CountOrZero = 1
    decay: SearchDecaySettings = SearchDecaySettings()


class DecaySettings(Section, frozen=True, kw_only=True):
    basis: Literal["access", "creation"] = "access"
    reference_access_count: Count = 10
    frequency: bool = True
