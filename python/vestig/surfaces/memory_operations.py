"""The operations on memories: arguments of S-03, answered by the engine."""

from __future__ import annotations

from typing import Any, Final

from vestig.surfaces import render
from vestig.surfaces.operations import Call, Operation, Param
from vestig.types import (
    CommitOutcomeKind,
    Kind,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    Status,
    Trigger,
)

__all__ = ["MEMORY_OPERATIONS"]

_FORMATS: Final = ("text", "compact", "explain", "list", "json")
_ORDERS: Final = ("created_at", "last_seen_at", "access_count", "last_accessed_at", "t_valid")
_CLEARABLE: Final = (
    "metadata",
    "tags",
    "scope",
    "retention_policy",
    "retention_until",
    "t_invalid",
    "temporal_stability",
    "trigger",
)

_ID: Final = Param(name="id", help="Id of the memory, or at least 8 characters of it.")
_REASON: Final = Param(name="reason", flag="--reason", help="Why; kept in the event.")
_T_INVALID: Final = Param(
    name="t_invalid", flag="--t-invalid", help="When the fact ended; absent: it is withdrawn."
)
_STABILITY: Final = Param(
    name="temporal_stability",
    kind="choice",
    flag="--stability",
    choices=tuple(Stability),
    help="How long such a fact holds.",
)
_RETENTION: Final = Param(
    name="retention_policy",
    kind="choice",
    flag="--retention",
    choices=tuple(RetentionPolicy),
    help="How long it is worth keeping.",
)
_TRIGGER: Final = Param(
    name="trigger",
    kind="choice",
    flag="--trigger",
    choices=tuple(Trigger),
    help="Why it is worth remembering.",
)
_SCOPE: Final = Param(name="scope", flag="--scope", help="Label inside the namespace.")
_INCLUDE_EXPIRED: Final = Param(
    name="include_expired",
    kind="switch",
    flag="--include-expired",
    help="Superseded and deprecated memories too.",
)
_TIME_TRAVEL: Final = (
    Param(name="as_of", flag="--as-of", help="Both times below at once."),
    Param(name="known_at", flag="--known-at", help="Only what was recorded by this time."),
    Param(name="valid_at", flag="--valid-at", help="Only facts that hold at this time."),
)
_SCOPES: Final = (
    Param(name="scope", kind="texts", flag="--scope", help="Only this scope; repeatable."),
    Param(name="unscoped", kind="flag", flag="--unscoped", help="Memories without a scope."),
)
_FILTERS: Final = (
    *_SCOPES,
    Param(name="kinds", kind="words", flag="--kinds", choices=tuple(Kind), help="Kinds of memory."),
    Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
    Param(
        name="tags_mode",
        kind="choice",
        flag="--tags-mode",
        choices=("any", "all"),
        help="Whether any of the tags is enough.",
        default_text="any",
    ),
    Param(name="sources", kind="texts", flag="--source", help="Source word; repeatable."),
    Param(name="actors", kind="texts", flag="--actor", help="Who stored it; repeatable."),
    Param(name="authors", kind="texts", flag="--author", help="Who said it; repeatable."),
    Param(name="roles", kind="words", flag="--roles", choices=tuple(Role), help="Roles."),
    Param(name="session_ids", kind="texts", flag="--session-id", help="Session; repeatable."),
    Param(
        name="origin_types",
        kind="words",
        flag="--origin-types",
        choices=tuple(OriginType),
        help="Kinds of text.",
    ),
    Param(
        name="metadata",
        kind="pairs",
        flag="--metadata",
        help="NAME=VALUE that must be equal; repeatable.",
    ),
    Param(name="since", flag="--since", help="Facts that began at or after this time."),
    Param(name="until", flag="--until", help="Facts that began before this time."),
    Param(name="created_since", flag="--created-since", help="Stored at or after this time."),
    Param(name="created_until", flag="--created-until", help="Stored before this time."),
    _INCLUDE_EXPIRED,
    Param(
        name="include_archived", kind="flag", flag="--include-archived", help="Archived ones too."
    ),
    Param(name="ids", kind="words", flag="--ids", help="Only these ids."),
    Param(name="exclude_ids", kind="words", flag="--exclude-ids", help="Not these ids."),
    Param(
        name="min_similarity",
        kind="number",
        flag="--min-similarity",
        help="Least plain cosine, -1 to 1.",
    ),
)
_RECALL: Final = (
    Param(name="query", help="Question or words; - reads standard input.", stdin=True),
    Param(
        name="limit",
        kind="integer",
        flag="--limit",
        help="Most results.",
        default_text="recall.default_limit, 5",
    ),
    Param(name="explain", kind="flag", flag="--explain", help="Say why each memory came."),
    Param(
        name="timing", kind="flag", flag="--timing", help="Print the time of each stage on stderr."
    ),
    Param(name="format", kind="choice", flag="--format", choices=_FORMATS, help="Layout."),
    *_TIME_TRAVEL,
    *_FILTERS,
    Param(
        name="touch", kind="flag", flag="--touch", help="Count this as an access of each result."
    ),
)


