"""Memories of mem0, as `get_all` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    Draft,
    Found,
    Reading,
    last_change,
    list_of,
    missing,
    moment,
    present,
    refused,
    text_of,
)
from vestig.exchange.formats.messages import text_or_number

# Names beside the text, of which one makes an object a memory of mem0.
_SIGNS: Final = ("id", "user_id", "agent_id", "run_id", "hash", "created_at", "categories")
_TAKEN: Final = frozenset(
    ("memory", "user_id", "agent_id", "created_at", "categories", "id", "metadata")
)
_LISTS: Final = ("results", "memories")
# A commit sets these itself; a memory's own stay under another name.
_RESERVED: Final = {"source": "original_source", "tags": "original_tags"}

# Names that its records have.
KEYS: Final = frozenset(("memory", "user_id", "agent_id", "run_id", "hash", "categories"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a memory of mem0, or an object with a list of them."""
    listed = next((record[name] for name in _LISTS if isinstance(record.get(name), list)), None)
    if listed is not None:
        return not listed or (isinstance(listed[0], dict) and recognises(listed[0]))
    return isinstance(record.get("memory"), str) and any(sign in record for sign in _SIGNS)


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The memories as notes."""
    for record in file.records():
        if isinstance(record, Unreadable):
            yield record
            continue
        listed = next(
            (record.value[name] for name in _LISTS if isinstance(record.value.get(name), list)),
            None,
        )
        if listed is None:
            yield _memory(record, reading)
            continue
        graph = record.value.get("relations")
        if isinstance(graph, list) and graph:
            reading.leave_out("relation of the graph", len(graph))
        reading.leave_unread(record.value, (*_LISTS, "relations"), "beside memories")
        for place, value in enumerate(listed):
            if isinstance(value, dict):
                yield _memory(Record(record.line + place, value, record.digest), reading)
            else:
                yield Unreadable(record.line + place, "expected a JSON object")


def _memory(record: Record, reading: Reading) -> Draft | Unreadable:
    value = record.value
    try:
        content = text_of("memory", value.get("memory"))
        if content is None:
            raise missing("memory")
        own = value.get("metadata")
        if own is not None and not isinstance(own, dict):
            raise ValidationError("metadata", type(own).__name__, "an object")
        tags = list_of("categories", value.get("categories"))
        if not all(isinstance(tag, str) for tag in tags):
            raise ValidationError("categories", "a list", "a list of texts")
        others = {name: one for name, one in value.items() if name not in _TAKEN}
        metadata = {
            _RESERVED.get(name, name): one
            for name, one in {**(own or {}), **others}.items()
            if one is not None
        }
        user = text_or_number("user_id", value.get("user_id"))
        arguments = {
            "scope": reading.scope or user,
            "agent": text_or_number("agent_id", value.get("agent_id")),
            "t_ref": moment("created_at", value.get("created_at")),
            "tags": tags or None,
            "artifact_ref": text_or_number("id", value.get("id")),
            "metadata": metadata or None,
        }
    except ValidationError as error:
        return refused(record.line, error)
    return Draft(
        line=record.line,
        content=content,
        arguments=present(arguments),
        digest=record.digest,
        is_whole=False,
        changed_us=last_change(value),
    )
