"""The formats that an import reads, in the order in which they are tried.

Of a file that none knows, the nearest format and the command that brings it in.
"""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, cast

from vestig.arguments import parse_time
from vestig.calls.files import CONVERTED_ENDINGS, DOCUMENT_ENDINGS, MAIL_ENDINGS, ImportFormat
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable, unknown
from vestig.exchange.formats.drafts import Found, Reading, is_memory
from vestig.exchange.inputs import Input, shell_word
from vestig.other_words import by_caller

# So many records are looked at for a sign.
_LOOKED_AT: Final = 50


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
    first: Record | None = None
    unreadable: Unreadable | None = None
    for record in islice(file.records(), _LOOKED_AT):
        if isinstance(record, Unreadable):
            unreadable = unreadable or record
            continue
        row = format_of(record.value)
        if row is not None and (first is None or row.has_own_signs):
            return row
        first = first or record
    is_array = file.begins_with(b"[")
    if first is None and unreadable is None and is_array:
        return ROWS[ImportFormat.MEMORIES]  # it is of every format, and says nothing
    if first is not None:
        raise unknown_record(file.name, first, FORMATS[1:], is_array=is_array)
    from vestig.exchange.formats import comma_separated

    if comma_separated.is_table(file):
        return ROWS[ImportFormat.CSV]
    raise unknown_text(file.name, comma_separated.first_line(file), unreadable)


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


# --- the nearest format -----------------------------------------------------------------------

_KEYS_SHOWN: Final = 12
_KEY_CHARS: Final = 40
# Names that other programs have for what a message holds, the likeliest first.
_TEXTS: Final = ("text", "body", "message", "msg", "note", "fact", "memory", "value", "summary")
_AUTHORS: Final = ("author", "user", "username", "sender", "from", "name")
_TIMES: Final = ("timestamp", "time", "datetime", "date", "created", "created_at", "ts")


def unknown_record(
    name: str, record: Record, rows: Sequence[FormatRow], *, is_array: bool
) -> ValidationError:
    """The refusal of a file of JSON objects. Names keys, never a text.

    Args:
        rows: the formats that it may be near to.
        is_array: the objects stand in an array.
    """
    names = [_shown(key) for key in record.value]
    more = f" and {len(names) - _KEYS_SHOWN} more" if len(names) > _KEYS_SHOWN else ""
    keys = ", ".join(names[:_KEYS_SHOWN]) + more if names else "no keys"
    value, way = record.value, ".[]" if is_array else "."
    inner = _list_in(value)
    if inner is not None and _text_key(value) is None:
        way, value = f"{way.rstrip('.') or ''}.{inner[0]}[]", inner[1]
    row = max(rows, key=lambda one: len({key.lower() for key in value} & one.load().KEYS))
    shared = sorted({key.lower() for key in value} & row.load().KEYS)
    near = f"The nearest is {row.format}, by {', '.join(shared)}. " if shared else ""
    return unknown(
        name, f"line {record.line} has the keys {keys}", near + _command(name, value, way)
    )


def unknown_text(name: str, header: str, unreadable: Unreadable | None) -> ValidationError:
    """The refusal of a file without JSON objects: a table without a column of texts, or text."""
    for separator in (",", ";", "\t"):
        try:
            columns = next(csv.reader([header], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        named = [one.strip() for one in columns]
        if len(named) > 1 and all(_is_plain(one) for one in named):
            shown = ", ".join(named[:_KEYS_SHOWN])
            way = by_caller('format="csv"', f"`vestig import --format csv {shell_word(name)}`")
            return unknown(
                name,
                f"its header has the columns {shown}",
                f'The nearest is csv: {way} takes each row as the text of its columns, "column:'
                ' value".',
            )
    seen = "it is empty" if unreadable is None else f"line {unreadable.line}: {unreadable.fact}"
    return unknown(name, f"no JSON object in it ({seen})", "")


def _list_in(value: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The key of the first list of objects, and the first of these."""
    for key, listed in value.items():
        first = listed[0] if isinstance(listed, list) and listed else None
        if isinstance(first, dict) and _is_plain(key):
            return key, first
    return None


def _command(name: str, value: dict[str, Any], way: str) -> str:
    said = _text_key(value)
    if said is None:
        return (
            "None of its keys holds a text: import needs one JSON object a line with its text under"
            ' "content", such as {"content": "…"}.'
        )
    fields = {"content": said}
    author = next((key for key in _AUTHORS if _is_text(value, key) and key != said), None)
    time = next((key for key in _TIMES if _is_time(value.get(key))), None)
    if time is not None:
        fields |= {"timestamp": time} | ({} if author is None else {"author": author})
    form = "memories" if time is None else "messages"
    if time is None and isinstance(value.get("tags"), list):
        fields["tags"] = "tags"
    program = f"{{{', '.join(f'{field}: .{key}' for field, key in fields.items())}}}"
    if value.keys() - {*fields.values()}:
        others = f"del({', '.join(f'.{key}' for key in fields.values())})"
        # memories refuse keys that they do not know
        program = f"{f'{{metadata: {others}}}' if time is None else others} + {program}"
    if way != ".":
        program = f"{way} | {program}"
    return (
        f'If "{said}" holds the text, `jq -c {shlex.quote(program)} {shell_word(name)} |'
        f" vestig import --format {form} -` takes it in."
    )


def _text_key(value: dict[str, Any]) -> str | None:
    """The key that holds the text, as far as names and lengths tell."""
    named = next((key for key in _TEXTS if _is_text(value, key)), None)
    if named is not None:
        return named
    texts = [key for key in value if _is_text(value, key) and _is_plain(key)]
    return max(texts, key=lambda key: len(value[key]), default=None)


def _is_text(value: dict[str, Any], key: str) -> bool:
    return isinstance(value.get(key), str) and bool(value[key].strip())


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_time(value, "time")
    except ValidationError:
        return False
    return True


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii() and len(name) <= _KEY_CHARS


def _shown(name: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in name)
    return shown if len(shown) <= _KEY_CHARS else f"{shown[:_KEY_CHARS]}…"
