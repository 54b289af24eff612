"""The log of requests: routes, times, counts and codes, written beside what is served."""

from __future__ import annotations

import queue
import threading
from typing import Final

from vestig.session.session import Session
from vestig.store.records.values import RequestRecord

_PENDING_MAX: Final = 10_000
_PAUSE_S: Final = 1.0


class RequestLog:
    """Takes entries at once and writes them together, at most a second later, in a thread of its
    own. What cannot be written is counted and lost: no request fails for its entry."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._entries: queue.Queue[RequestRecord] = queue.Queue(_PENDING_MAX)
        self._ended = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vestig-request-log", daemon=True)
        self._thread.start()

    def add(self, entry: RequestRecord) -> None:
        """Takes one entry."""
        try:
            self._entries.put_nowait(entry)
        except queue.Full:
            self._lost(1)
            return
        self._woken.set()

    def close(self) -> None:
        """Writes what was taken."""
        self._ended.set()
        self._woken.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            self._woken.wait()
            ending = self._ended.wait(_PAUSE_S)
            self._woken.clear()
            self._write()
            if ending:
                return

    def _write(self) -> None:
        entries = []
        while not self._entries.empty():
            entries.append(self._entries.get_nowait())
        if not entries or self._session.ledger.missing is not None:
            return
        try:
            self._session.ledger.log_requests(entries)
        except Exception:  # whatever it is, it is counted, and no request fails for it
            self._lost(len(entries))

    def _lost(self, count: int) -> None:
        self._session.metrics.add("vestig_request_log_failures_total", count)
