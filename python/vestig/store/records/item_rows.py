"""The rows of items: values by namespace, scope and key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

from vestig import calls
from vestig.changes import NewItem
from vestig.ids import id_bytes, id_text, new_id
from vestig.store.integrity import chain
from vestig.store.records.reads import LedgerView
from vestig.store.sqlite.connections import damaged, each, fetch, next_row, store_faults
from vestig.store.tables.schema import INDEX, INSERT, TABLES, columns_sql

if TYPE_CHECKING:
    from vestig.store.records.removal import Removal
    from vestig.types import Memory

_AT: Final = INDEX["items"]
_COLUMNS: Final = columns_sql("items")
_SELECT: Final = f"SELECT {_COLUMNS} FROM items"
_UPDATE: Final = (
    "UPDATE items SET "
    + ", ".join(f'"{name}" = ?' for name in TABLES["items"].names)
    + ' WHERE "row" = ?'
)
_OF_KEY: Final = " WHERE namespace = ? AND IFNULL(scope, '') = ? AND \"key\" = ?"
_LINKS: Final = "SELECT seq, written FROM chain WHERE seq IN (?*)"
_LIVE: Final = '"key" IS NOT NULL AND (expires_us IS NULL OR expires_us > ?)'
# A scope and those below it: what comes behind a slash sorts before the next character.
_AFTER_SLASH: Final = chr(ord("/") + 1)


class ItemRow(NamedTuple):
    """A stored item. `value` is JSON."""

    row: int
    scope: str | None
    key: str
    value: str
    version: int
    created_us: int
    updated_us: int
    expires_us: int | None

    def is_expired(self, now_us: int) -> bool:
        """Return whether nothing shows it any more."""
        return self.expires_us is not None and self.expires_us <= now_us


def _item(values: Sequence[Any]) -> ItemRow:
    return ItemRow(*(values[_AT[name]] for name in ItemRow._fields))


# --- reading -----------------------------------------------------------------------------------


def find(view: LedgerView, namespace: str, scope: str | None, key: str) -> ItemRow | None:
    """The item of a key, an expired one too; None where there is none."""
    found = _rows(view, _OF_KEY, (namespace, scope or "", key))
    return found[0] if found else None


def page(
    view: LedgerView, namespace: str, prefix: str | None, now_us: int, offset: int, limit: int
) -> tuple[list[ItemRow], int]:
    """Items of a scope and those below it (None: all), by scope and key, and how many there are."""
    below, values = _below(prefix)
    where = f" WHERE namespace = ? AND {_LIVE}{below}"
    given = (namespace, now_us, *values)
    order = " ORDER BY IFNULL(scope, ''), \"key\" LIMIT ? OFFSET ?"
    ((total,),) = view.fetch(f"SELECT COUNT(*) FROM items{where}", given)
    return _rows(view, where + order, (*given, limit, offset)), total


def of_scope(view: LedgerView, namespace: str, scope: str | None) -> list[ItemRow]:
    """All items of a scope, expired ones too."""
    where = " WHERE namespace = ? AND IFNULL(scope, '') = ? AND \"key\" IS NOT NULL"
    return _rows(view, where, (namespace, scope or ""))


def below(view: LedgerView, namespace: str, prefix: str | None) -> list[ItemRow]:
    """All items of a scope and those below it (None: all), expired ones too."""
    condition, values = _below(prefix)
    where = f' WHERE namespace = ? AND "key" IS NOT NULL{condition}'
    return _rows(view, where, (namespace, *values))


def expired(view: LedgerView, namespace: str, now_us: int) -> list[ItemRow]:
    """Items that nothing shows any more."""
    return _rows(view, " WHERE expires_us <= ? AND namespace = ?", (now_us, namespace))


def scopes(view: LedgerView, namespace: str, prefix: str | None, now_us: int) -> list[str]:
    """Scopes of items, each once, ascending."""
    below, values = _below(prefix)
    sql = (
        f"SELECT DISTINCT scope FROM items WHERE namespace = ? AND {_LIVE}"
        f" AND scope IS NOT NULL{below} ORDER BY scope"
    )
    return [one for (one,) in view.fetch(sql, (namespace, now_us, *values))]


def _rows(view: LedgerView, where: str, values: tuple[Any, ...]) -> list[ItemRow]:
    """Items as the transactions that they name have written them.

    Raises:
        StoreDamagedError: one was never written so.
    """
    rows = view.fetch(_SELECT + where, values)
    links = dict(view.fetch_in(_LINKS, sorted({row[_AT["seq"]] for row in rows})))
    for row in rows:
        if chain.digest("items", row) not in (links.get(row[_AT["seq"]]) or b""):
            id = id_text("item", row[_AT["id"]])
            raise damaged(view.where, f"a row of table items of {id} that was never written so")
    return [_item(row) for row in rows]


def _below(prefix: str | None) -> tuple[str, tuple[str, ...]]:
    if prefix is None:
        return "", ()
    condition = " AND (IFNULL(scope, '') = ? OR IFNULL(scope, '') >= ? AND IFNULL(scope, '') < ?)"
    return condition, scope_range(prefix)


def scope_range(prefix: str) -> tuple[str, str, str]:
    """A scope, and the bounds between which those below it sort.

    Example:
        >>> scope_range("user/7")
        ('user/7', 'user/7/', 'user/70')
    """
    return prefix, f"{prefix}/", f"{prefix}{_AFTER_SLASH}"


# --- texts of items ----------------------------------------------------------------------------


def memory_scopes(view: LedgerView, namespace: str, prefix: str) -> list[str]:
    """Scopes of memories that are this one or lie below it, each once, ascending; each is looked
    up after the one before it, however many memories it has."""
    exact, first, end = scope_range(prefix)
    bounds = "FROM memories WHERE namespace = ?1 AND scope"
    sql = (
        f"WITH RECURSIVE found(scope) AS (SELECT MIN(scope) {bounds} >= ?2 AND scope < ?3"
        f" UNION ALL SELECT (SELECT MIN(scope) {bounds} > found.scope AND scope < ?3) FROM found"
        " WHERE found.scope IS NOT NULL) SELECT scope FROM found WHERE scope IS NOT NULL"
    )
    there = view.fetch(f"SELECT 1 {bounds} = ?2 LIMIT 1", (namespace, exact))
    lower = view.fetch(sql, (namespace, first, end))
    return [*((exact,) if there else ()), *(one for (one,) in lower)]


def memory_ids(view: LedgerView, namespace: str, items: Iterable[ItemRow]) -> list[str]:
    """Ids of the memories that are or were texts of these items, whatever their status."""
    found: list[str] = []
    with store_faults(view.where):
        for item in items:
            found += _ids_of(view.connection, namespace, item.scope, item.key, "")
    return found


def text_ids(view: LedgerView, namespace: str, scope: str | None, key: str) -> list[str]:
    """Ids of the unexpired memories that are the text of an item."""
    with store_faults(view.where):
        return list(_ids_of(view.connection, namespace, scope, key, " AND t_expired_us IS NULL"))


def any_expired(view: LedgerView, now_us: int) -> bool:
    """Return whether there is an item, of any namespace, that nothing shows any more."""
    return bool(view.fetch("SELECT 1 FROM items WHERE expires_us <= ? LIMIT 1", (now_us,)))


def hidden_ids(view: LedgerView, namespace: str, now_us: int) -> list[str]:
    """Ids of the memories of expired items."""
    if not any_expired(view, now_us):
        return []
    return memory_ids(view, namespace, expired(view, namespace, now_us))


def is_hidden(view: LedgerView, memory: Memory, now_us: int) -> bool:
    """Return whether a memory is the text of an expired item."""
    if memory.key is None:
        return False
    item = find(view, memory.namespace, memory.scope, calls.items.key_of_part(memory.key))
    return item is not None and item.is_expired(now_us)


def of_memories(view: LedgerView, memories: Iterable[Memory]) -> list[ItemRow]:
    """The items whose text one of these memories is."""
    found: dict[int, ItemRow] = {}
    for one in memories:
        if one.key is not None and one.t_expired is None:
            item = find(view, one.namespace, one.scope, calls.items.key_of_part(one.key))
            if item is not None:
                found[item.row] = item
    return list(found.values())


def _ids_of(
    conn: apsw.Connection, namespace: str, scope: str | None, key: str, more: str
) -> Iterator[str]:
    parts = calls.items.parts_range(key)
    for condition, values in (('"key" = ?', (key,)), ('"key" >= ? AND "key" < ?', parts)):
        sql = f"SELECT id FROM memories WHERE {condition} AND namespace = ? AND scope IS ?{more}"
        for (id,) in each(conn, sql, (*values, namespace, scope)):
            yield id_text("mem", id)


# --- writing -----------------------------------------------------------------------------------


def write(
    conn: apsw.Connection,
    link: chain.Link,
    items: Iterable[NewItem],
    *,
    seq: int,
    now_us: int,
    salts: chain.Salts,
) -> None:
    """Writes values, each in the place of the one that its key had."""
    for new in items:
        created = now_us if new.created_us is None else new.created_us
        found = fetch(conn, _SELECT + _OF_KEY, (new.namespace, new.scope or "", new.key))
        old = found[0] if found else None
        row, id = (next_row(conn, "items"), id_bytes(new_id("item"))) if old is None else old[1:3]
        values = (
            salts.take(), row, id, new.namespace, new.scope, seq, new.key, new.value,
            new.version, created, now_us, new.expires_us,
        )  # fmt: skip
        put(conn, link, values, old)


def put(
    conn: apsw.Connection, link: chain.Link, values: tuple[Any, ...], old: tuple[Any, ...] | None
) -> None:
    """Writes a row, in the place of an older version of it where there is one."""
    if old is None:
        conn.execute(INSERT["items"], values)
        link.wrote("items", values)
    else:
        conn.execute(_UPDATE, (*values, old[_AT["row"]]))
        link.replaced("items", old, values)


def replace(
    removal: Removal, values: Iterable[tuple[ItemRow, str]], seq: int, now_us: int
) -> set[str]:
    """Writes these values (JSON) as the next versions of their rows, and gives those that stood
    there."""
    texts: set[str] = set()
    for item, value in values:
        old = fetch(removal.conn, f'{_SELECT} WHERE "row" = ?', (item.row,))[0]
        new, gone = list(old), list(old)
        new[_AT["salt"]], new[_AT["seq"]] = chain.Salts().take(), seq
        new[_AT["version"]], new[_AT["value"]] = item.version + 1, value
        new[_AT["updated_us"]] = now_us
        put(removal.conn, removal.link, tuple(new), old)
        gone[_AT["key"]] = None  # it stays
        removal.removed_rows.append(("items", tuple(gone)))
        removal.counts["items"] += 1
        texts.add(item.value)
    return texts


def empty(removal: Removal, items: Sequence[ItemRow], seq: int) -> set[str]:
    """Takes key and value from these rows, and gives the texts that stood there; what is left says
    that the id was deleted."""
    texts: set[str] = set()
    for item in items:
        old = fetch(removal.conn, f'{_SELECT} WHERE "row" = ?', (item.row,))[0]
        new = list(old)
        new[_AT["salt"]], new[_AT["seq"]] = chain.Salts().take(), seq
        new[_AT["version"]], new[_AT["value"]] = 0, "null"
        for name in ("scope", "key", "expires_us"):
            new[_AT[name]] = None
        put(removal.conn, removal.link, tuple(new), old)
        removal.removed_rows.append(("items", old))
        removal.counts["items"] += 1
        texts.update((item.key, item.value))
    return texts


def unused_scopes(
    removal: Removal, namespace: str, items: Sequence[ItemRow], memories: Iterable[int]
) -> set[str]:
    """The scopes of deleted items that nothing has any more.

    Args:
        memories: rows of memories that go with them.
    """
    gone, found = set(memories), set[str]()
    for scope in {item.scope for item in items if item.scope}:
        values = (namespace, scope)
        rows = fetch(
            removal.conn, 'SELECT "row" FROM memories WHERE namespace = ? AND scope = ?', values
        )
        left = fetch(
            removal.conn, "SELECT 1 FROM items WHERE namespace = ? AND scope = ? LIMIT 1", values
        )
        if not left and all(row in gone for (row,) in rows):
            found.add(scope)
    return found
