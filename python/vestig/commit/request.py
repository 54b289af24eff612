"""The arguments of `commit` and of `update`, checked once for every surface."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import UNSET

from vestig.arguments import (
    SCOPE_CHARS_MAX,
    check_unicode,
    check_validity,
    choice,
    flag,
    label,
    memory_ids,
    namespace_text,
    required_choice,
    sequence_number,
    source_text,
    texts,
    time_us,
)
from vestig.commit.names import GivenEntity, given_entities
from vestig.commit.questions import given_questions
from vestig.errors import ValidationError
from vestig.hints import did_you_mean
from vestig.types import Kind, OriginType, RetentionPolicy, Role, Stability, Trigger, Word

__all__ = [
    "METADATA_BYTES_MAX",
    "CommitRequest",
    "OnNearDup",
    "ValidRequest",
    "check_validity",
    "derive_origin",
    "from_fields",
    "plain_metadata",
    "validate",
    "validate_update",
]

_AGENT_ROLES: Final = frozenset(("user", "assistant", "tool"))


def derive_origin(
    *, role: str | None, author: str | None, session_id: str | None, from_chunk: bool = False
) -> OriginType:
    """The origin type of a memory, from the memory alone.

    Example:
        >>> derive_origin(role="tool", author=None, session_id=None).value
        'chat_agent'
        >>> derive_origin(role=None, author="Dana", session_id="s1").value
        'chat_peer'
    """
    if role in _AGENT_ROLES:
        return OriginType.CHAT_AGENT
    if author is not None and session_id is not None:
        return OriginType.CHAT_PEER
    return OriginType.DOCUMENT if from_chunk else OriginType.NOTE


METADATA_BYTES_MAX: Final = 65_536
_DEPTH_MAX: Final = 32
_RESERVED: Final = frozenset(("source", "tags"))
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1


def plain_metadata(value: object) -> dict[str, Any]:
    """A copy of an object of JSON values; {} for an empty one.

    Raises:
        ValidationError: not an object of JSON values, a reserved key, NaN or infinity, nested
            deeper than 32 levels, or more than 64 KiB as JSON.

    Example:
        >>> plain_metadata({"ticket": 7, "labels": ("a", "b")})
        {'ticket': 7, 'labels': ['a', 'b']}
    """
    if not isinstance(value, Mapping):
        raise ValidationError("metadata", _kind(value), "an object (names to JSON values)")
    for name in sorted(_RESERVED):
        if name in value:
            raise ValidationError(
                f"metadata.{name}",
                _kind(value[name]),
                "no such key in metadata",
                f"use the argument {name}",
            )
    plain = _plain(value, "metadata", 0)
    assert isinstance(plain, dict)
    size = len(msgspec.json.encode(plain))
    if size > METADATA_BYTES_MAX:
        raise ValidationError(
            "metadata", f"{size} bytes", f"at most {METADATA_BYTES_MAX} bytes as JSON"
        )
    return plain


def _kind(value: object) -> str:
    return type(value).__name__


def _plain(value: object, path: str, depth: int) -> Any:
    if depth > _DEPTH_MAX:
        raise ValidationError(path[:60], "a deeper one", f"at most {_DEPTH_MAX} levels of nesting")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_unicode(path, str(value))
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise ValidationError(path, "a larger integer", "an integer of at most 64 bits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(path, value, "a finite number")
        return float(value)
    if isinstance(value, Mapping):
        copied: dict[str, Any] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValidationError(path, _kind(name), "text as the name of every value")
            copied[check_unicode(path, name)] = _plain(item, f"{path}.{name}", depth + 1)
        return copied
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)]
    raise ValidationError(
        path, _kind(value), "a JSON value (text, number, boolean, null, list, object)"
    )


class OnNearDup(Word):
    """What happens when a text restates a known fact."""

    REINFORCE = "reinforce"
    LINK = "link"
    INSERT = "insert"


class CommitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `commit` as the caller gave them; None = absent.

    Surfaces, batches and import build this one struct; `validate` makes it plain.
    """

    content: Any
    source: Any = "manual"
    namespace: Any = None
    scope: Any = None
    tags: Any = None
    metadata: Any = None
    actor: Any = None
    agent: Any = None
    author: Any = None
    role: Any = None
    session_id: Any = None
    sequence: Any = None
    title: Any = None
    origin_type: Any = None
    artifact_ref: Any = None
    t_valid: Any = None
    t_invalid: Any = None
    t_ref: Any = None
    temporal_stability: Any = None
    trigger: Any = None
    entities: Any = None
    keywords: Any = None
    hypothetical_queries: Any = None
    retention_policy: Any = None
    retention_until: Any = None
    pinned: Any = False
    supersedes: Any = None
    on_near_dup: Any = None
    enrich: Any = None
    strict: Any = False
    dry_run: Any = False
    on_commit: Any = None


class ValidRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Checked arguments: times in microseconds since the epoch, None = absent.

    `tags_given` tells an empty list from no list; `temporal_stability` None = to be derived.
    """

    content: Any
    source: str
    namespace: str
    scope: str | None
    tags: tuple[str, ...]
    tags_given: bool
    metadata: dict[str, Any]
    actor: str | None
    agent: str | None
    author: str | None
    role: str | None
    session_id: str | None
    sequence: int | None
    title: str | None
    origin_type: OriginType
    origin_derived: bool
    artifact_ref: str | None
    t_valid_us: int | None
    t_invalid_us: int | None
    t_ref_us: int | None
    temporal_stability: Stability | None
    trigger: str | None
    keywords: tuple[str, ...]
    entities: tuple[GivenEntity, ...]
    hypothetical_queries: tuple[Any, ...] | None
    retention_policy: RetentionPolicy
    retention_until_us: int | None
    pinned: bool
    supersedes: tuple[str, ...]
    on_near_dup: OnNearDup
    enrich: bool | None
    strict: bool
    dry_run: bool
    on_commit: Callable[[Any], None] | None
    kind: Kind = Kind.MEMORY


class _NearDuplicate(Protocol):
    @property
    def on_near_dup(self) -> str: ...


class _Hygiene(Protocol):
    @property
    def near_duplicate(self) -> _NearDuplicate: ...


class _Lifecycle(Protocol):
    @property
    def default_policy(self) -> str: ...


class RequestSettings(Protocol):
    """What validation reads of the settings: the defaults of two arguments."""

    @property
    def hygiene(self) -> _Hygiene: ...
    @property
    def lifecycle(self) -> _Lifecycle: ...


def _unknown(name: str, value: object, valid: tuple[str, ...], where: str) -> ValidationError:
    hint = did_you_mean(name, valid, 0.5, f"the fields are {', '.join(valid)}")
    return ValidationError(name[:60], type(value).__name__, f"a field of {where}", hint)


def from_fields(fields: Mapping[str, Any]) -> CommitRequest:
    """The request that a caller's field names make.

    Raises:
        ValidationError: an unknown field (the nearest valid name is in the message), or no
            content.

    Example:
        >>> from_fields({"content": "Deploys run on Fridays", "source": "hook"}).source
        'hook'
    """
    valid = CommitRequest.__struct_fields__
    for name in fields:
        if name not in valid:
            raise _unknown(str(name), fields[name], valid, "commit")
    if "content" not in fields:
        raise ValidationError("content", None, "the text to remember")
    given = dict(fields)
    for name in ("source", "pinned", "strict", "dry_run"):
        if name in given and given[name] is None:
            del given[name]
    return CommitRequest(**given)


# --- whole requests ------------------------------------------------------------------------


def validate(
    request: CommitRequest, settings: RequestSettings, namespace: str = "default"
) -> ValidRequest:
    """Every check of the arguments that needs no store. `content` is checked by
    `normalise`.

    Args:
        request: the arguments as given.
        settings: the settings, for the defaults of `on_near_dup` and `retention_policy`.
        namespace: the namespace of a request that names none.

    Raises:
        ValidationError: the first bad argument, with field, value and what is allowed.

    Example:
        >>> from vestig.config import load
        >>> request = from_fields({"content": "Deploys run on Fridays", "role": "user"})
        >>> validate(request, load(environ={}).settings).origin_type.value
        'chat_agent'
    """
    role = choice("role", request.role, Role)
    author, session_id = label("author", request.author), label("session_id", request.session_id)
    origin = choice("origin_type", request.origin_type, OriginType)
    derived = derive_origin(role=role, author=author, session_id=session_id)
    trigger = choice("trigger", request.trigger, Trigger)
    near = settings.hygiene.near_duplicate.on_near_dup if request.on_near_dup is None else None
    policy = settings.lifecycle.default_policy if request.retention_policy is None else None
    if request.on_commit is not None and not callable(request.on_commit):
        raise ValidationError("on_commit", type(request.on_commit).__name__, "a function")
    valid = ValidRequest(
        content=request.content,
        source=source_text(request.source),
        namespace=namespace_text(request.namespace, namespace),
        scope=label("scope", request.scope, SCOPE_CHARS_MAX),
        tags=() if request.tags is None else texts("tags", request.tags),
        tags_given=request.tags is not None,
        metadata={} if request.metadata is None else plain_metadata(request.metadata),
        actor=label("actor", request.actor),
        agent=label("agent", request.agent),
        author=author,
        role=None if role is None else role.value,
        session_id=session_id,
        sequence=sequence_number(request.sequence),
        title=label("title", request.title),
        origin_type=derived if origin is None else origin,
        origin_derived=origin is None,
        artifact_ref=label("artifact_ref", request.artifact_ref),
        t_valid_us=time_us("t_valid", request.t_valid),
        t_invalid_us=time_us("t_invalid", request.t_invalid),
        t_ref_us=time_us("t_ref", request.t_ref),
        temporal_stability=choice("temporal_stability", request.temporal_stability, Stability),
        trigger=None if trigger is None else trigger.value,
        keywords=() if request.keywords is None else texts("keywords", request.keywords),
        entities=() if request.entities is None else given_entities(request.entities),
        hypothetical_queries=None
        if request.hypothetical_queries is None
        else given_questions(request.hypothetical_queries),
        retention_policy=RetentionPolicy(policy)
        if policy is not None
        else required_choice("retention_policy", request.retention_policy, RetentionPolicy),
        retention_until_us=time_us("retention_until", request.retention_until),
        pinned=flag("pinned", request.pinned),
        supersedes=memory_ids(request.supersedes),
        on_near_dup=OnNearDup(near)
        if near is not None
        else required_choice("on_near_dup", request.on_near_dup, OnNearDup),
        enrich=None if request.enrich is None else flag("enrich", request.enrich),
        strict=flag("strict", request.strict),
        dry_run=flag("dry_run", request.dry_run),
        on_commit=request.on_commit,
    )
    begins = valid.t_valid_us if valid.t_valid_us is not None else valid.t_ref_us
    if begins is not None:
        check_validity(begins, valid.t_invalid_us)
    return valid


_UPDATES: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "metadata": ("metadata", plain_metadata),
    "tags": ("tags", lambda value: texts("tags", value)),
    "scope": ("scope", lambda value: label("scope", value, SCOPE_CHARS_MAX)),
    "retention_policy": (
        "retention_policy",
        lambda value: required_choice("retention_policy", value, RetentionPolicy).value,
    ),
    "retention_until": ("retention_until_us", lambda value: time_us("retention_until", value)),
    "t_valid": ("t_valid_us", lambda value: time_us("t_valid", value)),
    "t_invalid": ("t_invalid_us", lambda value: time_us("t_invalid", value)),
    "temporal_stability": (
        "temporal_stability",
        lambda value: required_choice("temporal_stability", value, Stability).value,
    ),
    "trigger": ("trigger", lambda value: required_choice("trigger", value, Trigger).value),
}


def validate_update(given: Mapping[str, Any]) -> dict[str, Any]:
    """The checked fields of `update`: absent or UNSET = keep, None = clear.

    Names of times carry the suffix `_us` and hold microseconds since the epoch.

    Raises:
        ValidationError: an unknown field, or the first bad value.

    Example:
        >>> validate_update({"tags": ["a", "a"], "t_invalid": None})
        {'tags': ('a',), 't_invalid_us': None}
    """
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _UPDATES:
            raise _unknown(str(name), value, tuple(_UPDATES), "update")
        if value is UNSET:
            continue
        target, check = _UPDATES[name]
        checked[target] = None if value is None else check(value)
    return checked
