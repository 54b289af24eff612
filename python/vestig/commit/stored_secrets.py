"""Secrets in what is stored already: found, and taken out with the bytes that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from vestig.calls.declaration import checked
from vestig.calls.filter import NO_FILTER
from vestig.calls.items import json_value, value_text
from vestig.calls.memories import DeprecateRequest, ForgetRequest, StateRequest
from vestig.calls.upkeep import SecretsRequest
from vestig.changes import ChangeSet, NewRule, RuleCounts
from vestig.commit import pipeline
from vestig.commit.text import normalise
from vestig.commit.update import successor_fields
from vestig.errors import ConflictError, VestigError
from vestig.firewall import Secret, counted, masked_text, without_secrets
from vestig.memories import forget as forgetting
from vestig.memories import states, withdrawal
from vestig.memories.states import selected_ids
from vestig.results import SecretsReport, StoredSecret
from vestig.session.session import Session
from vestig.store.records import item_rows, rule_rows
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.reads import LedgerView
from vestig.types import Event, EventType, ItemError, Memory, Status

# Of a memory that is withdrawn until its masked text has taken over; a later run goes on there.
_REASON: Final = "secrets are masked"
_READ_AT_ONCE: Final = 500
# What of a memory is its own text, or stands beside it.
_FIELDS: Final = ("content", "author", "title", "metadata", "keywords", "pinned_reason")


class _FoundItem(NamedTuple):
    item: ItemRow
    secrets: tuple[Secret, ...]

    @property
    def name(self) -> str:
        """Its key without secrets."""
        return masked_text(self.item.key)[0]


class _Found(NamedTuple):
    memory: Memory
    events: list[Event]
    secrets: tuple[Secret, ...]


def secrets(session: Session, asked: SecretsRequest) -> SecretsReport:
    """Looks at every memory and item of a namespace, expired ones too. With `fix` the masked text
    of each memory that has a secret takes over, and the memory is forgotten; values of items are
    masked where they stand."""
    space = session.in_namespace(asked.namespace)
    with session.operation("secrets", without_store="make"):
        with session.ledger.read() as view:
            rows = item_rows.below(view, space, None)
        items = [_FoundItem(row, own) for row in rows if (own := _secrets_of_item(row))]
        ids = selected_ids(session, space, NO_FILTER)
        found = _found(session, space, ids)
        done, errors, items_fixed = list[str](), list[ItemError](), 0
        if asked.fix and not asked.dry_run:
            items_fixed = _mask_items(session, space, items, errors)
            for index, one in enumerate(found, len(items)):
                try:
                    _take_over(session, space, one)
                    done.append(one.memory.id)
                except VestigError as error:
                    message = f"{one.memory.id}: {error}"
                    errors.append(ItemError(index=index, code=error.code, message=message))
            if done:
                request = {"ids": done, "force": True, "namespace": space}
                forgetting.forget(session, checked(ForgetRequest, request))
        with session.ledger.read() as view:
            seq = view.seq
    return SecretsReport(
        found=(
            *(
                StoredSecret(key=one.name, scope=one.item.scope, rules=counted(one.secrets))
                for one in items
            ),
            *(StoredSecret(memory_id=one.memory.id, rules=counted(one.secrets)) for one in found),
        ),
        evaluated=len(ids),
        fixed=len(done),
        items_evaluated=len(rows),
        items_fixed=items_fixed,
        errors=tuple(errors),
        dry_run=asked.dry_run,
        seq=seq,
    )


# --- items ------------------------------------------------------------------------------------


def _secrets_of_item(row: ItemRow) -> tuple[Secret, ...]:
    """The secrets in value and key of an item."""
    labels = [row.key]
    return without_secrets({"value": json_value(row.value), "labels": labels}, "mask").secrets


def _masked_value(row: ItemRow) -> str:
    """The value of an item, as JSON, with a marker in the place of each secret.

    Raises:
        ValidationError: with the markers it is too long.
    """
    clean = without_secrets({"value": json_value(row.value)}, "mask")
    return value_text("value", clean.arguments["value"]) if clean.rules else row.value


def _mask_items(
    session: Session, space: str, found: Sequence[_FoundItem], errors: list[ItemError]
) -> int:
    """Masks the values of these items and says how many. Adds what cannot be masked to the
    errors."""
    places: list[tuple[str | None, str]] = []
    for index, one in enumerate(found):
        try:
            if masked_text(one.item.key)[1]:
                raise ConflictError(
                    "its key holds a secret, and no marker can stand there; delete the item, and"
                    " put its value under another key"
                )
            _masked_value(one.item)
            places.append((one.item.scope, one.item.key))
        except VestigError as error:
            message = f"item {one.name}: {error}"
            errors.append(ItemError(index=index, code=error.code, message=message))

    def select(view: LedgerView) -> list[tuple[ItemRow, str]]:
        rows = (item_rows.find(view, space, *place) for place in places)
        masked = ((row, _masked_value(row)) for row in rows if row is not None)
        return [(row, value) for row, value in masked if value != row.value]

    return forgetting.replace_values(session, space, select) if places else 0


# --- memories ---------------------------------------------------------------------------------


def _found(session: Session, space: str, ids: Sequence[str]) -> list[_Found]:
    found = []
    with session.ledger.read() as view:
        for at in range(0, len(ids), _READ_AT_ONCE):
            some = ids[at : at + _READ_AT_ONCE]
            questions = view.questions(space, some)
            for memory in view.memories(space, some):
                events = view.events(space, memory.id)
                secrets = _secrets(view, memory, events, questions.get(memory.id, []))
                if secrets:
                    found.append(_Found(memory, events, secrets))
    return found


def _secrets(
    view: LedgerView, memory: Memory, events: Sequence[Event], questions: Sequence[str]
) -> tuple[Secret, ...]:
    """The secrets in all that is stored of a memory; those of its own fields, where they hold
    any."""
    own = {name: getattr(memory, name) for name in _FIELDS}
    claims = view.claims(memory.namespace, [memory.id])
    own |= {"questions": list(questions), "claim": claims.get(memory.id)}
    own["labels"] = list(memory.tags)
    secrets = without_secrets(own, "mask").secrets
    if secrets:
        return secrets
    payloads = [[one.payload, one.artifact_ref] for one in events]
    return without_secrets({"events": payloads}, "mask").secrets


def _take_over(session: Session, space: str, found: _Found) -> None:
    """Stores the masked text of a memory that still counts."""
    memory = found.memory
    last = found.events[-1] if found.events else None
    begun = (
        memory.status is Status.DEPRECATED
        and last is not None
        and last.event_type is EventType.DEPRECATE
        and last.payload.get("reason") == _REASON
    )
    if memory.t_expired is not None and not begun:
        return
    hygiene = session.config.settings.hygiene
    text, _ = masked_text(memory.content)
    fields = _fields(space, memory, found.events, text)
    if begun:
        pass
    elif normalise(text, hygiene) != normalise(memory.content, hygiene):
        fields["supersedes"] = [memory.id]
    else:
        # the same text can be stored only where it is withdrawn
        withdrawn = {"id": memory.id, "reason": _REASON, "namespace": space}
        withdrawal.deprecate(session, checked(DeprecateRequest, withdrawn))
    # the key of a part of an item's text is none that a caller can give, and markers make it longer
    outcome = pipeline.commit(session, fields, key=fields.pop("key", None), whole=True)
    if outcome.memory_id is not None:
        _take_over_rule(session, space, memory.id, outcome.memory_id)
    if memory.status is Status.ARCHIVED and outcome.memory_id is not None:
        archived = {"id": outcome.memory_id, "namespace": space}
        states.simple(session, "archive", checked(StateRequest, archived))


def _take_over_rule(session: Session, space: str, old: str, new: str) -> None:
    """The masked text is the rule that the text was, with its counts."""
    with session.ledger.read() as view:
        row = rule_rows.of_memory(view, space, old)
    if row is None:
        return
    counts = RuleCounts(
        fired=row.fired, gave_way=row.gave_way, denied=row.denied, last_fired_us=row.last_fired_us
    )
    rule = NewRule(
        memory_id=new,
        condition=row.condition,
        decision=row.decision,
        exception=row.exception,
        counts=counts,
    )
    with session.ledger.write(session.now_us()) as txn:
        if rule_rows.of_memory(txn, space, new) is None:
            txn.apply(ChangeSet(namespace=space, rules=(rule,)))


def _fields(space: str, memory: Memory, events: Sequence[Event], text: str) -> dict[str, Any]:
    """Arguments of the commit of a masked text: what a new text takes over, and when and where the
    old one was stated."""
    fields = successor_fields(memory)
    # no marker can stand in their place
    fields["tags"] = [tag for tag in memory.tags if not masked_text(tag)[1]]
    if memory.key is not None and masked_text(memory.key)[1]:
        del fields["key"]
    fields = without_secrets(fields, "mask").arguments
    fields |= {"content": text, "namespace": space, "t_valid": memory.t_valid, "strict": True}
    if memory.t_invalid is not None:
        fields["t_invalid"] = memory.t_invalid
    if events:
        first = events[0]
        fields |= {"t_ref": first.occurred_at, "source": first.source, "actor": first.actor}
    return fields
