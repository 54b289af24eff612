"""The operations on branches: memories that are kept with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls import branches
from vestig.language.text_forms import count_of, escaped_breaks, one_line
from vestig.surfaces.operation import Operation

if TYPE_CHECKING:
    from vestig.branches.values import (
        Branch,
        BranchChange,
        BranchChanges,
        BranchList,
        BranchMemories,
        BranchMemory,
    )

_SNIPPET_CHARS: Final = 80


def _line(one: Branch) -> str:
    """One branch: its state, its memories, and how many of them a merge moves."""
    how = "" if one.how is None else f" ({escaped_breaks(one.how)})"
    mark = "*" if one.current else " "
    moves = f", {one.moves} to move" if one.moves else ""
    memories = count_of(one.memories, "memory")
    return f"{mark} {escaped_breaks(one.name)}: {one.state}{how}, {memories}{moves}"


def _listed(found: BranchList, _: Mapping[str, Any]) -> str:
    lines = [_line(one) for one in found] or ["No memory is kept with a branch."]
    default = found.default or "none that git names"
    lines.append(f"Default branch: {escaped_breaks(default)}")
    lines += _hint_of_remaining(found)
    return "\n".join(lines)


def _hint_of_remaining(found: BranchList) -> list[str]:
    """Says what can be done about what stays with branches that were merged or are gone."""
    from vestig.branches.values import GONE, MERGED

    if not any(one.state in (GONE, MERGED) and one.moves < one.memories for one in found):
        return []
    return [
        "What stays with a branch that is merged or gone: `vestig branch show NAME` says why,"
        " `vestig branch merge NAME` moves it to the project, `vestig branch drop NAME` ends it."
    ]


def _memory(one: BranchMemory) -> str:
    stays = "" if one.stays is None else f" (stays: {one.stays})"
    return f"{one.id}{stays} {one_line(one.text, _SNIPPET_CHARS)}"


def _shown(found: BranchMemories, _: Mapping[str, Any]) -> str:
    return "\n".join([_line(found.branch), *map(_memory, found)])


def _change(one: BranchChange) -> list[str]:
    done = (
        [f"{count_of(len(one.moved), 'memory')} moved to {escaped_breaks(one.to)}"]
        if one.to
        else []
    )
    done += [f"{count_of(len(one.ended), 'memory')} ended"] if one.ended else []
    done += (
        [f"{count_of(len(one.replaced), 'memory')} of the same key replaced"]
        if one.replaced
        else []
    )
    done += [f"{count_of(len(one.stayed), 'memory')} stayed"] if one.stayed else []
    return [f"{escaped_breaks(one.branch)}: {', '.join(done)}", *map(_memory, one.stayed)]


def _changed(found: BranchChanges, _: Mapping[str, Any]) -> str:
    lines = [line for one in found for line in _change(one)]
    return "\n".join(lines) or (
        "Nothing moved: git says of no branch with memories that it was merged."
        " `vestig branch list` lists them, `vestig branch merge NAME` moves those of one."
    )


OPERATIONS: Final = (
    Operation(
        name="branch list",
        call=branches.ListBranchesRequest,
        method="branches.list",
        document="branches",
        text=_listed,
        without_store="empty",
    ),
    Operation(
        name="branch show",
        call=branches.BranchRequest,
        method="branches.show",
        document="branch",
        text=_shown,
    ),
    Operation(
        name="branch merge",
        call=branches.MergeBranchesRequest,
        method="branches.merge",
        document="branch_changes",
        text=_changed,
        writes=True,
    ),
    Operation(
        name="branch drop",
        call=branches.DropBranchRequest,
        method="branches.drop",
        document="branch_changes",
        text=_changed,
        writes=True,
    ),
)
