"""`hook` and `install`: an editor recalls and keeps by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.calls.argument import Text
from vestig.surfaces.operation import Call, Operation


def _hook(call: Call) -> Any:
    from vestig.surfaces.hooks.events import answer_event

    return answer_event(call.args.get("event"), call.options)


def _answer(value: Any, _: Mapping[str, Any]) -> str:
    import json

    return json.dumps(value)


_HOOK: Final = Operation(
    name="hook",
    options=(
        Text(
            "UserPromptSubmit, SessionStart, PreCompact or SessionEnd, or as Cursor calls it;"
            " default: as the input says.",
            name="event",
            required=False,
        ),
    ),
    run=_hook,
    document="hook",
    text=_answer,
    needs_config=False,
    needs_store=False,
    offered=False,
)

OPERATIONS: Final = (_HOOK,)
