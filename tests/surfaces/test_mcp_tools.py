"""The tools, resources and prompts of `vestig mcp`, as a client sees them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import vestig
from mcp_process import MAIN, McpProcess, text_of, told_and_asked, written_config
from vestig.config import load
from vestig.errors import ProviderError
from vestig.filters import FIELDS
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
    found = server.call("remember", text=FACT)["structuredContent"]["id"]
    assert isinstance(found, str)
    return found


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
        assert notes["idempotentHint"] is (name in READING | {"forget"})
        assert notes["openWorldHint"] is False
        assert tool["title"] == notes["title"]


def test_descriptions_are_short_and_say_when_not_to_use_a_tool(listed: dict[str, Any]) -> None:
    for tool in listed.values():
        assert len(tool["description"].split()) < 80
        assert any(word in tool["description"] for word in ("Not for", "use recall", "Only when"))


def test_schemas_are_valid_and_closed(listed: dict[str, Any]) -> None:
    for tool in listed.values():
        for schema in (tool["inputSchema"], tool.get("outputSchema", {})):
            jsonschema.Draft202012Validator.check_schema(schema)
        assert tool["inputSchema"]["additionalProperties"] is False
        for name, row in tool["inputSchema"]["properties"].items():
            assert row["description"], name
    assert all("outputSchema" in tool for name, tool in listed.items() if name != "fetch")


def test_the_filter_is_one_definition_with_every_field(listed: dict[str, Any]) -> None:
    filters = [
        tool["inputSchema"]["$defs"]["Where"]
        for tool in listed.values()
        if "where" in tool["inputSchema"]["properties"]
    ]
    assert len(filters) == 3
    for found in filters:
        assert found == filters[0]
        assert list(found["properties"]) == list(FIELDS)
    for tool in listed.values():
        beside = set(tool["inputSchema"]["properties"]) & set(FIELDS)
        assert beside <= {"tags", "scope"}
        assert not (beside and "where" in tool["inputSchema"]["properties"])


def test_a_conversation_gets_its_facts_once_and_quoted(server: McpProcess, id: str) -> None:
    result = server.call(
        "retrieve", messages=[{"author": "ann", "content": "Where is the spare key of the office?"}]
    )
    text, content = text_of(result), result["structuredContent"]
    assert text.startswith(f"confidence: {content['confidence']} ")
    assert next(line for line in text.splitlines() if FACT in line).startswith("> ")
    assert FACT not in json.dumps(content)
    assert content["facts_returned"] >= 1
    told = refused(server, "retrieve", messages=[])
    assert "messages" in told


def test_every_result_fits_its_schema(server: McpProcess, listed: dict[str, Any], id: str) -> None:
    results = {
        "recall": server.call("recall", query="where is the key?", explain=True),
        "search": server.call("search", query="where is the key?"),
        "retrieve": server.call("retrieve", messages=[{"content": "Where is the spare key?"}]),
        "show": server.call("show", id=id),
        "stats": server.call("stats"),
    }
    other = server.call("remember", text="The printer of the office stands in the cellar.")
    results["remember"] = other
    new = other["structuredContent"]["id"]
    results["supersede"] = server.call("supersede", old=id, new=new, reason="it moved")
    results["forget"] = server.call("forget", id=new, confirm=True)
    for name, result in results.items():
        assert result["isError"] is False, text_of(result)
        jsonschema.validate(result["structuredContent"], listed[name]["outputSchema"])
    assert set(results) == {name for name in listed if "outputSchema" in listed[name]}


def test_a_fact_is_remembered_once(server: McpProcess) -> None:
    text = "Deploys of the billing service run on Fridays at noon."
    first = server.call("remember", text=text, tags=["infra"], valid_from="2026-03-01", scope="ops")
    again = server.call("remember", text=text, scope="ops")
    id = first["structuredContent"]["id"]
    assert first["structuredContent"]["outcome"] == "INSERTED_NEW"
    assert text_of(first) == f"Stored as {id[4:12]}."
    assert again["structuredContent"]["outcome"] == "EXACT_DUPE"
    assert text_of(again) == f"Known already as {id[4:12]}: counted as said once more."
    fields = server.call("show", id=id)["structuredContent"]["fields"]
    assert (fields["scope"], fields["t_valid"]) == ("ops", "2026-03-01T00:00:00.000000Z")
    assert fields["metadata"] == {"source": "mcp", "tags": ["infra"]}


def test_a_refused_text_is_an_outcome_and_no_error(server: McpProcess) -> None:
    result = server.call("remember", text="ok")
    assert result["isError"] is False
    assert result["structuredContent"]["outcome"] == "REJECTED_HYGIENE"
    assert result["structuredContent"]["hygiene_reasons"]
    assert text_of(result).startswith("Not stored: Content too short")


def test_a_possible_update_names_the_call_that_settles_it(server: McpProcess) -> None:
    rent = (
        "The rent of the flat in Oslo with two rooms, a kitchen, a balcony to the yard and a place"
        " in the cellar, that Maria took over from Omar when he went to Bergen, is {} EUR a month."
    )
    old = server.call("remember", text=rent.format(500))
    new = server.call("remember", text=rent.format(650))
    update = new["structuredContent"]["possible_update_of"]
    assert update["memory_id"] == old["structuredContent"]["id"]
    a, b = (one["structuredContent"]["id"][4:12] for one in (old, new))
    assert f"call supersede with old {a} and new {b}" in text_of(new)
    assert text_of(server.call("supersede", old=a, new=b)) == f"{b} replaces {a}."


def test_a_new_text_takes_the_place_of_a_memory(server: McpProcess) -> None:
    old = server.call("remember", text="Maria works from the office in Bergen.")
    short = old["structuredContent"]["id"][4:12]
    new = server.call("supersede", old=short, text="Maria works from home since 2026.")
    assert text_of(new).endswith(f"Replaces {short}.")
    assert "(replaced):" in text_of(server.call("show", id=short))


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("recall", {}, "query: expected text, got 'nothing'."),
        ("recall", {"query": 5}, "query: expected text, got 'int'."),
        ("recall", {"query": "  "}, "query"),
        ("recall", {"query": "key?", "limit": True}, "limit: expected an integer, got 'bool'."),
        ("recall", {"query": "key?", "limit": 2.5}, "limit: expected an integer, got 'float'."),
        ("recall", {"query": "key?", "limit": "5"}, "limit: expected an integer, got 'str'."),
        ("recall", {"query": "key?", "limit": 0}, "limit: expected an integer >= 1"),
        ("recall", {"query": "key?", "explain": 1}, "explain: expected true or false, got 'int'."),
        ("recall", {"query": "key?", "budget": True}, "budget: expected an integer, got 'bool'."),
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
        ("recall", {"query": "key?", "as_of": "soon"}, "as_of"),
        ("recall", {"query": "key?", "min_confidence": 2}, "min_confidence"),
        ("recall", {"query": "key?", "namespace": "other"}, "namespace"),
        ("search", {"query": "key?", "type": "both"}, "one of vector, graph, hybrid"),
        ("search", {"query": "key?", "depth": -1}, "depth"),
        ("search", {"type": "graph"}, "seed"),
        ("remember", {"text": FACT, "tags": [1]}, "tags"),
        ("remember", {"text": FACT, "supersedes": ["mem_00000000"]}, "not found"),
        ("remember", {"text": FACT, "source": "a"}, "source"),
        ("remember", {"text": ["a", "b"]}, "text: expected text, got 'list'."),
        ("show", {"id": "spare key"}, "id"),
        (
            "show",
            {"id": "00000000"},
            "Memory not found: mem_00000000. Find ids with recall or search.",
        ),
        ("fetch", {"id": "mem_00000000"}, "Find ids with recall or search."),
        ("fetch", {"id": "ent_00000000"}, "not found"),
        ("supersede", {"old": "00000000"}, "either new, the id of a memory, or text"),
        ("supersede", {"old": "00000000", "new": "00000001", "text": FACT}, "got 'both'"),
        ("supersede", {"old": "00000000", "text": FACT, "reason": "a"}, "reason"),
        ("supersede", {"old": "00000000", "text": FACT}, "not found"),
        ("stats", {"all": True}, "all"),
    ],
)
def test_what_does_not_fit_is_told_to_the_agent(
    server: McpProcess, tool: str, given: dict[str, Any], told: str
) -> None:
    assert told in refused(server, tool, **given)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [None, "", [], {}], ids=["null", "text", "list", "object"])
def test_a_field_of_the_filter_that_is_empty_is_absent(
    server: McpProcess, id: str, field: str, value: Any
) -> None:
    for tool in ("recall", "search"):
        with_it = server.call(tool, query="where is the key?", where={field: value})
        assert with_it["isError"] is False, text_of(with_it)
        without = server.call(tool, query="where is the key?", where=None)
        assert with_it["structuredContent"] == without["structuredContent"]


def test_a_conflict_says_where_to_look(server: McpProcess) -> None:
    old = server.call("remember", text="The old gate of the yard is locked at night.")
    new = server.call("remember", text="The gate of the yard stays open since May.")
    old_id, new_id = (one["structuredContent"]["id"] for one in (old, new))
    server.call("supersede", old=old_id, new=new_id)
    again = refused(server, "supersede", old=new_id, new=old_id)
    assert again.endswith("Look at its state with show.")


def test_search_gives_documents_that_fetch_takes(server: McpProcess, id: str) -> None:
    found = server.call("search", query="where is the spare key?", type="vector")
    documents = json.loads(text_of(found))["results"]
    first = next(one for one in documents if one["id"] == id)
    assert first == {"id": id, "title": FACT, "url": f"vestig://default/memory/{id}"}
    assert [hit["id"] for hit in found["structuredContent"]["hits"]] == [
        one["id"] for one in documents
    ]
    fetched = json.loads(text_of(server.call("fetch", id=id)))
    assert (fetched["id"], fetched["text"], fetched["url"]) == (id, FACT, first["url"])
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}


def test_an_entity_that_was_found_can_be_fetched(server: McpProcess) -> None:
    server.call("remember", text="Ravi Shankar leads the project Atlas in Lisbon.")
    found = server.call("search", query="Ravi Shankar", where={"kinds": "ENTITY"})
    (entity, *_) = json.loads(text_of(found))["results"]
    assert entity["url"].startswith("vestig://default/entity/ent_")
    fetched = json.loads(text_of(server.call("fetch", id=entity["id"])))
    assert fetched["title"] == entity["title"]
    assert "Mentioned by: " in fetched["text"]
    read = server.request("resources/read", {"uri": entity["url"]})["result"]["contents"]
    assert read[0]["text"] == fetched["text"]


def test_a_text_comes_back_unaltered(server: McpProcess) -> None:
    text = "Steps of the release:\n  1. build\n\n  2. ship — \u201ctoday\u201d 🚀\n> not later"
    id = server.call("remember", text=text)["structuredContent"]["id"]
    assert json.loads(text_of(server.call("fetch", id=id)))["text"] == text
    uri = f"vestig://default/memory/{id}"
    (read,) = server.request("resources/read", {"uri": uri})["result"]["contents"]
    assert (read["uri"], read["mimeType"], read["text"]) == (uri, "text/plain", text)
    short = server.request("resources/read", {"uri": f"vestig://default/memory/{id[4:12]}"})
    assert short["result"]["contents"][0]["text"] == text
    shown = text_of(server.call("show", id=id)).splitlines()
    assert shown[1:6] == [f"> {line}" for line in text.split("\n")]


def test_show_gives_evidence_and_links_without_the_text_twice(server: McpProcess, id: str) -> None:
    result = server.call("show", id=id[4:12])
    content = result["structuredContent"]
    assert content["id"] == id
    assert content["events"][0]["event_type"] == "ADD"
    assert FACT not in json.dumps(content)
    assert text_of(result).count(FACT) == 1
    assert content["fields"]["status"] == "ACTIVE"


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
    content = server.call("stats")["structuredContent"]
    assert content["memories"] >= 1
    assert content["statuses"]["ACTIVE"] >= 1
    assert "projection" not in content


def test_results_are_those_of_python(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    where = dict.fromkeys(FIELDS) | {"authors": "omar", "tags": ["INFRA"]}
    with vestig.open(config=config) as store:
        for number in range(8):
            store.commit(f"Deploy rule {number}: noon on Friday.", author="Omar", tags=["infra"])
        store.commit("Deploy rule of another one: noon on Friday.", author="Eve")
        hits = store.recall("when do deploys run?", where=where, limit=4)  # type: ignore[arg-type]
        expected = [(hit.id[4:12], round(hit.score, 4)) for hit in hits]
        found = store.search("when do deploys run?", where=where)  # type: ignore[arg-type]
    with McpProcess(config) as server:
        server.initialize()
        given = {"query": "when do deploys run?", "where": where}
        recalled = server.call("recall", **given, limit=4)["structuredContent"]["results"]
        assert [(one["id"], one["score"]) for one in recalled] == expected
        searched = server.call("search", **given)["structuredContent"]["hits"]
        assert [(one["id"], one["score"]) for one in searched] == [
            (hit.node_id, hit.score) for hit in found
        ]


def test_only_the_configured_tools_are_offered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path, "mcp: {tools: [recall, show]}\n")) as server:
        server.initialize()
        tools = server.request("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["recall", "show"]
        answer = server.request("tools/call", {"name": "forget", "arguments": {}})
        assert answer["error"]["code"] == -32602
        near = server.request("tools/call", {"name": "recal", "arguments": {}})
        assert near["error"]["message"] == "Unknown tool; the nearest is recall"


def test_it_serves_its_own_namespace_only(tmp_path: Path) -> None:
    config = written_config(tmp_path)
    with vestig.open(config=config) as store:
        id = store.commit(FACT, namespace="other").memory_id
    assert id is not None
    with McpProcess(config, "--namespace", "mine") as server:
        server.initialize()
        assert server.call("recall", query="the key?")["structuredContent"]["results"] == []
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
        while server.call("stats")["structuredContent"]["embedded"] < 2:
            assert time.monotonic() < ends
            time.sleep(0.05)


def test_a_path_without_a_store_is_empty_until_something_is_remembered(tmp_path: Path) -> None:
    with McpProcess(written_config(tmp_path)) as server:
        server.initialize()
        assert text_of(server.call("recall", query="the key?")) == "No memories found."
        assert server.request("resources/list")["result"]["resources"] == []
        assert not (tmp_path / "store").exists()
        assert server.call("remember", text=FACT)["isError"] is False
        assert FACT in text_of(server.call("recall", query="the key?"))


def test_a_defect_says_only_its_number(tmp_path: Path) -> None:
    code = (
        "import vestig.surfaces.mcp.answers as answers\n"
        "def broken(at, given): raise RuntimeError(given['id'])\n"
        "answers.show = broken\n"
        "import sys; sys.argv[1:] = ['mcp', '--config', 'mcp.yaml']\n"
    )
    config = written_config(tmp_path)
    with McpProcess(config, command=[sys.executable, "-c", code + MAIN]) as server:
        server.initialize()
        told = refused(server, "show", id="a secret text")
        assert told.startswith("Internal error req_")
        assert "secret" not in told
        assert server.process.stdin is not None
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
    written = {"tools": "[recall]", "transport": "http", "host": "::1", "port": 1}
    lines = [f"  {key}: {value}\n" for key, value in (written | {"result_tokens": 900}).items()]
    (tmp_path / "vestig.yaml").write_text("mcp:\n" + "".join(lines))
    with pytest.raises(vestig.ConfigError) as error:
        load(environ={"XDG_CONFIG_HOME": str(tmp_path)}, cwd=tmp_path)
    for key in ("tools", "transport", "host", "port", "result_tokens"):
        assert f"mcp.{key}" in str(error.value)
