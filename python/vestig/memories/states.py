"""The states of a memory and calls that change them: supersede, archive, unarchive, pin, unpin, and
one access counted.

Each call checks the memory under the write lock, decides one `ChangeSet` and writes it. A selection
says which memories a call takes out: by ids, or by a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol
from unicodedata import normalize

import msgspec

from vestig.arguments import listed
from vestig.calls.filter import FIELDS, NARROWING, SELECTORS, Filter
from vestig.calls.memories import (
    DeprecateRequest,
    StateRequest,
    SupersedeRequest,
)
from vestig.changes import AccessTouch, ChangeSet, MemoryPatch, NewEvent, NewSupersession
from vestig.errors import ConflictError, Description, ValidationError
from vestig.filters import FilterParts, filter_parts, moments
from vestig.ids import id_text, new_id, split_ids
from vestig.memories.versions import until_then
from vestig.other_words import by_caller
from vestig.session.filter_names import also_known, names_of_entities, unknown_names
from vestig.session.references import resolved
from vestig.session.session import Session, catch_up, clock_notice, keep_answer
from vestig.store.records import documents, item_rows, keyed_memories, rule_rows
from vestig.store.records.item_rows import ItemRow
from vestig.store.records.memory_queries import stated_sources
from vestig.store.records.reads import LedgerView
from vestig.times import format_us, from_us, to_us
from vestig.types import (
    Degradation,
    EventType,
    Kind,
    Memory,
    Status,
    SupersessionRecord,
    _Value,
    holds_until_successor,
)

FINAL: Final = (Status.SUPERSEDED, Status.DEPRECATED)


class StateChange(_Value, frozen=True, kw_only=True):
    """Holds what a lifecycle call did; `changed` is false where the state was already so.
    `warnings`: what ended with it."""

    memory_id: str
    action: str
    changed: bool
    status: str
    pinned: bool
    version: int
    fields: tuple[str, ...] = ()
    seq: int
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degradation, ...] = ()


class Successor(msgspec.Struct, frozen=True, kw_only=True):
    """The newer memory, which may not be stored yet. `source`, `actor`: of whoever says that it
    takes the place of another."""

    id: str
    t_valid_us: int
    source: str = "manual"
    actor: str | None = None
    key: str | None = None
    scope: str | None = None


class Replacement(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that one supersession writes."""

    patch: MemoryPatch
    event: NewEvent
    record: NewSupersession

    def change_set(self, namespace: str) -> ChangeSet:
        """The rows as a transaction of their own."""
        return ChangeSet(
            namespace=namespace,
            patches=(self.patch,),
            events=(self.event,),
            supersessions=(self.record,),
        )


def _since(memory: Memory) -> str:
    return "unknown" if memory.t_expired is None else format_us(to_us(memory.t_expired))


def _by(memory: Memory) -> str:
    return "" if memory.superseded_by is None else f" by {memory.superseded_by}"


def check_unexpired(memory: Memory, action: str, now_us: int) -> None:
    """Final states stay final; the message names id, state and since when."""
    if memory.status in FINAL:
        key, option = ("", "") if memory.key is None else (", key=…", " --key KEY")
        again = by_caller(f"store.commit(text{key})", f'`vestig add "…"{option}`')
        final = f"for good; {again} stores its text again, in a new memory"
        raise ConflictError(
            f"cannot {action} {memory.id}: it is {memory.status.word}{_by(memory)} since"
            f" {_since(memory)}, {until_then(memory, now_us) or final}"
        )


def check_replaceable(old: Memory) -> None:
    """A withdrawn memory cannot be replaced."""
    if old.status is Status.DEPRECATED:
        raise ConflictError(
            f"cannot supersede {old.id}: it is deprecated since {_since(old)};"
            " only active, archived or superseded memories can be replaced"
        )


