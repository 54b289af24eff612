"""The operations on memories, each answered by one call of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.parameters import LIST, NAMESPACE, UPDATE, Parameter
from vestig.surfaces.cli import render
from vestig.surfaces.operation import Arguments, Call, Operation
from vestig.surfaces.operations.memory_parameters import (
    COMMIT_ARGUMENTS,
    COMMIT_PARAMETERS,
    COUNT_ARGUMENTS,
    FILTER_PARAMETERS,
    ID,
    INCLUDE_EXPIRED,
    LAYOUT_PARAMETERS,
    LIST_ARGUMENTS,
    REASON,
    RECALL_ARGUMENTS,
    RECALL_PARAMETERS,
    SEARCH_ARGUMENTS,
    T_INVALID,
    TIME_PARAMETERS,
    commit_arguments,
    filter_arguments,
)
from vestig.types import CommitOutcomeKind

__all__ = ["OPERATIONS"]


def _add(call: Call) -> Any:
    from vestig.errors import HygieneError

    given = commit_arguments(call.args)
    outcome = call.store.commit(given.pop("content"), **given)
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    return outcome


def _recall(call: Call) -> Any:
    return _ranked(call, call.store.recall)


def _search(call: Call) -> Any:
    return _ranked(call, call.store.search)


def _ranked(call: Call, method: Callable[..., Any]) -> Any:
    given = filter_arguments(call.args)
    for layout in LAYOUT_PARAMETERS:
        given.pop(layout.name, None)
    walk = {f"walk.{name}": given.pop(name) for name in ("mode", "order") if name in given}
    if walk:
        given["config"] = walk
    return method(given.pop("query"), **given)


def _list(call: Call) -> Any:
    given = filter_arguments(call.args)
    given.pop("snippet_len", None)
    if given.pop("ascending", False):
        given["descending"] = False
    return call.store.list(**given)


def _count(call: Call) -> Any:
    return call.store.count(**filter_arguments(call.args))


def _update(call: Call) -> Any:
    from vestig.errors import ValidationError

    given = dict(call.args)
    memory_id = given.pop("id")
    if not given:
        raise ValidationError("update", "nothing", "at least one field to set or --clear")
    return call.store.update(memory_id, **given)


def _supersede(call: Call) -> Any:
    old, new = call.args.pop("old"), call.args.pop("new")
    if len(new.split()) > 1:
        stored = f'`vestig add "…" --supersedes {old}` stores a new text in its place'
        raise ValidationError("new", "a text", "the id of a memory that is stored", stored)
    return call.store.supersede(old, new, **call.args)


def _state(action: str) -> Operation:
    def run(call: Call) -> Any:
        return getattr(call.store, action)(call.args.pop("id"), **call.args)

    return Operation(
        name=f"memory {action}",
        params=(ID, REASON),
        run=run,
        document="state",
        text=render.state,
        writes=True,
        arguments=Arguments(method=action, parameters=(ID, REASON, NAMESPACE), required=("id",)),
    )


_ADD: Final = Operation(
    name="memory add",
    params=COMMIT_PARAMETERS,
    run=_add,
    without_store="make",
    document="outcome",
    text=render.outcome,
    writes=True,
    arguments=COMMIT_ARGUMENTS,
)

_SEARCH: Final = Operation(
    name="search",
    params=RECALL_PARAMETERS,
    run=_search,
    document="recall",
    text=render.search,
    without_store="empty",
    arguments=SEARCH_ARGUMENTS,
)

_RECALL: Final = Operation(
    name="memory recall",
    params=RECALL_PARAMETERS,
    run=_recall,
    document="recall",
    text=render.recall,
    without_store="empty",
    arguments=RECALL_ARGUMENTS,
)

_SHOW_PARAMETERS: Final = (
    ID,
    Parameter(
        name="expand",
        kind="integer",
        flag="--expand",
        help="1: with the entities that it mentions and the memories related to it.",
        default_text="0",
        least=0,
        most=1,
    ),
    INCLUDE_EXPIRED,
    *TIME_PARAMETERS,
)

_SHOW: Final = Operation(
    name="memory show",
    params=_SHOW_PARAMETERS,
    run=lambda call: call.store.show(call.args.pop("id"), **call.args),
    document="memory",
    text=render.detail,
    arguments=Arguments(method="show", parameters=(*_SHOW_PARAMETERS, NAMESPACE), required=("id",)),
)

_LIST: Final = Operation(
    name="memory list",
    params=(
        LIST["limit"],
        LIST["offset"],
        Parameter(
            name="snippet_len",
            kind="integer",
            flag="--snippet-len",
            help="Characters shown of each text.",
            default=80,
        ),
        LIST["order_by"],
        Parameter(name="ascending", kind="flag", flag="--ascending", help="Smallest first."),
        *TIME_PARAMETERS,
        *FILTER_PARAMETERS,
    ),
    run=_list,
    document="memories",
    text=render.page,
    without_store="empty",
    arguments=LIST_ARGUMENTS,
)

_COUNT: Final = Operation(
    name="count",
    params=(*TIME_PARAMETERS, *FILTER_PARAMETERS),
    run=_count,
    document="count",
    text=lambda number, _: str(number),
    without_store="empty",
    arguments=COUNT_ARGUMENTS,
)

_EVENTS_PARAMETERS: Final = (
    ID,
    Parameter(
        name="limit", kind="integer", least=1, flag="--limit", help="Most events.", default=100
    ),
)

_EVENTS: Final = Operation(
    name="memory events",
    params=_EVENTS_PARAMETERS,
    run=lambda call: call.store.events(call.args.pop("id"), **call.args),
    document="events",
    text=render.events,
    arguments=Arguments(
        method="events", parameters=(*_EVENTS_PARAMETERS, NAMESPACE), required=("id",)
    ),
)

_DEPRECATE: Final = Operation(
    name="memory deprecate",
    params=(ID, REASON, T_INVALID),
    run=lambda call: call.store.deprecate(call.args.pop("id"), **call.args),
    document="state",
    text=render.state,
    writes=True,
    arguments=Arguments(
        method="deprecate", parameters=(ID, REASON, T_INVALID, NAMESPACE), required=("id",)
    ),
)

_SUPERSEDE_PARAMETERS: Final = (
    Parameter(name="old", help="Id of the memory that is replaced."),
    Parameter(name="new", help="Id of the memory that replaces it."),
    REASON,
    T_INVALID,
)

_SUPERSEDE: Final = Operation(
    name="memory supersede",
    params=_SUPERSEDE_PARAMETERS,
    run=_supersede,
    document="supersession",
    text=render.supersession,
    writes=True,
    arguments=Arguments(
        method="supersede",
        parameters=(*_SUPERSEDE_PARAMETERS, NAMESPACE),
        required=("old", "new"),
    ),
)

_UPDATE: Final = Operation(
    name="memory update",
    params=tuple(row for row in UPDATE.values() if row.name != "namespace"),
    run=_update,
    document="update",
    text=render.updated,
    writes=True,
    arguments=Arguments(method="update", parameters=tuple(UPDATE.values()), required=("id",)),
)

OPERATIONS: Final = (
    _ADD,
    _SEARCH,
    _RECALL,
    _SHOW,
    _LIST,
    _COUNT,
    _EVENTS,
    _DEPRECATE,
    _SUPERSEDE,
    *(_state(action) for action in ("pin", "unpin", "archive", "restore")),
    _UPDATE,
)
