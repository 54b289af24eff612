"""Messages as programs send them to language models: role and content, one a line or in lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, RunningDigest, Unreadable, no_object
from vestig.exchange.formats.drafts import (
    Draft,
    Found,
    Reading,
    missing,
    moment,
    present,
    refused,
    text_of,
)
from vestig.exchange.formats.grown_chats import Chat, RecordedChats, turn_reference
from vestig.exchange.formats.messages import (
    CONVERSATION_KEYS,
    OF_MEMORIES,
    SCOPE_KEYS,
    SESSION_KEYS,
    digest_of,
    first_present,
    text_or_number,
)
from vestig.messages import TEXT_PARTS, joined_text, only_calls_tools

ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_TIMES: Final = ("timestamp", "created_at")
# What is taken of an object with a list of messages, and of a message.
_OF_LISTS: Final = ("messages", "title", *CONVERSATION_KEYS, *SCOPE_KEYS[:2])
_OF_MESSAGES: Final = ("role", "content", "name", "id", *_TIMES, *SESSION_KEYS)

# Names that its records have.
KEYS: Final = frozenset(("role", "content", "messages"))


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a message with role and content, or an object with a list of them,
    and none that only a memory has."""
    listed = record.get("messages")
    if isinstance(listed, list):
        return any(isinstance(one, dict) and "role" in one for one in listed[:1])
    said = "content" in record or only_calls_tools(record)
    return "role" in record and said and not record.keys() & OF_MEMORIES


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The turns of a file: one session for each list, or one for all its lines."""
    whole: str | None = None
    place = 0
    begun = _sessions_before(file, reading)
    for record in file.records():
        if isinstance(record, Unreadable):
            yield record
            continue
        listed = record.value.get("messages")
        if isinstance(listed, list):
            yield from _list(record, listed, reading, begun.get(record.line))
            continue
        if whole is None:
            whole = reading.session_of(record.digest)
        given = text_or_number("session_id", first_present(record.value, SESSION_KEYS))
        named = given is not None
        shared = {"session_id": given or whole}
        yield from _turn(record, shared, place, reading, is_named=named)
        place += 1


def _sessions_before(file: RecordFile, reading: Reading) -> dict[int, str]:
    """Line → the session in which the list of messages that names none was recorded before."""
    recorded = RecordedChats(reading.recorded(f"{reading.name}:"))
    if not recorded.sessions:
        return {}
    chats = []
    for record in file.records():
        listed = None if isinstance(record, Unreadable) else record.value.get("messages")
        if isinstance(record, Unreadable) or not isinstance(listed, list):
            continue
        # what is no text is refused when it is read
        if first_present(record.value, CONVERSATION_KEYS) is None:
            scope = first_present(record.value, SCOPE_KEYS[:2])
            own = reading.scope if scope is None else str(scope)
            digest = RunningDigest()
            digests = [digest.after(msgspec.json.encode(value)) for value in listed]
            chats.append(Chat(record.line, own, digests))
    return recorded.continued(chats)


def _list(
    record: Record, listed: list[Any], reading: Reading, before: str | None
) -> Iterator[Found]:
    """The turns of a list of messages; `before`: the session in which it was recorded."""
    try:
        session = text_or_number("session_id", first_present(record.value, CONVERSATION_KEYS))
        shared = {
            "session_id": session or before or f"{reading.name}:{record.digest}",
            "title": text_of("title", record.value.get("title")),
            "scope": text_or_number("scope", first_present(record.value, SCOPE_KEYS[:2])),
        }
    except ValidationError as error:
        yield refused(record.line, error)
        return
    reading.leave_unread(record.value, _OF_LISTS, "beside messages")
    digest = RunningDigest()
    for place, value in enumerate(listed):
        so_far = digest.after(msgspec.json.encode(value))
        if isinstance(value, dict):
            # the same where the list has grown, or lies at another place of the file
            reference = {"artifact_ref": turn_reference(str(shared["session_id"]), place, so_far)}
            one = Record(record.line, value, record.digest)
            yield from _turn(one, shared | reference, place, reading, is_named=session is not None)
        else:
            yield Unreadable(record.line, f"messages[{place}]: {no_object(value)}")


def _turn(
    record: Record, shared: dict[str, Any], place: int, reading: Reading, *, is_named: bool
) -> Iterator[Found]:
    """The turn of a message, if it has a text. `is_named`: the file names its session."""
    message = record.value
    try:
        role = _role(message)
        if role == "system" and not reading.system:
            reading.leave_out("system message")
            return
        if message.get("content") is None and not only_calls_tools(message):
            raise missing("content")
        text = joined_text("content", message, message.get("content"))
        _count_parts(message.get("content"), reading)
        if text is None:
            reading.leave_out("message without a text")
            return
        arguments = {
            **shared,
            "role": role,
            "author": text_of("name", message.get("name")) if role != "tool" else None,
            "sequence": place,
            "t_ref": moment("timestamp", first_present(message, _TIMES)),
        }
        reference = text_or_number("id", message.get("id"))
        if reference is not None:
            arguments["artifact_ref"] = reference
    except ValidationError as error:
        yield refused(record.line, error)
        return
    reading.leave_unread(message, _OF_MESSAGES, "of a message")
    yield Draft(
        line=record.line,
        content=text,
        arguments=present(arguments),
        digest=digest_of(record.digest, arguments),
        is_by_id=reference is not None,
        in_file_order=is_named,
    )


def _count_parts(content: Any, reading: Reading) -> None:
    """Counts the parts that hold no text, by their type."""
    for part in content if isinstance(content, list) else ():
        kind = part.get("type", "text") if isinstance(part, dict) else "text"
        if kind not in TEXT_PARTS:
            reading.leave_out(kind if isinstance(kind, str) else "part without a type")


def _role(message: dict[str, Any]) -> str:
    role = message.get("role")
    known = ROLES.get(role.strip().lower()) if isinstance(role, str) else None
    if known is None:
        allowed = ", ".join(ROLES)
        shown = role if isinstance(role, str) else type(role).__name__
        raise ValidationError("role", shown, f"one of {allowed}")
    return known
