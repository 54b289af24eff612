"""Messages as chat logs have them: one record a message, by the names that such logs use."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from vestig.calls.commit import CommitRequest
from vestig.calls.declaration import rows_of
from vestig.errors import ValidationError
from vestig.exchange.file_records import Record, RecordFile, RunningDigest, Unreadable, no_object
from vestig.exchange.formats.drafts import Draft, Found, Reading, last_change, missing, refused
from vestig.messages import joined_text, only_calls_tools
from vestig.types import Role

# commit argument → keys of a record, first present wins (null counts as absent)
CONTENT_KEYS: Final = ("content", "text")
AUTHOR_KEYS: Final = ("author", "author_name", "speaker")
TIME_KEYS: Final = ("timestamp", "date", "created_at")
SESSION_KEYS: Final = ("session_id", "session")
SEQUENCE_KEYS: Final = ("sequence", "turn")
REFERENCE_KEYS: Final = ("message_id", "id")
SCOPE_KEYS: Final = ("scope", "channel_id", "conversation")
_PLAIN_KEYS: Final = ("role", "title", "origin_type", "trigger", "tags", "metadata")
_MEANINGS: Final = (
    CONTENT_KEYS,
    AUTHOR_KEYS,
    TIME_KEYS,
    SESSION_KEYS,
    SEQUENCE_KEYS,
    REFERENCE_KEYS,
    SCOPE_KEYS,
)
KEYS: Final = frozenset((*(key for keys in _MEANINGS for key in keys), *_PLAIN_KEYS))
# Arguments of a commit that no message has.
OF_MEMORIES: Final = frozenset(rows_of(CommitRequest)) - KEYS
# One of them is enough to be a message.
_SIGNS: Final = ("timestamp", "message_id", "turn", "speaker")
# What a conversation beside its messages may be known by.
CONVERSATION_KEYS: Final = (*SESSION_KEYS, "conversation_id", "id")
# The meanings that a message of a program to a language model has, with its role.
_OF_MODELS: Final = frozenset(("role", "content", "id", "timestamp", "created_at", *SESSION_KEYS))
_SHARED: Final = (*SCOPE_KEYS, *SESSION_KEYS)
# A commit sets these two itself; a record's own stay under another name.
_RESERVED: Final = {
    "source": "original_source",
    "structured": "original_structured",
    "tags": "original_tags",
}


def first_present(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first key that is there and not null; None when there is none.

    Example:
        >>> first_present({"content": None, "text": ""}, ("content", "text"))
        ''
    """
    return next((record[key] for key in keys if record.get(key) is not None), None)


