"""The queue of enrichment jobs: vectors that could not be made at commit, and what a language
model adds to a memory.

Invariant: neither an embedder nor a model is called while the write lock is held. What a memory's
jobs write is one transaction with the ends of those jobs, so a job that runs twice writes once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from vestig.calls.upkeep import EnrichRequest
from vestig.commit import enrichment_batches
from vestig.commit.queue_run import KINDS, QueueRun
from vestig.errors import EmbeddingMismatchError, ProviderError, StoreLockedError
from vestig.results import EnrichReport
from vestig.session.session import Session
from vestig.session.transaction import catch_up
from vestig.types import Degradation


def enrich(session: Session, asked: EnrichRequest) -> EnrichReport:
    """Runs due jobs of the store's namespace; a failure is tried again later."""
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
