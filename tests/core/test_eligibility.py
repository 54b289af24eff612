"""Which memories a recall may return: filters and time travel, in every layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rows import (
    DAY,
    HEAD,
    NOW,
    STORE,
    Given,
    core_query,
    everything,
    id_of,
    opened,
    ranking,
    recall,
    vector,
)

from tables import each
from vestig import _core


def ids(scan: _core.Scan) -> set[bytes]:
    return {row.id for row in scan.rows}


KINDS: list[dict[str, Any]] = [
    {},
    {"scope": "work"},
    {"scope": "home", "kind": 1},
    {"tags": ["a"]},
    {"tags": ["a", "b"]},
    {"sources": ["hook", "import"]},
    {"actors": ["cli"]},
    {"author": "Anna", "role": "user"},
    {"author": "Bob", "role": "assistant", "session_id": "s1"},
    {"session_id": "s2", "origin": 0},
    {"origin": 1, "t_valid_us": NOW - 5 * DAY},
    {"t_valid_us": NOW + DAY, "t_created_us": NOW - 3 * DAY},
    {"status": 1, "t_expired_us": NOW - DAY},
    {"status": 2, "t_expired_us": NOW - DAY},
    {"status": 3},
    {"namespace": "other"},
    {"embedding": vector(1, 0)},
    {"embedding": vector(3, 4)},
]
CURRENT = set(range(len(KINDS))) - {12, 13, 14, 15}
FILTERS: list[tuple[dict[str, Any], set[int]]] = [
    ({}, CURRENT),
    ({"namespace": "other"}, {15}),
    ({"namespace": "unheard"}, set()),
    ({"include_expired": True}, CURRENT | {12, 13}),
    ({"include_archived": True}, CURRENT | {14}),
    ({"scopes": ["work"]}, {1}),
    ({"scopes": ["work", "home", "none"]}, {1, 2}),
    ({"scopes": [None]}, CURRENT - {1, 2}),
    ({"scopes": []}, set()),
    ({"kinds": [1]}, {2}),
    ({"kinds": [0]}, CURRENT - {2}),
    ({"tags": ["a"]}, {3, 4}),
    ({"tags": ["b", "z"]}, {4}),
    ({"tags": ["a", "b"], "tags_all": True}, {4}),
    ({"tags": ["a", "z"], "tags_all": True}, set()),
    ({"tags": []}, set()),
    ({"sources": ["import"]}, {5}),
    ({"sources": ["unheard"]}, set()),
    ({"actors": ["cli", "x"]}, {6}),
    ({"sources": ["IMPORT"]}, {5}),
    ({"tags": ["A", "B"], "tags_all": True}, {4}),
    ({"authors": ["anna", "BOB"]}, {7, 8}),
    ({"scopes": ["WORK"]}, set()),
    ({"session_ids": ["S1"]}, set()),
    ({"exclude_authors": ["ANNA"]}, CURRENT - {7}),
    ({"exclude_authors": ["unheard"]}, CURRENT),
    ({"exclude_session_ids": ["s1"]}, CURRENT - {8}),
    ({"exclude_session_ids": ["S1"]}, CURRENT),
    ({"exclude_tags": ["A"]}, CURRENT - {3, 4}),
    ({"exclude_sources": ["Hook", "MANUAL"]}, set()),
    ({"exclude_sources": ["import"]}, CURRENT - {5}),
    ({"authors": ["Anna"]}, {7}),
    ({"authors": ["Anna", "Bob"]}, {7, 8}),
    ({"roles": ["assistant"]}, {8}),
    ({"session_ids": ["s1", "s2"]}, {8, 9}),
    ({"origin_types": [0, 1]}, {9, 10}),
    ({"since_us": NOW}, {11}),
    ({"until_us": NOW - 5 * DAY}, set()),
    ({"since_us": NOW - 5 * DAY, "until_us": NOW - DAY}, {10}),
    ({"created_since_us": NOW - 3 * DAY, "created_until_us": NOW - DAY}, {11}),
    ({"ids": id_of(3) + id_of(15) + id_of(99)}, {3}),
    ({"ids": b""}, set()),
    ({"exclude_ids": id_of(3) + id_of(99)}, CURRENT - {3}),
    ({"min_similarity": 0.8, "kinds": [0]}, {17}),
    ({"min_similarity": 0.0}, CURRENT),
]


@each(("given", "wanted"), FILTERS)
@each("layout", ["tail", "published", "both"])
def test_filters_before_any_cut(
    given: dict[str, Any], wanted: set[int], layout: str, tmp_path: Path
) -> None:
    rows = [Given(id=id_of(n), seq=n + 1, **kind).row() for n, kind in enumerate(KINDS)]
    projection = _core.Projection.open(str(tmp_path), STORE, 2, "test")
    half = len(rows) // 2 if layout == "both" else len(rows)
    projection.apply(rows[:half], half, HEAD)
    if layout != "tail":
        projection.publish()
    projection.apply(rows[half:], len(rows), HEAD)
    query = vector(0, 1)
    scan = recall(
        projection, len(rows), core_query(query, None), everything(**given), ranking(limit=50)
    )
    assert ids(scan) == {id_of(n) for n in wanted}
    assert scan.eligible == len(wanted)
    one = recall(
        projection,
        len(rows),
        core_query(query, None),
        everything(**given),
        ranking(limit=1, pool=1),
    )
    assert len(one.rows) == min(1, len(wanted))


def test_min_similarity_is_a_float32_threshold() -> None:
    projection = opened([Given(id=id_of(0), seq=1, embedding=vector(3, 4))], 2)
    cosine = (
        recall(projection, 1, core_query(vector(0, 1), None), everything(), ranking())
        .rows[0]
        .similarity
    )
    assert cosine == float(np.float32(0.8)) != 0.8
    for least, count in ((0.8, 1), (cosine, 1), (float(np.nextafter(np.float32(0.8), 2)), 0)):
        scan = recall(
            projection,
            1,
            core_query(vector(0, 1), None),
            everything(min_similarity=least),
            ranking(),
        )
        assert scan.eligible == count


T0, T1, T2, T3, T4 = (NOW - n * DAY for n in (50, 40, 30, 20, 10))
PAST: list[dict[str, Any]] = [
    # 0: true and known since T0
    {"t_valid_us": T0, "t_created_us": T0},
    # 1: learnt at T2, true since T0
    {"t_valid_us": T0, "t_created_us": T2},
    # 2: superseded at T3 by a fact that holds since T2
    {"t_valid_us": T0, "t_created_us": T0, "t_invalid_us": T2, "t_expired_us": T3, "status": 1},
    # 3: withdrawn at T3 without an end
    {"t_valid_us": T0, "t_created_us": T0, "t_expired_us": T3, "status": 2},
    # 4: not expired, ended at T1
    {"t_valid_us": T0, "t_created_us": T0, "t_invalid_us": T1},
    # 5: archived today
    {"t_valid_us": T0, "t_created_us": T0, "status": 3},
]
END_OF_2: list[tuple[bytes, int | None]] = [(id_of(2), None)]
TRAVELS: list[tuple[dict[str, Any], set[int]]] = [
    ({}, {0, 1, 4}),
    ({"past": True, "known_at_us": T1}, {0, 2, 3, 4}),
    ({"past": True, "known_at_us": T0 - 1}, set()),
    ({"past": True, "known_at_us": T0}, {0, 2, 3, 4}),
    ({"past": True, "known_at_us": T3 - 1}, {0, 1, 2, 3, 4}),
    ({"past": True, "known_at_us": T3}, {0, 1, 4}),
    ({"past": True, "known_at_us": T1, "include_archived": True}, {0, 2, 3, 4, 5}),
    ({"past": True, "known_at_us": T3, "include_expired": True}, {0, 1, 2, 3, 4}),
    ({"valid_at_us": T1 - 1}, {0, 1, 2, 4}),
    ({"valid_at_us": T1}, {0, 1, 2}),
    ({"valid_at_us": T2}, {0, 1}),
    ({"valid_at_us": T0 - 1}, set()),
    ({"past": True, "known_at_us": T4, "valid_at_us": T1}, {0, 1, 2}),
    # known at T3 − 1: the end of 2 was not yet written
    ({"past": True, "known_at_us": T3 - 1, "valid_at_us": T2, "ends": END_OF_2}, {0, 1, 2, 3}),
    ({"past": True, "known_at_us": T3 - 1, "valid_at_us": T2}, {0, 1, 3}),
    ({"past": True, "known_at_us": T3, "valid_at_us": T1, "ends": END_OF_2}, {0, 1}),
]


@each(("given", "wanted"), TRAVELS)
def test_time_travel(given: dict[str, Any], wanted: set[int]) -> None:
    rows = [Given(id=id_of(n), seq=n + 1, **kind) for n, kind in enumerate(PAST)]
    scan = recall(
        opened(rows, 2), 6, core_query(None, None), everything(**given), ranking(limit=50)
    )
    assert ids(scan) == {id_of(n) for n in wanted}
