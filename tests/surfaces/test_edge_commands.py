"""`edge …` and `search` on the command line, alike with Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command_answers import FACTS, UNKNOWN, Vestig

import vestig as package
from calls import selecting
from vestig.config import load


@pytest.fixture
def edge(vestig: Vestig, ids: list[str]) -> str:
    answer = vestig("edge", "link", ids[0], ids[1], "--weight", "0.25", "--evidence", "seen twice")
    assert answer.code == 0
    match = re.fullmatch(r"Edge stored: (edge_[0-9a-f-]{36})\n", answer.out)
    assert match is not None
    return match.group(1)


def test_link_says_what_it_did(vestig: Vestig, ids: list[str], edge: str) -> None:
    again = vestig("edge", "link", ids[0], ids[1], "--type", "RELATED")
    assert again.out == f"Edge stored: {edge} (was there already)\n"
    document = vestig("edge", "link", ids[1], ids[2], "--json").document
    assert document["schema"] == "vestig/edge/1"
    assert (document["from_id"], document["to_id"]) == (ids[1], ids[2])
    assert (document["changed"], document["weight"], document["origin"]) == (True, 1.0, "caller")


def test_wrong_links_exit_2(vestig: Vestig, ids: list[str]) -> None:
    foo = vestig("edge", "link", ids[0], ids[1], "--type", "FOO")
    assert foo.code == 2
    for name in ("MENTIONS", "RELATED", "AFFECTS", "RELATION"):
        assert name in foo.err
    affects = vestig("edge", "link", ids[0], ids[1], "--type", "AFFECTS", "--json")
    assert affects.code == 2
    assert "event log" in affects.problem["detail"]
    assert vestig("edge", "link", ids[0], ids[0]).code == 2
    for weight in ("nan", "-1", "inf"):
        assert vestig("edge", "link", ids[0], ids[1], "--weight", weight).code == 2
    assert vestig("edge", "link", ids[0], UNKNOWN).code == 1


def test_edges_are_listed_with_both_labels(vestig: Vestig, ids: list[str], edge: str) -> None:
    listed = vestig("edge", "list", "--type", "RELATED", "--snippet-len", "11")
    assert listed.out == (f"{edge} | RELATED | 0.2500 | {FACTS[0][:11]}... → {FACTS[1][:11]}...\n")
    every = vestig("edge", "list", "--json").document
    assert every["schema"] == "vestig/edges/1"
    assert {one["edge_type"] for one in every["edges"]} >= {"RELATED", "PRODUCED"}
    assert len(vestig("edge", "list", "--limit", "1").out.splitlines()) == 1
    mine = vestig("edge", "list", "--node", ids[1], "--type", "RELATED", "--json").document
    assert [one["id"] for one in mine["edges"]] == [edge]
    assert mine["edges"][0]["from_label"] == FACTS[0]
    assert vestig("edge", "list", "--type", "MENTIONS", "--node", ids[2]).code == 0


def test_an_edge_is_shown_whole(vestig: Vestig, ids: list[str], edge: str) -> None:
    shown = vestig("edge", "show", edge[:15])
    for word in (edge, ids[0], ids[1], "0.25", "seen twice", "caller", FACTS[0]):
        assert word in shown.out
    assert vestig("edge", "show", "edge_00000000-0000").code == 1
    assert vestig("edge", "show", "nothing").code == 2


def test_unlink_ends_an_edge(vestig: Vestig, edge: str) -> None:
    assert vestig("edge", "unlink", edge).out == f"Edge {edge} ended\n"
    assert vestig("edge", "unlink", edge).out == f"Edge {edge} had ended already\n"
    assert vestig("edge", "list", "--type", "RELATED").out == "No edges found.\n"
    gone = vestig("edge", "list", "--type", "RELATED", "--include-expired")
    assert gone.out.endswith("(ended)\n")


def test_edges_are_computed_again(vestig: Vestig, edge: str) -> None:
    answer = vestig("edge", "rebuild", "--type", "RELATED")
    assert answer.code == 0
    assert answer.out.startswith("3 memories compared: ")
    report = vestig("edge", "rebuild", "--json").document
    assert (report["added"], report["expired"]) == (0, 0)
    assert edge in vestig("edge", "list", "--type", "RELATED").out
    assert vestig("edge", "rebuild", "--type", "MENTIONS").code == 2


def test_search_is_the_same_in_python(
    vestig: Vestig, ids: list[str], edge: str, tmp_path: Path
) -> None:
    asked: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "plain": (("staging database",), {"query": "staging database"}),
        "vector": (
            ("staging database", "--type", "vector", "--limit", "2", "--kinds", "memory"),
            {"query": "staging database", "type": "vector", "limit": 2, "kinds": ["memory"]},
        ),
        "graph": (
            ("--type", "graph", "--seed-node", ids[0], "--depth", "2", "--no-memory-ids"),
            {
                "type": "graph",
                "seed_nodes": [ids[0]],
                "graph_depth": 2,
                "include_memory_ids": False,
            },
        ),
        "hybrid": (
            ("staging", "--seed-node", ids[1], "--depth", "0", "--decay"),
            {"query": "staging", "seed_nodes": [ids[1]], "graph_depth": 0, "decay": True},
        ),
        "filtered": (
            ("staging", "--exclude-ids", ids[0], "--min-similarity", "-1"),
            {"query": "staging", "exclude_ids": [ids[0]], "min_similarity": -1.0},
        ),
    }
    config = load(tmp_path / "vestig.yaml")
    for words, fields in asked.values():
        document = vestig("graph", "search", *words, "--json").document
        assert document.pop("schema") == "vestig/graph_search/1"
        with package.open(config=config) as store:  # type: ignore[arg-type]
            wanted = store.graph.search(**selecting(fields)).to_dict()
        if "decay" not in fields:
            assert document == wanted
        assert [hit["node_id"] for hit in document["results"]] == [
            hit["node_id"] for hit in wanted["results"]
        ]
        assert document["results"]


def test_search_prints_a_line_for_each_hit(vestig: Vestig, ids: list[str], edge: str) -> None:
    answer = vestig("graph", "search", "--type", "graph", "--seed-node", f"{ids[0]},{UNKNOWN}")
    assert answer.out == (
        "score: 1/(1+depth)\n"
        f"1.0000 | graph | {ids[0]} | {FACTS[0]}\n"
        f"0.5000 | graph, depth=1 | {ids[1]} | {FACTS[1]}\n"
    )
    assert UNKNOWN in answer.err
    nothing = vestig("graph", "search", "--type", "graph", "--seed-node", UNKNOWN)
    assert (nothing.code, nothing.out) == (0, "Nothing found.\n")


def test_a_graph_search_without_seeds_exits_2(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("graph", "search", "anything", "--type", "graph")
    assert answer.code == 2
    assert "graph search requires seed node IDs" in answer.err
    assert vestig("graph", "search").code == 2
    assert vestig("graph", "search", "x", "--depth", "-1").code == 2
    assert vestig("graph", "search", "x", "--top-k", "0").code == 2
    assert vestig("graph", "search", "x", "--type", "best").code == 2
