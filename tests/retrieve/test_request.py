"""The arguments of `retrieve`: what is taken, what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import pytest
from conversations import opened, said

import vestig
from vestig import ValidationError


@pytest.fixture(scope="module")
def store() -> Any:
    with opened() as store:
        yield store


def test_a_conversation_has_at_least_one_message(store: vestig.Vestig) -> None:
    with pytest.raises(ValidationError, match="messages must contain at least one entry"):
        store.retrieve([])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_facts", 0),
        ("max_facts", 501),
        ("max_facts", True),
        ("max_facts", 2.0),
        ("max_messages", 0),
        ("max_messages", 101),
        ("max_iterations", 0),
        ("max_iterations", 51),
        ("deadline_ms", 0),
        ("request_id", ""),
        ("request_id", "x" * 129),
        ("request_id", 7),
        ("debug", "yes"),
        ("query_time", "soon"),
        ("namespace", "Not Valid"),
        ("where", {"tag": "a"}),
        ("messages", "hello"),
        ("messages", [{"author": "Ada"}]),
        ("messages", [{"content": None}]),
        ("messages", [{"content": 5}]),
        ("messages", [{"content": "a", "timestamp": "yesterday"}]),
        ("messages", [{"content": "a", "contents": "b"}]),
        ("messages", [{"content": "a", "author": "Ada", "author_name": "Omar"}]),
        ("messages", ["hello"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused(store: vestig.Vestig, field: str, value: object) -> None:
    given: dict[str, Any] = {"messages": said("Where is the key?"), field: value}
    with pytest.raises(ValidationError):
        store.retrieve(given.pop("messages"), **given)


def test_null_is_the_default(store: vestig.Vestig) -> None:
    messages = said("Which service runs where?")
    plain = store.retrieve(messages)
    given = store.retrieve(
        messages, max_facts=None, max_messages=None, max_iterations=None, deadline_ms=None
    )
    assert plain.facts == given.facts
    assert len(plain.facts) == 8
    assert len(store.retrieve(messages, max_facts=2).facts) == 2


def test_an_unknown_field_of_a_message_names_the_nearest(store: vestig.Vestig) -> None:
    with pytest.raises(ValidationError, match="did you mean message_id"):
        store.retrieve([{"content": "a", "mesage_id": "m1"}])


def test_the_request_id_comes_back(store: vestig.Vestig) -> None:
    messages = said("Where is the key?")
    assert store.retrieve(messages, request_id="call-7").metadata.request_id == "call-7"
    assert store.retrieve(messages).metadata.request_id.startswith("req_")


def test_three_spellings_of_a_scope_are_one() -> None:
    with opened(()) as store:
        store.commit("The blue pump stands in the cellar", scope="team")
        store.commit("The blue pump was sold to a neighbour", scope="other")
        ways: list[dict[str, Any]] = [
            {"where": {"scope": "team"}},
            {"scope": "team"},
            {"channel_id": "team"},
            {"scope": "team", "channel_id": "team", "where": {"scope": ["team"]}},
        ]
        found = [store.retrieve(said("Where is the blue pump?"), **way).facts for way in ways]
        assert all(facts == found[0] for facts in found)
        assert [("cellar" in fact) for fact in found[0]] == [True]
        for other in ({"where": {"scope": "other"}}, {"scope": "other"}):
            with pytest.raises(ValidationError, match="scope"):
                store.retrieve(said("Where is the pump?"), channel_id="team", **other)


def test_a_blank_conversation_asks_nothing(store: vestig.Vestig) -> None:
    found = store.retrieve(said("   ", "\n"))
    assert found.facts == ()
    assert found.metadata.stop_reason == "no_queries"
    assert found.metadata.iterations_used == 0
    assert found.confidence == "low"


def test_a_blank_last_message_leaves_the_question_before_it(store: vestig.Vestig) -> None:
    found = store.retrieve(said("Where is the spare key?", " "), max_facts=1)
    assert "spare key" in found.facts[0]
