"""Runs statements, finds rows by many ids in one statement, and turns errors of SQLite into those
of Vestig."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec

from vestig.errors import StoreDamagedError, StoreLockedError, VestigError
from vestig.ids import id_bytes, id_text, is_full_id
from vestig.store.sqlite.files import full, linked

_CHUNK_MAX: Final = 512
# Of `select_by_row`: so many statements may be prepared.
_ROWS_MAX: Final = 32
# The greatest row number of removed nodes, as a second column.
_FORGOTTEN: Final = {
    "memories": ', (SELECT IFNULL(MAX("row"), 0) FROM tombstones)',
    "entities": ', (SELECT -IFNULL(MIN("row"), 0) FROM tombstones)',
}


def fetch(conn: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement, as tuples."""
    return conn.execute(sql, values).fetchall()


def has_table(conn: apsw.Connection, name: str) -> bool:
    """Return whether there is a table of this name."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return bool(fetch(conn, sql, (name,)))


def each(conn: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement one by one, as tuples."""
    return iter(conn.execute(sql, values))


def select_in(
    conn: apsw.Connection, sql: str, keys: Sequence[Any], first: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Rows of `sql`, whose last `IN (?*)` takes the keys, in chunks.

    Chunks are padded to powers of two by repeating a key, so that few statements are prepared.
    """
    for start in range(0, len(keys), _CHUNK_MAX):
        chunk = tuple(keys[start : start + _CHUNK_MAX])
        size = 1 << (len(chunk) - 1).bit_length()
        filled = (*first, *chunk, *(chunk[-1:] * (size - len(chunk))))
        yield from conn.execute(_with_placeholders(sql, size), filled)


def select_by_row(
    conn: apsw.Connection, sql: str, rows: Sequence[int], last: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Return what `select_in` returns, by row numbers, each once: `sql` reads `FROM (VALUES ?*) k`,
    whose rows are the numbers, ascending; SQLite makes no index of them."""
    wanted = sorted(rows)
    for start in range(0, len(wanted), _ROWS_MAX):
        chunk = wanted[start : start + _ROWS_MAX]
        yield from conn.execute(_with_values(sql, len(chunk)), (*chunk, *last))


@lru_cache(512)
def _with_values(sql: str, size: int) -> str:
    return sql.replace("?*", "(?)" + ",(?)" * (size - 1))


@lru_cache(512)
def _with_placeholders(sql: str, size: int) -> str:
    return sql.replace("?*", "?" + ",?" * (size - 1))


def next_row(conn: apsw.Connection, table: str) -> int:
    """The number of a new row. That of a forgotten memory or removed entity is never used again:
    whoever read it before would mistake the new node for it."""
    forgotten = _FORGOTTEN.get(table, "")
    last = fetch(conn, f'SELECT (SELECT IFNULL(MAX("row"), 0) FROM {table}){forgotten}')[0]
    return int(max(last)) + 1


def known_ids(ids: Sequence[str], prefix: str) -> dict[bytes, str]:
    """16 bytes → id for the well-formed ids of one kind; others cannot be in the ledger."""
    return {id_bytes(id): id for id in ids if is_full_id(id, prefix)}


def rows_of(
    conn: apsw.Connection, table: str, namespace: str, keys: dict[bytes, str]
) -> dict[str, int]:
    """id → row number, for those of these nodes that the namespace holds."""
    sql = f'SELECT id, "row" FROM {table} WHERE +namespace = ? AND id IN (?*)'
    return {keys[id]: row for id, row in select_in(conn, sql, tuple(keys), (namespace,))}


def id_range(prefix: str, kind: str) -> tuple[bytes, bytes]:
    """The lowest and the highest id that starts so; an empty range for what is no id."""
    digits = prefix.removeprefix(f"{kind}_").replace("-", "")
    if not set(digits) <= set("0123456789abcdef") or len(digits) > 32:
        return b"\1", b"\0"
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


def node_keys(ids: Iterable[str], prefix: str) -> dict[bytes, str]:
    """16 bytes → id. A malformed id has no row; the caller refuses it if it is needed."""
    keys = {}
    for id in ids:
        if id.startswith(prefix):
            with suppress(ValueError):
                keys[id_bytes(id)] = id
    return keys


def starting(rows: Iterable[tuple[bytes]], kind: str, prefix: str, limit: int = 6) -> list[str]:
    """Full ids that start with `prefix`, at most `limit`, of the rows in their order."""
    found: list[str] = []
    for (raw,) in rows:
        if len(found) == limit:
            break
        id = id_text(kind, raw)
        if id.startswith(prefix):
            found.append(id)
    return found


def damaged(where: str, fact: str) -> StoreDamagedError:
    """The error for a failed check; `fact` completes "expected an intact ledger, found …"."""
    return StoreDamagedError(
        f"{where}: expected an intact ledger, found {fact}; run `vestig doctor`"
    )


class _Faults:
    """A class, because there is one around every few statements, and it costs a fifth of a
    generator."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            translated = _translated(self._where, error)
            if translated is not None:
                raise translated from error


def store_faults(where: str) -> AbstractContextManager[None]:
    """Turns SQLite's exceptions into those of `vestig.errors`.

    Constraint failures pass: only the writer knows which constraint means what.
    """
    return _Faults(where)


def no_shared_file(error: BaseException) -> bool:
    """Return whether SQLite found no room for the file that processes share beside the ledger."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE


def _translated(where: str, error: BaseException) -> VestigError | None:
    """The error of Vestig; None for one that is not translated."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.SQLError)):
        # SQLError: the statements are fixed, so it is the schema in the file that changed.
        return damaged(where, f"a damaged file ({type(error).__name__})")
    if isinstance(error, (UnicodeDecodeError, OverflowError, msgspec.MsgspecError)):
        return damaged(where, f"an unreadable value ({type(error).__name__})")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreLockedError(
            f"{where}: expected a free store, another process keeps it locked;"
            " retry, or close the other process"
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreLockedError(
            f"{where}: expected a writable store, writing is not permitted;"
            " check the owner of the folder or open it read-only"
        )
    if isinstance(error, apsw.FullError) or no_shared_file(error):
        return full(Path(where))
    if isinstance(error, apsw.CantOpenError):
        for end in ("", "-wal", "-shm"):
            if os.path.islink(f"{where}{end}"):
                return linked(Path(f"{where}{end}"))
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        return VestigError(
            f"{where}: expected a working disk, the system refused a file operation"
            f" ({type(error).__name__}); nothing was changed"
        )
    if isinstance(error, apsw.NoMemError):
        return VestigError(f"{where}: expected enough memory, none was left")
    return None
