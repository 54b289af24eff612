"""The calls that read stored memories and change their state."""

from collections.abc import Collection
from typing import Annotated, Any, ClassVar

from vestig.arguments import SCOPE_CHARS_MAX
from vestig.calls.argument import (
    KEY_CHARS_MAX,
    Choice,
    Flag,
    Id,
    Ids,
    Integer,
    KeyOrId,
    Label,
    Switch,
    Time,
)
from vestig.calls.declaration import (
    WHERE,
    Actor,
    AsOf,
    InNamespace,
    KnownAt,
    MemoryId,
    Reason,
    Request,
    Touch,
    ValidAt,
    given_all,
)
from vestig.calls.filter import (
    NARROWING,
    NO_FILTER,
    SELECTORS,
    Filter,
    KeyPrefix,
    ScopeNames,
    Where,
)
from vestig.calls.scope import ScopeName
from vestig.errors import Description, ValidationError
from vestig.ids import id_of_object
from vestig.other_words import by_caller
from vestig.times import LAST_OF_DAY_US


class StateRequest(Request, frozen=True, kw_only=True):
    """A memory that is pinned, unpinned, archived or unarchived."""

    call: ClassVar = "pin, unpin, archive and unarchive"

    id: MemoryId
    reason: Reason = None
    namespace: InNamespace = None


class ConfirmRequest(Request, frozen=True, kw_only=True):
    """A statement of an assistant or a tool that somebody stands for."""

    call: ClassVar = "confirm"

    id: MemoryId
    by: Annotated[
        str,
        Label(
            "Who stands for it; the actor of the event.",
            "--by",
            chars_max=SCOPE_CHARS_MAX,
            blank=False,
        ),
    ]
    namespace: InNamespace = None


class Successor(Id, frozen=True):
    """The id of a memory in the place of another one."""

    def check(self, field: str, value: Any) -> Any:
        if isinstance(value, str) and len(value.split()) > 1:
            ways = by_caller(
                "update(id, text) and commit(text, supersedes=[id])",
                "`vestig update ID --content TEXT` and `vestig add TEXT --supersedes ID`",
            )
            hint = f"{ways} store a new text in its place"
            raise ValidationError(
                field, Description("a text"), "the id of a memory that is stored", hint
            )
        return super().check(field, value)


class Replaced(Id, frozen=True):
    """The id of a memory that another one replaces."""

    def check(self, field: str, value: Any) -> Any:
        try:
            return super().check(field, value)
        except ValidationError as error:
            of_key = by_caller("store.get(key).id", "the id that `vestig get KEY --json` shows")
            new = by_caller("update(id, text)", "`vestig update ID --content TEXT`")
            if own := id_of_object(value).removeprefix("use "):
                hint = f"use {new} for a new text in its place, or {own} for one that is stored"
            else:
                hint = (
                    f"the memory of a key is named by its id; use {of_key}, or {new} for a new text"
                    " in its place"
                )
            raise ValidationError(field, error.value, error.allowed, hint) from None


