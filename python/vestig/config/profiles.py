"""The shipped recall profiles: plain data over one pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.config.signals import SWITCHES, SignalSettings

# Keys that a profile, or one call of recall, may set.
PROFILE_PREFIXES: Final = (
    "usage.",
    "questions.",
    "walk.",
    "ranking.",
    "reference.",
    "signals.",
    "recall.",
)

_QUESTIONS: Final = {
    "questions.enabled": True,
    "questions.content_weight": 0.4,
    "questions.question_weight": 0.6,
}

_SIGNALS: Final = SignalSettings()


PROFILES: Final[Mapping[str, Mapping[str, Any]]] = {
    # the given formula, to compare with
    "reference": {
        **_QUESTIONS,
        "walk.start.enabled": True,
        "walk.start.limit": 3,
        "reference.alpha_meta": 0.6,
        "ranking.pool": "starts",
        "reference.keyword_weight": 0.5,
        "reference.temporal_weight": 0.3,
        "reference.entity_weight": 0.2,
        "reference.recency_weight": 0.0,
        "reference.keyword_mode": "jaccard",
        "reference.entity_mode": "overlap",
        "walk.enabled": True,
        "walk.mode": "probabilistic",
        "walk.order": "best",
        "walk.max_nodes": 5,
        "walk.exploration_factor": 2.0,
        "walk.signal_decay": 1.0,
        "walk.normalize_weights": False,
        "walk.associated": 0,
        "ranking.base": "semantic",
        "ranking.association": 0.0,
        "ranking.path_power": 1.0,
        "ranking.tracerank_power": 1.0,
    },
    "default": {
        **_QUESTIONS,
        "walk.start.enabled": True,
        "walk.start.limit": 5,
        # acts where ranking.base is set to blend
        "reference.alpha_meta": 0.3,
        "ranking.pool": "auto",
        "reference.keyword_mode": "weighted",
        "reference.entity_mode": "weighted",
        "walk.enabled": True,
        "walk.mode": "probabilistic",
        "walk.order": "best",
        "walk.max_nodes": 20,
        "walk.exploration_factor": 1.0,
        "walk.signal_decay": 1.0,
        "walk.normalize_weights": True,
        "walk.associated": 3,
        "ranking.base": "linear",
        "ranking.association": 0.0,
        "ranking.path_power": 1.0,
        "ranking.tracerank_power": 0.5,
        "ranking.newer_first": True,
        **{f"signals.{name}.enabled": getattr(_SIGNALS, name).enabled for name in SWITCHES},
        "signals.late.pool": _SIGNALS.late.pool,
        "signals.rerank.pool": _SIGNALS.rerank.pool,
        # the learned ones
        "ranking.weights": {},
    },
    # plain cosine
    "baseline": {
        "questions.enabled": False,
        "walk.start.enabled": False,
        "reference.alpha_meta": 0.0,
        "ranking.pool": "all",
        "walk.enabled": False,
        "ranking.base": "cosine",
        "ranking.association": 0.0,
        "ranking.path_power": 0.0,
        "ranking.tracerank_power": 0.0,
    },
}
