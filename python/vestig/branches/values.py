"""Results of the calls on branches."""

from __future__ import annotations

from typing import Final

from vestig.results import SequenceResult, listing
from vestig.types import Degradation, _Value

# States of a branch: there is one, its commits are in the default branch, it has another name now,
# there is none, git does not say.
OPEN: Final = "open"
MERGED: Final = "merged"
RENAMED: Final = "renamed"
GONE: Final = "gone"
UNKNOWN: Final = "unknown"


class Branch(_Value, frozen=True, kw_only=True):
    """A branch with which memories are kept.

    Attributes:
        name: of the branch, as far as its scope says it.
        state: open, merged, renamed, gone, or unknown where git does not say.
        how: history, where a commit of the branch is one of the default branch; patch, where that
            has the same changes as other commits; the new name of one that was renamed.
        current: it is checked out.
        memories: active and archived ones.
        moves: how many of them `merge` moves unasked.
    """

    name: str
    scope: str
    state: str
    how: str | None = None
    current: bool = False
    memories: int = 0
    moves: int = 0


class BranchList(SequenceResult[Branch], frozen=True, kw_only=True):
    """Branches with which memories of a project are kept; a sequence of `Branch`.

    `default`: the default branch, None where git names none; `current`: the one that is checked
    out, None for a detached head.
    """

    branches: tuple[Branch, ...]
    project: str
    default: str | None = None
    current: str | None = None
    seq: int

    def __repr__(self) -> str:
        return listing(f"<BranchList {len(self)} of {self.project}>", self.branches)


class BranchMemory(_Value, frozen=True, kw_only=True):
    """A memory that is kept with a branch. `stays`: why `merge` does not move it; None: it does."""

    id: str
    text: str
    stays: str | None = None


class BranchMemories(SequenceResult[BranchMemory], frozen=True, kw_only=True):
    """The memories that are kept with a branch; a sequence of `BranchMemory`."""

    memories: tuple[BranchMemory, ...]
    branch: Branch
    seq: int

    def __repr__(self) -> str:
        return listing(f"<BranchMemories {len(self)} of {self.branch.name}>", self.memories)


class BranchChange(_Value, frozen=True, kw_only=True):
    """The outcome of a merge or a drop for the memories of a branch.

    Attributes:
        scope: where they were; `to`: where those went that moved, None where they were dropped.
        moved: ids of those that moved.
        ended: ids of those that were deprecated, or superseded by a memory of the project that
            has the same text.
        replaced: ids of those of the project in the place of which one with the same key came.
        stayed: those that stay with the branch, with the reason.
    """

    branch: str
    scope: str
    to: str | None = None
    moved: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    stayed: tuple[BranchMemory, ...] = ()


class BranchChanges(SequenceResult[BranchChange], frozen=True, kw_only=True):
    """The outcome for the memories of several branches; a sequence of `BranchChange`."""

    changes: tuple[BranchChange, ...]
    seq: int
    degraded: tuple[Degradation, ...] = ()

    def __repr__(self) -> str:
        return listing(f"<BranchChanges {len(self)}>", self.changes)
