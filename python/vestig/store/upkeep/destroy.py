"""Removes a whole store: its own files, its folder if that is empty then, and its records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import msgspec

from vestig.errors import StoreLockedError, VestigError
from vestig.store.ledger.absent_store import drop_record, find_absent, find_record
from vestig.store.ledger.opening import open_ledger
from vestig.store.sqlite import files, forks
from vestig.store.sqlite.connections import open_writer


class StoreFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A store as its files show it. `store_uuid` and `transactions` are None where the ledger is
    too damaged to say."""

    folder: Path
    store_uuid: str | None
    transactions: int | None
    files: int
    bytes: int


def survey(folder: Path, state_dir: Path | None) -> StoreFiles:
    """Return what `destroy` would remove.

    Raises:
        NotFoundError: no store at this path.
        StoreDamagedError: the store of this path is lost.
    """
    ledger = files.ledger_path(folder)
    absent = find_absent(ledger, init=False, state_dir=state_dir)
    error = None if absent is None else absent.error("refuse")
    if error is not None:
        raise error
    own = list(_all_files(ledger.parent))
    uuid, transactions = _identity(ledger.parent)
    return StoreFiles(
        folder=ledger.parent,
        store_uuid=uuid,
        transactions=transactions,
        files=len(own),
        bytes=sum(path.lstat().st_size for path in own),
    )


def destroy(found: StoreFiles, state_dir: Path | None, *, lock_timeout_s: float) -> list[Path]:
    """Removes the files under the write lock, the ledger last: whoever is interrupted can repeat
    it. Files of others stay, those among the store's too; answers with them.

    Raises:
        StoreLockedError: somebody writes, or the files may not be removed; nothing was removed
            in the first case.
    """
    folder = found.folder
    with forks.inside(), _locked(folder / files.LEDGER_FILE, lock_timeout_s):
        try:
            last = []
            for path in list(_all_files(folder)):
                if path.parent == folder and path.name.startswith(files.LEDGER_FILE):
                    last.append(path)
                else:
                    path.unlink(missing_ok=True)
            for inner in list(_own_folders(folder)):
                with suppress(OSError):  # it holds things of others
                    inner.rmdir()
            for path in last:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreLockedError(
                f"{folder}: expected files that can be removed, got {error.strerror}; mend the"
                " permissions and repeat"
            ) from error
    with suppress(OSError):  # it holds things of others
        folder.rmdir()
    record = find_record(state_dir, folder)
    if record is not None and state_dir is not None:
        drop_record(state_dir, record)
    return sorted(path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())


def _own_folders(folder: Path) -> Iterator[Path]:
    """The folders of the store, the inner ones first."""
    for path in sorted(folder.iterdir()):
        aside = path.name.startswith(files.SET_ASIDE_PREFIX)
        if path.is_dir() and not path.is_symlink():
            if aside:
                yield from _own_folders(path)
            if aside or path.name == files.PROJECTION_FOLDER:
                yield path


def _all_files(folder: Path) -> Iterator[Path]:
    """The files of the store, and of lost ones that were put aside when it began."""
    for path in files.own_files(folder):
        if path.parent == folder or files.is_own_projection(path.name):
            yield path
    for name in (files.HOOK_LOG, f"{files.HOOK_LOG}.1"):
        if os.path.lexists(folder / name):
            yield folder / name
    for path in sorted(folder.glob(f"{files.SET_ASIDE_PREFIX}*")):
        if path.is_dir() and not path.is_symlink():
            yield from _all_files(path)


def _identity(folder: Path) -> tuple[str | None, int | None]:
    try:
        with open_ledger(folder, read_only=True) as ledger, ledger.read() as view:
            return ledger.store_uuid.hex(), view.seq + 1
    except VestigError:
        return None, None


@contextmanager
def _locked(ledger: Path, timeout_s: float) -> Iterator[None]:
    """The write lock, where the ledger is whole enough to have one."""
    conn = None
    try:
        conn = open_writer(ledger, "full")
        conn.set_busy_timeout(max(1, round(timeout_s * 1000)))
        conn.execute("BEGIN IMMEDIATE")
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    except apsw.BusyError as error:
        holder = files.lock_holder(ledger)
        by = f" by {holder}" if holder else ""
        raise StoreLockedError(
            f"{ledger}: expected a store that nobody writes, it is locked{by}; nothing was removed"
        ) from error
    except apsw.Error:
        pass  # a damaged ledger can be removed without a lock
    try:
        yield
    finally:
        if conn is not None:
            conn.close()
