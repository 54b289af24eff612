"""Jobs that are sent to a language model as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import vestig
from store_fixtures import Opener
from vestig.errors import ModelCallError, ProviderTimeoutError
from vestig.ports import BatchAnswer, ModelRequest
from vestig.testing import FrozenClock, ScriptedModel

ANSWERS = {
    "extract_entities": {"entities": []},
    "classify_stability": {"stability": "static"},
    "generate_hypothetical_queries": {"queries": ["When does it leave?"]},
}
# two jobs a memory; the ferries are alike
BATCHES: dict[str, Any] = {"llm.batch": "auto", "updates.enabled": False}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six jobs are a batch."""
    monkeypatch.setattr("vestig.session.model_calls.BATCHED_FROM", 6)


def texts(count: int) -> list[str]:
    return [f"The ferry number {number} leaves the harbour." for number in range(count)]


def filled(opener: Opener, model: ScriptedModel, count: int, **config: Any) -> vestig.Vestig:
    store = opener(llm=model, config={**BATCHES, **config})
    for text in texts(count):
        store.commit(text)
    return store


def stabilities(store: vestig.Vestig) -> set[str]:
    return {memory.temporal_stability.value for memory in store.list(limit=100)}


def test_enough_jobs_are_one_batch_and_its_answers_are_written(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS, polls=1)
    store = filled(opener, model, 3)
    report = store.admin.enrich()
    assert (report.taken, report.done, report.submitted, report.pending) == (6, 0, 6, 0)
    assert store.admin.stats().jobs == {"SUBMITTED": 6}
    assert [len(own) for own in model.batches.values()] == [3]
    with store._session.ledger.read() as view:
        rows = view.connection.execute("SELECT id FROM jobs").fetchall()
    ids = {f"job_{id.hex()}" for (id,) in rows}
    assert {own.replace("-", "") for own in model.batches["batch_1"]} <= ids
    # the batch is worked on: nothing is sent twice
    assert store.admin.enrich().submitted == 6
    report = store.admin.enrich()
    assert (report.done, report.submitted) == (6, 0)
    assert [cost.calls for cost in report.costs] == [3]
    assert stabilities(store) == {"static"}
    assert len(model.batches) == 1


def test_few_jobs_are_asked_one_by_one(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS)
    store = filled(opener, model, 2)
    assert (store.admin.enrich().done, model.batches) == (4, {})


def test_a_run_with_a_limit_sends_no_batch(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS)
    store = filled(opener, model, 4)
    assert store.admin.enrich(limit=7).taken == 7
    assert (store.admin.stats().jobs, model.batches) == ({"DONE": 7, "PENDING": 1}, {})


def test_without_the_switch_there_is_no_batch(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS)
    store = filled(opener, model, 3, **{"llm.batch": "off"})
    assert (store.admin.enrich().done, model.batches) == (6, {})


