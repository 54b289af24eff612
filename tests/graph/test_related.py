"""RELATED edges of a new memory: the best of the store and of its own batch."""

from __future__ import annotations

import pytest

from scripted import Opener
from vestig.testing import vector_at

STORED, NEAR, NEARER, TARGET = (
    "The mill grinds rye at dawn",
    "A canoe drifts past the weir",
    "Copper wires hum in the attic",
    "Lanterns hang along the quay",
)
# Cosine to TARGET, each on an axis of its own.
COSINES = {STORED: 0.65, NEAR: 0.7, NEARER: 0.9}


def test_the_best_of_store_and_batch(opener: Opener) -> None:
    vectors = {text: vector_at(c, 8, 1 + n) for n, (text, c) in enumerate(COSINES.items())}
    config = {"links.related.max_edges_per_memory": 2}
    store = opener(vectors={**vectors, TARGET: vector_at(1.0)}, config=config)
    store.commit(STORED)
    near, nearer, target = store.commit_many([NEAR, NEARER, TARGET])
    with store._session.ledger.read() as view:
        edges = view.edges("default", target.memory_id, "RELATED")
    assert [edge.to_id for edge in edges] == [nearer.memory_id, near.memory_id]
    assert [edge.weight for edge in edges] == pytest.approx([0.9, 0.7], abs=1e-6)
    assert {edge.from_id for edge in edges} == {target.memory_id}
