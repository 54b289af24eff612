"""`replay-receipt`: the ranking that a receipt describes, derived again and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from vestig.parameters import Parameter
from vestig.surfaces.cli.why import replayed
from vestig.surfaces.operation import Call, Operation

__all__ = ["REPLAY"]

_LINE: Final = "Receipt: "


def _replay(call: Call) -> Any:
    source = call.args["file"]
    if source == "-" and call.input is not None:
        text = call.input().read()
    else:
        text = Path(source).read_text(encoding="utf-8")
    # as `memory recall --receipt` prints it among the results
    lines = [line for line in text.splitlines() if line.startswith(_LINE)]
    return call.store.replay_receipt(lines[-1].removeprefix(_LINE) if lines else text)


REPLAY: Final = Operation(
    name="replay-receipt",
    help="Derive the ranking of a receipt again and compare it.",
    params=(Parameter(name="file", help="A receipt, or what printed it; - reads standard input."),),
    run=_replay,
    document="replay",
    text=replayed,
)
