"""Branches of the repository that is worked in, and the memories that are kept with them."""

from typing import Annotated, ClassVar, Final

from vestig.calls.argument import Label
from vestig.calls.declaration import InNamespace, Request

# Git keeps a branch as a file, whose name has at most 255 bytes a part.
_CHARS_MAX: Final = 1_000
_Name = Annotated[str, Label("Name of the branch.", chars_max=_CHARS_MAX, blank=False)]


class ListBranchesRequest(Request, frozen=True, kw_only=True):
    """Branches with which memories are kept."""

    call: ClassVar = "list"

    namespace: InNamespace = None


class BranchRequest(Request, frozen=True, kw_only=True):
    """One branch."""

    call: ClassVar = "show"

    name: _Name
    namespace: InNamespace = None


class MergeBranchesRequest(Request, frozen=True, kw_only=True):
    """Branches whose memories become the project's."""

    call: ClassVar = "merge"

    name: Annotated[
        str | None,
        Label(
            "Name of the branch, whatever git says of it. Absent: all that were merged.",
            chars_max=_CHARS_MAX,
            blank=False,
            required=False,
        ),
    ] = None
    namespace: InNamespace = None


class DropBranchRequest(Request, frozen=True, kw_only=True):
    """A branch whose memories end."""

    call: ClassVar = "drop"

    name: _Name
    namespace: InNamespace = None