def text_or_number(field: str, value: Any) -> str | None:
    """Text as it is, a number as text (ids of other systems), None as None.

    Raises:
        ValidationError: anything else.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValidationError(field, type(value).__name__, "text")


def recognises(record: dict[str, Any]) -> bool:
    """Return whether this is a message of a chat log, or an object with a list of them; one with
    role and content, of which nothing else is known but when it was and where, is none."""
    if isinstance(record.get("role"), str) and "content" in record:
        known = record.keys() & (KEYS | OF_MEMORIES)
        return any(key in record for key in _SIGNS) and not known <= _OF_MODELS
    if any(key in record for key in _SIGNS):
        return True
    listed = record.get("messages")
    first = listed[0] if isinstance(listed, list) and listed else None
    return isinstance(first, dict) and recognises(first)


def read(file: RecordFile, reading: Reading) -> Iterator[Found]:
    """The messages of a file in its order; those with a role that name no session are of one, the
    file."""
    count, whole = 0, ""
    for record, place in expanded(file.records(), reading):
        if isinstance(record, Unreadable):
            yield record
            continue
        whole = whole or reading.session_of(record.digest)
        try:
            found = message(record.value, count if place is None else place, reading, whole)
        except ValidationError as error:
            yield refused(record.line, error)
            continue
        finally:
            count += 1
        if found is None:
            reading.leave_out("message without a text")
        else:
            yield Draft(
                line=record.line,
                content=found[0],
                arguments=found[1],
                digest=digest_of(record.digest, found[1]),
                changed_us=last_change(record.value),
                in_file_order=is_in_file_order(record.value, found[1], reading),
            )


def is_in_file_order(
    record: Mapping[str, Any], arguments: Mapping[str, Any], reading: Reading
) -> bool:
    """Return whether a turn is of a session that the file names, and has no place of its own."""
    session = arguments.get("session_id")
    named = session is not None and not reading.has_begun(session)
    return named and first_present(record, SEQUENCE_KEYS) is None


def digest_of(digest: str, arguments: Mapping[str, Any]) -> str:
    """The digest of a turn: one without a time is known by its session too, for other sessions may
    begin with the same words; with a time it is the same in a file of another name."""
    session = arguments.get("session_id")
    if session is None or arguments.get("t_ref") is not None:
        return digest
    own = hashlib.sha256(f"{session}:{digest}".encode("utf-8", "surrogatepass")).hexdigest()
    return own[: len(digest)]


def expanded(
    records: Iterator[Record | Unreadable], reading: Reading
) -> Iterator[tuple[Record | Unreadable, int | None]]:
    """The records, and in the place of an object with a list `messages` these, each with its place
    in the list, and with the scope and the session of the whole."""
    for record in records:
        listed = None if isinstance(record, Unreadable) else record.value.get("messages")
        if isinstance(record, Unreadable) or not isinstance(listed, list):
            yield record, None
            continue
        shared = {key: record.value[key] for key in _SHARED if record.value.get(key) is not None}
        named = first_present(record.value, CONVERSATION_KEYS)
        read = ("messages", *CONVERSATION_KEYS, *_SHARED)
        reading.leave_unread(record.value, read, "beside messages")
        digest, session = RunningDigest(), named
        for place, value in enumerate(listed):
            so_far = digest.after(msgspec.json.encode(value))
            session = session or reading.session_of(so_far)
            if isinstance(value, dict):
                own = {SESSION_KEYS[-1]: session} if _is_said(value) else {}
                yield Record(record.line + place, {**own, **shared, **value}, so_far), place
            else:
                yield Unreadable(record.line + place, no_object(value)), place


def _is_said(record: Mapping[str, Any]) -> bool:
    """Return whether somebody says it."""
    return first_present(record, (*AUTHOR_KEYS, "role")) is not None


def message(
    record: dict[str, Any], position: int, reading: Reading, whole: str
) -> tuple[str, dict[str, Any]] | None:
    """(content, commit arguments without content), or None where nothing is said.

    The argument `artifact_ref` is absent when the record has no id.

    Args:
        position: order in the file, from 0.
        whole: the session of turns with a role that name none.

    Raises:
        ValidationError: no text, or a field that is not text.
    """
    given = first_present(record, CONTENT_KEYS)
    if given is None and not only_calls_tools(record):
        raise missing(*CONTENT_KEYS)
    content = joined_text("content", record, given)
    if content is None:
        return None
    author = text_or_number("author", first_present(record, AUTHOR_KEYS))
    session = text_or_number("session_id", first_present(record, SESSION_KEYS))
    title = text_or_number("title", record.get("title"))
    role = _role(record.get("role"), author)
    time = first_present(record, TIME_KEYS)
    has_title = title is not None and bool(title.strip())
    if author is None and role is None and time is None and not has_title:
        # Nobody says it at any moment: a passage, and the session names what it is of.
        title, session = session, None
    elif session is None and role is not None:
        session = whole
    scope = text_or_number("scope", first_present(record, SCOPE_KEYS))
    sequence = first_present(record, SEQUENCE_KEYS)
    found = {
        "author": author,
        "role": role,
        "session_id": session,
        "title": title,
        "scope": reading.scope if scope is None else scope,
        "t_ref": time,
        "origin_type": record.get("origin_type"),
        "trigger": record.get("trigger"),
        "artifact_ref": text_or_number("id", first_present(record, REFERENCE_KEYS)),
    }
    arguments = {name: value for name, value in found.items() if value is not None}
    arguments["sequence"] = position if sequence is None else sequence
    metadata = _metadata(record, arguments, reading)
    if metadata:
        arguments["metadata"] = metadata
    return content, arguments


def _metadata(
    record: dict[str, Any], arguments: dict[str, Any], reading: Reading
) -> dict[str, Any]:
    tags = record.get("tags")
    others = {key: value for key, value in record.items() if key not in KEYS}
    others |= _unused(record)
    reading.other_keys.update(dict.fromkeys(others))
    own = record.get("metadata")
    if isinstance(own, dict):
        others = {**own, **others}
    elif own is not None:
        others["metadata"] = own
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        arguments["tags"] = tags
    elif tags is not None:
        others["tags"] = tags
    return metadata_names({key: value for key, value in others.items() if value is not None})


def _unused(record: dict[str, Any]) -> dict[str, Any]:
    """The values of keys in whose place an earlier key of the same meaning counts."""
    unused: dict[str, Any] = {}
    for keys in _MEANINGS:
        used = first_present(record, keys)
        unused |= {
            key: record[key] for key in keys if record.get(key) is not None and record[key] != used
        }
    return unused


def metadata_names(values: dict[str, Any]) -> dict[str, Any]:
    """The values under names that metadata may have.

    Example:
        >>> metadata_names({"mood": "calm", "source": "log"})
        {'mood': 'calm', 'original_source': 'log'}
    """
    return {_RESERVED.get(key, key): value for key, value in values.items()}


def _role(role: Any, author: str | None) -> Any:
    """The role that the record names, else an author that is called like a role."""
    named = author if role is None else role
    try:
        return Role(named.strip()).value if isinstance(named, str) else role
    except ValueError:
        return role
