"""Reads of memories as they are stored: a page of many, how many, one, and its events."""

from typing import Annotated, ClassVar

from vestig.calls.argument import Choice, Flag, Integer, KeyOrId, Label, Switch, Time
from vestig.calls.declaration import Request
from vestig.calls.filter import NO_FILTER, Filter, Where
from vestig.calls.shared import WHERE, AsOf, InNamespace, KnownAt, MemoryId, Touch, ValidAt

ORDERS = (
    "created_at",
    "last_seen_at",
    "access_count",
    "last_accessed_at",
    "t_valid",
    "session",
)


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
        int | None, Time("Only what was recorded until this time; absent: until now.", "--to")
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
        Label("The scope in which the key stands; none when absent.", "--scope"),
    ] = None
    namespace: InNamespace = None


class EventsRequest(Request, frozen=True, kw_only=True):
    """The log of one memory."""

    call: ClassVar = "events"

    id: MemoryId
    limit: Annotated[int | None, Integer("Most events.", "--limit", default=100)] = None
    namespace: InNamespace = None