class SupersedeRequest(Request, frozen=True, kw_only=True):
    """A memory that another one replaces."""

    call: ClassVar = "supersede"

    old: Annotated[str, Replaced("Id of the memory that is replaced.")]
    new: Annotated[str, Successor("Id of the memory that replaces it.")]
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
    filled = {
        "required": ["where"],
        "properties": {"where": {"type": "object", "minProperties": 1}},
    }
    return (
        {"not": {**given_all(named), "allOf": [filled]}},
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
            " superseded and over, or deprecated, stays so, and a rule unless the filter has its"
            " id. A field without a value selects nothing.",
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
            " statuses, and a rule if the filter has its id. A field without a value selects"
            " nothing.",
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
    actor: Actor = None
    namespace: InNamespace = None


# The time of storing goes by the name of its field and by its alias.
ORDERS = (
    "created_at", "t_created", "last_seen_at", "access_count", "last_accessed_at", "t_valid",
    "session",
)  # fmt: skip


class ListRequest(Request, frozen=True, kw_only=True):
    """One page of memories."""

    call: ClassVar = "list"

    where: Annotated[Filter, Where(WHERE, beside=True)] = NO_FILTER
    offset: Annotated[int, Integer("Memories to skip.", "--offset", least=0, default_text="0")] = 0
    limit: Annotated[
        int,
        Integer("Memories per page, at most 1000.", "--limit", most=1000, default_text="20"),
    ] = 20
    order_by: Annotated[
        str | None,
        Choice(
            "The field to sort by; session: as conversations went, by session, position and time.",
            "--order-by",
            words=ORDERS,
            otherwise="descending says in which direction",
            default_text="session where sessions are named, else created_at",
        ),
    ] = None
    descending: Annotated[
        bool | None, Flag("Largest first; default true, but for session order.")
    ] = None
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    namespace: InNamespace = None


class DiffRequest(Request, frozen=True, kw_only=True):
    """Two times between which the store is compared."""

    call: ClassVar = "diff"

    start: Annotated[int, Time("Only what was recorded after this time.", "--from")]
    end: Annotated[
        int | None,
        Time(
            "Only what was recorded until this time; absent: until now.",
            "--to",
            day_us=LAST_OF_DAY_US,
        ),
    ] = None
    where: Annotated[
        Filter,
        Where(
            "Of which memories. What is archived takes part with `include_archived`. What was"
            " forgotten, and merged entities, are those of the namespace."
        ),
    ] = NO_FILTER
    namespace: InNamespace = None


class CountRequest(Request, frozen=True, kw_only=True):
    """How many memories a listing has."""

    call: ClassVar = "count"

    where: Annotated[Filter, Where(WHERE, beside=True)] = NO_FILTER
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    namespace: InNamespace = None


class ShowRequest(Request, frozen=True, kw_only=True):
    """One memory with its evidence."""

    call: ClassVar = "show"

    id: MemoryId
    expand: Annotated[
        int,
        Integer(
            "1: with the entities that it mentions and the memories related to it.",
            "--expand",
            least=0,
            most=1,
            default_text="0",
        ),
    ] = 0
    include_expired: Annotated[
        bool, Switch("Show it even when it is superseded or deprecated.", "--include-expired")
    ] = True
    as_of: AsOf = None
    known_at: KnownAt = None
    valid_at: ValidAt = None
    namespace: InNamespace = None
    touch: Touch = False


class GetRequest(Request, frozen=True, kw_only=True):
    """The current memory of a key."""

    call: ClassVar = "get"

    key: Annotated[str, KeyOrId("The key, or the id of a memory (mem_…).")]
    scope: Annotated[
        str | None,
        ScopeName("The scope in which the key stands; none when absent.", "--scope"),
    ] = None
    valid_at: Annotated[
        int | None,
        Time(
            "The value that the key had at this time; default now.",
            "--valid-at",
            day_us=LAST_OF_DAY_US,
        ),
    ] = None
    namespace: InNamespace = None


class KeysRequest(Request, frozen=True, kw_only=True):
    """The keys that have a value."""

    call: ClassVar = "keys"

    prefix: Annotated[
        str | None,
        KeyPrefix(
            "Only keys that begin so; absent: all.",
            "--prefix",
            chars_max=KEY_CHARS_MAX,
            blank=False,
        ),
    ] = None
    scope: Annotated[
        tuple[str, ...] | None,
        ScopeNames("Only keys of these scopes; of all when absent.", "--scope"),
    ] = None
    namespace: InNamespace = None


class HistoryRequest(Request, frozen=True, kw_only=True):
    """The values of a key, or the versions of a memory."""

    call: ClassVar = "history"

    key: Annotated[str, KeyOrId("The key, or the id of one of its memories (mem_…).")]
    scope: Annotated[
        str | None,
        ScopeName("The scope in which the key stands; none when absent.", "--scope"),
    ] = None
    namespace: InNamespace = None


class EventsRequest(Request, frozen=True, kw_only=True):
    """The log of one memory."""

    call: ClassVar = "events"

    id: MemoryId
    limit: Annotated[int | None, Integer("Most events.", "--limit", default=100)] = None
    namespace: InNamespace = None
