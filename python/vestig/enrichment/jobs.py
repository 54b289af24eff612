"""The queue of enrichment jobs: vectors that could not be made at commit, and what a language model
adds to a memory. It is worked by a call, by a commit that waits, or by a thread of an open store.

A language model may be sent batches, which are cheaper and take up to a day. A request is about one
memory and all kinds of jobs that the batch holds of it; it has the id of the first of these jobs.

Invariant: neither an embedder nor a model is called while the write lock is held. What a memory's
jobs write is one transaction with the ends of those jobs, so a job that runs twice writes once.

Invariant: before a batch is sent its jobs are `submitted` under a marker that names one of them. So
a batch of which this store does not know whether it was taken is found by that job's id, and no job
is sent twice.

Invariant: the thread keeps no process alive, and holds the write lock only while it writes. After
`close` it begins no job, and those that it had begun are due again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from vestig.calls.upkeep import EnrichRequest
from vestig.enrichment.memory_answer import PROMPTS, answer_form
from vestig.enrichment.memory_changes import MODEL_KINDS, model_of
from vestig.enrichment.queue_run import (
    KINDS,
    PAUSING,
    QueueRun,
    Subject,
    by_memory,
    by_model,
    kinds_of,
    waiting_jobs,
)
from vestig.errors import (
    ConfigError,
    EmbeddingMismatchError,
    ModelBudgetError,
    ModelCallError,
    ProviderError,
    StoreLockedError,
    ValidationError,
    VestigError,
)
from vestig.other_words import by_caller
from vestig.ports import BatchAnswer, ModelRequest
from vestig.results import EnrichReport
from vestig.session.model_calls import ParsedAnswer
from vestig.session.session import Session, catch_up
from vestig.store.records.jobs import JobRules
from vestig.store.records.jobs import due as due_jobs
from vestig.store.records.rows import Job
from vestig.telemetry import logger
from vestig.types import Degradation

# More jobs than any queue has.
_DUE_MAX: Final = 2**62


def enrich(session: Session, asked: EnrichRequest) -> EnrichReport:
    """Runs due jobs of the store's namespace; a failure is tried again later."""
    if asked.dry_run:
        return _expected(session, asked)
    with session.operation("enrich", without_store="make"):
        if asked.retry_failed:
            session.ledger.retry_failed(session.namespace, KINDS, session.now_us())
        run = QueueRun(session, session.namespace, limit=asked.limit)
        work_queue(run)
        degraded = run.degraded()
        if run.tally.done:
            catch_up(session, degraded)
        with session.ledger.read() as view:
            states = view.stats(session.namespace)["jobs"]
        tally = run.tally
        return EnrichReport(
            taken=tally.taken,
            done=tally.done,
            retried=tally.retried,
            failed=states.get("failed", 0),
            pending=states.get("pending", 0) + states.get("running", 0),
            submitted=states.get("submitted", 0),
            possible_updates=tally.updates,
            superseded=tally.superseded,
            costs=run.meter.report(),
            warnings=tally.warnings(),
            degraded=tuple(degraded),
        )


def _expected(session: Session, asked: EnrichRequest) -> EnrichReport:
    """Return what the due jobs would ask, and change nothing.

    Raises:
        ValidationError: with `retry_failed`, whose jobs are not due yet.
    """
    if asked.retry_failed:
        raise ValidationError("dry_run", True, "it without retry_failed: failed jobs are not due")
    costs = session.models.meter()
    with session.operation("enrich"):
        most = _DUE_MAX if asked.limit is None else asked.limit
        with session.ledger.read() as view:
            due = due_jobs(view, session.namespace, KINDS, now_us=session.now_us(), limit=most)
        asking = [job for job in due if job.kind in MODEL_KINDS and session.has_model]
        for own in by_memory(asking):
            subject, open_ = waiting_jobs(session, session.namespace, own)
            for model, group in by_model(open_, session.config.settings).items():
                assert subject is not None, "jobs without a memory have nothing to do"
                kinds = kinds_of(group)
                request, _ = session.models.request(
                    [PROMPTS[kind] for kind in kinds],
                    subject.prompt_values,
                    answer=answer_form(kinds),
                    model=model,
                )
                session.models.expect(request, costs)
        return EnrichReport(
            taken=0,
            done=0,
            retried=0,
            failed=0,
            pending=len(due),
            possible_updates=0,
            dry_run=True,
            costs=costs.report(),
        )


