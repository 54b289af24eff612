"""Changing the state of memories, and forgetting them."""

from collections.abc import Collection
from typing import Annotated, Any, ClassVar

from vestig.arguments import SCOPE_CHARS_MAX
from vestig.calls.argument import Choice, Flag, Id, Ids, Label, Time
from vestig.calls.declaration import Request, given_all, not_both
from vestig.calls.filter import NARROWING, NO_FILTER, SELECTORS, Filter, Where
from vestig.calls.shared import InNamespace, MemoryId, Reason


class StateRequest(Request, frozen=True, kw_only=True):
    """A memory that is pinned, unpinned, archived or restored."""

    call: ClassVar = "pin, unpin, archive and restore"

    id: MemoryId
    reason: Reason = None
    namespace: InNamespace = None


class SupersedeRequest(Request, frozen=True, kw_only=True):
    """A memory that another one replaces."""

    call: ClassVar = "supersede"

    old: Annotated[str, Id("Id of the memory that is replaced.")]
    new: Annotated[str, Id("Id of the memory that replaces it.")]
    reason: Reason = ""
    t_invalid: Annotated[
        int | None,
        Time("When the old fact ended; default the beginning of the new one.", "--t-invalid"),
    ] = None
    namespace: InNamespace = None


def _selected(fields: Collection[str]) -> dict[str, Any]:
    """The schema of an object whose filter has one of these fields; `unscoped: false` restricts
    nothing."""
    one = [
        {"required": [name], "properties": {name: {"const": True} if name == "unscoped" else {}}}
        for name in sorted(fields)
    ]
    where = {"type": "object", "anyOf": one}
    return {"required": ["where"], "properties": {"where": where}}


_EVERY = {"required": ["all"], "properties": {"all": {"const": True}}}


# Of calls whose filter says what goes.
_All = Annotated[
    bool,
    Flag("Take a filter that only narrows (times, kinds, statuses …) as the selection.", "--all"),
]
_Only = Annotated[
    bool,
    Flag(
        "Of `sources`, only what no other source stated; what another one stated too stays.",
        "--only",
    ),
]


def _selecting(named: str) -> tuple[dict[str, Any], ...]:
    """Rules of a call that takes memories by `named`, or by a filter that selects some."""
    sources = {"type": "object", "required": ["sources"]}
    return (
        not_both(named, "where"),
        {
            "anyOf": [
                given_all(named),
                _selected(SELECTORS),
                {**_selected(SELECTORS | NARROWING), "allOf": [_EVERY]},
            ]
        },
        {
            "anyOf": [
                {"properties": {"only": {"enum": [False, None]}}},
                {"required": ["where"], "properties": {"where": sources}},
            ]
        },
    )


class DeprecateRequest(Request, frozen=True, kw_only=True):
    """Memories that are withdrawn, or whose facts ended."""

    call: ClassVar = "deprecate"
    rules: ClassVar = (
        *_selecting("id"),
        {
            "anyOf": [
                {"properties": {"dry_run": {"enum": [False, None]}}},
                given_all("where"),
            ]
        },
    )

    id: Annotated[
        str | None,
        Id(
            "Id of the memory, or at least 8 characters of it; either this or `where`.",
            required=False,
        ),
    ] = None
    reason: Reason = "Manual deprecation"
    t_invalid: Annotated[
        int | None,
        Time("When the fact ended; absent: the memory is withdrawn as wrong.", "--t-invalid"),
    ] = None
    where: Annotated[
        Filter,
        Where(
            "Which memories are withdrawn, archived ones too unless it names statuses. What is"
            " superseded or deprecated stays so. A field without a value selects nothing.",
            selects=True,
        ),
    ] = NO_FILTER
    all: _All = False
    only: _Only = False
    dry_run: Annotated[
        bool, Flag("Say what would be withdrawn and change nothing.", "--dry-run")
    ] = False
    namespace: InNamespace = None


class ForgetRequest(Request, frozen=True, kw_only=True):
    """Memories that go for good."""

    call: ClassVar = "forget"
    rules: ClassVar = _selecting("ids")

    ids: Annotated[
        tuple[str, ...] | None,
        Ids(
            "One id, or a list of ids; either these or `where`.",
            many=True,
            required=False,
            unordered=True,
            filled=True,
        ),
    ] = None
    where: Annotated[
        Filter,
        Where(
            "Which memories go, superseded, deprecated and archived ones too unless it names"
            " statuses. A field without a value selects nothing.",
            selects=True,
        ),
    ] = NO_FILTER
    all: _All = False
    only: _Only = False
    force: Annotated[bool, Flag("Pinned memories too.", "--force")] = False
    summaries: Annotated[
        str,
        Choice(
            "What becomes of the summaries that cover what goes: delete, or keep, which the report"
            " lists.",
            words=("delete", "keep"),
        ),
    ] = "delete"
    dry_run: Annotated[bool, Flag("Say what would go and keep it.", "--dry-run")] = False
    actor: Annotated[
        str | None,
        Label(
            "Who forgets; kept in the tombstone.",
            "--actor",
            chars_max=SCOPE_CHARS_MAX,
            blank=False,
        ),
    ] = None
    namespace: InNamespace = None
