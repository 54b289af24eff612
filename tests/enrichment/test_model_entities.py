"""Entities that a language model finds: what is kept, and how they meet those of the rules."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import vestig
from store_fixtures import Opener
from vestig.testing import FrozenClock, ScriptedModel

TEXT = "We met Ada Lovelace at the Analytical Engine and asked Charles Babbage about ABC-123."


def found(name: str, type: str = "PERSON", confidence: object = 0.9, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "confidence": confidence, **more}


def enriched(
    opener: Opener, entities: list[Any], text: str = TEXT, **config: Any
) -> tuple[vestig.Vestig, str]:
    """A store whose only memory was read by a model that answers with these entities."""
    model = ScriptedModel({"extract_entities": {"entities": entities}})
    store = opener(llm=model, config={"entities.min_confidence": 0.75, **config})
    id = store.commit(text, temporal_stability="static").memory_id
    assert id is not None
    assert store.admin.enrich().retried == 0
    return store, id


def mentioned(store: vestig.Vestig, id: str) -> dict[tuple[str, str], float | None]:
    linked = store.show(id, expand=1).mentions
    assert isinstance(linked, tuple)
    return {(one.type, one.name): one.confidence for one in linked}


def left_out(store: vestig.Vestig, id: str) -> dict[str, int]:
    payload = store.events(id)[-1].payload
    return {name: count for name, count in payload["left_out"].items() if count}


PLAIN = "they spoke about it at length, all of them"


def test_the_least_confidence_counts(opener: Opener) -> None:
    given = [found("Ada Byron", confidence=0.75), found("Mary Somerville", confidence=0.7499)]
    store, id = enriched(opener, given, PLAIN)
    assert mentioned(store, id) == {("PERSON", "Ada Byron"): 0.75}
    assert left_out(store, id) == {"uncertain": 1}


def test_less_certain_ones_are_stored_where_that_is_wanted(opener: Opener) -> None:
    given = [found("Ada Byron", confidence=0.9), found("Mary Somerville", confidence=0.1)]
    store, id = enriched(opener, given, PLAIN, **{"entities.store_low_confidence": True})
    assert mentioned(store, id)["PERSON", "Mary Somerville"] == 0.1
    other = store.commit("another text about it", entities=["Mary Somerville"], enrich=False)
    # expansion from either does not see the weak mention
    assert store.graph.expand_via_entities([str(other.memory_id)]) == []
    seen = store.graph.expand_via_entities([str(other.memory_id)], min_confidence=0.1)
    assert [one.memory.id for one in seen] == [id]


def test_of_eleven_the_best_ten(opener: Opener) -> None:
    names = [f"Person {chr(65 + n)}xx" for n in range(11)]
    text = " and ".join(name.lower() for name in names)
    given = [found(name, confidence=0.8 + n / 100) for n, name in enumerate(names)]
    store, id = enriched(opener, given, text)
    assert {name for _, name in mentioned(store, id)} == set(names[1:])
    assert left_out(store, id) == {"too_many": 1}


def test_ties_go_by_place_in_the_text(opener: Opener) -> None:
    given = [found("Charles Babbage"), found("Ada Lovelace")]
    store, id = enriched(opener, given, TEXT.lower(), **{"entities.max_per_memory": 1})
    assert [name for _, name in mentioned(store, id)] == ["Ada Lovelace"]


@pytest.mark.parametrize(
    "bad",
    [
        found("A"),
        found("?!"),
        found("1234"),
        found("Monday"),
        found("12 March 2026"),
        found("consistency", "CONCEPT"),
        found("x" * 201),
        found("   "),
        found("Ada Byron", "T" * 65),
        found("Ada Byron", " "),
    ],
)
def test_what_is_no_name_is_left_out_and_counted(opener: Opener, bad: dict[str, Any]) -> None:
    store, id = enriched(opener, [bad, found("Mary Somerville")], PLAIN)
    assert mentioned(store, id) == {("PERSON", "Mary Somerville"): 0.9}
    assert left_out(store, id) == {"unusable": 1}


def test_an_item_without_a_name_or_type_is_dropped_alone(opener: Opener) -> None:
    given = [{"type": "PERSON"}, {"name": "Ada Byron"}, "text", 7, found("Mary Somerville")]
    store, id = enriched(opener, given, PLAIN)
    assert list(mentioned(store, id)) == [("PERSON", "Mary Somerville")]


def test_an_answer_of_bad_items_alone_is_a_failure(opener: Opener) -> None:
    model = ScriptedModel({"extract_entities": {"entities": [{"type": "PERSON"}]}})
    store = opener(llm=model)
    store.commit(PLAIN, temporal_stability="static")
    report = store.admin.enrich()
    assert (report.done, report.retried) == (0, 1)


@pytest.mark.parametrize(
    ("given", "stored"), [(1.7, 1.0), ("0.8", 0.8), (None, 0.75), (0.99, 0.99)]
)
def test_confidence_is_a_share(opener: Opener, given: object, stored: float) -> None:
    store, id = enriched(opener, [found("Ada Byron", confidence=given)], PLAIN)
    assert mentioned(store, id) == {("PERSON", "Ada Byron"): stored}


def test_synonyms_name_their_type_and_invented_types_are_told(opener: Opener) -> None:
    given = [found("Ada Byron", " human "), found("Blue Comet", "starship")]
    model = ScriptedModel({"extract_entities": {"entities": given}})
    store = opener(llm=model)
    id = str(store.commit(PLAIN, temporal_stability="static").memory_id)
    report = store.admin.enrich()
    assert set(mentioned(store, id)) == {("PERSON", "Ada Byron"), ("STARSHIP", "Blue Comet")}
    assert "STARSHIP" in report.warnings[0]
    assert store.events(id)[-1].payload["unknown_types"] == ["STARSHIP"]


def test_a_name_of_unknown_type_is_merged_into_the_typed_one(
    opener: Opener, clock: FrozenClock
) -> None:
    model = ScriptedModel({"extract_entities": {"entities": [found("Ada Lovelace")]}})
    store = opener(llm=model)
    earlier = str(store.commit("Notes by Ada Lovelace were found.", enrich=False).memory_id)
    clock.move(days=1)
    before = store.graph.entity("Ada Lovelace").entity
    assert before.entity_type == "UNTYPED"
    later = str(store.commit(TEXT, temporal_stability="static").memory_id)
    store.admin.enrich()
    after = store.graph.entity("Ada Lovelace").entity
    assert (after.entity_type, after.id != before.id) == ("PERSON", True)
    assert store.graph.entity(before.id).entity.id == after.id
    assert mentioned(store, earlier)["PERSON", "Ada Lovelace"] == 0.8
    # the more certain of both is kept: the store knew the name
    assert mentioned(store, later)["PERSON", "Ada Lovelace"] == 1.0
    # what the rules found beside it stays
    assert ("SYSTEM", "ABC-123") in mentioned(store, later)
    assert store.admin.doctor().exit_code == 0


def test_an_entity_of_two_memories_is_stored_once(opener: Opener) -> None:
    given = [found("Ada Lovelace", description="a mathematician"), found("Dr. Ada Lovelace")]
    model = ScriptedModel({"extract_entities": {"entities": given[:1]}})
    store = opener(llm=model)
    for text in (TEXT, "Ada Lovelace wrote about the loom."):
        store.commit(text, temporal_stability="static")
    store.admin.enrich()
    [person] = [one for one in store.graph.entities() if one.entity.entity_type == "PERSON"]
    assert (person.entity.description, person.mentions) == ("a mathematician", 2)


def test_an_alias_names_the_entity_and_a_longer_description_stays(opener: Opener) -> None:
    answers = [
        [found("Dr. Ada Lovelace", description="a mathematician")],
        [found("Ada Lovelace", description="a mathematician of the nineteenth century")],
        [found("Ada Lovelace", description="short")],
    ]
    model = ScriptedModel(lambda _: {"entities": answers.pop(0)})
    store = opener(llm=model, config={"enrichment.workers": 1})
    for text in ("dr. ada lovelace came", "ada lovelace wrote it", "ada lovelace left then"):
        store.commit(text, temporal_stability="static")
        store.admin.enrich()
    [person] = store.graph.entities()
    assert person.entity.canonical_name == "Dr. Ada Lovelace"
    assert person.entity.description == "a mathematician of the nineteenth century"
    assert person.mentions == 3


def test_one_name_under_two_types_is_two_entities(opener: Opener) -> None:
    given = [found("Mercury", "SYSTEM"), found("Mercury", "PLACE")]
    store, id = enriched(opener, given, PLAIN)
    assert set(mentioned(store, id)) == {("SYSTEM", "Mercury"), ("PLACE", "Mercury")}


def test_a_memory_that_is_full_gets_types_and_no_further_names(opener: Opener) -> None:
    given = [found("Zed Zebra", confidence=1.0), found("Ada Lovelace")]
    store, id = enriched(opener, given, TEXT, **{"entities.max_per_memory": 4})
    assert ("PERSON", "Ada Lovelace") in mentioned(store, id)
    assert "Zed Zebra" not in [name for _, name in mentioned(store, id)]
    assert len(mentioned(store, id)) == 4
    assert left_out(store, id) == {"too_many": 1}


def test_evidence_is_a_passage_of_the_text(opener: Opener) -> None:
    given = [
        found("Ada Byron", evidence="they spoke"),
        found("Mary Somerville", evidence="nobody said this"),
        found("Grace Hopper", evidence=["they", "spoke"]),
    ]
    store, id = enriched(opener, given, PLAIN)
    edges = [one.edge for one in store.graph.edges(id)]
    evidence = sorted(one.evidence or "" for one in edges if one.edge_type == "MENTIONS")
    assert evidence == ["", "", "they spoke"]


def test_without_mentions_entities_are_stored_alone(opener: Opener) -> None:
    store, id = enriched(opener, [found("Ada Byron")], PLAIN, **{"links.mentions.enabled": False})
    assert mentioned(store, id) == {}
    assert [one.entity.canonical_name for one in store.graph.entities()] == ["Ada Byron"]


def test_workers_at_the_same_time_make_one_entity(opener: Opener) -> None:
    """Each of them sees the name as new, and all write it."""
    everyone = threading.Barrier(4, timeout=60)

    def together(_: object) -> dict[str, object]:
        everyone.wait()
        return {"entities": [found("Ada Lovelace", description="a mathematician")]}

    config = {"enrichment.workers": 4, "updates.enabled": False}
    store = opener(llm=ScriptedModel(together), config=config)
    for number in range(12):
        store.commit(f"Note {number} is by Ada Lovelace.", temporal_stability="static")
    report = store.admin.enrich()
    assert (report.done, report.retried) == (12, 0)
    [person] = store.graph.entities()
    assert (person.entity.entity_type, person.mentions) == ("PERSON", 12)
    assert store.admin.doctor().exit_code == 0
