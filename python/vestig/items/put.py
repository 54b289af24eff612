"""Puts: values in the place of those that their keys had, and their texts as memories.

The text of an item is the memory of its key, and further parts of a long one those of keys that
follow from it. A text that is there already stays as it is, another one supersedes it, and one
that is gone is withdrawn, all in the transaction that writes the value. Texts are embedded before
it begins; where another writer was faster, so that a text has no vector, they are embedded anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from vestig.calls.commit import CommitRequest, OnNearDup
from vestig.calls.items import PutRequest, json_value, part_key, value_text
from vestig.changes import ChangeSet, NewItem
from vestig.commit import pipeline
from vestig.commit.batch import Batch
from vestig.commit.item import Item
from vestig.commit.names import NameVectors
from vestig.commit.pipeline import call_hooks, check_depth, without_echoes
from vestig.commit.text import content_hash, text_forms
from vestig.commit.vectors_ahead import VectorsAhead
from vestig.errors import ConflictError
from vestig.exchange.passages import chunk
from vestig.firewall import Secret, counted
from vestig.language.text_forms import CONTROL_CHARACTERS
from vestig.memories.states import deprecate_changes, joined
from vestig.results import Item as StoredItem
from vestig.results import PutOutcome
from vestig.session.session import Session, cleaned, clock_notice, count_secrets, keep_answer
from vestig.store.records import item_rows, keyed_memories
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.reads import LedgerView
from vestig.store.records.rows import UniquenessCollision
from vestig.times import format_us, to_us
from vestig.types import Degradation, Memory, OriginType, RetentionPolicy, Role

_TRIES: Final = 5
_OTHER_TEXT: Final = "the item has another text"
_OTHER_LAYOUT: Final = (
    "the item holds the same text with other white space or another Unicode form: that stays"
)


class _Place(NamedTuple):
    """Where an item stands."""

    scope: str | None
    key: str


class _Put(msgspec.Struct, kw_only=True):
    """One put. `parts`: its text as commits, none where no memory is made. The rest is decided
    against a state of the store."""

    place: _Place
    value: str
    expires_us: int | None
    expected: int | None
    parts: tuple[Item, ...]
    secrets: tuple[Secret, ...]
    warnings: tuple[str, ...]
    other_layout: bool = False
    version: int = 0
    changed: bool = False
    memory_ids: tuple[str, ...] = ()


class _Decision(NamedTuple):
    """Holds all that a transaction writes, and the batch of the texts in it."""

    changes: ChangeSet
    batch: Batch | None


def put_many(
    session: Session,
    asked: Sequence[PutRequest],
    namespace: str | None,
    *,
    answer: Callable[[list[PutOutcome]], object] = lambda found: found,
) -> list[PutOutcome]:
    """All of these in one transaction, in order.

    Args:
        answer: what the call returns, of the outcomes.

    Raises:
        ConflictError: a key has another version than was expected, or its text is pinned; nothing
            is written.
    """
    space = session.in_namespace(namespace)
    with session.operation("item_put", without_store="make"):
        check_depth(session)
        puts = [_prepared(session, space, one) for one in asked]
        if not puts:
            with session.ledger.read():
                return []
        names = NameVectors()
        for attempt in range(_TRIES):
            changed = session.keeper.run(lambda view, _: _changed_texts(view, puts))
            if changed:
                with VectorsAhead(session) as ahead:
                    pipeline.embed(session, Batch(session, changed, names), ahead)
            try:
                return _written(session, space, puts, names, answer)
            except UniquenessCollision:
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("the last try returns or raises")


# --- before the store --------------------------------------------------------------------------


def _prepared(session: Session, space: str, asked: PutRequest) -> _Put:
    """A put without secrets, and its text as commits."""
    given = {
        "key": asked.key,
        "scope": asked.scope,
        "value": json_value(asked.value),
        "text": asked.text if asked.index else None,
    }
    clean = cleaned(session, {name: one for name, one in given.items() if one is not None})
    found, warnings = clean.arguments, list[str]()
    if clean.rules:
        mode = session.config.settings.firewall.secrets
        count_secrets(session, clean.rules, "rejected" if mode == "reject" else "masked")
    if asked.expires is not None and asked.expires <= session.now_us():
        warnings.append(
            f"expires: {format_us(asked.expires)} is over: nothing shows this value, and gc removes"
            " it"
        )
    place = _Place(asked.scope, asked.key)
    parts = _parts(session, space, place, found.get("text") or "", asked.role, warnings)
    if parts and parts[0].key != place.key:
        warnings.append(
            "key: no memory may have this key, so get and history do not take it; items.get,"
            " searches and the filter keys find what it has"
        )
    value = value_text("value", found.get("value")) if clean.rules else asked.value
    return _Put(
        place=place,
        value=value,
        expires_us=asked.expires,
        expected=asked.expected,
        parts=parts,
        secrets=clean.secrets,
        warnings=tuple(warnings),
    )


def _parts(
    session: Session,
    space: str,
    place: _Place,
    text: str,
    role: Role | None,
    warnings: list[str],
) -> tuple[Item, ...]:
    """The text of an item as commits: without control characters and frames, and in parts where it
    is long."""
    plain, left_out = CONTROL_CHARACTERS.subn("", text)
    if left_out:
        warnings.append(f"{left_out} control characters were left out of the text")
    request = CommitRequest(
        content=plain,
        scope=place.scope,
        namespace=space,
        on_near_dup=OnNearDup.INSERT,
        role=role,
        origin_type=None if role is None else OriginType.NOTE,
    )
    said = without_echoes(session, space, plain)
    if said.echoes:
        warnings.append(
            f"{len(said.echoes)} memories stood in the text as the store prints them: they were"
            " left out of it"
        )
    pieces = [said.text[start : start + length] for start, length in chunk(said.text)]
    settings, now_us = session.config.settings, session.now_us()
    policy = RetentionPolicy(settings.lifecycle.default_policy)
    forms = [text_forms(piece, settings.hygiene) for piece in pieces]
    return tuple(
        Item(
            request=msgspec.structs.replace(request, content=given),
            text=normal,
            given=given,
            content_hash=content_hash(normal),
            reference_us=now_us,
            key=part_key(place.key, at),
            ordered=True,
            policy=policy,
        )
        for at, (normal, given) in enumerate(one for one in forms if one.normal)
    )


# --- against a state of the store --------------------------------------------------------------


def _changed_texts(view: LedgerView, puts: Sequence[_Put]) -> list[Item]:
    """The parts of texts that the store does not have under their keys."""
    parts = (item for put in _last_ones(puts) for item in put.parts)
    return [item for item in parts if _standing(view, item) is None]


def _last_ones(puts: Iterable[_Put]) -> Iterable[_Put]:
    """Of several puts of a key the last: the others hold at no time."""
    return {put.place: put for put in puts}.values()


def _standing(view: LedgerView, item: Item) -> Memory | None:
    """The memory that has a part of a text already."""
    assert item.slot is not None, "each part of a text has a key"
    current = keyed_memories.current(view, *item.slot)
    if current is None or current.content_hash != item.content_hash:
        return None
    return current


def _decided(
    session: Session, view: LedgerView, space: str, puts: Sequence[_Put], names: NameVectors
) -> _Decision:
    """Decides all that the puts change.

    Raises:
        ConflictError: another version than was expected, or a pinned text.
        UniquenessCollision: a text has no vector, because the store had it a moment ago.
    """
    now_us = session.now_us()
    items: list[Item] = []
    ends: list[ChangeSet] = []
    other_texts: set[_Place] = set()
    for put in _last_ones(puts):
        standing = [(item, _standing(view, item)) for item in put.parts]
        fresh = [item for item, known in standing if known is None]
        put.other_layout = any(
            known is not None and known.content != item.given for item, known in standing
        )
        gone = _without_place(view, space, put)
        items += fresh
        ends += [
            deprecate_changes(one, _OTHER_TEXT, max(now_us, to_us(one.t_valid)), now_us)
            for one in gone
        ]
        if fresh or gone:
            other_texts.add(put.place)
    rows = _rows(view, space, puts, now_us, other_texts)
    changes, batch = ChangeSet(namespace=space), None
    if items:
        for item in items:
            _begin_last(view, item)
        batch = Batch(session, items, names)
        changes = batch.decide(view)
        for item in items:
            if item.error is not None:
                raise item.error
    withdrawn = joined(space, ends)
    changes = msgspec.structs.replace(
        changes,
        patches=(*changes.patches, *withdrawn.patches),
        events=(*changes.events, *withdrawn.events),
        items=tuple(rows),
    )
    return _Decision(changes, batch)


def _without_place(view: LedgerView, space: str, put: _Put) -> list[Memory]:
    """Memories that are text of the item and have no place in its new one.

    Raises:
        ConflictError: one is pinned.
    """
    kept = {item.key for item in put.parts}
    ids = item_rows.text_ids(view, space, *put.place)
    gone = [memory for memory in view.memories(space, ids) if memory.key not in kept]
    for memory in gone:
        if memory.pinned:
            raise ConflictError(
                f"key: {memory.id} is the text of the item and is pinned, so that it cannot be"
                " withdrawn; unpin it first"
            )
    return gone


def _begin_last(view: LedgerView, item: Item) -> None:
    """A text takes the place of every earlier one of its key, whatever a clock says."""
    assert item.slot is not None, "each part of a text has a key"
    later = [to_us(one.t_valid) for one in keyed_memories.held_after(
        view, *item.slot, item.begins_us)]  # fmt: skip
    if later:
        item.request = msgspec.structs.replace(item.request, t_valid=max(later))


class _State(NamedTuple):
    """Holds the state of a key. `shown`: the version that callers see, 0 where they see none; the
    next one counts on from `version`."""

    value: str | None = None
    version: int = 0
    shown: int = 0
    created_us: int | None = None
    expires_us: int | None = None


def _state(row: ItemRow | None, now_us: int) -> _State:
    if row is None:
        return _State()
    if row.is_expired(now_us):
        return _State(version=row.version, expires_us=row.expires_us)
    return _State(row.value, row.version, row.version, row.created_us, row.expires_us)


def _rows(
    view: LedgerView,
    space: str,
    puts: Sequence[_Put],
    now_us: int,
    other_texts: Collection[_Place],
) -> list[NewItem]:
    """The rows that the puts write, one for each key that gets another value, text or end.

    Raises:
        ConflictError: a key has another version than was expected.
    """
    states: dict[_Place, _State] = {}
    rows: dict[_Place, NewItem] = {}
    last = {id(put) for put in _last_ones(puts)}
    for put in puts:
        place = put.place
        if place not in states:
            states[place] = _state(item_rows.find(view, space, *place), now_us)
        old = states[place]
        if put.expected is not None and put.expected != old.shown:
            raise ConflictError(
                f"expected: {_named(place)} has version {old.shown}, not {put.expected}; read it"
                " again, and put what follows from that"
            )
        other_text = id(put) in last and place in other_texts
        # two values with the same marker may have been two
        same = old.shown > 0 and old.value == put.value and not other_text and not put.secrets
        put.version = old.version if same else old.version + 1
        put.changed = not same or old.expires_us != put.expires_us
        states[place] = _State(put.value, put.version, put.version, old.created_us, put.expires_us)
        if put.changed:
            rows[place] = NewItem(
                namespace=space,
                scope=place.scope,
                key=place.key,
                value=put.value,
                version=put.version,
                created_us=old.created_us,
                expires_us=put.expires_us,
            )
    return list(rows.values())


def _named(place: _Place) -> str:
    where = "" if place.scope is None else f" of scope {place.scope!r}"
    return f"{place.key!r}{where}"


# --- the transaction ---------------------------------------------------------------------------


def _written(
    session: Session,
    space: str,
    puts: Sequence[_Put],
    names: NameVectors,
    answer: Callable[[list[PutOutcome]], object],
) -> list[PutOutcome]:
    """Decides under the write lock, writes, and says how each put ended."""
    degraded: list[Degradation] = []
    with session.ledger.write(session.now_us()) as txn:
        decided = session.keeper.run_locked(txn, lambda: _decided(session, txn, space, puts, names))
        seq = txn.seq
        if not pipeline.is_empty(decided.changes):
            seq = txn.apply(decided.changes)
            degraded.extend(clock_notice(txn.clock_behind_us))
        for put in _last_ones(puts):
            put.memory_ids = tuple(item_rows.text_ids(txn, space, *put.place))
        keep_answer(txn, lambda: answer(_outcomes(space, puts, seq, degraded)))
    if decided.changes.items or decided.batch is not None:
        pipeline.follow(session, txn, decided.changes, decided.batch, degraded)
    if decided.batch is not None:
        decided.batch.finish(seq, degraded)
        pipeline.raise_strictly(session, call_hooks(session, decided.batch.items))
    return _outcomes(space, puts, seq, degraded)


def _outcomes(
    space: str, puts: Sequence[_Put], seq: int, degraded: Sequence[Degradation]
) -> list[PutOutcome]:
    return [
        PutOutcome(
            key=put.place.key,
            scope=put.place.scope,
            namespace=space,
            version=put.version,
            changed=put.changed,
            memory_ids=put.memory_ids,
            masked=counted(put.secrets),
            warnings=(*put.warnings, *([_OTHER_LAYOUT] if put.other_layout else ())),
            degraded=tuple(degraded),
            seq=seq,
        )
        for put in puts
    ]


def extend(session: Session, items: Iterable[StoredItem]) -> None:
    """Lets items that end do so later: as long after now as they did after they were put. One that
    has changed since it was read keeps its end; so do those of a store that is read-only."""
    ending = [one for one in items if one.expires_at is not None]
    if not ending or session.read_only:
        return
    now_us, degraded = session.now_us(), list[Degradation]()
    with session.operation("item_extend"), session.ledger.write(now_us, make=False) as txn:
        rows = []
        for one in ending:
            old = item_rows.find(txn, one.namespace, one.scope, one.key)
            if old is None or old.expires_us is None or old.version != one.version:
                continue
            if not old.is_expired(now_us):
                rows.append(
                    NewItem(
                        namespace=one.namespace,
                        scope=old.scope,
                        key=old.key,
                        value=old.value,
                        version=old.version,
                        created_us=old.created_us,
                        expires_us=now_us + old.expires_us - old.updated_us,
                    )
                )
        changes = ChangeSet(namespace=session.namespace, items=tuple(rows))
        if rows:
            txn.apply(changes)
    if rows:
        pipeline.follow(session, txn, changes, None, degraded)
