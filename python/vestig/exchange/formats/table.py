"""The formats that an import reads, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from vestig.calls.files import ImportFormat
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
    openai_chat,
)
from vestig.exchange.formats.drafts import Found, Reading

_EXPORT_SCHEMA: Final = "vestig/export/"
# So many records are looked at for a sign.
_LOOKED_AT: Final = 50
_KEYS_SHOWN: Final = 12
_KEY_CHARS: Final = 40
DOCS: Final = "docs/import.md"


class FormatRow(NamedTuple):
    """`sign`: by what it is recognised, in words; `keys`: names that its records have. `is_log`:
    its records differ, so the first may be one of which nothing is known."""

    format: ImportFormat
    sign: str
    recognises: Callable[[dict[str, Any]], bool]
    read: Callable[[RecordFile, Reading], Iterator[Found]]
    keys: frozenset[str]
    is_log: bool = False


def _is_export(record: dict[str, Any]) -> bool:
    return str(record.get("schema", "")).startswith(_EXPORT_SCHEMA)


def _restored(_file: RecordFile, _reading: Reading) -> Iterator[Found]:
    raise ValidationError("format", "export", "messages or memories; an export is restored")


FORMATS: Final = (
    FormatRow(
        ImportFormat.EXPORT, "the header of `vestig export`", _is_export, _restored,
        frozenset({"schema"}),
    ),
    FormatRow(
        ImportFormat.CHATGPT, '"mapping"', chatgpt.recognises, chatgpt.read,
        frozenset({"mapping", "current_node", "conversation_id", "create_time", "title"}),
    ),
    FormatRow(
        ImportFormat.CLAUDE, '"chat_messages" or "conversations_memory"',
        claude.recognises, claude.read,
        frozenset({"uuid", "name", "chat_messages", "conversations_memory"}),
    ),
    FormatRow(
        ImportFormat.MEM0, '"memory" beside "id" or "user_id"', mem0.recognises, mem0.read,
        frozenset({"memory", "user_id", "agent_id", "run_id", "hash", "categories"}),
    ),
    FormatRow(
        ImportFormat.CLAUDE_CODE, '"sessionId" and "type"',
        claude_code.recognises, claude_code.read,
        frozenset({"sessionId", "type", "message", "uuid", "parentUuid", "cwd"}),
        is_log=True,
    ),
    FormatRow(
        ImportFormat.CODEX, '"type" and "payload"', codex.recognises, codex.read,
        frozenset({"type", "payload", "timestamp"}), is_log=True,
    ),
    FormatRow(
        ImportFormat.MCP_MEMORY, '"type" entity with "observations", or relation',
        mcp_memory.recognises, mcp_memory.read,
        frozenset({"entityType", "observations", "relationType", "from", "to", "name"}),
    ),
    FormatRow(
        ImportFormat.MESSAGES, '"timestamp", "message_id", "turn" or "speaker"',
        messages.recognises, messages.read, messages.KNOWN_KEYS,
    ),
    FormatRow(
        ImportFormat.OPENAI_CHAT, '"role" and "content", or a list "messages" of these',
        openai_chat.recognises, openai_chat.read, frozenset({"role", "content", "messages"}),
    ),
    FormatRow(
        ImportFormat.MEMORIES, '"content"', memories.recognises, memories.read,
        frozenset({"content", "tags", "t_valid", "metadata", "scope"}),
    ),
    FormatRow(
        ImportFormat.CSV, "a header row with a column content or text",
        comma_separated.recognises, comma_separated.read, frozenset(),
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
        ValidationError: none knows it; names what was seen, what is accepted and the nearest.
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
    if first is None and comma_separated.header_of(comma_separated.first_line(file)) is not None:
        return ROWS[ImportFormat.CSV]
    raise _unknown(file, first, unreadable)


def fitting(record: dict[str, Any], named: ImportFormat) -> str:
    """A hint for a record that the named format refused: the format that has it."""
    row = format_of(record)
    if row is None or row.format is named:
        return ""
    return f'; by its keys it is of the format "{row.format}"'


def _unknown(
    file: RecordFile, first: Record | None, unreadable: Unreadable | None
) -> ValidationError:
    accepted = "; ".join(f"{row.format} by {row.sign}" for row in FORMATS)
    if first is None:
        seen = "nothing" if unreadable is None else f"in line {unreadable.line}: {unreadable.fact}"
        facts = f"no format knows {file.name}: no JSON object in it ({seen})"
        hint = ""
    else:
        names = [_shown(name) for name in first.value]
        more = f" and {len(names) - _KEYS_SHOWN} more" if len(names) > _KEYS_SHOWN else ""
        keys = ", ".join(names[:_KEYS_SHOWN]) + more if names else "no keys"
        facts = f"no format knows {file.name}: line {first.line} has the keys {keys}"
        hint = _nearest(first.value)
    message = f"format: {facts}; accepted are {accepted}.{hint} {DOCS} shows each of them"
    return ValidationError("format", "", "", message=message)


def _nearest(record: dict[str, Any]) -> str:
    """The format with which a record shares most, and the command that makes it one."""
    names = {name.lower() for name in record}
    row = max(FORMATS[1:], key=lambda one: len(names & one.keys))
    if not names & row.keys:
        row = ROWS[ImportFormat.MEMORIES]
    texts = [name for name, value in record.items() if isinstance(value, str)]
    said = max(texts, key=lambda name: len(record[name]), default=None)
    hint = f" The nearest is {row.format}"
    if said is not None and "content" not in record and _is_plain(said):
        hint += (
            f": if \"{said}\" holds the text, `jq -c '{{content: .{said}}}' FILE |"
            " vestig import --format memories -` takes it in"
        )
    return f"{hint}."


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii() and len(name) <= _KEY_CHARS


def _shown(name: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in name)
    return shown if len(shown) <= _KEY_CHARS else f"{shown[:_KEY_CHARS]}…"
