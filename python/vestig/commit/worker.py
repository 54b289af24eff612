"""A background thread of an open store that works the queue of enrichment jobs.

Invariant: the thread keeps no process alive, and holds the write lock only while it writes. After
`close` it begins no job, and those that it had begun are due again.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from vestig.commit.enrich import work_queue
from vestig.commit.queue_run import KINDS, QueueRun
from vestig.errors import VestigError
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.store.records.jobs import JobRules
from vestig.telemetry import logger

# Seconds after which the queue is looked at where no commit of this process queued a job: others
# may have, and jobs that failed become due.
_INTERVAL_S: Final = 5.0
# Seconds that `close` waits for what is being written; a call of a model is not waited for.
_CLOSE_S: Final = 0.5


class Worker:
    """Works the due jobs of every namespace of a store from `start` to `close`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._closed = threading.Event()
        self._running: QueueRun | None = None
        self._lock = threading.Lock()
        # time.monotonic() before which the model is left alone, and the pauses in a row
        self._rests_until = 0.0
        self._pauses = 0
        self._thread = threading.Thread(target=self._work, name="vestig-worker", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def close(self) -> None:
        """Ends, and waits a moment for what is being written; idempotent."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)

    def stop(self) -> None:
        """Begins no job any more; returns at once, in any thread."""
        with self._lock:
            self._closed.set()
            running = self._running
        self._session.jobs_queued.set()
        if running is not None:
            running.stop()

    def _work(self) -> None:
        queued = self._session.jobs_queued
        while not self._closed.is_set():
            queued.clear()
            try:
                self._work_once()
            except VestigError as error:
                if self._closed.is_set() or self._session.closed:
                    return
                # the next look at the queue tries again
                self._session.metrics.add(
                    "vestig_errors_total", operation="worker", error_type=error.code
                )
                logger(__name__).warning("enrichment: %s", error.code)
            queued.wait(_INTERVAL_S)

    def _work_once(self) -> None:
        session = self._session
        if session.ledger.missing is not None:
            return
        for namespace in session.ledger.due_job_counts(session.now_us(), KINDS):
            # the model may be left alone; missing vectors are made all the same
            asks = time.monotonic() >= self._rests_until
            run = QueueRun(session, namespace)
            with self._lock:
                if self._closed.is_set():
                    return
                self._running = run
            work_queue(run, ask=asks)
            degraded = run.degraded()
            if run.tally.done:
                catch_up(session, degraded)
            else:
                session.metrics.degraded(degraded)
            if asks:
                self._rest(run)

    def _rest(self, run: QueueRun) -> None:
        """Where no model can be asked, the pauses grow like those of a failing job."""
        if run.paused is None:
            self._pauses = 0
            return
        rules = JobRules()
        pause_s = min(rules.backoff_base_s * 2**self._pauses, rules.backoff_max_s)
        self._pauses += 1
        self._rests_until = time.monotonic() + pause_s
