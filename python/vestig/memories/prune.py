"""Prune: memories whose retention is over, or that were superseded long ago, are forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress

import msgspec

from vestig.calls.upkeep import PruneRequest
from vestig.errors import VestigError
from vestig.memories.forget import RunJobs, prove_and_run
from vestig.memories.selection import selected_ids
from vestig.results import PruneKept, PruneReport
from vestig.session.session import RollBack, Session, catch_up, clock_notice
from vestig.store.records.erase_patterns import PlainRun
from vestig.store.records.memory_queries import DueTimes, count_all, due_memories
from vestig.store.records.removal import Removed
from vestig.times import DAY_US
from vestig.types import Degradation, ItemError


class _Removals(msgspec.Struct):
    """Removals of one prune. `seq`: of the last one."""

    seq: int
    ids: list[str] = []
    errors: list[ItemError] = []
    summaries: set[str] = set()
    embed_jobs: list[str] = []
    runs: dict[int, Mapping[bytes, PlainRun]] = {}
    degraded: list[Degradation] = []


def prune(session: Session, asked: PruneRequest, *, run_jobs: RunJobs) -> PruneReport:
    """Removes every memory that is due, each in a transaction of its own, and proves it once."""
    space, now_us = session.in_namespace(asked.namespace), session.now_us()
    days = asked.superseded_after_days
    times = DueTimes(now_us, None if days is None else now_us - round(days * DAY_US))
    with session.operation("prune", without_store="make"), session.freeing_space():
        chosen: Collection[str] | None = None
        if asked.where.given():
            chosen = frozenset(selected_ids(session, space, asked.where))
        with session.ledger.read() as view:
            evaluated = count_all(view, space) if chosen is None else len(chosen)
            due = [
                one
                for one in due_memories(view, space, times)
                if chosen is None or one.id in chosen
            ]
            removals = _Removals(seq=view.seq)
        kept = Counter(one.kept_by for one in due if one.kept_by is not None)
        ids = [one.id for one in due if one.kept_by is None]
        if asked.dry_run:
            removals.ids = ids
        else:
            for index, id in enumerate(ids):
                try:
                    _remove(session, space, id, times, removals)
                except VestigError as error:
                    removals.errors.append(
                        ItemError(index=index, code=error.code, message=f"{id}: {error}")
                    )
        degraded = removals.degraded
        if removals.runs:
            session.drop_cached(removals.seq)
            catch_up(session, degraded)
            jobs = tuple(removals.embed_jobs)
            prove_and_run(session, removals.runs, lambda: run_jobs(session, space, jobs), degraded)
        return PruneReport(
            evaluated=evaluated,
            removed=len(removals.ids),
            kept=PruneKept(**kept),
            memory_ids=tuple(removals.ids),
            errors=tuple(removals.errors),
            dry_run=asked.dry_run,
            seq=removals.seq,
            degraded=tuple(degraded),
        )


def _remove(session: Session, space: str, id: str, times: DueTimes, done: _Removals) -> None:
    """Removes a memory, unless it is not due any more: somebody may have changed it meanwhile."""
    if id in done.summaries:
        # it went with what it covers
        done.ids.append(id)
        return
    removed: Removed | None = None
    with suppress(RollBack), session.ledger.write(session.now_us(), make=False) as txn:
        if not any(one.kept_by is None for one in due_memories(txn, space, times, [id])):
            raise RollBack
        # a damaged text is named, not removed
        txn.memories(space, [id])
        removed = txn.forget(space, [id], actor=None)
        seq = txn.seq + 1
        clock = clock_notice(txn.clock_behind_us)
    if removed is not None:
        done.seq = seq
        done.ids.append(id)
        done.summaries.update(removed.summaries)
        done.embed_jobs.extend(removed.embed_jobs.values())
        done.runs[seq] = removed.runs
        done.degraded = done.degraded or clock
