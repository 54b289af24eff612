"""Branches as git's log of HEAD tells of them: the commit at which each was left, and those made on
it. It goes on saying so of a branch that was deleted, whose own log is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from vestig.lazy_pattern import lazy_pattern

# Entries by which a commit came to be on a branch.
MADE: Final = lazy_pattern(r"(?:commit|cherry-pick|revert|am)\b")
_MOVED: Final = lazy_pattern(r"checkout: moving from (\S+) to (\S+)")
_RENAMED: Final = lazy_pattern(r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)")
_STARTED: Final = lazy_pattern(r".*\(start\): ")
_RETURNED: Final = lazy_pattern(r".*\((finish|abort)\): returning to refs/heads/(\S+)")
_STEP: Final = lazy_pattern(r".*\((?:pick|reword|edit|squash|fixup|continue)\): ")


class LeftBranch(NamedTuple):
    """A branch that was checked out once. `head`: the commit at which it was last left; `made`:
    those that were made on it."""

    head: str
    made: tuple[str, ...]


def left_branches(entries: Sequence[tuple[str, str]]) -> dict[str, LeftBranch]:
    """Name → what a log says of the branches that were left.

    Args:
        entries: commit and message of each, the oldest first.

    Example:
        >>> left_branches([("a", "checkout: moving from main to fix"), ("b", "commit: one"),
        ...                ("a", "checkout: moving from fix to main")])["fix"]
        LeftBranch(head='b', made=('b',))
    """
    moves = (_MOVED.fullmatch(message) for _, message in entries)
    current = next((move[1] for move in moves if move), None)
    heads, made = dict[str, str](), dict[str | None, list[str]]()
    # commits of a rebase, of which only the end names the branch
    rebased: list[str] | None = None
    before = None
    for commit, message in entries:
        if move := _MOVED.fullmatch(message):
            if before is not None:
                heads[move[1]] = before
            current, rebased = move[2], None
        elif name := _RENAMED.fullmatch(message):
            made.setdefault(name[2], []).extend(made.pop(name[1], ()))
            current = name[2] if current == name[1] else current
        elif _STARTED.match(message):
            rebased = []
        elif end := _RETURNED.fullmatch(message):
            made.setdefault(end[2], []).extend((rebased or ()) if end[1] == "finish" else ())
            current, rebased = end[2], None
        elif MADE.match(message) or _STEP.match(message):
            (made.setdefault(current, []) if rebased is None else rebased).append(commit)
        before = commit
    return {name: LeftBranch(head, tuple(made.get(name, ()))) for name, head in heads.items()}
