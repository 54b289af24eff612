"""Branches with which memories are kept, as git knows them, and which of these memories move.

A memory moves from a branch that was merged where it speaks of what was merged: the commit that
has its file so is one of the branch's history, or the branch's last version of the file has its
lines. What git does not say certainly moves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

import msgspec

from vestig.branches.values import GONE, MERGED, OPEN, RENAMED, UNKNOWN, Branch
from vestig.errors import ValidationError
from vestig.memories.anchors import compared
from vestig.repository import branches as names
from vestig.repository.branches import SECONDS_UNHURRIED, branch_part, branch_scope
from vestig.repository.files import lines_of
from vestig.session.session import Session
from vestig.store.records import anchor_rows, branch_rows
from vestig.store.records.anchor_rows import AnchorRow
from vestig.store.records.reads import LedgerView
from vestig.types import AnchorState, Memory

_HISTORY: Final = "history"
_PATCH: Final = "patch"
_COMMITS_MAX: Final = 100
# Of a branch that is gone, the newest.
_HEADS_MAX: Final = 10
_ALL_MOVE: Final[Mapping[str, str]] = {}
_THERE: Final = (AnchorState.SAME, AnchorState.MOVED)


class Plan(NamedTuple):
    """A branch, its unexpired memories, and why those that do not move stay. `to`: the scope to
    which the others move; `head`: of the branch, None where it has none."""

    branch: Branch
    memories: tuple[Memory, ...]
    to: str
    head: str | None
    stays: Mapping[str, str] = _ALL_MOVE

    def staying(self, state: str, why: str) -> Self:
        """The plan by which no memory moves."""
        return self.moving(state, None, dict.fromkeys((one.id for one in self.memories), why))

    def moving(self, state: str, how: str | None, stays: Mapping[str, str] = _ALL_MOVE) -> Self:
        """The plan by which all but some memories move."""
        moves = len(self.memories) - len(stays)
        told = msgspec.structs.replace(self.branch, state=state, how=how, moves=moves)
        return self._replace(branch=told, stays=stays)


class Project:
    """The project that is worked on, and what git says of its branches.

    Raises:
        ValidationError: no folder is worked in, or no repository of git.
    """

    def __init__(self, session: Session, namespace: str) -> None:
        repository = session.repository()
        if repository is None or not repository.has_git:
            raise ValidationError(
                "folder",
                None if repository is None else repository.root,
                "a folder in a repository of git",
                "branches are those of the folder that is worked in: set anchors.folder, or call"
                " from within the repository",
            )
        self.scope = repository.name
        self.git = names.Branches(repository.root, SECONDS_UNHURRIED)
        self._namespace = namespace
        known = (*self.git.heads, *self.git.renamed)
        # a long name is no part of its scope
        self._names = {branch_scope(self.scope, name): name for name in known}

    def plans(self, view: LedgerView) -> Iterator[Plan]:
        """The plans of all branches with which unexpired memories are kept."""
        first, end = names.scopes_of_branches(self.scope)
        for scope in branch_rows.scopes_between(view, self._namespace, first, end):
            ids = branch_rows.unexpired_in(view, self._namespace, scope)
            if ids:
                yield self._plan(view, scope, ids)

    def _plan(self, view: LedgerView, scope: str, ids: Sequence[str]) -> Plan:
        memories = tuple(view.memories(self._namespace, ids))
        own = anchor_rows.of_memories(view, self._namespace, ids, derived=False)
        rows = {
            id: [one for one in own.get(id, ()) if one.committed is not None]
            for id in (memory.id for memory in memories)
        }
        name = self._names.get(scope) or branch_part(self.scope, scope) or scope
        head, new = self.git.heads.get(name), self.git.renamed.get(name)
        plan = Plan(
            branch=Branch(
                name=os.fsencode(name).decode("utf-8", "replace"),
                scope=scope,
                state=OPEN,
                current=name == self.git.current,
                memories=len(memories),
            ),
            memories=memories,
            to=self.scope,
            head=head,
        )
        if not self.git.heads:
            return plan.staying(UNKNOWN, "git does not say which branches there are")
        if head is None and new is not None and new in self.git.heads:
            return plan._replace(to=branch_scope(self.scope, new)).moving(RENAMED, new)
        heads = self._heads(name, head, rows)
        if not heads:
            gone = head is None
            return plan.staying(*((GONE, "the branch is gone") if gone else (OPEN, "not merged")))
        looked_at = list(heads)[:_HEADS_MAX]
        took_back = any(self.git.took_back(one, self._made(name, one, rows)) for one in looked_at)
        stays = {}
        for id, anchors in rows.items():
            if not any(self._is_of(anchors, one) for one in heads):
                stays[id] = "nothing says that what it speaks of was merged"
            elif took_back and not self._default_has(anchors):
                stays[id] = "the default branch took back what it speaks of"
        how = _HISTORY if _HISTORY in heads.values() else _PATCH
        return plan.moving(GONE if head is None else MERGED, how, stays)

    def _heads(
        self, name: str, head: str | None, rows: Mapping[str, Sequence[AnchorRow]]
    ) -> dict[str, str]:
        """Commits that were merged → how: the head of a branch, of one that is gone the commit at
        which it was left and those of its own that memories name."""
        default = self.git.default
        if default is None or name == default.name:
            return {}
        named = _named(rows)[: -_COMMITS_MAX - 1 : -1]
        found = {}
        for commit in (*self.git.left_at(name), *named) if head is None else (head,):
            if self.git.is_within(commit, default.commits):
                # a head that never left the default branch was not merged into it
                if any(True for _ in self._made(name, commit, rows)):
                    found[commit] = _HISTORY
            elif self.git.has_patch(commit):
                found[commit] = _PATCH
        return found

    def _made(self, name: str, head: str, rows: Mapping[str, Sequence[AnchorRow]]) -> Iterator[str]:
        """The commits up to a head of which a memory or git's log says that they are the branch's
        own."""
        yield from (one for one in _named(rows) if self.git.is_within(one, (head,)))
        yield from self.git.made_on(name, head)

    def _is_of(self, anchors: Sequence[AnchorRow], head: str) -> bool:
        """Return whether a memory speaks of what a commit and those before it have."""
        return bool(anchors) and all(self._was_in(row, head) for row in anchors)

    def _was_in(self, row: AnchorRow, head: str) -> bool:
        """Return whether the lines of an anchor stand in a commit of a history, or did in one that
        is newer than that which was checked out when the anchor was taken."""
        taken = row.commit_id
        if row.committed and taken is not None and self.git.is_within(taken, (head,)):
            return True
        assert row.target is not None, "a file has a path"
        since = [] if taken is None else self.git.versions(row.target, taken, head)
        return any(self._has(row, one) for one in dict.fromkeys((head, *since)))

    def _default_has(self, anchors: Sequence[AnchorRow]) -> bool:
        """Return whether the default branch has what a memory speaks of, here and at the remote."""
        default = self.git.default
        assert default is not None, "something was merged into it"
        return all(self._has(row, one) for row in anchors for one in default.commits)

    def _has(self, row: AnchorRow, commit: str) -> bool:
        assert row.target is not None, "a file has a path"
        lines = lines_of(self.git.file(commit, row.target))
        return bool(lines) and compared(lines, row).state in _THERE


def _named(rows: Mapping[str, Sequence[AnchorRow]]) -> list[str]:
    """The commits in which what memories speak of stands, as these say."""
    every = (row for anchors in rows.values() for row in anchors)
    return list(dict.fromkeys(one.commit_id for one in every if one.committed and one.commit_id))
