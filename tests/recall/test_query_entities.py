"""The entities that a query means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import vestig
from scripted import Opener
from vestig.ids import id_bytes
from vestig.language.names import analyse
from vestig.recall.query_entities import best_matches, name_vectors, named_entities
from vestig.session.references import LATEST_US, query_names
from vestig.store.records.reads import LedgerView
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.times import to_us


def entities_of(store: vestig.Vestig, query: str, **options: Any) -> list[tuple[str, float]]:
    context = store._session
    usual = {
        "namespace": context.namespace,
        "known_at_us": LATEST_US,
        "config": context.config,
        "vectors": {},
    }
    found, _ = context.keeper.run(
        lambda view, _: named_entities(context, view, query, **{**usual, **options})
    )
    return [(one.id, one.score) for one in found]


def named(store: vestig.Vestig, *entities: Any, text: str = "they spoke about it") -> list[str]:
    return list(store.commit(text, entities=list(entities), on_near_dup="insert").entities)


def test_names_and_aliases_in_any_case_score_one(store: vestig.Vestig) -> None:
    [ada] = named(store, {"name": "Dr. Ada Lovelace", "type": "PERSON"})
    for query in (
        "what did dr. ada lovelace say?",
        "Who was ADA LOVELACE?",
        "is (Ada Lovelace's) book here",
    ):
        assert entities_of(store, query) == [(ada, 1.0)]
    assert entities_of(store, "what did ada say?") == []


def test_one_word_is_not_meant_where_it_is_a_common_one(store: vestig.Vestig) -> None:
    [mark] = named(store, {"name": "Mark", "type": "PERSON"})
    assert entities_of(store, "what did mark say?") == [(mark, 1.0)]
    store.commit("they left a mark on the wall")
    assert entities_of(store, "what did mark say?") == []
    assert entities_of(store, "what did Mark say?") == [(mark, 1.0)]


def test_a_name_of_two_types_means_both(store: vestig.Vestig) -> None:
    [team] = named(store, {"name": "Mercury", "type": "ORG"})
    [planet] = named(store, {"name": "Mercury", "type": "PLACE"}, text="it is far from here")
    assert entities_of(store, "how far is mercury?") == [(team, 1.0), (planet, 1.0)]


def test_merged_entities_resolve_first(store: vestig.Vestig) -> None:
    a, b = named(store, {"name": "Postgres", "type": "TOOL"}, {"name": "Cluster", "type": "TOOL"})
    store.graph.merge_entities(a, b)
    assert entities_of(store, "is postgres up?") == [(b, 1.0)]
    store.graph.expire_entity(b)
    assert entities_of(store, "is postgres up?") == []


def test_at_most_ten_entities_are_meant(store: vestig.Vestig) -> None:
    words = [f"Alpha{at}" for at in range(9)]
    first = named(store, *words)
    second = named(store, *(f"Beta{at}" for at in range(9)), text="and about the rest of it")
    query = " and ".join([*words, *(f"Beta{at}" for at in range(9))])
    found = [id for id, _ in entities_of(store, query)]
    assert len(found) == 10
    assert set(first) <= set(found)
    assert set(found) <= {*first, *second}


def test_another_namespace_is_not_asked(store: vestig.Vestig) -> None:
    named(store, "Helios")
    assert entities_of(store, "where is Helios?", namespace="other") == []
    assert len(entities_of(store, "where is Helios?")) == 1


def test_names_as_they_were_known(store: vestig.Vestig, clock: FrozenClock) -> None:
    a, b = named(store, "Postgres", "Cluster")
    before = to_us(clock())
    clock.move(days=1)
    store.graph.merge_entities(a, b)
    after = to_us(clock())
    assert entities_of(store, "is postgres up?", known_at_us=before - 1) == []
    assert entities_of(store, "is postgres up?", known_at_us=before) == [(a, 1.0)]
    assert entities_of(store, "is postgres up?", known_at_us=after) == [(b, 1.0)]


# --- likeness -------------------------------------------------------------------------------


class Like:
    """A core that finds a scripted entity near every vector."""

    def __init__(self, core: Any, answer: tuple[bytes, float] | None) -> None:
        self._core = core
        self._answer = answer
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def entity_similar(self, *arguments: Any) -> list[tuple[bytes, float] | None]:
        self.calls.append(arguments)
        return [self._answer for _ in arguments[3]]


def test_names_unknown_to_the_store_are_compared_on_request(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opener(config={"recall": {"entity_similarity_threshold": 0.7}})
    context = store._session
    known, other = named(store, "Grace Hopper", {"name": "Ada Lovelace", "type": "PERSON"})
    query = "did Grace Hopper meet Ada Lavelace?"
    vectors = name_vectors(context, query)
    assert set(vectors) == {"grace hopper", "ada lavelace"}
    core = Like(context.keeper.core, (id_bytes(other), 0.8))
    monkeypatch.setattr(context.keeper, "core", core)
    assert entities_of(store, query, vectors=vectors) == [(known, 1.0), (other, 0.8)]
    [(seq, space, packed, types, threshold)] = core.calls
    assert (space, packed, types) == ("default", vectors["ada lavelace"], ["UNTYPED"])
    assert (seq, threshold) == (store.admin.stats().seq, 0.7)
    monkeypatch.setattr(context.keeper, "core", Like(core, None))
    assert entities_of(store, query, vectors=vectors) == [(known, 1.0)]


def test_the_core_finds_the_entity_that_is_called_alike(opener: Opener) -> None:
    store = opener(config={"recall": {"entity_similarity_threshold": 0.3}})
    [ada, _] = named(store, {"name": "Ada Byron Lovelace", "type": "PERSON"}, "Helios")
    query = "what did Ada Lovelace say?"
    [(found, cosine)] = entities_of(store, query, vectors=name_vectors(store._session, query))
    assert found == ada
    assert 0.3 <= cosine < 1
    store.graph.expire_entity(ada)
    assert entities_of(store, query, vectors=name_vectors(store._session, query)) == []


def test_without_a_threshold_nothing_is_embedded(store: vestig.Vestig) -> None:
    assert name_vectors(store._session, "did Grace Hopper meet Ada?") == {}


def test_the_surest_come_first() -> None:
    found = {f"ent_{at}": 0.9 for at in range(10)} | {"ent_sure": 1.0}
    ranked = best_matches(found)
    assert ranked[0] == ("ent_sure", 1.0)
    assert [id for id, _ in ranked[1:]] == [f"ent_{at}" for at in range(9)]


def test_a_name_that_no_entity_has_is_told(store: vestig.Vestig) -> None:
    named(store, {"name": "Ada", "type": "PERSON"})
    context = store._session

    def unknown(view: LedgerView) -> list[tuple[str, str]]:
        text = analyse("did Grace meet Ada?")
        return query_names(context, view, "default", text, LATEST_US)[1]

    assert context.keeper.run(lambda view, _: unknown(view)) == [("Grace", "UNTYPED")]


def test_entities_of_a_query_are_those_of_the_state_that_is_read(tmp_path: Path) -> None:
    """Rows of entities are kept for one state, and read again for the next one."""
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        store.commit("Ada Lovelace met Grace Hopper.")

        def named() -> set[str]:
            return {
                one.name for one in store.recall("what did ada lovelace say?").analysis.entities
            }

        assert named() == named() == {"Ada Lovelace"}
        ids = {one.entity.canonical_name: one.entity.id for one in store.graph.entities()}
        store.graph.merge_entities(ids["Ada Lovelace"], ids["Grace Hopper"])
        (merged,) = named()
        assert {one.entity.canonical_name for one in store.graph.entities()} == {merged}


def test_names_of_many_queries_are_embedded_in_the_batch_of_the_queries(opener: Opener) -> None:
    class Counted(HashingEmbedder):
        batches: ClassVar[list[list[str]]] = []

        def embed(self, texts: Sequence[str]) -> list[bytes]:
            self.batches.append(list(texts))
            return super().embed(texts)

    config = {"recall": {"entity_similarity_threshold": 0.3}}
    store = opener(config=config, embedder=Counted())
    [ada] = named(store, {"name": "Ada Byron Lovelace", "type": "PERSON"})
    queries = ["what did Ada Lovelace say?", "whom did Ada Lovelace and Omar Khayyam meet?"]
    Counted.batches.clear()
    found = store.recall_many(queries)
    assert Counted.batches == [[*queries, "ada lovelace", "omar khayyam"]]
    for one in found:
        assert isinstance(one, vestig.RecallResult)
        assert [entity.id for entity in one.analysis.entities] == [ada]
