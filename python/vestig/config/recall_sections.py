"""Keys of recall and search: `m5`, `index`, `recall`, `search`, `decay` (K-07).

The built-in values of what a profile may set are those of the profile `default`.
"""

from __future__ import annotations

from typing import Any, Final, Literal

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

__all__ = [
    "DecaySettings",
    "IndexSettings",
    "M5Settings",
    "RecallSettings",
    "SearchSettings",
    "SignalWeights",
]


class HydeSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    allowed_triggers: tuple[Text, ...] = ("problem-solution", "learning-failure")
    max_queries: Count = 2
    offline: Literal["none", "templates"] = "none"
    content_weight: Share = 0.4
    query_weight: Share = 0.6


class StartMetadataSettings(Section, frozen=True, kw_only=True):
    keyword_weight: Share = 0.5
    temporal_weight: Share = 0.3
    entity_weight: Share = 0.2
    recency_weight: Share = 0.0
    recency_tau_days: Positive = 30.0
    keyword_mode: Literal["jaccard", "weighted"] = "weighted"
    entity_mode: Literal["overlap", "weighted"] = "weighted"


class StartNodeSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    top_k: Count = 5
    alpha_meta: Share = 0.3
    direct_pool: Literal["auto", "all", "starts"] | Count = "auto"
    metadata: StartMetadataSettings = StartMetadataSettings()


class TraversalSettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    mode: Literal["probabilistic", "deterministic"] = "probabilistic"
    order: Literal["best", "dfs"] = "best"
    max_nodes: Count = 20
    exploration_factor: NotNegative = 1.0
    signal_decay: NotNegative = 1.0
    normalize_weights: bool = True
    seed: Seed | None = None
    edge_types: tuple[Literal["RELATED", "MENTIONS"], ...] = ("RELATED",)
    min_signal: Share = 0.01
    max_hops: Count | None = None
    max_entity_degree: Count = 50
    use_tracerank_in_walk: bool = True
    deterministic_threshold: Share = 0.5


class SignalSwitch(Section, frozen=True, kw_only=True):
    enabled: bool = True


class SignalWeights(Section, frozen=True, kw_only=True):
    """Weights of one origin, in the order in which L sums them (Q-03)."""

    bias: float = -12.0
    cosine: float = 8.0
    keyword: float = 0.0
    temporal: float = 0.0
    entity: float = 0.0
    recency: float = 0.0
    lexical: float = 0.0
    entity_walk: float = 1.0


# The walk over shared names counts as much as meaning between passages and notes, little in chats
# the bias of texts takes back what the walk gives to most of them, so that origins that lie
# in one store rank on one scale. The scale keeps the logistic of R-12 unsaturated, so that
# use cannot outrank meaning. `vestig eval` measures what a change does.
_TEXTS: Final = SignalWeights(bias=-15.0, cosine=8.0, lexical=3.2, entity_walk=7.0)


class OriginWeights(Section, frozen=True, kw_only=True):
    chat_peer: SignalWeights = SignalWeights(lexical=5.0)
    chat_agent: SignalWeights = SignalWeights(lexical=2.9)
    document: SignalWeights = _TEXTS
    note: SignalWeights = _TEXTS


class SignalSettings(Section, frozen=True, kw_only=True):
    cosine: SignalSwitch = SignalSwitch()
    keyword: SignalSwitch = SignalSwitch()
    temporal: SignalSwitch = SignalSwitch()
    entity: SignalSwitch = SignalSwitch()
    recency: SignalSwitch = SignalSwitch()
    lexical: SignalSwitch = SignalSwitch()
    entity_walk: SignalSwitch = SignalSwitch()
    weights: OriginWeights = OriginWeights()


class FinalSettings(Section, frozen=True, kw_only=True):
    base: Literal["linear", "semantic", "blend", "cosine"] = "linear"
    # A linked memory from outside the pool stands behind what meaning finds and before what it
    # does not find; more of it costs recall in chats (`vestig eval`).
    association: Share = 0.05
    path_power: NotNegative = 1.0
    tracerank_power: NotNegative = 0.5


class ExplainabilitySettings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    include_path: bool = True
    include_scores: bool = True


class M5Settings(Section, frozen=True, kw_only=True):
    enabled: bool = True
    hyde: HydeSettings = HydeSettings()
    start_node: StartNodeSettings = StartNodeSettings()
    traversal: TraversalSettings = TraversalSettings()
    final: FinalSettings = FinalSettings()
    explainability: ExplainabilitySettings = ExplainabilitySettings()
    signals: SignalSettings = SignalSettings()


class IndexSettings(Section, frozen=True, kw_only=True):
    mode: Literal["auto", "exact"] = "auto"
    approximate_above: Count = 3_000_000


class RecallSettings(Section, frozen=True, kw_only=True):
    default_limit: Count = 5
    profile: Text = "default"
    profiles: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    format: Literal["text", "compact", "explain", "list", "json"] = "text"
    min_score: float | None = None
    max_query_chars: Count = 4000
    temporal_open_scale_days: Positive = 30.0
    entity_similarity_threshold: Share | None = None
    expand_summaries: bool = False
    summary_prior: SignedShare = 0.0


class SearchDecaySettings(Section, frozen=True, kw_only=True):
    enabled: bool = False
    floor: Share = 0.001


class SearchSettings(Section, frozen=True, kw_only=True):
    top_k: Count = 10
    graph_depth: CountOrZero = 1
    decay: SearchDecaySettings = SearchDecaySettings()


class DecaySettings(Section, frozen=True, kw_only=True):
    basis: Literal["access", "creation"] = "access"
    reference_access_count: Count = 10
    frequency: bool = True
