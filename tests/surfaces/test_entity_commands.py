"""The commands on entities: output, plans, consent, exit codes."""

from __future__ import annotations

import pytest
from command_answers import Vestig

from tables import each

UNKNOWN = "ent_00000000-0000-4000-8000-000000000000"
FIRST = "The keys are kept by Ada Lovelace and Grace Hopper"
SECOND = "then Grace Hopper lost them on the way"


@pytest.fixture
def named(vestig: Vestig) -> dict[str, str]:
    """Name → id of the entities of two memories."""
    for text in (FIRST, SECOND):
        assert vestig("memory", "add", text).code == 0
    entities = vestig("entity", "list", "--json").document["entities"]
    return {entity["canonical_name"]: entity["id"] for entity in entities}


def test_the_list_shows_mentions_most_first(vestig: Vestig, named: dict[str, str]) -> None:
    lines = vestig("entity", "list").out.splitlines()
    assert lines == [
        f"{named['Grace Hopper']} | UNTYPED | 2 | Grace Hopper",
        f"{named['Ada Lovelace']} | UNTYPED | 1 | Ada Lovelace",
    ]
    page = vestig("entity", "list", "--limit", "1", "--offset", "1", "--json").document
    assert page["schema"] == "vestig/entities/1"
    assert (page["total"], page["offset"]) == (2, 1)
    [entity] = page["entities"]
    assert (entity["canonical_name"], entity["mentions"]) == ("Ada Lovelace", 1)
    assert entity["norm_key"] == "UNTYPED:ada lovelace"
    assert vestig("entity", "list", "--type", "person").out == "No entities found.\n"


def test_an_entity_is_shown_with_its_memories(vestig: Vestig, named: dict[str, str]) -> None:
    whole = vestig("entity", "show", named["Grace Hopper"][:14])
    assert "canonical_name  Grace Hopper" in whole.out
    shown = [line for line in whole.out.splitlines() if line.startswith("mem_")]
    assert [line.split(" | ")[1] for line in shown] == [SECOND, FIRST]
    newest = vestig("entity", "show", "grace hopper", "--limit", "1", "--json").document
    assert newest["schema"] == "vestig/entity/1"
    assert (newest["mentions"], [one["content"] for one in newest["memories"]]) == (2, [SECOND])


def test_entities_are_shown_and_linked_by_name(vestig: Vestig, named: dict[str, str]) -> None:
    shown = vestig("entity", "show", "grace hopper", "--json").document
    assert shown["id"] == named["Grace Hopper"]
    linked = vestig("edge", "link", "Ada Lovelace", "Grace Hopper", "--relation", "KNOWS", "--json")
    document = linked.document
    assert (document["edge_type"], document["relation"]) == ("RELATION", "KNOWS")
    assert (document["from_id"], document["to_id"]) == (
        named["Ada Lovelace"],
        named["Grace Hopper"],
    )
    refused = vestig("edge", "link", "Ada Lovelace", "Grace Hopper")
    assert refused.code == 2
    assert "relation" in refused.err
    by_name = vestig(
        "memory", "recall", "who lost the keys", "--entities", "ADA lovelace", "--json"
    )
    assert [one["content"] for one in by_name.document["results"]] == [FIRST]
    assert vestig("edge", "list", "--node", "ada lovelace", "--type", "RELATION").code == 0
    assert vestig("entity", "show", "nobody known").code == 1


def test_an_ambiguous_name_lists_candidates(vestig: Vestig) -> None:
    for type, text in (("PERSON", "he lives by the river"), ("PROJECT", "it is written in Rust")):
        added = vestig("memory", "add", text, "--entity", f"{type}:Orion", "--json")
        assert added.code == 0
    answer = vestig("entity", "show", "orion")
    assert answer.code == 2
    for type in ("PERSON", "PROJECT"):
        assert f"{type} Orion" in answer.err
    assert answer.err.count("ent_") >= 2
    recalled = vestig("memory", "recall", "who is it", "--entities", "Orion")
    assert recalled.code == 2
    assert "PROJECT Orion" in recalled.err


