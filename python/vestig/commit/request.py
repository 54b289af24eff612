"""The arguments of `commit` and of `update`, checked once for every surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from vestig.arguments import (
    SCOPE_CHARS_MAX,
    check_validity,
    choice,
    flag,
    label,
    memory_ids,
    namespace_text,
    plain_metadata,
    provenance_fields,
    required_choice,
    sequence_number,
    source_text,
    texts,
    time_us,
)
from vestig.commit.claims import given_claim
from vestig.commit.names import GivenEntity, given_entities
from vestig.commit.questions import given_questions
from vestig.config.schema import Settings
from vestig.errors import ValidationError
from vestig.hints import check_names
from vestig.ports import CommitHook
from vestig.types import (
    Claim,
    Kind,
    OriginType,
    RetentionPolicy,
    Role,
    Stability,
    Trigger,
    Word,
    derived_origin,
)


class OnNearDup(Word):
    """Ways to treat a text that restates a known fact."""

    REINFORCE = "reinforce"
    LINK = "link"
    INSERT = "insert"


class CommitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The checked arguments of one commit: times in microseconds since the epoch, None = absent.

    `content` is as the caller gave it: `normalise` checks it. `tags_given` tells an empty list
    from no list, `policy_given` a chosen policy from the default one; `temporal_stability` None =
    to be derived.
    """

    content: object
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
    hypothetical_queries: tuple[object, ...] | None
    claim: Claim | None
    retention_policy: RetentionPolicy
    policy_given: bool
    retention_until_us: int | None
    pinned: bool
    supersedes: tuple[str, ...]
    on_near_dup: OnNearDup
    enrich: bool | None
    strict: bool
    dry_run: bool
    on_commit: CommitHook | None
    kind: Kind = Kind.MEMORY


# What a caller may name, in the order in which an error lists them.
FIELDS: Final = (
    "content",
    "source",
    "namespace",
    "scope",
    "tags",
    "metadata",
    "actor",
    "agent",
    "author",
    "role",
    "session_id",
    "sequence",
    "title",
    "origin_type",
    "artifact_ref",
    "t_valid",
    "t_invalid",
    "t_ref",
    "temporal_stability",
    "trigger",
    "entities",
    "keywords",
    "hypothetical_queries",
    "claim",
    "retention_policy",
    "retention_until",
    "pinned",
    "supersedes",
    "on_near_dup",
    "enrich",
    "strict",
    "dry_run",
    "on_commit",
)


def _with_defaults(given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The arguments that a caller gave, and the values of those absent that have one."""
    if "provenance" in given:
        rest = {name: value for name, value in given.items() if name != "provenance"}
        given = rest | provenance_fields(given["provenance"])
    check_names(given, FIELDS, "commit", "argument")
    if "content" not in given:
        raise ValidationError("content", None, "the text to remember")
    defaults = {
        "source": "manual",
        "retention_policy": settings.lifecycle.default_policy,
        "pinned": False,
        "on_near_dup": settings.hygiene.near_duplicate.on_near_dup,
        "strict": False,
        "dry_run": False,
    }
    return defaults | {name: value for name, value in given.items() if value is not None}


def validate(
    given: Mapping[str, Any], settings: Settings, namespace: str = "default"
) -> CommitRequest:
    """Every check of a commit's arguments that needs no store. `content` is checked by
    `normalise`.

    Args:
        given: the arguments by name; None = absent.
        settings: the settings, for the defaults of `on_near_dup` and `retention_policy`.
        namespace: the namespace of a request that names none.

    Raises:
        ValidationError: an unknown name (the nearest valid one is in the message), no content,
            or the first bad argument, with field, value and what is allowed.

    Example:
        >>> from vestig.config import load
        >>> given = {"content": "Deploys run on Fridays", "role": "user"}
        >>> validate(given, load(environ={}).settings).origin_type.value
        'chat_agent'
    """
    value = _with_defaults(given, settings).get
    role = choice("role", value("role"), Role)
    author, session_id = label("author", value("author")), label("session_id", value("session_id"))
    title = label("title", value("title"))
    origin = choice("origin_type", value("origin_type"), OriginType)
    derived = derived_origin(role, author, session_id, title)
    trigger = choice("trigger", value("trigger"), Trigger)
    hook = value("on_commit")
    if hook is not None and not callable(hook):
        raise ValidationError("on_commit", type(hook).__name__, "a function")
    request = CommitRequest(
        content=value("content"),
        source=source_text(value("source")),
        namespace=namespace_text(value("namespace"), namespace),
        scope=label("scope", value("scope"), SCOPE_CHARS_MAX),
        tags=() if value("tags") is None else texts("tags", value("tags")),
        tags_given=value("tags") is not None,
        metadata={} if value("metadata") is None else plain_metadata(value("metadata")),
        actor=label("actor", value("actor")),
        agent=label("agent", value("agent")),
        author=author,
        role=None if role is None else role.value,
        session_id=session_id,
        sequence=sequence_number(value("sequence")),
        title=title,
        origin_type=derived if origin is None else origin,
        origin_derived=origin is None,
        artifact_ref=label("artifact_ref", value("artifact_ref")),
        t_valid_us=time_us("t_valid", value("t_valid")),
        t_invalid_us=time_us("t_invalid", value("t_invalid")),
        t_ref_us=time_us("t_ref", value("t_ref")),
        temporal_stability=choice("temporal_stability", value("temporal_stability"), Stability),
        trigger=None if trigger is None else trigger.value,
        keywords=() if value("keywords") is None else texts("keywords", value("keywords")),
        entities=() if value("entities") is None else given_entities(value("entities")),
        hypothetical_queries=None
        if value("hypothetical_queries") is None
        else given_questions(value("hypothetical_queries")),
        claim=given_claim(value("claim")),
        retention_policy=required_choice(
            "retention_policy", value("retention_policy"), RetentionPolicy
        ),
        policy_given=given.get("retention_policy") is not None,
        retention_until_us=time_us("retention_until", value("retention_until")),
        pinned=flag("pinned", value("pinned")),
        supersedes=memory_ids(value("supersedes")),
        on_near_dup=required_choice("on_near_dup", value("on_near_dup"), OnNearDup),
        enrich=None if value("enrich") is None else flag("enrich", value("enrich")),
        strict=flag("strict", value("strict")),
        dry_run=flag("dry_run", value("dry_run")),
        on_commit=hook,
    )
    begins = request.t_valid_us if request.t_valid_us is not None else request.t_ref_us
    if begins is not None:
        check_validity(begins, request.t_invalid_us)
    return request


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
    check_names(given, _UPDATES, "update", "argument")
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if value is UNSET:
            continue
        target, check = _UPDATES[name]
        checked[target] = None if value is None else check(value)
    return checked
