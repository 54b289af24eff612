"""The folder of a store: its names, links, permissions and disk, who holds its lock, and the space
that it keeps for a full disk, because forgetting has to write before it can free anything."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from vestig.errors import (
    ConflictError,
    Description,
    StoreDamagedError,
    StoreFullError,
    StoreLockedError,
    ValidationError,
)
from vestig.lazy_pattern import lazy_pattern
from vestig.private_folder import make_private_folder

# SQLite stops at about 500 bytes.
PATH_BYTES_MAX: Final = 490
LEDGER_FILE: Final = "ledger.sqlite"
WITNESS_FILE: Final = "witness"
PROJECTION_FOLDER: Final = "projection"
RESERVE_FILE: Final = "reserve"
# The log of editors' hooks, and the one before it as `.1`; it holds nothing of the ledger.
HOOK_LOG: Final = "hooks.log"
# Held by the reader of an editor's transcripts.
HOOK_LOCK: Final = "hooks.lock"
FULL_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT)
SET_ASIDE_PREFIX: Final = "set-aside-"
# The ledger's own files and those of SQLite beside it; copies before a migration.
_OWN_PREFIXES: Final = (f"{LEDGER_FILE}.new-", "ledger.bak-", f"{WITNESS_FILE}.new-")
_OWN_NAMES: Final = frozenset(
    (*(LEDGER_FILE + end for end in ("", "-wal", "-shm", "-journal")), WITNESS_FILE, RESERVE_FILE)
)
# Files of the projection, those that were being made, and those put aside as damaged.
_PROJECTION_NAME: Final = lazy_pattern(
    r"(?:seg-\d+-[0-9a-f]{16}|manifest)(?:\.damaged-\d+)?|manifest\.new"
    r"|lock|merging|candidates(?:\.new)?"
)
# Between being made and being locked.
_YOUNG_S: Final = 60
_NETWORK: Final = ("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "ncpfs")
# Position of SQLite's write lock in the -shm file.
_WAL_WRITE_LOCK: Final = 120


def ledger_path(folder: Path) -> Path:
    """The ledger file of a store's folder, absolute.

    Raises:
        ValidationError: the name is longer than SQLite opens.
    """
    path = Path(os.path.realpath(folder)) / LEDGER_FILE
    length = len(os.fsencode(path))
    if length > PATH_BYTES_MAX:
        raise ValidationError(
            "path",
            Description(f"{length} bytes"),
            f"a ledger file name of at most {PATH_BYTES_MAX} bytes",
            "choose a shorter folder",
        )
    return path


def writable(ledger: Path) -> bool:
    """Return whether this process may change the ledger and make files beside it."""
    return os.access(ledger, os.W_OK) and os.access(ledger.parent, os.W_OK | os.X_OK)


def check_disk(folder: Path) -> None:
    """Refuses a network file system where the system names it.

    Raises:
        StoreLockedError: names the kind.
    """
    kind = network_kind(folder)
    if kind is not None:
        raise StoreLockedError(
            f"{folder}: expected a local disk, found a network file system ({kind});"
            " its locks and syncs cannot be relied on, choose a local folder"
        )


def make_folder(folder: Path) -> None:
    """The folder, with those above it; what is made here is for the owner only, whatever the
    umask, and a folder that exists keeps its mode.

    Raises:
        StoreLockedError: not permitted.
    """
    try:
        for place in make_private_folder(folder):
            sync_folder(place.parent)
    except OSError as error:
        if error.errno in FULL_ERRNOS:
            raise full(folder) from error
        raise StoreLockedError(
            f"{folder}: expected a folder that can be made and owned, got {error.strerror}"
        ) from error


def tighten(ledger: Path) -> None:
    """The ledger of a store that is written is for its owner only; SQLite gives the files that it
    makes beside it the same mode.

    By its name: opening and closing the file would drop the locks of this process on it.
    """
    found = os.lstat(ledger)
    if found.st_mode & 0o077 and found.st_uid == os.geteuid() and not ledger.is_symlink():
        ledger.chmod(0o600)


def give_to_owner(folder: Path) -> None:
    """Gives what the superuser wrote into a store of somebody else to the owner of the ledger, who
    could not read it else. A name of another file of theirs stays as it is."""
    if os.geteuid() != 0:
        return
    try:
        owner = os.lstat(folder / LEDGER_FILE)
    except OSError:
        return
    for path in (folder / PROJECTION_FOLDER, *own_files(folder)) if owner.st_uid else ():
        with suppress(OSError):  # another process has removed it
            found = os.lstat(path)
            own = path.parent == folder or is_own_projection(path.name)
            # a further name may be that of a file anywhere
            single = stat.S_ISDIR(found.st_mode) or found.st_nlink == 1
            if own and single and not found.st_uid:
                os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def make_private(path: Path) -> None:
    """Creates an empty file 0600 whatever the umask; SQLite gives -wal and -shm the same."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(path.parent)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A private, empty file beside `path`, to be written; when the block ends it is synced and
    takes the place of `path`, and after an error nothing of it is left.

    Raises:
        OSError: it cannot be made, synced or renamed.
    """
    fresh = path.with_name(f"{path.name}.new-{os.urandom(4).hex()}")
    try:
        make_private(fresh)
        yield fresh
        sync(fresh)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def copy_in_the_making(
    target: Path, is_copy: Callable[[Path], bool], *, folder: bool
) -> Iterator[Path]:
    """A private, empty file or folder beside `target`, for a copy that the block writes, syncs and
    renames to `target`. It is locked meanwhile; after an error nothing of it is left, and after
    a success nothing of what killed processes left beside the same target.

    Args:
        is_copy: whether what has such a name holds a copy of this kind.

    Raises:
        OSError: it cannot be made.
    """
    import fcntl
    import shutil

    fresh = target.with_name(f"{_start_of_copies(target)}{os.urandom(4).hex()}")
    held = -1
    try:
        if folder:
            make_private_folder(fresh)
            sync_folder(fresh.parent)
        else:
            make_private(fresh)
        held = os.open(fresh, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fresh
        # the rename was now
        young_s = os.fstat(held).st_ctime - _YOUNG_S
        for left in _entries(target.parent):
            with suppress(OSError):
                _remove_unfinished(Path(left.path), target, is_copy, young_s)
    finally:
        if held >= 0:
            os.close(held)
        if folder:
            shutil.rmtree(fresh, ignore_errors=True)
        else:
            fresh.unlink(missing_ok=True)


def _start_of_copies(target: Path) -> str:
    return f".{target.name[:80]}.new-"


def _remove_unfinished(
    path: Path, target: Path, is_copy: Callable[[Path], bool], young_s: float
) -> None:
    """Removes what a killed process left of a copy; one that is empty and was made after `young_s`
    may not be locked yet."""
    import fcntl
    import shutil

    start = _start_of_copies(target)
    random = path.name.removeprefix(start) if path.name.startswith(start) else ""
    if len(random) != 8 or not set(random) <= set("0123456789abcdef"):
        return
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(held)
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if found.st_mtime > young_s and not _is_begun(path):
            return
        if stat.S_ISDIR(found.st_mode) and is_copy(path):
            shutil.rmtree(path)
        elif stat.S_ISREG(found.st_mode) and is_copy(path):
            path.unlink()
    finally:
        os.close(held)


def _is_begun(path: Path) -> bool:
    """Return whether anything was written to a file, or into a folder."""
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0


def sync(path: Path) -> None:
    """fsync of a file that this process has not open: closing it would drop SQLite's locks."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """fsync of a folder, so that names in it survive power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_unfinished(name: str) -> bool:
    """Return whether a file of this name is a ledger in the making, of a process that may have
    died."""
    return name.startswith(f"{LEDGER_FILE}.new-")


