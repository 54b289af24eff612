"""Markdown: a file a memory, with the arguments of `commit` as its front matter."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from vestig.arguments import parse_time
from vestig.calls.items import PART, check_stored_key
from vestig.config.documents import parse
from vestig.errors import ValidationError
from vestig.exchange.file_records import RecordFile
from vestig.exchange.formats.drafts import (
    MEMORY_MARK,
    MEMORY_REFERENCE,
    Draft,
    Found,
    Reading,
    present,
    refused,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.other_words import by_caller
from vestig.times import format_us, to_us
from vestig.types import Memory, RetentionPolicy, Status

# Names that its records have: it has none.
KEYS: Final = frozenset[str]()
_BYTES_MAX: Final = 50 * 1024 * 1024
_BLOCK: Final = lazy_pattern(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", 24)
_WORD: Final = lazy_pattern(r"[^\W_]+")
_NAME_CHARS: Final = 48
# What JSON writes as it is, and YAML refuses or takes for the end of a line.
_ESCAPED: Final = lazy_pattern(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Names of metadata that a commit gives by arguments of their own.
_OTHER_ARGUMENTS: Final = ("source", "structured", "tags")
_TIMES: Final = ("t_valid", "t_invalid", "retention_until")
# Fields that say what a memory was in its store; they are no arguments.
_OF_ITS_STORE: Final = ("vestig", "t_created")
_STATUSES: Final = {one.word.lower(): one for one in Status}


def recognises(_record: dict[str, Any]) -> bool:
    """Return False: a memory in Markdown is no JSON."""
    return False


def file_name(number: int, memory: Memory) -> str:
    """The name of a memory's file: its number, by which files are sorted, and words for people.

    Args:
        number: its place among all that are written, in the order in which they were stored.
    """
    said = memory.key or memory.title or memory.content[: 4 * _NAME_CHARS]
    words = "-".join(_WORD.findall(said.lower()))[:_NAME_CHARS].strip("-")
    try:
        os.fsencode(words)
    except UnicodeEncodeError:  # of a locale whose names have none of these letters
        words = words.encode("ascii", "ignore").decode().strip("-")
    return f"{number:07d}-{words or 'memory'}.md"


def text_of(memory: Memory, beside: Mapping[str, Any]) -> str:
    """The file of a memory.

    Args:
        beside: arguments of `commit` that the memory itself does not have.
    """
    fields = {
        "id": memory.id,
        "t_created": _time(memory.t_created),
        "status": None if memory.status is Status.ACTIVE else memory.status.word.lower(),
        "superseded_by": memory.superseded_by,
        **_arguments(memory),
        **beside,
    }
    lines = [f"{name}: {_value(value)}" for name, value in present(fields).items()]
    return "\n".join(("---", MEMORY_MARK, *lines, "---", "", memory.content, ""))


def _arguments(memory: Memory) -> dict[str, Any]:
    """The arguments of `commit` that make this memory again."""
    metadata = {
        name: value for name, value in memory.metadata.items() if name not in _OTHER_ARGUMENTS
    }
    is_standard = memory.retention_policy is RetentionPolicy.STANDARD
    return {
        "scope": memory.scope,
        "key": memory.key,
        "tags": list(memory.tags) or None,
        "source": memory.metadata.get("source"),
        "title": memory.title,
        "author": memory.author,
        "role": memory.role,
        "session_id": memory.session_id,
        "sequence": memory.sequence,
        "t_valid": _time(memory.t_valid),
        "t_invalid": _time(memory.t_invalid),
        "origin_type": None if memory.origin_derived else memory.origin_type,
        "trigger": memory.trigger,
        "temporal_stability": memory.temporal_stability,
        "retention_policy": None if is_standard else memory.retention_policy,
        "retention_until": _time(memory.retention_until),
        "pinned": memory.pinned or None,
        "metadata": metadata or None,
    }


def differs(memory: Memory, status: Status | None, arguments: Mapping[str, Any]) -> bool:
    """Return whether the file of a memory says otherwise what it is; the text is compared by
    others.

    Args:
        status: that of the file.
        arguments: those of a commit that the file gives, and the import with them.
    """
    if (status or Status.ACTIVE) is not memory.status:
        return True
    own = _arguments(memory)
    # one without a source gets that of the import
    own["source"] = own["source"] or arguments.get("source")
    return any(_compared(name, own[name]) != _compared(name, arguments.get(name)) for name in own)


def _compared(name: str, value: Any) -> Any:
    """A value by which two are the same: lists in any order, times however they are written."""
    if value is None or name in _TIMES:
        with suppress(ValidationError):
            return None if value is None else parse_time(value, name)
    return sorted(value) if name == "tags" else msgspec.to_builtins(value)


def _time(moment: Any) -> str | None:
    return None if moment is None else format_us(to_us(moment))


def _value(value: Any) -> str:
    """A value as JSON, which is YAML too."""
    made = msgspec.json.encode(value).decode()
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", made)


def read(file: RecordFile, _reading: Reading) -> Iterator[Found]:
    """The memory of a file."""
    data = file.whole(_BYTES_MAX)
    try:
        text = data.decode("utf-8")
        block = _BLOCK.match(text)
        fields = None if block is None else parse(block[1])[0]
    except ValueError as error:
        yield refused(1, ValidationError("front matter", str(error), "YAML in UTF-8"))
        return
    if block is None or not isinstance(fields, dict):
        ordinary = by_caller('format="document"', "--format document")
        yield refused(
            1,
            ValidationError(
                "front matter",
                "none",
                f'"---", "{MEMORY_MARK}", fields and "---"',
                f"ordinary Markdown is {ordinary}",
            ),
        )
        return
    arguments = present({name: fields[name] for name in fields if name not in _OF_ITS_STORE})
    id, status = arguments.pop("id", None), arguments.pop("status", "active")
    successor, key = arguments.pop("superseded_by", None), arguments.get("key")
    text_key = arguments.pop("key") if isinstance(key, str) and PART in key else None
    if status not in _STATUSES:
        yield refused(1, ValidationError("status", status, ", ".join(_STATUSES)))
        return
    if text_key is not None:
        try:
            check_stored_key("key", text_key)
        except ValidationError as error:
            yield refused(1, error)
            return
    if id is not None:
        arguments["artifact_ref"] = _reference(id)
    yield Draft(
        line=1,
        content=text[block.end() :].strip(),
        arguments=arguments,
        digest=hashlib.sha256(data).hexdigest(),
        is_cut=False,
        status=_STATUSES[status],
        successor_ref=None if successor is None else _reference(successor),
        text_key=text_key,
    )


def _reference(id: object) -> str:
    """The `artifact_ref` of a memory that had this id in its store."""
    return f"{MEMORY_REFERENCE}{id}"
