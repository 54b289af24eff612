"""A file of traces: one line of JSON for each operation, rotated by size.

Processes may share a file: a line is one write to its end, and whoever finds that it would grow too
large renames it under a lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from vestig.private_folder import make_private_folder

# With them, a few days of a busy server lie in 60 MiB.
BYTES_MAX: Final = 10 * 1024 * 1024
KEPT: Final = 5


class TraceFile:
    """Appends lines; the file and its folder are made, for the owner alone.

    Args:
        path: the file; rotated ones lie beside it as `<name>.1` (the newest) to `<name>.<keep>`.
        max_bytes: a line that would make the file larger begins a new one.
        keep: rotated files that are kept beside the current one.

    Raises:
        OSError: the file cannot be made.
    """

    def __init__(self, path: Path, *, max_bytes: int = BYTES_MAX, keep: int = KEPT) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._lock = threading.Lock()
        self._closed = False
        make_private_folder(path.parent)
        self._fd = self._opened()

    def write(self, line: bytes) -> None:
        """One line, without its end. After `close` nothing is written.

        Raises:
            OSError: no room, or the folder is gone.
        """
        with self._lock:
            if self._closed:
                return
            self._make_room(len(line) + 1)
            whole = line + b"\n"
            if os.write(self._fd, whole) < len(whole):
                os.write(self._fd, b"\n")  # the next line begins on one of its own
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._fd)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o600)
        found = os.fstat(fd).st_mode
        if stat.S_ISREG(found) and found & 0o600 != 0o600:
            os.fchmod(fd, 0o600)  # the umask took the owner's rights
        return fd

    def _make_room(self, size: int) -> None:
        if not self._is_current():
            self._reopen()
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode) or not self._is_too_large(found.st_size, size):
            return
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            if self._is_current():  # no other process has rotated it meanwhile
                self._rotate()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._reopen()

    def _is_too_large(self, now: int, more: int) -> bool:
        return now > 0 and now + more > self._max_bytes

    def _is_current(self) -> bool:
        """Return whether the open file is the one of this name."""
        mine = os.fstat(self._fd)
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)

    def _rotate(self) -> None:
        for number in range(self._keep - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))
        os.replace(self.path, self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _reopen(self) -> None:
        fresh = self._opened()
        os.close(self._fd)
        self._fd = fresh