def _scoped(args: dict[str, Any]) -> dict[str, Any]:
    """`--unscoped` is the scope null, alone or beside named scopes (D-11)."""
    given = dict(args)
    if given.pop("unscoped", False):
        named = given.get("scope")
        given["scope"] = None if named is None else [*named, None]
    return given


def _add(call: Call) -> Any:
    from vestig.errors import HygieneError

    outcome = call.store.commit(call.args.pop("content"), **call.args)
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    return outcome


def _recall(call: Call) -> Any:
    given = _scoped(call.args)
    for layout in ("explain", "timing", "format"):
        given.pop(layout, None)
    return call.store.recall(given.pop("query"), **given)


def _list(call: Call) -> Any:
    given = _scoped(call.args)
    given.pop("snippet_len", None)
    if given.pop("ascending", False):
        given["descending"] = False
    return call.store.list(**given)


def _update(call: Call) -> Any:
    from vestig.errors import ValidationError

    given = dict(call.args)
    memory_id = given.pop("id")
    for field in given.pop("clear", ()):
        if field in given:
            raise ValidationError("clear", field, f"a field that is not also set with {field}")
        given[field] = None
    if not given:
        raise ValidationError("update", "nothing", "at least one field to set or --clear")
    return call.store.update(memory_id, **given)


def _state(action: str) -> Operation:
    help_text = {
        "pin": "Protect a memory from decay and pruning.",
        "unpin": "Take the protection back.",
        "archive": "Hide a memory from ordinary reads.",
        "restore": "Show an archived memory again.",
    }[action]

    def run(call: Call) -> Any:
        return getattr(call.store, action)(call.args.pop("id"), **call.args)

    return Operation(
        name=f"memory {action}",
        help=help_text,
        params=(_ID, _REASON),
        run=run,
        document="state",
        text=render.state,
        writes=True,
    )


_ADD: Final = Operation(
    name="memory add",
    help="Keep one self-contained fact.",
    params=(
        Param(name="content", help="The text; - reads standard input.", stdin=True),
        Param(name="source", flag="--source", help="Where it comes from.", default="manual"),
        Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
        _SCOPE,
        Param(name="agent", flag="--agent", help="The program that stores it.", default="cli"),
        Param(name="author", flag="--author", help="Who said or wrote it."),
        Param(name="role", kind="choice", flag="--role", choices=tuple(Role), help="Speaker."),
        Param(name="session_id", flag="--session-id", help="Conversation it belongs to."),
        Param(name="sequence", kind="integer", flag="--sequence", help="Position there, from 0."),
        Param(name="title", flag="--title", help="Title of the document it comes from."),
        Param(
            name="origin_type",
            kind="choice",
            flag="--origin-type",
            choices=tuple(OriginType),
            help="Kind of text; derived when absent.",
        ),
        Param(name="actor", flag="--actor", help="Who stores it."),
        Param(name="artifact_ref", flag="--artifact-ref", help="Reference to its origin."),
        _TRIGGER,
        Param(name="t_valid", flag="--t-valid", help="When the fact began to hold."),
        Param(name="t_ref", flag="--t-ref", help="When it was said; words such as today refer."),
        _STABILITY,
        _RETENTION,
        Param(name="pinned", kind="flag", flag="--pin", help="Protect it from decay and pruning."),
        Param(
            name="supersedes",
            kind="words",
            flag="--supersedes",
            help="Ids that this fact replaces.",
        ),
        Param(
            name="enrich", kind="switch", flag="--enrich", help="Work its jobs now, or queue none."
        ),
        Param(
            name="dry_run",
            kind="flag",
            flag="--dry-run",
            help="Say what would happen; keep nothing.",
        ),
    ),
    run=_add,
    document="outcome",
    text=render.outcome,
    writes=True,
)

