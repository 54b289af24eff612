"""Session logs of Codex."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
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
# The tool that writes files, and the lines of its patches that name one.
_WRITER: Final = "apply_patch"
_ADDED, _UPDATED, _MOVED = "*** Add File: ", "*** Update File: ", "*** Move to: "
_OF_PATCH, _OF_HUNK = "***", "@@"


class _Item(msgspec.Struct):
    """The payload of a line."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    cwd: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"null")
    arguments: msgspec.Raw = msgspec.Raw(b"null")


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
        if item.name == _WRITER:
            _note_patch(item, reading)
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


def _note_patch(item: _Item, reading: Reading) -> None:
    """Notes what a patch wrote into files, given as the input of a tool or among its arguments."""
    patch = None
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        patch = msgspec.json.decode(item.input)
        if patch is None:
            given = msgspec.json.decode(msgspec.json.decode(item.arguments, type=str))
            patch = given.get("input") if isinstance(given, dict) else None
    if isinstance(patch, str):
        for path, text in _written(patch):
            reading.edit(None, path, text)


def _written(patch: str) -> Iterator[tuple[str, str]]:
    """(path, text) of what each hunk of a patch writes: from its first new line to its last.

    Example:
        >>> list(_written("*** Update File: a.py\\n@@\\n x\\n-y\\n+z\\n w\\n*** End Patch"))
        [('a.py', 'z')]
    """
    path, hunk = "", list[str]()
    for line in (*patch.split("\n"), _OF_PATCH):
        if not line.startswith((_OF_PATCH, _OF_HUNK)):
            hunk.append(line)
            continue
        new = [place for place, one in enumerate(hunk) if one.startswith("+")]
        if new and path and "\0" not in path:
            lines = hunk[new[0] : new[-1] + 1]
            yield path, "\n".join(one[1:] for one in lines if not one.startswith("-"))
        hunk = []
        if line.startswith(_OF_PATCH):
            kind = next((one for one in (_ADDED, _UPDATED, _MOVED) if line.startswith(one)), None)
            path = "" if kind is None else line.removeprefix(kind).strip()
