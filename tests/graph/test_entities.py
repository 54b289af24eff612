"""Entities from the first commit to the merge."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from calls import committing
from scripted import Opener
from vestig.errors import ConflictError, NotFoundError, ValidationError
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.types import CommitOutcomeKind, EdgeType

OFF = {"entities": {"enabled": False}}


def names(store: vestig.Vestig, **options: Any) -> set[tuple[str, str, int]]:
    """Type, name and mentions of every entity."""
    page = store.graph.entities(limit=1_000, **options)
    return {(one.entity.entity_type, one.entity.canonical_name, one.mentions) for one in page}


def id_of(store: vestig.Vestig, name: str, type: str | None = None) -> str:
    page = store.graph.entities(type, limit=1_000)
    [found] = [one.id for one in page if one.entity.canonical_name == name]
    return found


def stored(store: vestig.Vestig, text: str, **fields: Any) -> str:
    outcome = store.commit(text, **committing(fields))
    assert outcome.memory_id is not None
    return outcome.memory_id


# --- commit ---------------------------------------------------------------------------------


def test_an_entity_of_two_memories_is_stored_once(store: vestig.Vestig) -> None:
    first = store.commit("we met Ada Lovelace in town")
    second = store.commit("then Ada Lovelace left again")
    assert first.entities == second.entities
    assert names(store) == {("UNTYPED", "Ada Lovelace", 2)}
    detail = store.graph.entity(first.entities[0])
    assert [one.id for one in detail.memories] == [second.memory_id, first.memory_id]


def test_a_mention_has_confidence_and_evidence(store: vestig.Vestig) -> None:
    id = stored(store, "it broke in src/main.rs again")
    [edge] = [one.edge for one in store.graph.edges(id) if one.edge.edge_type is EdgeType.MENTIONS]
    assert (edge.confidence, edge.weight, edge.evidence) == (0.95, 1.0, "src/main.rs")


def test_names_and_questions_are_embedded_with_the_text(opener: Opener) -> None:
    embedder = HashingEmbedder(64)
    store = opener(embedder=embedder)
    store.commit(
        "we met Ada Lovelace in town",
        trigger="problem-solution",
        hypothetical_queries=["Who was in town?"],
    )
    assert embedder.call_count == 1
    [row] = _rows(store, "SELECT entity, model, embedding FROM entity_vectors")
    assert row[2] == embedder.embed(["ada lovelace"])[0]
    [question] = _rows(store, "SELECT text, embedding FROM questions")
    assert question == ("Who was in town?", embedder.embed(["Who was in town?"])[0])


def _rows(store: vestig.Vestig, sql: str) -> list[Any]:
    with store._session.ledger.read() as view:
        return list(view.connection.execute(sql))


def test_the_best_ten_of_eleven(store: vestig.Vestig) -> None:
    listed = ", ".join(f"Person Number{at}" for at in range(11))
    outcome = store.commit(f"we met {listed}, all of them")
    assert len(outcome.entities) == 10
    assert "Person Number10" not in {name for _, name, _ in names(store)}


def test_the_gate_of_confidence(store: vestig.Vestig) -> None:
    given = [{"name": "Sure", "confidence": 0.75}, {"name": "Unsure", "confidence": 0.74}]
    outcome = store.commit("they spoke about it at length", entities=given)
    assert names(store) == {("UNTYPED", "Sure", 1)}
    assert "1 of 2 entities were left out" in outcome.warnings[0]


def test_entities_of_the_caller_are_certain_and_typed(store: vestig.Vestig) -> None:
    outcome = store.commit(
        "we met Ada Lovelace in town",
        entities=["Grace Hopper", {"name": "ada lovelace", "type": "human"}],
    )
    assert names(store) == {("UNTYPED", "Grace Hopper", 1), ("PERSON", "ada lovelace", 1)}
    assert len(outcome.entities) == 2
    assert {store.graph.entity(id).entity.origin for id in outcome.entities} == {"forced"}
    with pytest.raises(ValidationError, match=r"entities\[0\].type"):
        store.commit("another text of ours", entities=[{"name": "x y", "type": "GALAXY"}])


def test_titles_are_kept_and_found_without(store: vestig.Vestig) -> None:
    first = store.commit("the talk was by Dr. Ada Lovelace herself")
    entity = store.graph.entity(first.entities[0]).entity
    assert (entity.entity_type, entity.canonical_name) == ("PERSON", "Dr. Ada Lovelace")
    assert entity.aliases == ("Ada Lovelace",)
    assert store.commit("we thanked Ada Lovelace for it").entities == first.entities


def test_one_name_of_two_types_is_two_entities(store: vestig.Vestig) -> None:
    store.commit("about the first of them", entities=[{"name": "Mercury", "type": "PLACE"}])
    store.commit("about the second one", entities=[{"name": "Mercury", "type": "SYSTEM"}])
    assert names(store) == {("PLACE", "Mercury", 1), ("SYSTEM", "Mercury", 1)}


def test_an_expired_entity_never_blocks_a_new_one(store: vestig.Vestig) -> None:
    [old] = store.commit("we met Ada Lovelace in town").entities
    store.graph.expire_entity(old)
    assert names(store) == set()
    [new] = store.commit("then Ada Lovelace left again").entities
    assert new != old
    assert names(store) == {("UNTYPED", "Ada Lovelace", 1)}
    assert names(store, include_expired=True) >= {("UNTYPED", "Ada Lovelace", 1)}
    assert store.graph.entity(old, include_expired=True).entity.expired_at is not None
    with pytest.raises(NotFoundError, match="expired"):
        store.graph.entity(old)


def test_entities_of_another_namespace_do_not_exist(store: vestig.Vestig) -> None:
    [id] = store.commit("we met Ada Lovelace in town").entities
    [other] = store.commit("we met Ada Lovelace in town", namespace="other").entities
    assert other != id
    for call in (store.graph.entity, store.graph.expire_entity):
        with pytest.raises(NotFoundError):
            call(id, namespace="other")
    with pytest.raises(NotFoundError):
        store.graph.merge_entities(id, other)


def test_duplicates_add_no_entities(store: vestig.Vestig) -> None:
    store.commit("they spoke about it at length")
    outcome = store.commit("they spoke about it at length", entities=["Ada Lovelace"])
    assert outcome.outcome is CommitOutcomeKind.EXACT_DUPE
    assert outcome.entities == ()
    assert names(store) == set()


def test_a_dry_run_names_what_is_known_and_stores_nothing(store: vestig.Vestig) -> None:
    first = store.commit("we met Ada Lovelace in town")
    dry = store.commit("Then Ada Lovelace saw Grace Hopper", dry_run=True)
    assert dry.entities == first.entities
    assert names(store) == {("UNTYPED", "Ada Lovelace", 1)}


def test_a_known_name_decides_what_is_found(store: vestig.Vestig) -> None:
    given = [{"name": "paper mill", "type": "SYSTEM"}]
    [id] = store.commit("something of ours is new", entities=given).entities
    assert store.commit("our paper mill is down again").entities == (id,)
    assert id not in store.commit("our Paper mill is gone again").entities


def test_the_first_word_of_a_sentence_is_dropped_when_the_namespace_holds_it_in_lower_case(
    store: vestig.Vestig,
) -> None:
    store.commit("Deploy Helios tomorrow if you can")
    assert names(store) == {("UNTYPED", "Deploy Helios", 1)}
    store.commit("we deploy it on most days")
    store.commit("Deploy Selene tomorrow if you can", on_near_dup="insert")
    assert ("UNTYPED", "Selene", 1) in names(store)


def test_names_without_mentions_and_nothing_without_extraction(opener: Opener) -> None:
    silent = opener("a", config={"links": {"mentions": {"enabled": False}}})
    silent.commit("we met Ada Lovelace in town")
    assert names(silent) == {("UNTYPED", "Ada Lovelace", 0)}
    off = opener("b", config=OFF)
    off.commit("we met Ada Lovelace in town", entities=["Grace Hopper"])
    assert names(off) == {("UNTYPED", "Grace Hopper", 1)}


# --- merge, expire, purge -------------------------------------------------------------------


def three(store: vestig.Vestig) -> tuple[str, str, str]:
    """Three entities; the first two share a memory."""
    both = [{"name": "Postgres", "type": "TOOL"}, {"name": "PostgreSQL", "type": "SYSTEM"}]
    store.commit("we moved everything to it last year", entities=both)
    store.commit("it is slow on most days", entities=[{"name": "Postgres", "type": "TOOL"}])
    store.commit("it has to be replaced", entities=[{"name": "The Store", "type": "SYSTEM"}])
    return (
        id_of(store, "Postgres"),
        id_of(store, "PostgreSQL"),
        id_of(store, "The Store"),
    )


def test_a_chain_of_merges_gives_the_last(store: vestig.Vestig) -> None:
    a, b, c = three(store)
    merged = store.graph.merge_entities(a, b)
    assert (merged.id, merged.merged_id) == (b, a)
    assert (merged.edges_moved, merged.edges_folded) == (1, 1)
    assert store.graph.entity(b).mentions == 2
    store.graph.merge_entities(b, c)
    assert store.graph.entity(a).id == store.graph.entity(b).id == c
    assert store.graph.entity(c).mentions == 3
    assert store.graph.entity(a).asked == a
    assert store.graph.entity(c).entity.aliases == ("PostgreSQL", "Postgres")
    assert names(store) == {("SYSTEM", "The Store", 3)}
    # none doubled
    for memory in store.graph.entity(c).memories:
        edges = store.graph.edges(memory.id)
        mentions = [one for one in edges if one.edge.edge_type is EdgeType.MENTIONS]
        assert len(mentions) == 1


def test_cycles_and_self_merges_are_refused(store: vestig.Vestig) -> None:
    a, b, c = three(store)
    with pytest.raises(ConflictError, match="one entity already"):
        store.graph.merge_entities(a, a)
    store.graph.merge_entities(a, b)
    store.graph.merge_entities(b, c)
    before = store.admin.stats().seq
    for first, second in ((c, a), (a, c), (b, a)):
        with pytest.raises(ConflictError, match="one entity already"):
            store.graph.merge_entities(first, second)
    assert store.admin.stats().seq == before


def test_a_folded_mention_keeps_the_higher_confidence(store: vestig.Vestig) -> None:
    for low, high, kept in ((0.8, 0.9, 0.9), (0.9, 0.8, 0.9)):
        outcome = store.commit(
            f"text number {low} of this test",
            entities=[
                {"name": f"First {low}", "confidence": low},
                {"name": f"Second {low}", "confidence": high},
            ],
        )
        a, b = outcome.entities
        store.graph.merge_entities(a, b)
        assert outcome.memory_id is not None
        [edge] = [
            one.edge
            for one in store.graph.edges(outcome.memory_id)
            if one.edge.edge_type is EdgeType.MENTIONS
        ]
        assert (edge.to_id, edge.confidence) == (b, kept)


def test_names_of_the_merged_are_found_as_the_other(store: vestig.Vestig) -> None:
    a, b, _ = three(store)
    store.graph.merge_entities(a, b)
    assert store.commit("all of our Postgres is gone").entities == (b,)


def test_expire_hides_the_entity_and_its_edges(store: vestig.Vestig) -> None:
    outcome = store.commit("we met Ada Lovelace in town")
    change = store.graph.expire_entity(outcome.entities[0])
    assert (change.action, change.edges_expired) == ("expire", 1)
    assert change.entity.expired_at is not None
    assert outcome.memory_id is not None
    kinds = [one.edge.edge_type for one in store.graph.edges(outcome.memory_id)]
    assert EdgeType.MENTIONS not in kinds


def test_purge_removes_what_is_expired_or_merged(store: vestig.Vestig) -> None:
    a, b, c = three(store)
    store.graph.merge_entities(a, b)
    store.graph.expire_entity(c)
    planned = store.graph.purge_entities(dry_run=True)
    assert set(planned.entity_ids) == {a, c}
    report = store.graph.purge_entities()
    assert report.entities_removed == 2
    assert names(store, include_expired=True) == {("SYSTEM", "PostgreSQL", 2)}
    with pytest.raises(NotFoundError):
        store.graph.entity(c, include_expired=True)
    assert store.graph.purge_entities().entity_ids == ()
    with pytest.raises(ConflictError):
        store.graph.purge_entities([b])
    assert store.admin.doctor().exit_code == 0


def test_ids_may_be_shortened_and_pages_turned(store: vestig.Vestig) -> None:
    a, _, _ = three(store)
    assert store.graph.entity(a[:12]).id == a
    page = store.graph.entities(limit=1, offset=1)
    assert (len(page), page.total, page.offset) == (1, 3, 1)
    assert [one.id for one in store.graph.entities("tool")] == [a]
    assert [
        one.total for one in (store.graph.entities(" Service"), store.graph.entities("GALAXY"))
    ] == [2, 0]
    with pytest.raises(ValidationError, match="limit"):
        store.graph.entities(limit=0)
    with pytest.raises(ValidationError, match="entity_type"):
        store.graph.entities(" ")
    with pytest.raises(ValidationError):
        store.graph.entity("mem_00000000")


def test_two_texts_that_name_one_entity_are_found_from_it(store: vestig.Vestig) -> None:
    first = store.commit("we met Ada Lovelace in town")
    second = store.commit("the archive is kept by Ada Lovelace")
    found = store.graph.expand_via_entities([str(first.memory_id)])
    assert [(one.memory.id, one.shared_entities) for one in found] == [
        (second.memory_id, second.entities)
    ]


# --- questions ------------------------------------------------------------------------------


def questions(store: vestig.Vestig, id: str) -> list[str] | None:
    with store._session.ledger.read() as view:
        return view.questions("default", [id]).get(id)


def test_questions_are_stored_for_two_triggers_only(opener: Opener) -> None:
    store = opener(config={"questions": {"offline": "templates"}})
    for trigger, count in (("problem-solution", 1), ("learning-failure", 1)):
        id = stored(store, f"the {trigger} loop was fixed by luck", trigger=trigger)
        assert len(questions(store, id) or ()) == count
    for other in ("positive-feedback", None):
        assert questions(store, stored(store, f"it is {other} in town", trigger=other)) is None


def test_without_rules_or_switched_off_there_are_none(opener: Opener) -> None:
    store = opener("a")
    assert (
        questions(store, stored(store, "it was fixed by luck", trigger="problem-solution")) is None
    )
    off = opener("b", config={"questions": {"enabled": False, "offline": "templates"}})
    outcome = off.commit(
        "it was fixed by luck", trigger="problem-solution", hypothetical_queries=["Why?"]
    )
    assert questions(off, str(outcome.memory_id)) is None
    assert "questions.enabled is false" in outcome.warnings[0]


def test_the_callers_questions(store: vestig.Vestig) -> None:
    many = ["Why?", "How?", "When?", "Where?", "Who?"]
    outcome = store.commit(
        "it was fixed by luck", trigger="problem-solution", hypothetical_queries=many
    )
    assert questions(store, str(outcome.memory_id)) == ["Why?", "How?"]
    assert "3 of 5 hypothetical questions were left out" in outcome.warnings[0]
    outcome = store.commit("it was not fixed by luck", hypothetical_queries=many)
    assert questions(store, str(outcome.memory_id)) is None
    assert "the trigger is none of problem-solution, learning-failure" in outcome.warnings[0]
    outcome = store.commit(
        "it was never fixed by luck", trigger="learning-failure", hypothetical_queries=[]
    )
    assert questions(store, str(outcome.memory_id)) == []
    assert outcome.warnings == ()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_typed_name_means_no_namesake(
    store: vestig.Vestig, order: tuple[int, ...], at_once: bool
) -> None:
    texts = [
        {"content": "Florence sings bass in our choir.", "entities": ["PERSON:Florence"]},
        {"content": "The choir travels to Florence in May.", "entities": ["PLACE:Florence"]},
    ]
    chosen = [texts[at] for at in order]
    if at_once:
        store.commit_many(chosen)
    else:
        for one in chosen:
            store.commit(**one)
    by_type = {one.entity.entity_type: one.entity.id for one in store.graph.entities()}
    for one in texts:
        id = by_type[one["entities"][0].partition(":")[0]]
        assert [each.content for each in store.list(where={"entities": id})] == [one["content"]]


def test_who_types_both_namesakes_or_none_names_as_before(store: vestig.Vestig) -> None:
    store.commit("Florence sings bass in our choir.", entities=["PERSON:Florence"])
    both = store.commit("Florence sees it", entities=["PERSON:Florence", "PLACE:Florence"])
    assert len(both.entities) == 2
    known = store.commit("The choir applauds Florence in May.", entities=["Choir"])
    assert len(known.entities) >= 2
    longer = store.commit("Florence saw Florence Nightingale", entities=["PLACE:Florence"])
    names = {store.graph.entity(id).entity.canonical_name for id in longer.entities}
    assert names == {"Florence", "Florence Nightingale"}


def test_time_travel_shows_merged_entities_as_they_were(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    graph = store.graph
    texts = [
        "Ingrid Solberg pays for the taxi.",
        "The boiler hums when Ingrid Okafor sings.",
        "We met Ingrid Lindqvist at the pier.",
    ]
    a, b, c = (store.commit(text).entities[0] for text in texts)
    names = ["Ingrid Solberg", "Ingrid Okafor", "Ingrid Lindqvist"]
    moments = []
    for pair in ((a, b), (b, c)):
        clock.move(days=1)
        moments.append(clock())
        clock.move(days=1)
        graph.merge_entities(*pair)
    clock.move(days=1)
    apart, once = moments

    def reads(named: str, at: Any) -> list[list[str]]:
        """What each read brings of an entity at a time: ids of entities, and memories."""
        around = graph.neighbourhood(named, depth=1, as_of=at)
        hits = graph.search(type="graph", seed_nodes=[named], as_of=at)
        listed = store.list(where={"entities": named}, known_at=at)
        found = [[one.id for one in around], [hit.id for hit in hits], [m.id for m in listed]]
        return [sorted(each) for each in found]

    by_text = {one.content: one.id for one in store.list()}
    ids = [by_text[text] for text in texts]
    for entity, name, memory in zip((a, b, c), names, ids, strict=True):
        for named in (entity, name):
            both = sorted([entity, memory])
            assert reads(named, apart) == [both, both, [memory]]
    for named in (a, names[0], b, names[1]):
        both = sorted([b, *ids[:2]])
        assert reads(named, once) == [both, both, sorted(ids[:2])]
    for named in (a, b, c, *names):
        every = sorted([c, *ids])
        assert reads(named, None) == [every, every, sorted(ids)]
