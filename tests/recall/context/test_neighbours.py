"""Which turns stand beside a result."""

from __future__ import annotations

from typing import Any

import pytest

from scan_rows import memory
from vestig.recall.context.entries import Sessions, neighbours_of
from vestig.types import Memory, OriginType


def talk(count: int, **fields: Any) -> list[Memory]:
    """One session; turn n has the id of sixteen bytes n."""
    given = {"session_id": "s", "origin_type": OriginType.CHAT_PEER, **fields}
    return [memory(bytes([n] * 16), content=f"turn {n}", sequence=n, **given) for n in range(count)]


def chosen(turns: list[Memory], *found: int) -> list[int]:
    """Places of the neighbours of the results at these places."""
    places: dict[str, Any] = {one.id: (one.scope, one.session_id, one.sequence) for one in turns}
    at = {one.id: place for place, one in enumerate(turns)}
    return [at[id] for id in neighbours_of([turns[n] for n in found], Sessions(places))]


def test_the_nearest_of_the_best_come_first() -> None:
    assert chosen(talk(7), 3) == [2, 4, 1, 5]
    assert chosen(talk(7), 0) == [1, 2]
    assert chosen(talk(9), 6, 1) == [5, 7, 0, 2, 4, 8, 3]


def test_results_are_no_neighbours() -> None:
    assert chosen(talk(4), 0, 1) == [2, 3]
    assert chosen(talk(3), 0, 1, 2) == []


@pytest.mark.parametrize("kind", [OriginType.NOTE, OriginType.DOCUMENT])
def test_what_is_no_turn_of_a_chat_has_none(kind: OriginType) -> None:
    assert chosen(talk(4, origin_type=kind), 1) == []
    assert chosen(talk(4, session_id=None), 1) == []
    assert chosen(talk(4, origin_type=OriginType.CHAT_AGENT), 0) == [1, 2]


def test_places_are_ranks_of_eligible_sequences() -> None:
    sessions = Sessions(
        {
            "a": (None, "s", 3),
            "b1": (None, "s", 10),
            "b2": (None, "s", 10),
            "c": (None, "s", 11),
            "elsewhere": ("other", "s", 4),
        }
    )
    assert sessions.at("a", 1) == ("b1", "b2")
    assert sessions.at("b2", 1) == ("c",)
    assert sessions.at("c", 1) == ()
    assert sessions.at("elsewhere", 1) == ()
    assert sessions.around(["a"]) == ["b1", "b2", "c"]
    assert not sessions.whole("b1")
