"""The formats that an import reads, in the order in which they are tried."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, cast

from msgspec import json

from vestig.calls.files import CONVERTED_ENDINGS, DOCUMENT_ENDINGS, MAIL_ENDINGS, ImportFormat
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats.drafts import Found, Reading, is_memory
from vestig.exchange.inputs import Input
from vestig.other_words import by_caller

# So many records are looked at for a sign, and so many bytes of them are held.
_LOOKED_AT: Final = 50
_HELD_BYTES: Final = 1024 * 1024


class _Format(Protocol):
    """A module of a format. `KEYS`: names that its records have."""

    KEYS: frozenset[str]

    def recognises(self, record: dict[str, Any], /) -> bool: ...

    def read(self, file: RecordFile, reading: Reading, /) -> Iterator[Found]: ...


class FormatRow(NamedTuple):
    """`module`: its name in `exchange/formats`. `has_own_signs`: no other program's records look
    like it, so the first may be one of which nothing is known."""

    format: ImportFormat
    module: str
    has_own_signs: bool = False

    def load(self) -> _Format:
        """The module, loaded at the first call."""
        return cast("_Format", import_module(f"vestig.exchange.formats.{self.module}"))


FORMATS: Final = (
    FormatRow(ImportFormat.EXPORT, "export"),
    FormatRow(ImportFormat.CHATGPT, "chatgpt", has_own_signs=True),
    FormatRow(ImportFormat.CLAUDE, "claude"),
    FormatRow(ImportFormat.MEM0, "mem0"),
    FormatRow(ImportFormat.CLAUDE_CODE, "claude_code", has_own_signs=True),
    FormatRow(ImportFormat.CODEX, "codex", has_own_signs=True),
    FormatRow(ImportFormat.MCP_MEMORY, "mcp_memory"),
    FormatRow(ImportFormat.MESSAGES, "messages"),
    FormatRow(ImportFormat.OPENAI_CHAT, "openai_chat"),
    FormatRow(ImportFormat.MEMORIES, "memories"),
    FormatRow(ImportFormat.CSV, "comma_separated"),
    FormatRow(ImportFormat.MARKDOWN, "markdown"),
)
ROWS: Final = {row.format: row for row in FORMATS}


def format_of(record: dict[str, Any]) -> FormatRow | None:
    """The first format that has this record; None where none has.

    Example:
        >>> format_of({"speaker": "Ada", "text": "Hello"}).format.value
        'messages'
    """
    return next((row for row in FORMATS if row.load().recognises(record)), None)


def detected(file: RecordFile) -> FormatRow:
    """The format of a file, by the first of its records that one has.

    Raises:
        ValidationError: none knows it; names what was seen, the nearest format and a command.
    """
    if is_memory(file):
        return ROWS[ImportFormat.MARKDOWN]
    seen: list[Record] = []
    unreadable: Unreadable | None = None
    size = lines = 0
    for record in islice(file.records(), _LOOKED_AT):
        lines += 1
        if isinstance(record, Unreadable):
            unreadable = unreadable or record
            continue
        row = format_of(record.value)
        if row is not None and (not seen or row.has_own_signs):
            return row
        # of large ones the first is held alone
        size += len(json.encode(record.value))
        if not seen or size <= _HELD_BYTES:
            seen.append(record)
    if not seen and unreadable is None and file.begins_with(b"["):
        return ROWS[ImportFormat.MEMORIES]  # it is of every format, and says nothing
    from vestig.exchange.formats.nearest import unknown_records, unknown_text

    if seen:
        keys_of = {row.format.value: row.load().KEYS for row in FORMATS[1:]}
        raise unknown_records(file, seen, keys_of)
    from vestig.exchange.formats import comma_separated

    if comma_separated.is_table(file):
        return ROWS[ImportFormat.CSV]
    raise unknown_text(file, comma_separated.first_line(file), unreadable, lines=lines)


def is_document(source: Input, asked: ImportFormat) -> bool:
    """Return whether a file is one text: it is asked for, or its name says so and it does not begin
    with a record of another format."""
    if asked is not ImportFormat.AUTO:
        return asked is ImportFormat.DOCUMENT
    ending = os.path.splitext(source.name.lower().removesuffix(".gz"))[1]
    if source.path is None or ending not in DOCUMENT_ENDINGS:
        return False
    if ending in CONVERTED_ENDINGS | MAIL_ENDINGS:
        return True
    try:
        file = RecordFile(source)
        if is_memory(file):
            return False
        if not file.begins_with(b"{", b"["):
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
        way = by_caller(f'format="{row.format}"', f"--format {row.format}")
        return f'; by its keys the file is of the format "{row.format}": {way}'
    return ""
