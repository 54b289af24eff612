"""Every stage of a retrieval looks at the deadline: what is left is not begun, what was found is
returned. The clock is moved by the stages themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import vestig
from vestig.config.recall_sections import RetrieveSettings
from vestig.retrieve import calls, messages, rounds, searches
from vestig.retrieve.calls import Deadline, ModelSteps
from vestig.retrieve.values import RetrieveResult
from vestig.testing import HashingEmbedder

TURNS = (
    "Ines keeps the spare key of the boathouse behind the third plank.",
    "The boathouse has a new lock since the spring, says Ola.",
    "Ola paid for the lock of the boathouse in May.",
)
QUESTION = "Where does Ines keep the spare key of the boathouse, and who paid for its new lock?"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now

    def after(self, seconds: float, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, which takes so many seconds."""

        def slow(*args: Any, **named: Any) -> Any:
            made = call(*args, **named)
            self.now += seconds
            return made

        return slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("vestig.retrieve.calls.monotonic", made)
    return made


@pytest.fixture
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as opened:
        for number, text in enumerate(TURNS):
            opened.commit(text, author="Ola", session_id="s", sequence=number)
        yield opened


def _asked(store: vestig.Vestig, **named: Any) -> RetrieveResult:
    return store.retrieve([{"content": QUESTION}], deadline_ms=10_000, **named)


def _hit(found: RetrieveResult) -> str:
    (detail,) = [one.detail for one in found.metadata.degraded if one.code == "deadline_hit"]
    return str(detail)


def _never(*_: object, **__: object) -> Any:
    raise AssertionError("begun after the deadline")


def test_after_a_slow_analysis_nothing_is_begun(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "named_entities", clock.after(11, rounds.named_entities))
    monkeypatch.setattr(rounds.Planner, "_idf", _never)
    for name in ("facets", "fallback_queries"):
        monkeypatch.setattr(rounds, name, _never)
    found = _asked(store)
    assert found.metadata.stop_reason == "deadline"
    assert found.metadata.tool_calls == ()
    assert "no further round was begun" in _hit(found)


def test_after_a_slow_plan_nothing_is_searched(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "fallback_queries", clock.after(11, rounds.fallback_queries))
    found = _asked(store)
    assert found.metadata.stop_reason == "deadline"
    assert found.metadata.tool_calls == ()


def test_after_slow_vectors_no_query_is_run(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = clock.after(11, searches.analysed_together)
    monkeypatch.setattr(searches, "analysed_together", slow)
    monkeypatch.setattr(searches, "read_together", _never)
    found = _asked(store)
    (call,) = found.metadata.tool_calls
    assert (call.success, call.error) == (False, "TimeoutError")
    assert found.metadata.stop_reason == "deadline"


def _slow_reads(clock: Clock, monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[int]:
    """Lets each query take so long; the numbers of queries that were read together."""
    read, counts = searches.read_together, list[int]()

    def slow(session: Any, calls: Sequence[Any], queries: Sequence[Any]) -> Any:
        counts.append(len(queries))
        return clock.after(seconds * len(queries), read)(session, calls, queries)

    monkeypatch.setattr(searches, "read_together", slow)
    return counts


def test_of_slow_queries_those_run_that_there_is_time_for(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = _slow_reads(clock, monkeypatch, 3)
    found = _asked(store, max_iterations=1)
    assert counts[:2] == [1, 2], "the focus first, then as many as fit"
    made = found.metadata
    assert made.queries_executed == 3 < made.queries_generated
    assert TURNS[0] in found.facts[0]
    left = made.queries_generated - 3
    assert f"{left} of {made.queries_generated} queries were not run" in _hit(found)


def test_what_models_read_for_the_message_is_no_time_of_another_query(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = searches.read_together

    def slow(session: Any, calls: Sequence[Any], queries: Sequence[Any]) -> Any:
        found = read(session, calls, queries)
        if len(found) > 1:
            return found
        clock.now += 5
        timings = found[0].timings_ms | {"judge": 4_990.0}
        return [msgspec.structs.replace(found[0], timings_ms=timings)]

    monkeypatch.setattr(searches, "read_together", slow)
    made = _asked(store, max_iterations=1).metadata
    assert made.queries_executed == made.queries_generated > 2
    assert made.degraded == ()


def test_what_a_slow_search_found_is_returned_and_nothing_is_begun_after_it(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _asked(store)
    counts = _slow_reads(clock, monkeypatch, 6)
    monkeypatch.setattr(messages.TurnSearch, "best", _never)
    found = _asked(store)
    assert counts == [1, 1], "at least one query in each round"
    assert [one.success for one in found.metadata.tool_calls] == [True, True]
    assert found.metadata.stop_reason == "deadline"
    assert found.facts[0] == whole.facts[0]
    assert "no turns were searched" in _hit(found)


def test_a_round_that_fails_costs_no_fact_of_the_rounds_before(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _asked(store)
    made = searches.analysed_together

    def once(calls: Sequence[Any]) -> Any:
        monkeypatch.setattr(searches, "analysed_together", clock.after(11, made))
        return made(calls)

    monkeypatch.setattr(searches, "analysed_together", once)
    found = _asked(store)
    assert [one.success for one in found.metadata.tool_calls] == [True, False]
    assert found.metadata.stop_reason == "deadline"
    assert {text.casefold() for text in found.facts} == {text.casefold() for text in whole.facts}


def test_turns_are_not_searched_behind_the_deadline(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "message_blacklist", clock.after(11, messages.message_blacklist))
    counts = _slow_reads(clock, monkeypatch, 0)
    found = _asked(store)
    assert len(counts) == 1 + found.metadata.iterations_used
    assert len(found.facts) == len(TURNS)
    assert found.metadata.tool_calls[-1].error == "TimeoutError"
    assert "partial_backend" in [one.code for one in found.metadata.degraded]


def test_no_model_is_asked_for_a_summary_behind_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "context_summary", _never)
    session: Any = SimpleNamespace(has_model=True)
    steps = ModelSteps(session, RetrieveSettings(), [], Deadline(0.0))
    assert steps.summary(["a fact"], []) == ""


def test_a_deadline_that_passes_before_the_first_query_lets_one_be_read(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitting = searches.Searches._fitting

    def late(*args: Any, **named: Any) -> int:
        clock.now += 11
        return fitting(*args, **named)

    monkeypatch.setattr(searches.Searches, "_fitting", late)
    found = _asked(store)
    assert found.facts
    assert _hit(found)
