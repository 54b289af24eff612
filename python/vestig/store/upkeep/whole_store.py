"""A whole store: its copy while it is in use, such a copy brought to a place, and its removal, of
its own files, of its folder if that is empty then, and of its records."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec

from vestig.errors import ConflictError, NotFoundError, StoreLockedError, VestigError
from vestig.other_words import by_caller
from vestig.private_folder import make_private_folder
from vestig.store.integrity.chain import Witness, encode_witness, witness_files
from vestig.store.integrity.verify import verify
from vestig.store.ledger.absent_store import drop_record, find_absent, find_record
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records import store_rows
from vestig.store.sqlite import files, processes
from vestig.store.sqlite.connections import (
    REPAIR,
    changing_file,
    damaged,
    fetch,
    open_reader,
    open_writer,
)
from vestig.store.sqlite.files import LEDGER_FILE
from vestig.types import Status

_MANIFEST = "manifest"
_PROJECTION = "projection"
_OTHER_BACKUP = "another backup may be whole"
_ATTEMPTS = 3


def backup(
    ledger: Ledger,
    projection_dir: Path | None,
    dest: Path,
    *,
    keeps_upstream: bool = False,
    otherwise: str = "choose another place",
) -> dict[str, Any]:
    """Copies ledger and projection to `dest`, which appears whole or not at all.

    The copy is a store of its own: it can be opened, passes `doctor`, and writes to it do not
    concern the original. Files are synced and for the owner alone. `keeps_upstream`: that of a
    tenant goes on to say whose copy it is, so that an ordinary open refuses it. `otherwise`: what
    to do where `dest` holds something.

    Returns:
        `path`, `memories` (of every namespace), how many have which of the `statuses`,
        `ledger_bytes`, `projection_bytes`, `files`, `seq` (the state that was copied).

    Raises:
        ConflictError: `dest` holds something already.
        StoreDamagedError: the ledger is not what was written; nothing is left at `dest`.
        VestigError: `dest` cannot be written.
    """
    target = Path(os.path.realpath(dest))
    files.ledger_path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        held = "a store" if os.path.lexists(target / LEDGER_FILE) else "something"
        raise ConflictError(
            f"{dest}: expected no file, or an empty folder, to copy to, it holds {held};"
            f" nothing was changed, {otherwise}"
        )
    try:
        make_private_folder(target.parent)
        with files.copy_in_the_making(target, _is_copy, folder=True) as fresh:
            # First the projection: it may be behind the ledger, and never ahead of it.
            projection = 0
            if projection_dir is not None and projection_dir.is_dir():
                projection = _copy_projection(projection_dir, fresh / _PROJECTION)
            ledger.copy_to(fresh / LEDGER_FILE)
            if ledger.upstream is not None and not keeps_upstream:
                with changing_file(fresh / LEDGER_FILE) as conn:
                    store_rows.write_upstream(conn, None)
            statuses = _check(fresh / LEDGER_FILE, ledger)
            seq = _write_witness(fresh)
            copied = sum(1 for path in fresh.rglob("*") if path.is_file())
            size = (fresh / LEDGER_FILE).stat().st_size
            files.sync_folder(fresh)
            os.rename(fresh, target)
            files.sync_folder(target.parent)
    except OSError as error:
        raise VestigError(
            f"{dest}: no copy can be written there: {error.strerror}; nothing was left"
        ) from error
    return {
        "path": str(target),
        "memories": sum(statuses.values()),
        "statuses": statuses,
        "ledger_bytes": size,
        "projection_bytes": projection,
        "files": copied,
        "seq": seq,
    }


def _is_copy(folder: Path) -> bool:
    """Return whether a folder holds nothing but files of a store."""
    return folder.is_dir() and all(
        files.is_own(path.name) or path.name == _PROJECTION for path in folder.iterdir()
    )


def restore(source: Path, dest: Path, state_dir: Path | None) -> dict[str, Any]:
    """Brings the store that `backup` copied to `source` to `dest`, where it appears whole or not at
    all. The backup is checked before anything is written, and stays as it is. What the state folder
    remembers of a store at `dest` goes: this one may be older, and that is what was asked for.

    Returns:
        As `backup`.

    Raises:
        NotFoundError: `source` holds no store.
        ConflictError: `dest` holds something already.
        StoreDamagedError: the backup is not what was written; nothing was written.
        VestigError: `dest` cannot be written.
    """
    if not os.path.lexists(source / LEDGER_FILE):
        raise NotFoundError(
            "Backup",
            str(source),
            message=f"{source}: expected a folder that `vestig backup` made, found no store there;"
            " a packed one is unpacked first, an export comes back with `vestig import FILE`, an"
            " archived memory with `vestig unarchive ID`, and what a key had before, which `vestig"
            " history KEY` shows, is added again with the key",
        )
    with open_ledger(source, read_only=True) as ledger:
        found = ledger.verify_all()
        if found:
            raise damaged(
                ledger.where, f"{found[0].message}; nothing was restored", then=_OTHER_BACKUP
            )
        elsewhere = "`vestig --store DEST restore BACKUP` brings it to another place"
        otherwise = by_caller("choose another place", elsewhere)
        report = backup(ledger, source / _PROJECTION, dest, otherwise=otherwise)
        if state_dir is not None:
            folder = Path(str(report["path"]))
            witness_files(folder, ledger.store_uuid, state_dir)[-1].unlink(missing_ok=True)
            record = find_record(state_dir, folder)
            if record is not None:
                drop_record(state_dir, record)
    return report


def _check(copy: Path, ledger: Ledger) -> dict[str, int]:
    """Whoever needs a copy has no other one: it is checked against its chain, row by row.

    Returns:
        How many of its memories have which status.

    Raises:
        StoreDamagedError: the ledger is not what was written.
    """
    conn = open_reader(copy, "immutable=1", 1.0)
    try:
        found = verify(conn, ledger.store_uuid)
        if found:
            then = f"`vestig doctor` lists what is damaged, {REPAIR}"
            raise damaged(ledger.where, f"{found[0].message}; nothing was copied", then=then)
        return {Status(name).word: count for name, count in store_rows.statuses(conn).items()}
    finally:
        conn.close()


def _write_witness(folder: Path) -> int:
    """The copy's own witness, from its own chain."""
    conn = open_reader(folder / LEDGER_FILE, "immutable=1", 1.0)
    try:
        ((seq, head),) = fetch(conn, "SELECT seq, h FROM chain ORDER BY seq DESC LIMIT 1")
    finally:
        conn.close()
    witness = folder / files.WITNESS_FILE
    files.make_private(witness)
    witness.write_bytes(encode_witness(Witness(seq + 1, head)))
    return int(seq)


