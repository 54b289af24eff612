"""`memory forget`: a plan, a confirmation, and the report of an erase that a search confirmed."""

from __future__ import annotations

from typing import Any, Final

from vestig.calls.argument import Flag
from vestig.calls.declaration import rows_of
from vestig.calls.memories import ForgetRequest
from vestig.surfaces.cli import render
from vestig.surfaces.operation import YES, Call, Operation, filter_arguments


def _forget(call: Call) -> Any:
    from vestig.errors import ConflictError, ValidationError

    given = filter_arguments(call.args, rows_of(ForgetRequest))
    if given.pop("finish", False):
        others = sorted(set(given) - {"yes"})
        if others:
            raise ValidationError("finish", others[0], "--finish alone")
        return call.store.admin.forget_finish()
    if given.pop("keep_summaries", False):
        given["summaries"] = "keep"
    agreed = given.pop("yes", False) or given.get("dry_run", False)
    if not agreed:
        plan = call.store.forget(**{**given, "dry_run": True})
        if not plan.memory_ids and not plan.rows_removed.get("items"):
            return plan
        if call.confirm is None or not call.confirm(render.forget_plan(plan, call.args)):
            raise ConflictError("nothing was forgotten: the plan was not confirmed")
    return call.store.forget(**given)


_FORGET: Final = Operation(
    name="memory forget",
    call=ForgetRequest,
    options=(
        YES,
        Flag(
            "Keep the summaries that cover what goes; the report lists them.",
            "--keep-summaries",
            name="keep_summaries",
        ),
        Flag(
            "Repeat the erase of an earlier call that could not be completed.",
            "--finish",
            name="finish",
        ),
    ),
    run=_forget,
    document="forgotten",
    text=render.forgotten,
    # 1: a filter that matched nothing; `--finish` with nothing left to erase is no failure
    exit_code=lambda report: (
        1 if report.rows_removed.get("memories") == report.rows_removed.get("items", 0) == 0 else 0
    ),
    writes=True,
    confirmed="always",
)

OPERATIONS: Final = (_FORGET,)
