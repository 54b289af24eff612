"""The background of an answer that a language model writes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from vestig.config import built_in
from vestig.errors import ModelCallError, ProviderTimeoutError
from vestig.retrieve.calls import context_summary
from vestig.retrieve.values import Message
from vestig.session.model_calls import ModelCalls
from vestig.session.observer import Metrics
from vestig.testing import ScriptedModel

MESSAGES = (
    Message(content="The storm is near.", author="Bob"),
    Message(content="Where is the key?", author="Ada"),
)
FACTS = ['The key is under the mat (evidence: Ada: "under the mat")']
TURNS = ["[2026-03-18] Bob: I moved the mat"]


def calls(model: Any, reserve: Any = lambda _: True) -> ModelCalls:
    return ModelCalls(
        built_in({}).settings, model, metrics=Metrics(), reserve=reserve, pause=lambda _: False
    )


def test_the_model_gets_conversation_facts_and_messages() -> None:
    model = ScriptedModel({"context_summary": "The key lies under the mat (Fact: the key)."})
    found = context_summary(calls(model), MESSAGES, FACTS, TURNS)
    assert found == ("The key lies under the mat (Fact: the key).", None)
    [request] = model.requests
    for text in ("Bob: The storm is near.\n\nAda: Where is the key?", *FACTS, *TURNS):
        assert text in request.user
        assert text not in request.system
    for rule in ("3 to 7 paragraphs", "500 to 2500 words", "(Fact:", "(Msg:", "Invent nothing"):
        assert rule in request.system


def test_an_empty_answer_is_asked_for_again() -> None:
    answers = iter(["", "The mat."])
    model = ScriptedModel(lambda _: next(answers))
    assert context_summary(calls(model), MESSAGES, FACTS, ()) == ("The mat.", None)
    assert len(model.requests) == 2


def test_without_a_model_or_results_nothing_is_asked() -> None:
    assert context_summary(calls(None), MESSAGES, FACTS, TURNS) == ("", None)
    model = ScriptedModel({"context_summary": "x"})
    assert context_summary(calls(model), MESSAGES, (), ()) == ("", None)
    assert model.requests == []


@pytest.mark.parametrize(
    "failure", [ModelCallError("broken", retryable=False), ProviderTimeoutError("late")]
)
def test_a_failure_leaves_no_summary_and_is_named(failure: Exception) -> None:
    text, lost = context_summary(
        calls(ScriptedModel({}, failures=[failure] * 9)), MESSAGES, FACTS, TURNS
    )
    assert text == ""
    assert lost is not None
    assert lost.code == "llm_failed"
    assert "mat" not in lost.detail


def test_a_used_up_budget_and_used_up_time_are_named() -> None:
    model = ScriptedModel({"context_summary": "x"})
    text, lost = context_summary(calls(model, lambda _: False), MESSAGES, FACTS, TURNS)
    assert (text, lost and lost.code) == ("", "llm_budget")
    past = time.monotonic() - 1
    text, lost = context_summary(calls(model), MESSAGES, FACTS, TURNS, ends_at=past)
    assert (text, lost and lost.code) == ("", "llm_failed")
    assert model.requests == []
