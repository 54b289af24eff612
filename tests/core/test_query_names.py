"""The entities that a query names, against their slow definition in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import oracle_name_words
import oracle_names
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vestig
from vestig.language.names import EntityRows, analyse
from vestig.session import references
from vestig.session.references import (
    LATEST_US,
    _EntityRowsByNamespace,
    common_words,
    known_names,
    query_names,
)
from vestig.store.records.reads import LedgerView
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
        context.drop_cached(0)
        for _ in range(2):  # without rows of entities, and with them
            entities, unknown = query_names(context, view, "default", ours, known_at_us)
            assert [id for id, _, _ in entities] == wanted[0]
            assert [name for name, _ in unknown] == wanted[1]
            assert entities == [(id, known[id].type, known[id].name) for id in wanted[0]]

    context.keeper.run(lambda view, _: both(view))


def test_an_entity_without_a_row_is_skipped_alone(tmp_path: Path) -> None:
    """A damaged ledger: the other names of the query stay, and the row is asked for once."""
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        ada = {"name": "Ada", "type": "PERSON"}
        store.commit("Ada met Tom in Oslo", entities=[ada, {"name": "Tom", "type": "PERSON"}])
        store.recall("nothing of them")
        with closing(apsw.Connection(str(tmp_path / "store" / "ledger.sqlite"))) as ledger:
            ledger.execute("PRAGMA foreign_keys = OFF")
            ledger.execute("DELETE FROM entities WHERE canonical_name = 'Tom'")
        context, text = store._session, analyse("did Ada meet Tom and Grace Hopper?")

        def named(view: LedgerView) -> list[str]:
            entities, unknown = query_names(context, view, "default", text, LATEST_US)
            return [name for _, _, name in entities] + [name for name, _ in unknown]

        assert [context.keeper.run(lambda view, _: named(view)) for _ in range(2)] == [
            ["Ada", "Tom", "Grace Hopper"]
        ] * 2


def test_what_was_dropped_while_a_query_is_read_stays_dropped() -> None:
    rows = _EntityRowsByNamespace()
    kept = rows.of(7, "a")
    kept.add([bytes(16)], [])
    assert rows.of(7, "a") is kept
    assert len(rows.of(7, "a")) == 1
    known, state = rows._state
    rows.drop(8)
    # another thread goes on with what it has read of the state before
    state.setdefault("b", EntityRows())
    assert rows.of(known, "a") is not kept
    assert len(rows.of(known, "a")) == 0


def test_rows_of_all_namespaces_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_ROWS_MAX", 3)
    rows = _EntityRowsByNamespace()
    for at in range(4):
        rows.of(7, f"space {at}").add([bytes([at]) * 16], [])
    assert len(rows.of(7, "space 0")) == 0
