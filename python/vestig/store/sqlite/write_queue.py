"""The order in which processes get the write lock of a store."""

from __future__ import annotations

import fcntl
import os
import random
import struct
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Final

from vestig.store.sqlite.files import LEDGER_FILE, lock_holder

# Locks of an open file (`man fcntl`): POSIX locks of the process itself would be lost whenever it
# closes the folder anywhere else. The numbers and the struct are those of Linux.
_KNOWN: Final = sys.platform.startswith("linux")
_SET: Final = getattr(fcntl, "F_OFD_SETLK", 37)
_GET: Final = getattr(fcntl, "F_OFD_GETLK", 36)
# struct flock: kind, whence, start, length, process.
_LOCK: Final = struct.Struct("hhqqi0q")
_TO_THE_END: Final = 0

_SHORTEST_PAUSE_S: Final = 0.0005
_LONGEST_PAUSE_S: Final = 0.004
# How often those behind look whether the first one takes a lock that is free.
_LOOK_S: Final = 0.1


class WriteQueue:
    """Who waits for the write lock of a store: the first that came is the next that tries.

    SQLite's lock goes to whoever asks in the moment when it is free. A process that writes in a
    loop is back a moment after it has left, so others, which ask now and then, may never find
    the lock free. Here those that wait hold a place, and whoever comes sees them and gets behind.

    A place is a shared lock of one byte of the store's folder, which has no bytes to read; the
    kernel takes it back when its process ends in any way. Two that come in one moment may get
    the same place: then either may be first. A place whose process is stopped costs the others two
    looks at a lock that is free, a tenth of a second apart; then they pass it over.

    Linux has such locks. Elsewhere, and where the file system of the folder has none, nobody is
    seen to wait, and the lock is had by chance.

    Args:
        folder: the folder of the store.

    Example:
        >>> import tempfile, time
        >>> folder = Path(tempfile.mkdtemp())
        >>> turns = WriteQueue(folder).turns(time.monotonic() + 1)
        >>> next(turns), next(turns)  # the lock was not free at once
        (None, None)
        >>> other = WriteQueue(folder)
        >>> other.has_no_others()
        False
        >>> turns.close()
        >>> other.has_no_others()
        True
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd: int | None = None
        # Places that did not take the lock while it was free.
        self._passed: set[int] = set()

    def __del__(self) -> None:
        self.close()

    def turns(self, deadline: float) -> Generator[None, None, None]:
        """Gives each moment at which the caller is to try for the lock: at once if nobody is seen
        to wait; from then on whenever it is the first of all who wait; and a last time when the
        deadline (by `time.monotonic`) is over. The place is held until the iterator is closed."""
        if self.has_no_others():
            yield
        try:
            yield from self._tries(self.take(), deadline)
        finally:
            self.leave()

    def has_no_others(self) -> bool:
        """Return whether no other queue of this folder, in any process, is seen to hold a place."""
        self._passed = {place for place in self._passed if self._is_held(place)}
        return self._ahead_of(None) is None

    def take(self) -> int | None:
        """Takes the place behind all others; None where there are none to be had."""
        mine = 0
        while (held := self._held(mine, _TO_THE_END)) is not None:
            mine = held + 1
        return mine if self._lock(fcntl.F_RDLCK, mine, 1) else None

    def is_first(self, place: int | None) -> bool:
        """Return whether nobody is seen to wait before this place; None is behind nobody."""
        return not place or self._ahead_of(place) is None

    def leave(self) -> None:
        """Gives the place back, if there is one."""
        self._lock(fcntl.F_UNLCK, 0, _TO_THE_END)

    def close(self) -> None:
        """Closes the folder. A place that is held stays with the processes that have inherited
        it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _tries(self, mine: int | None, deadline: float) -> Generator[None, None, None]:
        pause = _SHORTEST_PAUSE_S
        look_at, was_free = time.monotonic() + _LOOK_S, False
        while (left := deadline - (now := time.monotonic())) > 0:
            if self.is_first(mine):
                yield
            elif now >= look_at:
                is_free = not lock_holder(self._folder / LEDGER_FILE)
                if is_free and was_free:
                    self._pass_over(mine)
                look_at, was_free = now + _LOOK_S, is_free
            # Two that have the same place, or none, do not meet again and again.
            time.sleep(min(left, pause * (0.5 + random.random() / 2)))
            pause = min(_LONGEST_PAUSE_S, pause + _SHORTEST_PAUSE_S)
        yield

    def _pass_over(self, mine: int | None) -> None:
        """The first place before this one counts no more, while it is held."""
        first, at = None, self._ahead_of(mine)
        while at is not None:
            first, at = at, self._ahead_of(at)
        if first is not None:
            self._passed.add(first)

    def _ahead_of(self, place: int | None) -> int | None:
        """A place before this one, or any with None, that another queue holds and that is not
        passed over."""
        start = 0
        for passed in sorted(self._passed):
            if place is not None and passed >= place:
                break
            if passed > start and (held := self._held(start, passed - start)) is not None:
                return held
            start = passed + 1
        if place == start:
            return None
        return self._held(start, _TO_THE_END if place is None else place - start)

    def _is_held(self, place: int) -> bool:
        return self._held(place, 1) is not None

    def _lock(self, kind: int, start: int, length: int) -> bool:
        if not _KNOWN or self._fd is None:
            return False
        try:
            fcntl.fcntl(self._fd, _SET, _LOCK.pack(kind, os.SEEK_SET, start, length, 0))
        except OSError:
            return False
        return True

    def _held(self, start: int, length: int) -> int | None:
        """A place in this range that another queue holds."""
        if not _KNOWN:
            return None
        if self._fd is None:
            with suppress(OSError):
                self._fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self._fd is None:
            return None
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        try:
            answer = fcntl.fcntl(self._fd, _GET, asked)
        except OSError:
            return None
        kind, _whence, held, _length, _process = _LOCK.unpack(answer)
        return None if kind == fcntl.F_UNLCK else int(held)
