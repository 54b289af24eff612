"""Memories of a folder that its project's scope leaves out, for they were stored while it had no
remote, and the command that brings them over."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vestig.config.environment import options_of_variables
from vestig.language.text_forms import count_of
from vestig.repository.branches import read_scopes
from vestig.repository.project import project_scope, scope_without_remote
from vestig.surfaces.hooks.hooks_file import program, store_options

if TYPE_CHECKING:
    from vestig.api.store import Vestig

# Memories that a listing has at most.
_LISTED_MAX: Final = 1_000


def left_behind(store: Vestig, folder: Path, options: Mapping[str, Any]) -> list[str]:
    """Return a line for each scope that the folder had without a remote and that holds memories,
    that of its branch included; none where it has no remote now.

    Args:
        options: of the command line, with which the store was opened.
    """
    earlier, now = scope_without_remote(folder), project_scope(folder)
    if earlier == now:
        return []
    found = []
    pairs = zip(read_scopes(earlier, folder), read_scopes(now, folder), strict=True)
    for before, after in pairs:
        count = store.count(where={"scope": before}) if before.isprintable() else 0
        if count:
            lie = "lies" if count == 1 else "lie"
            found.append(
                f"{count_of(count, 'memory')} of this folder {lie} in the scope {before}, from when"
                f" it had no remote, and the scope {after} leaves that out. To bring them over:"
                f" {_move(options, before, after)}"
            )
    return found


def _move(options: Mapping[str, Any], before: str, after: str) -> str:
    """The line for a shell that gives memories of a scope another one."""
    vestig = [*program(), *store_options({**options_of_variables(), **options})]
    listed = shlex.join([*vestig, "list", "--scope", before, "--limit", str(_LISTED_MAX)])
    moved = shlex.join([*vestig, "update", "ID", "--scope", after])
    return f"{listed} | grep -o '^mem_[^ ]*' | xargs -I ID {moved}"
