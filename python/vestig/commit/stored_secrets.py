"""Secrets in what is stored already: found, and taken out with the bytes that hold them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from vestig.calls.declaration import checked
from vestig.calls.filter import NO_FILTER
from vestig.calls.items import json_value, value_text
from vestig.calls.memories import DeprecateRequest, ForgetRequest, StateRequest
from vestig.calls.upkeep import SecretsRequest
from vestig.changes import ChangeSet, NewRule, RuleCounts
from vestig.commit import pipeline
from vestig.commit.text import normalise
from vestig.commit.update import given_beside, successor_fields
from vestig.errors import ConflictError, VestigError
from vestig.firewall import (
    Secret,
    SecretError,
    counted,
    masked_text,
    values_of_secrets,
    without_secrets,
)
from vestig.memories import forget as forgetting
from vestig.memories import states, withdrawal
from vestig.memories.states import selected_ids
from vestig.other_words import by_caller
from vestig.results import SecretsReport, StoredSecret
from vestig.session.session import Session
from vestig.store.records import anchor_rows, graph_rows, item_rows, rule_rows
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.reads import LedgerView
from vestig.store.records.rule_rows import RuleRow
from vestig.types import Event, EventType, ItemError, Memory, Status

# Of a memory that is withdrawn until its masked text has taken over; a later run goes on there.
_REASON: Final = "secrets are masked"
_READ_AT_ONCE: Final = 500
# What of a memory is its own text, or stands beside it.
_FIELDS: Final = ("content", "author", "title", "metadata", "keywords", "pinned_reason")
# Names that a memory is found by.
_NAMES: Final = ("scope", "session_id")
# What to do about what no marker can stand in, in Python and at a command line.
_ADVICE: Final = {
    "scope": ('update("{id}", scope=…) moves it', "`vestig update {id} --scope SCOPE` moves it"),
    "session_id": ('forget("{id}") deletes it', "`vestig forget {id}` deletes it"),
    "entities": (
        'graph.expire_entity("{id}") and then graph.purge_entities("{id}") delete it',
        "`vestig entity expire {id}` and then `vestig entity purge {id}` delete it",
    ),
    "sources": (
        'forget_document("{id}"), or of a conversation forget(where={{"source_ids": "{id}"}}),'
        " deletes it with its memories",
        "`vestig document forget {id}`, or of a conversation `vestig forget --source-ids {id}`,"
        " deletes it with its memories",
    ),
    "edges": (
        'graph.edge("{id}") names its ends: forget(id) of a memory, or graph.purge_entities(id) of'
        " an expired entity deletes it",
        "`vestig edge show {id}` names its ends: `vestig forget ID` of a memory, or `vestig entity"
        " purge ID` of an expired entity deletes it",
    ),
    "condition": (
        'rules.edit("{id}", when=…, unless=…) gives it another one; then mask again',
        "`vestig rule edit {id} --when CONDITION` gives it another one; then mask again",
    ),
}


def _advice(what: str, id: str) -> str:
    return by_caller(*(text.format(id=id) for text in _ADVICE[what]))


class _FoundItem(NamedTuple):
    item: ItemRow
    secrets: tuple[Secret, ...]
    known: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its key without secrets."""
        return masked_text(self.item.key, self.known)[0]


class _Found(NamedTuple):
    """A memory with secrets; with the rule that it is the text of. `known`: secrets that count
    wherever they stand; `texts`: all that is stored of it."""

    memory: Memory
    events: list[Event]
    rule: RuleRow | None
    secrets: tuple[Secret, ...]
    known: Mapping[str, str]
    texts: Mapping[str, Any]


class _SecretHolder(NamedTuple):
    table: str
    id: str
    secrets: tuple[Secret, ...]
    texts: Any


