"""Every reason for which a retrieval ends, through the public call; models that help and fail."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conversations import FACTS, opened, said

import vestig
from vestig.errors import ModelCallError
from vestig.testing import FailingEmbedder, FrozenClock, HashingEmbedder, ScriptedModel

QUESTION = said("I met Grace yesterday.", "Which developer maintains the billing service?")


def configured(**keys: Any) -> dict[str, Any]:
    return {"config": {f"retrieve.{name}": value for name, value in keys.items()}}


def made(options: dict[str, Any], facts: Sequence[str] = FACTS, **given: Any) -> Any:
    with opened(facts, **options) as store:
        found = store.retrieve(given.pop("messages", QUESTION), **given).metadata
        counted = {
            name: count
            for name, count in store.admin.metrics().items()
            if name.startswith("vestig_retrieve_stops_total")
        }
        assert counted == {f'vestig_retrieve_stops_total{{reason="{found.stop_reason}"}}': 1}
        return found


def test_nothing_new_twice() -> None:
    found = made({})
    assert found.stop_reason == "novelty_exhausted"
    assert found.novelty_streak_without_gain == 2
    assert found.iterations_used >= 3
    assert found.new_facts_per_iteration[-2:] == (0, 0)


def test_the_rounds_are_used_up() -> None:
    found = made({}, max_iterations=1)
    assert (found.stop_reason, found.iterations_used) == ("max_iterations", 1)


def test_enough_facts_after_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.retrieve.confidence.HIGH", 1.0)
    wanted = {"max_facts": 2, "messages": said("Does the billing service run on kubernetes?")}
    found = made({}, **wanted)
    assert found.stop_reason == "max_facts"
    assert found.new_facts_per_iteration[0] == 2
    assert found.iterations_used == 2
    assert made(configured(early_stop_min_iterations=0), **wanted).iterations_used == 1


def test_a_strong_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.retrieve.confidence.HIGH", 0.4)
    found = made({}, messages=said("Does the billing service run on kubernetes?"))
    assert (found.stop_reason, found.iterations_used) == ("strong_first_pass", 1)
    assert found.coverage_score >= 0.9


def test_three_empty_searches() -> None:
    talk = said(
        "Which cluster runs the billing service that Grace Hopper maintains since the outage of"
        " March, which database stands behind its proxy in Oslo, who deploys new releases of the"
        " gateway on Fridays, and where do the engineers keep the spare keys of the garden shed?"
    )
    found = made(configured(novelty_patience=9), facts=(), messages=talk)
    assert (found.stop_reason, found.iterations_used) == ("tool_loop", 3)


def test_nothing_left_to_ask() -> None:
    found = made(configured(novelty_patience=9), messages=said("Kubernetes?"))
    assert found.stop_reason == "no_queries"
    assert found.iterations_used < 9


def test_every_back_end_failed_twice() -> None:
    with opened(profile="baseline") as store:
        store._session.embedder = FailingEmbedder("error", dimensions=HashingEmbedder().dimensions)
        found = store.retrieve(QUESTION)
    assert found.metadata.stop_reason == "error"
    assert found.metadata.iterations_used == 2
    searches = found.metadata.tool_calls
    assert [(one.success, one.attempts) for one in searches[:2]] == [(False, 3), (False, 3)]
    assert searches[0].error == "ProviderError"
    assert found.metadata.queries_executed == 0 < found.metadata.queries_generated
    assert (found.confidence, found.metadata.confidence_score) == ("low", 0)
    assert found.metadata.degraded


class Slow(HashingEmbedder):
    """Takes its time once a question is asked."""

    seconds = 0.0

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        time.sleep(self.seconds)
        return super().embed(texts)


def test_the_time_is_used_up() -> None:
    slow = Slow()
    with opened(embedder=slow) as store:
        slow.seconds = 0.2
        found = store.retrieve(QUESTION, deadline_ms=100).metadata
    assert found.stop_reason == "deadline"
    assert [one.code for one in found.degraded if one.code == "deadline_hit"]


def test_a_search_that_takes_too_long_is_cut_and_counts_as_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vestig.retrieve.calls._SEARCH_S_MAX", 0.1)
    monkeypatch.setattr("vestig.retrieve.calls._ATTEMPTS_MAX", 1)
    slow = Slow()
    with opened(embedder=slow) as store:
        slow.seconds = 3.0
        started = time.monotonic()
        found = store.retrieve(QUESTION).metadata
        assert time.monotonic() - started < 2.5
    assert found.stop_reason == "error"
    assert {one.error for one in found.tool_calls} == {"TimeoutError"}
    assert not any(one.success for one in found.tool_calls)
    assert found.confidence_breakdown["reliability"].value == 0


def test_a_search_that_succeeds_again_counts_as_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vestig.retrieve.calls._SEARCH_S_MAX", 0.2)

    class Once(HashingEmbedder):
        fails = 0

        def embed(self, texts: Sequence[str]) -> list[bytes]:
            if self.fails:
                self.fails -= 1
                time.sleep(0.3)
            return super().embed(texts)

    embedder = Once()
    with opened(embedder=embedder) as store:
        embedder.fails = 1
        found = store.retrieve(QUESTION).metadata
    assert [one.attempts for one in found.tool_calls][:2] == [2, 1]
    calls = len(found.tool_calls)
    assert found.confidence_breakdown["reliability"].value == pytest.approx(1 - 0.5 / calls)


# --- a language model ----------------------------------------------------------------------


def answers(**changed: Any) -> dict[str, Any]:
    table = {
        "plan_queries": {"goal": "who maintains it", "queries": ["query: garden water", "cello"]},
        "stop_verdict": {"should_continue": True, "confidence": "high", "reasoning": "on"},
        "context_summary": "Grace maintains it (Fact: …).",
    }
    return table | changed


def asked(model: ScriptedModel, **keys: Any) -> tuple[Any, list[str]]:
    with opened(llm=model, **configured(**keys)) as store:
        found = store.retrieve(QUESTION, debug=True)
    return found, [one.purpose for one in model.requests]


def test_a_model_plans_judges_and_sums_up() -> None:
    found, purposes = asked(ScriptedModel(answers()))
    assert purposes == ["plan_queries", "stop_verdict", "context_summary"]
    # the rules plan the first round, the model the second
    assert len(found.metadata.tool_calls[0].queries) > 3
    assert found.metadata.tool_calls[1].queries == ("garden water", "cello")
    assert found.context_summary == "Grace maintains it (Fact: …)."
    # recall says so: the facts were stored without being read by the model
    assert [one.code for one in found.metadata.degraded] == ["enrichment_pending"]


def test_a_sure_verdict_ends_a_search_that_rests() -> None:
    sure = {"should_continue": False, "confidence": "high", "reasoning": "all is there"}
    found, _ = asked(ScriptedModel(answers(stop_verdict=sure)))
    assert found.metadata.stop_reason == "llm_confident"
    assert found.metadata.iterations_used == 2
    medium = sure | {"confidence": "medium"}
    found, _ = asked(ScriptedModel(answers(stop_verdict=medium)))
    assert found.metadata.stop_reason == "novelty_exhausted"
    found, _ = asked(ScriptedModel(answers(stop_verdict=medium)), stop_confidence_required="medium")
    assert found.metadata.stop_reason == "llm_confident"


def test_a_model_is_asked_no_more_than_allowed() -> None:
    for most, wanted in (
        (0, []),
        (1, ["context_summary"]),
        (2, ["plan_queries", "context_summary"]),
    ):
        _, purposes = asked(ScriptedModel(answers()), llm_max_calls=most)
        assert purposes == wanted
    assert asked(ScriptedModel(answers()), llm=False)[1] == []


def test_a_failing_model_leaves_the_facts_of_the_rules(tmp_path: Path) -> None:
    broken = ScriptedModel(answers(), failures=[ModelCallError("no")] * 9)
    always: dict[str, Any] = {"embedder": HashingEmbedder(), "clock": FrozenClock()}
    with vestig.open(tmp_path / "store", **always) as store:
        store.commit_many(FACTS)
        plain = store.retrieve(QUESTION)
    with vestig.open(tmp_path / "store", llm=broken, **always) as store:
        found = store.retrieve(QUESTION)
    assert [one.purpose for one in broken.requests] == ["plan_queries"]
    assert found.facts == plain.facts
    assert found.metadata.tool_calls[0].queries == plain.metadata.tool_calls[0].queries
    assert found.context_summary == ""
    assert [one.code for one in found.metadata.degraded] == ["llm_failed"]


@pytest.mark.parametrize(
    "plan",
    [
        {"queries": []},
        {"queries": ["", "  ", "query:"]},
        {"queries": [QUESTION[-1]["content"].upper()]},
    ],
    ids=["none", "blank", "repeats"],
)
def test_a_plan_without_usable_queries_leaves_it_to_the_rules(plan: dict[str, Any]) -> None:
    found, _ = asked(ScriptedModel(answers(plan_queries=plan)))
    assert len(found.metadata.tool_calls[0].queries) > 3
    assert [one.code for one in found.metadata.degraded] == ["enrichment_pending"]


def test_an_unreadable_verdict_goes_on() -> None:
    found, _ = asked(ScriptedModel(answers(stop_verdict="I cannot say")), novelty_patience=3)
    assert found.metadata.stop_reason == "novelty_exhausted"
    assert [one.code for one in found.metadata.degraded] == ["enrichment_pending", "llm_failed"]


def test_a_fact_of_the_second_round_is_in_the_answer() -> None:
    texts = [f"Note {n} about the harbour and its ships" for n in range(40)]
    texts.append("Grace keeps the lantern of the lighthouse in Bergen")
    with opened(texts) as store:
        asking = said(
            "I read about the lighthouse lantern in Bergen.",
            "Which note is about the harbour and its ships?",
        )
        found = store.retrieve(asking, max_facts=500, budget=9_000, debug=True)
        only = store.recall(asking[-1]["content"], limit=10)
    assert not any("lantern" in hit.content for hit in only)
    assert any("lantern" in fact for fact in found.facts)
