"""The command line. `cli` is the tree of commands, `run` runs one line, `main` is the entry point.

They are loaded when used: texts for humans (`render`, `why`) are needed without any command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestig.surfaces.cli.commands import cli, main, run

__all__ = ["cli", "main", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vestig.surfaces.cli import commands

    return getattr(commands, name)
