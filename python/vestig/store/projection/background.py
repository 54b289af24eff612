"""Background threads of long-lived processes: one merges segments, one takes newer manifests over
for stores that nobody reads.

A read takes over what others published; between reads a store would keep the segments of its last
one mapped and locked, and a process that forgets would wait for it. A store that is read often does
so by itself and is left alone.

Invariant: a thread that merges takes no lock of the store while it works and ends before its
interpreter does; the next call of the store reports what failed in it.

Invariant: there is one thread that refreshes for all open stores of a process. It ends with the
last store and before the interpreter does, and no fork happens while it works.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Final, Protocol

from vestig import _core
from vestig.store.sqlite import processes

# A scan reads every segment; more than this are merged.
SEGMENTS_MAX: Final = 6
# Nobody waits for a merge: threads that answer queries have precedence.
NICENESS: Final = 10


class Merger:
    """At most one thread of this process that merges the segments of one projection."""

    def __init__(
        self,
        core: Callable[[], _core.Projection],
        report: Callable[[str], None],
        merged: Callable[[], None] = lambda: None,
    ) -> None:
        self._core = core
        self._report = report
        self._merged = merged
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._pid = os.getpid()
        _mergers.add(self)

    def wake(self) -> None:
        """Merges in the background until few segments are left; returns at once."""
        if os.getpid() != self._pid:
            # The thread and its locks belong to the parent.
            self._lock, self._thread, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._work, name="vestig-merge", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        lower_priority()
        try:
            while not self._closed and self._core().merge(SEGMENTS_MAX):
                self._merged()
        except (OSError, RuntimeError, _core.ProjectionDamaged) as error:
            self._report(f"segments could not be merged: {error_text(error)}")

    def pause(self) -> None:
        """Ends the thread and drops the result of a running merge; `wake` starts another."""
        if os.getpid() != self._pid:
            return
        self._core().stop_merging()
        self.wait()

    def stop(self) -> None:
        """Pause for good."""
        self._closed = True
        self.pause()

    def wait(self) -> None:
        """Waits until the thread has ended."""
        with self._lock:
            thread = self._thread
        # a thread that an interrupt kept from starting cannot be joined
        if thread is not None and thread.is_alive():
            thread.join()


def lower_priority() -> None:
    """Gives this thread the niceness of background work, where threads have a niceness."""
    if sys.platform == "linux":
        me = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, me)
        os.setpriority(os.PRIO_PROCESS, me, max(nice, NICENESS))


def error_text(error: Exception) -> str:
    """Return what an error of the core says, without paths."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


_mergers: weakref.WeakSet[Merger] = weakref.WeakSet()


def _at_exit() -> None:
    """A daemon thread that returns from the core while the interpreter ends would crash it."""
    for merger in list(_mergers):
        merger.stop()


def _before_fork() -> None:
    """A child would inherit the core's locks as they stand, without the thread that holds them."""
    for merger in list(_mergers):
        merger.pause()


atexit.register(_at_exit)
processes.before_each(_before_fork)


# A store without a read for this long is idle. Both times together are less than the 2 s within
# which an idle store lets go of an older state.
IDLE_S: Final = 0.5
_INTERVAL_S: Final = 0.5


class Refreshable(Protocol):
    """A projection, as far as idle times concern it."""

    def refresh_if_idle(self) -> None:
        """Takes over a newer manifest, unless the store was read within the last `IDLE_S`."""
        ...


class _IdleRefresh:
    """The thread and the stores that it looks after."""

    def __init__(self) -> None:
        self._stores: weakref.WeakSet[Refreshable] = weakref.WeakSet()
        self._begin()

    def _begin(self) -> None:
        # Held while a store is refreshed.
        self._working = threading.Lock()
        self._changing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ends = threading.Event()

    def add(self, store: Refreshable) -> None:
        """Looks after a store from now on."""
        with self._changing:
            self._stores.add(store)
            self._start()

    def _start(self) -> None:
        # A thread that was told to end may still be alive, and looks after nothing.
        running = self._thread is not None and self._thread.is_alive()
        if not running or self._ends.is_set():
            self._ends = threading.Event()
            self._thread = threading.Thread(
                target=self._work, args=(self._ends,), name="vestig-idle", daemon=True
            )
            self._thread.start()

    def discard(self, store: Refreshable) -> None:
        """After this the store is not refreshed any more."""
        with self._changing:
            self._stores.discard(store)
            if not self._stores:
                self._ends.set()
        with self._working:
            pass

    def _work(self, ends: threading.Event) -> None:
        while not ends.wait(_INTERVAL_S):
            with processes.inside(), self._changing:
                stores = list(self._stores)
                if not stores:
                    # Every store was collected without being closed.
                    self._thread = None
                    return
            for store in stores:
                with processes.inside(), self._working:
                    if store in self._stores and not ends.is_set():
                        store.refresh_if_idle()
            del stores, store

    def stop(self) -> None:
        """Ends the thread and waits for it."""
        with self._changing:
            self._ends.set()
            thread = self._thread
        # a thread that an interrupt kept from starting cannot be joined
        if thread is not None and thread.is_alive():
            thread.join()

    def after_fork_in_child(self) -> None:
        """The thread is the parent's; the child has its own if stores came with it."""
        self._begin()
        if self._stores:
            self._start()


_idle = _IdleRefresh()


def watch_idle(store: Refreshable) -> None:
    """Refreshes a store while nobody reads it."""
    _idle.add(store)


def unwatch_idle(store: Refreshable) -> None:
    """Leaves a store alone from the return of this call on."""
    _idle.discard(store)


atexit.register(_idle.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.after_fork_in_child)
