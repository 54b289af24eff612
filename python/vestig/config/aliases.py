"""Old spellings of keys: read wherever a key is, written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

# (old section, section): keys that only moved
_MOVED: Final = {
    ("m3", "usage"): "event_weights",
    ("m3.tracerank", "usage"): (
        "enabled tau_days cooldown_hours burst_discount k graph_connectivity_enabled graph_k"
        " temporal_decay_enabled dynamic_tau_days ephemeral_tau_days static_boost clip_min clip_max"
        " spacing.enabled spacing.bonus spacing.spacing_days"
    ),
    ("m3.retrieval", "recall"): "include_expired",
    ("m4.entity_types", "entities"): "ontology allowed_types",
    ("m4.entity_extraction", "entities"): (
        "enabled min_confidence store_low_confidence max_evidence_length"
    ),
    ("m4.edge_creation", "links"): (
        "mentions.enabled related.enabled related.similarity_threshold related.max_edges_per_memory"
    ),
    ("m4.graph_expansion", "links.expansion"): (
        "max_expand_via_entities max_expand_via_related min_confidence"
    ),
    ("m5", "ranking"): "enabled",
    ("m5.hyde", "questions"): "enabled allowed_triggers model offline content_weight",
    ("m5.start_node", "walk.start"): "enabled",
    ("m5.start_node", "reference"): "alpha_meta",
    ("m5.start_node.metadata", "reference"): (
        "keyword_weight temporal_weight entity_weight recency_weight recency_tau_days keyword_mode"
        " entity_mode"
    ),
    ("m5.traversal", "walk"): (
        "enabled mode order max_nodes exploration_factor signal_decay normalize_weights seed"
        " edge_types min_signal max_hops max_entity_degree deterministic_threshold"
    ),
    ("m5.final", "ranking"): "base association path_power tracerank_power",
    ("m5.explainability", "recall.reasons"): "enabled include_path include_scores",
    ("m5.signals", "ranking"): "weights",
    ("m5.signals", "signals"): (
        "topic.enabled sittings.enabled late.enabled late.pool rerank.enabled rerank.pool"
    ),
}
# old spelling → key
OLD_NAMES: Final[Mapping[str, str]] = {
    **{
        f"{old}.{name}": f"{new}.{name}"
        for (old, new), names in _MOVED.items()
        for name in names.split()
    },
    "m4.entity_extraction.max_entities_per_memory": "entities.max_per_memory",
    "m4.entity_extraction.llm.model": "entities.model",
    "m5.hyde.max_queries": "questions.max_per_memory",
    "m5.hyde.query_weight": "questions.question_weight",
    "m5.start_node.top_k": "walk.start.limit",
    "m5.start_node.direct_pool": "ranking.pool",
    "m5.traversal.use_tracerank_in_walk": "walk.use_tracerank",
    "search.top_k": "search.limit",
}
# keys whose value is a mapping: their entries are spelt below either name
_WITH_ENTRIES: Final = ("m3.event_weights", "m5.signals.weights")


def current_name(key: str) -> str:
    """The key that an old spelling stands for; any other name as it is.

    Example:
        >>> current_name("m5.final.base"), current_name("m3.event_weights.ADD")
        ('ranking.base', 'usage.event_weights.ADD')
    """
    for old in _WITH_ENTRIES:
        if key.startswith(f"{old}."):
            return OLD_NAMES[old] + key[len(old) :]
    return OLD_NAMES.get(key, key)


@cache
def _reversed() -> Mapping[str, str]:
    return {new: old for old, new in OLD_NAMES.items()}


def old_name(key: str) -> str | None:
    """The old spelling of a key, or of an entry of its mapping; None: it has none.

    Example:
        >>> old_name("search.limit"), old_name("namespace")
        ('search.top_k', None)
    """
    for old in _WITH_ENTRIES:
        if key.startswith(f"{OLD_NAMES[old]}."):
            return old + key[len(OLD_NAMES[old]) :]
    return _reversed().get(key)


@cache
def old_sections() -> frozenset[str]:
    """Groups of keys that only old spellings have.

    Example:
        >>> "m5.traversal" in old_sections(), "search" in old_sections()
        (True, False)
    """
    found: set[str] = set()
    for old in OLD_NAMES:
        parts = old.split(".")
        if parts[0] in ("m3", "m4", "m5"):
            found.update(".".join(parts[:n]) for n in range(1, len(parts)))
    return frozenset(found)
