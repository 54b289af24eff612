"""The engine: opens a store, reads the clock, introduces the rooms to each other, delegates.

Its modules are loaded when they are first used (PEP 562): a process that only recalls never
loads what committing, importing or checking needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vestig.engine import (
        backfilling as backfilling,
    )
    from vestig.engine import (
        changing as changing,
    )
    from vestig.engine import (
        committing as committing,
    )
    from vestig.engine import (
        enriching as enriching,
    )
    from vestig.engine import (
        entities as entities,
    )
    from vestig.engine import (
        expanding as expanding,
    )
    from vestig.engine import (
        forgetting as forgetting,
    )
    from vestig.engine import (
        importing as importing,
    )
    from vestig.engine import (
        indexing as indexing,
    )
    from vestig.engine import (
        linking as linking,
    )
    from vestig.engine import (
        maintaining as maintaining,
    )
    from vestig.engine import (
        reading as reading,
    )
    from vestig.engine import (
        recalling as recalling,
    )
    from vestig.engine import (
        relating as relating,
    )
    from vestig.engine import (
        rendering as rendering,
    )
    from vestig.engine import (
        searching as searching,
    )
    from vestig.engine import (
        updating as updating,
    )
    from vestig.engine.vestig import Vestig, open_store

__all__ = ["Vestig", "open_store"]

_MODULES: Final = frozenset(
    (
        "backfilling",
        "changing",
        "committing",
        "enriching",
        "entities",
        "evaluating",
        "expanding",
        "expecting",
        "forgetting",
        "importing",
        "indexing",
        "linking",
        "maintaining",
        "reading",
        "recalling",
        "receipts",
        "relating",
        "rendering",
        "searching",
        "updating",
    )
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in __all__:
        return getattr(import_module(f"{__name__}.vestig"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
