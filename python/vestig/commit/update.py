"""Update: fields in place, another text as a successor (L-13)."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from vestig.changes import ChangeSet
from vestig.commit import pipeline
from vestig.commit.request import validate_update
from vestig.commit.text import normalise
from vestig.errors import ConflictError, ValidationError
from vestig.hints import check_names
from vestig.lifecycle.update import FieldChanges
from vestig.lifecycle.update import update as decide_update
from vestig.memories.states import change_state, check_unexpired
from vestig.ports import LedgerView
from vestig.session.session import Context
from vestig.types import CommitOutcome, Memory, Stability, Status, _Value

__all__ = ["UpdateResult", "update"]

_TIMES: Final = ("retention_until", "t_valid", "t_invalid")
_FIELDS: Final = (
    "content",
    "metadata",
    "tags",
    "scope",
    "retention_policy",
    "temporal_stability",
    "trigger",
    *_TIMES,
)
# What a new text takes over from the memory that it replaces.
_INHERITED: Final = ("author", "role", "session_id", "sequence", "title", "trigger", "scope")


class UpdateResult(_Value, frozen=True, kw_only=True):
    """What an update did. `memory_id` is another one when the text changed; `outcome` is then
    that of its commit."""

    memory_id: str
    changed: bool
    fields: tuple[str, ...]
    version: int
    seq: int
    outcome: CommitOutcome | None = None


def field_changes(given: dict[str, Any]) -> FieldChanges:
    """The checked values of `update` (L-13): absent = keep, None = clear."""
    checked = validate_update(given)
    return FieldChanges(**{name: value for name, value in checked.items() if value is not UNSET})


def update(
    context: Context, id: object, given: dict[str, Any], *, namespace: object
) -> UpdateResult:
    """Absent = keep, None = clear, value = set."""
    check_names(given, _FIELDS, "a field of update")
    content = given.pop("content", UNSET)
    if content is None:
        raise ValidationError("content", None, "text: a memory cannot be without a text")
    if content is not UNSET:
        return _rewrite(context, id, content, given, namespace)
    changes = field_changes(given)
    policy = context.config.settings.lifecycle.default_policy

    def decision(
        view: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        _check_scope(view, memory, changes)
        return decide_update(memory, changes, default_policy=policy, now_us=now)

    state = change_state(context, id, "update", decision, namespace)
    return UpdateResult(
        memory_id=state.memory_id,
        changed=state.changed,
        fields=state.fields,
        version=state.version,
        seq=state.seq,
    )


def _check_scope(view: LedgerView, memory: Memory, changes: FieldChanges) -> None:
    """One text once per scope and author (D-01)."""
    if changes.scope is UNSET or changes.scope == memory.scope:
        return
    space, author = memory.namespace, memory.author
    for other in view.same_text(space, changes.scope, author, memory.content_hash):
        if other.status in (Status.ACTIVE, Status.ARCHIVED):
            raise ConflictError(
                f"cannot move {memory.id} to that scope: {other.id} holds the same text there and"
                f" is {other.status.value}"
            )


def _rewrite(
    context: Context, id: object, content: object, given: dict[str, Any], namespace: object
) -> UpdateResult:
    """Commits the new text with `supersedes`; the same text changes only the other fields."""
    space = context.in_namespace(namespace)
    text = normalise(content, context.config.settings.hygiene)
    with context.ledger.read() as view:
        memory = context.memory(view, space, id)
        seq = view.seq
    check_unexpired(memory, "update")
    if text == memory.content:
        if given:
            return update(context, memory.id, given, namespace=space)
        return UpdateResult(
            memory_id=memory.id, changed=False, fields=(), version=memory.version, seq=seq
        )
    fields = _successor_fields(memory) | {k: v for k, v in given.items() if v is not None}
    for name, value in given.items():
        if value is None:
            fields.pop(name, None)
    fields |= {"namespace": space, "supersedes": [memory.id], "strict": True}
    outcome = pipeline.commit(context, content, fields)
    assert outcome.memory_id is not None, "strict commits have a memory"
    assert outcome.seq is not None, "strict commits are written"
    with context.ledger.read() as view:
        after = view.memories(space, [outcome.memory_id])[0]
    return UpdateResult(
        memory_id=outcome.memory_id,
        changed=True,
        fields=("content", *given),
        version=after.version,
        seq=outcome.seq,
        outcome=outcome,
    )


def _successor_fields(memory: Memory) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: getattr(memory, name) for name in _INHERITED if getattr(memory, name) is not None
    }
    own = {k: v for k, v in memory.metadata.items() if k not in ("source", "tags")}
    fields |= {
        "metadata": own,
        "tags": list(memory.tags),
        "retention_policy": memory.retention_policy,
        "pinned": memory.pinned,
    }
    if memory.retention_until is not None:
        fields["retention_until"] = memory.retention_until
    if not memory.origin_derived:
        fields["origin_type"] = memory.origin_type
    # "ephemeral" comes from the wording, which is another one now (T-04).
    if memory.temporal_stability in (Stability.STATIC, Stability.DYNAMIC):
        fields["temporal_stability"] = memory.temporal_stability
    return fields
