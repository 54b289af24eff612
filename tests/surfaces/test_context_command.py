"""`memory recall --context` on the command line: a block of text within a budget of tokens."""

from __future__ import annotations

import re

from command_answers import Vestig

QUERY = "which port has the staging database?"


def test_the_block_is_what_is_printed(vestig: Vestig, ids: list[str]) -> None:
    answer = vestig("memory", "recall", QUERY, "--context")
    assert answer.code == 0
    assert answer.out.startswith("Quoted data")
    assert sorted(re.findall(r"^\[(\w+)\]", answer.out, re.M)) == sorted(id[4:12] for id in ids)
    document = vestig("memory", "recall", QUERY, "--context", "--json").document["context"]
    assert document["text"] + "\n" == answer.out
    assert sorted(document["ids"]) == sorted(ids)
    assert (document["budget"], document["counted_by"]) == (1000, "estimate")
    assert vestig("search", QUERY, "--context").out == answer.out


def test_what_has_no_room_is_named(vestig: Vestig, ids: list[str]) -> None:
    words = ("memory", "recall", QUERY, "--context", "--budget")
    document = vestig(*words, "60", "--json").document["context"]
    assert 0 < document["tokens"] <= 60
    gone = [entry["id"] for entry in document["left_out"]]
    assert sorted([*document["ids"], *gone]) == sorted(ids)
    answer = vestig(*words, "60")
    assert gone
    assert all(id in answer.err for id in gone)
    nothing = vestig(*words, "5")
    assert (nothing.code, nothing.out) == (0, "\n")
    assert all(id in nothing.err for id in ids)


def test_arguments_of_a_context(vestig: Vestig) -> None:
    nothing = vestig("memory", "recall", QUERY, "--context")
    assert nothing.out == ""
    assert nothing.err.endswith("No memories found.\n")
    assert vestig("memory", "recall", QUERY, "--context", "--budget", "0").code == 2
    alone = vestig("memory", "recall", QUERY, "--budget", "100")
    assert alone.code == 2
    assert "context" in alone.err
