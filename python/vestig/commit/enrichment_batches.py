"""Jobs that are sent to a language model as batches, which are cheaper and take up to a day.

A request is about one memory and all kinds of jobs that the batch holds of it; it has the id of the
first of these jobs.

Invariant: before a batch is sent its jobs are `submitted` under a marker that names one of them. So
a batch of which this store does not know whether it was taken is found by that job's id, and no job
is sent twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from vestig.commit.memory_enrichment import MODEL_KINDS, model_of
from vestig.commit.model_answer import PROMPTS, answer_form
from vestig.commit.queue_run import PAUSING, QueueRun, Subject, by_memory, kinds_of
from vestig.errors import ConfigError, ModelBudgetError, ModelCallError, ProviderError
from vestig.ports import BatchAnswer, ModelRequest
from vestig.session.model_calls import ParsedAnswer
from vestig.store.records.jobs import JobRules
from vestig.store.records.rows import Job

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
