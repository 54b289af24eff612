"""Keys of retrieval, each with what can be seen of it."""

from __future__ import annotations

from typing import Any, Final

from world import Act, World

from vestig.config.retrieve_sections import RetrieveSettings
from vestig.retrieve.confidence import (
    Components,
    compute_confidence,
    compute_confidence_score,
    relevance_component,
)
from vestig.retrieve.fallback_queries import fallback_queries
from vestig.retrieve.message_search import message_blacklist
from vestig.retrieve.synonyms import synonyms

__all__ = ["RETRIEVE"]

_MESSAGE: Final = "Which developer broke the kubernetes deployment of the billing service?"


def settings(world: World) -> RetrieveSettings:
    return world.config.settings.retrieve


def queries(world: World) -> Any:
    own = settings(world)
    return fallback_queries(
        _MESSAGE,
        max_queries=own.fallback_max_queries,
        max_length=own.fallback_max_query_length,
        synonym_table=synonyms(own.synonyms),
    )


def trivial(world: World) -> Any:
    (world.folder / "terms.txt").write_text("splendid\n")
    listed, warning = message_blacklist(settings(world).message_blacklist)
    return [listed.covers(text) for text in ("splendid!", "thanks")], warning


def score(world: World) -> Any:
    parts = Components(relevance=0.9, evidence=0.1, coverage=0.5, reliability=0.3)
    return compute_confidence_score(parts, settings(world).confidence)


def labels(world: World) -> Any:
    own = settings(world).confidence
    return [compute_confidence(score, 0.5, own) for score in (0.35, 0.45, 0.65, 0.75)]


def relevance(world: World) -> Any:
    return relevance_component(None, [0.35, 0.75], settings(world).confidence)


_CONFIDENCE: Final = "retrieve.confidence"

RETRIEVE: Final[dict[str, Act]] = {
    "retrieve.fallback_max_queries": Act(3, queries),
    "retrieve.fallback_max_query_length": Act(12, queries),
    "retrieve.synonyms": Act({"broke": ["wrecked"]}, queries),
    "retrieve.message_blacklist": Act("terms.txt", trivial),
    **{
        f"{_CONFIDENCE}.weights.{name}": Act(0.9, score)
        for name in ("relevance", "evidence", "coverage", "reliability")
    },
    f"{_CONFIDENCE}.high": Act(0.6, labels),
    f"{_CONFIDENCE}.medium": Act(0.3, labels),
    f"{_CONFIDENCE}.high_min_relevance": Act(0.6, labels),
    f"{_CONFIDENCE}.sim_lo": Act(0.2, relevance),
    f"{_CONFIDENCE}.sim_hi": Act(0.7, relevance),
}