def work_queue(run: QueueRun, *, ask: bool = True) -> None:
    """Everything that is due: vectors; and unless `ask` is false batches that came back, a new
    batch where enough jobs wait, and the rest memory by memory."""
    with run:
        run.embed()
        if ask and run.session.has_model:
            collect(run)
            submit(run)
            run.ask()


def enrich_inline(session: Session, namespace: str, ids: Sequence[str]) -> list[Degradation]:
    """Tries these jobs of one call at once, for at most `enrichment.inline_timeout_s` seconds in
    all; those that are not done then stay in the queue. What degraded."""
    timeout_s = session.config.settings.enrichment.inline_timeout_s
    run = QueueRun(session, namespace, ids=ids, ends_at=time.monotonic() + timeout_s)
    with session.operation("enrich"):
        # the call has done what it was asked for: what keeps its jobs from being done is said below
        with suppress(StoreLockedError, ProviderError, EmbeddingMismatchError), run:
            run.embed()
            run.ask()
        degraded = run.degraded()
        left = len(ids) - run.tally.done
        if left:
            again = by_caller("`vestig housekeeping enrich`")
            detail = f"jobs of this call stay in the queue; run {again}"
            degraded.append(Degradation(code="enrichment_pending", detail=detail, count=left))
        session.metrics.degraded(degraded)
        catch_up(session, [])
    return degraded


# --- batches of a language model --------------------------------------------------------------

# Memories of one batch; providers take more.
_MEMORIES_MAX: Final = 5_000
_MARKER: Final = "sending:"
_SECOND_US: Final = 1_000_000
# The provider does not know a batch.
_UNKNOWN: Final = 404


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one request of a batch, which is about one memory."""

    jobs: list[Job]
    request: ModelRequest
    label: str

    @property
    def id(self) -> str:
        """The request's own id."""
        return self.jobs[0].id


def submit(run: QueueRun) -> None:
    """Sends the due jobs as one batch, where they are enough for one and the run has no limit."""
    session = run.session
    if run.paused is not None or run.is_limited:
        return
    due = session.ledger.due_job_counts(session.now_us(), MODEL_KINDS).get(run.namespace, 0)
    if not session.models.takes_batches(due):
        return
    groups = session.ledger.due_jobs_by_memory(
        run.namespace, session.now_us(), MODEL_KINDS, _MEMORIES_MAX
    )
    for jobs in groups:
        run.hold(jobs)
    parts = [part for jobs in groups for part in _parts(run, jobs)]
    if not parts:
        return
    jobs = [job for part in parts for job in part.jobs]
    ids = [job.id for job in jobs]
    now = session.now_us()
    session.ledger.submit_jobs(ids, f"{_MARKER}{now}:{parts[0].id}", now)
    try:
        batch = session.models.submit([(part.id, part.request) for part in parts])
    except (ProviderError, ConfigError) as error:
        _not_sent(run, jobs, error)
        return
    session.ledger.submit_jobs(ids, batch, session.now_us())
    run.submitted(jobs)


def _parts(run: QueueRun, jobs: Sequence[Job]) -> Iterator[_Part]:
    """The requests about one memory: one for all of its jobs, or where kinds have models of their
    own one for each job."""
    subject, waiting = run.waiting(jobs)
    if subject is None or not waiting:
        return
    models = {model_of(job.kind, run.session.config.settings) for job in waiting}
    for group in [waiting] if len(models) == 1 else [[job] for job in waiting]:
        yield _part(run, subject, group)


