"""The order in which processes get the write lock of a store."""

from __future__ import annotations

import fcntl
import os
import random
import struct
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Final

from vestig.store.sqlite.files import LEDGER_FILE, lock_holder

__all__ = ["WriteQueue"]

# Locks of an open file, which Linux alone has: those of a process are lost whenever the process
# closes the folder anywhere else.
_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)
_GET: Final[int | None] = getattr(fcntl, "F_OFD_GETLK", None)
# struct flock: kind, whence, start, length, process.
_LOCK: Final = struct.Struct("hhqqi0q")
_TO_THE_END: Final = 0

_SHORTEST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.004
# How often those behind look whether the first one takes a lock that is free.
_LOOK_S: Final = 0.1


class WriteQueue:
    """Who waits for the write lock of a store: the first that came is the next that gets it.

    SQLite's lock goes to whoever asks in the moment when it is free. A process that writes in a
    loop is back a moment after it has left, so others, which ask now and then, may never find
    the lock free. Here those that wait hold a place, and whoever comes sees them and gets behind.

    A place is a shared lock of one byte of the store's folder, far beyond anything that is there;
    the kernel takes it back when its process ends in any way. Two that come in one moment may get
    the same place: then either may be first. A first one that is stopped holds up nobody: who finds
    the lock free twice, a tenth of a second apart, tries without a turn. Where the system knows no
    such locks, or the folder has none, the lock is had by chance.

    Args:
        folder: the folder of the store.

    Example:
        >>> import tempfile, time
        >>> folder = Path(tempfile.mkdtemp())
        >>> turns = WriteQueue(folder).turns(time.monotonic() + 1)
        >>> next(turns), next(turns)  # the lock was not free at once
        (None, None)
        >>> others = WriteQueue(folder)
        >>> others.is_empty
        False
        >>> turns.close()
        >>> others.is_empty
        True
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nobody else waits."""
        return self._held(0, _TO_THE_END) is None

    def turns(self, deadline: float) -> Generator[None, None, None]:
        """Gives each moment at which the caller is to try for the lock, once at least: at once
        if nobody waits, then as the first of all who wait, until the deadline (by
        `time.monotonic`). The place is held until the iterator is closed."""
        if self.is_empty:
            yield
        mine = self._take()
        try:
            yield from self._tries(mine, deadline)
        finally:
            if mine is not None:
                self._lock(fcntl.F_UNLCK, mine)

    def close(self) -> None:
        """Closes the folder."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _tries(self, mine: int | None, deadline: float) -> Generator[None, None, None]:
        pause = _SHORTEST_PAUSE_S
        look_at, was_free = time.monotonic() + _LOOK_S, False
        while (left := deadline - (now := time.monotonic())) > 0:
            if not mine or self._held(0, mine) is None:
                yield
            elif now >= look_at:
                is_free = not lock_holder(self._folder / LEDGER_FILE)
                if is_free and was_free:
                    yield
                look_at, was_free = now + _LOOK_S, is_free
            # Two that have the same place, or none, do not meet again and again.
            time.sleep(min(left, pause * (0.5 + random.random() / 2)))
            pause = min(_LONGEST_PAUSE_S, pause + _SHORTEST_PAUSE_S)
        yield

    def _take(self) -> int | None:
        """A place behind all others; None where there are none to be had."""
        mine = 0
        while (held := self._held(mine, _TO_THE_END)) is not None:
            mine = held + 1
        return mine if self._lock(fcntl.F_RDLCK, mine) else None

    def _lock(self, kind: int, place: int) -> bool:
        if _SET is None or self._fd is None:
            return False
        try:
            fcntl.fcntl(self._fd, _SET, _LOCK.pack(kind, os.SEEK_SET, place, 1, 0))
        except OSError:
            return False
        return True

    def _held(self, start: int, length: int) -> int | None:
        """A place in this range that somebody else holds."""
        if self._fd is None:
            with suppress(OSError):
                self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if _GET is None or self._fd is None:
            return None
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        try:
            answer = fcntl.fcntl(self._fd, _GET, asked)
        except OSError:
            return None
        kind, _whence, held, _length, _process = _LOCK.unpack(answer)
        return None if kind == fcntl.F_UNLCK else int(held)
