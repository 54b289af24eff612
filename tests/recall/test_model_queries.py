"""Queries that a language model writes from a conversation, and names that it finds in queries."""

from __future__ import annotations

from typing import Any

import pytest

from store_fixtures import Opener
from vestig.errors import ModelCallError
from vestig.testing import ScriptedModel

TALK = [
    {"author": "Ada", "content": "We painted the gate of the old harbour."},
    {"author": "Ben", "content": "And which colour has it now?"},
]
WRITTEN = "colour of the gate of the old harbour"
SYNTHESIZE = {"recall.synthesize": True}
BY_MODEL = {"recall.query_entities": "llm"}


def writing(answer: Any = None) -> ScriptedModel:
    return ScriptedModel({"synthesize_query": {"query": WRITTEN} if answer is None else answer})


def test_a_conversation_becomes_the_query_that_the_model_writes(opener: Opener) -> None:
    model = writing()
    store = opener(llm=model, config=SYNTHESIZE)
    green = store.commit("The gate of the old harbour is green.", enrich=False).memory_id
    result = store.recall(messages=TALK, expect=green)
    assert (result.query, result[0].id, result.degraded) == (WRITTEN, green, ())
    assert len(model.requests) == 1
    assert "which colour" in model.requests[0].user
    assert store.recall('[{"role": "user", "content": "And now?"}]').query == WRITTEN
    # a question is asked as it stands
    assert store.recall("which colour?").query == "which colour?"
    assert len(model.requests) == 2


def test_the_model_sees_the_last_four_thousand_characters(opener: Opener) -> None:
    model = writing()
    store = opener(llm=model, config=SYNTHESIZE)
    store.recall(messages=[{"content": "first words"}, {"content": "x " * 2_500}])
    assert "first words" not in model.requests[0].user
    assert "x " * 1_990 in model.requests[0].user


def test_only_where_it_is_wanted_and_there_is_a_model(opener: Opener) -> None:
    model = writing()
    by_rule = "And which colour has it now? We painted the gate of the old harbour."
    assert opener("a", llm=model).recall(messages=TALK).query == by_rule
    result = opener("b", config=SYNTHESIZE).recall(messages=TALK)
    assert (result.query, result.degraded, model.requests) == (by_rule, (), [])


@pytest.mark.parametrize(
    "answer", [{"query": " "}, {"query": '[{"content": "x"}]'}, {}, "nothing", {"query": "\0"}]
)
def test_an_answer_without_a_query_is_a_failure_and_rules_answer(
    opener: Opener, answer: Any
) -> None:
    result = opener(llm=writing(answer), config=SYNTHESIZE).recall(messages=TALK)
    assert result.query.startswith("And which colour has it now?")
    assert [entry.code for entry in result.degraded] == ["llm_failed"]


def test_a_long_query_is_cut(opener: Opener) -> None:
    store = opener(llm=writing({"query": "word " * 200}), config=SYNTHESIZE)
    assert len(store.recall(messages=TALK).query) <= 500


def names(answer: list[dict[str, Any]]) -> ScriptedModel:
    return ScriptedModel({"extract_entities": {"entities": answer}})


def matches(store: Any, query: str, **options: Any) -> list[tuple[str, float]]:
    found = store.recall(query, **options).analysis.entities
    return [(one.name, one.score) for one in found]


def test_the_model_finds_the_names_of_a_query(opener: Opener) -> None:
    ada = {"name": "Countess of Lovelace", "type": "PERSON", "confidence": 0.9}
    store = opener(llm=names([ada]), config=BY_MODEL)
    store.commit("they spoke about it", entities=["PERSON:Countess of Lovelace"], enrich=False)
    query = "what did the countess say?"
    assert matches(store, query) == [("Countess of Lovelace", 1.0)]
    assert matches(store, query, config={"recall.query_entities": "rules"}) == []


@pytest.mark.parametrize(
    ("type", "found"),
    [("PLACE", ["PLACE"]), ("UNTYPED", ["PLACE", "SYSTEM"]), ("TOOL", ["PLACE", "SYSTEM"])],
)
def test_a_type_chooses_among_entities_of_one_name(
    opener: Opener, type: str, found: list[str]
) -> None:
    mercury = {"name": "Mercury", "type": type, "confidence": 0.9}
    store = opener(llm=names([mercury]), config=BY_MODEL)
    store.commit("they spoke about it", entities=["PLACE:Mercury", "SYSTEM:Mercury"], enrich=False)
    entities = store.recall("what of it?").analysis.entities
    assert sorted(one.type for one in entities) == found


def test_an_uncertain_name_is_none(opener: Opener) -> None:
    ada = {"name": "Ada Lovelace", "type": "PERSON", "confidence": 0.5}
    store = opener(llm=names([ada]), config=BY_MODEL)
    store.commit("Ada Lovelace wrote it.", enrich=False)
    assert matches(store, "what did Ada Lovelace write?") == []


def test_rules_find_the_names_where_the_model_fails(opener: Opener) -> None:
    model = ScriptedModel({}, failures=[ModelCallError("broken")] * 9)
    store = opener(llm=model, config=BY_MODEL)
    store.commit("Ada Lovelace wrote it.", enrich=False)
    result = store.recall("what did Ada Lovelace write?")
    assert [one.name for one in result.analysis.entities] == ["Ada Lovelace"]
    assert [entry.code for entry in result.degraded] == ["llm_failed"]
    assert len(model.requests) == 1
