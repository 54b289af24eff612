"""Memories that are the values of keys: each key has one unexpired memory in a namespace and scope,
and all that it replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from vestig.ids import id_text
from vestig.store.records.rows import MEMORY_SELECT, memory_of
from vestig.store.sqlite.faults import store_faults
from vestig.store.sqlite.lookups import each, fetch, select_in
from vestig.types import Memory

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

_OF_KEY: Final = ' WHERE m."key" = ? AND m.namespace = ? AND m.scope IS ?'
_BY_ROW: Final = f'{MEMORY_SELECT} WHERE m."row" = ?'
# A withdrawn memory held at no time.
_HELD: Final = "(m.status <> 'deprecated' OR m.t_invalid_us IS NOT NULL)"
_BEFORE: Final = (
    f'{_OF_KEY} AND {_HELD} AND m.t_valid_us <= ? ORDER BY m.t_valid_us DESC, m."row" DESC'
)
_AFTER: Final = f'{_OF_KEY} AND {_HELD} AND m.t_valid_us > ? ORDER BY m.t_valid_us, m."row" DESC'


def current(view: LedgerView, namespace: str, scope: str | None, key: str) -> Memory | None:
    """The unexpired memory with a key."""
    tail = f"{_OF_KEY} AND m.t_expired_us IS NULL LIMIT 1"
    return next(_select(view, tail, (key, namespace, scope)), None)


def expired_with_text(
    view: LedgerView, namespace: str, scope: str | None, key: str, content_hash: str
) -> list[Memory]:
    """Expired memories with a key and this text, the newest first."""
    tail = (
        f"{_OF_KEY} AND m.content_hash = ? AND m.t_expired_us IS NOT NULL"
        ' ORDER BY m.seq DESC, m."row" DESC'
    )
    return list(_select(view, tail, (key, namespace, scope, bytes.fromhex(content_hash))))


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


def ids_with_keys(view: LedgerView, namespace: str, keys: Sequence[str]) -> Iterator[str]:
    """Ids of the memories with one of these keys, whatever their status."""
    sql = 'SELECT id FROM memories WHERE namespace = ? AND "key" IN (?*)'
    with store_faults(view.where):
        for (id,) in select_in(view.connection, sql, tuple(keys), (namespace,)):
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
