"""Several processes at one store: forks of one with open stores, and the queue of those who write.

A child of a fork has the thread that forked and no other, and every lock as it stood: one that
another thread held is never free again. So a fork waits until no thread is inside of a call, and of
background work.

SQLite keeps the locks of a process per file, not per connection. A child that opened the file while
connections of its parent are still known to it would believe to hold locks that only the parent
holds, and the parent would then remove a WAL that is in use. So the child closes what it inherited
before it opens anything.

A fork that cannot wait (it is made inside of a call, or one takes too long) leaves a child in which
stores refuse to work.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from vestig.errors import ConflictError
from vestig.store.sqlite.files import LEDGER_FILE, lock_holder

if TYPE_CHECKING:
    import apsw


# How long a fork waits for the calls of other threads.
_REST_S = 5.0


class Forkable(Protocol):
    """A ledger, as far as forks concern it."""

    def leave_queue_of_parent(self) -> None:
        """Lets go of the parent's place among those that wait to write."""

    def after_fork_in_child(self) -> None:
        """Closes every inherited connection."""


class Gate:
    """Counts the threads that use SQLite, and can be shut until all have left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._inside: dict[int, int] = {}
        self._shut = False

    def enter(self) -> None:
        """Waits while the gate is shut, unless this thread is inside already."""
        me = threading.get_ident()
        with self._lock:
            while self._shut and me not in self._inside:
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        """Undoes one `enter` of this thread."""
        me = threading.get_ident()
        with self._lock:
            left = self._inside.get(me, 1) - 1
            if left:
                self._inside[me] = left
            else:
                self._inside.pop(me, None)
            if self._shut:
                self._changed.notify_all()

    def shut(self, timeout_s: float) -> bool:
        """Makes `enter` wait, and waits until every thread has left; whether all have."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._shut = True
            while self._inside and threading.get_ident() not in self._inside:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    break
            return not self._inside

    def open(self) -> None:
        """Lets threads enter again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()


class _State:
    """State of this process about forks. SQLite's own state is per process, so this is too."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.ledgers: weakref.WeakSet[Forkable] = weakref.WeakSet()
        self.quiet: list[Callable[[], None]] = []
        self.at_rest = True
        self.unusable = False

    def before(self) -> None:
        # without a ledger too: a store may just be opened
        self.at_rest = self.gate.shut(_REST_S)
        for quiet in self.quiet:
            quiet()

    def in_parent(self) -> None:
        self.gate.open()

    def in_child(self) -> None:
        self.gate = Gate()
        self.unusable = self.unusable or not self.at_rest
        for ledger in list(self.ledgers):
            ledger.leave_queue_of_parent()
        if not self.unusable:
            for ledger in list(self.ledgers):
                ledger.after_fork_in_child()


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_state.before,
        after_in_parent=_state.in_parent,
        after_in_child=_state.in_child,
    )


def watch(ledger: Forkable) -> None:
    """Registers a ledger, whose inherited connections a child of a fork closes."""
    _state.ledgers.add(ledger)


def before_each(quiet: Callable[[], None]) -> None:
    """Calls `quiet` before each fork, once no thread is inside."""
    _state.quiet.append(quiet)


class _Inside:
    """Leaves the gate that was entered: a child of a fork has another one."""

    __slots__ = ("_gate",)

    def __enter__(self) -> None:
        self._gate = _state.gate
        self._gate.enter()

    def __exit__(self, *error: object) -> None:
        self._gate.leave()


def inside() -> AbstractContextManager[None]:
    """Around every call of a store, piece of background work and use of SQLite: no fork happens
    meanwhile."""
    return _Inside()


def is_usable() -> bool:
    """Return whether no fork that did not wait made this process."""
    return not _state.unusable


def require_usable(where: str) -> None:
    """Refuses to open files in a child of a fork that did not wait.

    Raises:
        ConflictError: the fork happened inside of a call.
    """
    if _state.unusable:
        raise ConflictError(
            f"{where}: expected a fork between calls of a store, this process was forked while one"
            " was at work; fork before, or start a new process instead (spawn)"
        )


def close_inherited(conn: apsw.Connection) -> None:
    """Closes a connection at rest in a child. Its locks are the parent's and stay with it; the
    WAL must not be moved or removed."""
    import apsw

    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    conn.close()


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
        deadline (by `time.monotonic`) is over. The place is held, and the folder open, until the
        iterator is closed."""
        try:
            if self.has_no_others():
                yield
            yield from self._tries(self.take(), deadline)
        finally:
            self.leave()
            self.close()

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
        import random

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
