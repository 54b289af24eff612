"""From settings to what the core ranks by; made once per configuration (R-12, R-15, R-16)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestig.config import Config
from vestig.engine.context import Context
from vestig.recall.reason import Explained
from vestig.types import EventType, OriginType

__all__ = ["Recipe", "recipe"]

POOL_LEAST: Final = 50
POOL_PER_RESULT: Final = 5
_CACHED_MAX: Final = 64
# The similarity of the text itself, without signals, questions and links.
_OFF: Final[dict[str, Any]] = {
    "path_power": 1.0,
    "association": 0.0,
    "alpha": 0.0,
    "meta_weights": (0.0, 0.0, 0.0, 0.0),
    "keyword_mode": "weighted",
    "entity_mode": "weighted",
    "recency_tau_days": 30.0,
    "open_scale_days": 30.0,
    "content_weight": 0.4,
    "query_weight": 0.6,
    "hyde": False,
    "start_enabled": True,
    "start_top_k": 5,
    "summary_prior": 0.0,
    "expand_summaries": False,
}

# by name, per origin; absent = switched off
Weights = list[dict[str, float]]


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What of a configuration decides ranks. `trace`: keywords of `_core.TraceParams`."""

    base: str
    weights: Weights
    trace: dict[str, Any]
    tracerank_power: float
    direct_pool: str | int
    min_score: float | None
    explained: Explained

    def pool(self, limit: int) -> int | str | None:
        """How many direct candidates; None = all (R-12)."""
        if self.direct_pool == "all":
            return None
        if self.direct_pool == "auto":
            return max(POOL_LEAST, POOL_PER_RESULT * limit)
        return self.direct_pool

    def ranking(self, limit: int, query_time_us: int) -> dict[str, Any]:
        """Keywords of `_core.Ranking`, without `trace` and `walk`."""
        return {
            **_OFF,
            "base": self.base,
            "weights": self.weights,
            "tracerank_power": self.tracerank_power,
            "pool": self.pool(limit),
            "limit": limit,
            "min_score": self.min_score,
            "query_time_us": query_time_us,
        }


def recipe(context: Context, config: Config) -> Recipe:
    """The recipe of a configuration; equal configurations are kept as one object by `Context`."""
    found = context.recipes.get(id(config))
    if found is None or found[0] is not config:
        if len(context.recipes) >= _CACHED_MAX:
            context.recipes.clear()
        found = context.recipes[id(config)] = (config, _made(config.settings))
    made: Recipe = found[1]
    return made


def _made(settings: Any) -> Recipe:
    m5 = settings.m5
    shown = m5.explainability
    # m5 off: every eligible memory, max(0, cosine) · TraceRank
    base, power, pool = m5.final.base, m5.final.tracerank_power, m5.start_node.direct_pool
    if not m5.enabled:
        base, power, pool = "semantic", 1.0, "all"
    return Recipe(
        base=base,
        weights=_weights(m5.signals),
        trace=_trace(settings.m3),
        tracerank_power=power,
        direct_pool=pool,
        min_score=settings.recall.min_score,
        explained=Explained(
            enabled=shown.enabled,
            include_path=shown.include_path,
            include_scores=shown.include_scores,
        ),
    )


def _weights(signals: Any) -> Weights:
    names = [name for name in ("cosine", "lexical") if getattr(signals, name).enabled]
    return [
        {name: getattr(own, name) for name in ("bias", *names)}
        for own in (getattr(signals.weights, origin.value) for origin in OriginType)
    ]


def _trace(m3: Any) -> dict[str, Any]:
    rank, weights = m3.tracerank, m3.event_weights
    return {
        "enabled": rank.enabled,
        "event_weights": [getattr(weights, kind.value) for kind in EventType],
        "tau_days": rank.tau_days,
        "cooldown_hours": rank.cooldown_hours,
        "burst_discount": rank.burst_discount,
        "k": rank.k,
        "temporal_decay_enabled": rank.temporal_decay_enabled,
        "dynamic_tau_days": rank.dynamic_tau_days,
        "ephemeral_tau_days": rank.ephemeral_tau_days,
        "static_boost": rank.static_boost,
        "clip_min": rank.clip_min,
        "clip_max": rank.clip_max,
        "spacing_enabled": rank.spacing.enabled,
        "spacing_bonus": rank.spacing.bonus,
        "spacing_days": rank.spacing.spacing_days,
    }
