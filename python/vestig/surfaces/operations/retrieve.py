"""`retrieve`: facts and turns for the end of a conversation, and their lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vestig.calls.argument import Text
from vestig.calls.queries import RetrieveRequest
from vestig.language.text_forms import one_line
from vestig.surfaces.operation import Call, Operation, filter_arguments

if TYPE_CHECKING:
    from vestig.retrieve.result import RetrieveResult

_LINE_CHARS: Final = 1_000


def _request(text: bytes) -> dict[str, Any]:
    """The arguments of a file: a request as one JSON object, or its messages as a list."""
    from vestig.surfaces.json_schema import decoded, read_arguments

    found = decoded(text)
    arguments = _RETRIEVE.arguments
    assert arguments is not None
    return read_arguments(arguments, {"messages": found} if isinstance(found, list) else found)


def _retrieve(call: Call) -> Any:
    from pathlib import Path

    given = filter_arguments(call.args)
    source = given.pop("file")
    if source == "-" and call.input is not None:
        found = _request(call.input().read().encode())
    else:
        found = _request(Path(source).read_bytes())
    where = given.pop("where", None)
    if where is not None:
        inside = found.get("where") or {}
        _check_once(where, inside, "where.")
        found["where"] = {**inside, **where}
    _check_once(given, found)
    return call.store.retrieve(found.pop("messages"), **found, **given)


def _check_once(options: Mapping[str, Any], file: Mapping[str, Any], prefix: str = "") -> None:
    """Check that the file does not say too what an option says."""
    from vestig.errors import ValidationError

    for name in options:
        if file.get(name) is not None:
            allowed = "either the option or the field of the file, not both"
            raise ValidationError(f"{prefix}{name}", "given twice", allowed)


def _text(result: RetrieveResult, _: Mapping[str, Any]) -> str:
    """How sure, then facts and turns by line."""
    score = result.metadata.confidence_score
    lines = [f"confidence {result.confidence} ({score:.2f}), {result.metadata.stop_reason}"]
    for title, texts in (("Facts", result.facts), ("Messages", result.messages)):
        if texts:
            lines += ["", f"{title}:", *(f"- {one_line(text, _LINE_CHARS)}" for text in texts)]
    if result.context_summary:
        # what a model wrote is quoted: no line of it can pass for one of Vestig's
        lines += ["", "Summary:", *(f"> {line}" for line in result.context_summary.splitlines())]
    if not result.facts and not result.messages:
        lines += ["", "No memories found."]
    return "\n".join([*lines, *_steps(result)])


def _steps(result: RetrieveResult) -> list[str]:
    """The trace, where there is one."""
    trace = result.reasoning_trace or ()
    lines = [f"{one.iteration} {one.step}: {one_line(one.detail, _LINE_CHARS)}" for one in trace]
    return ["", "Steps:", *lines] if lines else []


_RETRIEVE: Final = Operation(
    name="retrieve",
    call=RetrieveRequest,
    options=(
        Text(
            "A JSON file: an object with messages and any of the options, or the list of messages"
            " alone; - reads standard input.",
            name="file",
        ),
    ),
    run=_retrieve,
    document="retrieve",
    text=_text,
    without_store="empty",
)

OPERATIONS: Final = (_RETRIEVE,)
