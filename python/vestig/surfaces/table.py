"""The table of all operations.

Every surface reads it: the command line makes its commands, help and JSON from it, and servers
their routes and tools.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from vestig.surfaces.outlines import OUTLINES

if TYPE_CHECKING:
    from vestig.surfaces.operation import Operation


def operations() -> tuple[Operation, ...]:
    """Every operation, in the order of help texts.

    Example:
        >>> [op.name for op in operations()][:2]
        ['memory add', 'memory add-structured']
    """
    return tuple(operation(name) for name in OUTLINES)


def operation(name: str) -> Operation:
    """One operation by name; the modules of others are not loaded.

    Raises:
        KeyError: unknown.

    Example:
        >>> operation("memory add").writes
        True
    """
    return _declared(OUTLINES[name].home)[name]


@cache
def _declared(module: str) -> Mapping[str, Operation]:
    home = importlib.import_module(f"vestig.surfaces.operations.{module}")
    declared: tuple[Operation, ...] = home.OPERATIONS
    return {one.name: one for one in declared}
