"""The formats that an import reads, in the order in which they are tried."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from vestig.calls.files import CONVERTED_ENDINGS, DOCUMENT_ENDINGS, ImportFormat
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats import (
    chatgpt,
    claude,
    claude_code,
    codex,
    comma_separated,
    mcp_memory,
    mem0,
    memories,
    messages,
    nearest,
    openai_chat,
)
from vestig.exchange.formats.drafts import Found, Reading
from vestig.exchange.inputs import Input

_EXPORT_SCHEMA: Final = "vestig/export/"
# So many records are looked at for a sign.
_LOOKED_AT: Final = 50


class FormatRow(NamedTuple):
    """`keys`: names that its records have. `is_log`: its records differ, so the first may be one of
    which nothing is known."""

    format: ImportFormat
    recognises: Callable[[dict[str, Any]], bool]
    read: Callable[[RecordFile, Reading], Iterator[Found]]
    keys: frozenset[str]
    is_log: bool = False


def _is_export(record: dict[str, Any]) -> bool:
    return str(record.get("schema", "")).startswith(_EXPORT_SCHEMA)


def _restored(_file: RecordFile, _reading: Reading) -> Iterator[Found]:
    raise ValidationError("format", "export", "messages or memories; an export is restored")


FORMATS: Final = (
    FormatRow(ImportFormat.EXPORT, _is_export, _restored, frozenset({"schema"})),
    FormatRow(
        ImportFormat.CHATGPT, chatgpt.recognises, chatgpt.read,
        frozenset({"mapping", "current_node", "conversation_id", "create_time", "title"}),
    ),
    FormatRow(
        ImportFormat.CLAUDE, claude.recognises, claude.read,
        frozenset({"uuid", "name", "chat_messages", "conversations_memory"}),
    ),
    FormatRow(
        ImportFormat.MEM0, mem0.recognises, mem0.read,
        frozenset({"memory", "user_id", "agent_id", "run_id", "hash", "categories"}),
    ),
    FormatRow(
        ImportFormat.CLAUDE_CODE, claude_code.recognises, claude_code.read,
        frozenset({"sessionId", "type", "message", "uuid", "parentUuid", "cwd"}), is_log=True,
    ),
    FormatRow(
        ImportFormat.CODEX, codex.recognises, codex.read,
        frozenset({"type", "payload", "timestamp"}), is_log=True,
    ),
    FormatRow(
        ImportFormat.MCP_MEMORY, mcp_memory.recognises, mcp_memory.read,
        frozenset({"entityType", "observations", "relationType", "from", "to", "name"}),
    ),
    FormatRow(
        ImportFormat.MESSAGES, messages.recognises, messages.read, messages.KNOWN_KEYS
    ),
    FormatRow(
        ImportFormat.OPENAI_CHAT, openai_chat.recognises, openai_chat.read,
        frozenset({"role", "content", "messages"}),
    ),
    FormatRow(
        ImportFormat.MEMORIES, memories.recognises, memories.read,
        frozenset({"content", "tags", "t_valid", "metadata", "scope"}),
    ),
    FormatRow(
        ImportFormat.CSV, comma_separated.recognises, comma_separated.read, frozenset()
    ),
)  # fmt: skip
ROWS: Final = {row.format: row for row in FORMATS}


def format_of(record: dict[str, Any]) -> FormatRow | None:
    """The first format that has this record; None where none has.

    Example:
        >>> format_of({"speaker": "Ada", "text": "Hello"}).format.value
        'messages'
    """
    return next((row for row in FORMATS if row.recognises(record)), None)


def detected(file: RecordFile) -> FormatRow:
    """The format of a file, by the first of its records that one has.

    Raises:
        ValidationError: none knows it; names what was seen, the nearest format and a command.
    """
    first: Record | None = None
    unreadable: Unreadable | None = None
    for record in islice(file.records(), _LOOKED_AT):
        if isinstance(record, Unreadable):
            unreadable = unreadable or record
            continue
        row = format_of(record.value)
        if row is not None and (first is None or row.is_log):
            return row
        first = first or record
    if first is not None:
        is_array = file.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
        raise nearest.of_record(file.name, first, FORMATS[1:], is_array=is_array)
    if comma_separated.header_of(comma_separated.first_line(file)) is not None:
        return ROWS[ImportFormat.CSV]
    raise nearest.of_text(file.name, comma_separated.first_line(file), unreadable)


def is_document(source: Input, asked: ImportFormat) -> bool:
    """Return whether a file is one text: it is asked for, or its name says so and it does not begin
    with a record of another format."""
    if asked is not ImportFormat.AUTO:
        return asked is ImportFormat.DOCUMENT
    # a member of an archive has no path
    ending = os.path.splitext(source.name.lower().removesuffix(".gz"))[1]
    if source.path is None or ending not in DOCUMENT_ENDINGS:
        return False
    if ending in CONVERTED_ENDINGS:
        return True
    try:
        file = RecordFile(source)
        if not file.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
            return True
        first = next(iter(file.records()), None)
    except (ValidationError, OSError):
        return True
    return not isinstance(first, Record) or format_of(first.value) is None


def fitting(file: RecordFile, named: ImportFormat) -> str:
    """A hint for the errors of a file that was read by a named format: the one that its first
    record has, where this is another. "" where it fits."""
    for record in islice(file.records(), _LOOKED_AT):
        if isinstance(record, Unreadable):
            continue
        row = format_of(record.value)
        if row is None or row.format is named:
            return ""
        return f'; by its keys the file is of the format "{row.format}": --format {row.format}'
    return ""
