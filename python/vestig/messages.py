"""Messages of a conversation as programs that talk to language models have them.

A message has a `role` or an author, and a `content`: a text, a list of parts of which some are
text, or null where it only calls a tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestig.errors import ValidationError, kind_of

# Roles of those who talk with each other, and of what stands beside the talk; every other one is
# of somebody who talks.
SPEAKERS: Final = ("user", "assistant", "human", "ai", "model")
ASSISTANTS: Final = ("assistant", "ai", "model")
NEVER_SPOKEN: Final = ("system", "developer", "tool", "function")
# Types of the parts of a content that hold text.
TEXT_PARTS: Final = ("text", "input_text", "output_text")
_CALLS: Final = ("tool_calls", "function_call")
BETWEEN_PARTS: Final = "\n\n"


def plain_role(role: str) -> str:
    """A role in the case in which these tables have it.

    Example:
        >>> plain_role(" User")
        'user'
    """
    return role.strip().lower()


def text_parts(content: object) -> list[str] | None:
    """The texts of a content; [] where it holds other things alone; None where it is none.

    Example:
        >>> text_parts("Hello"), text_parts([{"type": "text", "text": "Hello"}, {"type": "image"}])
        (['Hello'], ['Hello'])
        >>> text_parts([{"type": "tool_use", "name": "clock"}]), text_parts(3)
        ([], None)
    """
    if isinstance(content, str):
        return [content]
    parts = [content] if isinstance(content, Mapping) else content
    if not isinstance(parts, (list, tuple)):
        return None
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, Mapping):
            return None
        elif part.get("type", "text") in TEXT_PARTS:
            if not isinstance(part.get("text"), str):
                return None
            texts.append(part["text"])
    return texts


def only_calls_tools(message: Mapping[Any, Any]) -> bool:
    """Return whether a message without content is one all the same: it names its role and says
    null, or calls a tool.

    Example:
        >>> only_calls_tools({"role": "assistant", "content": None}), only_calls_tools({})
        (True, False)
    """
    if message.get("content") is not None:
        return False
    named = message.get("role") is not None and "content" in message
    return named or any(message.get(name) is not None for name in _CALLS)


def joined_text(field: str, message: Mapping[Any, Any], content: object) -> str | None:
    """The text of a message; None where nothing is said in it.

    Args:
        field: what an error names.
        content: that of the message, under whatever name it has there.

    Raises:
        ValidationError: it is neither text nor a list of parts.

    Example:
        >>> said = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}
        >>> joined_text("content", said, said["content"])
        'Hello'
    """
    if isinstance(content, str):
        return content
    if content is None and only_calls_tools(message):
        return None
    texts = text_parts(content)
    if texts is None:
        raise ValidationError(
            field,
            kind_of(content),
            'text, or a list of parts such as {"type": "text", "text": "…"}',
        )
    return BETWEEN_PARTS.join(text for text in texts if text.strip()) or None
