"""Forks of a process with open stores.

A child has the thread that forked and no other, and every lock as it stood: one that another thread
held is never free again. So a fork waits until no thread is inside of a call, and of background
work.

SQLite keeps the locks of a process per file, not per connection. A child that opened the file
while connections of its parent are still known to it would believe to hold locks that only the
parent holds, and the parent would then remove a WAL that is in use. So the child closes what it
inherited before it opens anything.

A fork that cannot wait (it is made inside of a call, or one takes too long) leaves a child in which
stores refuse to work.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from vestig.errors import ConflictError

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
