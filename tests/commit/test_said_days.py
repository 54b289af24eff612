"""Days that a text names, as they count where it was said."""

from __future__ import annotations

from datetime import datetime

import pytest

import vestig
from tables import each
from vestig.testing import HashingEmbedder

EVENING, NIGHT = "2024-01-10T20:30:00-05:00", "2024-06-10T00:30:00+02:00"


def times(text: str, t_ref: object, zone: str = "UTC") -> list[str]:
    config = {"time.zone": zone}
    with vestig.open(":memory:", embedder=HashingEmbedder(16), config=config) as store:
        store.commit(text, t_ref=t_ref)  # type: ignore[arg-type]
        (memory,) = store.list()
        return [f"{one.start:%m-%dT%H:%M}" for one in memory.times if one.start]


@each(
    ("text", "t_ref", "starts"),
    [
        ("Today we swam in the sea.", EVENING, ["01-10T00:00"]),
        ("Today we swam in the sea.", datetime.fromisoformat(EVENING), ["01-10T00:00"]),
        ("Tomorrow we swim in the sea.", NIGHT, ["06-11T00:00"]),
        ("We swim in the sea next week.", "2024-06-10T00:30:00+02:00", ["06-17T00:00"]),
        ("We swam in the sea on 3 May 2023.", NIGHT, ["05-03T00:00"]),
        # moments are the same everywhere
        ("An hour ago we swam in the sea.", "2024-01-10T20:40:00-05:00", ["01-11T00:10"]),
        # no offset but that of UTC tells no place
        ("Today we swam in the sea.", "2024-01-11T01:30:00Z", ["01-11T00:00"]),
        ("Today we swam in the sea.", "2024-01-11T01:30:00", ["01-11T00:00"]),
        ("Today we swam in the sea.", "2024-01-11", ["01-11T00:00"]),
    ],
)
def test_a_reference_with_an_offset_tells_the_day(
    text: str, t_ref: object, starts: list[str]
) -> None:
    assert times(text, t_ref) == starts


@pytest.mark.parametrize("t_ref", [EVENING, "2024-01-11T01:30:00Z"])
def test_days_are_those_of_the_zone_of_the_store(t_ref: str) -> None:
    """In which they are stored and printed, whatever offset told them."""
    assert times("Today we swam in the sea.", t_ref, "America/New_York") == ["01-10T05:00"]


@pytest.mark.parametrize("t_ref", ["0001-01-01T20:30:00+05:00", "9999-12-31T20:00:00-03:00"])
def test_days_at_the_ends_of_the_calendar(t_ref: str) -> None:
    assert len(times("Today we swam in the sea.", t_ref)) <= 1