def may_precede_store(name: str) -> bool:
    """Return whether Vestig itself may have put a file of this name into a folder before there is
    a store in it.

    Example:
        >>> may_precede_store("hooks.log"), may_precede_store("notes.txt")
        (True, False)
    """
    return is_unfinished(name) or name in (HOOK_LOG, f"{HOOK_LOG}.1", HOOK_LOCK)


def is_own(name: str) -> bool:
    """Return whether a file of this name directly in the folder of a store is the store's.

    Example:
        >>> is_own("ledger.sqlite-wal"), is_own("notes.txt")
        (True, False)
    """
    return name in _OWN_NAMES or name.startswith(_OWN_PREFIXES)


def is_own_projection(name: str) -> bool:
    """Return whether a file of this name in the projection's folder is the store's.

    Example:
        >>> is_own_projection("seg-3-00000000000000ff"), is_own_projection("notes.txt")
        (True, False)
    """
    return _PROJECTION_NAME.fullmatch(name) is not None


def store_around(path: Path, *others: Path | None) -> Path | None:
    """Return the folder of the store inside which a path lies; None where it lies in none.

    Args:
        others: folders that are stores, or are to be.
    """
    known = {Path(os.path.realpath(one)) for one in others if one is not None}
    for above in Path(os.path.realpath(path)).parents:
        if above in known or os.path.lexists(above / LEDGER_FILE):
            return above
    return None


