"""Secrets on their way to a language model, and in what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from scripted import Opener
from vestig.testing import ScriptedModel

SECRET = "Kx9!mmQ2"
TEXT = f"The password of the harbor router is {SECRET} remember."
OFF: dict[str, Any] = {"firewall.secrets": "off"}


def sent(opener: Opener, config: dict[str, Any]) -> str:
    """What a model is sent of a secret that was stored while secrets were not masked."""
    store = opener(config=OFF)
    store.commit(TEXT, author="Ann", session_id="a", sequence=1)
    store.close()
    model = ScriptedModel({"extract_claims": {"entities": [], "claims": []}})
    opener(llm=model, config=config).cognify()
    return model.requests[0].user


@pytest.mark.parametrize("mode", ["mask", "reject"])
def test_a_secret_that_is_stored_reaches_no_model(opener: Opener, mode: str) -> None:
    text = sent(opener, {"firewall.secrets": mode})
    assert SECRET not in text
    assert "[secret:password] remember." in text


def test_secrets_are_sent_where_nobody_wants_them_masked(opener: Opener) -> None:
    assert TEXT in sent(opener, OFF)


def test_a_text_without_secrets_is_sent_as_it_is(opener: Opener) -> None:
    model = ScriptedModel({"extract_claims": {"entities": [], "claims": []}})
    store = opener(llm=model)
    store.commit("The router stands by the harbor.", author="Ann", session_id="a", sequence=1)
    store.cognify()
    assert "The router stands by the harbor." in model.requests[0].user


def test_a_query_that_a_model_writes_holds_no_secret(opener: Opener) -> None:
    model = ScriptedModel({"synthesize_query": {"query": f"the password is {SECRET}"}})
    store = opener(llm=model, config={"recall.synthesize": True})
    store.commit("Erik sells cheese on Tuesdays.")
    found = store.recall(messages=[{"author": "Ann", "content": "What does Erik sell?"}])
    assert [one.purpose for one in model.requests] == ["synthesize_query"]
    assert SECRET not in str(found.to_dict())


def test_a_query_that_a_model_plans_holds_no_secret(opener: Opener) -> None:
    plan = {"queries": [f"Erik, whose password is {SECRET}"], "goal": f"password is {SECRET}"}
    model = ScriptedModel({"plan_queries": plan})
    store = opener(llm=model)
    store.commit("Erik sells cheese on Tuesdays.")
    found = store.retrieve([{"author": "Ann", "content": "Which brother has Falk?"}])
    assert "plan_queries" in [one.purpose for one in model.requests]
    assert SECRET not in str(found.to_dict())