def secrets(session: Session, asked: SecretsRequest) -> SecretsReport:
    """Looks at every memory and item of a namespace, expired ones too. With `fix` the masked text
    of each memory that has a secret takes over, and the memory is forgotten; values of items are
    masked where they stand. What cannot be masked is an error, with what to do about it."""
    space = session.in_namespace(asked.namespace)
    with session.operation("secrets", without_store="make"):
        with session.ledger.read() as view:
            rows = item_rows.below(view, space, None)
        ids = selected_ids(session, space, NO_FILTER)
        known = _known(session, space, rows, ids)
        items = [_FoundItem(row, own, known) for row in rows if (own := _of_item(row, known))]
        found = _found(session, space, ids, known)
        beside = _secret_holders(session, space, known, [one.memory.id for one in found])
        done, errors, items_fixed = list[str](), list[ItemError](), 0
        if asked.fix and not asked.dry_run:
            telling = _telling(session, space, items, found, known)
            items_fixed = _mask_items(session, space, items, errors, telling)
            done = _mask_memories(session, space, found, errors, len(items), telling)
            for index, one in enumerate(
                _secret_holders(session, space, known), len(items) + len(found)
            ):
                message = f"{one.id}: no marker can stand in it; {_advice(one.table, one.id)}"
                errors.append(ItemError(index=index, code=ConflictError.code, message=message))
        with session.ledger.read() as view:
            seq = view.seq
    return SecretsReport(
        found=(
            *(
                StoredSecret(key=one.name, scope=one.item.scope, rules=counted(one.secrets))
                for one in items
            ),
            *(StoredSecret(memory_id=one.memory.id, rules=counted(one.secrets)) for one in found),
            *(StoredSecret(id=one.id, rules=counted(one.secrets)) for one in beside),
        ),
        evaluated=len(ids),
        fixed=len(done),
        items_evaluated=len(rows),
        items_fixed=items_fixed,
        errors=tuple(errors),
        dry_run=asked.dry_run,
        seq=seq,
    )


def _known(
    session: Session, space: str, rows: Sequence[ItemRow], ids: Sequence[str]
) -> dict[str, str]:
    """Secrets that items and memories hold and no text does by chance, with their rules."""
    known: dict[str, str] = {}
    for row in rows:
        known |= values_of_secrets(_item_texts(row))
    with session.ledger.read() as view:
        rules = {row.memory_id: row for row in rule_rows.of_namespace(view, space)}
        for memory, events, questions in _memories(view, space, ids):
            texts = _texts(view, memory, events, questions, rules.get(memory.id))
            known |= values_of_secrets(texts)
    return known


def _telling(
    session: Session,
    space: str,
    items: Sequence[_FoundItem],
    found: Sequence[_Found],
    known: Mapping[str, str],
) -> set[str | ItemRow]:
    """Ids of memories, and items, that alone say of a secret that it is one, where it stands in
    something that cannot be masked: without them no later call would find it there."""
    stay = {one.memory.id: one.texts for one in found if _counts(one) and _held_by(one)}
    stuck = [_item_texts(one.item) for one in items if _held_by_item(one)]
    said = {name for texts in (*stay.values(), *stuck) for name in values_of_secrets(texts)}
    names = [(one.memory.scope, one.memory.session_id) for one in found if one.memory.id in stay]
    scopes = [one.item.scope for one in items if _held_by_item(one)]
    going = [one.memory.id for one in found if one.memory.id not in stay]
    beside = [one.texts for one in _secret_holders(session, space, known, going)]
    kept = msgspec.json.encode([list(stay.values()), stuck, names, scopes, beside])
    tellers: list[tuple[str | ItemRow, dict[str, str]]] = [
        *((one.memory.id, values_of_secrets(one.texts)) for one in found),
        *((one.item, values_of_secrets(_item_texts(one.item))) for one in items),
    ]
    telling = set[str | ItemRow]()
    for value in known:
        if value not in said and msgspec.json.encode(value)[1:-1] in kept:
            who, values = next(one for one in tellers if value in one[1])
            telling.add(who)
            said |= values.keys()
    return telling


def _check_not_telling(one: str | ItemRow, telling: Container[str | ItemRow]) -> None:
    if one in telling:
        raise ConflictError(
            "it alone says that a secret is one, which stands in what cannot be masked too: see"
            " the other errors first; then mask again"
        )