def test_merge(vestig: Vestig, named: dict[str, str]) -> None:
    a, b = named["Ada Lovelace"], named["Grace Hopper"]
    answer = vestig("entity", "merge", a, b)
    assert answer.out == f"Entity {a} merged into {b}: 0 edges moved, 1 were there already\n"
    assert vestig("entity", "show", a, "--json").document["id"] == b
    assert "(also Ada Lovelace)" in vestig("entity", "list").out
    again = vestig("entity", "merge", b, a, "--json")
    assert again.code == 1
    assert again.problem["type"] == "urn:vestig:problem:conflict"
    assert f"[merged into {b}]" in vestig("entity", "list", "--include-expired").out


def test_expire_and_purge(vestig: Vestig, named: dict[str, str]) -> None:
    id = named["Ada Lovelace"]
    assert vestig("entity", "expire", id).out == f"Entity {id} expired with 1 edges\n"
    assert vestig("entity", "show", id).code == 1
    assert vestig("entity", "show", id, "--include-expired").code == 0
    plan = vestig("entity", "purge")
    assert plan.code == 2
    assert id in plan.err
    assert "--yes" in plan.err
    assert vestig("entity", "purge", "--dry-run", "--json").document["entity_ids"] == [id]
    done = vestig("entity", "purge", "--yes")
    assert done.out == "1 entities and 1 edges removed\n"
    assert vestig("entity", "show", id, "--include-expired").code == 1
    assert vestig("entity", "purge").out == "Nothing to remove\n"
    assert vestig("doctor").code == 0


def test_an_entity_in_use_is_not_purged(vestig: Vestig, named: dict[str, str]) -> None:
    assert vestig("entity", "purge", named["Ada Lovelace"], "--yes").code == 1
    assert vestig("entity", "show", named["Ada Lovelace"]).code == 0


@pytest.mark.usefixtures("named")
def test_extract_and_backfill_count_what_they_add(vestig: Vestig) -> None:
    assert vestig("memory", "add", "Helios is down once more").code == 0
    assert vestig("memory", "add", "so we restarted Helios together").code == 0
    planned = vestig("housekeeping", "entity-backfill", "--dry-run")
    assert planned.out == "4 memories read: 0 entities and 1 mentions would be added\n"
    done = vestig("entity", "extract", "--batch-size", "1", "--json").document
    assert done["schema"] == "vestig/entity_backfill/1"
    assert (done["memories"], done["entities_added"], done["mentions_added"]) == (1, 0, 1)
    for words in (("housekeeping", "entity-backfill"), ("entity", "extract", "--reprocess")):
        assert vestig(*words).out == "4 memories read: 0 entities and 0 mentions added\n"


@each(
    ("words", "code"),
    [
        (("show", UNKNOWN), 1),
        (("show", "mem_00000000"), 2),
        (("merge", UNKNOWN, UNKNOWN), 1),
        (("expire", UNKNOWN), 1),
        (("purge", UNKNOWN, "--yes"), 1),
        (("list", "--limit", "0"), 2),
        (("extract", "--batch-size", "0"), 2),
        ((), 2),
    ],
)
def test_exit_codes(vestig: Vestig, ids: list[str], words: tuple[str, ...], code: int) -> None:
    assert vestig("entity", *words).code == code


def test_questions_on_the_command_line(vestig: Vestig) -> None:
    words = ("memory", "add", "The login loop was fixed by clearing cookies")
    asked = ("--question", "What ends a login loop?", "--question", "Why clear cookies?")
    answer = vestig(*words, "--trigger", "problem-solution", *asked, "--json")
    assert answer.document["warnings"] == []
    answer = vestig("memory", "add", "The lights went out again", *asked, "--json")
    assert "hypothetical questions were left out" in answer.document["warnings"][0]
