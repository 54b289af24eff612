"""`eval`: recall measured on labelled questions. `replay`: recorded requests of retrieve under two
configurations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.argument import Switch, Text, Texts
from vestig.surfaces.operation import Call, Operation

if TYPE_CHECKING:
    from vestig.evaluation.replay import RetrievalReplay
    from vestig.evaluation.report import EvaluationReport


def _eval(call: Call) -> Any:
    import vestig
    from vestig.evaluation.evaluate import read_switch

    given = dict(call.args)
    switches = [read_switch(text) for text in given.pop("switches", ())]
    return vestig.evaluate(
        given["path"], switches=switches, config=call.config, progress=call.progress
    )


def _text(value: EvaluationReport, _: Mapping[str, Any]) -> str:
    from vestig.evaluation.report import text

    return text(value)


_EVAL: Final = Operation(
    name="eval",
    options=(
        Text(
            "A file of labelled questions to the store in use, or a folder with queries.jsonl and"
            " corpus.jsonl (.gz too).",
            name="path",
        ),
        Texts(
            "A row with KEY=VALUE set, several keys with spaces between them; repeatable.",
            "--switch",
            name="switches",
        ),
    ),
    run=_eval,
    document="evaluation",
    text=_text,
    needs_store=False,
)


def _replay_requests(call: Call) -> Any:
    import vestig

    given = dict(call.args)
    sides = {name: given.pop(name, call.config) for name in ("old", "new")}
    path = call.config.settings.store.path
    return vestig.replay_requests(
        given.pop("file"), store=path, progress=call.progress, **sides, **given
    )


def _compared(value: RetrievalReplay, _: Mapping[str, Any]) -> str:
    from vestig.evaluation.replay_tables import replay_tables
    from vestig.evaluation.tables import text_of

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


OPERATIONS: Final = (_EVAL, _REPLAY_REQUESTS)
