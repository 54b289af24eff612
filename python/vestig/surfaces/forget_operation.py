"""`memory forget`: a plan, a confirmation, and the report of an erase that was proved."""

from __future__ import annotations

from typing import Any, Final

from vestig.surfaces import render
from vestig.surfaces.memory_params import FILTERS, scoped
from vestig.surfaces.operations import Call, Operation, Param

__all__ = ["FORGET"]

# Ids stand on the line itself, and there is no query to be similar to.
_NOT_HERE: Final = ("ids", "min_similarity")


def _forget(call: Call) -> Any:
    from vestig.errors import ConflictError, ValidationError

    given = scoped(call.args)
    if given.pop("finish", False):
        others = sorted(set(given) - {"yes"})
        if others:
            raise ValidationError("finish", others[0], "--finish alone")
        return call.store.forget_finish()
    agreed = given.pop("yes", False) or given.get("dry_run", False)
    if not agreed:
        plan = call.store.forget(**{**given, "dry_run": True})
        if not plan.memory_ids:
            return plan
        if call.confirm is None or not call.confirm(render.forget_plan(plan)):
            raise ConflictError("nothing was forgotten: the plan was not confirmed")
    return call.store.forget(**given)


FORGET: Final = Operation(
    name="memory forget",
    help="Delete memories for good: no byte of them stays in any file of the store. Prints what"
    " would go and asks; named by id or found by filters. Backups and exports are other files.",
    params=(
        Param(name="ids", help="Ids.", many=True, required=False),
        Param(name="yes", kind="flag", flag="--yes", help="Do not ask."),
        Param(name="force", kind="flag", flag="--force", help="Pinned memories too."),
        Param(
            name="dry_run",
            kind="flag",
            flag="--dry-run",
            help="Say what would go; keep everything.",
        ),
        Param(
            name="finish",
            kind="flag",
            flag="--finish",
            help="Repeat the erase of an earlier call that could not be completed.",
        ),
        Param(name="actor", flag="--actor", help="Who forgets; kept with the id."),
        *(param for param in FILTERS if param.name not in _NOT_HERE),
        Param(
            name="source_ids",
            kind="texts",
            flag="--source-ids",
            help="What this source produced; repeatable.",
        ),
        Param(
            name="message_ids",
            kind="texts",
            flag="--message-ids",
            help="What carries this artifact reference; repeatable.",
        ),
    ),
    run=_forget,
    document="forgotten",
    text=render.forgotten,
    # A filter that matched nothing; --finish with nothing to do is done.
    exit_code=lambda report: 1 if report.rows_removed.get("memories") == 0 else 0,
    writes=True,
)
