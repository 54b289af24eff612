"""A conversation in the place of a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from vestig.errors import ValidationError
from vestig.messages import SPEAKERS, only_calls_tools, text_parts

# The end of a conversation holds what it asks for.
LAST_CHARS: Final = 2_000
_CUT: Final = "..."
_BETWEEN: Final = "\n\n"


def messages_text(messages: object) -> str:
    """Return what was said in `messages=[…]`, `speaker: text` after `speaker: text`.

    Args:
        messages: objects with `content` (text, or a list of parts) and a
            speaker: `author`, `role`, or `type`. Texts of tools and systems, and turns that only
            call a tool, are left out.

    Raises:
        ValidationError: no list, an entry without text, or no text of a speaker.

    Example:
        >>> messages_text([{"author": "Ada", "content": "Where is the key?"}])
        'Ada: Where is the key?'
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise ValidationError("messages", type(messages).__name__, "a list of messages")
    texts = []
    for at, message in enumerate(messages):
        found = _spoken(message)
        if found is None:
            raise ValidationError(
                f"messages[{at}]", type(message).__name__, "an object with a text under content"
            )
        texts += found
    if not texts:
        raise ValidationError("messages", "no text", "at least one entry that somebody said")
    return _BETWEEN.join(texts)


def conversation_text(query: str) -> str | None:
    """Return what was said in a query that is a JSON or JSONL conversation; None when it is none.

    Example:
        >>> conversation_text('{"role": "user", "content": "Where is the key?"}')
        'user: Where is the key?'
        >>> conversation_text("where is {the} key?") is None
        True
    """
    text = query.strip()
    if text[:1] not in ("[", "{"):
        return None
    entries = _entries(text)
    if not entries:
        return None
    texts = []
    for entry in entries:
        found = _spoken(entry)
        if found is None:
            return None
        texts += found
    return _BETWEEN.join(texts) if texts else None


def _entries(text: str) -> list[Any]:
    whole = _decoded(text)
    if isinstance(whole, dict):
        inner = whole.get("messages")
        return inner if isinstance(inner, list) else [whole]
    if isinstance(whole, list):
        return whole
    found = [_decoded(line) for line in text.splitlines() if line.strip()]
    return found if all(isinstance(entry, dict) for entry in found) else []


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _spoken(message: object) -> list[str] | None:
    """`speaker: text` of each block of text; [] where nobody speaks; None for no message."""
    if not isinstance(message, Mapping):
        return None
    inner = message.get("message")
    body: Mapping[Any, Any] = inner if isinstance(inner, Mapping) else message
    role = _first(body.get("role"), message.get("type"))
    speaker = _first(message.get("author"), message.get("author_name"), role, "user")
    content = _first(body.get("content"), body.get("text"))
    logged = isinstance(inner, Mapping) or "type" in message
    if content is None:
        # lines of a session log that carry no message, such as summaries
        return [] if logged or only_calls_tools(body) else None
    if role is not None and role not in SPEAKERS:
        return []
    texts = text_parts(content)
    if texts is None or not isinstance(speaker, str):
        return None
    return [f"{speaker}: {text.strip()}" for text in texts if text.strip()]


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def ending(text: str) -> str:
    """The query that a conversation stands for: its last 2000 characters, with leading `...` if
    cut.

    Example:
        >>> len(ending("x" * 3_000))
        2003
    """
    return text if len(text) <= LAST_CHARS else _CUT + text[-LAST_CHARS:]
