"""The arguments of `commit` and of `update`, checked once for every surface (C-01, B-21)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import UNSET

from vestig.commit.metadata import plain_metadata
from vestig.commit.normalise import check_unicode
from vestig.commit.origin import derive_origin
from vestig.errors import ValidationError
from vestig.ids import check_id_prefix
from vestig.times import format_us, parse_time
from vestig.types import OriginType, RetentionPolicy, Role, Stability, Trigger

__all__ = [
    "CommitRequest",
    "OnNearDup",
    "ValidRequest",
    "check_validity",
    "from_fields",
    "validate",
    "validate_update",
]

NAMESPACE_CHARS_MAX: Final = 64
SCOPE_CHARS_MAX: Final = 200
SOURCE_CHARS_MAX: Final = 64
LABEL_CHARS_MAX: Final = 2_000
LIST_ITEMS_MAX: Final = 1_000
_NAMESPACE_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_SEQUENCE_MAX: Final = 2**63 - 1


class OnNearDup(StrEnum):
    """What happens when a text restates a known fact (C-07)."""

    REINFORCE = "reinforce"
    LINK = "link"
    INSERT = "insert"


class CommitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `commit` as the caller gave them (C-01); None = absent.

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
    keywords: Any = None
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
    retention_policy: RetentionPolicy
    retention_until_us: int | None
    pinned: bool
    supersedes: tuple[str, ...]
    on_near_dup: OnNearDup
    enrich: bool | None
    strict: bool
    dry_run: bool
    on_commit: Callable[[Any], None] | None


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
    near = difflib.get_close_matches(name, valid, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(valid)}"
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


# --- single values -------------------------------------------------------------------------


def _label(field: str, value: object, chars_max: int = LABEL_CHARS_MAX) -> str | None:
    """A text that names something: no NUL, no lone surrogate, bounded."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValidationError(field, type(value).__name__, "text")
    text = str(value)
    if len(text) > chars_max:
        raise ValidationError(field, f"{len(text)} characters", f"at most {chars_max} characters")
    if "\0" in text:
        raise ValidationError(field, "text with U+0000", "text without NUL characters")
    return check_unicode(field, text)


def _namespace(value: object, default: str) -> str:
    if value is None:
        return default
    if (
        not isinstance(value, str)
        or not 1 <= len(value) <= NAMESPACE_CHARS_MAX
        or not _NAMESPACE_ALPHABET.issuperset(value)
    ):
        raise ValidationError(
            "namespace", value, f"1 to {NAMESPACE_CHARS_MAX} characters of a-z 0-9 . _ -"
        )
    return str(value)


def _source(value: object) -> str:
    text = _label("source", value, SOURCE_CHARS_MAX)
    if not text:
        raise ValidationError("source", value, f"text of 1 to {SOURCE_CHARS_MAX} characters")
    return text


def _texts(field: str, value: object) -> tuple[str, ...]:
    """A list of non-empty texts, without repeats, in the order given."""
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ValidationError(field, type(value).__name__, "a list of texts")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError(field, f"{len(value)} items", f"at most {LIST_ITEMS_MAX} items")
    texts: dict[str, None] = {}
    for at, item in enumerate(value):
        text = _label(f"{field}[{at}]", item, SCOPE_CHARS_MAX)
        if text is None or not text.strip():
            raise ValidationError(f"{field}[{at}]", item, "text that is not blank")
        texts[text] = None
    return tuple(texts)


_E = TypeVar("_E", bound=StrEnum)


def _choice(field: str, value: object, choices: type[_E]) -> _E | None:
    if value is None:
        return None
    if isinstance(value, str):
        for choice in choices:
            if value == choice.value:
                return choice
    allowed = ", ".join(choice.value for choice in choices)
    near = difflib.get_close_matches(str(value)[:60], [choice.value for choice in choices], 1)
    hint = f"did you mean {near[0]}?" if near else ""
    raise ValidationError(field, value, f"one of {allowed}", hint)


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValidationError(field, value, "true or false")
    return value


def _time(field: str, value: object) -> int | None:
    return None if value is None else parse_time(value, field)