def check_outside(name: str, target: Path, store: Path | None) -> None:
    """Refuses a copy that would lie in a store, where a forgetting leaves it, and its texts with
    it.

    Args:
        name: of the argument that says where.
        store: the folder of the store that is copied.

    Raises:
        ValidationError: names the folder of the store.
    """
    same = store is not None and os.path.realpath(target) == os.path.realpath(store)
    around = store if same else store_around(target, store)
    if around is not None:
        raise ValidationError(
            name, str(target), f"a place outside of the store, {around}",
            "what is forgotten would stay in a copy there",
        )  # fmt: skip


def is_moved_aside(name: str) -> bool:
    """Return whether a file of this name in the projection's folder was put aside as damaged."""
    return is_own_projection(name) and ".damaged-" in name


def remove_moved_aside(folder: Path) -> None:
    """Removes the damaged files of a projection that was made anew."""
    for path in own_files(folder):
        if path.parent != folder and is_moved_aside(path.name):
            with suppress(OSError):
                path.unlink()


def own_files(folder: Path) -> Iterator[Path]:
    """Every file of the store, links too, in a fixed order; the folder may hold other things."""
    for entry in sorted(_entries(folder), key=lambda entry: entry.name):
        if is_own(entry.name):
            yield Path(entry.path)
        elif entry.name == PROJECTION_FOLDER:
            if entry.is_symlink() or not entry.is_dir():
                yield Path(entry.path)
            else:
                yield from sorted(Path(inner.path) for inner in _entries(Path(entry.path)))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


class Place(NamedTuple):
    """Which files lie at the path of a store: device and inode of the folder and the ledger."""

    folder: tuple[int, int]
    ledger: tuple[int, int]


def place_of(ledger: Path | str, folder: str | None = None) -> Place | None:
    """Return what lies at the path now; None where the folder or the ledger is gone. The path is
    resolved: a link in the folder's place is another thing.

    Args:
        folder: that of the ledger, where it is known.
    """
    above = os.path.dirname(ledger) if folder is None else folder
    try:
        held, file = os.lstat(above), os.lstat(ledger)
    except OSError:
        return None
    return Place((held.st_dev, held.st_ino), (file.st_dev, file.st_ino))


def inode_of(path: str) -> int | None:
    """The number of a file; None where there is none."""
    try:
        return os.lstat(path).st_ino
    except OSError:
        return None


def set_aside(folder: Path) -> None:
    """Moves what is left of a lost store into a folder of its own, before another one begins: its
    log would be taken for that of the new ledger."""
    names = [
        entry.name
        for entry in _entries(folder)
        if is_own(entry.name) or entry.name == PROJECTION_FOLDER
    ]
    if names:
        aside = folder / f"{SET_ASIDE_PREFIX}{os.urandom(4).hex()}"
        make_private_folder(aside)
        for name in names:
            (folder / name).rename(aside / name)
        sync_folder(folder)


def refuse_links(folder: Path) -> None:
    """The files of a store are regular files: nothing inside its folder is reached through a link.

    Raises:
        ConflictError: there can be no folder at this path.
        StoreDamagedError: a link, or a folder, stands in the place of a file of the store.
        StoreLockedError: the folder may not be read.
    """
    _check_folder(folder)
    try:
        for path in own_files(folder):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise linked(path)
            if path.parent == folder and path.name == PROJECTION_FOLDER:
                raise _of_another_kind(path, "a folder", "a file")
            if path.parent == folder and not stat.S_ISREG(mode):
                raise _of_another_kind(path, "a regular file", "something else")
    except FileNotFoundError:
        return  # another process has removed a file since it was listed
    except PermissionError as error:
        raise not_permitted(Path(error.filename or folder)) from error


def _check_folder(folder: Path) -> None:
    try:
        mode = os.stat(folder).st_mode
    except FileNotFoundError:
        return
    except PermissionError as error:
        raise not_permitted(folder) from error
    except OSError as error:
        raise ConflictError(
            f"{folder}: expected a folder, got {error.strerror}; choose another path"
        ) from error
    if not stat.S_ISDIR(mode):
        raise ConflictError(f"{folder}: expected a folder, found a file; choose another path")


def _of_another_kind(path: Path, expected: str, found: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"{path}: expected {expected}, found {found}; move it away and run `vestig doctor`"
    )


