"""Exports of Claude: conversations, what it remembers, and projects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, Unreadable
from vestig.exchange.formats.drafts import (
    Draft,
    Found,
    Reading,
    joined,
    list_of,
    missing,
    present,
    refused,
    text_of,
)
from vestig.lazy_pattern import lazy_pattern

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_MEMORY_KEYS: Final = ("conversations_memory", "project_memories", "memory_files")
_OF_CONVERSATIONS: Final = ("chat_messages", "name", "account", "created_at", "updated_at")
_BLANK_LINES: Final = lazy_pattern(r"\n[ \t\r]*\n")
# A paragraph that is a heading of those after it.
_HEADING: Final = lazy_pattern(r"#{1,6} +(.+?)|\*\*([^*\n]+)\*\*:?")
_HASH_DIGITS: Final = 32

# Names that its records have.
KEYS: Final = frozenset(("uuid", "name", "chat_messages", "conversations_memory"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a conversation, a set of memories or a project of Claude."""
    return (
        isinstance(record.get("chat_messages"), list)
        or any(key in record for key in _MEMORY_KEYS)
        or _is_project(record)
    )


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The turns of each conversation in their order; memories as notes, a paragraph each."""
    for record in file.records():
        if isinstance(record, Unreadable):
            yield record
            continue
        try:
            if any(key in record.value for key in _MEMORY_KEYS):
                reading.leave_unread(record.value, _MEMORY_KEYS, "beside memories")
                yield from list(_memories(record))
            elif _is_project(record.value):
                documents = list_of("docs", record.value.get("docs"))
                reading.leave_out("project", 1)
                if documents:
                    reading.leave_out("document of a project", len(documents))
            else:
                yield from _conversation(record, reading)
        except ValidationError as error:
            yield refused(record.line, error)


def _is_project(record: dict[str, Any]) -> bool:
    return "docs" in record and "uuid" in record and "chat_messages" not in record


def _conversation(record: Record, reading: Reading) -> Iterator[Found]:
    conversation, place = record.value, 0
    if "chat_messages" not in conversation:
        raise missing("chat_messages")
    messages = list_of("chat_messages", conversation["chat_messages"])
    reading.leave_unread(conversation, _OF_CONVERSATIONS, "of a conversation")
    session = text_of("uuid", conversation.get("uuid")) or f"{reading.name}:{record.digest}"
    title = text_of("name", conversation.get("name")) or None
    time = text_of("created_at", conversation.get("created_at"))
    for number, message in enumerate(messages, start=1):
        try:
            if not isinstance(message, dict):
                raise ValidationError("message", type(message).__name__, "an object")
            role = _role(message)
            text = _text(message, reading)
            time = text_of("created_at", message.get("created_at")) or time
            reference = text_of("uuid", message.get("uuid"))
        except ValidationError as error:
            yield refused(record.line, error, f"message {number}")
            continue
        if not text:
            reading.leave_out("empty message")
            continue
        yield Draft(
            line=record.line,
            content=text,
            arguments=present(
                {
                    "role": role,
                    "session_id": session,
                    "title": title,
                    "sequence": place,
                    "t_ref": time,
                    "artifact_ref": reference,
                }
            ),
            digest=f"{record.digest}:{number}",
        )
        place += 1


def _role(message: dict[str, Any]) -> str:
    role = message.get("sender")
    if not isinstance(role, str) or role not in _ROLES:
        shown = role if isinstance(role, str) else type(role).__name__
        raise ValidationError("sender", shown, "human or assistant")
    return _ROLES[role]


def _text(message: dict[str, Any], reading: Reading) -> str:
    """The text of a message. Where the content has blocks other than text, its texts alone say
    it: the field `text` has placeholders for the others."""
    texts, others = [], 0
    for block in list_of("content", message.get("content")):
        if not isinstance(block, dict):
            raise ValidationError("content", type(block).__name__, "a list of objects")
        kind = block.get("type")
        if kind == "text":
            texts.append(text_of("content.text", block.get("text")) or "")
        else:
            others += 1
            reading.leave_out(kind if isinstance(kind, str) else "block without a type")
    for name in ("attachments", "files"):
        given = list_of(name, message.get(name))
        if given:
            reading.leave_out(name.removesuffix("s"), len(given))
    whole = text_of("text", message.get("text")) or ""
    if "text" not in message and "content" not in message:
        raise missing("text", "content")
    return joined(texts) if others or not whole.strip() else whole


def _memories(record: Record) -> Iterator[Found]:
    """The paragraphs of what Claude remembers, known by their text: what stays the same in a later
    export is there already."""
    given = record.value
    memories = text_of("conversations_memory", given.get("conversations_memory"))
    yield from _paragraphs(record.line, memories or "", {})
    projects = given.get("project_memories") or {}
    if not isinstance(projects, dict):
        raise ValidationError("project_memories", type(projects).__name__, "an object")
    for project, text in projects.items():
        said = text_of("project_memories", text) or ""
        yield from _paragraphs(record.line, said, {"project": project})
    for file in list_of("memory_files", given.get("memory_files")):
        if not isinstance(file, dict):
            raise ValidationError("memory_files", type(file).__name__, "a list of objects")
        said = text_of("memory_files.content", file.get("content")) or ""
        details = {"path": text_of("memory_files.path", file.get("path"))}
        time = text_of("memory_files.updated_at", file.get("updated_at"))
        yield from _paragraphs(record.line, said, present(details), time)


def _paragraphs(
    line: int, text: str, details: dict[str, Any], time: str | None = None
) -> Iterator[Draft]:
    heading: str | None = None
    for block in _BLANK_LINES.split(text.replace("\r\n", "\n")):
        said = block.strip()
        first, _, rest = said.partition("\n")
        found = _HEADING.fullmatch(first.strip())
        if found is not None:
            heading = found.group(1) or found.group(2)
            said = rest.strip()
        if not said:
            continue
        key = "\0".join((*map(str, details.values()), heading or "", said))
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        metadata = details if heading is None else {**details, "heading": heading}
        arguments = {
            "t_ref": time,
            "metadata": metadata or None,
            "artifact_ref": f"claude-memory:{digest[:_HASH_DIGITS]}",
        }
        yield Draft(line=line, content=said, arguments=present(arguments), is_whole=False)
