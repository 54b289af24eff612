"""A background thread that merges segments in long-lived processes.

Invariant: the thread takes no lock of the store while it works and ends before its interpreter
does; the next call of the store reports what failed in it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Final

from vestig import _core
from vestig.store.sqlite import forks

# A scan reads every segment; more than this are merged.
SEGMENTS_MAX: Final = 6
# Nobody waits for a merge: threads that answer queries have precedence.
NICENESS: Final = 10


class Merger:
    """At most one thread of this process that merges the segments of one projection."""

    def __init__(self, core: Callable[[], _core.Projection], report: Callable[[str], None]) -> None:
        self._core = core
        self._report = report
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
                continue
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
forks.before_each(_before_fork)