_SEARCH: Final = Operation(
    name="memory search",
    help="Memories that answer a question, as a list.",
    params=_RECALL,
    run=_recall,
    document="recall",
    text=render.search,
)

_RECALL_OPERATION: Final = Operation(
    name="memory recall",
    help="Memories that answer a question, as blocks for a prompt.",
    params=_RECALL,
    run=_recall,
    document="recall",
    text=render.recall,
)

_SHOW: Final = Operation(
    name="memory show",
    help="One memory with its evidence.",
    params=(_ID, _INCLUDE_EXPIRED, *_TIME_TRAVEL),
    run=lambda call: call.store.show(call.args.pop("id"), **call.args),
    document="memory",
    text=render.detail,
)

_LIST: Final = Operation(
    name="memory list",
    help="Memories page by page.",
    params=(
        Param(
            name="limit",
            kind="integer",
            flag="--limit",
            help="Memories per page, at most 1000.",
            default_text="20",
        ),
        Param(
            name="offset",
            kind="integer",
            flag="--offset",
            help="Memories to skip.",
            default_text="0",
        ),
        Param(
            name="snippet_len",
            kind="integer",
            flag="--snippet-len",
            help="Characters shown of each text.",
            default=80,
        ),
        _INCLUDE_EXPIRED,
        Param(name="status", kind="words", flag="--status", choices=tuple(Status), help="States."),
        Param(name="kind", kind="choice", flag="--kind", choices=tuple(Kind), help="Kind."),
        _RETENTION,
        Param(
            name="pinned", kind="switch", flag="--pinned", help="Only pinned ones, or only others."
        ),
        Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
        *_SCOPES,
        Param(
            name="order_by",
            kind="choice",
            flag="--order-by",
            choices=_ORDERS,
            help="Order.",
            default_text="created_at",
        ),
        Param(name="ascending", kind="flag", flag="--ascending", help="Smallest first."),
        *_TIME_TRAVEL,
    ),
    run=_list,
    document="memories",
    text=render.page,
)

_EVENTS: Final = Operation(
    name="memory events",
    help="What happened to a memory, oldest first.",
    params=(
        _ID,
        Param(name="limit", kind="integer", flag="--limit", help="Most events.", default=100),
    ),
    run=lambda call: call.store.events(call.args.pop("id"), **call.args),
    document="events",
    text=render.events,
)

_DEPRECATE: Final = Operation(
    name="memory deprecate",
    help="Withdraw a memory, or end its fact.",
    params=(_ID, _REASON, _T_INVALID),
    run=lambda call: call.store.deprecate(call.args.pop("id"), **call.args),
    document="state",
    text=render.state,
    writes=True,
)

_SUPERSEDE: Final = Operation(
    name="memory supersede",
    help="Mark a memory as the successor of another.",
    params=(
        Param(name="old", help="Id of the memory that is replaced."),
        Param(name="new", help="Id of the memory that replaces it."),
        _REASON,
        _T_INVALID,
    ),
    run=lambda call: call.store.supersede(call.args.pop("old"), call.args.pop("new"), **call.args),
    document="supersession",
    text=render.supersession,
    writes=True,
)

_UPDATE: Final = Operation(
    name="memory update",
    help="Change what is known about a memory; a new text becomes its successor.",
    params=(
        _ID,
        Param(
            name="content", flag="--content", help="New text; - reads standard input.", stdin=True
        ),
        Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
        _SCOPE,
        Param(
            name="metadata",
            kind="pairs",
            flag="--metadata",
            help="NAME=VALUE; replaces all others.",
        ),
        _RETENTION,
        Param(name="retention_until", flag="--retention-until", help="Keep at least until then."),
        Param(name="t_valid", flag="--t-valid", help="When the fact began to hold."),
        Param(name="t_invalid", flag="--t-invalid", help="When the fact ended."),
        _STABILITY,
        _TRIGGER,
        Param(
            name="clear",
            kind="words",
            flag="--clear",
            choices=_CLEARABLE,
            help="Fields to empty.",
        ),
    ),
    run=_update,
    document="update",
    text=render.updated,
    writes=True,
)

MEMORY_OPERATIONS: Final = (
    _ADD,
    _SEARCH,
    _RECALL_OPERATION,
    _SHOW,
    _LIST,
    _EVENTS,
    _DEPRECATE,
    _SUPERSEDE,
    *(_state(action) for action in ("pin", "unpin", "archive", "restore")),
    _UPDATE,
)
