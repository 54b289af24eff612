"""`replay`: recorded requests of retrieve under two configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.parameters import Parameter
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.evaluation.report import RetrievalReplay

__all__ = ["OPERATIONS"]


def _replay_requests(call: Call) -> Any:
    import vestig

    given = dict(call.args)
    sides = {name: given.pop(name, call.config) for name in ("old", "new")}
    path = call.config.settings.store.path
    return vestig.replay_requests(
        given.pop("file"), store=path, progress=call.progress, **sides, **given
    )


def _compared(value: RetrievalReplay, _: Mapping[str, Any]) -> str:
    from vestig.evaluation.retrieval_tables import replay_tables
    from vestig.evaluation.tables import text_of

    lines = [f"{value.requests:,} requests, seq {value.old.seq}"]
    for name, side in (("old", value.old), ("new", value.new)):
        lines.append(f"{name}: {side.config or 'the configuration in effect'}")
    lines += [f"Warning: {line}" for line in value.warnings]
    return "\n".join(lines) + "\n\n" + text_of(replay_tables(value))


_REPLAY_REQUESTS: Final = Operation(
    name="replay",
    params=(
        Parameter(
            name="file",
            help="A request in JSON on each line, with relevant (ids or references) and"
            " expected_confidence where they are known.",
        ),
        Parameter(
            name="old",
            flag="--old",
            help="Configuration file of the old side.",
            default_text="the one in effect",
        ),
        Parameter(
            name="new",
            flag="--new",
            help="Configuration file of the new side.",
            default_text="the one in effect",
        ),
        Parameter(
            name="llm",
            kind="switch",
            flag="--llm",
            help="Let the configured language model plan and judge.",
            default_text="llm",
        ),
    ),
    run=_replay_requests,
    document="retrieval_replay",
    text=_compared,
    needs_store=False,
)

OPERATIONS: Final = (_REPLAY_REQUESTS,)
