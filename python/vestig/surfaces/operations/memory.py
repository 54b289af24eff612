"""The operations on memories, each answered by one call of the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from vestig.arguments import Provenance
from vestig.calls import commit, memories, queries
from vestig.calls.argument import Flag, Integer
from vestig.calls.declaration import rows_of
from vestig.errors import ConflictError, ValidationError
from vestig.surfaces.cli import render
from vestig.surfaces.operation import YES, Call, Operation, filter_arguments
from vestig.surfaces.operations.layout import LAYOUT, WALK
from vestig.types import CommitOutcomeKind


def _add(call: Call) -> Any:
    given = dict(call.args)
    return _committed(partial(call.store.commit, given.pop("content")), given)


def _add_structured(call: Call) -> Any:
    return _committed(call.store.commit_structured, dict(call.args))


def _committed(commit_it: Callable[..., Any], given: dict[str, Any]) -> Any:
    from vestig.errors import HygieneError

    inside = [name for name in Provenance.__annotations__ if name in given]
    given["provenance"] = {name: given.pop(name) for name in inside}
    outcome = commit_it(**given)
    if outcome.outcome is CommitOutcomeKind.REJECTED_HYGIENE:
        raise HygieneError(outcome)
    return outcome


def _recall(call: Call) -> Any:
    return _ranked(call, call.store.recall)


def _search(call: Call) -> Any:
    return _ranked(call, call.store.search)


def _ranked(call: Call, method: Callable[..., Any]) -> Any:
    given = filter_arguments(call.args)
    for layout in LAYOUT:
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


def _get(call: Call) -> Any:
    """The memory of a key, with what `show` gives of it."""
    found = call.store.get(call.args.pop("key"), **call.args)
    return call.store.show(found.id, namespace=found.namespace)


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


def _deprecate(call: Call) -> Any:
    given = filter_arguments(call.args, rows_of(memories.DeprecateRequest))
    sure = given.pop("yes", False) or given.get("dry_run", False)
    if "where" in given and not sure:
        plan = call.store.deprecate(**{**given, "dry_run": True})
        if not plan.memory_ids:
            return plan
        if call.confirm is None or not call.confirm(render.deprecation_plan(plan, call.args)):
            raise ConflictError("nothing was withdrawn: the plan was not confirmed")
    return call.store.deprecate(**given)


def _state(action: str) -> Operation:
    return Operation(
        name=f"memory {action}",
        call=memories.StateRequest,
        document="state",
        text=render.state,
        writes=True,
    )


OPERATIONS: Final = (
    Operation(
        name="memory add",
        call=commit.CommitRequest,
        method="commit",
        # flat on the command line, where `provenance` has no flag
        without=tuple(Provenance.__annotations__),
        run=_add,
        without_store="make",
        document="outcome",
        text=render.outcome,
        writes=True,
    ),
    Operation(
        name="memory add-structured",
        call=commit.CommitStructuredRequest,
        method="commit_structured",
        without=tuple(Provenance.__annotations__),
        run=_add_structured,
        without_store="make",
        document="outcome",
        text=render.outcome,
        writes=True,
    ),
    Operation(
        name="search",
        call=queries.RecallRequest,
        options=(*LAYOUT, *WALK),
        run=_search,
        document="recall",
        text=render.search,
        without_store="empty",
    ),
    Operation(
        name="memory recall",
        call=queries.RecallRequest,
        options=(*LAYOUT, *WALK),
        run=_recall,
        document="recall",
        text=render.recall,
        without_store="empty",
    ),
    Operation(
        name="memory show",
        call=memories.ShowRequest,
        document="memory",
        text=render.detail,
        # what is only read writes nothing
        without=("touch",),
    ),
    Operation(
        name="memory get",
        call=memories.GetRequest,
        run=_get,
        document="memory",
        text=render.detail,
    ),
    Operation(
        name="memory list",
        call=memories.ListRequest,
        options=(
            Integer(
                "Characters shown of each text.", "--snippet-len", name="snippet_len", default=80
            ),
            Flag("Smallest first.", "--ascending", name="ascending"),
        ),
        run=_list,
        document="memories",
        text=render.page,
        without_store="empty",
    ),
    Operation(
        name="count",
        call=memories.CountRequest,
        document="count",
        text=lambda number, _: str(number),
        without_store="empty",
    ),
    Operation(
        name="diff",
        call=memories.DiffRequest,
        document="diff",
        text=render.difference,
        without_store="empty",
    ),
    Operation(
        name="memory events",
        call=memories.EventsRequest,
        document="events",
        text=render.events,
    ),
    Operation(
        name="memory deprecate",
        call=memories.DeprecateRequest,
        options=(YES,),
        run=_deprecate,
        document="state",
        text=render.deprecated,
        # 1: a filter that matched nothing
        exit_code=lambda done: 1 if getattr(done, "memory_ids", None) == () else 0,
        writes=True,
        confirmed="where",
    ),
    Operation(
        name="memory supersede",
        call=memories.SupersedeRequest,
        run=_supersede,
        document="supersession",
        text=render.supersession,
        writes=True,
    ),
    *(_state(action) for action in ("pin", "unpin", "archive", "restore")),
    Operation(
        name="memory update",
        call=commit.UpdateRequest,
        run=_update,
        document="update",
        text=render.updated,
        writes=True,
    ),
)
