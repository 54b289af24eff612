"""Every line that a client may send is answered, and none does what was not asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_process import McpProcess, text_of, written_config
from tables import each

HEAD = b'{"jsonrpc": "2.0", "id": "x", "method": '
FACT = "The spare key of the office lies under the blue pot."
# name → line → (id, code) of the error that answers
LINES: dict[str, tuple[bytes, Any, int]] = {
    "nothing": (b"", None, -32700),
    "blanks": (b"   ", None, -32700),
    "words": (b"hello", None, -32700),
    "cut": (b'{"jsonrpc": "2.0", "id": 1, "method"', 1, -32700),
    "cut in a text": (b'{"jsonrpc": "2.0", "id": 1, "method": "pi', 1, -32700),
    "cut in the id": (b'{"jsonrpc": "2.0", "method": "ping", "id": 12', None, -32700),
    "two objects": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}', 1, -32700),
    "single quotes": (b"{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}", None, -32700),
    "a comma too many": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping",}', 1, -32700),
    "a mark of byte order": (b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1}', None, -32700),
    "no UTF-8": (HEAD + b'"ping", "params": {"a": "\xff"}}', "x", -32700),
    "no UTF-8 at all": (b"\xff\xfe\x00", None, -32700),
    "NUL": (b"\x00", None, -32700),
    "a raw control character": (HEAD + b'"pi\x01ng"}', "x", -32700),
    "a lone surrogate": (HEAD + b'"ping", "params": {"a": "\\ud800"}}', "x", -32700),
    "a lone surrogate as name": (HEAD + b'"ping", "params": {"\\udfff": 1}}', "x", -32700),
    "a lone surrogate as id": (
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
        None,
        -32700,
    ),
    "a lone surrogate as method": (HEAD + b'"\\ud800"}', "x", -32700),
    "NaN": (HEAD + b'"ping", "params": {"a": NaN}}', "x", -32700),
    "infinity": (HEAD + b'"ping", "params": {"a": -Infinity}}', "x", -32700),
    "a number beyond floats": (HEAD + b'"ping", "params": {"a": 1e999}}', "x", -32700),
    "an integer of 5000 digits": (
        HEAD + b'"ping", "params": {"a": ' + b"9" * 5000 + b"}}",
        "x",
        -32700,
    ),
    "nested too deeply": (HEAD + b'"ping", "params": ' + b'{"a":' * 50_000, "x", -32700),
    "nested too deeply, the id behind": (
        b'{"params": {"id": 4, "list": [{"id": 5}]}, "id": 19, "more": ' + b"[" * 50_000,
        19,
        -32700,
    ),
    "a huge line": (HEAD + b'"ping", "params": {"a": "' + b"a" * 5_000_000 + b'"}}', "x", -32600),
    "a huge line, the id behind 4 KiB": (
        b'{"params": "' + b"a" * 5_000_000 + b'", "id": 19}',
        None,
        -32600,
    ),
    "a huge line with an id in a text": (
        b'{"params": "\\"id\\": 4, \\\\", "id": "19", "a": "' + b"a" * 5_000_000,
        "19",
        -32600,
    ),
    "a huge line with two ids": (
        b'{"id": 1, "id": 2, "a": "' + b"a" * 5_000_000 + b'"}',
        None,
        -32600,
    ),
    "the same name twice": (
        b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "method": "tools/list"}',
        "a",
        -32700,
    ),
    "two ids": (b'{"jsonrpc": "2.0", "id": "a", "id": "b", "method": "ping"}', None, -32700),
    "an argument twice": (
        HEAD + b'"tools/call", "params": {"name": "forget", "arguments": {"id": "a", "id": "b"}}}',
        "x",
        -32700,
    ),
    "a huge line without end of text": (b"[" * 6_000_000, None, -32600),
    "null": (b"null", None, -32600),
    "true": (b"true", None, -32600),
    "a number": (b"7", None, -32600),
    "a text": (b'"ping"', None, -32600),
    "an empty list": (b"[]", None, -32600),
    "a batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, -32600),
    "an empty object": (b"{}", None, -32600),
    "no version": (b'{"id": 4, "method": "ping"}', 4, -32600),
    "another version": (b'{"jsonrpc": "1.0", "id": 4, "method": "ping"}', 4, -32600),
    "a number as version": (b'{"jsonrpc": 2.0, "id": 4, "method": "ping"}', 4, -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 4}', 4, -32600),
    "no method, with params": (b'{"jsonrpc": "2.0", "id": 4, "params": {}}', 4, -32600),
    "null as method": (b'{"jsonrpc": "2.0", "id": 4, "method": null}', 4, -32600),
    "a number as method": (b'{"jsonrpc": "2.0", "id": 4, "method": 5}', 4, -32600),
    "a list as method": (b'{"jsonrpc": "2.0", "id": 4, "method": ["ping"]}', 4, -32600),
    "null as id": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, -32600),
    "true as id": (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None, -32600),
    "a fraction as id": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None, -32600),
    "an object as id": (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', None, -32600),
    "a list as id": (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', None, -32600),
    "a list as params": (HEAD + b'"ping", "params": []}', "x", -32602),
    "a full list as params": (HEAD + b'"tools/call", "params": ["forget"]}', "x", -32602),
    "a text as params": (HEAD + b'"ping", "params": "a"}', "x", -32602),
    "a number as params": (HEAD + b'"ping", "params": 3}', "x", -32602),
    "false as params": (HEAD + b'"ping", "params": false}', "x", -32602),
    "a list as params of a notification": (
        b'{"jsonrpc": "2.0", "method": "notifications/initialized", "params": []}',
        None,
        -32602,
    ),
    "a result that is a list": (b'{"jsonrpc": "2.0", "id": 3, "result": []}', 3, -32600),
    "an error without code": (b'{"jsonrpc": "2.0", "id": 3, "error": {}}', 3, -32600),
    "result and error": (
        b'{"jsonrpc": "2.0", "id": 3, "result": {}, "error": {"code": 1, "message": ""}}',
        3,
        -32600,
    ),
    "an unknown method": (HEAD + b'"tools/forget"}', "x", -32601),
    "an empty method": (HEAD + b'""}', "x", -32601),
    "a method of 100,000 characters": (HEAD + b'"' + b"m" * 100_000 + b'"}', "x", -32601),
    "a method of another server": (
        HEAD + b'"resources/subscribe", "params": {"uri": "a:b"}}',
        "x",
        -32601,
    ),
    "a call without params": (HEAD + b'"tools/call"}', "x", -32602),
    "a call without a name": (HEAD + b'"tools/call", "params": {"arguments": {}}}', "x", -32602),
    "a number as name": (HEAD + b'"tools/call", "params": {"name": 5}}', "x", -32602),
    "an unknown tool": (HEAD + b'"tools/call", "params": {"name": "forgets"}}', "x", -32602),
    "a list as arguments": (
        HEAD + b'"tools/call", "params": {"name": "forget", "arguments": []}}',
        "x",
        -32602,
    ),
    "a text as arguments": (
        HEAD + b'"tools/call", "params": {"name": "forget", "arguments": "all"}}',
        "x",
        -32602,
    ),
    "a resource elsewhere": (
        HEAD + b'"resources/read", "params": {"uri": "file:///etc/passwd"}}',
        "x",
        -32602,
    ),
    "a resource of another namespace": (
        HEAD + b'"resources/read", "params": {"uri": "vestig://other/memory/mem_01234567"}}',
        "x",
        -32602,
    ),
    "a resource that is not there": (
        HEAD + b'"resources/read", "params": {"uri": "vestig://default/memory/mem_01234567"}}',
        "x",
        -32602,
    ),
    "a resource with a path": (
        HEAD + b'"resources/read", "params": {"uri": "vestig://default/memory/../../ledger"}}',
        "x",
        -32602,
    ),
    "an unknown prompt": (HEAD + b'"prompts/get", "params": {"name": "no"}}', "x", -32602),
    "a prompt without its argument": (
        HEAD + b'"prompts/get", "params": {"name": "answer_from_memory"}}',
        "x",
        -32602,
    ),
    "a prompt with another argument": (
        HEAD + b'"prompts/get", "params": {"name": "answer_from_memory", "arguments": {"q": "a"}}}',
        "x",
        -32602,
    ),
}
# arguments of `forget` that select nothing, or are not confirmed; ID is a memory's
FORGETS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "confirmed alone": {"confirm": True},
    "null as id": {"id": None, "confirm": True},
    "an empty id": {"id": "", "confirm": True},
    "a blank id": {"id": "  ", "confirm": True},
    "a list as id": {"id": ["ID"], "confirm": True},
    "an empty list as id": {"id": [], "confirm": True},
    "an object as id": {"id": {}, "confirm": True},
    "all": {"all": True, "confirm": True},
    "an empty where": {"where": {}, "confirm": True},
    "where null": {"where": None, "confirm": True},
    "a where that selects": {"where": {"scope": None, "tags": []}, "confirm": True},
    "an id and a where": {"id": "ID", "where": {}, "confirm": True},
    "a where of all": {"where": {"since": "2000-01-01"}, "all": True, "confirm": True},
    "ids": {"ids": ["ID"], "confirm": True},
    "the beginning of every id": {"id": "mem_", "confirm": True},
    "a wildcard": {"id": "*", "confirm": True},
    "a short beginning": {"id": "mem_0", "confirm": True},
    "not confirmed": {"id": "ID"},
    "confirmed with false": {"id": "ID", "confirm": False},
    "confirmed with null": {"id": "ID", "confirm": None},
    "confirmed with 1": {"id": "ID", "confirm": 1},
    "confirmed with a text": {"id": "ID", "confirm": "true"},
    "force": {"id": "ID", "confirm": True, "force": True},
    "another id": {"id": "mem_00000000-0000-4000-8000-000000000000", "confirm": True},
    "an entity": {"id": "ent_00000000-0000-4000-8000-000000000000", "confirm": True},
    "a name in other letters": {"ID": "ID", "confirm": True},
}


QUESTION = "Where is the spare key of the office?"
# Arguments as models write them: name → (tool, arguments, is it answered)
CALLS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "tags as words": (
        "remember",
        {"text": "The hall is locked at ten.", "tags": "hall, key"},
        True,
    ),
    "tags as JSON": ("remember", {"text": "The hall is locked at six.", "tags": '["hall"]'}, True),
    "half a list": ("remember", {"text": "The hall is locked at two.", "tags": '["hall"'}, True),
    "tags in tags": ("remember", {"text": "The hall is blue.", "tags": [["hall"]]}, False),
    "a number as tag": ("remember", {"text": "The hall is green.", "tags": [1]}, False),
    "an object as text": ("remember", {"text": {"content": "The hall is red."}}, False),
    "content": ("remember", {"content": "The hall is red."}, False),
    "no text": ("remember", {}, False),
    "a time of no calendar": (
        "remember",
        {"text": "The hall is old.", "valid_from": "31/02"},
        False,
    ),
    "where as JSON": ("recall", {"query": QUESTION, "where": '{"tags": "key"}'}, True),
    "where as words": ("recall", {"query": QUESTION, "where": "tags=key"}, False),
    "where as a list": ("recall", {"query": QUESTION, "where": [{"tags": "key"}]}, False),
    "an unknown field": ("recall", {"query": QUESTION, "where": {"topic": "key"}}, False),
    "a field beside where": ("recall", {"query": QUESTION, "tags": "key"}, False),
    "a config": (
        "recall",
        {"query": QUESTION, "config": {"ranking.weights": "/etc/passwd"}},
        False,
    ),
    "k": ("recall", {"query": QUESTION, "k": 3}, False),
    "a whole number as float": ("recall", {"query": QUESTION, "limit": 3.0}, True),
    "a number as text": ("recall", {"query": QUESTION, "limit": "3"}, False),
    "a limit of 400 digits": ("recall", {"query": QUESTION, "limit": 10**400}, False),
    "half a limit": ("recall", {"query": QUESTION, "limit": 2.5}, False),
    "no limit": ("recall", {"query": QUESTION, "limit": 0}, False),
    "a small budget": ("recall", {"query": QUESTION, "budget": 1}, False),
    "a silence of words": ("recall", {"query": QUESTION, "silence": "best"}, False),
    "everything": ("recall", {"query": QUESTION, "all": True}, True),
    "a blank question": ("recall", {"query": "  "}, False),
    "a question of a whole book": ("recall", {"query": "key " * 100_000}, True),
    "a list as question": ("recall", {"query": [QUESTION]}, False),
    "search by words": ("search", {"query": "key"}, True),
    "search with a field": ("search", {"query": "key", "where": {"authors": []}}, True),
    "parts": (
        "retrieve",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]},
        True,
    ),
    "null and a call of a tool": (
        "retrieve",
        {
            "messages": [
                {"role": "developer", "content": "Be short."},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
                {"role": "user", "content": QUESTION},
            ]
        },
        True,
    ),
    "messages as JSON": (
        "retrieve",
        {"messages": json.dumps([{"role": "user", "content": QUESTION}])},
        True,
    ),
    "a text as messages": ("retrieve", {"messages": QUESTION}, False),
    "a message without content": ("retrieve", {"messages": [{"role": "user"}]}, False),
    "the system alone": ("retrieve", {"messages": [{"role": "system", "content": "a"}]}, False),
    "no message": ("retrieve", {"messages": []}, False),
    "show a path": ("show", {"id": "../../etc/passwd"}, False),
    "show two": ("show", {"id": ["mem_00000000", "mem_00000001"]}, False),
    "fetch an address elsewhere": ("fetch", {"id": "https://example.com/memory/a"}, False),
    "supersede by nothing": ("supersede", {"old": "mem_00000000"}, False),
    "stats with a word": ("stats", {"deep": True}, False),
}
# A result with the head of its message: 2,000 tokens of at most 4 bytes are the default.
RESULT_BYTES_MAX = 12_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProcess]:
    with McpProcess(written_config(tmp_path_factory.mktemp("lines"))) as process:
        process.initialize()
        yield process


@each("name", LINES)
def test_a_line_that_is_no_request_is_answered_with_its_error(
    server: McpProcess, name: str
) -> None:
    line, id, code = LINES[name]
    answer = server.answer(line)
    assert (answer["id"], answer["error"]["code"]) == (id, code), answer
    assert "Traceback" not in json.dumps(answer)
    assert server.request("ping")["result"] == {}, "the next line is answered"


def test_texts_of_an_empty_store_and_of_a_refusal_are_whole_sentences(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        assert text_of(server.call("stats")).startswith("0 memories; 0 have a vector.")
        said = text_of(server.call("remember", text="The cranes of berth nine lift tons. " * 200))
    assert said.startswith("Not stored: Content too long")
    assert ". Store one self-contained fact" in said
    assert ".." not in said


@each("name", FORGETS)
def test_forget_takes_nothing_that_was_not_selected_and_confirmed(
    server: McpProcess, name: str
) -> None:
    said = text_of(server.call("remember", text=FACT))
    id = re.findall(r" as ([0-9a-f]{8})", said)[0]
    id = json.loads(text_of(server.call("fetch", id=id)))["id"]
    given = json.loads(json.dumps(FORGETS[name]).replace('"ID"', json.dumps(id)))
    result = server.call("forget", **given)
    assert result["isError"] is True
    assert text_of(result)
    assert server.call("show", id=id)["isError"] is False
    assert text_of(server.call("stats")).startswith("1 memories ")


@each("name", CALLS)
def test_a_call_is_answered_with_one_short_text(full: McpProcess, name: str) -> None:
    tool, arguments, answered = CALLS[name]
    answer = full.request("tools/call", {"name": tool, "arguments": arguments})
    result = answer["result"]
    assert (result["isError"], "structuredContent" in result) == (not answered, False), answer
    said = text_of(result)
    assert said
    assert len(json.dumps(answer)) <= RESULT_BYTES_MAX
    assert "Traceback" not in said
    assert "root:" not in said
    if answered and tool in ("recall", "retrieve"):
        assert FACT in said


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProcess]:
    """A server of a store with more than a result may hold."""
    with McpProcess(written_config(tmp_path_factory.mktemp("calls"))) as process:
        process.initialize()
        process.call("remember", text=FACT, tags=["key"])
        for number in range(20):
            process.call("remember", text=f"The key of room {number} {'is spare ' * 400}.")
        yield process


def test_lines_that_need_no_answer_get_none(server: McpProcess) -> None:
    for line in (
        b'{"jsonrpc": "2.0", "method": "notifications/unknown"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "no"}}',
    ):
        server.write(line)
    assert server.request("ping")["result"] == {}


def test_a_line_may_end_as_on_windows(server: McpProcess) -> None:
    assert server.answer(b'{"jsonrpc": "2.0", "id": "w", "method": "ping"}\r')["result"] == {}


def test_a_notice_of_odd_form_says_nothing(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as process:
        process.initialize()
        for params in ({}, {"requestId": None}, {"requestId": [1]}, {"requestId": 1, "reason": 5}):
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            process.write(json.dumps(notice).encode())
        assert process.request("ping")["result"] == {}
        process.process.stdin.close()
        assert process.errors() == ""


def test_requests_that_come_at_once_are_all_answered(server: McpProcess) -> None:
    ids = {server.send("tools/call", {"name": "stats"}) for _ in range(60)}
    assert {server.read()["id"] for _ in ids} == ids


def test_there_are_enough_hostile_lines() -> None:
    assert len(LINES) + len(FORGETS) + len(CALLS) >= 130


@pytest.mark.slow
def test_bad_lines_before_the_first_request_are_answered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as process:
        for _ in range(12):
            assert process.answer(b"[]")["error"]["code"] == -32600
        assert process.initialize()["serverInfo"]["name"] == "vestig"
