"""`replay`: recorded requests of retrieve under two configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.argument import Switch, Text
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.evaluation.report import RetrievalReplay


def _replay_requests(call: Call) -> Any:
    import vestig

    given = dict(call.args)
    sides = {name: given.pop(name, call.config) for name in ("old", "new")}
    path = call.config.settings.store.path
    return vestig.replay_requests(
        given.pop("file"), store=path, progress=call.progress, **sides, **given
    )


def _compared(value: RetrievalReplay, _: Mapping[str, Any]) -> str:
    from vestig.evaluation.tables import replay_tables, text_of

    lines = [f"{value.requests:,} requests, seq {value.old.seq}"]
    for name, side in (("old", value.old), ("new", value.new)):
        lines.append(f"{name}: {side.config or 'the configuration in effect'}")
    lines += [f"Warning: {line}" for line in value.warnings]
    return "\n".join(lines) + "\n\n" + text_of(replay_tables(value))


_REPLAY_REQUESTS: Final = Operation(
    name="replay",
    options=(
        Text(
            "A request in JSON on each line, with relevant (ids or references) and"
            " expected_confidence where they are known.",
            name="file",
        ),
        Text(
            "Configuration file of the old side.",
            "--old",
            name="old",
            default_text="the one in effect",
        ),
        Text(
            "Configuration file of the new side.",
            "--new",
            name="new",
            default_text="the one in effect",
        ),
        Switch(
            "Let the configured language model plan and judge.",
            "--llm",
            name="llm",
            default_text="llm",
        ),
    ),
    run=_replay_requests,
    document="retrieval_replay",
    text=_compared,
    needs_store=False,
)

OPERATIONS: Final = (_REPLAY_REQUESTS,)
