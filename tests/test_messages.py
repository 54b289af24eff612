"""Conversations as programs that talk to language models have them, wherever a call takes one."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import vestig
from tables import each
from vestig.errors import ValidationError
from vestig.messages import joined_text, only_calls_tools, text_parts
from vestig.testing import HashingEmbedder
from vestig.types import Role

CALL = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
QUESTION = "Where does the spare key of the boathouse lie?"
# each ends with the same question, said by the user
CHATS: dict[str, list[dict[str, Any]]] = {
    "plain": [{"role": "user", "content": QUESTION}],
    "instructions before it": [
        {"role": "system", "content": "You are a gate keeper. " * 40},
        {"role": "developer", "content": [{"type": "text", "text": "Be short. " * 40}]},
        {"role": "user", "content": QUESTION},
    ],
    "a tool that was called": [
        {"role": "user", "content": QUESTION, "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None},
        {"role": "tool", "tool_call_id": "call_1", "content": "It is noon. " * 40},
    ],
    "a call without the key": [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "function_call": {"name": "clock", "arguments": "{}"}},
        {"role": "function", "name": "clock", "content": "noon"},
    ],
    "parts": [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:,"}},
                {"type": "input_text", "text": QUESTION},
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "clock"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]},
    ],
    "other words for roles": [
        {"role": "developer", "content": "Be short."},
        {"role": "human", "content": [QUESTION]},
        {"role": "ai", "content": []},
    ],
}


@pytest.fixture
def store() -> Any:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as found:
        found.commit("The spare key of the boathouse lies under the blue pot.")
        found.commit("Oranges are sold at the market on Mondays.")
        yield found


@pytest.mark.parametrize("name", CHATS)
def test_recall_and_retrieve_take_them(store: vestig.Vestig, name: str) -> None:
    query = store.recall(messages=CHATS[name]).query
    assert query is not None
    assert query == QUESTION
    found = store.retrieve(CHATS[name], debug=True)
    assert found.facts == store.retrieve([{"content": QUESTION}]).facts
    assert "blue pot" in found.facts[0]


@each("name", CHATS)
@each("whole", [False, True], ids=["lines", "one object"])
def test_import_takes_them(name: str, whole: bool) -> None:
    chat = CHATS[name]
    text = json.dumps({"messages": chat}) if whole else "\n".join(map(json.dumps, chat))
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        report = store.import_(io.BytesIO(text.encode()))
        assert (report.format, report.failed, report.errors) == ("openai-chat", 0, ())
        assert report.lines == report.memories == len(chat) - passed_over(report)
        (said,) = [one for one in store.list() if one.content == QUESTION]
        assert said.role is Role.USER
        assert {one.role.value for one in store.list() if one.role} <= {
            "user",
            "assistant",
            "system",
            "tool",
        }
        again = store.import_(io.BytesIO(text.encode()))
        assert (again.memories, again.skipped) == (0, report.memories)
        assert again.left_out == report.left_out
        with_all = store.import_(io.BytesIO(text.encode()), include_system=True)
        assert with_all.memories == report.left_out.get("system message", 0)
        assert with_all.skipped == report.memories


def passed_over(report: Any) -> int:
    """Messages that were left out; parts of messages are counted beside them."""
    return sum(
        report.left_out.get(kind, 0) for kind in ("system message", "message without a text")
    )


def test_a_short_turn_of_a_chat_is_kept_in_an_import() -> None:
    lines = [{"role": "user", "content": "Deploy now?"}, {"role": "assistant", "content": "ok"}]
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        report = store.import_(io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
        assert (report.memories, report.rejected) == (2, 0)


def test_memories_that_have_a_role_stay_memories() -> None:
    line = {"role": "user", "content": "The gate is green.", "t_valid": "2026-01-02"}
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        assert store.import_(io.BytesIO(json.dumps(line).encode())).format == "memories"
        store.commit("The gate of the pier is blue.", role="developer")
        assert store.count({"roles": "system"}) == 1


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user"}, "content"),
        ({"author": "Ann", "content": None}, "content"),
        ({"role": "user", "content": 3}, "content"),
        ({"role": "user", "content": [3]}, "content"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "content"),
        ({"role": "user", "content": "a", "timestmp": "2026-01-01"}, "did you mean timestamp"),
        ({"role": "user", "content": "a", "autor": "Ann"}, "did you mean author"),
        ({"role": 3, "content": "a"}, "role"),
    ],
)
def test_what_is_no_message_is_refused(
    store: vestig.Vestig, message: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValidationError, match=told):
        store.retrieve([{"role": "user", "content": QUESTION}, message])


def test_a_chat_in_which_nobody_speaks_is_refused(store: vestig.Vestig) -> None:
    silent = [{"role": "assistant", "content": None, "tool_calls": [CALL]}]
    for call in (lambda: store.retrieve(silent), lambda: store.recall(messages=silent)):
        with pytest.raises(ValidationError, match="at least one entry that somebody said"):
            call()


def test_parts_of_a_message() -> None:
    parts = [{"type": "text", "text": "One."}, {"type": "thinking", "thinking": "hm"}, "Two."]
    assert text_parts(parts) == ["One.", "Two."]
    assert joined_text("content", {}, parts) == "One.\n\nTwo."
    assert joined_text("content", {"content": [{"type": "image"}]}, [{"type": "image"}]) is None
    assert not only_calls_tools({"role": "user"})
