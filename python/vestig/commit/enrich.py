"""The queue of enrichment jobs: vectors that could not be made at commit, and what a language
model adds to a memory.

Invariant: neither an embedder nor a model is called while the write lock is held. What a memory's
jobs write is one transaction with the ends of those jobs, so a job that runs twice writes once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from vestig.calls.upkeep import EnrichRequest
from vestig.commit import enrichment_batches
from vestig.commit.memory_enrichment import MODEL_KINDS
from vestig.commit.model_answer import PROMPTS, answer_form
from vestig.commit.queue_run import (
    KINDS,
    QueueRun,
    by_memory,
    by_model,
    kinds_of,
    waiting_jobs,
)
from vestig.errors import (
    EmbeddingMismatchError,
    ProviderError,
    StoreLockedError,
    ValidationError,
)
from vestig.results import EnrichReport
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.store.records import jobs
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
            due = jobs.due(view, session.namespace, KINDS, now_us=session.now_us(), limit=most)
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
            enrichment_batches.collect(run)
            enrichment_batches.submit(run)
            run.ask()


def enrich_inline(session: Session, namespace: str, ids: Sequence[str]) -> list[Degradation]:
    """Tries these jobs of one call at once, for at most `enrichment.inline_timeout_s` seconds in
    all; those that are not done then stay in the queue. What degraded."""
    if not ids:
        return []
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
            detail = "jobs of this call stay in the queue; run `vestig housekeeping enrich`"
            degraded.append(Degradation(code="enrichment_pending", detail=detail, count=left))
        session.metrics.degraded(degraded)
        catch_up(session, [])
    return degraded