def _copy_projection(source: Path, target: Path) -> int:
    """Copies the published files of one generation; bytes. 0 when every attempt met a newer one: a
    copy without a projection makes its own when it is opened."""
    for _ in range(_ATTEMPTS):
        make_private_folder(target)
        try:
            before = (source / _MANIFEST).read_bytes()
            # A segment that it does not name waits for its last reader and is not copied.
            names = [p.name for p in source.iterdir() if _is_segment(p.name, before)]
            copied = sum(_copy(source / name, target / name) for name in names)
            if (source / _MANIFEST).read_bytes() == before:
                # Segments never change and go only after a newer manifest has come.
                copied += _write(target / _MANIFEST, before)
                files.sync_folder(target)
                return copied
        except FileNotFoundError:
            pass
        shutil.rmtree(target)
    return 0


def _is_segment(name: str, manifest: bytes) -> bool:
    return name.startswith("seg-") and ".damaged-" not in name and name.encode() in manifest


def _write(target: Path, raw: bytes) -> int:
    files.make_private(target)
    with target.open("r+b") as write:
        write.write(raw)
        write.flush()
        os.fsync(write.fileno())
    return len(raw)


def _copy(source: Path, target: Path) -> int:
    mode = source.stat().st_mode & 0o700
    files.make_private(target)
    with source.open("rb") as read, target.open("r+b") as write:
        shutil.copyfileobj(read, write, 1 << 20)
        size = write.tell()
        write.flush()
        os.fchmod(write.fileno(), mode & 0o600)
        os.fsync(write.fileno())
    return size


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
    with processes.inside(), _locked(folder / files.LEDGER_FILE, lock_timeout_s):
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
