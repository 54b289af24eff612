"""Facets: what an answer should speak about."""

from __future__ import annotations

from vestig.retrieve.queries import facet_forms, facets, facets_hit, synonyms


def test_facets_are_names_and_words_rarest_first() -> None:
    goal, focus = "Where does Grace Hopper keep the lantern?", "and the torn map?"
    idf = {"grace": 1.0, "hopper": 3.0, "keep": 0.5, "lantern": 2.0, "torn": 0.1, "map": 1.0}
    assert facets(goal, focus, idf=idf) == ["grace hopper", "lantern", "map", "keep", "torn"]


def test_equal_rarity_goes_by_position_and_repeats_count_once() -> None:
    idf = dict.fromkeys(("red", "key", "shed"), 1.0)
    assert facets("the red key", "the key of the shed", idf=idf) == ["red", "key", "shed"]
    assert facets("what is it?", "what is it?") == []


def test_a_word_that_no_memory_has_is_the_rarest() -> None:
    assert facets("key zeppelin", "", idf={"key": 5.0}) == ["zeppelin", "key"]


def test_at_most_twelve() -> None:
    assert len(facets(" ".join(f"lantern{number}" for number in range(30)), "")) == 12


def test_known_names_are_one_facet() -> None:
    assert facets("who runs blue harbor?", "", ["Blue Harbor"]) == ["blue harbor", "runs"]


def test_a_memory_hits_what_its_words_names_or_their_synonyms_contain() -> None:
    wanted = ["grace hopper", "engineer", "machine learning", "lantern"]
    forms = facet_forms(wanted, synonyms({}))
    assert facets_hit(forms, [["programmer", "ml", "Grace Hopper"]]) == [set(wanted[:3])]
    # endings do not matter, parts of a name are not enough
    assert facets_hit(forms, [["lanterns", "grace"], ["grace", "hopper"]]) == [
        {"lantern"},
        {"grace hopper"},
    ]
    assert facets_hit(forms, [[]]) == [set()]
