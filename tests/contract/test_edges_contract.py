"""Edges: what every ledger must do with them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from ledger_adapters import add, named, put, write

import ledger_rows as made
from vestig.changes import EdgePatch, EntityPatch, NewEdge
from vestig.errors import NotFoundError, ValidationError
from vestig.ids import id_bytes, new_id
from vestig.store.ledger.ledger import Ledger
from vestig.store.records.rows import EntityListing, Mentioned
from vestig.times import from_us
from vestig.types import EdgeType, Kind

NOW = made.NOW
ALL = EntityListing(limit=None)


def test_weights_and_evidence_survive(ledger: Ledger) -> None:
    ids = [add(ledger, text) for text in "abcd"]
    edges = (
        made.edge(ids[0], ids[1], weight=0.0),
        made.edge(ids[0], ids[2], weight=0.37, evidence="e" * 197 + "...", confidence=0.0),
        NewEdge(id=new_id("edge"), from_id=ids[0], to_id=ids[3], edge_type=EdgeType.RELATED),
    )
    put(ledger, edges=edges)
    with ledger.read() as view:
        stored = {e.to_id: e for e in view.outgoing("default", "RELATED", ids)}
        fed = {edge[0]: edge[3] for row in view.projection_rows(0) for edge in row[26]}
    assert [stored[id].weight for id in ids[1:]] == [0.0, 0.37, 1.0]
    assert math.copysign(1.0, stored[ids[1]].weight) == 1.0
    assert [fed[id_bytes(edge.id)] for edge in edges] == [0.0, 0.37, 1.0]
    assert (stored[ids[2]].evidence, stored[ids[2]].confidence) == ("e" * 197 + "...", 0.0)
    assert stored[ids[1]].evidence is None


def test_an_edge_that_is_stored_again_keeps_its_id(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    (ada,) = named(ledger, "Ada")
    first = (made.edge(a, b, weight=0.5), made.mention(a, ada))
    put(ledger, edges=first)
    again = (made.edge(a, b, weight=0.9), made.mention(a, ada, confidence=0.1))
    put(ledger, edges=again + again)
    with ledger.read() as view:
        related, mentioned = (view.outgoing("default", t, [a])[0] for t in ("RELATED", "MENTIONS"))
    assert (related.id, related.weight) == (first[0].id, 0.5)
    assert (mentioned.id, mentioned.confidence) == (first[1].id, 0.9)


def test_what_cannot_be_an_edge_is_refused(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    ada, bob = named(ledger, "Ada", "Bob")
    relation = {"kind": EdgeType.RELATION, "relation": "KNOWS"}
    good: tuple[tuple[str, str, dict[str, Any]], ...] = ((a, b, {}), (ada, bob, relation))
    for start, end, fields in good:
        for bad in (
            made.edge(start, start, **fields),
            *(made.edge(start, end, **fields, weight=w) for w in (math.nan, -1.0, math.inf)),
            *(made.edge(start, end, **fields, confidence=c) for c in (-0.1, 1.1, math.nan)),
        ):
            with pytest.raises(ValidationError):
                put(ledger, edges=(bad,))
    for start, end, kind in (
        (a, ada, EdgeType.RELATED),
        (a, b, EdgeType.MENTIONS),
        (ada, a, EdgeType.MENTIONS),
        (ada, b, EdgeType.RELATION),
    ):
        with pytest.raises(ValidationError):
            put(ledger, edges=(made.edge(start, end, kind),))
    for extra in ({"kind": EdgeType.RELATION}, {"relation": "KNOWS"}):
        ends = (ada, bob) if "kind" in extra else (a, b)
        with pytest.raises(ValidationError):
            put(ledger, edges=(made.edge(*ends, **extra),))
    with ledger.read() as view:
        for read in (view.list_edges, lambda *_, edge_type: view.edges("default", a, edge_type)):
            with pytest.raises(ValidationError) as caught:
                read("default", edge_type="FOO")
            named_types = str(caught.value)
            assert all(kind.value in named_types for kind in EdgeType)
            assert "AFFECTS" in named_types
        assert view.list_edges("default", edge_type="RELATED") == []


def test_edges_stay_within_a_namespace_and_have_both_ends(ledger: Ledger) -> None:
    here, there = add(ledger, "a"), add(ledger, "a", namespace="other")
    (ada,) = named(ledger, "Ada")
    (eve,) = named(ledger, "Eve", namespace="other")
    for bad in (
        made.edge(here, there),
        made.mention(here, eve),
        made.mention(here, new_id("ent")),
        made.mention(new_id("mem"), ada),
        made.edge(ada, eve, EdgeType.RELATION, relation="KNOWS"),
    ):
        with pytest.raises(NotFoundError):
            put(ledger, edges=(bad,))
    link = made.mention(there, eve)
    put(ledger, edges=(link,), namespace="other")
    with pytest.raises(NotFoundError, match="Edge"):
        put(ledger, expired_edges=(link.id,))
    with ledger.read() as view:
        assert view.entities("default", [eve]) == []
        assert view.entities_by_key("default", ["PERSON:eve"]) == {}
        assert view.mentions("default", [there]) == []
        assert view.mentioning("default", [eve]) == {}
        assert view.edge("default", link.id) is None
        assert view.edge_ids_with_prefix("default", link.id) == []
        assert view.list_edges("default", edge_type="MENTIONS") == []
        assert view.outgoing("default", "MENTIONS", [there]) == []
        assert view.edge("other", link.id) is not None
        assert view.stats("default")["edges"].get("MENTIONS") is None
        assert view.stats("other")["entities"] == 1


def test_an_edge_that_ended_is_kept_and_may_be_stored_anew(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    old, new = made.edge(a, b, weight=0.5), made.edge(a, b, weight=0.7)
    put(ledger, edges=(old,))
    assert put(ledger, NOW + 5, expired_edges=(old.id,), edges=(new,)) == 4
    put(ledger, NOW + 9, expired_edges=(old.id, old.id))
    with ledger.read() as view:
        assert [e.id for e in view.list_edges("default", edge_type="RELATED")] == [new.id]
        assert [e.id for e in view.outgoing("default", "RELATED", [a])] == [new.id]
        assert [e.id for e in view.edges("default", b, "RELATED")] == [new.id]
        every = view.list_edges("default", edge_type="RELATED", include_expired=True)
        assert [(e.id, e.t_expired) for e in every] == [
            (new.id, None),
            (old.id, from_us(NOW + 5)),
        ]
        was = view.edge("default", old.id)
        assert was is not None
        assert (was.t_created, was.weight) == (from_us(NOW), 0.5)
        row = next(row for row in view.projection_rows(0) if row[0] == id_bytes(a))
        assert {(edge[0], edge[5], edge[6]) for edge in row[26]} == {
            (id_bytes(old.id), NOW, NOW + 5),
            (id_bytes(new.id), NOW + 5, None),
        }
        assert view.edge("default", new_id("edge")) is None
        assert view.edge("default", "nonsense") is None
        assert view.edge_ids_with_prefix("default", old.id[:12]) == [old.id]
    with pytest.raises(NotFoundError):
        put(ledger, expired_edges=(new_id("edge"),))


def test_many_edges_end_at_once(ledger: Ledger) -> None:
    memory = add(ledger, "a")
    entities = tuple(made.entity(f"Name {n}") for n in range(600))
    links = tuple(made.mention(memory, entity.id) for entity in entities)
    put(ledger, entities=entities, edges=links)
    put(ledger, expired_edges=tuple(link.id for link in links[1:]))
    with ledger.read() as view:
        assert [m.entity_id for m in view.mentions("default", [memory])] == [entities[0].id]


def test_the_time_of_an_edge_may_be_given(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    put(ledger, NOW + 9, edges=(made.edge(a, b, t_created_us=NOW - 3),))
    with ledger.read() as view:
        (edge,) = view.outgoing("default", "RELATED", [a])
    assert edge.t_created == from_us(NOW - 3)


def test_a_patched_edge_keeps_its_id_and_times(ledger: Ledger) -> None:
    a, b, c = add(ledger, "a"), add(ledger, "b"), add(ledger, "c")
    link = made.edge(a, b, weight=0.5, evidence="old")
    seq = put(ledger, edges=(link, made.edge(a, c)))
    fresh = {"edge_type": EdgeType.RELATED, "weight": 0.25, "confidence": 0.25, "evidence": "new"}
    patches = (
        EdgePatch(from_id=a, to_id=b, **fresh),
        EdgePatch(from_id=b, to_id=c, **fresh),
        EdgePatch(from_id=a, to_id=c, edge_type=EdgeType.RELATED, expired=True),
    )
    put(ledger, NOW + 5, edge_patches=patches)
    with ledger.read() as view:
        (got,) = view.outgoing("default", "RELATED", [a, b])
        assert (got.id, got.t_created, got.weight) == (link.id, from_us(NOW), 0.25)
        assert (got.confidence, got.evidence) == (0.25, "new")
        assert [row[0] for row in view.projection_rows(seq)] == [id_bytes(a)]


# --- who mentions, who sums up ---------------------------------------------------------------


def test_mentions_come_by_memory_and_confidence(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    names = named(ledger, "One", "Two", "Three", "Four")
    given = dict(zip(names, (0.5, None, 0.9, 0.5), strict=True))
    links = [made.mention(a, id, confidence=c) for id, c in given.items()]
    put(ledger, edges=(*links, made.mention(b, names[0])))
    put(ledger, entity_patches=(EntityPatch(entity_id=names[2], expired=True),))
    rest = sorted([names[0], names[3]])
    with ledger.read() as view:
        assert view.mentions("default", [b, a, new_id("mem"), b]) == [
            Mentioned(memory_id=b, entity_id=names[0], confidence=0.9),
            Mentioned(memory_id=a, entity_id=names[1], confidence=None),
            *(Mentioned(memory_id=a, entity_id=id, confidence=0.5) for id in rest),
        ]
        assert view.mentions("default", []) == []
        stored = view.recalled("default", [id_bytes(a), id_bytes(b)])
        row_a, row_b = stored[id_bytes(a)].row, stored[id_bytes(b)].row
        found = view.mentioned_names([row_b, row_a, max(row_a, row_b) + 1])
        assert {row: sorted(own) for row, own in found.items()} == {
            row_a: ["Four", "One", "Two"],
            row_b: ["One"],
        }


def test_memories_that_mention_an_entity_come_newest_first(ledger: Ledger) -> None:
    old, mid, new, gone = (add(ledger, text) for text in "abcd")
    ada, bob = named(ledger, "Ada", "Bob")
    loose = made.mention(mid, bob)
    links = (*(made.mention(memory, ada) for memory in (old, mid, new, gone)), loose)
    put(ledger, edges=links)
    put(ledger, expired_edges=(loose.id,))
    write(ledger, made.superseded(gone, new))
    with ledger.read() as view:
        assert view.mentioning("default", [ada, bob, new_id("ent")]) == {ada: [new, mid, old]}


def test_summaries_of_memories_come_newest_first(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    sums = [add(ledger, text, kind=Kind.SUMMARY) for text in ("s1", "s2", "s3")]
    links = [made.edge(summary, a, EdgeType.SUMMARIZES) for summary in sums]
    put(ledger, edges=(*links, made.edge(sums[0], b, EdgeType.SUMMARIZES)))
    write(ledger, made.superseded(sums[1], sums[2]))
    with ledger.read() as view:
        assert view.summaries_of("default", [a, b]) == {a: [sums[2], sums[0]], b: [sums[0]]}
        assert view.summaries_of("other", [a]) == {}


def test_edges_are_listed_newest_first(ledger: Ledger) -> None:
    a, b = add(ledger, "a"), add(ledger, "b")
    ada, bob = named(ledger, "Ada", "Bob")
    links = [
        made.edge(a, b),
        made.mention(a, ada),
        made.edge(ada, bob, EdgeType.RELATION, relation="KNOWS"),
    ]
    for step, link in enumerate(links):
        put(ledger, NOW + 1 + step, edges=(link,))
    with ledger.read() as view:
        listed = view.list_edges("default", limit=3)
        assert [edge.id for edge in listed] == [link.id for link in reversed(links)]
        assert (listed[0].relation, listed[1].relation) == ("KNOWS", None)
        assert len(view.list_edges("default", limit=None)) == 5  # with PRODUCED twice
        assert [e.id for e in view.edges("default", ada)] == sorted(
            [links[1].id, links[2].id], key=id_bytes
        )
        ends = view.outgoing("default", "MENTIONS", [b, a])
        assert [(edge.from_id, edge.to_id) for edge in ends] == [(a, ada)]
