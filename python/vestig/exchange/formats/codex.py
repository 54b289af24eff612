"""Session logs of Codex."""

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
_KINDS: Final = (
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
)
_EDITOR: Final = "codex"


class _Item(msgspec.Struct):
    """The payload of a line."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    cwd: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")


class _Row(msgspec.Struct):
    type: str = ""
    timestamp: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


_ROWS: Final = msgspec.json.Decoder(_Row)
_ITEMS: Final = msgspec.json.Decoder(_Item)
_HEAD_LINES: Final = 20

# Names that its records have.
KEYS: Final = frozenset(("type", "payload", "timestamp"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a line of a session log of Codex."""
    return record.get("type") in _KINDS and isinstance(record.get("payload"), dict)


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The texts of user and assistant."""
    return drafts(turns(file, reading), reading)


def turns(
    file: RecordFile, reading: Reading, place: LogPlace = START
) -> Iterator[LogTurn | Unreadable]:
    """The turns of a log from a place on; what is no turn is counted by kind."""
    head = _head(file)
    session = head.id or file.name.removesuffix(".jsonl")

    def said(line: bytes, reading: Reading) -> Said | None:
        return _said(line, reading, session, head.cwd)

    return log_turns(file, said, reading, place)


def _head(file: RecordFile) -> _Item:
    """Id and folder of the session, from the first lines."""
    for line in file.lines():
        if isinstance(line, Unreadable):
            continue
        if line.number > _HEAD_LINES:
            break
        try:
            row = _ROWS.decode(line.data)
            if row.type == "session_meta":
                return _ITEMS.decode(row.payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # reading the turns names the line
    return _Item()


def _said(line: bytes, reading: Reading, session: str, folder: str | None) -> Said | None:
    row = _ROWS.decode(line)
    if row.type != "response_item":
        if row.type != "session_meta":
            reading.leave_out(f"line of type {row.type}" if row.type else "line without a type")
        return None
    item = _ITEMS.decode(row.payload)
    if item.type != "message":
        reading.leave_out(item.type or "item without a type")
        return None
    if item.role not in _SPEAKERS:
        reading.leave_out(f"{item.role} message" if item.role else "message without a role")
        return None
    texts = block_texts(msgspec.json.decode(item.content), reading)
    if texts is None:
        raise msgspec.DecodeError("a message without content")
    if item.role == "user":
        texts = said_by_user(texts, _EDITOR, reading)
    text = joined(texts)
    if not text:
        return None
    return Said(
        session=session,
        role=item.role,
        text=text,
        time=row.timestamp,
        id=item.id,
        folder=folder,
    )
