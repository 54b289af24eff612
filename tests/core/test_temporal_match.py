"""Temporal match: golden values, and the core against `oracle`."""

from __future__ import annotations

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig import _core

DAY = 86_400_000_000
WEEK = (0, 7 * DAY)
TIMES = st.integers(-100 * DAY, 100 * DAY)


def window(ends: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    start, end = ends
    return (end, start) if start is not None and end is not None and start > end else ends


WINDOWS = st.tuples(st.none() | TIMES, st.none() | TIMES).map(window)


@each(
    ("instant", "query", "wanted"),
    [
        (10 * DAY + DAY // 2, WEEK, 0.606531),
        (-3 * DAY - DAY // 2, WEEK, 0.606531),
        (4 * DAY, (0, DAY), 0.049787),
        (-15 * DAY, (0, None), 0.606531),
        (15 * DAY, (None, 0), 0.606531),
        (2 * DAY, (0, DAY // 24), 0.141093),
        (3 * DAY, WEEK, 1.0),
        (0, WEEK, 1.0),
        (7 * DAY, WEEK, 1.0),
    ],
)
def test_golden_values(instant: int, query: tuple[int | None, int | None], wanted: float) -> None:
    assert _core.testing.temporal_match([instant], [], [query]) == pytest.approx(wanted, abs=5e-7)


def test_overlap_of_a_text_window_counts_one() -> None:
    assert _core.testing.temporal_match([500 * DAY], [(6 * DAY, 30 * DAY)], [WEEK]) == 1.0
    assert _core.testing.temporal_match([], [(None, None)], [WEEK]) == 1.0


def test_the_best_pair_counts() -> None:
    assert (
        _core.testing.temporal_match([100 * DAY, 9 * DAY], [], [(0, DAY), (8 * DAY, 10 * DAY)])
        == 1.0
    )


def test_the_scale_of_open_windows_is_a_setting() -> None:
    value = _core.testing.temporal_match([-15 * DAY], [], [(0, None)], 15.0)
    assert value == pytest.approx(0.367879, abs=5e-7)


@pytest.mark.parametrize(
    ("instants", "windows", "query", "scale", "fact"),
    [
        ([0], [], [], 30.0, "query window"),
        ([], [], [WEEK], 30.0, "instant or window"),
        ([0], [], [(5, 4)], 30.0, "end after"),
        ([0], [], [WEEK], 0.0, "open_scale_days"),
    ],
)
def test_what_cannot_be_matched_is_refused(
    instants: list[int],
    windows: list[tuple[int, int]],
    query: list[tuple[int, int]],
    scale: float,
    fact: str,
) -> None:
    with pytest.raises(ValueError, match=fact):
        _core.testing.temporal_match(instants, windows, query, scale)


@given(
    st.lists(TIMES, max_size=3),
    st.lists(WINDOWS, max_size=3),
    st.lists(WINDOWS, min_size=1, max_size=3),
    st.floats(0.5, 90),
)
def test_equals_the_definition(
    instants: list[int],
    windows: list[tuple[int | None, int | None]],
    query: list[tuple[int | None, int | None]],
    scale: float,
) -> None:
    if instants or windows:
        wanted = oracle.temporal_match(instants, windows, query, scale)
        got = _core.testing.temporal_match(instants, windows, query, scale)
        assert got == pytest.approx(wanted, rel=1e-12, abs=1e-300)
