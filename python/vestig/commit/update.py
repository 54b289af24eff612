"""Update: fields in place, another text as a successor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from vestig.arguments import check_validity
from vestig.calls.commit import STRUCTURED, CommitStructuredRequest, UpdateRequest
from vestig.calls.declaration import checked
from vestig.changes import ChangeSet, MemoryPatch, NewJob, NewOriginalText
from vestig.commit import pipeline
from vestig.commit.item import is_allowed
from vestig.commit.keys import with_begin_moved
from vestig.commit.text import content_hash, normalise, refusal_reason, text_forms
from vestig.errors import ConflictError, ValidationError
from vestig.firewall import Secret, holds_marker
from vestig.ids import new_id
from vestig.language import words
from vestig.language.ontology import UNTYPED
from vestig.language.text_forms import single_spaced
from vestig.memories.spans import happenings, span_of
from vestig.memories.states import change_state, check_unexpired, ended, event
from vestig.other_words import by_caller
from vestig.session.references import types_of
from vestig.session.session import Session
from vestig.store.records import keyed_memories
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import (
    CommitOutcome,
    EdgeType,
    EventType,
    Memory,
    RetentionPolicy,
    Stability,
    Trigger,
    _Value,
)

_TIME_FIELDS: Final = ("retention_until", "t_valid", "t_invalid")
_PLAIN_FIELDS: Final = ("scope", "retention_policy", "temporal_stability", "trigger")
_OTHER_FIELDS: Final = ("metadata", "tags", *_TIME_FIELDS)
# What a cleared column falls back to, where it cannot be empty.
_CLEARED: Final[dict[str, Any]] = {"temporal_stability": Stability.UNKNOWN}
# What a new text takes over from the memory that it replaces.
_INHERITED: Final = (
    "author", "role", "session_id", "sequence", "title", "trigger", "scope", "key",
)  # fmt: skip


class FieldChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Checked new values; UNSET = keep, None = clear. Times in microseconds. `layout`: (text as it
    is given, its normal form), where that is the memory's own."""

    layout: tuple[str, str] | None = None
    metadata: dict[str, Any] | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType | None = UNSET
    scope: str | UnsetType | None = UNSET
    retention_policy: RetentionPolicy | UnsetType | None = UNSET
    retention_until_us: int | UnsetType | None = UNSET
    t_valid_us: int | UnsetType | None = UNSET
    t_invalid_us: int | UnsetType | None = UNSET
    temporal_stability: Stability | UnsetType | None = UNSET
    trigger: Trigger | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET


