"""The entities that a query names, against their slow definition in Python."""

from __future__ import annotations

from collections.abc import Iterator

import oracle_name_words
import oracle_names
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from vestig.language.names.analysed_text import analyse
from vestig.ports import LedgerView
from vestig.session.known_names import LATEST_US, common_words, known_names, query_names
from vestig.testing import FrozenClock, HashingEmbedder
from vestig.times import to_us

NAMES = (
    *(("Ada Lovelace", "PERSON"), ("Ada", "UNTYPED"), ("Ada", "PLACE"), ("Mark", "PERSON")),
    *(("Acme Corp.", "ORG"), ("acme", "TOOL"), ("C++", "SYSTEM"), ("Hyde Park", "PLACE")),
    *(("Postgres", "TOOL"), ("Cluster", "TOOL"), ("Σίσυφος", "CONCEPT"), ("Helios", "SYSTEM")),
)
PARTS = (
    *("Ada", "ada", "ADA Lovelace", "lovelace", "Acme", "acme corp", "Mark", "mark", "Grace"),
    *("Grace Hopper", "hyde", "Park", "Postgres", "cluster", "helios", "c++", "ΣΊΣΥΦΟΣ", "Who"),
    *("is", "the", "in", ".", "?", "–", "NATO", "Deploy", "The Mark", "ABC-12", "'s"),
)


@pytest.fixture(scope="module")
def names_store() -> Iterator[vestig.Vestig]:
    """Names of several entities, merged and expired ones, and words in lower case."""
    clock = FrozenClock()
    with vestig.open(":memory:", embedder=HashingEmbedder(), clock=clock) as store:
        for at, (name, type) in enumerate(NAMES):
            text = f"text {at} says nothing of it"
            store.commit(text, entities=[{"name": name, "type": type}], on_near_dup="insert")
        store.commit("they left a mark at the who, and deploy it")
        clock.move(days=1)
        ids = {one.entity.canonical_name: one.entity.id for one in store.graph.entities()}
        store.graph.merge_entities(ids["Postgres"], ids["Cluster"])
        store.graph.expire_entity(ids["Helios"])
        yield store


@given(st.lists(st.sampled_from(PARTS), max_size=9), st.booleans())
def test_names_of_any_query_are_those_of_the_definition(
    names_store: vestig.Vestig, parts: list[str], earlier: bool
) -> None:
    text, context = " ".join(parts), names_store._session
    known_at_us = to_us(names_store.list().memories[0].t_created) if earlier else LATEST_US

    def both(view: LedgerView) -> None:
        ours, theirs = analyse(text), oracle_name_words.analyse(text)
        [hits], known = known_names(context, view, "default", [ours], known_at_us)
        wanted = oracle_names.names_of_query(
            theirs, hits, known, lambda word: bool(common_words(context, view, "default", [word]))
        )
        for _ in range(2):  # without rows of entities, and with them
            entities, unknown = query_names(context, view, "default", ours, known_at_us)
            assert [id for id, _, _ in entities] == wanted[0]
            assert [name for name, _ in unknown] == wanted[1]
            assert entities == [(id, known[id].type, known[id].name) for id in wanted[0]]

    context.keeper.run(lambda view, _: both(view))
