"""`store.branches`: memories that are kept with branches of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vestig.api.guards import CallsOfGroup, names_faults_of_methods
from vestig.api.views import Binding, binds_methods
from vestig.calls.branches import (
    BranchRequest,
    DropBranchRequest,
    ListBranchesRequest,
    MergeBranchesRequest,
)
from vestig.calls.declaration import checked, given
from vestig.session.forks import apart_from_forks_of_methods
from vestig.session.session import Session

if TYPE_CHECKING:
    from vestig.branches.values import BranchChanges, BranchList, BranchMemories


@names_faults_of_methods
@apart_from_forks_of_methods
@binds_methods
class Branches(CallsOfGroup):
    """Branches of the repository that is worked in, as `store.branches`: the memories that are kept
    with them."""

    def __init__(self, session: Session, binding: Binding | None = None) -> None:
        self._session = session
        self._binding = binding

    def list(self, *, namespace: str | None = None) -> BranchList:
        """Branches with which memories are kept, and whether git says that they were merged.

        Args:
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no repository of git is worked in, or this is a view of one scope.

        Example:
            >>> import os, subprocess, tempfile
            >>> import vestig
            >>> from vestig.testing import HashingEmbedder
            >>> before, folder = os.getcwd(), tempfile.mkdtemp()
            >>> _ = subprocess.run(["git", "init", "-q", folder], check=True)
            >>> os.chdir(folder)
            >>> with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
            ...     project = store.branches.list().project
            ...     _ = store.commit("The pool holds ten connections", scope=f"{project}@fix/pool")
            ...     [(one.name, one.memories) for one in store.branches.list()]
            [('fix/pool', 1)]
            >>> os.chdir(before)
        """
        asked = checked(ListBranchesRequest, given(locals()))
        from vestig.branches import stored

        return stored.listed(self._session, asked)

    def show(self, name: str, *, namespace: str | None = None) -> BranchMemories:
        """The memories of a branch, and why those that `merge` does not move unasked stay.

        Args:
            name: Name of the branch.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no repository of git is worked in, or this is a view of one scope.
            NotFoundError: no memory is kept with the branch.
        """
        asked = checked(BranchRequest, given(locals()))
        from vestig.branches import stored

        return stored.show(self._session, asked)

    def merge(self, name: str | None = None, *, namespace: str | None = None) -> BranchChanges:
        """Moves the memories of branches that were merged to the project, each by an event that
        says where it comes from. A key goes with its memory, but for one that a newer memory of the
        project has.

        Args:
            name: Name of the branch, whatever git says of it. Absent: all that were merged.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no repository of git is worked in, or this is a view of one scope.
            NotFoundError: no memory is kept with the branch.
        """
        asked = checked(MergeBranchesRequest, given(locals()))
        from vestig.branches import stored

        return stored.merge(self._session, asked)

    def drop(self, name: str, *, namespace: str | None = None) -> BranchChanges:
        """Ends all memories of a branch, each by an event that says why.

        Args:
            name: Name of the branch.
            namespace: The namespace to act in instead of the store's own.

        Raises:
            ValidationError: no repository of git is worked in, or this is a view of one scope.
            NotFoundError: no memory is kept with the branch.
        """
        asked = checked(DropBranchRequest, given(locals()))
        from vestig.branches import stored

        return stored.drop(self._session, asked)
