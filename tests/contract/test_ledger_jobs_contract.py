"""What every ledger must answer about jobs of a language model, its budget, and requests."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest
from ledger_adapters import add, write

import ledger_rows as made
from vestig.changes import ChangeSet, RequestRecord
from vestig.errors import ConflictError
from vestig.ids import new_id
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.rows import Job, JobResult, StoredAnswer
from vestig.types import EventType

NOW = made.NOW
SECOND = 1_000_000
KINDS = ("embed", "entities", "hypothetical", "stability")


def add_jobs(ledger: Ledger, memory_id: str, *kinds: str) -> list[str]:
    """New jobs of these kinds; their ids."""
    jobs = tuple(made.job(memory_id, kind) for kind in kinds)
    write(ledger, ChangeSet(namespace="default", jobs=jobs))
    return [job.id for job in jobs]


def take(ledger: Ledger, now_us: int = NOW, ids: list[str] | None = None) -> list[list[Job]]:
    """The due jobs of all memories, by memory."""
    return ledger.due_jobs_by_memory("default", now_us, KINDS, 10, ids)


def states(ledger: Ledger) -> dict[str, int]:
    """How many jobs are in each state."""
    with ledger.read() as view:
        counts: dict[str, int] = view.stats("default")["jobs"]
    return counts


def processing(ledger: Ledger, id: str) -> str:
    with ledger.read() as view:
        return view.memories("default", [id])[0].processing


def test_all_due_jobs_of_a_memory_are_taken_together(ledger: Ledger) -> None:
    first, second = add(ledger, "one"), add(ledger, "two")
    one = add_jobs(ledger, first, "entities")
    two = add_jobs(ledger, second, "embed", "stability")
    one += add_jobs(ledger, first, "hypothetical")
    assert ledger.due_jobs_by_memory("default", NOW, KINDS[:1], 10, one) == []
    ((*taken,),) = ledger.due_jobs_by_memory("default", NOW, KINDS, 1)
    assert [(job.id, job.state) for job in taken] == [(id, "running") for id in one]
    assert [[job.kind for job in jobs] for jobs in take(ledger)] == [["embed", "stability"]]
    assert take(ledger) == []
    assert [[job.id for job in jobs] for jobs in take(ledger, NOW + 300 * SECOND)] == [one, two]


def test_a_kind_that_waits_for_a_memory_is_not_queued_twice(ledger: Ledger) -> None:
    id = add(ledger, "one")
    (first,) = add_jobs(ledger, id, "hypothetical")
    add_jobs(ledger, id, "hypothetical", "stability")
    assert states(ledger) == {"pending": 2}
    take(ledger)
    ledger.finish_jobs([JobResult(job_id=first)], NOW)
    add_jobs(ledger, id, "hypothetical")
    assert states(ledger) == {"done": 1, "pending": 1, "running": 1}


def test_results_of_several_jobs_are_one_transaction(ledger: Ledger) -> None:
    id = add(ledger, "one")
    entities, stability, questions = add_jobs(ledger, id, "entities", "stability", "hypothetical")
    take(ledger)
    ada = made.entity("Ada Lovelace")
    changed = made.event(id, EventType.UPDATE)
    results = [
        JobResult(
            job_id=entities,
            changes=ChangeSet(
                namespace="default", entities=(ada,), edges=(made.mention(id, ada.id),)
            ),
        ),
        JobResult(job_id=stability, changes=ChangeSet(namespace="default", events=(changed,))),
        JobResult(job_id=questions, error="the model is away"),
    ]
    before = state(ledger, id)
    assert ledger.finish_jobs(results, NOW) == [entities, stability, questions]
    after = state(ledger, id)
    assert after["seq"] == before["seq"] + 1
    assert after["mentions"] == 1
    assert after["events"] == 2
    assert states(ledger) == {"done": 2, "pending": 1}
    assert processing(ledger, id) == "pending"
    assert take(ledger, NOW + 59 * SECOND) == []
    ((again,),) = take(ledger, NOW + 60 * SECOND)
    assert (again.id, again.attempts, again.last_error) == (questions, 1, "the model is away")
    # A second worker's results of jobs that are done are dropped, that of the open one counts.
    asked = made.question(id)
    late = [
        *results[:2],
        JobResult(job_id=questions, changes=ChangeSet(namespace="default", questions=(asked,))),
        JobResult(job_id=new_id("job"), changes=results[1].changes),
    ]
    assert ledger.finish_jobs(late, NOW) == [questions]
    assert state(ledger, id) == after | {"seq": after["seq"] + 1, "questions": [asked.text]}
    assert ledger.finish_jobs(late, NOW) == []
    assert processing(ledger, id) == "ready"
    assert states(ledger) == {"done": 3}


def state(ledger: Ledger, id: str) -> dict[str, Any]:
    with ledger.read() as view:
        return {
            "seq": view.seq,
            "mentions": len(view.mentions("default", [id])),
            "events": len(view.events("default", id)),
            "questions": view.questions("default", [id]).get(id),
        }


def test_a_memory_is_ready_when_no_job_of_it_is_open(ledger: Ledger) -> None:
    id = add(ledger, "one")
    jobs = add_jobs(ledger, id, "entities", "stability")
    take(ledger)
    assert processing(ledger, id) == "pending"
    for _ in range(8):
        ledger.finish_jobs([JobResult(job_id=jobs[0], error="no")], NOW)
    assert processing(ledger, id) == "pending"
    ledger.finish_jobs([JobResult(job_id=jobs[1])], NOW)
    assert processing(ledger, id) == "failed"
    assert ledger.retry_failed("default", KINDS, NOW) == 1
    assert processing(ledger, id) == "pending"


def test_released_jobs_wait_without_an_attempt(ledger: Ledger) -> None:
    id = add(ledger, "one")
    jobs = add_jobs(ledger, id, "entities", "stability")
    assert ledger.release_jobs(jobs, NOW) == 0, "nobody holds them"
    take(ledger)
    assert (
        ledger.release_jobs([*jobs, new_id("job")], NOW, until_us=NOW + 10, reason="b" * 900) == 2
    )
    assert take(ledger, NOW + 9) == []
    ((first, _),) = take(ledger, NOW + 10)
    assert (first.attempts, first.last_error) == (0, "b" * 500)
    assert ledger.release_jobs(jobs[:1], NOW) == 1
    ((again,),) = take(ledger, NOW)
    assert (again.id, again.last_error) == (jobs[0], "b" * 500)


def test_submitted_jobs_belong_to_a_batch_until_they_end(ledger: Ledger) -> None:
    id, other = add(ledger, "one"), add(ledger, "two")
    one = add_jobs(ledger, id, "entities", "stability")
    two = add_jobs(ledger, other, "hypothetical")
    assert ledger.submit_jobs(one, "marker-1", NOW) == 0, "nobody holds them"
    take(ledger)
    assert ledger.submit_jobs(one, "marker-1", NOW) == 2
    assert ledger.submit_jobs(two, "marker-2", NOW) == 1
    assert take(ledger, NOW + 86_400 * SECOND) == [], "leases do not apply"
    assert ledger.submit_jobs(one, "msgbatch_01", NOW) == 2
    batches = ledger.submitted_batches("default")
    assert {name: [job.id for job in jobs] for name, jobs in batches.items()} == {
        "msgbatch_01": one,
        "marker-2": two,
    }
    assert ledger.submitted_batches("other") == {}
    job = batches["msgbatch_01"][0]
    assert (job.state, job.batch_id, job.memory_id) == ("submitted", "msgbatch_01", id)
    assert processing(ledger, id) == "pending"
    assert ledger.finish_jobs([JobResult(job_id=one[0])], NOW) == one[:1]
    ledger.finish_jobs([JobResult(job_id=one[1], error="malformed")], NOW)
    assert ledger.release_jobs(two, NOW, reason="the batch expired") == 1
    assert ledger.submitted_batches("default") == {}
    ((waiting,),) = take(ledger)
    assert (waiting.id, waiting.batch_id, waiting.attempts) == (two[0], None, 0)


def test_jobs_take_no_seq(ledger: Ledger) -> None:
    id = add(ledger, "one")
    jobs = add_jobs(ledger, id, "entities")
    with ledger.read() as view:
        seq = view.seq
    take(ledger)
    ledger.submit_jobs(jobs, "b", NOW)
    ledger.release_jobs(jobs, NOW)
    take(ledger)
    ledger.finish_jobs([JobResult(job_id=jobs[0], error="no")], NOW)
    ledger.reserve_model_calls(20_000, 1, None)
    with ledger.read() as view:
        assert view.seq == seq


def test_calls_are_reserved_within_the_limit_of_a_day(ledger: Ledger) -> None:
    assert ledger.reserved_model_calls(20_000) == 0
    assert ledger.reserve_model_calls(20_000, 3, 5)
    assert not ledger.reserve_model_calls(20_000, 3, 5)
    assert ledger.reserve_model_calls(20_000, 2, 5)
    assert not ledger.reserve_model_calls(20_000, 1, 5)
    assert ledger.reserve_model_calls(20_001, 1, 5)
    assert ledger.reserve_model_calls(20_000, 10, None)
    assert [ledger.reserved_model_calls(day) for day in (20_000, 20_001)] == [15, 1]
    assert not ledger.reserve_model_calls(20_002, 1, 0)


def test_workers_share_one_budget(ledger: Ledger) -> None:
    granted: list[bool] = []

    def work() -> None:
        granted.extend(ledger.reserve_model_calls(20_000, 1, 25) for _ in range(10))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (granted.count(True), granted.count(False)) == (25, 15)
    assert ledger.reserved_model_calls(20_000) == 25


def answer(key: str = "key-1", at_us: int = NOW, **fields: Any) -> StoredAnswer:
    values = StoredAnswer(key, b"\x01" * 32, 201, '{"memory_id": null}', at_us)
    return values._replace(**fields)


def test_an_answer_is_kept_with_what_it_answers(ledger: Ledger) -> None:
    new = made.memory("one")
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new))
        txn.keep_answer("default", answer(), since_us=NOW - 10)
    assert ledger.answer_of("default", "key-1", since_us=NOW) == answer()
    assert ledger.answer_of("default", "key-1", since_us=NOW + 1) is None
    assert ledger.answer_of("other", "key-1", since_us=0) is None
    assert ledger.answer_of("default", "key-2", since_us=0) is None
    with suppress(RuntimeError), ledger.write(NOW) as txn:
        txn.apply(made.added(made.memory("two")))
        txn.keep_answer("default", answer("key-2"), since_us=0)
        raise RuntimeError
    assert ledger.answer_of("default", "key-2", since_us=0) is None


def test_an_answer_may_be_kept_alone(ledger: Ledger) -> None:
    with ledger.write(NOW) as txn:
        txn.keep_answer("default", answer(status=422), since_us=0)
    kept = ledger.answer_of("default", "key-1", since_us=0)
    assert kept is not None
    assert kept.status == 422
    with ledger.read() as view:
        assert view.seq == 0


def test_a_key_answers_once_and_undoes_what_came_second(ledger: Ledger) -> None:
    with ledger.write(NOW) as txn:
        txn.keep_answer("default", answer(), since_us=0)
    second = made.memory("two")

    def write_again() -> None:
        with ledger.write(NOW) as txn:
            txn.apply(made.added(second))
            txn.keep_answer("default", answer(status=200), since_us=0)

    with pytest.raises(ConflictError, match="idempotency key"):
        write_again()
    with ledger.read() as view:
        assert view.memories("default", [second.id]) == []
    assert ledger.answer_of("default", "key-1", since_us=0) == answer()


def test_older_answers_are_dropped_with_the_next(ledger: Ledger) -> None:
    for at, key in enumerate(("a", "b", "a")):
        with ledger.write(NOW) as txn:
            txn.keep_answer("default", answer(key, NOW + at), since_us=NOW + at - 1)
    assert ledger.answer_of("default", "a", since_us=0) == answer("a", NOW + 2)
    assert ledger.answer_of("default", "b", since_us=0) == answer("b", NOW + 1)


def test_requests_are_logged_without_a_seq(ledger: Ledger) -> None:
    record = RequestRecord(
        id=new_id("req"),
        namespace="default",
        route="/api/memory/recall",
        began_us=NOW,
        duration_us=1_500,
        status=200,
        counts={"results": 5},
        confidence=0.7,
        reason="max_facts",
    )
    ledger.log_requests([record, made_request(record)])
    with ledger.read() as view:
        assert view.seq == 0
        assert view.stats("default")["requests"] == 2
        assert view.stats("other")["requests"] == 0


def made_request(like: RequestRecord) -> RequestRecord:
    """Another request of the same kind."""
    return RequestRecord(
        id=new_id("req"),
        namespace=like.namespace,
        route=like.route,
        began_us=like.began_us,
        duration_us=1,
        status=422,
        payload='{"query": "x"}',
    )


def test_jobs_of_a_forgotten_memory_are_dropped(ledger: Ledger) -> None:
    id = add(ledger, "one")
    (job,) = add_jobs(ledger, id, "entities")
    take(ledger)
    with ledger.write(NOW) as txn:
        txn.forget("default", [id], actor=None)  # type: ignore[attr-defined]
    change = ChangeSet(namespace="default", jobs=(made.job(id, "stability"),))
    assert ledger.finish_jobs([JobResult(job_id=job, changes=change)], NOW) == []
    assert states(ledger) == {}