def linked(path: Path) -> StoreDamagedError:
    """The error for a link in the place of a file of the store."""
    return StoreDamagedError(
        f"{path}: expected a regular file, found a symbolic link; its target was not touched. Put"
        " the file itself there, then run `vestig doctor`"
    )


def full(path: Path) -> StoreFullError:
    """The error for a disk without room."""
    kept = (path if path.is_dir() else path.parent) / RESERVE_FILE
    forget = " (`vestig memory forget`, for which some is kept, may work)" if kept.exists() else ""
    return StoreFullError(
        f"{path}: expected room to write, the disk is full; nothing was changed, free some space"
        f" and repeat{forget}"
    )


def not_permitted(path: Path) -> StoreLockedError:
    """The error for a file that may not be read."""
    return StoreLockedError(
        f"{path}: expected a file that can be read, permission denied; open the store as its"
        " owner, or mend the permissions"
    )


def projection_not_permitted(directory: Path) -> StoreLockedError:
    """The error for a projection of which this process may not read a file: for the owner of the
    store, whose file it is and how it comes back."""
    unread = (path for path in (directory, *sorted(directory.glob("*"))) if not _may_read(path))
    path = next(unread, directory)
    try:
        holder, owner = path.stat().st_uid, (directory.parent / LEDGER_FILE).stat().st_uid
    except OSError:
        return not_permitted(path)
    if holder == owner or owner != os.geteuid():
        return not_permitted(path)
    from shlex import quote

    place = quote(str(directory))
    return StoreLockedError(
        f"{path}: expected a file of the owner of the store, it is that of user {holder} and may"
        f" not be read; `sudo chown -R {owner} {place}` gives it back, or `rm -r {place}` removes"
        " what the ledger makes anew"
    )


def _may_read(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        os.stat(os.path.join(path, "."))  # a folder may be read and not be searched
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def leftovers(folder: Path) -> str | None:
    """A file that only a store with a ledger can have left behind, or None."""
    for path in own_files(folder):
        name = path.name
        inside = path.parent != folder
        if inside and name.startswith(("seg-", "manifest")):
            return f"{path.parent.name}/{name}"
        if not inside and _is_of_a_ledger(name):
            return name
    return None


def _is_of_a_ledger(name: str) -> bool:
    if name == WITNESS_FILE:
        return True
    return name.startswith((f"{WITNESS_FILE}.new-", f"{LEDGER_FILE}-wal", "ledger.bak-"))


def network_kind(folder: Path) -> str | None:
    """Type of the network file system the folder lies on, where the system says so."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    target = os.path.realpath(folder)
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        point = fields[1].replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind if kind in _NETWORK or kind.startswith("fuse.sshfs") else None


def lock_holder(ledger: Path) -> str:
    """Who holds the write lock, as far as the system says: "process 12", "this process" or "".

    Read from the kernel's list: opening and closing the -shm file here would drop the locks
    that this process itself holds on it.
    """
    if not sys.platform.startswith("linux"):
        return ""
    try:
        status = os.stat(f"{ledger}-shm")
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return ""
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) < 8 or "->" in fields or fields[3] != "WRITE":
            continue
        if fields[5].rsplit(":", 1)[-1] != str(status.st_ino):
            continue
        start, end = int(fields[6]), fields[7]
        if start <= _WAL_WRITE_LOCK and (end == "EOF" or int(end) >= _WAL_WRITE_LOCK):
            pid = int(fields[4])
            return "this process" if pid == os.getpid() else f"process {pid}"
    return ""


_BYTES: Final = 512 * 1024
_BLOCK: Final = bytes(64 * 1024)


def _free_bytes(folder: Path) -> int:
    import shutil

    return shutil.disk_usage(folder).free


def is_short_of_space(folder: Path) -> bool:
    """Return whether less is free than the reserve holds."""
    try:
        return _free_bytes(folder) < _BYTES
    except OSError:
        return False


def keep_reserve(folder: Path) -> None:
    """Makes the reserve where there is none, unless room is short already."""
    path = folder / RESERVE_FILE
    try:
        if os.path.lexists(path) or _free_bytes(folder) < 2 * _BYTES:
            return
        make_private(path)
        with path.open("r+b") as out:
            for _ in range(_BYTES // len(_BLOCK)):
                out.write(_BLOCK)
    except OSError:
        # The store is as good without it, until the disk is full.
        with suppress(OSError):
            path.unlink(missing_ok=True)


def release_reserve(folder: Path) -> None:
    """Gives the space back to the disk."""
    with suppress(OSError):
        (folder / RESERVE_FILE).unlink(missing_ok=True)