class UpdateResult(_Value, frozen=True, kw_only=True):
    """Holds what an update did. `memory_id` is another one when the text changed; `outcome` is then
    that of its commit. `replaced`: what stood in a list that was set, and what stands there now."""

    memory_id: str
    changed: bool
    fields: tuple[str, ...]
    version: int
    seq: int
    outcome: CommitOutcome | None = None
    replaced: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the commit of another text."""
        return () if self.outcome is None else self.outcome.warnings


def update(
    session: Session, asked: UpdateRequest, secrets: tuple[Secret, ...] = ()
) -> UpdateResult:
    """Changes fields of a memory. Another text is committed as a new memory that supersedes this
    one; one that differs in white space or Unicode form alone takes the place of the memory's.

    Args:
        secrets: those that were masked in what was asked.
    """
    given = {name: getattr(asked, name) for name in (*_PLAIN_FIELDS, *_OTHER_FIELDS)}
    fields = {name: value for name, value in given.items() if value is not None}
    for name in asked.clear:
        if name in fields:
            raise ValidationError("clear", name, f"a field that is not also set with {name}")
    fields |= dict.fromkeys(asked.clear)
    parts = {name: getattr(asked, name) for name in STRUCTURED if getattr(asked, name) is not None}
    if parts:
        return _restructure(session, asked, fields, parts, secrets)
    if asked.content is not None:
        return _rewrite(session, asked, fields, secrets=secrets)
    return _change_fields(session, asked.id, _changes(fields), asked.namespace)


def _changes(fields: Mapping[str, Any]) -> FieldChanges:
    return FieldChanges(
        **{f"{name}_us" if name in _TIME_FIELDS else name: one for name, one in fields.items()}
    )


def _change_fields(
    session: Session, id: object, changes: FieldChanges, namespace: object
) -> UpdateResult:
    """Changes a memory in place, in one transaction."""
    policy = session.config.settings.lifecycle.default_policy
    replaced: tuple[str, ...] = ()

    def decision(
        view: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        nonlocal replaced
        _check_scope(view, memory, changes)
        replaced = _replaced_tags(memory, changes.tags)
        found, fields = update_changes(
            memory, changes, default_policy=RetentionPolicy(policy), now_us=now
        )
        if found is not None and "trigger" in fields:
            jobs = _question_jobs(session, view, memory, changes.trigger)
            found = msgspec.structs.replace(found, jobs=jobs)
        if found is not None and isinstance(changes.t_valid_us, int):
            found = with_begin_moved(view, memory, changes.t_valid_us, now, found)
        return found, fields

    state = change_state(session, id, "update", decision, namespace)
    if "trigger" in state.fields:
        session.jobs_queued.set()
    return UpdateResult(
        memory_id=state.memory_id,
        changed=state.changed,
        fields=state.fields,
        version=state.version,
        seq=state.seq,
        replaced=replaced,
    )


def _replaced_tags(memory: Memory, tags: Sequence[str] | UnsetType | None) -> tuple[str, ...]:
    """Return the tags before and after, where some are gone."""
    if isinstance(tags, UnsetType):
        return ()
    now = tags or ()
    gone = set(memory.tags).difference(now)
    return (f"tags: {', '.join(memory.tags)} → {', '.join(now) or 'none'}",) if gone else ()


def _question_jobs(
    session: Session, view: LedgerView, memory: Memory, trigger: str | UnsetType | None
) -> tuple[NewJob, ...]:
    """A trigger that allows questions queues them, where a language model can write them and the
    memory has none."""
    settings = session.config.settings
    wanted = session.has_model and settings.enrichment.mode != "off"
    if not wanted or trigger is UNSET or not is_allowed(trigger, settings.questions):
        return ()
    if memory.id in view.questions(memory.namespace, [memory.id]):
        return ()
    return (NewJob(id=new_id("job"), memory_id=memory.id, kind="hypothetical"),)


def _check_scope(view: LedgerView, memory: Memory, changes: FieldChanges) -> None:
    """One text once per scope and author; of a turn once at its position there; a key once per
    scope."""
    if changes.scope is UNSET or changes.scope == memory.scope:
        return
    if memory.key is not None:
        _check_key(view, memory, changes.scope)
        return
    other = text_in_scope(view, memory, changes.scope)
    if other is not None:
        raise ConflictError(
            f"cannot move {memory.id} to that scope: {other.id} holds the same text there and"
            f" is {other.status.word}"
        )


def text_in_scope(view: LedgerView, memory: Memory, scope: str | None) -> Memory | None:
    """The unexpired memory beside which one without a key cannot be in a scope, since it has the
    same text there."""
    space, author, position = memory.namespace, memory.author, None
    if memory.session_id is not None:
        position = memory.session_id, memory.sequence
    elif holds_marker(memory.content):
        return None
    found = view.same_text(space, scope, author, memory.content_hash, position)
    return next((one for one in found if one.t_expired is None), None)


def _check_key(view: LedgerView, memory: Memory, scope: str | None) -> None:
    """Refuses a scope in which another memory has the key."""
    if memory.key is None or scope == memory.scope:
        return
    other = keyed_memories.current(view, memory.namespace, scope, memory.key)
    if other is not None:
        raise ConflictError(
            f"cannot move {memory.id} to that scope: {other.id} has its key there and is"
            f" {other.status.word}"
        )


def _restructure(
    session: Session,
    asked: UpdateRequest,
    given: dict[str, Any],
    parts: Mapping[str, Any],
    secrets: tuple[Secret, ...],
) -> UpdateResult:
    """Makes the text of a structured memory anew, with other fields.

    Raises:
        ValidationError: the memory is not structured, or `content` is given too.
    """
    name = next(iter(parts))
    if asked.content is not None:
        raise ValidationError(name, f"{name} and content", f"either {name} or content, not both")
    space = session.in_namespace(asked.namespace)
    with session.ledger.read() as view:
        memory = session.memory(view, space, asked.id)
    if memory.structured is None:
        makes = by_caller("commit_structured", "`vestig memory add-structured`")
        hint = f"{makes} makes one; set content here"
        raise ValidationError(name, memory.id, "a structured memory", hint)
    fields = {field: getattr(memory.structured, field) for field in STRUCTURED} | dict(parts)
    made = checked(CommitStructuredRequest, fields).structured
    asked = msgspec.structs.replace(asked, content=made.content)
    return _rewrite(session, asked, given, fields, secrets)


def _rewrite(
    session: Session,
    asked: UpdateRequest,
    given: dict[str, Any],
    parts: Mapping[str, Any] | None = None,
    secrets: tuple[Secret, ...] = (),
) -> UpdateResult:
    """Commits the new text with `supersedes`; the same text in any layout changes the memory in
    place. `parts`: the fields that a structured text is made of."""
    space, hygiene = session.in_namespace(asked.namespace), session.config.settings.hygiene
    text, layout = text_forms(asked.content, hygiene)
    with session.ledger.read() as view:
        memory = session.memory(view, space, asked.id)
        _check_key(view, memory, given.get("scope", memory.scope))
        beside = given_beside(session, view, memory, text)
        # a memory of a clock that was ahead has begun
        now_us = max(session.now_us(), view.last_recorded_us)
        told_us = span_of(memory, partial(happenings, view, memory)).told_end_us
    check_unexpired(memory, "update", session.now_us())
    # a layout that is refused goes on to the commit, which says why
    refused = refusal_reason(text, hygiene, turn=True, given_chars=len(layout)) is not None
    if content_hash(text) == memory.content_hash and (layout == memory.content or not refused):
        changes = msgspec.structs.replace(_changes(given), layout=(layout, text))
        return _change_fields(session, memory.id, changes, space)
    times, ends_us = _kept_times(memory, given, told_us, now_us)
    fields = successor_fields(memory) | beside | times | given
    fields |= {n: from_us(given[n]) for n in _TIME_FIELDS if given.get(n) is not None}
    fields |= {"content": asked.content} if parts is None else parts
    fields |= {
        "namespace": space,
        "supersedes": [memory.id],
        "strict": True,
    }
    with session.operation("update", without_store="make"):
        kind = None if parts is None else CommitStructuredRequest
        key = fields.pop("key", None)
        outcome = pipeline.commit(session, fields, secrets, kind, key=key, ends_us=ends_us)
    assert outcome.memory_id is not None, "strict commits have a memory"
    if outcome.seq is None:
        # nothing but what the store printed of memories came in
        if outcome.echoes == (memory.id,):
            return _change_fields(session, memory.id, _changes(given), space)
        raise ValidationError(
            "content",
            f"what the store printed of {', '.join(outcome.echoes)}",
            "a text of its own",
            hint="supersede(old, new) lets another memory replace this one",
        )
    with session.ledger.read() as view:
        after = view.memories(space, [outcome.memory_id])[0]
    return UpdateResult(
        memory_id=outcome.memory_id,
        changed=True,
        fields=("content", *given),
        version=after.version,
        seq=outcome.seq,
        outcome=outcome,
    )


def _kept_times(
    memory: Memory, given: Mapping[str, Any], told_us: int | None, now_us: int
) -> tuple[dict[str, Any], int | None]:
    """When a new text holds, where nobody tells it: until the old one ends, from now on where that
    holds, else from when it begins, so that what is announced or over stays so.

    Args:
        told_us: the end that was told of a value, which says what holds behind it.

    Returns:
        Arguments of the commit, and an end that is none of them.

    Raises:
        ValidationError: it is to begin behind the end.
    """
    known_us = None if memory.t_invalid is None else to_us(memory.t_invalid)
    ends_us = given.get("t_invalid", known_us)
    begun = to_us(memory.t_valid) <= now_us and (ends_us is None or ends_us > now_us)
    kept: dict[str, Any] = {}
    if not begun and "t_valid" not in given:
        kept = {"t_valid": memory.t_valid, "t_ref": from_us(now_us)}
    if "t_invalid" in given or known_us is None:
        return kept, None
    if given.get("t_valid", 0) > known_us:
        raise ValidationError(
            "t_valid",
            format_us(given["t_valid"]),
            f"a time up to t_invalid {format_us(known_us)} of {memory.id}",
            by_caller(
                't_invalid=… gives it another end, clear=["t_invalid"] none',
                "--t-invalid gives it another end, `--clear t_invalid` none",
            ),
        )
    if memory.key is None or told_us != known_us:
        return kept, known_us
    return kept | {"t_invalid": memory.t_invalid}, None


def successor_fields(memory: Memory) -> dict[str, Any]:
    """Arguments of a commit that a new text takes over from the memory that it replaces."""
    fields: dict[str, Any] = {
        name: getattr(memory, name) for name in _INHERITED if getattr(memory, name) is not None
    }
    own = {k: v for k, v in memory.metadata.items() if k not in ("source", "structured", "tags")}
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
    # "ephemeral" comes from the wording, which is another one now.
    if memory.temporal_stability in (Stability.STATIC, Stability.DYNAMIC):
        fields["temporal_stability"] = memory.temporal_stability
    return fields


def given_beside(session: Session, view: LedgerView, memory: Memory, text: str) -> dict[str, Any]:
    """The keywords and entities that were given beside the text of a memory, as arguments of the
    commit of another one. What the old text itself says counts only where the new one says it."""
    settings, space = session.config.settings, memory.namespace
    before = f"{normalise(memory.content, settings.hygiene)} {memory.title or ''}"
    own = words.keywords(before, extra_stopwords=settings.keywords.stopwords)
    types = types_of(settings.entities)
    mentions = {one.to_id: one for one in view.edges(space, memory.id, EdgeType.MENTIONS)}
    entities = []
    for one in view.entities(space, list(mentions)):
        edge = mentions[one.id]
        evidence = single_spaced(edge.evidence or "").removesuffix("...")
        said = evidence in single_spaced(before)
        if not evidence or (said and evidence not in single_spaced(text)):
            continue
        known = types.get(one.entity_type)
        entities.append(
            {
                "name": one.canonical_name,
                "type": UNTYPED if known is None else known.name,
                "confidence": 1.0 if edge.confidence is None else edge.confidence,
                "evidence": edge.evidence,
            }
        )
    keywords = [word for word in memory.keywords if word not in own]
    found = {"keywords": keywords, "entities": entities}
    return {name: value for name, value in found.items() if value}


def update_changes(
    memory: Memory, changes: FieldChanges, *, default_policy: RetentionPolicy, now_us: int
) -> tuple[ChangeSet | None, tuple[str, ...]]:
    """The transaction and the names of the fields that change; (None, ()) when nothing does."""
    check_unexpired(memory, "update", now_us)
    _check_order(memory, changes)
    fields: dict[str, Any] = {}
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    texts: tuple[NewOriginalText, ...] = ()
    if changes.layout is not None and changes.layout[0] != memory.content:
        given, normal = changes.layout
        old["content"], new["content"] = memory.content, given
        original = None if given == normal else given
        texts = (NewOriginalText(memory_id=memory.id, content=original),)
    metadata = _metadata(memory, changes)
    if metadata != memory.metadata:
        fields["metadata"] = metadata
        old["metadata"], new["metadata"] = memory.metadata, metadata
    for name in (*_PLAIN_FIELDS, "title"):
        value = getattr(changes, name)
        if value is UNSET:
            continue
        if value is None:
            value = default_policy if name == "retention_policy" else _CLEARED.get(name)
        before = getattr(memory, name)
        if value != before:
            fields[name], old[name], new[name] = value, before, value
    for name in _TIME_FIELDS:
        value = getattr(changes, f"{name}_us")
        if value is UNSET:
            continue
        moment = getattr(memory, name)
        before_us = None if moment is None else to_us(moment)
        if value != before_us:
            fields[name] = None if value is None else from_us(value)
            old[name], new[name] = _time_text(before_us), _time_text(value)
    if not new:
        return None, ()
    payload: dict[str, Any] = {"old": old, "new": new}
    if "t_invalid" in fields:
        payload |= ended(memory, changes.t_invalid_us or None)
    changed = ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, fields=fields, bump_version=True),),
        events=(event(memory, EventType.UPDATE, now_us, payload),),
        original_texts=texts,
    )
    return changed, tuple(_named(new, old))


def _named(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """The arguments that changed: tags are stored in the metadata, and named apart."""
    for name, value in new.items():
        if name != "metadata":
            yield name
            continue
        own, before = dict(value), dict(old[name])
        if own.pop("tags", None) != before.pop("tags", None):
            yield "tags"
        if own != before:
            yield name


def _metadata(memory: Memory, changes: FieldChanges) -> dict[str, Any]:
    """`source` and the fields of a structured text always stay; tags and the caller's own keys are
    set apart from each other."""
    now = memory.metadata
    merged: dict[str, Any] = {k: now[k] for k in ("source", "structured") if k in now}
    if changes.metadata is UNSET:
        merged |= {key: value for key, value in now.items() if key not in ("source", "tags")}
    else:
        merged |= changes.metadata or {}
    if changes.tags is UNSET:
        if "tags" in now:
            merged["tags"] = now["tags"]
    elif changes.tags is not None:
        merged["tags"] = list(changes.tags)
    return merged


def _check_order(memory: Memory, changes: FieldChanges) -> None:
    if changes.t_valid_us is None:
        raise ValidationError("t_valid", None, "a time: a fact cannot be without a beginning")
    start = to_us(memory.t_valid) if changes.t_valid_us is UNSET else changes.t_valid_us
    if changes.t_invalid_us is UNSET:
        end = None if memory.t_invalid is None else to_us(memory.t_invalid)
    else:
        end = changes.t_invalid_us
    check_validity(start, end)


def _time_text(us: int | None) -> str | None:
    return None if us is None else format_us(us)
