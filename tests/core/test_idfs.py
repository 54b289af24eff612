"""The rarity of the terms of a text among the memories that a filter lets through."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from rows import NOW, drawn_rows, everything, in_several_segments, ranking, recall

from vestig import _core

WORDS = [
    *("river", "night", "boat", "lamp", "harbour"),
    *("copper", "kettle", "garden", "winter", "letter"),
]
WEIGHTS = {"bias": -1.0, "topic": 2.0, "words": 1.5, "long": 0.3}


@pytest.mark.parametrize("least", [None, 0.2])
def test_idfs_are_those_of_a_query_without_a_vector(least: float | None, tmp_path: Path) -> None:
    dice = random.Random(8)
    given = drawn_rows(dice, 200, lambda: " ".join(dice.choices(WORDS, k=6)))
    projection = in_several_segments(dice, given, tmp_path)
    seq, text = projection.applied_seq, "River lamps by the river, nowhere"
    chosen = everything(min_similarity=least)
    query = _core.Query(query_time_us=NOW, vector=None, text=text)
    made = ranking(weights=WEIGHTS, tracerank_power=0.0, limit=1)
    scan = recall(projection, seq, query, chosen, made)
    found = projection.idfs(seq, text, chosen)
    assert found == dict(zip(scan.terms, scan.idfs, strict=True))
    assert len(found) == 5
    with pytest.raises(_core.SnapshotMoved):
        projection.idfs(seq + 1, text, chosen)
