"""Memories that can still be read of a damaged ledger, one by one, by their rows, so that a damaged
page costs those on it alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import apsw
import msgspec

from vestig.errors import StoreDamagedError
from vestig.ids import id_text
from vestig.store.integrity import chain
from vestig.store.records.rows import MEMORY_SELECT, memory_of
from vestig.store.sqlite.connections import damaged, each, fetch, store_faults
from vestig.store.tables.schema import TABLE_CODES
from vestig.types import Memory

if TYPE_CHECKING:
    from vestig.store.records.reads import LedgerView

_BY_ROW: Final = f'{MEMORY_SELECT} WHERE m."row" = ?'
_NAMED: Final = 'SELECT id, namespace FROM memories WHERE "row" = ?'
# Each says how far the numbers go; those of removed memories are never used again.
_LAST: Final = (
    'SELECT MAX("row") FROM memories',
    'SELECT MAX("row") FROM tombstones',
    "SELECT MAX(memory) FROM vectors",
    "SELECT MAX(memory) FROM events",
)


class Found(NamedTuple):
    """A row of a memory. `memory` is None where it cannot be read, and `id` and `namespace` where
    these cannot either; `altered`: it was never written so."""

    id: str | None
    namespace: str | None
    memory: Memory | None
    altered: bool = False


def check_forgotten(view: LedgerView, ids: Collection[str]) -> None:
    """Checks that memories which were there and are no longer were forgotten.

    Raises:
        StoreDamagedError: one was lost.
    """
    lost = sorted(set(ids) - view.forgotten(sorted(ids)))
    if lost:
        raise damaged(view.where, f"no {lost[0]}, which was written")


def rows(view: LedgerView) -> Iterator[Found]:
    """The memories of all namespaces, in the order in which they were stored. Of a number that has
    no row nothing is said: one may have been forgotten."""
    for row in range(1, _last(view) + 1):
        try:
            found = view.fetch(_BY_ROW, (row,))
            if not found:
                continue
            memory = memory_of(found[0], view.where)
        except StoreDamagedError:
            yield _named(view, row)
            continue
        yield Found(memory.id, memory.namespace, memory, altered=not _is_as_written(view, row))


def indexed_ids(view: LedgerView) -> set[str]:
    """Ids of memories of all namespaces that the index of ids has, whatever else is damaged."""
    found = set[str]()
    for order in ("ASC", "DESC"):  # up to the damaged place, from either end
        try:
            with store_faults(view.where):
                for (id,) in each(view.connection, f"SELECT id FROM memories ORDER BY id {order}"):
                    found.update([id_text("mem", id)] if isinstance(id, bytes) else [])
                return found
        except (StoreDamagedError, ValueError):
            continue
    return found


def written_count(view: LedgerView) -> int | None:
    """How many memories of all namespaces the ledger holds by its chain; None where that cannot be
    read."""
    try:
        with store_faults(view.where):
            sql = "SELECT counts FROM chain WHERE seq = ?"
            ((packed,),) = fetch(view.connection, sql, (view.seq,))
            return chain.unpack_counts(packed)[TABLE_CODES["memories"]]
    except (StoreDamagedError, msgspec.MsgspecError, ValueError, TypeError, IndexError):
        return None


def _last(view: LedgerView) -> int:
    known = [written_count(view) or 0]
    for sql in _LAST:
        try:
            ((row,),) = view.fetch(sql)
        except StoreDamagedError:
            continue
        known.append(row if isinstance(row, int) else 0)
    return max(known)


def _named(view: LedgerView, row: int) -> Found:
    try:
        ((id, namespace),) = view.fetch(_NAMED, (row,))
        if isinstance(id, bytes) and len(id) == 16 and isinstance(namespace, str):
            return Found(id_text("mem", id), namespace, None)
    except (StoreDamagedError, ValueError):
        pass
    return Found(None, None, None)


def _is_as_written(view: LedgerView, row: int) -> bool:
    try:
        with store_faults(view.where):
            view.checked.check(view.connection, view.where, [row])
    except (StoreDamagedError, apsw.Error, TypeError, ValueError):
        return False
    return True
