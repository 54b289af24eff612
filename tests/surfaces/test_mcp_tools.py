"""The tools, resources and prompts of `vestig mcp`, as a client sees them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import vestig
from mcp_process import MAIN, McpProcess, text_of, told_and_asked, written_config
from tables import each
from vestig.calls.filter import FIELDS
from vestig.config import load
from vestig.errors import ProviderError
from vestig.surfaces.mcp.tools import TOOLS
from vestig.testing import HashingEmbedder

READING = {"recall", "search", "retrieve", "show", "fetch", "stats"}
FACT = "The spare key of the office lies under the blue pot."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProcess]:
    with McpProcess(written_config(tmp_path_factory.mktemp("tools"))) as process:
        process.initialize()
        yield process


@pytest.fixture(scope="module")
def listed(server: McpProcess) -> dict[str, Any]:
    return {tool["name"]: tool for tool in server.request("tools/list")["result"]["tools"]}


@pytest.fixture
def id(server: McpProcess) -> str:
    return stored(server, FACT)


def stored(server: McpProcess, text: str, **arguments: Any) -> str:
    """The whole id of the memory that a text is now."""
    said = text_of(server.call("remember", text=text, **arguments))
    found = re.search(r"(?:Stored|Known already) as ([0-9a-f-]+)", said)
    assert found is not None, said
    whole = json.loads(text_of(server.call("fetch", id=found.group(1))))["id"]
    assert isinstance(whole, str)
    return whole


def field(server: McpProcess, id: str, name: str) -> Any:
    """A field of a memory as `show` gives it."""
    lines = text_of(server.call("show", id=id)).splitlines()
    (found,) = (line for line in lines if line.startswith(f"{name}: "))
    return json.loads(found.partition(": ")[2])


def refused(server: McpProcess, tool: str, **arguments: Any) -> str:
    """What the agent is told."""
    result = server.call(tool, **arguments)
    assert result["isError"] is True
    assert "structuredContent" not in result
    return text_of(result)


def test_every_tool_says_what_it_does_to_the_store(listed: dict[str, Any]) -> None:
    assert set(listed) == set(TOOLS)
    for name, tool in listed.items():
        notes = tool["annotations"]
        assert notes["readOnlyHint"] is (name in READING)
        assert notes["destructiveHint"] is (name == "forget")
        assert notes["idempotentHint"] is (name in READING | {"forget", "confirm"})
        assert notes["openWorldHint"] is False
        assert tool["title"]
        assert (tool.get("_meta") == {"anthropic/alwaysLoad": True}) is (
            name in ("remember", "recall")
        )


def test_descriptions_are_short_and_say_when_not_to_use_a_tool(listed: dict[str, Any]) -> None:
    for tool in listed.values():
        assert len(tool["description"].split()) < 80
        assert any(word in tool["description"] for word in ("Not for", "use recall", "Only when"))


def test_schemas_are_valid_and_closed(listed: dict[str, Any]) -> None:
    for tool in listed.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
        for name, row in tool["inputSchema"]["properties"].items():
            assert row["description"], name
        assert "outputSchema" not in tool


def test_the_list_of_tools_is_short(server: McpProcess, listed: dict[str, Any]) -> None:
    server.send("tools/list")
    line = server.lines.get(timeout=60)
    assert line is not None
    assert len(line) <= 8_600
    first = [json.dumps(listed[name], ensure_ascii=False) for name in ("remember", "recall")]
    assert sum(len(one.encode()) for one in first) <= 3_000


def test_the_filter_is_described_once(listed: dict[str, Any]) -> None:
    filters = {
        name: tool["inputSchema"]["properties"]["where"]
        for name, tool in listed.items()
        if "where" in tool["inputSchema"]["properties"]
    }
    assert set(filters) == {"recall", "search", "retrieve"}
    named = re.findall(r"\w+", filters["search"]["description"])
    assert all(named.count(name) == 1 for name in FIELDS)
    assert list(filters["recall"]["properties"]) == ["tags", "authors", "scope", "since", "until"]
    for tool in listed.values():
        beside = set(tool["inputSchema"]["properties"]) & set(FIELDS)
        assert beside <= {"tags", "scope", "unscoped"}
        assert not (beside and "where" in tool["inputSchema"]["properties"])


def test_every_result_is_one_text_that_holds_what_was_asked_for(
    server: McpProcess, id: str
) -> None:
    key = [{"role": "user", "content": "Where is the spare key of the office?"}]
    other = stored(server, "The printer of the office stands in the cellar.")
    results = {
        "recall": server.call("recall", query="where is the key?", explain=True),
        "search": server.call("search", query="where is the key?"),
        "retrieve": server.call("retrieve", messages=key),
        "show": server.call("show", id=id),
        "fetch": server.call("fetch", id=id),
    }
    for name, result in results.items():
        assert set(result) <= {"content", "isError", "resultType"}, (name, set(result))
        assert result["isError"] is False
        assert FACT in text_of(result), name
    changes = {
        "remember": server.call("remember", text="The gate of the yard is blue."),
        "supersede": server.call("supersede", old=id, new=other, reason="it moved"),
        "confirm": server.call("confirm", id=other, by="Ada"),
        "forget": server.call("forget", id=other, confirm=True),
        "check": server.call("check", command="git push"),
        "stats": server.call("stats"),
    }
    for name, result in changes.items():
        assert "structuredContent" not in result
        assert text_of(result), name
    assert {*results, *changes} == set(TOOLS)
    said = text_of(changes["forget"])
    assert f"It had superseded {id[4:12]}, and nothing brings that back." in said
    assert "superseded" not in text_of(server.call("forget", id=id, confirm=True))


def test_a_fact_is_remembered_once(server: McpProcess) -> None:
    text = "Deploys of the billing service run on Fridays at noon."
    first = server.call("remember", text=text, tags=["infra"], valid_from="2026-03-01", scope="ops")
    again = server.call("remember", text=text, scope="ops")
    id = text_of(first).removeprefix("Stored as ").rstrip(".")
    assert len(id) == 8
    assert text_of(again).startswith(f"Known already as {id}: counted as said once more.")
    assert field(server, id, "scope") == "ops"
    assert field(server, id, "t_valid") == "2026-03-01T00:00:00.000000Z"
    assert field(server, id, "metadata") == {"source": "mcp", "tags": ["infra"]}


LISTS: dict[str, tuple[Any, list[str]]] = {
    "commas": ("yard, north gate,", ["yard", "north gate"]),
    "JSON": ('["yard", "north, gate"]', ["yard", "north, gate"]),
    "JSON with spaces": ('\n ["yard"] ', ["yard"]),
    "a list": (["yard,gate"], ["yard,gate"]),
    "one word": ("yard", ["yard"]),
    "brackets that are no JSON": ("[yard]", ["[yard]"]),
}


@pytest.mark.slow
@each("name", LISTS)
def test_a_list_that_comes_as_text_is_a_list(tmp_path: Path, name: str) -> None:
    given, tags = LISTS[name]
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        id = stored(server, FACT, tags=given)
        assert field(server, id, "metadata")["tags"] == tags
        where: Any = {"tags": given, "tags_mode": "all"}
        for asked in (where, json.dumps(where)):
            assert FACT in text_of(server.call("search", query="the key?", where=asked))
        other = {"exclude_tags": given}
        assert FACT not in text_of(server.call("search", query="the key?", where=other))
        messages = json.dumps([{"role": "user", "content": "Where is the spare key?"}])
        assert FACT in text_of(server.call("retrieve", messages=messages, where={"ids": id}))
        newer = "The spare key hangs at the board in the hall."
        ids = {"commas": f"{id[4:12]},", "JSON": json.dumps([id])}.get(name, id)
        said = server.call("remember", text=newer, supersedes=ids)
        assert f"Replaces {id[4:12]}." in text_of(said)


def test_a_text_that_may_be_one_name_or_several_is_asked_for_as_a_list(server: McpProcess) -> None:
    told = refused(server, "recall", query="the key?", where={"authors": "Ann,Bob"})
    assert told == (
        "where.authors: expected a list, got a text with a comma; it may be one or several: give"
        " a list of one, or of each."
    )
    for asked in (["Smith, John"], '["Ann", "Bob"]', "Ann"):
        result = server.call("recall", query="the key?", where={"authors": asked})
        assert result["isError"] is False, text_of(result)


def test_a_refused_text_is_an_outcome_and_no_error(server: McpProcess) -> None:
    result = server.call("remember", text="ok")
    assert result["isError"] is False
    assert text_of(result).startswith("Not stored: Content too short")
    result = server.call("remember", text="The pump hums. " * 500)
    assert "cut into passages. Store one" in text_of(result)


def test_where_an_id_is_asked_for_the_way_from_a_key_is_a_tool(server: McpProcess) -> None:
    door = stored(server, "The door of the kiln room is green.", key="door.kiln")
    for tool, arguments in (
        ("show", {"id": "door.kiln"}),
        ("supersede", {"old": "door.kiln", "text": "The door of the kiln room is red."}),
    ):
        said = refused(server, tool, **arguments)
        assert "store." not in said
        assert 'search finds with where={"keys": [key]}' in said
    assert door[4:12] in text_of(server.call("search", where={"keys": ["door.kiln"]}))


def test_what_a_user_stated_is_replaced_in_the_name_of_a_user_alone(server: McpProcess) -> None:
    def short(text: str, **fields: Any) -> str:
        return stored(server, text, **fields)[4:12]

    sofa = short("The sofa of Ada is blue.", role="user", key="sofa")
    for role in ({}, {"role": "assistant"}):
        other = {"text": "The sofa of Ada is brown.", **role}
        for call in (
            {"name": "remember", **other, "supersedes": [sofa]},
            {"name": "remember", **other, "supersedes": sofa},
            {"name": "supersede", **other, "old": sofa},
        ):
            said = refused(server, call.pop("name"), **call)
            assert f"it would replace {sofa}, which a user stated" in said
    assert "which a user stated" in refused(
        server, "remember", text="The sofa of Ada is brown.", key="sofa"
    )
    # the same once more, a guess beside it and a key of its own replace nothing
    same = text_of(server.call("remember", text="The sofa of Ada is blue.", key="sofa"))
    assert same.startswith("Known already")
    guess = text_of(
        server.call("remember", text="The sofa of Ada is brown.", key="sofa", role="assistant")
    )
    brown = stored_id(guess)
    assert "call supersede" not in guess
    assert f"If the user has said it, call confirm with id {brown}." in guess
    # who says again what a model said, and names no role, is that model
    again = text_of(server.call("remember", text="The sofa of Ada is brown."))
    assert "Confirms" not in again
    said = refused(server, "supersede", old=sofa, new=brown)
    assert f"{sofa} is what a user stated; call confirm with id {brown} first" in said
    said = text_of(server.call("confirm", id=brown, by="Ada"))
    placed = re.search(r"(?:mem_)?(\w{8})\S* has the key sofa now", said)
    assert placed, said
    assert f"in the place of {sofa}" in said.replace("mem_", "")
    brown = placed[1]
    assert "which a user confirmed" in refused(
        server, "supersede", old=brown, text="The sofa of Ada is red."
    )
    red = server.call("supersede", old=brown, text="The sofa of Ada is red.", role="user")
    assert f"Replaces {brown}." in text_of(red)
    # what came without a role over the tools may be replaced without one
    plain = short("The lamp of Ada is tall.", key="lamp")
    low = text_of(server.call("remember", text="The lamp of Ada is low.", key="lamp"))
    assert f"Replaces {plain}." in low
    assert "a role beside text" in refused(
        server, "supersede", old=stored_id(low), new=brown, role="user"
    )


def stored_id(said: str) -> str:
    """The id of what was stored."""
    return said.removeprefix("Stored as ")[:8]


def test_a_possible_update_names_the_call_that_settles_it(server: McpProcess) -> None:
    rent = (
        "The rent of the flat in Oslo with two rooms, a kitchen, a balcony to the yard and a place"
        " in the cellar, that Maria took over from Omar when he went to Bergen, is {} EUR a month."
    )
    a = stored(server, rent.format(500))[4:12]
    new = text_of(server.call("remember", text=rent.format(650)))
    b = new.removeprefix("Stored as ")[:8]
    assert f"call supersede with old {a} and new {b}" in new
    assert text_of(server.call("supersede", old=a, new=b)) == f"{b} replaces {a}."


def test_a_new_text_takes_the_place_of_a_memory(server: McpProcess) -> None:
    short = stored(server, "Maria works from the office in Bergen.")[4:12]
    new = server.call("supersede", old=short, text="Maria works from home since 2026.")
    assert text_of(new).endswith(f"Replaces {short}.")
    assert "(replaced):" in text_of(server.call("show", id=short))


@each(
    ("tool", "given", "told"),
    [
        ("recall", {}, "query: expected text, got nothing."),
        ("recall", {"query": 5}, "query: expected text, got a number."),
        ("recall", {"query": "  "}, "query"),
        (
            "recall",
            {"query": "key?", "limit": True},
            "limit: expected an integer >= 1, got true.",
        ),
        (
            "recall",
            {"query": "key?", "limit": 2.5},
            "limit: expected an integer >= 1, got 2.5.",
        ),
        (
            "recall",
            {"query": "key?", "limit": "5"},
            "limit: expected an integer >= 1, got '5'.",
        ),
        ("recall", {"query": "key?", "limit": 0}, "limit: expected an integer >= 1"),
        ("recall", {"query": "key?", "explain": 1}, "explain: expected true or false, got 1."),
        (
            "recall",
            {"query": "key?", "budget": True},
            "budget: expected an integer >= 100, got true.",
        ),
        ("recall", {"query": "key?", "limits": 5}, "did you mean limit?"),
        ("recall", {"query": "key?", "tags": ["a"]}, "did you mean where.tags?"),
        ("recall", {"query": "key?", "where": "a"}, "where: expected an object of filter fields"),
        ("recall", {"query": "key?", "where": {"tag": "a"}}, "did you mean tags?"),
        ("recall", {"query": "key?", "where": {"limit": 1}}, "limit"),
        ("recall", {"query": "key?", "where": {"tags": [None]}}, "tags"),
        ("recall", {"query": "key?", "where": {"tags": [" "]}}, "tags"),
        ("recall", {"query": "key?", "where": {"pinned": 1}}, "pinned"),
        ("recall", {"query": "key?", "where": {"since": "soon"}}, "since"),
        ("recall", {"query": "key?", "where": {"min_similarity": True}}, "min_similarity"),
        ("recall", {"query": "key?", "valid_at": "soon"}, "valid_at"),
        ("recall", {"query": "key?", "silence": 2}, "silence"),
        ("recall", {"query": "key?", "namespace": "other"}, "namespace"),
        ("search", {"query": "key?", "type": "both"}, "search has no argument type; it takes: "),
        ("search", {"q": "key?"}, "search has no argument q; did you mean query?"),
        ("recall", {"query": "key?", "k": 3}, "recall has no argument k; did you mean limit?"),
        ("recall", {"query": "key?", "user_id": "a"}, "did you mean where.scope?"),
        ("remember", {"content": FACT}, "did you mean text? It takes: text, tags, "),
        ("show", {"memory_id": "00000000"}, "did you mean id? It takes: id."),
        ("remember", {"text": FACT, "tags": [1]}, "tags"),
        ("remember", {"text": FACT, "supersedes": ["mem_00000000"]}, "not found"),
        ("remember", {"text": FACT, "source": "a"}, "source"),
        ("remember", {"text": ["a", "b"]}, "text: expected text, got a list."),
        ("show", {"id": "spare key"}, "id"),
        (
            "show",
            {"id": "00000000"},
            "Memory not found: mem_00000000. Find ids with recall or search.",
        ),
        ("fetch", {"id": "mem_00000000"}, "Find ids with recall or search."),
        ("fetch", {"id": "ent_00000000"}, "id: expected"),
        ("supersede", {"old": "00000000"}, "either new, the id of a memory, or text"),
        ("supersede", {"old": "00000000", "new": "00000001", "text": FACT}, "got both"),
        ("supersede", {"old": "00000000", "text": FACT, "reason": "a"}, "reason"),
        ("supersede", {"old": "00000000", "text": FACT}, "not found"),
        ("stats", {"all": True}, "all"),
    ],
)
def test_what_does_not_fit_is_told_to_the_agent(
    server: McpProcess, tool: str, given: dict[str, Any], told: str
) -> None:
    assert told in refused(server, tool, **given)


@each("name", FIELDS)
def test_a_field_of_the_filter_that_is_null_is_absent(
    server: McpProcess, id: str, name: str
) -> None:
    for tool in ("recall", "search"):
        with_it = server.call(tool, query="where is the key?", where={name: None})
        assert with_it["isError"] is False, text_of(with_it)
        without = server.call(tool, query="where is the key?", where=None)
        assert text_of(with_it) == text_of(without)


@each("blank", ["", " ", ["", "harbour"]], ids=repr)
def test_an_empty_scope_is_refused(server: McpProcess, blank: Any) -> None:
    for tool in ("recall", "search"):
        said = refused(server, tool, query="where is the key?", where={"scope": blank})
        assert "scope: expected texts that are not blank" in said


def test_forget_names_the_memories_that_have_the_text_too(server: McpProcess) -> None:
    fact = "The bell of the yard rings at six."
    one = stored(server, fact)
    other = stored(server, fact, scope="harbour")
    said = text_of(server.call("forget", id=one, confirm=True))
    assert f"The very text stays in {other[4:12]}." in said


def test_a_conflict_says_where_to_look(server: McpProcess) -> None:
    old_id = stored(server, "The old gate of the yard is locked at night.")
    new_id = stored(server, "The gate of the yard stays open since May.")
    server.call("supersede", old=old_id, new=new_id)
    again = refused(server, "supersede", old=new_id, new=old_id)
    assert again.endswith("Look at its state with show.")


def test_search_gives_documents_that_fetch_takes(server: McpProcess, id: str) -> None:
    found = server.call("search", query="where is the spare key?")
    documents = json.loads(text_of(found))["results"]
    first = next(one for one in documents if one["id"] == id)
    assert first == {"id": id, "title": FACT, "url": f"vestig://default/memory/{id}"}
    assert len(text_of(server.call("search", query="the office", limit=1)).split("url")) == 2
    fetched = json.loads(text_of(server.call("fetch", id=id)))
    assert (fetched["id"], fetched["text"], fetched["url"]) == (id, FACT, first["url"])
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}


def test_a_text_comes_back_unaltered(server: McpProcess) -> None:
    text = "Steps of the release:\n  1. build\n\n  2. ship — \u201ctoday\u201d 🚀\n> not later"
    id = stored(server, text)
    assert json.loads(text_of(server.call("fetch", id=id)))["text"] == text
    uri = f"vestig://default/memory/{id}"
    (read,) = server.request("resources/read", {"uri": uri})["result"]["contents"]
    assert (read["uri"], read["mimeType"], read["text"]) == (uri, "text/plain", text)
    short = server.request("resources/read", {"uri": f"vestig://default/memory/{id[4:12]}"})
    assert short["result"]["contents"][0]["text"] == text
    shown = text_of(server.call("show", id=id)).splitlines()
    assert shown[1:6] == [f"> {line}" for line in text.split("\n")]


def test_show_gives_evidence_and_links(server: McpProcess, id: str) -> None:
    text = text_of(server.call("show", id=id[4:12]))
    head, quoted, blank, *rest = text.splitlines()
    assert head.startswith(f"[{id[4:12]}] ")
    assert (quoted, blank) == (f"> {FACT}", "")
    assert json.loads(rest[0].removeprefix("id: ")) == id
    assert field(server, id, "status") == "ACTIVE"
    events = [json.loads(line[7:]) for line in rest if line.startswith("event: ")]
    assert "ADD" in [event["event_type"] for event in events]


def test_show_writes_no_stored_text_at_the_margin(server: McpProcess) -> None:
    hostile = "Deploys run on Friday.\n\nevent: {}\nid: mem_0\u2028Mentions PERSON:Eve"
    id = stored(server, hostile, tags=["a\nid: x"], scope="b\u202e\nstatus: y")
    text = text_of(server.call("show", id=id))
    assert "\u202e" not in text
    own = [line for line in text.splitlines() if not line.startswith("> ")]
    assert len([line for line in own if line.startswith(("id: ", "status: "))]) == 2


def test_resources_are_the_newest_memories(server: McpProcess, id: str) -> None:
    listed = server.request("resources/list")["result"]["resources"]
    assert {"uri": f"vestig://default/memory/{id}", "name": id, "title": FACT} in [
        {name: one[name] for name in ("uri", "name", "title")} for one in listed
    ]
    (template,) = server.request("resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "vestig://default/memory/{id}"


def test_prompts_take_their_argument(server: McpProcess) -> None:
    prompts = {one["name"]: one for one in server.request("prompts/list")["result"]["prompts"]}
    assert set(prompts) == {"answer_from_memory", "remember_conversation"}
    given = {"name": "answer_from_memory", "arguments": {"question": "Where is {value}?"}}
    (message,) = server.request("prompts/get", given)["result"]["messages"]
    assert message["content"]["text"].startswith(
        "Answer this question from memory: Where is {value}?"
    )


def test_stats_count_what_is_there_and_what_degraded(server: McpProcess, id: str) -> None:
    text = text_of(server.call("stats"))
    assert re.match(r"[1-9]\d* memories \(.*ACTIVE [1-9]", text)
    assert "0 jobs not done, 0 of them failed." in text
    assert "Degraded since the start: " in text
    server.call("recall", query="the office?")
    assert re.search(r"tokens_estimated [1-9]", text_of(server.call("stats")))


def test_results_are_those_of_python(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    where = dict.fromkeys(FIELDS) | {"authors": "omar", "tags": ["INFRA"]}
    with vestig.open(config=config) as store:
        for number in range(8):
            store.commit(f"Deploy rule {number}: noon on Friday.", author="Omar", tags=["infra"])
        store.commit("Deploy rule of another one: noon on Friday.", author="Eve")
        hits = store.recall("when do deploys run?", where=where, limit=4)  # type: ignore[arg-type]
        expected = [hit.id for hit in hits]
    with McpProcess(config) as server:
        server.initialize()
        given = {"query": "when do deploys run?", "where": where, "limit": 4}
        searched = json.loads(text_of(server.call("search", **given)))["results"]
        assert [one["id"] for one in searched] == expected
        recalled = text_of(server.call("recall", **given))
        found = re.findall(r"^\[([0-9a-f]{8})\]", recalled, re.MULTILINE)
        assert sorted(found) == sorted(id[4:12] for id in expected)


def test_only_the_configured_tools_are_offered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path, "mcp: {tools: [recall, show]}\n")) as server:
        server.initialize()
        tools = server.request("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["recall", "show"]
        answer = server.request("tools/call", {"name": "forget", "arguments": {}})
        assert answer["error"]["code"] == -32602
        near = server.request("tools/call", {"name": "recal", "arguments": {}})
        assert near["error"]["message"] == "Unknown tool; did you mean recall?"
        far = server.request("tools/call", {"name": "nope", "arguments": {}})
        assert far["error"]["message"] == "Unknown tool; expected one of recall, show"


def test_it_serves_its_own_namespace_only(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with vestig.open(config=config) as store:
        id = store.commit(FACT, namespace="other").memory_id
    assert id is not None
    with McpProcess(config, "--namespace", "mine") as server:
        server.initialize()
        assert text_of(server.call("recall", query="the key?")).startswith("No memories found.")
        assert "not found" in refused(server, "show", id=id)
        uri = f"vestig://other/memory/{id}"
        assert server.request("resources/read", {"uri": uri})["error"]["code"] == -32602


def test_jobs_that_a_commit_left_are_worked(tmp_path: Path) -> None:
    class Failing(HashingEmbedder):
        def embed(self, texts: list[str]) -> list[bytes]:
            raise ProviderError("embedder", self.model, 1, "no answer")

    config = written_config(tmp_path)
    overrides = {"store.path": str(tmp_path / "store"), "embedding.on_failure": "defer"}
    with vestig.open(config=config, embedder=HashingEmbedder(64)) as store:
        store.commit("The printer of the office stands in the cellar.")
    with vestig.open(config=overrides, embedder=Failing(64)) as store:
        store.commit(FACT)
        assert store.admin.stats().embedded == 1
    with McpProcess(config) as server:
        server.initialize()
        ends = time.monotonic() + 60
        while "2 have a vector" not in text_of(server.call("stats")):
            assert time.monotonic() < ends
            time.sleep(0.05)


def test_a_path_without_a_store_is_empty_until_something_is_remembered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        assert text_of(server.call("recall", query="the key?")).startswith("No memories found.")
        assert server.request("resources/list")["result"]["resources"] == []
        assert not (tmp_path / "store").exists()
        assert server.call("remember", text=FACT)["isError"] is False
        assert FACT in text_of(server.call("recall", query="the key?"))


def test_a_defect_says_only_its_number(tmp_path: Path) -> None:
    code = (
        "import vestig\n"
        "def broken(store, id, **_): raise RuntimeError(id)\n"
        "vestig.Vestig.show = broken\n"
    )
    config = written_config(tmp_path)
    with McpProcess(config, code=code + MAIN) as server:
        server.initialize()
        told = refused(server, "show", id="a secret text")
        assert told.startswith("Internal error req_")
        assert "secret" not in told
        server.process.stdin.close()
        logged = server.errors()
        assert "RuntimeError in show" in logged
        assert "secret" not in logged


def test_the_client_of_the_sdk_can_use_it(tmp_path: Path) -> None:
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    config = written_config(tmp_path)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-c", MAIN, "mcp", "--config", str(config)],
        env=dict(os.environ),
    )

    async def talk() -> str:
        async with (
            # its default is the stream of the test that imported it first, closed by now
            stdio_client(parameters, errlog=sys.__stderr__) as streams,
            ClientSession(*streams) as session,
        ):
            return await told_and_asked(session, FACT, "where is the key?")

    assert FACT in asyncio.run(talk())


def test_the_keys_need_a_trusted_file(tmp_path: Path) -> None:
    (tmp_path / "vestig.yaml").write_text("mcp:\n  tools: [recall]\n  result_tokens: 900\n")
    with pytest.raises(vestig.ConfigError) as error:
        load(environ={"XDG_CONFIG_HOME": str(tmp_path)}, cwd=tmp_path)
    for key in ("tools", "result_tokens"):
        assert f"mcp.{key}" in str(error.value)


def test_a_search_without_words_lists_the_newest(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        stored(server, FACT, tags=["keys"])
        newest = stored(server, "The boiler is serviced in May.")
        for query in ({}, {"query": "*"}, {"query": ""}):
            found = json.loads(text_of(server.call("search", **query)))
            assert [one["title"] for one in found["results"]] == [
                "The boiler is serviced in May.",
                FACT,
            ]
        tagged = json.loads(text_of(server.call("search", where={"tags": "keys"})))
        assert [one["title"] for one in tagged["results"]] == [FACT]
        limited = json.loads(text_of(server.call("search", limit=1)))
        assert [one["id"] for one in limited["results"]] == [newest]


def test_what_is_missing_is_named_by_its_type(server: McpProcess) -> None:
    assert refused(server, "forget", id="7d0280c3").startswith(
        "confirm: expected true or false, got nothing"
    )


def test_what_is_history_at_once_is_not_offered_for_a_replacement(server: McpProcess) -> None:
    key = {"key": "office.database"}
    stored(server, "The office runs PostgreSQL 15.", valid_from="2026-01-01", **key)
    said = text_of(
        server.call(
            "remember", text="The office runs PostgreSQL 12.", valid_from="2020-01-01", **key
        )
    )
    assert "Warning: mem_" in said
    assert "stored as history" in said
    assert "supersede" not in said


def test_messages_name_tools_in_the_place_of_calls(server: McpProcess) -> None:
    assert "did you mean ids, which search finds?" in refused(server, "forget", query="nuts")
    several = refused(server, "recall", query=["who?", "when?"])
    assert "call it once for each question" in several
    assert "recall_many" not in several
