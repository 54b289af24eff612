"""RELATION edges that follow from claims between two entities."""

from __future__ import annotations

import io
from typing import Any

import vestig
from scripted import Opener
from vestig.types import Edge, EdgeType

FACT = {"subject": "Ada", "fact_type": "ADVISES", "object": "Acme"}


def with_entities(store: vestig.Vestig) -> dict[str, str]:
    """name → id of entities that a memory mentions."""
    given = ["PERSON:Ada", "PERSON:Bo", "ORG:Acme"]
    store.commit("Ada and Bo came to see the office of Acme", entities=given)
    return {one.entity.canonical_name: one.entity.id for one in store.graph.entities(limit=100)}


def claimed(store: vestig.Vestig, text: str, key: str | None = None, **fields: Any) -> str:
    """Id of a memory whose claim relates Ada to Acme."""
    claim = {**FACT, "subject_id": "Ada", "object_id": "Acme", **fields}
    return str(store.commit(text, claim=claim, key=key).memory_id)


def relations(store: vestig.Vestig, *, expired: bool = False) -> list[Edge]:
    found = store.graph.edges(edge_type="RELATION", limit=100, include_expired=expired)
    return [one.edge for one in found]


def test_a_claim_between_two_entities_relates_them(opener: Opener) -> None:
    store = opener()
    ids = with_entities(store)
    claimed(store, "Ada advises Acme since the spring")
    [edge] = relations(store)
    assert (edge.from_id, edge.relation, edge.to_id) == (ids["Ada"], "ADVISES", ids["Acme"])
    assert (edge.origin, edge.weight, edge.t_expired) == ("computed", 1.0, None)
    # a second claim of the same relation changes nothing
    claimed(store, "Ada has a desk at Acme", fact_type="advises", attributes={"floor": 2})
    assert relations(store) == [edge]
    claimed(store, "Ada founded Acme with a friend", relationship_type="founder of")
    assert {one.relation for one in relations(store)} == {"ADVISES", "FOUNDER_OF"}
    hits = store.graph.search("Ada", "graph", seed_nodes=["Ada"])
    assert ids["Acme"] in {hit.node_id for hit in hits}
    assert store.admin.doctor().exit_code == 0


def test_a_claim_that_names_one_entity_relates_nothing(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    store.commit("Ada works at a mill by the river", claim={**FACT, "subject_id": "Ada"})
    claimed(store, "Ada is her own best friend", object_id="Ada")
    assert relations(store) == []


def test_a_relation_ends_with_the_last_active_claim(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    first = claimed(store, "Ada advises Acme since the spring")
    second = claimed(store, "Ada has a desk at Acme", fact_type="advises", key="desk")
    [edge] = relations(store)
    store.deprecate(first)
    assert relations(store) == [edge]
    store.archive(second)
    assert relations(store) == []
    store.unarchive(second)
    [again] = relations(store)
    assert again.id != edge.id
    store.commit("Ada left her desk at Acme", key="desk")
    assert relations(store) == []
    assert [one.t_expired is None for one in relations(store, expired=True)] == [False, False]


def test_a_relation_of_a_caller_stays(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    linked = store.graph.link("Ada", "Acme", relation="ADVISES").edge.id
    id = claimed(store, "Ada advises Acme since the spring")
    store.deprecate(id)
    store.forget(id)
    assert [one.id for one in relations(store)] == [linked]


def test_a_relation_goes_with_the_last_claim_that_is_forgotten(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    first = claimed(store, "Ada advises Acme since the spring")
    second = claimed(store, "Ada has a desk at Acme", fact_type="advises", key="desk")
    store.forget(first)
    assert len(relations(store)) == 1
    store.deprecate(second)
    assert [one.t_expired is None for one in relations(store, expired=True)] == [False]
    store.forget(second)
    assert relations(store, expired=True) == []
    assert store.admin.doctor().exit_code == 0


def test_a_forgotten_active_claim_ends_what_only_a_withdrawn_one_states(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    first = claimed(store, "Ada advises Acme since the spring")
    second = claimed(store, "Ada has a desk at Acme", fact_type="advises", key="desk")
    store.deprecate(second)
    store.forget(first)
    assert relations(store) == []
    assert len(relations(store, expired=True)) == 1


def test_claims_that_lose_their_evidence_relate_nothing(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    said = str(store.commit("I have joined Acme for good", author="Ada").memory_id)
    evidence = [{"source_id": said, "snippet": "joined Acme"}]
    claimed(store, "Ada advises Acme since the spring", evidence=evidence)
    assert len(relations(store)) == 1
    store.forget(said)
    assert relations(store, expired=True) == []


def test_a_merged_entity_keeps_its_relations(opener: Opener) -> None:
    store = opener()
    ids = with_entities(store)
    id = claimed(store, "Ada advises Acme since the spring")
    store.graph.merge_entities(ids["Ada"], ids["Bo"])
    [edge] = relations(store)
    assert (edge.from_id, edge.to_id) == (ids["Bo"], ids["Acme"])
    other = claimed(store, "Bo advises Acme as well", subject="Bo", subject_id="Bo", key="bo")
    assert [one.id for one in relations(store)] == [edge.id]
    for one in (id, other):
        store.deprecate(one)
    assert relations(store) == []
    store.forget([id, other])
    assert relations(store, expired=True) == []


def exported(store: vestig.Vestig, **fields: Any) -> bytes:
    out = io.BytesIO()
    store.export(out, **fields)
    return out.getvalue()


def test_relations_travel_with_their_claims(opener: Opener) -> None:
    store = opener()
    with_entities(store)
    id = claimed(store, "Ada advises Acme since the spring")
    whole = exported(store)
    other = opener("other")
    other.import_(io.BytesIO(whole), format="export")
    assert exported(other) == whole
    # a selection without the claim has no edge that follows from it
    alone = opener("alone")
    alone.import_(io.BytesIO(exported(store, where={"exclude_ids": [id]})), format="export")
    assert len(alone.graph.entities()) == 3
    assert relations(alone, expired=True) == []
    # beside the same names, the claim relates them again
    alone.import_(io.BytesIO(whole), format="export", merge=True)
    assert [one.relation for one in relations(alone)] == ["ADVISES"]
    alone.forget(id)
    alone.import_(io.BytesIO(whole), format="export", merge=True)
    assert relations(alone, expired=True) == []
    assert alone.admin.doctor().exit_code == 0


def test_older_news_of_a_key_ends_the_relation_it_stated(opener: Opener) -> None:
    """Of two versions that come together by an import the later one alone is active."""
    elsewhere = opener("elsewhere")
    with_entities(elsewhere)
    late = {**FACT, "subject_id": "Ada", "object_id": "Acme", "fact_type": "FOUNDED"}
    elsewhere.commit("Ada has founded Acme by now", claim=late, key="ada", t_valid="2026-01-01")
    store = opener()
    with_entities(store)
    early = {**late, "fact_type": "ADVISES"}
    store.commit("Ada advises Acme since a year", claim=early, key="ada", t_valid="2025-01-01")
    store.import_(io.BytesIO(exported(elsewhere)), format="export", merge=True)
    assert [one.relation for one in relations(store)] == ["FOUNDED"]
    assert EdgeType.RELATION.value in {one.edge_type for one in relations(store)}
