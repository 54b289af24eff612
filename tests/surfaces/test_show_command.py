"""`memory show --expand`."""

from __future__ import annotations

from command_answers import FACTS, UNKNOWN, Vestig


def test_expand_tells_of_entities_and_related_memories(vestig: Vestig) -> None:
    words = ("memory", "add", "--json")
    one = vestig(*words, "The keys are kept by Ada Lovelace in the cellar").document["memory_id"]
    two = vestig(*words, "The boat is moored at the old pier").document["memory_id"]
    assert vestig("edge", "link", one, two, "--type", "RELATED", "--weight", "0.75").code == 0
    (entity,) = vestig("entity", "list", "--json").document["entities"]
    answer = vestig("memory", "show", one, "--expand", "1")
    lines = {line.split()[0]: line.split(maxsplit=1)[-1] for line in answer.out.split("\n") if line}
    assert lines["MENTIONS"] == f"{entity['entity_type']}:Ada Lovelace (0.8000) {entity['id']}"
    assert lines["RELATED"] == f"{two} (0.7500) The boat is moored at the old pier"
    document = vestig("memory", "show", one, "--expand", "1", "--json").document
    assert [found["id"] for found in document["mentions"]] == [entity["id"]]
    assert document["related"] == [
        {"id": two, "weight": 0.75, "content": "The boat is moored at the old pier"}
    ]
    (back,) = vestig("memory", "show", two, "--expand", "1", "--json").document["related"]
    assert back["id"] == one
    for plain in (vestig("memory", "show", one), vestig("memory", "show", one, "--expand", "0")):
        assert "MENTIONS" not in plain.out
        assert "RELATED" not in plain.out
    assert "mentions" not in vestig("memory", "show", one, "--json").document


def test_nothing_linked_and_other_depths(vestig: Vestig, ids: list[str]) -> None:
    out = vestig("memory", "show", ids[0], "--expand", "1").out
    assert "MENTIONS" in out
    assert out.count("(none)") == 2
    assert FACTS[0] in out
    for depth in ("2", "-1", "x"):
        assert vestig("memory", "show", ids[0], "--expand", depth).code == 2
    assert (
        "expand: expected an integer from 0 to 1, got 2"
        in vestig("memory", "show", ids[0], "--expand", "2").err
    )
    assert vestig("memory", "show", UNKNOWN, "--expand", "1").code == 1


def test_a_claim_is_given_as_json_and_shown(vestig: Vestig) -> None:
    claim = (
        '{"subject": "Ana", "fact_type": "WORKS_AT", "object": "Acme", "confidence": 0,'
        ' "evidence": [{"timestamp": "2026-03-18", "author": "Ana", "snippet": "I am at Acme"}]}'
    )
    added = vestig("memory", "add", "Ana works at Acme", "--claim", claim, "--json")
    id = added.document["memory_id"]
    found = vestig("memory", "show", id, "--json").document["claim"]
    assert (found["object"], found["confidence"], found["object_id"]) == ("Acme", 0.0, None)
    assert found["evidence"][0]["snippet"] == "I am at Acme"
    lines = {
        line.split()[0]: line.split(maxsplit=1)[-1]
        for line in vestig("memory", "show", id).out.split("\n")
        if line
    }
    assert '"subject":"Ana"' in lines["claim"].replace(" ", "")
    assert lines["evidence"] == "2026-03-18 00:00:00 UTC | Ana | I am at Acme"
    for wrong in ("[1]", "{", "Ana", '{"subject": "Ana"}', '{"subject": 1, "fact_type": "x"}'):
        assert vestig("memory", "add", "Bea works at Acme", "--claim", wrong).code == 2
    assert "did you mean fact_type" in (
        vestig("memory", "add", "x is y", "--claim", '{"fact_typ": "x"}').err
    )


def test_what_cannot_be_changed_names_its_successor(vestig: Vestig) -> None:
    old = vestig("add", "The shed is painted red", "--json").document["memory_id"]
    new = vestig("add", "The shed is green now", "--supersedes", old, "--json").document
    refused = vestig("update", old, "--content", "The shed is painted blue")
    assert f"it is SUPERSEDED by {new['memory_id']} since " in refused.err


def test_what_only_the_store_needs_is_json_alone(vestig: Vestig) -> None:
    words = ("--key", "kettle", "--tags", "hall", "--author", "Ada", "--t-valid", "2024-01-01")
    old = vestig("add", "The kettle is red", *words, "--json").document["memory_id"]
    new = vestig("add", "The kettle is blue", "--key", "kettle", "--t-valid", "2025-01-01")
    shown = vestig("show", old).out.split("\n")
    assert shown[:2] == ["The kettle is red", ""]
    lines = dict(line.split("  ", 1) for line in shown[2:] if line)
    said = {name: value.strip() for name, value in lines.items()}
    assert said["id"] == old
    assert said["holds"] == "since 2024-01-01 00:00 UTC, until 2025-01-01 00:00 UTC, superseded"
    assert (said["key"], said["tags"], said["author"]) == ("kettle", "hall", "Ada")
    assert said["replaced by"].startswith(new.out.split()[2])
    internal = {"content_hash", "embedding", "event", "access_velocity", "processing", "seq"}
    assert not internal & said.keys()
    document = vestig("show", old, "--json").document
    assert {"content_hash", "events", "access_velocity", "processing", "seq"} <= document.keys()
