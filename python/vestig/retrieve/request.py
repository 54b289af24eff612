"""The arguments of `retrieve`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from vestig.arguments import (
    as_integer,
    flag_argument,
    label,
    text_argument,
    time_us,
)
from vestig.calls.filter import Filter, FilterFields, checked_filter
from vestig.config.retrieve_sections import RetrieveSettings
from vestig.errors import ValidationError
from vestig.filters import FilterParts, Moments, filter_parts, moments
from vestig.hints import NAME_CHARS_MAX, nearest, unknown_name_error
from vestig.ids import check_namespace, new_id
from vestig.messages import NEVER_SPOKEN, joined_text
from vestig.retrieve.types import Message

FACTS_MAX: Final = 500
MESSAGES_MAX: Final = 100
ITERATIONS_MAX: Final = 50
BUDGET_MIN: Final = 40
_BUDGET_MAX: Final = 2_147_483_647
_ENTRIES_MAX: Final = 10_000
_REQUEST_ID_CHARS_MAX: Final = 128
_DEADLINE_MS_MAX: Final = 3_600_000
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


class RetrieveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `retrieve`; None = absent. `where` is a checked filter."""

    messages: Any
    where: Filter = Filter()
    max_facts: Any = None
    max_messages: Any = None
    max_iterations: Any = None
    budget: Any = None
    request_id: Any = None
    namespace: Any = None
    as_of: Any = None
    known_at: Any = None
    valid_at: Any = None
    query_time: Any = None
    deadline_ms: Any = None
    debug: Any = False


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A checked call of `retrieve`. `messages`: oldest first; the last one is the focus."""

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


def check_request(
    given: RetrieveRequest,
    settings: RetrieveSettings,
    *,
    now_us: int,
    namespace: str,
    include_expired: bool,
) -> Request:
    """Checks everything before any work is done.

    Args:
        settings: what counts where the call says nothing.
        namespace: that of the store.
        include_expired: whether expired memories count where the filter does not say.

    Raises:
        ValidationError: names the field, what came and what is allowed.
    """
    space = namespace if given.namespace is None else check_namespace(given.namespace)
    at = moments(
        now_us,
        as_of=time_us("as_of", given.as_of),
        known_at=time_us("known_at", given.known_at),
        valid_at=time_us("valid_at", given.valid_at),
        query_time=time_us("query_time", given.query_time),
    )
    return Request(
        messages=_messages(given.messages),
        where=given.where,
        filter=filter_parts(given.where, space, at, include_expired=include_expired),
        max_facts=_count("max_facts", given.max_facts, settings.max_facts, FACTS_MAX),
        max_messages=_count(
            "max_messages", given.max_messages, settings.max_messages, MESSAGES_MAX
        ),
        max_iterations=_count(
            "max_iterations", given.max_iterations, settings.max_iterations, ITERATIONS_MAX
        ),
        budget=_count("budget", given.budget, settings.budget, _BUDGET_MAX, BUDGET_MIN),
        request_id=_request_id(given.request_id),
        namespace=space,
        moments=at,
        deadline_s=_count("deadline_ms", given.deadline_ms, settings.deadline_ms, _DEADLINE_MS_MAX)
        / 1e3,
        debug=flag_argument("debug", given.debug),
        warnings=at.warnings,
    )


def _count(field: str, value: object, default: int, most: int, least: int = 1) -> int:
    if value is None:
        return default
    number = as_integer(value)
    if number is None or not least <= number <= most:
        raise ValidationError(field, value, f"an integer from {least} to {most}")
    return number


def _request_id(value: object) -> str:
    text = label("request_id", value, _REQUEST_ID_CHARS_MAX)
    if text is None:
        return new_id("req")
    if not text.strip():
        raise ValidationError("request_id", text, "text that is not blank")
    return text


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


def scoped(
    where: Filter | FilterFields | Mapping[str, Any] | None, scope: object, channel_id: object
) -> Filter:
    """The filter of a call, checked, with the scope that older clients name beside it.

    Raises:
        ValidationError: a wrong field; two different scopes.

    Example:
        >>> scoped({"tags": "infra"}, None, "team").given()
        {'scope': ('team',), 'tags': ('infra',)}
    """
    filter = checked_filter(where, query=True)
    inside, seen = filter.given().get("scope"), "where.scope"
    for name, value in (("scope", scope), ("channel_id", channel_id)):
        if value is None or value == "":
            continue
        named = (text_argument(name, value),)
        if inside is not None and inside != named:
            raise ValidationError(
                name, value, f"the scope that {seen} names, for both mean where.scope"
            )
        inside, seen = named, name
    return filter if inside is None else msgspec.structs.replace(filter, scope=inside)
