"""One record of a transcript to the arguments of `commit`."""

from __future__ import annotations

from typing import Any, Final

from vestig.errors import ValidationError
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
KNOWN_KEYS: Final = frozenset(
    CONTENT_KEYS
    + AUTHOR_KEYS
    + TIME_KEYS
    + SESSION_KEYS
    + SEQUENCE_KEYS
    + REFERENCE_KEYS
    + SCOPE_KEYS
    + _PLAIN_KEYS
)
# A commit sets these two itself; a record's own stay under another name.
_RESERVED: Final = {"source": "original_source", "tags": "original_tags"}


def first_present(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
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


class MessageReader:
    """Turns records into commit arguments and remembers which keys it did not know."""

    def __init__(self, scope: str | None) -> None:
        self._scope = scope
        self.other_keys: dict[str, None] = {}

    def read(self, record: dict[str, Any], position: int) -> tuple[str, dict[str, Any]] | None:
        """(content, commit arguments without content), or None where nothing is said. `position`:
        order in the file, from 0.

        The argument `artifact_ref` is absent when the record has no id.

        Raises:
            ValidationError: no text, or a field that is not text.
        """
        given = first_present(record, CONTENT_KEYS)
        if given is None and not only_calls_tools(record):
            raise ValidationError("content", None, "text under one of the keys content, text")
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
        scope = text_or_number("scope", first_present(record, SCOPE_KEYS))
        sequence = first_present(record, SEQUENCE_KEYS)
        found = {
            "author": author,
            "role": role,
            "session_id": session,
            "title": title,
            "scope": self._scope if scope is None else scope,
            "t_ref": time,
            "origin_type": record.get("origin_type"),
            "trigger": record.get("trigger"),
            "artifact_ref": text_or_number("id", first_present(record, REFERENCE_KEYS)),
        }
        arguments = {name: value for name, value in found.items() if value is not None}
        arguments["sequence"] = position if sequence is None else sequence
        metadata = self._metadata(record, arguments)
        if metadata:
            arguments["metadata"] = metadata
        return content, arguments

    def _metadata(self, record: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
        tags = record.get("tags")
        others = {key: value for key, value in record.items() if key not in KNOWN_KEYS}
        self.other_keys.update(dict.fromkeys(others))
        own = record.get("metadata")
        if isinstance(own, dict):
            others = {**own, **others}
        elif own is not None:
            others["metadata"] = own
        if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
            arguments["tags"] = tags
        elif tags is not None:
            others["tags"] = tags
        return {
            _RESERVED.get(key, key): value for key, value in others.items() if value is not None
        }


def _role(role: Any, author: str | None) -> Any:
    """The role that the record names, else an author that is called like a role."""
    named = author if role is None else role
    try:
        return Role(named.strip()).value if isinstance(named, str) else role
    except ValueError:
        return role
