"""Memories of other programs and tables: what each field becomes, and what a broken row costs."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chats import as_file, as_lines, said, store_of, texts
from tables import each

MEM0: list[Any] = [
    {
        "id": "mem-1", "memory": "Ann prefers larch for planks", "hash": "ab12",
        "metadata": {"room": "boathouse", "source": "app"}, "user_id": "ann",
        "agent_id": "helper", "run_id": None, "categories": ["materials", "boats"],
        "created_at": "2026-02-03T04:05:06.700000-08:00", "updated_at": None,
    },
    {"id": "mem-2", "memory": "Ben is allergic to tar", "user_id": "ben", "metadata": None},
    {"memory": "The shed key hangs behind the door", "user_id": "ann"},
]  # fmt: skip


@pytest.mark.parametrize(
    "file",
    [
        as_file({"count": 3, "next": None, "previous": None, "results": MEM0}),
        as_file(MEM0, indent=2),
        as_lines(*MEM0),
    ],
    ids=["results", "array", "lines"],
)
def test_memories_of_mem0(file: io.BytesIO) -> None:
    store, report = store_of(file)
    assert (report.format, report.lines, report.imported) == ("mem0", 3, 3)
    first = next(one for one in store.list() if "larch" in one.content)
    assert (first.scope, first.metadata["tags"]) == ("ann", ["materials", "boats"])
    assert first.metadata["room"] == "boathouse"
    assert (first.metadata["hash"], first.metadata["original_source"]) == ("ab12", "app")
    assert first.t_valid == datetime(2026, 2, 3, 12, 5, 6, 700_000, UTC)
    assert store.events(first.id)[0].artifact_ref == "mem-1"
    assert {one.scope for one in store.list()} == {"ann", "ben"}
    again = store.import_(file)
    assert (again.imported, again.skipped) == (0, 3)


def test_a_scope_that_is_named_is_that_of_all_and_a_graph_is_counted() -> None:
    given = {"results": MEM0, "relations": [{"source": "ann", "target": "larch"}]}
    store, report = store_of(as_file(given), scope="boats")
    assert {one.scope for one in store.list()} == {"boats"}
    assert report.left_out == {"relation of the graph": 1}


def mem0(**changes: Any) -> dict[str, Any]:
    changed = {"id": "mem-x", "memory": "The tar is in the cellar", "user_id": "ann", **changes}
    return {key: value for key, value in changed.items() if value is not ...}


BROKEN_MEM0: dict[str, tuple[Any, str]] = {
    "no text": (mem0(memory=...), 'no text under "memory"'),
    "a null": (mem0(memory=None), 'no text under "memory"'),
    "text is a list": (mem0(memory=["a"]), "memory: expected text"),
    "metadata is text": (mem0(metadata="a"), "metadata: expected an object"),
    "categories are text": (mem0(categories="a"), "categories: expected a list"),
    "a category is a number": (mem0(categories=[1]), "categories"),
    "user is a list": (mem0(user_id=["a"]), "user_id: expected text"),
    "time is no time": (mem0(created_at="soon"), "t_ref"),
    "time is a list": (mem0(created_at=[]), "created_at"),
    "id is an object": (mem0(id={}), "id: expected text"),
    "words": ("hello", "expected a JSON object"),
    "too deep": (mem0(x=json.loads("[" * 80 + "]" * 80)), "64 levels"),
}


@each("name", BROKEN_MEM0)
def test_a_broken_memory_of_mem0_costs_itself(name: str) -> None:
    broken, fact = BROKEN_MEM0[name]
    _, report = store_of(as_lines(MEM0[0], broken, MEM0[1]), format="mem0")
    assert (report.imported, report.failed, report.lines) == (2, 1, 3)
    assert report.errors[0].message.startswith("line 2: ")
    assert fact in report.errors[0].message
    assert "cellar" not in report.errors[0].message


GRAPH: list[Any] = [
    {"type": "entity", "name": "Ann Berg", "entityType": "person",
     "observations": ["builds boats", "lives in Bergen"]},
    {"type": "entity", "name": "Berg Boats", "entityType": "organization", "observations": []},
    {"type": "entity", "name": "Larch Hull", "entityType": "boat part",
     "observations": ["is 9 metres long"]},
    {"type": "relation", "from": "Ann Berg", "to": "Berg Boats", "relationType": "works at"},
    {"type": "relation", "from": "Berg Boats", "to": "Larch Hull", "relationType": "builds"},
]  # fmt: skip


def whole_graph() -> dict[str, Any]:
    return {
        "entities": [
            {key: value for key, value in one.items() if key != "type"} for one in GRAPH[:3]
        ],
        "relations": [
            {key: value for key, value in one.items() if key != "type"} for one in GRAPH[3:]
        ],
    }


@pytest.mark.parametrize(
    "file",
    [as_lines(*GRAPH), as_lines(*reversed(GRAPH)), as_file(whole_graph(), indent=2)],
    ids=["lines", "relations first", "whole graph"],
)
def test_a_file_of_the_memory_server(file: io.BytesIO) -> None:
    store, report = store_of(file)
    assert (report.format, report.failed, report.memories) == ("mcp-memory", 0, 3)
    assert report.lines == report.imported == 8
    assert texts(store) == {
        "Ann Berg: builds boats",
        "Ann Berg: lives in Bergen",
        "Larch Hull: is 9 metres long",
    }
    named = {one.entity.canonical_name: one for one in store.graph.entities(limit=50).entities}
    ann, hull = named["Ann Berg"], named["Larch Hull"]
    assert (ann.entity.entity_type, ann.entity.origin, ann.mentions) == ("PERSON", "manual", 2)
    assert (hull.entity.entity_type, hull.mentions) == ("BOAT PART", 1)
    edges = store.graph.edges(edge_type="RELATION").edges
    assert {(one.from_label, one.edge.relation, one.to_label) for one in edges} == {
        ("PERSON:Ann Berg", "WORKS_AT", "ORGANIZATION:Berg Boats"),
        ("ORGANIZATION:Berg Boats", "BUILDS", "BOAT PART:Larch Hull"),
    }
    assert {one.edge.origin for one in edges} == {"caller"}
    before = store.admin.stats().seq
    again = store.import_(file)
    assert (again.imported, again.skipped, again.lines) == (0, 8, 8)
    assert store.admin.stats().seq == before
    assert store.admin.doctor().exit_code == 0


def test_a_graph_that_has_grown() -> None:
    store, _ = store_of(as_lines(*GRAPH))
    grown = deepcopy(GRAPH)
    grown[0]["observations"].append("sails on Sundays")
    grown.append({"type": "relation", "from": "Ann Berg", "to": "Larch Hull",
                  "relationType": "designed"})  # fmt: skip
    later = store.import_(as_lines(*grown))
    assert (later.imported, later.skipped) == (2, 8)


BROKEN_GRAPH: dict[str, tuple[Any, str]] = {
    "no type": ({"name": "Ben"}, 'no "type"'),
    "another type": ({"type": "thing", "name": "Ben"}, 'no "type"'),
    "no name": ({"type": "entity", "observations": []}, "name: expected a name"),
    "a blank name": ({"type": "entity", "name": " ", "observations": []}, "a name"),
    "name is a list": ({"type": "entity", "name": ["a"], "observations": []}, "a name"),
    "observations are text": (
        {"type": "entity", "name": "Ben", "observations": "sails"}, "expected a list",
    ),
    "an observation is a number": (
        {"type": "entity", "name": "Ben", "observations": [3]}, "a list of texts",
    ),
    "type of entity is a list": (
        {"type": "entity", "name": "Ben", "entityType": [], "observations": []}, "entityType",
    ),
    "an unknown end": ({**GRAPH[3], "to": "Nobody"}, '"to" is no entity of this file'),
    "no label": ({"type": "relation", "from": "Ann Berg", "to": "Berg Boats"}, "relationType"),
    "to itself": ({**GRAPH[3], "to": "Ann Berg"}, "the same entity"),
    "words": ("hello", "unreadable JSON"),
}  # fmt: skip


@each("name", BROKEN_GRAPH)
def test_a_broken_line_of_the_memory_server_costs_itself(name: str) -> None:
    broken, fact = BROKEN_GRAPH[name]
    rows = [GRAPH[0], broken, *GRAPH[1:]]
    _, report = store_of(as_lines(*rows), format="mcp-memory")
    assert (report.imported, report.failed, report.lines) == (8, 1, 9), report.errors
    assert report.errors[0].message.startswith("line 2: ")
    assert fact in report.errors[0].message


TABLE = (
    'id,Text,date,speaker,session,turn,tags,mood\n'
    'r1,"The tide turns at six, they say",2026-04-05,Ann,harbour,0,"sea, time",calm\n'
    'r2,"Two lines\nof text",2026-04-06,Ben,harbour,1,,\n'
    'r3,"A ""quoted"" word",2026-04-07,Ann,harbour,2,,glad\n'
)  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_with_speakers_is_a_chat(separator: str, tmp_path: Path) -> None:
    rows = TABLE.replace(",", separator) if separator == "\t" else TABLE
    if separator == ";":
        rows = TABLE.replace(",", ";").replace("six; they", "six, they").replace("sea; t", "sea, t")
    if separator == "\t":
        rows = rows.replace("six\t they", "six, they").replace("sea\t time", "sea, time")
    path = tmp_path / "talk.csv"
    path.write_bytes(b"\xef\xbb\xbf" + rows.encode())
    store, report = store_of(path)
    assert (report.format, report.lines, report.imported) == ("csv", 3, 3), report
    turns = {one.sequence: one for one in store.list()}
    assert turns[1].content == "Two lines\nof text"
    assert turns[2].content == 'A "quoted" word'
    assert (turns[0].author, turns[0].session_id) == ("Ann", "harbour")
    assert turns[0].metadata["tags"] == ["sea", "time"]
    assert turns[0].metadata["mood"] == "calm"
    assert turns[0].t_valid == datetime(2026, 4, 5, tzinfo=UTC)
    assert report.warnings == ("other keys are kept in metadata: mood",)
    again = store.import_(path)
    assert (again.imported, again.skipped) == (0, 3)


def test_a_table_of_texts_is_notes_and_grows() -> None:
    rows = b"content\nThe shed key hangs behind the door\nThe tar is in the cellar\n"
    store, report = store_of(io.BytesIO(rows))
    assert (report.format, report.imported) == ("csv", 2)
    assert all(one.session_id is None and one.sequence is None for one in store.list())
    later = store.import_(io.BytesIO(rows + b"The oars lie under the boat\n"))
    assert (later.imported, later.skipped) == (1, 2)
    crlf = store.import_(io.BytesIO(rows.replace(b"\n", b"\r\n")))
    assert (crlf.imported, crlf.skipped) == (0, 2)


HEAD, GOOD = "id,text,turn,role\n", "g{},The tide turns at hour {},{},user\n"
BROKEN_ROWS: dict[str, tuple[bytes, int, str]] = {
    "too few values": (b"x,The tar\n", 2, "expected 4 values as in the header, got 2"),
    "too many values": (b"x,The tar, warm,5,user\n", 2, "got 5"),
    "no text": (b"x,,5,user\n", 2, 'no text under "content" or "text"'),
    "blank text": (b"x,   ,5,user\n", 2, "no text"),
    "turn is a word": (b"x,The tar,five,user\n", 2, "turn: expected a whole number"),
    "turn is below 0": (b"x,The tar,-5,user\n", 2, "turn"),
    "role unknown": (b"x,The tar,5,robot\n", 2, "role"),
    "text behind a quote": (b'x,"The tar" is,5,user\n', 2, "row of the table"),
    "no UTF-8": (b"x,The t\xe4r,5,user\n", 1, "UTF-8"),
    "an open quote": (b'x,"The tar,5,user\n', 1, "row of the table"),
    "a huge value": (b"x," + b"tar " * 40_000 + b",5,user\n", 2, "field larger"),
}


@each("name", BROKEN_ROWS)
def test_a_broken_row_costs_itself(name: str) -> None:
    row, kept, fact = BROKEN_ROWS[name]
    data = (HEAD + GOOD.format(1, 1, 1)).encode() + row + GOOD.format(2, 2, 2).encode()
    _, report = store_of(io.BytesIO(data))
    assert (report.imported, report.failed, report.lines) == (kept, 1, kept + 1), report.errors
    assert report.errors[0].message.startswith("line 3: ")
    assert fact in report.errors[0].message
    assert "The t" not in report.errors[0].message


def test_a_first_row_of_values_is_no_header() -> None:
    for first in (b"2026-01-05,Roof repair,742.00", b"1,The tar", b",,", b"5.4.2026;Tar"):
        _, report = store_of(io.BytesIO(first + b"\n" + first + b"\n"), format="csv")
        assert "a header row that names the columns" in report.errors[0].message
        assert (report.failed, report.imported) == (1, 0)
    assert said(store_of(io.BytesIO(b"text;session\nHello there you;s\n"))[0], "s") == []


WORDS = "Chair of the boat club of Bergen"
TOLD = {"role": "user", "content": "The mast is in"}
CLAUDE = {"uuid": "c", "name": "", "chat_messages": [{"uuid": "m", "sender": "human",
          "text": "The mast is in", "created_at": "2026-01-05T10:00:00Z"}]}  # fmt: skip
TREE = {"title": "t", "current_node": "n", "mapping": {"n": {"message": {
        "id": "n", "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["The mast is in"]}}}}}  # fmt: skip
BESIDE: dict[str, tuple[Any, dict[str, int]]] = {
    "an agent": (
        {"agent_type": "memgpt", "memory": {"blocks": [{"value": WORDS}]}, "messages": [TOLD],
         "tools": [{"does": WORDS}, {"does": WORDS}], "llm": "gpt-5"},
        {"memory beside messages": 1, "tools beside messages": 2},
    ),
    "a message": ({**TOLD, "reasoning": WORDS}, {"reasoning of a message": 1}),
    "a chat log": (
        {"topic": WORDS, "messages": [{"speaker": "Ann", "text": "The mast is in"}]},
        {"topic beside messages": 1},
    ),
    "mem0": ({"results": MEM0[:1], "summary": WORDS}, {"summary beside memories": 1}),
    "a graph": ({**whole_graph(), "notes": [WORDS]}, {"notes beside entities": 1}),
    "an entity": ({**GRAPH[1], "about": WORDS}, {"about of an entity": 1}),
    "claude": ({**CLAUDE, "summary": WORDS}, {"summary of a conversation": 1}),
    "memories of claude": (
        {"conversations_memory": WORDS, "account_uuid": "a", "instructions": WORDS},
        {"instructions beside memories": 1},
    ),
    "chatgpt": ({**TREE, "instructions": WORDS}, {"instructions of a conversation": 1}),
}  # fmt: skip


@each("name", BESIDE)
def test_what_a_file_holds_beside_what_is_read_is_counted_by_name(name: str) -> None:
    held, left_out = BESIDE[name]
    _, report = store_of(as_lines(held))
    assert (report.failed, report.left_out) == (0, left_out)
