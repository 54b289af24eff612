"""`memory forget`: a plan, a confirmation, and the report of an erase that a search confirmed."""

from __future__ import annotations

from typing import Any, Final

from vestig.parameters import NAMESPACE, Parameter
from vestig.surfaces.cli import render
from vestig.surfaces.operation import Arguments, Call, Operation
from vestig.surfaces.operations.memory_parameters import FILTER_PARAMETERS, filter_arguments

__all__ = ["OPERATIONS"]


def _forget(call: Call) -> Any:
    from vestig.errors import ConflictError, ValidationError

    given = dict(call.args)
    ids = given.pop("ids", None)
    given = filter_arguments(given)
    if ids:
        given["ids"] = ids
    if given.pop("finish", False):
        others = sorted(set(given) - {"yes"})
        if others:
            raise ValidationError("finish", others[0], "--finish alone")
        return call.store.admin.forget_finish()
    agreed = given.pop("yes", False) or given.get("dry_run", False)
    if not agreed:
        plan = call.store.forget(**{**given, "dry_run": True})
        if not plan.memory_ids:
            return plan
        if call.confirm is None or not call.confirm(render.forget_plan(plan, call.args)):
            raise ConflictError("nothing was forgotten: the plan was not confirmed")
    return call.store.forget(**given)


_CHOICES: Final = (
    Parameter(name="force", kind="flag", flag="--force", help="Pinned memories too."),
    Parameter(
        name="dry_run",
        kind="flag",
        flag="--dry-run",
        help="Say what would be deleted; delete nothing.",
    ),
    Parameter(name="actor", flag="--actor", help="Who forgets; recorded beside the id."),
    Parameter(
        name="all",
        kind="flag",
        flag="--all",
        help="Take a filter that only narrows (times, kinds, statuses) as the selection.",
    ),
)

_FORGET: Final = Operation(
    name="memory forget",
    params=(
        Parameter(name="ids", help="Ids.", many=True, required=False),
        Parameter(name="yes", kind="flag", flag="--yes", help="Do not ask."),
        *_CHOICES[:2],
        Parameter(
            name="finish",
            kind="flag",
            flag="--finish",
            help="Repeat the erase of an earlier call that could not be completed.",
        ),
        *_CHOICES[2:],
        *(row for row in FILTER_PARAMETERS if row.name != "ids"),
    ),
    run=_forget,
    document="forgotten",
    text=render.forgotten,
    # 1: a filter that matched nothing; `--finish` with nothing left to erase is no failure
    exit_code=lambda report: 1 if report.rows_removed.get("memories") == 0 else 0,
    writes=True,
    arguments=Arguments(
        method="forget",
        parameters=(
            Parameter(
                name="ids", kind="words", help="Ids of memories; either these or where, not both."
            ),
            *_CHOICES,
            NAMESPACE,
        ),
        filtered=True,
        confirmed=True,
    ),
)

OPERATIONS: Final = (_FORGET,)
