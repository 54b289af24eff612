"""Messages of a conversation, as an argument."""

from collections.abc import Mapping
from typing import Any, Final

from vestig.arguments import LABEL_CHARS_MAX, LIST_ITEMS_MAX
from vestig.calls.argument import NO_FACTS, Facts, Label, Objects, Time, or_null
from vestig.messages import SPEAKERS, TEXT_PARTS

_TEXT_PART: Final = {
    "type": "object",
    "properties": {"type": {"enum": list(TEXT_PARTS)}, "text": {"type": "string"}},
    "required": ["text"],
}
_OTHER_PART: Final = {
    "type": "object",
    "properties": {"type": {"not": {"enum": list(TEXT_PARTS)}}},
    "required": ["type"],
}
_PARTS: Final = {"anyOf": [{"type": "string"}, _TEXT_PART, _OTHER_PART]}
_CONTENT: Final = {"anyOf": [*_PARTS["anyOf"], {"type": "array", "items": _PARTS}]}
_LABELS: Final = ("role", "author", "author_id", "message_id", "reference_message_id")
# In the place of a query: of all else, nothing is read.
_ASKING: Final = {"author": {"type": ["string", "null"]}}
_SAID: Final[Mapping[str, Any]] = {
    "timestamp": or_null(Time("").schema()),
    **{name: or_null(Label("", chars_max=LABEL_CHARS_MAX).schema()) for name in _LABELS},
}
# One that somebody said.
_SPOKEN: Final = {
    "type": "object",
    "properties": {
        "content": Label("", blank=False).schema(),
        "role": {"enum": list(SPEAKERS)},
    },
    "required": ["content", "role"],
}


class Messages(Objects, frozen=True, kw_only=True):
    """A conversation, oldest message first. `asking`: it stands in the place of a query."""

    asking: bool = False

    def schema(self, facts: Facts = NO_FACTS) -> dict[str, Any]:
        properties = {"content": _CONTENT, **(_ASKING if self.asking else _SAID)}
        item = {"type": "object", "properties": properties, "required": ["content"]}
        size = {"minItems": 1, "maxItems": LIST_ITEMS_MAX}
        return {"type": "array", "items": item, "contains": _SPOKEN, **size}
