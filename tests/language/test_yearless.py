"""Expressions of time without a year."""

from __future__ import annotations

from tables import each
from vestig.language.time.expressions import find_windows, is_yearless

NOW_US = 1_773_835_200_000_000


@each(
    ("query", "expected"),
    [
        ("what happened on 3 May?", [True]),
        ("what happened in december", [True]),
        ("what happened on 3 May 2024?", [False]),
        ("what happened on 2024-05-03?", [False]),
        ("what happened last week or yesterday?", [False, False]),
        ("between 3 May and 9 May", [True, True]),
        ("in 2024", [False]),
    ],
)
def test_months_and_days_without_a_year(query: str, expected: list[bool]) -> None:
    found = [one for one in find_windows(query, NOW_US, zone="UTC") if one.resolved]
    assert [is_yearless(one.text) for one in found] == expected
