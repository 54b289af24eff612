"""The table of all operations.

Every surface reads it: the command line makes its commands, help and JSON from it, and servers
their routes and tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from vestig.surfaces.operation import Operation

__all__ = ["GROUPS", "operation", "operations"]

GROUPS: Mapping[str, str] = {
    "memory": "Store, find and change memories.",
    "entity": "People, places and things that memories mention.",
    "edge": "Links between memories, and between entities.",
    "housekeeping": "Maintenance, at a time of your choice.",
    "config": "Configured values, where each was set, and what it means.",
}


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation, in the order of help texts.

    Example:
        >>> [op.name for op in operations()][:2]
        ['memory add', 'memory search']
    """
    from vestig.surfaces.operations.edge import EDGE_OPERATIONS
    from vestig.surfaces.operations.entity import ENTITY_BACKFILL, ENTITY_OPERATIONS
    from vestig.surfaces.operations.evaluate import EVAL
    from vestig.surfaces.operations.mcp import MCP
    from vestig.surfaces.operations.memory import MEMORY_OPERATIONS
    from vestig.surfaces.operations.replay import REPLAY, REPLAY_REQUESTS
    from vestig.surfaces.operations.retrieve import RETRIEVE
    from vestig.surfaces.operations.search import SEARCH
    from vestig.surfaces.operations.serve import SERVE
    from vestig.surfaces.operations.store import STORE_OPERATIONS

    return (
        *MEMORY_OPERATIONS,
        REPLAY,
        REPLAY_REQUESTS,
        SEARCH,
        RETRIEVE,
        *ENTITY_OPERATIONS,
        *EDGE_OPERATIONS,
        *STORE_OPERATIONS,
        ENTITY_BACKFILL,
        EVAL,
        SERVE,
        MCP,
    )


def operation(name: str) -> Operation:
    """One operation by name.

    Raises:
        KeyError: unknown.

    Example:
        >>> operation("memory add").writes
        True
    """
    return {op.name: op for op in operations()}[name]