def _part(run: QueueRun, subject: Subject, jobs: list[Job]) -> _Part:
    session, kinds = run.session, kinds_of(jobs)
    request, label = session.models.request(
        [PROMPTS[kind] for kind in kinds],
        subject.prompt_values,
        answer=answer_form(kinds),
        model=model_of(kinds[0], session.config.settings),
    )
    return _Part(jobs=jobs, request=request, label=label)


def _not_sent(run: QueueRun, jobs: Sequence[Job], error: Exception) -> None:
    """Settle the jobs of a batch that was refused. Where nothing says that it was, the marker
    stays, and a later run looks for the batch."""
    status = error.status if isinstance(error, ModelCallError) else None
    refused = isinstance(error, (ModelBudgetError, ConfigError)) or (
        status is not None and 400 <= status < 500
    )
    if not refused:
        run.note(error)
        run.submitted(jobs)
    elif isinstance(error, (ModelBudgetError, ConfigError)) or status in PAUSING:
        run.pause(jobs, error)
    else:
        run.fail(jobs, str(error), error)


def collect(run: QueueRun) -> None:
    """Writes the answers of the batches that came back; jobs that a batch did not do are due
    again."""
    session = run.session
    for batch, jobs in session.ledger.submitted_batches(run.namespace).items():
        if not session.models.has_batches:
            # another provider has them, and this one cannot ask for them
            _release(run, jobs)
            continue
        try:
            known = _known_batch(run, batch, jobs) if batch.startswith(_MARKER) else batch
            if known is None:
                continue
            answers = session.models.answers(known, costs=run.meter)
        except (ProviderError, ConfigError) as error:
            run.note(error)
            if isinstance(error, ModelCallError) and error.status == _UNKNOWN:
                _release(run, jobs)
            continue
        if answers is not None:
            _take_over(run, jobs, {one.id: one for one in answers})


def _known_batch(run: QueueRun, marker: str, jobs: Sequence[Job]) -> str | None:
    """The batch of a marker; None = another process may be sending it, or nobody took it."""
    session = run.session
    begun, _, own_id = marker.removeprefix(_MARKER).partition(":")
    lease_us = round(JobRules().lease_s * _SECOND_US)
    if session.now_us() < int(begun) + lease_us:
        return None
    found = session.models.find(own_id)
    if found is None:
        _release(run, jobs)
    else:
        session.ledger.submit_jobs([job.id for job in jobs], found, session.now_us())
    return found


def _take_over(run: QueueRun, jobs: Sequence[Job], answers: Mapping[str, BatchAnswer]) -> None:
    """Ends the jobs of a batch, memory by memory."""
    for own in by_memory(jobs):
        with_answer = [job for job in own if job.id in answers]
        # a job without an answer of its own is one of those that the memory's first one is about
        others = [job for job in own if job.id not in answers]
        if not with_answer:
            _release(run, own)
            continue
        for place, job in enumerate(with_answer):
            _end(run, [job, *(others if place == 0 else ())], answers[job.id])


def _end(run: QueueRun, jobs: list[Job], outcome: BatchAnswer) -> None:
    """Ends the jobs that one request was about."""
    if outcome.state == "expired":
        _release(run, jobs)
        return
    if outcome.answer is None:
        run.fail(jobs, outcome.error or "the batch gave no answer")
        return
    subject, waiting = run.waiting(jobs)
    if subject is None or not waiting:
        return
    kinds = kinds_of(jobs)
    try:
        value, dropped = run.session.models.read(outcome.answer, answer_form(kinds))
    except ModelCallError as error:
        run.fail(waiting, str(error), error)
        return
    part = _part(run, subject, jobs)
    run.store(
        subject.memory,
        waiting,
        ParsedAnswer(
            value=value,
            model=outcome.answer.model,
            calls=1,
            usage=outcome.answer.usage,
            prompt_version=part.label,
            dropped=dropped,
        ),
    )


def _release(run: QueueRun, jobs: Sequence[Job]) -> None:
    ledger = run.session.ledger
    ledger.release_jobs([job.id for job in jobs], run.session.now_us())


# --- worker -----------------------------------------------------------------------------------

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
