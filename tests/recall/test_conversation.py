"""Conversations as queries, and seeds of walks."""

from __future__ import annotations

import datetime
import json
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from calls import selecting
from tables import each
from vestig.calls import declaration
from vestig.calls.argument import SEED_MAX
from vestig.calls.queries import RecallRequest
from vestig.errors import ValidationError
from vestig.recall.request import (
    MESSAGE_CHARS_MAX,
    Request,
    check_request,
    chosen_seed,
    conversation_in,
    conversation_of,
    derived_seed,
)
from vestig.times import to_plain

TALK = [
    {"author": "Ada", "content": "We moved the build to the new cluster."},
    {"author": "Ben", "content": "Which day was that?"},
]


def checked(**fields: Any) -> Request:
    given = fields if "where" in fields else selecting(fields)
    return check_request(
        declaration.checked(RecallRequest, given),
        now_us=0,
        limit_default=5,
        namespace="default",
        include_expired=False,
        dimensions=8,
    )


def test_the_end_of_a_long_last_message_is_the_query() -> None:
    whole = " ".join(f"Sentence number {n} of the talk." for n in range(200))
    long = [{"author": "Ben", "content": "Hello there"}, {"author": "Ada", "content": whole}]
    for query in (
        checked(messages=long).query,
        checked(query=json.dumps(long)).query,
        checked(query="\n".join(map(json.dumps, long))).query,
        checked(query=json.dumps({"messages": long})).query,
    ):
        assert query == "..." + whole[-MESSAGE_CHARS_MAX:]
        assert len(query) == 2003


def test_a_follow_up_is_asked_with_what_it_leans_on() -> None:
    expected = "Which day was that? We moved the build to the new cluster."
    said = "Ada: We moved the build to the new cluster.\n\nBen: Which day was that?"
    assert checked(messages=TALK).conversation == said
    assert checked(messages=TALK).query == expected
    assert checked(query=json.dumps(TALK)).query == expected


def test_lines_of_a_session_log() -> None:
    """Roles, blocks and lines without a message, as session logs have them."""
    lines = [
        {"type": "summary", "summary": "what went before"},
        {"type": "user", "message": {"role": "user", "content": "Fix the build"}},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Done. "},
                    {"type": "tool_use", "name": "bash", "input": {}},
                    {"type": "text", "text": "Anything else?"},
                ],
            },
        },
        {"type": "system", "message": {"role": "system", "content": "hidden"}},
    ]
    text = "\n".join(map(json.dumps, lines))
    found = checked(query=text)
    assert found.query == "Fix the build"
    assert found.conversation == (
        "user: Fix the build\n\nassistant: Done.\n\nassistant: Anything else?"
    )


@each(
    ("roles", "asked"),
    [
        (("user", "assistant", "user"), "Who?"),
        (("User", "ASSISTANT", " User "), "Who?"),
        (("Human", "AI", "Human"), "Who?"),
        (("customer", "assistant", "customer"), "Who?"),
        (("user", "assistant", "Assistant"), "Where?"),
        (("user", "assistant", "Tool"), "Where?"),
        (("user", "System", "developer"), "Where?"),
    ],
)
def test_roles_count_in_any_case_and_other_ones_speak(roles: tuple[str, ...], asked: str) -> None:
    texts = ("Where?", "In Oslo.", "Who?")
    talk = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    for found in (conversation_in(talk), conversation_of(json.dumps(talk))):
        assert found is not None
        assert next(one.text for one in reversed(found.turns) if not one.assistant) == asked


@each(
    "query",
    [
        "[a note in brackets]",
        "{}",
        "[]",
        '{"name": "no message"}',
        "[1, 2]",
        '{"content": 3}',
        '{"role": "user", "content": [{"type": "text"}]}',
        '{"role": "system", "content": "nobody said this"}',
        '{"content": "one"}\nand some words',
        "[" * 100_000,
    ],
)
def test_other_texts_are_queries_as_they_are(query: str) -> None:
    assert conversation_of(query) is None
    assert checked(query=query).query == query[:4000]


@each(
    ("messages", "field"),
    [
        ("talk", "messages"),
        ([], "messages"),
        ([{"content": "  "}], "messages"),
        ([{"author": "Ada", "content": "Hello there"}, {"author": "Ben"}], r"messages\[1\]"),
        ([3], r"messages\[0\]"),
        ([{"author": 3, "content": "Hello"}], r"messages\[0\]"),
        ([{"role": 3, "content": "Hello"}], r"messages\[0\].role: expected text"),
    ],
)
def test_messages_that_are_no_conversation_are_refused(messages: Any, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        conversation_in(messages)


def test_exactly_one_of_query_and_messages() -> None:
    with pytest.raises(ValidationError, match="exactly one of query and messages"):
        checked(query="which day?", messages=TALK)
    with pytest.raises(ValidationError, match="exactly one of query and messages"):
        checked()


def test_derived_seeds() -> None:
    query = "when did we move the build?"
    assert derived_seed(query, 42) == 4550294274369451
    assert derived_seed(query, 43) == 406159912574530


def test_seed_precedence() -> None:
    query = "when did we move the build?"
    assert chosen_seed(1, 2, query, 42) == (1, "call")
    assert chosen_seed(None, 2, query, 42) == (2, "config")
    assert chosen_seed(0, 2, query, 42) == (0, "call")
    assert chosen_seed(None, 0, query, 42) == (0, "config")
    assert chosen_seed(None, None, query, 42) == (4550294274369451, "derived")
    seed, origin = chosen_seed("random", 2, query, 42)
    assert origin == "random"
    assert 0 <= seed <= SEED_MAX


@each("seed", [-1, SEED_MAX + 1, 1.0, True, "dice", "-1", "", [1]])
def test_seeds_out_of_range(seed: Any) -> None:
    with pytest.raises(ValidationError, match="seed"):
        checked(query="which day?", seed=seed)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"expect": "x"}, "expect"),
        ({"touch": 1}, "touch"),
        ({"entities": 3}, "entities"),
    ],
)
def test_arguments_are_checked(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        checked(query="which day?", **fields)


def test_a_request_can_be_checked_again_from_its_arguments() -> None:
    """Iterables are read once; a second run must see the same."""
    first = checked(
        messages=iter(TALK),
        ids=(f"mem_{n:08d}" for n in range(2)),
        expect=iter(["mem_00000009"]),
        tags={"b", "a"},
        since=datetime.date(2026, 1, 5),
        metadata=MappingProxyType({"level": 1}),
    )
    assert first.filter.fields["ids"] == ("mem_00000000", "mem_00000001")
    arguments = first.arguments
    again = checked(**{name: getattr(arguments, name) for name in arguments.__struct_fields__})
    # what was said is in the query that it stands for
    assert again == msgspec.structs.replace(first, conversation=None)
    assert to_plain(arguments.where.tags) == ["a", "b"]
    assert to_plain(arguments.where.since) == "2026-01-05T00:00:00.000000Z"
