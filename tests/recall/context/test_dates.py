"""Expressions of time with their dates beside them."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each
from vestig.arguments import parse_time
from vestig.language.time.expressions import find_windows
from vestig.language.time.printed_dates import dated, day_of, window_words
from vestig.times import from_us
from vestig.types import TemporalWindow

SAID = "2026-03-18T12:00:00Z"


def windows(text: str, said: str = SAID, zone: str = "UTC") -> tuple[TemporalWindow, ...]:
    """As commit finds and keeps them."""
    return tuple(
        TemporalWindow(
            text=one.text,
            start=None if one.window_start_us is None else from_us(one.window_start_us),
            end=None if one.window_end_us is None else from_us(one.window_end_us),
            grain=one.grain,
            either=one.either,
        )
        for one in find_windows(text, parse_time(said, "t_ref"), zone=zone)
        if one.resolved
    )


@each(
    ("text", "told"),
    [
        ("I ran yesterday.", "I ran yesterday [2026-03-17]."),
        ("She moved last week", "She moved last week [2026-03-09 to 2026-03-15]"),
        ("We met last month in Oslo", "We met last month [2026-02] in Oslo"),
        ("It began last year", "It began last year [2025]"),
        ("Due on March 25", "Due on March 25 [2026-03-25]"),
        ("Ships in Q3, please test", "Ships in Q3 [2026-Q3], please test"),
        ("Off in the last 3 days", "Off in the last 3 days [2026-03-15 to 2026-03-18]"),
        ("Seen 2 hours ago", "Seen 2 hours ago [2026-03-18 09:30 to 10:30]"),
        ("Sold before last week", "Sold before last week [2026-03-09 to 2026-03-15]"),
        ("Free since last week", "Free since last week [2026-03-09 to 2026-03-15]"),
        ("Free since last month", "Free since last month [2026-02]"),
        ("Free after last month", "Free after last month [2026-02]"),
        ("Free after this quarter", "Free after this quarter [2026-Q1]"),
        ("Shut until Friday", "Shut until Friday [2026-03-20]"),
        ("Free since 3 hours ago", "Free since 3 hours ago [from 2026-03-18 08:30 on]"),
        ("Ill before the last 3 days", "Ill before the last 3 days [before 2026-03-15 12:00]"),
        # who names the year needs no help
        ("Born on 5 March 1990", "Born on 5 March 1990"),
        ("Released 2025-11-02", "Released 2025-11-02"),
        ("No time at all", "No time at all"),
    ],
)
def test_relative_times_get_their_dates(text: str, told: str) -> None:
    assert dated(text, windows(text), "UTC") == told


@each(
    "text",
    [
        "Friday's numbers look odd",
        "The launch is on May 5.",
        "The review was moved to Friday.",
        "Signed on 03/04/2026 in Vienna",
        "Café Lou in Paris is closed on Monday",
        "We play every Friday",
    ],
)
def test_nothing_is_printed_where_there_is_not_exactly_one_date(text: str) -> None:
    assert dated(text, windows(text), "UTC") == text


def test_which_of_two_places_a_date_belongs_to_is_not_guessed() -> None:
    text = "We met on Friday, and we will meet on Friday"
    times = windows(text)
    assert [one.start for one in times] == [
        datetime(2026, 3, 13, tzinfo=UTC),
        datetime(2026, 3, 20, tzinfo=UTC),
    ]
    assert dated(text, times, "UTC") == text


def test_windows_of_older_rules_are_printed_as_they_were_stored() -> None:
    old = TemporalWindow(
        text="April 13",
        start=datetime(2025, 4, 13, tzinfo=UTC),
        end=datetime(2025, 4, 14, tzinfo=UTC),
        grain="day",
    )
    assert dated("It is April 13", [old], "UTC") == "It is April 13 [2025-04-13]"


def test_every_expression_gets_its_own_date() -> None:
    text = "Yesterday rain, today sun, tomorrow rain, and yesterday it was cold"
    assert dated(text, windows(text), "UTC") == (
        "Yesterday [2026-03-17] rain, today [2026-03-18] sun, tomorrow [2026-03-19] rain,"
        " and yesterday [2026-03-17] it was cold"
    )


def test_one_text_on_two_days_has_two_dates() -> None:
    text = "The release is today"
    times = (*windows(text), *windows(text, "2026-03-25"), *windows(text))
    assert dated(text, times, "UTC") == "The release is today [2026-03-18; 2026-03-25]"


def test_a_part_of_a_longer_expression_is_no_expression() -> None:
    times = windows("in March") + windows("it broke on March 5")
    assert dated("on March 5", times, "UTC") == "on March 5 [2026-03-05]"


def test_a_line_may_end_inside_of_an_expression() -> None:
    times = windows("She moved last week")
    assert dated("She moved last\n  week", times, "UTC") == (
        "She moved last\n  week [2026-03-09 to 2026-03-15]"
    )


def test_days_begin_where_the_store_is() -> None:
    text = "I ran yesterday"
    late = "2026-03-18T23:30:00Z"
    assert dated(text, windows(text, late, "Europe/Oslo"), "Europe/Oslo") == (
        "I ran yesterday [2026-03-18]"
    )
    assert day_of(datetime(2026, 3, 18, 23, 30, tzinfo=UTC), "Europe/Oslo") == "2026-03-19"


def test_the_ends_of_the_calendar() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert day_of(first, "America/New_York") == "0001-01-01"
    assert day_of(last, "Asia/Tokyo") == "9999-12-31"
    whole = TemporalWindow(text="ever", start=None, end=None, grain="")
    assert window_words(whole, "UTC") == ""