def check_end(memory: Memory, end_us: int | None) -> None:
    """A fact cannot end before it began."""
    if end_us is not None and end_us < to_us(memory.t_valid):
        begin = format_us(to_us(memory.t_valid))
        raise ValidationError(
            "t_invalid", format_us(end_us), f"a time from t_valid {begin} of {memory.id} on"
        )


def check_ended(end_us: int | None, now_us: int) -> None:
    """Refuses an end that is to come, for what is withdrawn is left out at once."""
    if end_us is not None and end_us > now_us:
        raise ValidationError(
            "t_invalid",
            format_us(end_us),
            "a time that has come, for what is withdrawn is left out at once",
            f"{_until()} lets a memory hold until then",
        )


def _until() -> str:
    return by_caller("update(id, t_invalid=…)", "`vestig update ID --t-invalid T`")


def check_pair(old: Memory, new: Memory, records: Sequence[SupersessionRecord]) -> None:
    """Check that `new` may replace `old`.

    Raises:
        ConflictError: one memory, a cycle (names its chain), a withdrawn `old`, or a `new` that
            is not active.
    """
    if old.id == new.id:
        raise ConflictError(f"cannot supersede {old.id} by itself: name two memories")
    if (cycle := _chain(new.id, old.id, records)) is not None:
        raise ConflictError(
            f"cannot supersede {old.id} by {new.id}: that would close a cycle:"
            f" {' → '.join([old.id, *cycle])}"
        )
    check_replaceable(old)
    if new.status is not Status.ACTIVE:
        since = f" since {_since(new)}" if new.t_expired else "; unarchive it first"
        raise ConflictError(
            f"cannot supersede by {new.id}: the newer memory must be active, it is"
            f" {new.status.word}{since}"
        )


def _chain(start: str, goal: str, records: Sequence[SupersessionRecord]) -> list[str] | None:
    """Ids from `start` along its successors to `goal`, or None."""
    trail: dict[str, str | None] = {start: None}
    queue = [start]
    for node in queue:
        if node == goal:
            path = [node]
            while (before := trail[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for record in records:
            if record.superseded_id == node and record.superseding_id not in trail:
                trail[record.superseding_id] = node
                queue.append(record.superseding_id)
    return None


def existing_record(
    old_id: str, new_id: str, records: Sequence[SupersessionRecord]
) -> SupersessionRecord | None:
    """The record of exactly this pair; repeating it is a no-op."""
    for record in records:
        if record.superseded_id == old_id and record.superseding_id == new_id:
            return record
    return None


def event(memory: Memory, kind: EventType, now_us: int, payload: dict[str, Any]) -> NewEvent:
    """An event of the lifecycle, with what every payload holds."""
    base: dict[str, Any] = {
        "content_hash": memory.content_hash,
        "tags": list(memory.tags),
        "artifact_ref": None,
    }
    return NewEvent(
        id=new_id("evt"),
        memory_id=memory.id,
        event_type=kind,
        occurred_us=now_us,
        source="manual",
        payload=base | payload,
    )


def ended(memory: Memory, t_invalid_us: int | None) -> dict[str, Any]:
    """The part of a payload from which time travel restores the earlier end."""
    previous = memory.t_invalid
    return {
        "t_invalid": None if t_invalid_us is None else format_us(t_invalid_us),
        "previous_t_invalid": None if previous is None else format_us(to_us(previous)),
    }


def deprecate_changes(
    memory: Memory, reason: str, t_invalid_us: int | None, now_us: int
) -> ChangeSet:
    """Withdraws a memory, also one that holds until its successor begins; with `t_invalid` the fact
    ended, without it was never so, whatever end it had."""
    if not holds_until_successor(memory, from_us(now_us)):
        check_unexpired(memory, "deprecate", now_us)
    fields: dict[str, Any] = {
        "status": Status.DEPRECATED,
        "superseded_by": None,
        "t_invalid": None if t_invalid_us is None else from_us(t_invalid_us),
        # it goes now, whenever its successor was announced
        "t_expired": None,
    }
    payload: dict[str, Any] = {"reason": reason} | ended(memory, t_invalid_us)
    return ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, fields=fields, expired=True),),
        events=(event(memory, EventType.DEPRECATE, now_us, payload),),
    )


