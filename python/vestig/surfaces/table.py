"""The table of all operations.

Every surface reads it: the command line makes its commands, help and JSON from it, and servers
their routes and tools.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Final

from vestig.surfaces.operation import Operation

__all__ = ["GROUPS", "NAMES", "SHORT_NAMES", "operation", "operations"]

GROUPS: Mapping[str, str] = {
    "memory": "Store, find and change memories.",
    "entity": "People, places and things that memories mention.",
    "edge": "Links between memories, and between entities.",
    "housekeeping": "Maintenance, at a time of your choice.",
    "config": "Configured values, where each was set, and what it means.",
}

# Every operation in the order of help texts, and the module of `operations/` that declares it in
# its `OPERATIONS`: one is found by its name, without loading the others.
_HOMES: Final[Mapping[str, str]] = {
    "memory add": "memory",
    "memory search": "memory",
    "memory recall": "memory",
    "memory show": "memory",
    "memory list": "memory",
    "count": "memory",
    "memory events": "memory",
    "memory deprecate": "memory",
    "memory supersede": "memory",
    "memory pin": "memory",
    "memory unpin": "memory",
    "memory archive": "memory",
    "memory restore": "memory",
    "memory update": "memory",
    "memory forget": "forget",
    "replay-receipt": "replay",
    "replay": "replay",
    "search": "search",
    "retrieve": "retrieve",
    "entity list": "entity",
    "entity show": "entity",
    "entity extract": "entity",
    "entity merge": "entity",
    "entity expire": "entity",
    "entity purge": "entity",
    "edge list": "edge",
    "edge show": "edge",
    "edge link": "edge",
    "edge unlink": "edge",
    "edge rebuild": "edge",
    "housekeeping gc": "store",
    "housekeeping enrich": "store",
    "housekeeping compact": "store",
    "export": "store",
    "import": "store",
    "backup": "store",
    "rebuild": "store",
    "stats": "store",
    "doctor": "store",
    "destroy": "store",
    "demo": "store",
    "config show": "store",
    "config explain": "store",
    "config trust": "store",
    "housekeeping entity-backfill": "entity",
    "eval": "evaluate",
    "serve": "serve",
    "mcp": "mcp",
}
NAMES: Final = tuple(_HOMES)
# other names of commands of a group, outside of it
SHORT_NAMES: Final[Mapping[str, str]] = {
    "add": "memory add",
    "recall": "memory recall",
    "show": "memory show",
    "list": "memory list",
    "forget": "memory forget",
}


def operations() -> tuple[Operation, ...]:
    """Every operation, in the order of help texts.

    Example:
        >>> [op.name for op in operations()][:2]
        ['memory add', 'memory search']
    """
    return tuple(operation(name) for name in NAMES)


def operation(name: str) -> Operation:
    """One operation by name; the modules of others are not loaded.

    Raises:
        KeyError: unknown.

    Example:
        >>> operation("memory add").writes
        True
    """
    return _declared(_HOMES[name])[name]


@cache
def _declared(module: str) -> Mapping[str, Operation]:
    home = importlib.import_module(f"vestig.surfaces.operations.{module}")
    declared: tuple[Operation, ...] = home.OPERATIONS
    return {one.name: one for one in declared}
