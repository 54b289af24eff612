"""The shipped recall profiles: plain data over one pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.config.signals import ORIGINS, SWITCHES, SignalSettings, all_weights

__all__ = ["PROFILES", "PROFILE_PREFIXES"]

# Keys that a profile, or one call of recall, may set.
PROFILE_PREFIXES: Final = ("m3.", "m4.graph_expansion.", "m5.", "recall.")

_HYDE: Final = {
    "m5.hyde.enabled": True,
    "m5.hyde.content_weight": 0.4,
    "m5.hyde.query_weight": 0.6,
}


_BUILT_IN: Final = SignalSettings()


def _weights() -> dict[str, float]:
    """Every weight of `default`, as the keys have them built in."""
    return {
        f"m5.signals.weights.{origin}.{name}": weight
        for origin in ORIGINS
        for name, weight in all_weights(_BUILT_IN, origin).items()
    }


PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    # the given formula, kept for comparison
    "reference": {
        **_HYDE,
        "m5.start_node.enabled": True,
        "m5.start_node.top_k": 3,
        "m5.start_node.alpha_meta": 0.6,
        "m5.start_node.direct_pool": "starts",
        "m5.start_node.metadata.keyword_weight": 0.5,
        "m5.start_node.metadata.temporal_weight": 0.3,
        "m5.start_node.metadata.entity_weight": 0.2,
        "m5.start_node.metadata.recency_weight": 0.0,
        "m5.start_node.metadata.keyword_mode": "jaccard",
        "m5.start_node.metadata.entity_mode": "overlap",
        "m5.traversal.enabled": True,
        "m5.traversal.mode": "probabilistic",
        "m5.traversal.order": "best",
        "m5.traversal.max_nodes": 5,
        "m5.traversal.exploration_factor": 2.0,
        "m5.traversal.signal_decay": 1.0,
        "m5.traversal.normalize_weights": False,
        "m5.final.base": "semantic",
        "m5.final.association": 0.0,
        "m5.final.path_power": 1.0,
        "m5.final.tracerank_power": 1.0,
    },
    "default": {
        **_HYDE,
        "m5.start_node.enabled": True,
        "m5.start_node.top_k": 5,
        # acts where final.base is set to blend
        "m5.start_node.alpha_meta": 0.3,
        "m5.start_node.direct_pool": "auto",
        "m5.start_node.metadata.keyword_mode": "weighted",
        "m5.start_node.metadata.entity_mode": "weighted",
        "m5.traversal.enabled": True,
        "m5.traversal.mode": "probabilistic",
        "m5.traversal.order": "best",
        "m5.traversal.max_nodes": 20,
        "m5.traversal.exploration_factor": 1.0,
        "m5.traversal.signal_decay": 1.0,
        "m5.traversal.normalize_weights": True,
        "m5.final.base": "linear",
        "m5.final.association": 0.05,
        "m5.final.path_power": 1.0,
        "m5.final.tracerank_power": 0.5,
        **{f"m5.signals.{name}.enabled": getattr(_BUILT_IN, name).enabled for name in SWITCHES},
        "m5.signals.late.pool": _BUILT_IN.late.pool,
        "m5.signals.rerank.pool": _BUILT_IN.rerank.pool,
        **_weights(),
    },
    # plain cosine
    "baseline": {
        "m5.hyde.enabled": False,
        "m5.start_node.enabled": False,
        "m5.start_node.alpha_meta": 0.0,
        "m5.start_node.direct_pool": "all",
        "m5.traversal.enabled": False,
        "m5.final.base": "cosine",
        "m5.final.association": 0.0,
        "m5.final.path_power": 0.0,
        "m5.final.tracerank_power": 0.0,
    },
}