def archive_changes(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Hidden from ordinary reads, still matched as a duplicate; None when it already is."""
    check_unexpired(memory, "archive", now_us)
    if memory.status is Status.ARCHIVED:
        return None
    return _change(memory, EventType.ARCHIVE, {"status": Status.ARCHIVED}, reason, now_us)


def unarchive_changes(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Back to active; None when it already is."""
    check_unexpired(memory, "unarchive", now_us)
    if memory.status is Status.ACTIVE:
        return None
    return _change(memory, EventType.UNARCHIVE, {"status": Status.ACTIVE}, reason, now_us)


def pin_changes(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Marks a memory as never to be lost; None when it already is."""
    check_unexpired(memory, "pin", now_us)
    if memory.pinned:
        return None
    fields = {"pinned": True, "pinned_at": from_us(now_us), "pinned_reason": reason}
    return _change(memory, EventType.PIN, fields, reason, now_us)


def unpin_changes(memory: Memory, reason: str | None, now_us: int) -> ChangeSet | None:
    """Takes the mark away in any state; None when there is none."""
    if not memory.pinned:
        return None
    fields = {"pinned": False, "pinned_at": None, "pinned_reason": None}
    return _change(memory, EventType.UNPIN, fields, reason, now_us)


def confirm_changes(memory: Memory, by: str, now_us: int) -> ChangeSet | None:
    """Somebody stands for the statement of an assistant or a tool; None when somebody does."""
    check_unexpired(memory, "confirm", now_us)
    if memory.confirmed:
        return None
    happened = event(memory, EventType.CONFIRM, now_us, {"said_in": None})
    return ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, fields={"confirmed": True}),),
        events=(msgspec.structs.replace(happened, actor=by),),
    )


def _change(
    memory: Memory, kind: EventType, fields: dict[str, Any], reason: str | None, now_us: int
) -> ChangeSet:
    return ChangeSet(
        namespace=memory.namespace,
        patches=(MemoryPatch(memory_id=memory.id, fields=fields),),
        events=(event(memory, kind, now_us, {"reason": reason}),),
    )


_CHANGES_BY_ACTION: Final = {
    "archive": archive_changes,
    "unarchive": unarchive_changes,
    "pin": pin_changes,
    "unpin": unpin_changes,
}


def replace(
    old: Memory, successor: Successor, *, reason: str, t_invalid_us: int | None, now_us: int
) -> Replacement:
    """Rows for `successor` replacing `old`. An already superseded memory keeps its first
    `t_expired`. An open end, and one that is to come later than the newer fact, becomes the moment
    at which that begins; where it lies before the old one's beginning, this beginning, so that it
    holds at no time. So does one with an end, where both begin together."""
    fields: dict[str, Any] = {"status": Status.SUPERSEDED, "superseded_by": successor.id}
    end = t_invalid_us
    since_us, known = to_us(old.t_valid), old.t_invalid
    together = successor.t_valid_us == since_us
    if end is None and not (together and known is None):
        begins_us = max(successor.t_valid_us, since_us)
        if known is None or together or to_us(known) > max(begins_us, now_us):
            end = begins_us
    if end is not None:
        fields["t_invalid"] = from_us(end)
    payload = {"superseded_by": successor.id, "reason": reason} | ended(old, end)
    happened = event(old, EventType.SUPERSEDE, now_us, payload)
    return Replacement(
        patch=MemoryPatch(memory_id=old.id, fields=fields, expired=True),
        event=msgspec.structs.replace(happened, source=successor.source, actor=successor.actor),
        record=NewSupersession(superseding_id=successor.id, superseded_id=old.id, reason=reason),
    )


def successor_changes(old: Memory, new_id: str, now_us: int) -> Replacement:
    """Rows that name what superseded a memory; when it ended stays as it is."""
    payload = {"superseded_by": new_id, "reason": "import"}
    end = None if old.t_invalid is None else to_us(old.t_invalid)
    return Replacement(
        patch=MemoryPatch(memory_id=old.id, fields={"superseded_by": new_id}),
        event=event(old, EventType.SUPERSEDE, now_us, payload | ended(old, end)),
        record=NewSupersession(superseding_id=new_id, superseded_id=old.id, reason="import"),
    )


def replacement_warnings(old: Memory, successor: Successor, now_us: int) -> list[str]:
    """Return warnings where a newer memory holds from an earlier time on than what it replaces,
    where that is announced and holds before, and where it leaves the key of that without a current
    memory."""
    said = _earlier_successor_warning(old, successor), _announced_warning(old, successor, now_us)
    warnings = [one for one in said if one is not None]
    same_place = (old.key, old.scope) == (successor.key, successor.scope)
    if old.key is not None and old.t_expired is None and not same_place:
        kept = by_caller("commit(text, key=…)", "vestig add TEXT --key KEY")
        warnings.append(
            f"the key {old.key} of {old.id} is free now: {successor.id}, which replaces it, does"
            f" not have it; {kept} stores a new value of a key"
        )
    return warnings


def replaced_before_warnings(
    old: Memory, ends: Collection[str], known: Callable[[str], Memory | None], now_us: int
) -> list[str]:
    """Return that what replaced a memory before still holds beside its new successor, where it
    does.

    Args:
        ends: ids of the new successor and of all that it replaces.
        known: the memory of an id; None = there is none any more.
    """
    holds, seen = old, {old.id}
    while holds.status is Status.SUPERSEDED:
        after = None if holds.superseded_by is None else known(holds.superseded_by)
        if after is None or after.id in seen:
            return []
        seen.add(after.id)
        holds = after
    over = holds.t_invalid is not None and to_us(holds.t_invalid) <= now_us
    if holds is old or holds.id in ends or holds.status is not Status.ACTIVE or over:
        return []
    ended = by_caller(f"supersede({holds.id!r}, new)", f"`vestig supersede {holds.id} NEW`")
    return [
        f"{old.id} was already replaced by {holds.id}, which still holds beside the new one;"
        f" {ended} replaces it too"
    ]


def rule_warnings(view: LedgerView, memory: Memory) -> list[str]:
    """Return that a memory which is active no longer is the text of a rule, where it is."""
    if rule_rows.of_memory(view, memory.namespace, memory.id) is None:
        return []
    again = by_caller("rules.add(text, when, do)", "`vestig rule add`")
    return [f"{memory.id} is the text of a rule, which ended with it: {again} begins it anew"]


def _announced_warning(old: Memory, successor: Successor, now_us: int) -> str | None:
    since = to_us(old.t_valid)
    if not now_us < since < successor.t_valid_us:
        return None
    if old.t_invalid is not None and to_us(old.t_invalid) < successor.t_valid_us:
        return None
    gone = by_caller(f"deprecate({old.id!r})", f"`vestig deprecate {old.id}`")
    return (
        f"{old.id}, which is announced, holds from {format_us(since)} until what replaces it begins"
        f" at {format_us(successor.t_valid_us)}; {gone} takes it back"
    )


def _earlier_successor_warning(old: Memory, successor: Successor) -> str | None:
    since = to_us(old.t_valid)
    if successor.t_valid_us >= since:
        return None
    warning = (
        f"what replaces {old.id} holds from {format_us(successor.t_valid_us)} on, which is before"
        f" {format_us(since)}, when {old.id} begins to hold"
    )
    return warning if old.t_invalid is not None else f"{warning}; {old.id} now holds at no time"


def change_state(
    session: Session,
    id: object,
    action: str,
    decide: Callable[[LedgerView, Memory, int], tuple[ChangeSet | None, tuple[str, ...]]],
    namespace: object = None,
    said: Sequence[str] = (),
) -> StateChange:
    """Reads the memory under the write lock, decides, writes; nothing changes on an error.

    Args:
        said: warnings, to which the decision adds.
    """
    space = session.in_namespace(namespace)
    degraded: list[Degradation] = []
    with session.operation(action, without_store="make"):
        with session.ledger.write(session.now_us(), make=False) as txn:
            memory = session.memory(txn, space, id)
            changes, fields = decide(txn, memory, session.now_us())
            seq = txn.seq
            if changes is not None:
                seq = txn.apply(changes)
                degraded.extend(clock_notice(txn.clock_behind_us))
            after = txn.memories(space, [memory.id])[0]
            done = StateChange(
                memory_id=memory.id,
                action=action,
                changed=changes is not None,
                status=after.status,
                pinned=after.pinned,
                version=after.version,
                fields=fields,
                seq=seq,
                warnings=tuple(said)
                if changes is None or after.status is Status.ACTIVE
                else (*said, *rule_warnings(txn, memory)),
                degraded=tuple(degraded),
            )
            keep_answer(txn, lambda: done)
        if changes is None:
            return done
        return msgspec.structs.replace(done, degraded=catch_up(session, degraded))


def simple(session: Session, action: str, asked: StateRequest) -> StateChange:
    """Archive, unarchive, pin or unpin."""
    decide = _CHANGES_BY_ACTION[action]

    def decision(
        _: LedgerView, memory: Memory, now: int
    ) -> tuple[ChangeSet | None, tuple[str, ...]]:
        return decide(memory, asked.reason, now), ()

    return change_state(session, asked.id, action, decision, asked.namespace)


def check_deprecation(asked: DeprecateRequest) -> None:
    """Refuses a call that selects nothing, or in two ways.

    Raises:
        ValidationError: says what would select.
    """
    if asked.id is not None and "until" in asked.where.given():
        raise ValidationError(
            "until",
            Description("it beside id"),
            "it as a filter, without id",
            f"{_until()} lets a memory hold until T",
        )
    check_selection(asked, "id", asked.id)
    if asked.id is not None and asked.dry_run:
        raise ValidationError(
            "dry_run", True, "it beside where", by_caller("show(id) says what one memory is")
        )


def joined(namespace: str, parts: Sequence[ChangeSet]) -> ChangeSet:
    """Changes of several memories as one."""
    names = [name for name in ChangeSet.__struct_fields__ if name != "namespace"]
    rows = {name: tuple(row for part in parts for row in getattr(part, name)) for name in names}
    return ChangeSet(namespace=namespace, **rows)


def supersede(session: Session, asked: SupersedeRequest) -> SupersessionRecord:
    """Marks `new` as the successor of `old`; repeating a pair returns its record."""
    end, space = asked.t_invalid, session.in_namespace(asked.namespace)
    degraded: list[Degradation] = []
    with session.operation("supersede", without_store="make"):
        with session.ledger.write(session.now_us(), make=False) as txn:
            before = session.memory(txn, space, asked.old, "old")
            after = session.memory(txn, space, asked.new, "new")
            records = txn.supersessions(space, before.id) + txn.supersessions(space, after.id)
            found = existing_record(before.id, after.id, records)
            if found is not None:
                return found
            check_pair(before, after, records)
            check_end(before, end)
            successor = Successor(
                id=after.id, t_valid_us=to_us(after.t_valid), key=after.key, scope=after.scope
            )
            why, now_us = asked.reason or "", session.now_us()
            parts = replace(before, successor, reason=why, t_invalid_us=end, now_us=now_us)
            txn.apply(parts.change_set(space))
            degraded.extend(clock_notice(txn.clock_behind_us))
            written = txn.supersessions(space, before.id)
            record = existing_record(before.id, after.id, written)
            assert record is not None, "a written record is readable"
            warnings = (
                *replacement_warnings(before, successor, now_us),
                *replaced_before_warnings(
                    before,
                    (before.id, after.id),
                    lambda id: next(iter(txn.memories(space, [id])), None),
                    now_us,
                ),
            )
            if rule_rows.of_memory(txn, space, after.id) is None:
                warnings += tuple(rule_warnings(txn, before))
            if warnings:
                record = msgspec.structs.replace(record, warnings=warnings)
            keep_answer(txn, lambda: record)
        catch_up(session, degraded)
        return record


def record_access(session: Session, ids: object, namespace: object) -> int:
    """One access of each of these memories; unknown id: nothing is written."""
    ids = listed(ids)
    if not isinstance(ids, (list, tuple, set)):
        raise ValidationError("ids", ids, "a list of ids")
    space = session.in_namespace(namespace)
    with session.operation("record_access", without_store="make"):
        with session.ledger.read() as view:
            full = {session.full_id(view, space, id, "ids") for id in ids}
            found = view.memories(space, sorted(full))
            known = {memory.id for memory in found if session.may_name(memory.scope)}
            for missing in sorted(full - known):
                raise session.not_found(view, space, missing)
        if full:
            touch = AccessTouch(memory_ids=tuple(sorted(full)), accessed_us=session.now_us())
            session.ledger.touch(space, touch)
        return len(full)


# --- selections -------------------------------------------------------------------------------


class Selecting(Protocol):
    """The arguments of such a call that select."""

    @property
    def where(self) -> Filter: ...
    @property
    def all(self) -> bool: ...
    @property
    def only(self) -> bool: ...


def check_selection(asked: Selecting, named: str, ids: object, otherwise: str = "") -> None:
    """Refuses a call that selects nothing, or in two ways.

    Args:
        named: the argument that names memories by id.
        ids: its value; None = it was not given.
        otherwise: what the error says beside the filters that there are.

    Raises:
        ValidationError: says what would select.
    """
    given = asked.where.given()
    if asked.only and "sources" not in given:
        raise ValidationError(
            "only", True, "it beside `sources` in where", "it keeps what another source stated too"
        )
    if ids is not None:
        if given:
            either = f"either {named} or a filter (where), not both"
            raise ValidationError(named, Description(f"{named} and where"), either)
        return
    # `unscoped: false` restricts nothing
    effective = {name for name, value in given.items() if name != "unscoped" or value}
    if not effective & (SELECTORS | NARROWING if asked.all else SELECTORS):
        more = ""
        if asked.all:
            kinds = [kind.value for kind in Kind]
            every = by_caller(
                f"with all=True, where={{'kinds': {kinds}}}",
                f"--all with --kinds {','.join(kinds)}",
            )
            more = f"; {every} selects every memory"
        elif effective & NARROWING:
            names = [name for name in given if name in NARROWING]
            more = f"; {_whole_selection(type(asked).__name__, names)}"
        raise ValidationError(
            "where",
            Description(f"only {', '.join(given)}") if given else Description("no filter"),
            f"{named}, or a filter that says which memories",
            "name at least one of "
            + ", ".join(name for name in FIELDS if name in SELECTORS)
            + more
            + otherwise,
        )


def _whole_selection(request: str, names: Sequence[str]) -> str:
    """Return which call takes all that fields let through that select nothing alone.

    Args:
        request: the name of its declaration.
    """
    call = request.removesuffix("Request").lower()
    fields = ", ".join(f'"{name}": …' for name in names)
    options = " ".join(f"--{name.replace('_', '-')} …" for name in names)
    typed = by_caller(f"{call}(where={{{fields}}}, all=True)", f"`vestig {call} {options} --all`")
    return (
        f"to {call} by {' and '.join(names)} alone, add {by_caller('all=True', '--all')}: {typed}"
    )


def selected_ids(session: Session, space: str, where: Filter) -> list[str]:
    """Ids that the filter lets through, of one state of the store; expired and archived memories
    too unless it names statuses."""
    at = moments(session.now_us())
    return ids_of(
        session, filter_parts(where, space, at, include_expired=True, include_archived=True)
    )


def ids_of(session: Session, parts: FilterParts) -> list[str]:
    """Ids of the memories that pass, of one state of the store."""

    def read(view: LedgerView, core: Any) -> list[str]:
        raw = session.keeper.eligible(view, resolved(view, core, parts))
        return [id_text("mem", one) for one in split_ids(raw)]

    return session.keeper.run(read)


def selection_warnings(session: Session, space: str, where: Filter) -> tuple[str, ...]:
    """Warnings about names in a filter that nothing has, or that others have with a word more, so
    that less is selected than is meant."""
    parts = filter_parts(where, space, moments(session.now_us()))
    return session.keeper.run(
        lambda view, core: (
            *unknown_names(session, view, core, parts),
            *also_known(view, core, parts),
        )
    )


def selected_names(session: Session, space: str, where: Filter) -> list[str]:
    """The names of the entities that a filter names."""
    parts = filter_parts(where, space, moments(session.now_us()))
    return session.keeper.run(lambda view, core: names_of_entities(view, core, parts))


# Fields of a filter that select by what an item has too.
_SCOPES: Final = frozenset(("scope", "scope_prefix", "unscoped"))
_OF_ITEMS: Final = _SCOPES | {"keys", "key_prefix"}


def selected_items(view: LedgerView, space: str, where: Filter) -> list[ItemRow]:
    """Items that a filter selects, with a text or without; none where it asks for more than scopes
    and keys."""
    given = where.given()
    if not given.keys() <= _OF_ITEMS:
        return []
    found = [one for one in item_rows.below(view, space, None) if _in_scopes(given, one.scope)]
    if "keys" in given:
        keys = keyed_memories.item_keys(view, space, given["keys"])
        found = [one for one in found if one.key in keys]
    begins = given.get("key_prefix", "")
    return [one for one in found if one.key.startswith(begins)]


def selected_documents(view: LedgerView, space: str, where: Filter) -> tuple[tuple[str, ...], ...]:
    """The ids of the versions of each document that a filter selects: none where it asks for more
    than scopes, since a document of which some passages stay is still known."""
    given = where.given()
    if not given or not given.keys() <= _SCOPES:
        return ()
    return tuple(
        tuple(one.id for one in history)
        for history in documents.histories(view, space)
        if _in_scopes(given, documents.name_of(history[-1]).scope)
    )


def _in_scopes(given: Mapping[str, Any], scope: str | None) -> bool:
    """Return whether a scope is among those that the fields of a filter name."""
    prefix = given.get("scope_prefix")
    if prefix is not None and not (
        scope is not None and (scope == prefix or scope.startswith(f"{prefix}/"))
    ):
        return False
    scopes = [*given.get("scope", ()), *([None] if given.get("unscoped") else [])]
    return not scopes or scope in scopes


def stated_by_no_other(
    view: LedgerView, space: str, ids: Sequence[str], sources: Collection[str]
) -> list[str]:
    """Those of these memories that no other source than these stated.

    Args:
        view: of the transaction that takes them out: another source may have stated one since
            they were selected.
    """
    wanted = {_compared(source) for source in sources}
    stated = stated_sources(view, space, ids)
    return [id for id in ids if all(_compared(one) in wanted for one in stated.get(id, ()))]


def superseded_by_them(view: LedgerView, space: str, ids: Collection[str]) -> tuple[str, ...]:
    """Ids of the memories that these superseded and that are none of them, ascending."""
    replaced = view.replaced_by(space, sorted(ids))
    return tuple(sorted({one for old in replaced.values() for one in old}.difference(ids)))


def _compared(label: str) -> str:
    """The form in which labels are compared."""
    return normalize("NFC", normalize("NFC", label).casefold())
