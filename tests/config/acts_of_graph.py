"""Keys of the graph and the walk, each with what can be seen of it."""

from __future__ import annotations

from typing import Final

from acts_of_entities import NAMES
from acts_of_search import EDGES
from acts_of_search import SEARCH as KEYS_OF_SEARCH
from acts_of_walk import WALK
from world import Act

__all__ = ["GRAPH"]

# --- entities and questions ---------------------------------------------------------------

ENTITIES: Final[dict[str, Act]] = {**NAMES}

# --- edges and search ---------------------------------------------------------------------

SEARCH: Final[dict[str, Act]] = {**EDGES, **KEYS_OF_SEARCH}

# --- recall -------------------------------------------------------------------------------

RECALL: Final[dict[str, Act]] = {**WALK}

GRAPH: Final[dict[str, Act]] = {**ENTITIES, **SEARCH, **RECALL}
