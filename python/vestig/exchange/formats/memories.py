"""Memories: one JSON object each, with the arguments of `commit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.file_records import RecordFile, Unreadable
from vestig.exchange.formats.drafts import Draft, Found, Reading, last_change, missing, refused
from vestig.exchange.inputs import WITHOUT_NAME

# Names that its records have.
KEYS: Final = frozenset(("content", "tags", "t_valid", "metadata", "scope"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this has the text of a memory."""
    return "content" in record


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The memories of a file, with their arguments as they stand there."""
    is_empty = file.begins_with(b"[")
    for record in file.records():
        is_empty = False
        if isinstance(record, Unreadable):
            yield record
            continue
        arguments = {key: value for key, value in record.value.items() if value is not None}
        content = arguments.pop("content", None)
        if not isinstance(content, str):
            error = missing("content") if content is None else ValidationError(
                "content", type(content).__name__, "text"
            )  # fmt: skip
            yield refused(record.line, error)
            continue
        if "scope" not in arguments and reading.scope is not None:
            arguments["scope"] = reading.scope
        is_by_id = "artifact_ref" in arguments
        has_key = "key" in arguments or "claim" in arguments
        if has_key and not is_by_id and reading.name not in WITHOUT_NAME:
            arguments["artifact_ref"] = reading.row_reference(record.value)
        yield Draft(
            line=record.line,
            content=content,
            arguments=arguments,
            is_by_id=is_by_id,
            digest=record.digest,
            is_whole=False,
            is_cut=False,
            changed_us=_changed_us(arguments.get("metadata")),
        )
    if is_empty:
        reading.leave_out("empty list")


def _changed_us(metadata: Any) -> int | None:
    return last_change(metadata) if isinstance(metadata, dict) else None
