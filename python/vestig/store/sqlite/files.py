"""The folder of a store: its names, permissions and disk, and who holds its lock."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from vestig.errors import StoreLockedError, ValidationError

__all__ = [
    "LEDGER_FILE",
    "ledger_path",
    "leftovers",
    "lock_holder",
    "make_folder",
    "make_private",
    "sync_folder",
]

# SQLite stops at about 500 bytes.
PATH_BYTES_MAX: Final = 490
LEDGER_FILE: Final = "ledger.sqlite"
WITNESS_FILE: Final = "witness"
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
            f"{length} bytes",
            f"a ledger file name of at most {PATH_BYTES_MAX} bytes",
            "choose a shorter folder",
        )
    return path


def writable(ledger: Path) -> bool:
    """Whether this process may change the ledger and make files beside it."""
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
    """The folder with owner-only permissions; a folder that exists is tightened.

    Raises:
        StoreLockedError: not permitted.
    """
    missing = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o777 != 0o700:
            folder.chmod(0o700)
        for made in missing:
            sync_folder(made.parent)
    except OSError as error:
        raise StoreLockedError(
            f"{folder}: expected a folder that can be made and owned, got {error.strerror}"
        ) from error


def make_private(path: Path) -> None:
    """Creates an empty file 0600 whatever the umask; SQLite gives -wal and -shm the same."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """fsync of a folder, so that names in it survive power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def leftovers(folder: Path) -> str | None:
    """A file that only a store with a ledger can have left behind, or None."""
    if not folder.is_dir():
        return None
    for name in sorted(os.listdir(folder)):
        if name == WITNESS_FILE or name.startswith(("seg-", "manifest", f"{LEDGER_FILE}-wal")):
            return name
        if name.startswith("ledger.bak-"):
            return name
        inner = folder / name
        if inner.is_dir() and not inner.is_symlink():
            for below in sorted(os.listdir(inner)):
                if below.startswith(("seg-", "manifest")):
                    return f"{name}/{below}"
    return None


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
