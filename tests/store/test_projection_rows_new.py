"""Projection rows made from what a transaction wrote equal those that are read."""

from __future__ import annotations

from pathlib import Path

import pytest

import ledger_rows as made
from scripted import Opener
from vestig.changes import ChangeSet
from vestig.ids import id_bytes
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.reads import LedgerView
from vestig.types import EdgeType, Status


def test_new_entities_and_edges_give_the_rows_that_reading_gives(tmp_path: Path) -> None:
    one, other = made.entity("Ada Lovelace"), made.entity("Grace Hopper", embedding=None)
    new = made.memory("Ada Lovelace wrote to Grace Hopper", title="The letter")
    changes = made.added(
        new,
        entities=(one, other),
        token_codes=(made.tokens(new.id),),
        questions=(made.question(new.id), made.question(new.id, 1)),
        edges=(
            made.mention(new.id, one.id),
            made.edge(one.id, other.id, EdgeType.RELATION, relation="wrote to", weight=0.5),
        ),
    )
    with open_ledger(tmp_path / "s") as ledger:
        with ledger.write(made.NOW) as txn:
            txn.apply(changes)
            new = txn.new_rows()
        with ledger.read() as view:
            assert new is not None
            assert new.rows == list(view.projection_rows(0))
    assert new.changed == set()
    rows = new.rows
    assert [len(row[26]) for row in rows] == [1, 1, 0], "edges"
    assert [row[19] is None for row in rows] == [False, False, True], "vectors"


@pytest.mark.parametrize("what", ["events", "vectors", "token_codes", "questions", "edges"])
def test_older_nodes_with_something_new_are_named(tmp_path: Path, what: str) -> None:
    """Nothing old was replaced, but these nodes are more than what is new of them."""
    old, new = made.memory("The office is in Oslo"), made.memory("Deploys run on Fridays")
    more = {
        "events": made.event(old.id),
        "vectors": made.vector(old.id),
        "token_codes": made.tokens(old.id),
        "questions": made.question(old.id),
        "edges": made.edge(old.id, new.id),
    }
    with open_ledger(tmp_path / "s") as ledger:
        with ledger.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", memories=(old,)))
        with ledger.write(made.NOW) as txn:
            txn.apply(ChangeSet(namespace="default", memories=(new,), **{what: (more[what],)}))
            rows = txn.new_rows()
        with ledger.read() as view:
            assert rows is not None
            changed = view.projection_rows_of(rows.changed)
            every = list(view.projection_rows(txn.seq))
    assert [row[0] for row in changed] == [id_bytes(old.id)]
    assert sorted([*rows.rows, *changed], key=lambda row: row[0]) == sorted(
        every, key=lambda row: row[0]
    )


@pytest.mark.parametrize("published", [False, True], ids=["tail", "segment"])
def test_a_memory_that_ends_needs_no_reading_and_gives_what_a_rebuild_gives(
    opener: Opener, published: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it has: words, tags, names, edges to and from it, a window, word pieces."""
    texts = [
        "Maria Lopez moved to Lisbon in May 2023, and the flat is near the river",
        "Maria Lopez moved to Porto last week, near the river Douro",
        "Maria Lopez moved to Porto last week, near the river Douro!",
        "Nobody knows where Maria Lopez lives since June 2024",
    ]
    store = opener()
    keeper, ledger_path = store._session.keeper, store._session.ledger.path
    assert ledger_path is not None
    first = store.commit(texts[0], key="maria.city", tags=["home"], author="Ada", session_id="s")
    plain = store.commit("The rent of the flat in Lisbon rises in June 2023", tags=["home"])
    store.commit("Maria Lopez likes the river", source="cli")
    if published:
        keeper.publish()
    monkeypatch.setattr(LedgerView, "projection_rows_of", lambda *_: pytest.fail("rows were read"))
    monkeypatch.setattr(LedgerView, "projection_rows", lambda *_: pytest.fail("rows were read"))
    for text in texts[1:]:
        store.commit(text, key="maria.city", tags=["moved"])
    store.commit("The rent of the flat in Lisbon is 900", supersedes=[plain.memory_id])
    monkeypatch.undo()
    assert store.show(str(first.memory_id)).memory.status is Status.SUPERSEDED

    def image() -> bytes:
        keeper.compact()
        (segment,) = (ledger_path.parent / "projection").glob("seg-*")
        return segment.read_bytes()

    kept = image()
    keeper.rebuild()
    assert image() == kept
