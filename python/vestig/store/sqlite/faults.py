"""Errors of SQLite as errors of Vestig."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import msgspec

from vestig.errors import StoreDamagedError, StoreLockedError, VestigError
from vestig.store.sqlite.files import full, linked


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
