"""Every stage of a retrieval looks at the deadline: what is left is not begun, what was found is
returned. The clock is moved by the stages themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import vestig
from vestig.config.recall_sections import RetrieveSettings
from vestig.retrieve import calls, fact_search, messages, rounds
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
    slow = clock.after(11, fact_search.FactSearch.analysed)
    monkeypatch.setattr(fact_search.FactSearch, "analysed", slow)
    for name in ("BoundQuery", "facets", "fallback_queries"):
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


def test_after_slow_names_no_rarities_are_read(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "BoundQuery", clock.after(11, rounds.BoundQuery))
    monkeypatch.setattr(rounds.Planner, "_idf", _never)
    assert _asked(store).metadata.stop_reason == "deadline"


def test_after_slow_vectors_no_query_is_run(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = clock.after(11, fact_search.query_vectors)
    monkeypatch.setattr(fact_search, "query_vectors", slow)
    monkeypatch.setattr(fact_search, "_State", _never)
    found = _asked(store)
    (call,) = found.metadata.tool_calls
    assert (call.success, call.error) == (False, "TimeoutError")
    assert found.metadata.stop_reason == "deadline"


def test_of_slow_queries_those_run_that_there_is_time_for(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_search, "_THREADS", 1)
    slow = clock.after(3, fact_search.BoundQuery.ranked)
    monkeypatch.setattr(fact_search.BoundQuery, "ranked", slow)
    found = _asked(store, max_iterations=1)
    assert found.metadata.queries_executed == 2
    assert found.metadata.queries_generated > 2
    assert TURNS[0] in found.facts[0]
    left = found.metadata.queries_generated - 2
    assert f"{left} of {found.metadata.queries_generated} queries were not run" in _hit(found)


def test_a_round_without_time_costs_no_fact_of_the_rounds_before(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _asked(store)
    slow = clock.after(6, fact_search._State.crossing)
    monkeypatch.setattr(fact_search._State, "crossing", slow)
    monkeypatch.setattr(fact_search.FactSearch, "whole", _never)
    monkeypatch.setattr(messages.TurnSearch, "best", _never)
    found = _asked(store)
    assert [one.success for one in found.metadata.tool_calls] == [True, False]
    assert found.metadata.stop_reason == "deadline"
    assert {text.casefold() for text in found.facts} == {text.casefold() for text in whole.facts}
    assert "facts stand in the order of the last round, no turns were searched" in _hit(found)


def test_facts_of_a_search_that_found_the_time_used_up_are_not_read(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        fact_search._State, "crossing", clock.after(11, fact_search._State.crossing)
    )
    monkeypatch.setattr(fact_search, "facts_of", _never)
    assert _asked(store).metadata.stop_reason == "deadline"


def test_without_the_time_for_a_final_order_that_of_the_last_round_stands(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = clock.after(11, fact_search.FactSearch.whole)
    monkeypatch.setattr(fact_search.FactSearch, "whole", slow)
    monkeypatch.setattr(messages.TurnSearch, "best", _never)
    found = _asked(store)
    assert len(found.facts) == len(TURNS)
    assert found.metadata.stop_reason != "deadline"
    assert "order of the last round" in _hit(found)


def test_a_final_order_is_given_up_at_the_deadline(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def within(seconds: float, call: Callable[[], object]) -> object:
        asked.append(seconds)
        raise TimeoutError

    monkeypatch.setattr("vestig.retrieve.retrieve.within", within)
    found = _asked(store)
    assert len(found.facts) == len(TURNS)
    assert 0 < asked[0] < 10


def test_turns_that_are_found_too_late_are_not_read(
    store: vestig.Vestig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_search, "relevances", clock.after(11, fact_search.relevances))
    monkeypatch.setattr(messages, "as_known", _never)
    found = _asked(store)
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
