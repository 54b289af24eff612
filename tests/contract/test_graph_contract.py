"""Entities, questions and projection rows: what every ledger must do with them."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_adapters import add, named, put, write
from msgspec import structs

import ledger_rows as made
from vestig.changes import AccessTouch, EntityPatch
from vestig.errors import NotFoundError
from vestig.ids import id_bytes, new_id
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.rows import EntityListing
from vestig.times import from_us
from vestig.types import Edge, EdgeType, TemporalWindow

NOW = made.NOW
ALL = EntityListing(limit=None)


def edges_of(ledger: Ledger, id: str) -> list[Edge]:
    with ledger.read() as view:
        return view.edges("default", id)


# --- entities --------------------------------------------------------------------------------


def test_an_entity_comes_back_as_it_was_written(ledger: Ledger) -> None:
    new = made.entity(
        "C++",
        "SKILL",
        description="a language",
        aliases=("cpp", "C Plus Plus", "cpp"),
        type_certain=False,
        origin="forced",
    )
    put(ledger, entities=(new,))
    with ledger.read() as view:
        (got,) = view.entities("default", [new.id])
    assert (got.id, got.namespace, got.seq) == (new.id, "default", 1)
    for name in ("entity_type", "canonical_name", "norm_key", "description", "type_certain"):
        assert getattr(got, name) == getattr(new, name), name
    assert (got.aliases, got.origin) == (("cpp", "C Plus Plus"), "forced")
    assert (got.created_at, got.expired_at, got.merged_into) == (from_us(NOW), None, None)
    assert (got.access_count, got.last_accessed_at) == (0, None)


def test_entities_keep_their_order_and_unknown_ones_are_left_out(ledger: Ledger) -> None:
    first, second = named(ledger, "Ada", "Bob")
    with ledger.read() as view:
        wanted = [second, new_id("ent"), "nonsense", first, second]
        assert [e.id for e in view.entities("default", wanted)] == [second, first, second]
        assert view.entities("default", []) == []
        assert view.ids_with_prefix("default", first[:10], kind="ent") == [first]
        assert view.ids_with_prefix("default", "ent_", kind="ent") == sorted([first, second])
        assert view.ids_with_prefix("default", "ent_", 1, kind="ent") == [min(first, second)]
        assert view.ids_with_prefix("other", first, kind="ent") == []
        assert view.ids_with_prefix("default", "mem_", kind="ent") == []


def test_one_name_under_two_types_is_two_entities(ledger: Ledger) -> None:
    person, place = made.entity("Paris"), made.entity("Paris", "PLACE")
    put(ledger, entities=(person, place))
    with ledger.read() as view:
        found = view.entities_by_key("default", ["PERSON:paris", "PLACE:paris", "ORG:paris"])
        assert {key: entity.id for key, entity in found.items()} == {
            "PERSON:paris": person.id,
            "PLACE:paris": place.id,
        }
        assert view.count_entities("default", ALL) == 2


def test_an_expired_entity_never_blocks_a_new_one(ledger: Ledger) -> None:
    (old,) = named(ledger, "Ada")
    put(ledger, NOW + 5, entity_patches=(EntityPatch(entity_id=old, expired=True),))
    put(ledger, NOW + 9, entity_patches=(EntityPatch(entity_id=old, expired=True),))
    (new,) = named(ledger, "Ada")
    assert new != old
    with ledger.read() as view:
        assert view.entities_by_key("default", ["PERSON:ada"])["PERSON:ada"].id == new
        (was,) = view.entities("default", [old])
        assert was.expired_at == from_us(NOW + 5)
        assert [e.id for e, _ in view.list_entities("default", ALL)] == [new]
        every = EntityListing(limit=None, include_expired=True)
        assert view.count_entities("default", every) == 2


def test_a_known_key_stands_for_the_new_entity_and_edges_follow(ledger: Ledger) -> None:
    (known,) = named(ledger, "Ada", aliases=("A.",))
    memory = made.memory("Ada and Ada again")
    one = made.entity("Ada", aliases=("Lovelace", "A."), canonical_name="ADA")
    two = made.entity("Ada", description="a mathematician")
    edges = (made.mention(memory.id, one.id), made.mention(memory.id, two.id, confidence=0.1))
    put(ledger, memories=(memory,), entities=(one, two), edges=edges)
    with ledger.read() as view:
        (mention,) = view.mentions("default", [memory.id])
        assert (mention.entity_id, mention.confidence) == (known, 0.9)
        assert view.entities("default", [one.id, two.id]) == []
        (got,) = view.entities("default", [known])
    # The first name stays, a longer description replaces a shorter one.
    assert (got.canonical_name, got.description) == ("Ada", "a mathematician")
    assert got.aliases == ("A.", "Lovelace")
    put(ledger, entities=(made.entity("Ada", description="short"),))
    with ledger.read() as view:
        assert view.entities("default", [known])[0].description == "a mathematician"


def test_two_names_that_are_one_entity_are_not_linked_with_each_other(ledger: Ledger) -> None:
    one, two = made.entity("Ada"), made.entity("Ada")
    loop = made.edge(one.id, two.id, EdgeType.RELATION, relation="KNOWS")
    put(ledger, entities=(one, two), edges=(loop,))
    assert edges_of(ledger, one.id) == []


def test_a_patch_sets_what_it_names(ledger: Ledger) -> None:
    first, second = named(ledger, "Ada", "Countess")
    columns: dict[str, Any] = {
        "description": "née Byron",
        "aliases": ["A. L."],
        "type_certain": False,
        "model": "test-model",
        "embedding": made.vector("", value=1.0).embedding,
    }
    put(ledger, entity_patches=(EntityPatch(entity_id=first, columns=columns),))
    merged = EntityPatch(entity_id=second, columns={"merged_into": first}, expired=True)
    put(ledger, NOW + 1, entity_patches=(merged,))
    with ledger.read() as view:
        got, was = view.entities("default", [first, second])
        assert (got.description, got.aliases, got.type_certain) == ("née Byron", ("A. L.",), False)
        assert (was.merged_into, was.expired_at) == (first, from_us(NOW + 1))
        rows = {row[0]: row for row in view.projection_rows(0)}
        assert rows[id_bytes(first)][19] == columns["embedding"]
        assert rows[id_bytes(second)][7:10] == (2, 1, "PERSON")
        assert rows[id_bytes(second)][18] == NOW + 1
    for bad in ({"canonical_name": "x"}, {"embedding": b""}):
        with pytest.raises(ValueError, match="cannot set"):
            put(ledger, entity_patches=(EntityPatch(entity_id=first, columns=bad),))
    with pytest.raises(NotFoundError, match="Entity"):
        put(ledger, entity_patches=(EntityPatch(entity_id=new_id("ent")),))


def test_entities_are_listed_by_how_many_memories_mention_them(ledger: Ledger) -> None:
    one, two, three = named(ledger, "One", "Two", "Three")
    (place,) = named(ledger, "Four", kind="PLACE")
    a, b, gone = add(ledger, "a"), add(ledger, "b"), add(ledger, "c")
    links = [(a, two), (b, two), (a, place), (gone, three)]
    put(ledger, edges=tuple(made.mention(memory, entity) for memory, entity in links))
    write(ledger, made.superseded(gone, a))
    with ledger.read() as view:
        listed = [(e.id, n) for e, n in view.list_entities("default", ALL)]
        assert listed == [(two, 2), (place, 1), *((id, 0) for id in sorted([one, three]))]
        page = EntityListing(offset=1, limit=1)
        assert [e.id for e, _ in view.list_entities("default", page)] == [place]
        people = EntityListing(entity_type="PERSON", limit=None)
        assert view.count_entities("default", people) == 3
        assert {e.id for e, _ in view.list_entities("default", people)} == {one, two, three}
        assert view.list_entities("other", ALL) == []
        stats = view.stats("default")
    assert (stats["entities"], stats["edges"]["MENTIONS"]) == (4, 4)


def test_accesses_of_entities_are_counted_once_a_call(ledger: Ledger) -> None:
    (ada,) = named(ledger, "Ada")
    seen = AccessTouch(memory_ids=(), entity_ids=(ada, ada), accessed_us=NOW + 7)
    ledger.touch("default", seen)
    ledger.touch("default", seen)
    unknown = AccessTouch(memory_ids=(), entity_ids=(ada, new_id("ent")), accessed_us=NOW + 8)
    with pytest.raises(NotFoundError, match="Entity"):
        ledger.touch("default", unknown)
    with ledger.read() as view:
        (got,) = view.entities("default", [ada])
        assert view.seq == 1
    assert (got.access_count, got.last_accessed_at) == (2, from_us(NOW + 7))


# --- questions -------------------------------------------------------------------------------


def test_questions_are_null_until_they_were_tried(ledger: Ledger) -> None:
    a, b, c = (add(ledger, text) for text in "abc")
    asked = (made.question(a, 1, "second?"), made.question(a, 0, "first?"))
    put(ledger, questions=asked, questions_tried=(a, b, b))
    with ledger.read() as view:
        assert view.questions("default", [a, b, c]) == {a: ["first?", "second?"], b: []}
        assert view.questions("other", [a]) == {}
        rows = {row[0]: row[27] for row in view.projection_rows(0)}
    assert rows[id_bytes(a)] == [asked[1].embedding, asked[0].embedding]
    assert rows[id_bytes(b)] == rows[id_bytes(c)] == []


def test_new_questions_take_the_place_of_the_old(ledger: Ledger) -> None:
    a = add(ledger, "a")
    put(ledger, questions=tuple(made.question(a, place) for place in range(3)))
    put(ledger, questions_tried=(a,))
    seq = put(ledger, questions=(made.question(a, 0, "only?"),))
    with ledger.read() as view:
        assert view.questions("default", [a]) == {a: ["only?"]}
        (row,) = view.projection_rows(seq - 1)
        assert (row[2], len(row[27])) == (seq, 1)
    with pytest.raises(NotFoundError):
        put(ledger, questions=(made.question(new_id("mem")),))
    with pytest.raises(NotFoundError):
        put(ledger, questions_tried=(new_id("mem"),))


# --- the feed --------------------------------------------------------------------------------


def projected_after(ledger: Ledger, after: int) -> list[bytes]:
    with ledger.read() as view:
        rows = list(view.projection_rows(after))
        assert all(row[2] > after for row in rows)
        return [row[0] for row in rows]


def test_a_change_of_what_starts_at_a_node_gives_its_row_again(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    ada, bob = named(ledger, "Ada", "Bob")
    related, mention = made.edge(a, b), made.mention(b, ada)
    relation = made.edge(bob, ada, EdgeType.RELATION, relation="KNOWS")
    patch = EntityPatch(entity_id=ada, columns={"aliases": ("A.",)})
    steps: list[tuple[dict[str, Any], list[str]]] = [
        ({"edges": (related,)}, [a]),
        ({"edges": (mention,)}, [b]),
        ({"edges": (relation,)}, [bob]),
        ({"edges": (mention, relation)}, []),
        ({"expired_edges": (relation.id,)}, [bob]),
        ({"expired_edges": (related.id,)}, [a]),
        ({"entity_patches": (patch,)}, [ada]),
        ({"questions": (made.question(b),)}, [b]),
        ({"questions_tried": (a,)}, [a]),
    ]
    for parts, touched in steps:
        seq = put(ledger, **parts)
        assert projected_after(ledger, seq - 1) == [id_bytes(id) for id in touched], parts
    assert sorted(projected_after(ledger, 0)) == sorted(map(id_bytes, (a, b, ada, bob)))


def test_rows_of_entities_come_after_those_of_memories(ledger: Ledger) -> None:
    new = made.entity("C++", "SKILL", norm_key="SKILL:c++", aliases=("Cpp", "c++", "C plus plus"))
    other = made.entity("Ada", embedding=None)
    memory = made.memory("Ada writes C++", keywords=("ada", "c++"))
    relation = made.edge(other.id, new.id, EdgeType.RELATION, relation="WRITES", weight=0.0)
    mention = made.mention(memory.id, new.id, confidence=None)
    changes = made.added(memory)
    edges = (*changes.edges, relation, mention)
    write(ledger, structs.replace(changes, entities=(new, other), edges=edges))
    with ledger.read() as view:
        (first, skill, person) = view.projection_rows(0)
    assert first[0] == id_bytes(memory.id)
    assert first[24:26] == (["ada", "c++"], [])
    fed_mention = (id_bytes(mention.id), id_bytes(new.id), 0, 1.0, None, NOW, None)
    assert first[26:29] == ([fed_mention], [], [])
    three_content_words = 3 << 12
    assert first[29:] == (len("Ada writes C++") | three_content_words, None, None, 1, None, False)
    assert skill == (
        id_bytes(new.id), 1, 1, "", None, "default", None, 2, 0, "SKILL", None, None, 3, 3, False,
        NOW, None, NOW, None, new.embedding, [], [], [], [], [], [], [], [],
        [("c++", "C++"), ("cpp", "Cpp"), ("c plus plus", "C plus plus")], 0, None, None, None, None,
        False,
    )  # fmt: skip
    assert person[19] is None
    assert person[26] == [(id_bytes(relation.id), id_bytes(new.id), 3, 0.0, None, NOW, None)]


def test_the_row_of_a_memory_has_its_time_windows(ledger: Ledger) -> None:
    times = (
        TemporalWindow(text="in May", start=from_us(5), end=from_us(9), grain="month"),
        TemporalWindow(text="since then", start=from_us(7), end=None, grain="open"),
    )
    add(ledger, "a", times=times)
    with ledger.read() as view:
        (row,) = view.projection_rows(0)
    assert row[25] == [(5, 9), (7, None)]