def test_an_inline_commit_sends_no_batch(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.session.model_calls.BATCHED_FROM", 1)
    model = ScriptedModel(ANSWERS)
    store = opener(llm=model, config={**BATCHES, "enrichment.mode": "inline"})
    store.commit(texts(1)[0])
    assert (store.admin.stats().jobs, model.batches) == ({"DONE": 2}, {})


def test_a_batch_of_an_earlier_process_is_collected(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS, polls=1)
    filled(opener, model, 3).admin.enrich()
    again = opener(llm=model, config=BATCHES)
    again.admin.enrich()
    assert again.admin.enrich().done == 6


def test_leases_do_not_apply_to_a_batch(opener: Opener, clock: FrozenClock) -> None:
    model = ScriptedModel(ANSWERS, polls=1)
    store = filled(opener, model, 3)
    store.admin.enrich()
    clock.move(hours=23)
    assert opener().admin.enrich().taken == 0
    assert store.admin.enrich().submitted == 6


class Uncertain(ScriptedModel):
    """Takes a batch, and is cut off before it says so; or takes none."""

    takes = True
    finds = True

    def submit(self, requests: Sequence[tuple[str, ModelRequest]]) -> str:
        if self.takes:
            super().submit(requests)
        raise ProviderTimeoutError("scripted model: no answer")

    def find(self, own_id: str) -> str | None:
        return super().find(own_id) if self.finds else None


def test_a_batch_of_which_nobody_heard_is_found_by_its_jobs(
    opener: Opener, clock: FrozenClock
) -> None:
    model = Uncertain(ANSWERS)
    store = filled(opener, model, 3)
    report = store.admin.enrich()
    assert (report.submitted, [entry.code for entry in report.degraded]) == (6, ["llm_failed"])
    # another process may be sending it
    assert store.admin.enrich().submitted == 6
    clock.move(seconds=301)
    assert store.admin.enrich().done == 6
    assert (len(model.batches), stabilities(store)) == (1, {"static"})


def test_a_batch_that_was_not_taken_is_sent_again(opener: Opener, clock: FrozenClock) -> None:
    model = Uncertain(ANSWERS)
    model.takes = False
    store = filled(opener, model, 3)
    store.admin.enrich()
    clock.move(seconds=301)
    plain = opener(llm=ScriptedModel(ANSWERS), config=BATCHES)
    report = plain.admin.enrich()
    # the jobs were due again, and were sent
    assert (report.done, report.submitted) == (0, 6)
    assert plain.admin.enrich().done == 6


@pytest.mark.parametrize(("status", "pending"), [(401, 6), (404, 6), (413, 6)])
def test_a_batch_that_is_refused_leaves_its_jobs(opener: Opener, status: int, pending: int) -> None:
    model = ScriptedModel(ANSWERS, failures=[ModelCallError("refused", status=status)])
    store = filled(opener, model, 3)
    report = store.admin.enrich()
    assert (report.done, report.submitted, report.pending) == (0, 0, pending)
    assert [entry.code for entry in report.degraded] == ["llm_failed"]
    assert report.retried == (6 if status == 413 else 0)


class Answering(ScriptedModel):
    """Its batches end as the test says."""

    outcomes: Any = None

    def answers(self, batch_id: str) -> list[BatchAnswer] | None:
        found = super().answers(batch_id)
        assert found is not None
        return [self.outcomes(number, one) for number, one in enumerate(found)]


def test_each_request_of_a_batch_ends_for_itself(opener: Opener, clock: FrozenClock) -> None:
    model = Answering(ANSWERS)

    def outcome(number: int, one: BatchAnswer) -> BatchAnswer:
        if number == 0:
            return one
        if number == 1:
            return BatchAnswer(id=one.id, state="failed", error="overloaded")
        if number == 2:
            return BatchAnswer(id=one.id, state="expired")
        if number == 3:
            assert one.answer is not None
            broken = vestig_answer(one, "no JSON")
            return BatchAnswer(id=one.id, state="succeeded", answer=broken)
        return BatchAnswer(id="job_00000000-0000-4000-8000-000000000000", state="expired")

    model.outcomes = outcome
    store = filled(opener, model, 5, **{"enrichment.workers": 1})
    store.admin.enrich()
    clock.move(seconds=1)
    model.batches.clear()
    plain = opener(llm=model, config={"enrichment.workers": 1, "updates.enabled": False})
    report = plain.admin.enrich()
    # one done, two failed attempts; what expired or came back without an answer is asked again
    assert (report.retried, report.done) == (4, 2 + 4)
    clock.move(seconds=61)
    assert plain.admin.enrich().done == 4
    assert stabilities(store) == {"static"}


def vestig_answer(one: BatchAnswer, text: str) -> Any:
    import msgspec

    return msgspec.structs.replace(one.answer, text=text)


def test_a_batch_that_the_provider_forgot_is_due_again(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS, polls=1)
    filled(opener, model, 3).admin.enrich()
    other = opener(llm=ScriptedModel(ANSWERS))
    report = other.admin.enrich()
    assert (report.done, report.submitted) == (6, 0)


class Single:
    """A model that takes no batches."""

    provider = "single"

    def __init__(self) -> None:
        self.complete = ScriptedModel(ANSWERS).complete


def test_a_model_without_batches_does_their_jobs_itself(opener: Opener) -> None:
    filled(opener, ScriptedModel(ANSWERS, polls=1), 3).admin.enrich()
    report = opener(llm=Single(), config=BATCHES).admin.enrich()
    assert (report.done, report.submitted) == (6, 0)


def test_kinds_with_models_of_their_own_are_requests_of_their_own(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS)
    store = filled(opener, model, 3, **{"entities.model": "small"})
    store.admin.enrich()
    assert sorted({(one.purpose, one.model) for one in model.requests}) == [
        ("classify_stability", "claude-sonnet-5-5"),
        ("extract_entities", "small"),
    ]
    assert [len(own) for own in model.batches.values()] == [6]
    assert store.admin.enrich().done == 6


def test_forgetting_takes_a_memory_out_of_a_batch(opener: Opener) -> None:
    model = ScriptedModel(ANSWERS, polls=1)
    store = filled(opener, model, 3)
    store.admin.enrich()
    store.forget(ids=[store.list()[0].id])
    assert store.admin.stats().jobs == {"SUBMITTED": 4}
    store.admin.enrich()
    assert store.admin.enrich().done == 4
