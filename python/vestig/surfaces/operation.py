"""What an operation is, and the table of all of them.

Every surface reads this table: the command line makes its commands, help and
JSON from it, and servers their routes and tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import IO, Any

import msgspec

from vestig.parameters import Parameter

__all__ = ["Call", "Operation", "operation", "operations"]


class Call(msgspec.Struct, kw_only=True):
    """One call of an operation: where it acts and with what. `args` holds only what was given."""

    args: dict[str, Any]
    config: Any = None
    store: Any = None
    progress: Callable[[int, int | None], None] | None = None
    # where an export to `-` goes and an import from `-` comes from
    output: Callable[[], IO[str]] | None = None
    input: Callable[[], IO[str]] | None = None
    # a running account: line, style
    say: Callable[..., None] | None = None
    # asks before something is destroyed: plan → whether to go on
    confirm: Callable[[str], bool] | None = None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, declared once.

    `document` names its JSON (`vestig/<document>/1`); `text` makes its text for humans;
    `exit_code` judges a value that is no error. `open_options` makes options of `vestig.open`
    from the arguments.
    """

    name: str
    help: str
    params: tuple[Parameter, ...] = ()
    run: Callable[[Call], Any]
    document: str
    text: Callable[[Any, Mapping[str, Any]], str]
    exit_code: Callable[[Any], int] = lambda _: 0
    needs_store: bool = True
    writes: bool = False
    open_options: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}


GROUPS: Mapping[str, str] = {
    "memory": "Keep, find and change memories.",
    "entity": "Names that memories mention.",
    "edge": "Links between memories, and between entities.",
    "housekeeping": "Work that can wait.",
    "config": "What is configured, where, and what it means.",
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
    from vestig.surfaces.operations.memory import MEMORY_OPERATIONS
    from vestig.surfaces.operations.replay import REPLAY
    from vestig.surfaces.operations.search import SEARCH
    from vestig.surfaces.operations.store import STORE_OPERATIONS

    return (
        *MEMORY_OPERATIONS,
        REPLAY,
        SEARCH,
        *ENTITY_OPERATIONS,
        *EDGE_OPERATIONS,
        *STORE_OPERATIONS,
        ENTITY_BACKFILL,
        EVAL,
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
