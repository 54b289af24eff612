"""The request of `retrieve`, with its messages read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from vestig.arguments import label, text_argument, time_us
from vestig.calls.filter import Filter
from vestig.calls.queries import RetrieveRequest
from vestig.config.recall_sections import RetrieveSettings
from vestig.errors import ValidationError
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.hints import NAME_CHARS_MAX, nearest, unknown_name_error
from vestig.ids import new_id
from vestig.messages import NEVER_SPOKEN, joined_text
from vestig.retrieve.types import Message

_ENTRIES_MAX: Final = 10_000
# So like one of the fields of a message is a misspelt one, 0 to 1.
_MISSPELT: Final = 0.85
_FIELDS: Final = (
    "author",
    "author_name",
    "role",
    "content",
    "timestamp",
    "author_id",
    "message_id",
    "reference_message_id",
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A call of `retrieve` with the values of its store in the place of what it leaves open.
    `messages`: oldest first; the last one is the focus."""

    messages: tuple[Message, ...]
    where: Filter
    filter: FilterParts
    max_facts: int
    max_messages: int
    max_iterations: int
    budget: int
    request_id: str
    namespace: str
    moments: Moments
    deadline_s: float
    debug: bool
    warnings: tuple[str, ...]

    @property
    def focus(self) -> Message:
        """The message that is to be answered."""
        return self.messages[-1]


def request_of(
    asked: RetrieveRequest,
    settings: RetrieveSettings,
    *,
    now_us: int,
    namespace: str,
    include_expired: bool,
) -> Request:
    """Return what is searched for, before any work is done.

    Args:
        settings: what counts where the call says nothing.
        namespace: that of the store.
        include_expired: whether expired memories count where the filter does not say.

    Raises:
        ValidationError: a wrong message; names the field, what came and what is allowed. Two
            different scopes.
    """
    space = namespace if asked.namespace is None else asked.namespace
    at = moments(
        now_us,
        as_of=asked.as_of,
        known_at=asked.known_at,
        valid_at=asked.valid_at,
        query_time=asked.query_time,
    )
    where = scoped(asked)

    def chosen(name: str) -> int:
        value = getattr(asked, name)
        return int(getattr(settings, name) if value is None else value)

    return Request(
        messages=_messages(asked.messages),
        where=where,
        filter=filter_parts(where, space, at, include_expired=include_expired),
        max_facts=chosen("max_facts"),
        max_messages=chosen("max_messages"),
        max_iterations=chosen("max_iterations"),
        budget=chosen("budget"),
        request_id=new_id("req") if asked.request_id is None else asked.request_id,
        namespace=space,
        moments=at,
        deadline_s=chosen("deadline_ms") / 1e3,
        debug=asked.debug,
        warnings=at.warnings,
    )


def _messages(value: object) -> tuple[Message, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise ValidationError("messages", type(value).__name__, "a list of messages")
    if not value:
        error = ValidationError("messages", "an empty list", "at least one entry")
        error.args = ("messages must contain at least one entry",)
        raise error
    if len(value) > _ENTRIES_MAX:
        raise ValidationError("messages", f"{len(value)} entries", f"at most {_ENTRIES_MAX}")
    found = [_message(f"messages[{at}]", item) for at, item in enumerate(value)]
    said = tuple(one for one in found if one is not None)
    if not said:
        raise ValidationError("messages", "no text", "at least one entry that somebody said")
    return said


def _message(field: str, item: object) -> Message | None:
    """One message; None where nobody says anything in it: it is of a tool or of the system, or only
    calls a tool. Names that other programs give a message are left aside, but for misspelt ones of
    ours."""
    if not isinstance(item, Mapping):
        raise ValidationError(field, type(item).__name__, "an object with content")
    for name in item:
        near = nearest(str(name)[:NAME_CHARS_MAX], _FIELDS, _MISSPELT)
        if name not in _FIELDS and near:
            raise unknown_name_error(str(name), _FIELDS, field, near=near, path=field)
    content = joined_text(f"{field}.content", item, item.get("content"))
    role = label(f"{field}.role", item.get("role"))
    author, alias = (label(f"{field}.{name}", item.get(name)) for name in _FIELDS[:2])
    if author is not None and alias is not None and author != alias:
        raise ValidationError(f"{field}.author_name", alias, "the same text as author, or neither")
    if content is None or (author is alias is None and role in NEVER_SPOKEN):
        return None
    stated = time_us(f"{field}.timestamp", item.get("timestamp"))
    return Message(
        content=text_argument(f"{field}.content", content),
        author=author or alias or role or "user",
        timestamp_us=stated,
        author_id=label(f"{field}.author_id", item.get("author_id")),
        message_id=label(f"{field}.message_id", item.get("message_id")),
        reference_message_id=label(
            f"{field}.reference_message_id", item.get("reference_message_id")
        ),
    )


def scoped(asked: RetrieveRequest) -> Filter:
    """The filter of a call, with the scope that older clients name beside it."""
    inside, seen = asked.where.given().get("scope"), "where.scope"
    for name in ("scope", "channel_id"):
        value = getattr(asked, name)
        if not value:
            continue
        if inside is not None and inside != (value,):
            raise ValidationError(
                name, value, f"the scope that {seen} names, for both mean where.scope"
            )
        inside, seen = (value,), name
    return asked.where if inside is None else msgspec.structs.replace(asked.where, scope=inside)
