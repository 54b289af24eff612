"""The operations on memories: arguments of S-03, answered by the engine."""

from __future__ import annotations

from typing import Any, Final

from vestig.surfaces import render
from vestig.surfaces.forget_operation import FORGET
from vestig.surfaces.memory_params import (
    CLEARABLE,
    ID,
    INCLUDE_EXPIRED,
    ORDERS,
    REASON,
    RECALL,
    RETENTION,
    SCOPE,
    SCOPES,
    STABILITY,
    T_INVALID,
    TIME_TRAVEL,
    TRIGGER,
    scoped,
)
from vestig.surfaces.operations import Call, Operation, Param, words
from vestig.types import (
    CommitOutcomeKind,
    Kind,
    OriginType,
    Role,
    Status,
)

__all__ = ["MEMORY_OPERATIONS"]


def _add(call: Call) -> Any:
    from vestig.errors import HygieneError

    outcome = call.store.commit(call.args.pop("content"), **call.args)
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    return outcome


def _recall(call: Call) -> Any:
    given = scoped(call.args)
    for layout in ("explain", "timing", "format"):
        given.pop(layout, None)
    return call.store.recall(given.pop("query"), **given)


def _list(call: Call) -> Any:
    given = scoped(call.args)
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
        params=(ID, REASON),
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
        SCOPE,
        Param(name="agent", flag="--agent", help="The program that stores it.", default="cli"),
        Param(name="author", flag="--author", help="Who said or wrote it."),
        Param(name="role", kind="choice", flag="--role", choices=words(Role), help="Speaker."),
        Param(name="session_id", flag="--session-id", help="Conversation it belongs to."),
        Param(name="sequence", kind="integer", flag="--sequence", help="Position there, from 0."),
        Param(name="title", flag="--title", help="Title of the document it comes from."),
        Param(
            name="origin_type",
            kind="choice",
            flag="--origin-type",
            choices=words(OriginType),
            help="Kind of text; derived when absent.",
        ),
        Param(name="actor", flag="--actor", help="Who stores it."),
        Param(name="artifact_ref", flag="--artifact-ref", help="Reference to its origin."),
        TRIGGER,
        Param(name="t_valid", kind="time", flag="--t-valid", help="When the fact began to hold."),
        Param(
            name="t_ref",
            kind="time",
            flag="--t-ref",
            help="When it was said; words such as today refer.",
        ),
        STABILITY,
        RETENTION,
        Param(name="pinned", kind="flag", flag="--pin", help="Protect it from decay and pruning."),
        Param(
            name="supersedes",
            kind="words",
            flag="--supersedes",
            help="Ids that this fact replaces.",
        ),
        Param(
            name="hypothetical_queries",
            kind="texts",
            flag="--question",
            help="A question that it answers; repeatable. For some triggers.",
        ),
        Param(
            name="enrich",
            kind="switch",
            flag="--enrich",
            help="Work its jobs now, or leave them to the queue.",
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
    params=RECALL,
    run=_recall,
    document="recall",
    text=render.search,
)

_RECALL: Final = Operation(
    name="memory recall",
    help="Memories that answer a question, as blocks for a prompt.",
    params=RECALL,
    run=_recall,
    document="recall",
    text=render.recall,
)

_SHOW: Final = Operation(
    name="memory show",
    help="One memory with its evidence.",
    params=(
        ID,
        Param(
            name="expand",
            kind="integer",
            flag="--expand",
            help="1: with the entities that it mentions and the memories related to it.",
            default_text="0",
        ),
        INCLUDE_EXPIRED,
        *TIME_TRAVEL,
    ),
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
        INCLUDE_EXPIRED,
        Param(name="status", kind="words", flag="--status", choices=words(Status), help="States."),
        Param(name="kind", kind="choice", flag="--kind", choices=words(Kind), help="Kind."),
        RETENTION,
        Param(
            name="pinned", kind="switch", flag="--pinned", help="Only pinned ones, or only others."
        ),
        Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
        *SCOPES,
        Param(
            name="order_by",
            kind="choice",
            flag="--order-by",
            choices=ORDERS,
            help="Order.",
            default_text="created_at",
        ),
        Param(name="ascending", kind="flag", flag="--ascending", help="Smallest first."),
        *TIME_TRAVEL,
    ),
    run=_list,
    document="memories",
    text=render.page,
)

_EVENTS: Final = Operation(
    name="memory events",
    help="What happened to a memory, oldest first.",
    params=(
        ID,
        Param(name="limit", kind="integer", flag="--limit", help="Most events.", default=100),
    ),
    run=lambda call: call.store.events(call.args.pop("id"), **call.args),
    document="events",
    text=render.events,
)

_DEPRECATE: Final = Operation(
    name="memory deprecate",
    help="Withdraw a memory, or end its fact.",
    params=(ID, REASON, T_INVALID),
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
        REASON,
        T_INVALID,
    ),
    run=lambda call: call.store.supersede(call.args.pop("old"), call.args.pop("new"), **call.args),
    document="supersession",
    text=render.supersession,
    writes=True,
)

_UPDATE: Final = Operation(
    name="memory update",
    help="Change what is known about a memory. A new text becomes its successor.",
    params=(
        ID,
        Param(
            name="content", flag="--content", help="New text; - reads standard input.", stdin=True
        ),
        Param(name="tags", kind="words", flag="--tags", help="Tags, a,b,c."),
        SCOPE,
        Param(
            name="metadata",
            kind="pairs",
            flag="--metadata",
            help="NAME=VALUE; replaces all others.",
        ),
        RETENTION,
        Param(
            name="retention_until",
            kind="time",
            flag="--retention-until",
            help="Keep at least until then.",
        ),
        Param(name="t_valid", kind="time", flag="--t-valid", help="When the fact began to hold."),
        Param(name="t_invalid", kind="time", flag="--t-invalid", help="When the fact ended."),
        STABILITY,
        TRIGGER,
        Param(
            name="clear",
            kind="words",
            flag="--clear",
            choices=CLEARABLE,
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
    _RECALL,
    _SHOW,
    _LIST,
    _EVENTS,
    _DEPRECATE,
    _SUPERSEDE,
    *(_state(action) for action in ("pin", "unpin", "archive", "restore")),
    _UPDATE,
    FORGET,
)