def _label_secrets(texts: Mapping[str, str | None], known: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets in names, each beyond doubt: an id may look like one."""
    found = []
    for name, text in texts.items():
        if text is None:
            continue
        try:
            without_secrets({name: text}, "mask")
        except SecretError as error:
            found.append(Secret(error.rule, name))
        found += [
            Secret(rule, name)
            for value, rule in known.items()
            if masked_text(text, {value: rule})[0] != masked_text(text)[0]
        ]
    return tuple(found)


# --- entities, sources and edges --------------------------------------------------------------


def _secret_holders(
    session: Session, space: str, known: Mapping[str, str], found_in: Sequence[str] = ()
) -> list[_SecretHolder]:
    """Entities, sources and edges whose texts hold secrets, without entities that these memories
    mention, which go with them. A view sees none of them."""
    if session.scope is not None:
        return []
    found = []
    with session.ledger.read() as view:
        mentioned = {one.entity_id for one in view.mentions(space, found_in)}
        for table, id, texts in graph_rows.texts_by_callers(view.connection, space):
            own = without_secrets({"texts": texts}, "mask", known).secrets
            if own and id not in mentioned:
                found.append(_SecretHolder(table, id, own, texts))
    return found


# --- items ------------------------------------------------------------------------------------


def _item_texts(row: ItemRow) -> dict[str, Any]:
    return {"value": json_value(row.value), "labels": [row.key]}


def _held_by_item(one: _FoundItem) -> str | None:
    """The name of an item in which a secret stands."""
    if masked_text(one.item.key, one.known)[1]:
        return "key"
    return "scope" if _label_secrets({"scope": one.item.scope}, one.known) else None


def _of_item(row: ItemRow, known: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets in value, key and scope of an item."""
    found = without_secrets(_item_texts(row), "mask", known).secrets
    return (*found, *_label_secrets({"scope": row.scope}, known))


def _masked_value(row: ItemRow, known: Mapping[str, str]) -> str:
    """The value of an item, as JSON, with a marker in the place of each secret.

    Raises:
        ValidationError: with the markers it is too long.
    """
    clean = without_secrets({"value": json_value(row.value)}, "mask", known)
    return value_text("value", clean.arguments["value"]) if clean.rules else row.value


def _mask_items(
    session: Session,
    space: str,
    found: Sequence[_FoundItem],
    errors: list[ItemError],
    telling: Container[str | ItemRow],
) -> int:
    """Masks the values of these items and says how many. Adds what cannot be masked to the
    errors."""
    places: list[tuple[str | None, str]] = []
    known = found[0].known if found else {}
    for index, one in enumerate(found):
        try:
            if held := _held_by_item(one):
                raise ConflictError(
                    f"its {held} holds a secret, and no marker can stand there; delete the item,"
                    f" and put its value under another {held}"
                )
            _check_not_telling(one.item, telling)
            _masked_value(one.item, known)
            places.append((one.item.scope, one.item.key))
        except VestigError as error:
            message = f"item {one.name}: {error}"
            errors.append(ItemError(index=index, code=error.code, message=message))

    def select(view: LedgerView) -> list[tuple[ItemRow, str]]:
        rows = (item_rows.find(view, space, *place) for place in places)
        masked = ((row, _masked_value(row, known)) for row in rows if row is not None)
        return [(row, value) for row, value in masked if value != row.value]

    return forgetting.replace_values(session, space, select, tuple(known)) if places else 0


# --- memories ---------------------------------------------------------------------------------


def _memories(
    view: LedgerView, space: str, ids: Sequence[str]
) -> Iterator[tuple[Memory, list[Event], list[str]]]:
    """Memories with their events and questions."""
    for at in range(0, len(ids), _READ_AT_ONCE):
        some = ids[at : at + _READ_AT_ONCE]
        questions = view.questions(space, some)
        for memory in view.memories(space, some):
            yield memory, view.events(space, memory.id), questions.get(memory.id, [])


def _found(
    session: Session, space: str, ids: Sequence[str], known: Mapping[str, str]
) -> list[_Found]:
    """The memories that hold secrets in anything that is stored of them; those of their own fields
    are named, where these hold any."""
    found = []
    with session.ledger.read() as view:
        rules = {row.memory_id: row for row in rule_rows.of_namespace(view, space)}
        for memory, events, questions in _memories(view, space, ids):
            rule = rules.get(memory.id)
            texts = _texts(view, memory, events, questions, rule)
            every, payloads = dict(texts), {"events": texts.pop("events")}
            names = {name: getattr(memory, name) for name in _NAMES}
            secrets = (
                *without_secrets(texts, "mask", known).secrets,
                *_label_secrets(names, known),
            ) or without_secrets(payloads, "mask", known).secrets
            places = [{"source": one.source, "actor": one.actor} for one in events]
            secrets = secrets or tuple(x for one in places for x in _label_secrets(one, known))
            if secrets:
                found.append(_Found(memory, events, rule, secrets, known, every))
    return found


def _texts(
    view: LedgerView,
    memory: Memory,
    events: Sequence[Event],
    questions: Sequence[str],
    rule: RuleRow | None,
) -> dict[str, Any]:
    """All texts that are stored of a memory but the names that it is found by."""
    texts = {name: getattr(memory, name) for name in _FIELDS}
    claims = view.claims(memory.namespace, [memory.id])
    anchors = anchor_rows.of_memories(view, memory.namespace, [memory.id], derived=False)
    texts |= {"questions": list(questions), "claim": claims.get(memory.id)}
    texts["labels"] = [*memory.tags, *([] if memory.key is None else [memory.key])]
    texts["anchors"] = [one.target for one in anchors.get(memory.id, [])]
    if rule is not None:
        texts |= {"when": rule.condition, "unless": rule.exception}
    return texts | {"events": [[one.payload, one.artifact_ref] for one in events]}


def _mask_memories(
    session: Session,
    space: str,
    found: Sequence[_Found],
    errors: list[ItemError],
    first: int,
    telling: Container[str | ItemRow],
) -> list[str]:
    """Lets the masked texts of these memories take over, and forgets the memories: ids of those.
    Adds what cannot be masked to the errors, numbered from `first` on."""
    done = []
    for index, one in enumerate(found, first):
        try:
            _check_not_telling(one.memory.id, telling)
            _take_over(session, space, one)
            done.append(one.memory.id)
        except VestigError as error:
            message = f"{one.memory.id}: {error}"
            errors.append(ItemError(index=index, code=error.code, message=message))
    if done:
        request = {"ids": done, "force": True, "namespace": space}
        pieces = tuple(found[0].known)
        forgetting.forget(session, checked(ForgetRequest, request), pieces=pieces)
    return done


def _held_by(found: _Found) -> list[str]:
    """Return in what of a memory that must stay as it is a secret stands."""
    memory, rule = found.memory, found.rule
    names = {name: getattr(memory, name) for name in _NAMES}
    held = [name for name, text in names.items() if _label_secrets({name: text}, found.known)]
    conditions = [] if rule is None else [rule.condition, rule.exception or ""]
    if any(masked_text(text, found.known)[1] for text in conditions):
        held.append("condition")
    return held


def _begun(found: _Found) -> bool:
    """Return whether an earlier call withdrew a memory and did not come further."""
    last = found.events[-1] if found.events else None
    return (
        found.memory.status is Status.DEPRECATED
        and last is not None
        and last.event_type is EventType.DEPRECATE
        and last.payload.get("reason") == _REASON
    )


def _counts(found: _Found) -> bool:
    """Return whether a masked text takes the place of a memory; else it goes without one."""
    return found.memory.t_expired is None or _begun(found)


def _check_maskable(found: _Found) -> None:
    """Refuses what no marker can stand in.

    Raises:
        ConflictError: names it, and says what to do.
    """
    if held := _held_by(found):
        raise ConflictError(
            f"its {held[0]} holds a secret, and no marker can stand there;"
            f" {_advice(held[0], found.memory.id)}"
        )


def _take_over(session: Session, space: str, found: _Found) -> None:
    """Stores the masked text of a memory that still counts."""
    memory = found.memory
    if not _counts(found):
        return
    _check_maskable(found)
    hygiene = session.config.settings.hygiene
    text, _ = masked_text(memory.content, found.known)
    fields = _fields(space, found, text)
    if _begun(found):
        pass
    elif normalise(text, hygiene) != normalise(memory.content, hygiene):
        fields["supersedes"] = [memory.id]
    else:
        # the same text can be stored only where it is withdrawn
        withdrawn = {"id": memory.id, "reason": _REASON, "namespace": space}
        withdrawal.deprecate(session, checked(DeprecateRequest, withdrawn))
    # the key of a part of an item's text is none that a caller can give, and markers make it longer
    with session.ledger.read() as view:
        beside = given_beside(session, view, memory, text)
    fields |= _without_names(beside, found.known)
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


def _without_names(beside: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Keywords and entities without those in whose names secrets stand."""
    return {
        name: [one for one in given if not without_secrets({"given": one}, "mask", known).rules]
        for name, given in beside.items()
    }


def _fields(space: str, found: _Found, text: str) -> dict[str, Any]:
    """Arguments of the commit of a masked text: what a new text takes over, and when and where the
    old one was stated."""
    memory, known = found.memory, found.known
    fields = successor_fields(memory)
    # no marker can stand in their place
    fields["tags"] = [tag for tag in memory.tags if not masked_text(tag, known)[1]]
    if memory.key is not None and masked_text(memory.key, known)[1]:
        del fields["key"]
    fields = without_secrets(fields, "mask", known).arguments
    fields |= {"content": text, "namespace": space, "t_valid": memory.t_valid, "strict": True}
    if memory.t_invalid is not None:
        fields["t_invalid"] = memory.t_invalid
    if found.events:
        first = found.events[0]
        for name, label in (("source", first.source), ("actor", first.actor)):
            held = _label_secrets({name: label}, known)
            fields[name] = masked_text(label, known)[0] if held and label else label
        fields["t_ref"] = first.occurred_at
    return fields
