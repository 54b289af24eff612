"""Keys of the graph and the walk, each with what can be seen of it (X-K01).

One mapping per part: `ENTITIES`, `SEARCH`, `RECALL`. `AWAITED` names the keys whose part is
not built yet; it is empty when all parts are.
"""

from __future__ import annotations

from typing import Final

from acts_of_entities import NAMES
from acts_of_search import EDGES
from acts_of_search import SEARCH as KEYS_OF_SEARCH
from acts_of_walk import WALK
from world import Act

from vestig.config import KEYS

__all__ = ["AWAITED", "GRAPH"]

# --- entities and questions ---------------------------------------------------------------

ENTITIES: Final[dict[str, Act]] = {**NAMES}

# --- edges and search ---------------------------------------------------------------------

SEARCH: Final[dict[str, Act]] = {**EDGES, **KEYS_OF_SEARCH}

# --- recall -------------------------------------------------------------------------------

RECALL: Final[dict[str, Act]] = {**WALK}

GRAPH: Final[dict[str, Act]] = {**ENTITIES, **SEARCH, **RECALL}

_UNBUILT: Final = (
    "m3.tracerank.graph_connectivity_enabled",
    "m3.tracerank.graph_k",
    "m4.entity_types.",
    "m4.entity_extraction.",
    "m4.edge_creation.mentions.",
    "m5.hyde.",
    "m5.start_node.enabled",
    "m5.start_node.top_k",
    "m5.start_node.alpha_meta",
    "m5.start_node.metadata.",
    "m5.traversal.",
    "m5.final.association",
    "m5.final.path_power",
    "m5.signals.keyword.",
    "m5.signals.temporal.",
    "m5.signals.entity.",
    "m5.signals.recency.",
    "m5.signals.entity_walk.",
    *(
        f"m5.signals.weights.{origin}.{name}"
        for origin in ("chat_peer", "chat_agent", "document", "note")
        for name in ("keyword", "temporal", "entity", "recency", "entity_walk")
    ),
    "recall.temporal_open_scale_days",
    "recall.entity_similarity_threshold",
    "recall.expand_summaries",
    "recall.summary_prior",
)

AWAITED: Final = frozenset(key for key in KEYS if key.startswith(_UNBUILT) and key not in GRAPH)
