"""Session logs of Claude Code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from vestig.exchange.file_records import RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    START,
    Found,
    LogPlace,
    LogTurn,
    Reading,
    Said,
    block_texts,
    drafts,
    joined,
    log_turns,
)
from vestig.exchange.formats.machine_text import said_by_user

_SPEAKERS: Final = ("user", "assistant")
_TITLE_KINDS: Final = ("ai-title", "summary", "custom-title")
_EDITOR: Final = "claude_code"
# The model of answers that the program makes up, such as errors of a service.
_NO_MODEL: Final = "<synthetic>"
_HAS_TITLE: Final = (b'"ai-title"', b'"summary"', b'"custom-title"')


class _Row(msgspec.Struct, rename="camel"):
    """A line; the message stays unread until it is known to be said."""

    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    is_meta: bool = False
    is_sidechain: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    is_visible_in_transcript_only: bool = False
    origin: Any = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _Title(msgspec.Struct, rename="camel"):
    type: str = ""
    ai_title: str | None = None
    summary: str | None = None
    custom_title: str | None = None


class _Message(msgspec.Struct):
    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: Any = None


_ROWS: Final = msgspec.json.Decoder(_Row)
_MESSAGES: Final = msgspec.json.Decoder(_Message)
_TITLES: Final = msgspec.json.Decoder(_Title)

# Names that its records have.
KEYS: Final = frozenset(("sessionId", "type", "message", "uuid", "parentUuid", "cwd"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a line of a session log of Claude Code."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    return (
        isinstance(record.get("sessionId"), str)
        or (kind == "summary" and "leafUuid" in record)
        or (kind == "file-history-snapshot" and "messageId" in record)
    )


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The texts of user and assistant, with the newest title of the session."""
    return drafts(turns(file, reading), reading, newest_title(file))


def turns(
    file: RecordFile, reading: Reading, place: LogPlace = START
) -> Iterator[LogTurn | Unreadable]:
    """The turns of a log from a place on; what is no turn is counted by kind."""
    return log_turns(file, _said, reading, place)


def newest_title(file: RecordFile) -> str | None:
    """The title that the user gave, else the newest one of the log."""
    titles: dict[bool, str] = {}
    for line in file.lines():
        if isinstance(line, Unreadable) or not any(sign in line.data for sign in _HAS_TITLE):
            continue
        try:
            row = _TITLES.decode(line.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # reading the turns names the line
        title = row.custom_title or row.ai_title or row.summary
        if row.type in _TITLE_KINDS and title:
            titles[row.type == "custom-title"] = title
    return titles.get(True, titles.get(False))


# Tools that write files, and the members that hold what they write.
_WRITERS: Final = {"Edit": "new_string", "Write": "content", "NotebookEdit": "new_source"}


def _note_edits(message: _Message, reading: Reading) -> None:
    """Notes what the message wrote into files."""
    for block in message.content if isinstance(message.content, list) else ():
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            continue
        given = block.get("input")
        if not isinstance(given, dict):
            continue
        path, name = given.get("file_path"), block.get("name")
        several = given.get("edits") if name == "MultiEdit" else None
        written = [given, *(several if isinstance(several, list) else ())]
        member = _WRITERS.get(name if isinstance(name, str) else "", "new_string")
        if name not in _WRITERS and several is None:
            continue
        for one in written:
            text = one.get(member) if isinstance(one, dict) else None
            if isinstance(path, str) and path and "\0" not in path and isinstance(text, str):
                reading.edit(message.id, path, text)


def _said(line: bytes, reading: Reading) -> Said | None:
    row = _ROWS.decode(line)
    if row.type not in _SPEAKERS:
        if row.type not in _TITLE_KINDS:
            reading.leave_out(f"line of type {row.type}" if row.type else "line without a type")
        return None
    kind = _kind_left_out(row)
    if kind is not None:
        reading.leave_out(kind)
        return None
    message = _MESSAGES.decode(row.message)
    if message.model == _NO_MODEL:
        reading.leave_out("message of no model")
        return None
    if row.type == "assistant":
        _note_edits(message, reading)
    texts = block_texts(message.content, reading)
    if texts is None or row.session_id is None:
        raise msgspec.DecodeError("a turn without session or content")
    if row.type == "user":
        texts = said_by_user(texts, _EDITOR, reading)
    text = joined(texts)
    if not text:
        return None
    return Said(
        session=row.session_id,
        role=row.type,
        text=text,
        time=row.timestamp,
        id=row.uuid,
        folder=row.cwd,
        branch=row.git_branch,
        message=message.id if row.type == "assistant" else None,
    )


def _kind_left_out(row: _Row) -> str | None:
    if row.is_sidechain:
        return "line of a side chain"
    if row.is_compact_summary:
        return "summary of a compaction"
    if row.is_api_error_message:
        return "error of a service"
    if row.is_visible_in_transcript_only:
        return "line for display alone"
    kind = row.origin.get("kind") if isinstance(row.origin, dict) else None
    if isinstance(kind, str) and kind != "human":
        return f"message of origin {kind}"
    return "injected context" if row.is_meta else None
