"""Projection rows made from what a transaction wrote equal those that are read."""

from __future__ import annotations

from pathlib import Path

import pytest

import ledger_rows as made
from vestig.changes import ChangeSet
from vestig.ids import id_bytes
from vestig.store.ledger.opening import open_ledger
from vestig.types import EdgeType


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
