"""Memories that are the values of keys: each key has one unexpired memory in a namespace and scope,
and all that it replaced. After memories were restored beside others, each of the others holds until
the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from vestig import calls
from vestig.changes import MemoryPatch
from vestig.ids import id_bytes, id_text, new_id
from vestig.language.text_forms import normal_form
from vestig.store.integrity import chain
from vestig.store.records import memory_versions
from vestig.store.records.rows import MEMORY_SELECT, from_json, memory_of, to_json
from vestig.store.sqlite.connections import each, fetch, next_row, select_in, store_faults
from vestig.store.tables.schema import INDEX, INSERT, columns_sql
from vestig.times import format_us, from_us
from vestig.types import EventType, Memory, Status

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView


_OF_KEY: Final = ' WHERE m."key" = ? AND m.namespace = ? AND m.scope IS ?'
_BY_ROW: Final = f'{MEMORY_SELECT} WHERE m."row" = ?'
# A withdrawn memory held at no time, nor did one that ended when it began: where a group of values
# begins at one time, all but the last.
_HELD: Final = (
    "(m.t_invalid_us > m.t_valid_us OR m.t_invalid_us IS NULL AND m.t_expired_us IS NULL)"
)
_BEFORE: Final = (
    f'{_OF_KEY} AND {_HELD} AND m.t_valid_us <= ? ORDER BY m.t_valid_us DESC, m."row" DESC'
)
_HOLDING: Final = (
    f"{_OF_KEY} AND m.status = 'superseded' AND m.t_valid_us <= ? AND m.t_invalid_us > ?"
    ' ORDER BY m.t_valid_us DESC, m."row" DESC LIMIT 1'
)
_AFTER: Final = f'{_OF_KEY} AND {_HELD} AND m.t_valid_us > ? ORDER BY m.t_valid_us, m."row" DESC'

_FURTHER_PARTS: Final = 'SELECT id FROM memories WHERE namespace = ? AND "key" >= ? AND "key" < ?'


def current(view: LedgerView, namespace: str, scope: str | None, key: str) -> Memory | None:
    """The unexpired memory with a key."""
    tail = f"{_OF_KEY} AND m.t_expired_us IS NULL LIMIT 1"
    return next(_select(view, tail, (key, namespace, scope)), None)


def holding(
    view: LedgerView, namespace: str, scope: str | None, key: str, now_us: int
) -> Memory | None:
    """The superseded memory with a key that holds now, because its successor begins later."""
    values = (key, namespace, scope, now_us, now_us)
    return next(_select(view, _HOLDING, values), None)


def expired_with_text(
    view: LedgerView, namespace: str, scope: str | None, key: str, content_hash: str
) -> list[Memory]:
    """Expired memories with a key and this text, the newest first."""
    tail = (
        f"{_OF_KEY} AND m.content_hash = ? AND m.t_expired_us IS NOT NULL"
        ' ORDER BY m.seq DESC, m."row" DESC'
    )
    return list(_select(view, tail, (key, namespace, scope, bytes.fromhex(content_hash))))


def with_text(
    view: LedgerView, namespace: str, scope: str | None, author: str | None, content_hash: str
) -> list[Memory]:
    """Unexpired memories with this text that have a key, the oldest first."""
    tail = (
        " WHERE m.content_hash = ? AND m.namespace = ? AND m.scope IS ? AND m.author IS ?"
        ' AND m."key" IS NOT NULL AND m.t_expired_us IS NULL ORDER BY m."row"'
    )
    return list(_select(view, tail, (bytes.fromhex(content_hash), namespace, scope, author)))


def held_before(
    view: LedgerView, namespace: str, scope: str | None, key: str, t_valid_us: int
) -> Iterator[Memory]:
    """Memories with a key that began to hold at this time or before, the latest first; withdrawn
    ones are left out."""
    return _select(view, _BEFORE, (key, namespace, scope, t_valid_us))


def held_after(
    view: LedgerView, namespace: str, scope: str | None, key: str, t_valid_us: int
) -> Iterator[Memory]:
    """Memories with a key that began to hold after this time, the earliest first."""
    return _select(view, _AFTER, (key, namespace, scope, t_valid_us))


def current_keys(
    view: LedgerView, namespace: str, prefix: str | None, scope: str | None
) -> Iterator[tuple[str, str | None]]:
    """(key, scope) of every active memory that has a key, ascending.

    Args:
        prefix: only keys that begin so; None = all.
        scope: only this scope; None = all.
    """
    given: list[Any] = [namespace, Status.ACTIVE.value]
    sql = (
        'SELECT "key", scope FROM memories WHERE "key" IS NOT NULL AND t_expired_us IS NULL'
        " AND namespace = ? AND status = ?"
    )
    if prefix is not None:
        sql += ' AND "key" >= ? AND substr("key", 1, ?) = ?'
        given += [prefix, len(prefix), prefix]
    if scope is not None:
        sql += " AND scope = ?"
        given.append(scope)
    with store_faults(view.where):
        yield from each(view.connection, f'{sql} ORDER BY "key", scope', tuple(given))


def every_version(view: LedgerView, namespace: str, scope: str | None, key: str) -> list[Memory]:
    """All memories that have or had a key, by the time from which they hold; of one time, as they
    were stored."""
    tail = f'{_OF_KEY} ORDER BY m.t_valid_us, m."row"'
    return list(_select(view, tail, (key, namespace, scope)))


def stored_key(view: LedgerView, namespace: str, key: str) -> str:
    """The key that memories have, of one as it is written: that of an item that is kept under
    exactly this, else its normal form."""
    normal, of_item = normal_form(key), calls.items.part_key(key, 0)
    if of_item in (key, normal):
        return normal
    sql = 'SELECT 1 FROM memories WHERE namespace = ? AND "key" = ? LIMIT 1'
    return of_item if view.fetch(sql, (namespace, of_item)) else normal


def item_keys(view: LedgerView, namespace: str, keys: Sequence[str]) -> set[str]:
    """The keys of the items whose texts have one of these keys as they are written."""
    return {calls.items.key_of_part(stored_key(view, namespace, key)) for key in keys}


def ids_with_keys(view: LedgerView, namespace: str, keys: Sequence[str]) -> Iterator[str]:
    """Ids of the memories with one of these keys as they are written, whatever their status; of the
    text of an item all parts."""
    sql = 'SELECT id FROM memories WHERE namespace = ? AND "key" IN (?*)'
    stored = tuple(stored_key(view, namespace, key) for key in keys)
    with store_faults(view.where):
        for (id,) in select_in(view.connection, sql, stored, (namespace,)):
            yield id_text("mem", id)
        for key in dict.fromkeys(map(calls.items.key_of_part, stored)):
            for (id,) in each(
                view.connection, _FURTHER_PARTS, (namespace, *calls.items.parts_range(key))
            ):
                yield id_text("mem", id)


def ids_with_key_prefix(view: LedgerView, namespace: str, prefix: str) -> Iterator[str]:
    """Ids of the memories whose key begins so, whatever their status."""
    sql = (
        'SELECT id FROM memories WHERE "key" >= ?1 AND substr("key", 1, ?2) = ?1 AND namespace = ?3'
    )
    with store_faults(view.where):
        for (id,) in each(view.connection, sql, (prefix, len(prefix), namespace)):
            yield id_text("mem", id)


def _select(view: LedgerView, tail: str, values: tuple[Any, ...]) -> Iterator[Memory]:
    """Memories by what follows `FROM memories m`. Their numbers are looked up first: a whole memory
    takes fifty times as long, also where there is none."""
    with store_faults(view.where):
        for row in fetch(view.connection, f'SELECT m."row" FROM memories m{tail}', values):
            (found,) = fetch(view.connection, _BY_ROW, row)
            yield memory_of(found, view.where)


_AT: Final = INDEX["memories"]
_SLOTS: Final = (
    'SELECT DISTINCT namespace, scope, "key" FROM memories'
    ' WHERE "key" IS NOT NULL AND "row" IN (?*)'
)
# Of those that begin at one time the last that was stored holds; a withdrawn one held at no time,
# nor did one that was replaced when it began.
_VERSIONS: Final = (
    f"SELECT {columns_sql('memories')} FROM memories"
    ' WHERE "key" = ?3 AND namespace = ?1 AND scope IS ?2'
    " AND (status <> 'deprecated' OR t_invalid_us IS NOT NULL)"
    " AND (t_expired_us IS NULL OR t_invalid_us IS NULL OR t_invalid_us > t_valid_us)"
    ' ORDER BY t_valid_us, t_created_us, "row"'
)


class Moment(NamedTuple):
    """The transaction that writes: its number, its time, and its link."""

    seq: int
    recorded_us: int
    link: chain.Link


class _Change(NamedTuple):
    """A new end of a version, and the version that takes its place."""

    version: tuple[Any, ...]
    end_us: int | None
    successor: tuple[Any, ...] | None


class VersionChange(NamedTuple):
    """The row of a memory that ends at another time; `replaced`: and is superseded."""

    row: int
    replaced: bool


def order_versions(
    conn: apsw.Connection, restored: Collection[int], at: Moment, salt: Callable[[], bytes]
) -> list[VersionChange]:
    """Brings the versions of each key of these memories into one order by `t_valid`, together with
    those that were there, and gives what changed by it. Of those that begin at one time the ones
    that were there come last; what a user stated is current before what a model did.

    Args:
        restored: row numbers of memories.
        at: the transaction.
        salt: draws the salt of a row.
    """
    found, new = list[VersionChange](), set(restored)
    for slot in list(select_in(conn, _SLOTS, sorted(restored))):
        versions = fetch(conn, _VERSIONS, slot)
        versions.sort(key=lambda one: (_value(one, "t_valid_us"), _value(one, "row") not in new))
        for change in _changes(versions):
            _write(conn, change, at, salt)
            row, replaced = _value(change.version, "row"), change.successor is not None
            found.append(VersionChange(row, replaced))
    return found


def _value(version: tuple[Any, ...], column: str) -> Any:
    return version[_AT[column]]


def _changes(versions: list[tuple[Any, ...]]) -> Iterator[_Change]:
    """Changes of versions in the order in which they hold."""
    live = [one for one in versions if _value(one, "t_expired_us") is None]
    live.sort(key=lambda one: _value(one, "confirmed"))
    current = live[-1] if live else None
    for one in live[:-1]:
        if versions.index(one) > versions.index(live[-1]):
            versions.remove(one)
            yield _Change(one, _value(one, "t_valid_us"), current)
    for one, following in pairwise(versions):
        if one is current:
            continue
        begins, end = _value(following, "t_valid_us"), _value(one, "t_invalid_us")
        kept = end is not None and end <= begins
        replaced = _value(one, "t_expired_us") is None
        if replaced or not kept:
            yield _Change(one, end if kept else begins, following if replaced else None)


def _write(conn: apsw.Connection, change: _Change, at: Moment, salt: Callable[[], bytes]) -> None:
    old, end_us, successor = change
    row, before = _value(old, "row"), _value(old, "t_invalid_us")
    ended = {
        "t_invalid": None if end_us is None else format_us(end_us),
        "previous_t_invalid": None if before is None else format_us(before),
    }
    fields: dict[str, Any] = {"t_invalid": None if end_us is None else from_us(end_us)}
    if successor is None:
        kind = EventType.UPDATE
        payload: dict[str, Any] = {
            "old": {"t_invalid": ended["previous_t_invalid"]},
            "new": {"t_invalid": ended["t_invalid"]},
        }
    else:
        kind = EventType.SUPERSEDE
        id = id_text("mem", _value(successor, "id"))
        fields |= {"status": Status.SUPERSEDED, "superseded_by": id}
        payload = {"superseded_by": id, "reason": "key"}
        values = (
            salt(), next_row(conn, "supersessions"), _value(successor, "row"), row, "key",
            at.recorded_us, at.seq,
        )  # fmt: skip
        conn.execute(INSERT["supersessions"], values)
        at.link.wrote("supersessions", values)
    patch = MemoryPatch(
        memory_id=id_text("mem", _value(old, "id")),
        fields=fields,
        expired=successor is not None,
        bump_version=successor is None,
    )
    rows = {} if successor is None else {fields["superseded_by"]: _value(successor, "row")}
    new = memory_versions.patched_row(
        old, patch, seq=at.seq, recorded_us=at.recorded_us, row_of=rows.__getitem__
    )
    sets = ", ".join(f'"{name}" = ?' for name in _AT)
    conn.execute(f'UPDATE memories SET {sets} WHERE "row" = ?', (*new, row))
    at.link.replaced("memories", old, new)
    at.link.touched.add(row)
    base = {
        "content_hash": _value(old, "content_hash").hex(),
        "tags": from_json(_value(old, "metadata")).get("tags", []),
        "artifact_ref": None,
    }
    event = (
        salt(), next_row(conn, "events"), id_bytes(new_id("evt")), row, at.seq, at.recorded_us,
        kind.value, at.recorded_us, "import", None, None, to_json(base | payload | ended),
    )  # fmt: skip
    conn.execute(INSERT["events"], event)
    at.link.wrote("events", event)
