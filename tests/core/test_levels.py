"""Several queries in one crossing give what each gives alone; votes by words, also misspelt."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from rows import (
    NOW,
    drawn_rows,
    everything,
    in_several_segments,
    ranking,
    recall,
    vector,
)

from vestig import _core

WORDS = [
    *("river", "night", "boat", "lamp", "harbour"),
    *("copper", "kettle", "garden", "winter", "letter"),
]
WEIGHTS = {"bias": -1.0, "topic": 2.0, "words": 1.5, "long": 0.3}


def queries(dice: random.Random, count: int) -> list[Any]:
    return [
        _core.Query(
            query_time_us=NOW,
            vector=None if number % 5 == 4 else vector(*(dice.uniform(-1, 1) for _ in range(4))),
            text=" ".join(dice.choices(WORDS, k=3)),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("seed", "size", "count"), [(0, 40, 3), (1, 300, 7), (2, 3_000, 4), (3, 3_000, 170)]
)
def test_each_query_gives_what_it_gives_alone(
    seed: int, size: int, count: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    given = drawn_rows(dice, size, lambda: " ".join(dice.choices(WORDS, k=6)))
    projection = in_several_segments(dice, given, tmp_path if seed % 2 else None)
    asked = queries(dice, count)
    limits = [dice.choice([0, 1, 5, 12]) for _ in asked]
    watched = [row.id for row in dice.sample(given, k=9)]
    made = ranking(weights=WEIGHTS, tracerank_power=0.0, limit=12)
    seq = projection.applied_seq
    answers = [
        projection.levels(
            seq,
            asked,
            everything(),
            made.core,
            limits=limits,
            watch=b"".join(watched),
            threads=threads,
        )
        for threads in (1, 3)
    ]
    assert answers[0] == answers[1]
    raw, best, scores, cosines = answers[0]
    ids = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    assert ids == sorted(set(ids))
    assert set(watched) <= set(ids)
    eligible = {row.id for row in given if row.status == 0}
    for query, limit, places, row in list(zip(asked, limits, best, scores, strict=True))[:6]:
        every = ranking(weights=WEIGHTS, tracerank_power=0.0, limit=max(1, limit), watch=raw)
        scan = recall(projection, seq, query, everything(), every)
        wanted = {one.id: one for one in (*scan.rows, *scan.watched)}
        assert [ids[place] for place in places] == [one.id for one in scan.rows[:limit]]
        for id, level in zip(ids, row, strict=True):
            assert level == (wanted[id].start_score if id in eligible else None)
    for at, id in enumerate(ids):
        assert (cosines[at] is None) == (id not in eligible)


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
