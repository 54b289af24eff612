"""Entities by name wherever one is meant, and what stands for an id or a list."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

import ledger_rows as made
import vestig
from graph_rows import write
from scripted import Opener
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import new_id


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    return opener("names", config={"hygiene.near_duplicate.enabled": False})


def told(store: vestig.Vestig, text: str, *entities: dict[str, Any]) -> str:
    id = store.commit(text, entities=list(entities)).memory_id
    assert id is not None
    return id


@pytest.fixture
def people(store: vestig.Vestig) -> dict[str, str]:
    """Name → id of entities, and the memory that mentions each."""
    texts = {
        "Ravi": ("PERSON", "they met the new one at the harbour"),
        "Atlas": ("PROJECT", "it began in spring and goes on"),
        "José Straße": ("PERSON", "somebody moved the meeting to noon"),
    }
    found = {}
    for name, (type, text) in texts.items():
        found[f"about {name}"] = told(store, text, {"name": name, "type": type})
    for one in store.graph.entities(limit=10):
        found[one.entity.canonical_name] = one.entity.id
    return found


SPELLINGS = [
    ("Ravi", "ravi"),
    ("Ravi", " RAVI "),
    ("José Straße", "josé straße"),
    ("José Straße", unicodedata.normalize("NFD", "JOSÉ STRASSE")),
]


@pytest.mark.parametrize(("name", "given"), SPELLINGS)
@pytest.mark.parametrize("published", [False, True], ids=["tail", "published"])
def test_a_name_serves_as_well_as_an_id(
    store: vestig.Vestig, people: dict[str, str], name: str, given: str, published: bool
) -> None:
    if published:
        store.admin.rebuild()
    assert store.graph.entity(given).id == people[name]
    assert store.graph.entity(people[name][:12]).id == people[name]
    about = people[f"about {name}"]
    assert [memory.id for memory in store.list({"entities": given})] == [about]
    assert [hit.id for hit in store.recall("what is known", where={"entities": given})] == [about]
    edges = store.graph.edges(given, edge_type="MENTIONS")
    assert [edge.edge.from_id for edge in edges] == [about]
    found = store.graph.search(None, "graph", seed_nodes=given, graph_depth=1)
    assert {hit.node_id for hit in found} == {people[name], about}


def test_links_by_name_are_relations(store: vestig.Vestig, people: dict[str, str]) -> None:
    change = store.graph.link("ravi", "ATLAS", relation="owns")
    assert change.edge.edge_type == "RELATION"
    assert (change.edge.from_id, change.edge.to_id) == (people["Ravi"], people["Atlas"])
    assert change.edge.relation == "OWNS"
    again = store.graph.link(people["Ravi"], "Atlas", "RELATION", relation="OWNS")
    assert (again.changed, again.id) == (False, change.id)
    with pytest.raises(ValidationError, match="relation: expected the label of a RELATION"):
        store.graph.link("Ravi", "Atlas")
    with pytest.raises(NotFoundError, match="Entity not found: Nobody"):
        store.graph.link("Ravi", "Nobody", relation="OWNS")
    with pytest.raises(ValidationError, match="from_id: expected text"):
        store.graph.link(["Ravi"], "Atlas")  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="seed_nodes"):
        store.graph.search(None, "graph", seed_nodes="\ud800")
    with pytest.raises(ValidationError, match="two memories or two entities"):
        store.graph.link(people["about Ravi"], "Atlas")


def test_links_of_memories_need_no_type(store: vestig.Vestig, people: dict[str, str]) -> None:
    a, b = people["about Ravi"], people["about Atlas"]
    assert store.graph.link(a, b).edge.edge_type == "RELATED"
    short = a.removeprefix("mem_")[:8], b.removeprefix("mem_")[:8]
    assert not store.graph.link(*short).changed


def test_aliases_and_merged_names(store: vestig.Vestig, people: dict[str, str]) -> None:
    change = store.graph.merge_entities("ravi", "josé straße")
    assert change.entity.id == people["José Straße"]
    assert store.graph.entity("Ravi").id == people["José Straße"]
    assert store.count({"entities": "RAVI"}) == 2
    store.graph.expire_entity("atlas")
    with pytest.raises(NotFoundError):
        store.graph.entity("Atlas")
    assert store.graph.entity("Atlas", include_expired=True).id == people["Atlas"]
    assert store.count({"entities": "Atlas"}) == 0
    assert store.graph.purge_entities("ATLAS").entity_ids == (people["Atlas"],)


def test_an_ambiguous_name_lists_its_candidates(store: vestig.Vestig) -> None:
    told(store, "one of them lives by the river", {"name": "Orion", "type": "PERSON"})
    told(store, "the other one is written in Rust", {"name": "Orion", "type": "PROJECT"})
    listed = store.graph.entities(limit=10)
    entities = [one.entity for one in listed if one.entity.canonical_name == "Orion"]
    assert len(entities) == 2
    where: Any = {"entities": "orion"}
    calls = (
        lambda: store.graph.entity("orion"),
        lambda: store.graph.link("orion", entities[0].id, relation="IS"),
        lambda: store.graph.edges("orion"),
        lambda: store.graph.merge_entities("orion", entities[0].id),
        lambda: store.graph.search(None, "graph", seed_nodes=["orion"]),
        lambda: store.recall("who is it", where=where),
        lambda: store.list(where),
        lambda: store.forget(where=where),
    )
    for call in calls:
        with pytest.raises(ValidationError, match="several entities have this name") as caught:
            call()
        for one in entities:
            assert f"{one.id} {one.entity_type} Orion" in str(caught.value)
    assert store.count() == 2
    assert store.graph.entity(entities[1].id[:14]).id == entities[1].id


def test_a_name_without_a_type_is_that_of_the_only_typed_entity(store: vestig.Vestig) -> None:
    first = told(store, "we saw Orion on the deck yesterday")
    second = told(store, "it sleeps at noon every day", {"name": "Orion", "type": "PERSON"})
    listed = [one.entity for one in store.graph.entities(limit=10)]
    assert {one.entity_type for one in listed} == {"UNTYPED", "PERSON"}
    assert store.graph.entity("orion").entity.entity_type == "PERSON"
    assert {memory.id for memory in store.list({"entities": "Orion"})} == {first, second}


@pytest.mark.parametrize("given", ["", "  ", 5, None, "mem_00000000"])
def test_what_is_neither_id_nor_name_is_refused(store: vestig.Vestig, given: Any) -> None:
    with pytest.raises(ValidationError, match="the name of an entity"):
        store.graph.entity(given)


def test_unknown_names_match_nothing(store: vestig.Vestig, people: dict[str, str]) -> None:
    assert people
    assert store.count({"entities": ["Nobody", "ravi"]}) == 1
    assert store.count({"entities": "Nobody"}) == 0
    found = store.graph.search(None, "graph", seed_nodes=["Nobody", "Ravi"])
    assert found.results
    assert any("Nobody" in warning for warning in found.warnings)
    with pytest.raises(ValidationError, match="seed_nodes"):
        store.graph.search(None, "graph", seed_nodes=[" "])


# --- ids and lists of one ----------------------------------------------------------------------


def test_a_short_id_of_a_memory_needs_no_prefix(store: vestig.Vestig) -> None:
    ids = [store.commit(f"Fact {n * 7919} of the harbour").memory_id for n in range(4)]
    short = [str(id).removeprefix("mem_")[:8] for id in ids]
    assert store.show(short[0]).memory.id == ids[0]
    assert store.events(short[0])
    assert {m.id for m in store.list({"ids": short[:2]})} == set(ids[:2])
    assert {m.id for m in store.list({"exclude_ids": short[0]})} == set(ids[1:])
    found = store.graph.search("harbour", "vector", where={"ids": short[1]})
    assert {hit.node_id for hit in found} == {ids[1]}
    assert store.recall("harbour", where={"ids": short[2]}, expect=short[3])
    store.pin(short[0])
    store.unpin(short[0])
    store.update(short[0], tags="infra")
    assert store.show(short[0]).memory.tags == ("infra",)
    store.supersede(short[0], short[1])
    assert store.commit("Fact 5 took its place", supersedes=short[1]).superseded == (ids[1],)
    assert store.record_access(short[2]) == 1
    assert store.forget(short[2]).memory_ids == (ids[2],)
    with pytest.raises(NotFoundError, match="Memory not found: mem_0123abcd"):
        store.show("0123abcd")
    with pytest.raises(ValidationError, match="at least 8 characters"):
        store.show(short[3][:7])


def test_one_text_stands_for_a_list_of_one(store: vestig.Vestig) -> None:
    old = store.commit("The staging database runs on port 5432").memory_id
    new = store.commit(
        "The staging database runs on port 6432",
        supersedes=old,
        tags="infra",
        keywords="postgres",
        entities="Zebra Crossing",
        hypothetical_queries="which port?",
    )
    assert new.superseded == (old,)
    assert new.memory_id is not None
    memory = store.show(new.memory_id, expand=1)
    assert memory.memory.tags == ("infra",)
    assert "postgres" in memory.memory.keywords
    assert "Zebra Crossing" in [one.name for one in memory.mentions]
    assert store.graph.expand_via_entities(new.memory_id) == []
    store.graph.expire_entity("Zebra Crossing")
    assert len(store.graph.purge_entities("zebra crossing", dry_run=True).entity_ids) == 1


def test_a_beginning_that_fits_several_ids_lists_them(store: vestig.Vestig) -> None:
    first = new_id("ent")
    alike = first[:13] + new_id("ent")[13:]
    parts: Any = {"model": "", "embedding": None}
    rows = [made.entity(name, id=id, **parts) for id, name in ((first, "Ravi"), (alike, "Atlas"))]
    write(store, entities=tuple(rows))
    calls = (
        lambda: store.graph.entity(first[:12]),
        lambda: store.graph.entity(first[:12], include_expired=True),
        lambda: store.graph.search(None, "graph", seed_nodes=first[:12]),
    )
    for call in calls:
        with pytest.raises(ValidationError, match="it fits") as caught:
            call()
        assert f"{first} PERSON Ravi" in str(caught.value)
        assert f"{alike} PERSON Atlas" in str(caught.value)


def test_a_filter_says_which_entities_nobody_knows(
    store: vestig.Vestig, people: dict[str, str]
) -> None:
    where = {"entities": ["Ravi", "Raavi", "ent_00000000"]}
    results = [
        store.recall("who came?", where=where),
        store.list(where=where),
        store.graph.search("who came?", where=where),
        store.retrieve([{"content": "who came?"}], where=where).metadata,
    ]
    for result in results:
        told_of = [
            one for one in result.warnings if one.startswith("entities: no entity is called")
        ]
        assert [one.split("'")[1] for one in told_of] == ["Raavi", "ent_00000000"]
    known = {"entities": ["ravi", people["Atlas"]]}
    assert store.recall("who came?", where=known).warnings == ()
    assert store.list(where=known).warnings == ()
