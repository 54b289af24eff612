"""The scope of memories of a project on a branch: what speaks of a file that the branch changed is
kept with the branch, everything else with the project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vestig.calls.anchors import GivenAnchor
from vestig.calls.commit import CommitRequest
from vestig.calls.declaration import rows_of
from vestig.errors import VestigError
from vestig.repository.branches import Branches, branch_scope, scopes_of_branches
from vestig.session.session import Session
from vestig.store.records.branch_rows import scopes_between
from vestig.store.records.reads import LedgerView
from vestig.types import AnchorKind


class Placed(NamedTuple):
    """The scope of a memory to come, and its anchors."""

    scope: str
    anchors: tuple[GivenAnchor, ...]


def placed(
    session: Session, project: str, anchors: Sequence[Sequence[GivenAnchor]]
) -> list[Placed]:
    """The place of each of these memories, by its anchors: the project, or the branch where an
    anchor is of a file that it changed.

    Args:
        project: the scope of the project that is worked on.
    """
    files = [one for given in anchors for one in given if one.kind is AnchorKind.FILE]
    paths = _paths(session, project, files)
    if not paths:
        return [Placed(project, tuple(given)) for given in anchors]
    repository = session.repository()
    assert repository is not None, "it has files"
    branches = Branches(repository.root)
    # branch, None for the one that is checked out → its changed files
    changed = {
        branch: branches.changed(
            (paths[one.target] for one in files if one.branch == branch and one.target in paths),
            branch,
        )
        for branch in dict.fromkeys(one.branch for one in files)
    }
    found = []
    for given in anchors:
        marked, scope = [], project
        for one in given:
            is_file = one.kind is AnchorKind.FILE and one.target in paths
            committed = changed[one.branch].get(paths[one.target]) if is_file else None
            branch = one.branch or branches.current
            if committed is not None and branch is not None:
                scope = branch_scope(project, branch)
            marked.append(one._replace(committed=committed))
        found.append(Placed(scope, tuple(marked)))
    return found


def in_project(
    session: Session, project: str, commits: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The arguments of each of these commits, with the scope of its place, and its anchors. What
    replaces a memory of the project is the project's too, for elsewhere nothing would stand in the
    place of that. An argument that is wrong is left for the commit to refuse.

    Args:
        project: the scope of the project that is worked on.
    """
    anchors = [_checked(one, "anchor") for one in commits]
    return [
        {**one, "scope": place.scope, "anchor": place.anchors}
        if place.anchors and _replaces_within(session, one, place.scope)
        else {**one, "scope": project}
        for one, place in zip(commits, placed(session, project, anchors), strict=True)
    ]


def _checked(commit: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """A list among the arguments of a commit; none where it is not there or wrong."""
    given = commit.get(name)
    if given is None:
        return ()
    try:
        return tuple(rows_of(CommitRequest)[name].check(name, given))
    except VestigError:
        return ()


def _replaces_within(session: Session, commit: Mapping[str, Any], scope: str) -> bool:
    """Return whether all that a commit replaces is of this scope."""
    olds = _checked(commit, "supersedes")
    if not olds:
        return True
    try:
        space = session.in_namespace(commit.get("namespace"))
        with session.ledger.read() as view:
            return all(session.memory(view, space, old).scope == scope for old in olds)
    except VestigError:
        return False


def _paths(session: Session, project: str, anchors: Sequence[GivenAnchor]) -> dict[str, str]:
    """Target → path of those of these files that are of the project that is worked on."""
    files = dict.fromkeys(one.target for one in anchors)
    repository = session.repository() if files else None
    if repository is None or not repository.has_git or repository.name != project:
        return {}
    folder = session.working_folder() or repository.root
    found = {target: repository.path_of(folder, target) for target in files}
    return {target: path for target, path in found.items() if path is not None}


def branch_scopes(view: LedgerView, namespace: str, project: str) -> list[str]:
    """The scopes of branches of a project in which there are memories."""
    return scopes_between(view, namespace, *scopes_of_branches(project))
