"""Records that stay as they are when an export is merged into a store: values of keys and of items,
statements that were replaced or withdrawn since they were made, and what the store knew before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from vestig.calls.items import key_of_part, parts_range
from vestig.ids import id_text
from vestig.store.records.memory_versions import stored_item
from vestig.store.records.rows import from_json, to_json
from vestig.store.sqlite.connections import each, fetch
from vestig.store.tables.schema import INDEX, TABLES, columns_sql
from vestig.types import Status

_M: Final = INDEX["memories"]
_I: Final = INDEX["items"]
_ARCHIVED: Final = Status.ARCHIVED.value
# What has the key of a memory of a file, with another text.
_HOLDER: Final = (
    "SELECT id, pinned, confirmed, status, t_valid_us FROM memories WHERE namespace = :space"
    ' AND scope IS :scope AND "key" = :key AND t_expired_us IS NULL'
    " AND content_hash <> :content_hash AND id <> :id"
)
# The same statement: of one key, or of one author and place in a session.
_SAME: Final = (
    'namespace = :space AND content_hash = :content_hash AND scope IS :scope AND "key" IS :key'
    ' AND ("key" IS NOT NULL OR (author IS :author AND session_id IS :session_id'
    " AND (session_id IS NULL OR sequence IS :sequence)))"
)
# It held when that of the file begins, and ended after that was stated last.
_ENDED: Final = (
    f'SELECT "row" FROM memories WHERE {_SAME} AND t_expired_us IS NOT NULL'
    " AND (t_invalid_us IS NULL OR t_invalid_us > :t_valid_us)"
    " AND t_expired_us >= max(:t_created_us, IFNULL(:last_seen_us, :t_created_us))"
    ' ORDER BY t_expired_us DESC, "row" LIMIT 1'
)
_ACTIVE: Final = f'SELECT "row" FROM memories WHERE {_SAME} AND t_expired_us IS NULL LIMIT 1'
# The texts of an item, or parts of them.
_TEXTS: Final = (
    "SELECT content_hash FROM memories WHERE namespace = ?1 AND scope IS ?2 AND t_expired_us IS"
    ' NULL AND ("key" = ?3 OR "key" >= ?4 AND "key" < ?5)'
)
_KEYED: Final = (
    'SELECT "row", id, namespace, scope, "key", content_hash, t_expired_us FROM memories'
    ' WHERE "key" IS NOT NULL'
)

# When a store learnt of a record, and of its end.
_LEARNT: Final = {
    "memories": ("t_created_us", "t_expired_us"),
    "entities": ("created_us", "expired_us"),
    "edges": ("t_created_us", "t_expired_us"),
    "supersessions": ("created_us",),
    "tombstones": ("forgotten_us",),
}


def put_learnt(table: str, values: list[Any], learnt_us: int) -> None:
    """Puts when a store learns of a record in the place of when that of the file did."""
    for name in _LEARNT.get(table, ()):
        if values[INDEX[table][name]] is not None:
            values[INDEX[table][name]] = learnt_us


class Beside(NamedTuple):
    """A memory of the file that stands beside `holder`, which keeps the key. `pinned`: because it
    is; else because nobody confirmed what a model states, or it is archived."""

    id: str
    holder: str
    key: str
    pinned: bool


def _named(row: Sequence[Any], space: str) -> dict[str, Any]:
    return dict(zip(TABLES["memories"].names, row, strict=True)) | {"space": space}


def beside(conn: apsw.Connection, row: Sequence[Any], space: str) -> Beside | None:
    """Return that a memory of a file does not take its key from what has it, as no commit would: a
    pinned memory, or one that is stated or confirmed by a user where a model states the other; nor
    does an archived one from one that is not."""
    theirs = _named(row, space)
    if theirs["key"] is None or theirs["t_expired_us"] is not None:
        return None
    holders: list[tuple[Any, ...]] = conn.execute(_HOLDER, theirs).fetchall()
    for id, pinned, confirmed, status, begins_us in holders:
        guess = confirmed > theirs["confirmed"]
        hidden = theirs["status"] == _ARCHIVED != status
        later = begins_us < theirs["t_valid_us"] or confirmed < theirs["confirmed"]
        if guess or hidden or (pinned and later):
            ids = id_text("mem", theirs["id"]), id_text("mem", id)
            return Beside(*ids, theirs["key"], bool(pinned and not guess and not hidden))
    return None


def stand_beside(theirs: apsw.Connection, row: int, one: Beside) -> bool:
    """Takes the key from a memory of a scratch ledger, as a commit stores one beside what keeps it;
    False where the ledger has its text without a key too."""
    try:
        theirs.execute('UPDATE memories SET "key" = NULL WHERE "row" = ?', (row,))
    except apsw.ConstraintError:
        return False
    sql = "SELECT \"row\", payload FROM events WHERE memory = ? AND event_type IN ('ADD', 'IMPORT')"
    for event, payload in fetch(theirs, sql, (row,)):
        told = from_json(payload) | {"key": None, "beside": one.holder}
        theirs.execute('UPDATE events SET payload = ? WHERE "row" = ?', (to_json(told), event))
    return True


def ended_since(conn: apsw.Connection, row: Sequence[Any], space: str) -> int | None:
    """Return the row of the memory with the statement of one of a file that was replaced or
    withdrawn here after that was stated; None where there is none."""
    theirs = _named(row, space)
    if theirs["t_expired_us"] is not None:
        return None
    return _first_row(conn, _ENDED, theirs)


def still_active(conn: apsw.Connection, row: Sequence[Any], space: str) -> int | None:
    """Return the row of the memory that states here what a memory of a file stated which was
    replaced there; None where there is none."""
    return _first_row(conn, _ACTIVE, _named(row, space))


def _first_row(conn: apsw.Connection, sql: str, named: dict[str, Any]) -> int | None:
    rows: list[tuple[Any, ...]] = conn.execute(sql, named).fetchall()
    return rows[0][0] if rows else None


class KeptItem(NamedTuple):
    """An item that stays as it is. `deleted`: it was deleted here. `texts`: rows of the memories of
    the file that are its texts there, and that the store has not."""

    name: str
    deleted: bool
    texts: tuple[int, ...]


def is_expired(item: Sequence[Any], now_us: int) -> bool:
    """Return whether nothing shows a row of an item any more."""
    ends_us = item[_I["expires_us"]]
    return ends_us is not None and ends_us <= now_us


class _Text(NamedTuple):
    """A text of an item of a file, or a part of it."""

    row: int
    id: bytes
    content_hash: bytes
    expired_us: int | None


def kept_items(
    conn: apsw.Connection, theirs: apsw.Connection, space: Callable[[str], str], now_us: int
) -> list[KeptItem]:
    """The items of which a file has another value, text or end than the store, by scope and key.

    Args:
        space: where a record of a namespace goes.
    """
    found, texts = [], dict[tuple[Any, ...], list[_Text]]()
    for row, id, *slot, key, digest, expired_us in each(theirs, _KEYED):
        of_item = texts.setdefault((*slot, key_of_part(key)), [])
        of_item.append(_Text(row, id, digest, expired_us))
    select = f'SELECT {columns_sql("items")} FROM items WHERE "key" IS NOT NULL'
    for item in each(theirs, f"{select} ORDER BY IFNULL(scope, ''), \"key\""):
        values = list(item)
        values[_I["namespace"]] = space(values[_I["namespace"]])
        old = stored_item(conn, values)
        if old is None or is_expired(old, now_us):
            continue
        own = texts.get(_slot(item), [])
        deleted = old[_I["key"]] is None
        hashes = sorted(one.content_hash for one in own if one.expired_us is None)
        if not deleted and _state(conn, old) == (*_value(item), hashes):
            continue
        known = "SELECT 1 FROM memories WHERE id = ?"
        new = tuple(one.row for one in own if not fetch(conn, known, (one.id,)))
        scope, key = item[_I["scope"]], item[_I["key"]]
        found.append(KeptItem(key if scope is None else f"{key} of {scope}", deleted, new))
    return found


def _slot(item: Sequence[Any]) -> tuple[Any, ...]:
    return item[_I["namespace"]], item[_I["scope"]], item[_I["key"]]


def _value(item: Sequence[Any]) -> tuple[Any, ...]:
    return item[_I["value"]], item[_I["expires_us"]]


def _state(conn: apsw.Connection, item: Sequence[Any]) -> tuple[Any, ...]:
    """Return the value of a stored item, when it ends, and its text by the hashes of its parts."""
    texts = fetch(conn, _TEXTS, (*_slot(item), *parts_range(item[_I["key"]])))
    return *_value(item), sorted(digest for (digest,) in texts)