def _sequence(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _SEQUENCE_MAX:
        raise ValidationError("sequence", value, "an integer from 0 on")
    return int(value)


def _ids(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ValidationError("supersedes", type(value).__name__, "a list of memory ids")
    if len(value) > LIST_ITEMS_MAX:
        raise ValidationError("supersedes", f"{len(value)} ids", f"at most {LIST_ITEMS_MAX} ids")
    ids = (check_id_prefix(f"supersedes[{at}]", item, "mem") for at, item in enumerate(value))
    return tuple(dict.fromkeys(ids))


def check_validity(t_valid_us: int, t_invalid_us: int | None) -> None:
    """A fact cannot end before it begins (D-01).

    Example:
        >>> check_validity(0, 0)
    """
    if t_invalid_us is not None and t_invalid_us < t_valid_us:
        raise ValidationError(
            "t_invalid", format_us(t_invalid_us), f"a time from t_valid {format_us(t_valid_us)} on"
        )


# --- whole requests ------------------------------------------------------------------------


def validate(
    request: CommitRequest, settings: RequestSettings, namespace: str = "default"
) -> ValidRequest:
    """Every check of the arguments that needs no store (B-21). `content` is checked by
    `normalise`.

    Args:
        request: the arguments as given.
        settings: the settings, for the defaults of `on_near_dup` and `retention_policy`.
        namespace: the namespace of a request that names none.

    Raises:
        ValidationError: the first bad argument, with field, value and what is allowed.
    """
    role = _choice("role", request.role, Role)
    author, session_id = _label("author", request.author), _label("session_id", request.session_id)
    origin = _choice("origin_type", request.origin_type, OriginType)
    derived = derive_origin(role=role, author=author, session_id=session_id)
    trigger = _choice("trigger", request.trigger, Trigger)
    near = settings.hygiene.near_duplicate.on_near_dup if request.on_near_dup is None else None
    policy = settings.lifecycle.default_policy if request.retention_policy is None else None
    if request.on_commit is not None and not callable(request.on_commit):
        raise ValidationError("on_commit", type(request.on_commit).__name__, "a function")
    valid = ValidRequest(
        content=request.content,
        source=_source(request.source),
        namespace=_namespace(request.namespace, namespace),
        scope=_label("scope", request.scope, SCOPE_CHARS_MAX),
        tags=() if request.tags is None else _texts("tags", request.tags),
        tags_given=request.tags is not None,
        metadata={} if request.metadata is None else plain_metadata(request.metadata),
        actor=_label("actor", request.actor),
        agent=_label("agent", request.agent),
        author=author,
        role=None if role is None else role.value,
        session_id=session_id,
        sequence=_sequence(request.sequence),
        title=_label("title", request.title),
        origin_type=derived if origin is None else origin,
        origin_derived=origin is None,
        artifact_ref=_label("artifact_ref", request.artifact_ref),
        t_valid_us=_time("t_valid", request.t_valid),
        t_invalid_us=_time("t_invalid", request.t_invalid),
        t_ref_us=_time("t_ref", request.t_ref),
        temporal_stability=_choice("temporal_stability", request.temporal_stability, Stability),
        trigger=None if trigger is None else trigger.value,
        keywords=() if request.keywords is None else _texts("keywords", request.keywords),
        retention_policy=RetentionPolicy(policy)
        if policy is not None
        else _required("retention_policy", request.retention_policy, RetentionPolicy),
        retention_until_us=_time("retention_until", request.retention_until),
        pinned=_flag("pinned", request.pinned),
        supersedes=_ids(request.supersedes),
        on_near_dup=OnNearDup(near)
        if near is not None
        else _required("on_near_dup", request.on_near_dup, OnNearDup),
        enrich=None if request.enrich is None else _flag("enrich", request.enrich),
        strict=_flag("strict", request.strict),
        dry_run=_flag("dry_run", request.dry_run),
        on_commit=request.on_commit,
    )
    begins = valid.t_valid_us if valid.t_valid_us is not None else valid.t_ref_us
    if begins is not None:
        check_validity(begins, valid.t_invalid_us)
    return valid


def _required(field: str, value: object, choices: type[_E]) -> _E:
    chosen = _choice(field, value, choices)
    assert chosen is not None, "only called with a value"
    return chosen


_UPDATES: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "metadata": ("metadata", plain_metadata),
    "tags": ("tags", lambda value: _texts("tags", value)),
    "scope": ("scope", lambda value: _label("scope", value, SCOPE_CHARS_MAX)),
    "retention_policy": (
        "retention_policy",
        lambda value: _required("retention_policy", value, RetentionPolicy).value,
    ),
    "retention_until": ("retention_until_us", lambda value: _time("retention_until", value)),
    "t_valid": ("t_valid_us", lambda value: _time("t_valid", value)),
    "t_invalid": ("t_invalid_us", lambda value: _time("t_invalid", value)),
    "temporal_stability": (
        "temporal_stability",
        lambda value: _required("temporal_stability", value, Stability).value,
    ),
    "trigger": ("trigger", lambda value: _required("trigger", value, Trigger).value),
}


def validate_update(given: Mapping[str, Any]) -> dict[str, Any]:
    """The checked fields of `update` (L-13): absent or UNSET = keep, None = clear.

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
