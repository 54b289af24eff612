"""The declarations of the calls: one for each, from which everything else about it follows.

A module of declarations is loaded when its name is first asked for: `calls.files.ExportRequest`
costs who exports, and nobody else.
"""

from __future__ import annotations

# By this name a type checker knows what it is; the import of `typing` takes longer than the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from types import ModuleType

    from vestig.calls import commit, files, graph, items, memories, upkeep

__all__ = ["commit", "files", "graph", "items", "memories", "upkeep"]


def __getattr__(name: str) -> ModuleType:
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'vestig.calls' has no attribute {name!r}")
    return importlib.import_module(f"vestig.calls.{name}")
