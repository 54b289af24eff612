"""Temporal expressions: every family and its edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each
from vestig.arguments import parse_time
from vestig.errors import ValidationError
from vestig.language.text_forms import word_list
from vestig.language.time.expressions import (
    TemporalExpression,
    find_times,
    find_windows,
    lowered,
    of_no_known_days,
)
from vestig.times import format_us

NOW = parse_time("2026-03-18T12:00:00Z", "t_ref")  # a Wednesday


def find_expressions(text: str, ref_us: int, *, zone: str = "UTC") -> list[TemporalExpression]:
    return find_times(text, ref_us, zone=zone).expressions


def short(us: int | None) -> str | None:
    """`2026-03-18`, with the time of day only where it is not midnight."""
    if us is None:
        return None
    text = format_us(us).removesuffix("Z").removesuffix(".000000")
    return text.removesuffix("T00:00:00").removesuffix(":00")


def windows(text: str, *, ref: int = NOW, zone: str = "UTC") -> list[str]:
    found = find_windows(text, ref, zone=zone)
    return [f"{short(one.window_start_us)}..{short(one.window_end_us)}" for one in found]


@each(
    ("text", "window"),
    [
        ("yesterday", "2026-03-17..2026-03-18"),
        ("last week", "2026-03-09..2026-03-16"),
        ("3 days ago", "2026-03-15..2026-03-16"),
        ("last month", "2026-02-01..2026-03-01"),
        ("we met on Monday", "2026-03-16..2026-03-17"),
        ("we will meet on Monday", "2026-03-23..2026-03-24"),
        ("Q1 2026", "2026-01-01..2026-04-01"),
        ("in the second quarter of 2025", "2025-04-01..2025-07-01"),
        ("4th quarter 2025", "2025-10-01..2026-01-01"),
        ("in the first half of 2025", "2025-01-01..2025-07-01"),
        ("H2/2025", "2025-07-01..2026-01-01"),
        ("in week 20 of 2026", "2026-05-11..2026-05-18"),
        ("KW 1/2025", "2024-12-30..2025-01-06"),
        ("2026-W53", "2026-12-28..2027-01-04"),
        ("in the 1990s", "1990-01-01..2000-01-01"),
        ("the early 2020s", "2020-01-01..2025-01-01"),
        ("the mid-1990's", "1992-07-01..1997-07-01"),
        ("in spring 2025", "2025-01-01..2026-01-01"),
        ("at Easter 2025", "2025-01-01..2026-01-01"),
        ("from 2020 to 2022", "2020-01-01..2023-01-01"),
        ("from the beginning of 2020 until the end of 2022", "2020-01-01..2023-01-01"),
        ("from 13 July to 7 August 2025", "2025-07-13..2025-08-08"),
        ("from 20 December to 7 January 2025", "2024-12-20..2025-01-08"),
        ("from May to July 2025", "2025-05-01..2025-08-01"),
        ("from Monday 14 July to Friday 18 July 2025", "2025-07-14..2025-07-19"),
        ("from Q1 to Q3 2025", "2025-01-01..2025-10-01"),
    ],
)
def test_windows(text: str, window: str) -> None:
    assert windows(text) == [window]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("last 7 days", "2026-03-11T12:00..2026-03-18T12:00"),
        ("before 2026-03-01", "None..2026-03-01"),
        ("between 2026-01-05 and 2026-01-08", "2026-01-05..2026-01-09"),
    ],
)
def test_rolling_and_open(text: str, window: str) -> None:
    assert windows(text) == [window]


@each(
    ("text", "read"),
    [
        # not of a year
        ("the second half, 2000 people left", []),
        ("in week 20", []),
        ("a letter from March", []),
        # no week of a year
        ("week 60 of 2025", ["2025-01-01..2026-01-01"]),
        # no span that ends behind its beginning
        (
            "from 2025 to 2020",
            ["2025-01-01..2026-01-01", "2020-01-01..2021-01-01"],
        ),
        ("from 2022 and 2024", ["2022-01-01..2023-01-01", "2024-01-01..2025-01-01"]),
    ],
)
def test_what_is_no_part_of_a_year_and_no_span(text: str, read: list[str]) -> None:
    assert windows(text) == read


@each(
    ("query", "unread"),
    [
        ("Who led it last spring?", ["last spring"]),
        ("Who led it in week 20?", ["week 20"]),
        ("Who led it in the Nineties, or in the '80s?", ["the Nineties", "'80s"]),
        ("Who led it in week 20 of 2026, or last week?", []),
        ("Who led it in the spring of 2025?", []),
    ],
)
def test_times_of_which_the_days_are_unknown_are_named(query: str, unread: list[str]) -> None:
    named = ", ".join(f'"{one}"' for one in unread)
    warnings = of_no_known_days(query, find_times(query, NOW))
    assert [named in warning for warning in warnings] == [True] * bool(unread)


def test_clamps_and_refuses() -> None:
    (found,) = find_windows("a month ago", parse_time("2026-03-31", "t_ref"))
    assert short(found.instant_us) == "2026-02-28"
    assert (short(found.window_start_us), short(found.window_end_us)) == (
        "2026-02-01",
        "2026-03-01",
    )
    assert find_expressions("30 February", NOW) == []
    assert find_expressions("we may deploy", NOW) == []
    before, after = find_windows("in May", NOW)
    assert (before.grain, before.either, after.grain, after.either) == ("month", True) * 2
    assert windows("in May") == ["2025-05-01..2025-06-01", "2026-05-01..2026-06-01"]


@each(
    ("text", "window"),
    [
        # day words
        ("today", "2026-03-18..2026-03-19"),
        ("tonight", "2026-03-18..2026-03-19"),
        ("this morning", "2026-03-18..2026-03-19"),
        ("this  afternoon", "2026-03-18..2026-03-19"),
        ("THIS EVENING", "2026-03-18..2026-03-19"),
        ("last night", "2026-03-17..2026-03-18"),
        ("tomorrow", "2026-03-19..2026-03-20"),
        ("the day before yesterday", "2026-03-16..2026-03-17"),
        ("the day after tomorrow", "2026-03-20..2026-03-21"),
        # offsets
        ("a day ago", "2026-03-17..2026-03-18"),
        ("two days ago", "2026-03-16..2026-03-17"),
        ("twelve days ago", "2026-03-06..2026-03-07"),
        ("a couple of weeks ago", "2026-03-02..2026-03-09"),
        ("exactly two weeks ago", "2026-03-04..2026-03-05"),
        ("couple of days ago", "2026-03-16..2026-03-17"),
        ("half a year ago", "2025-06-18T12:00..2025-12-18T12:00"),
        ("a year and a half ago", "2024-06-18T12:00..2024-12-18T12:00"),
        ("two and a half years ago", "2023-06-18T12:00..2023-12-18T12:00"),
        ("one month and a half ago", "2026-01-27T12:00..2026-02-10T12:00"),
        ("early 2024", "2024-01-01..2024-07-01"),
        ("mid-2023", "2023-04-01..2023-10-01"),
        ("since late 2022", "2022-07-01..None"),
        ("before summer 2022", "None..2022-01-01"),
        ("summer 2022", "2022-01-01..2023-01-01"),
        ("in fall 2022", "2022-01-01..2023-01-01"),
        ("a few days ago", "2026-03-15..2026-03-16"),
        ("few months ago", "2025-12-01..2026-01-01"),
        ("a year ago", "2025-01-01..2026-01-01"),
        ("in 3 days", "2026-03-21..2026-03-22"),
        ("in a week", "2026-03-23..2026-03-30"),
        ("2 weeks from now", "2026-03-30..2026-04-06"),
        ("a month from now", "2026-04-01..2026-05-01"),
        ("an hour ago", "2026-03-18T10:30..2026-03-18T11:30"),
        ("in 10 minutes", "2026-03-18T12:09:30..2026-03-18T12:10:30"),
        # rolling
        ("past 2 weeks", "2026-03-04T12:00..2026-03-18T12:00"),
        ("next 3 months", "2026-03-18T12:00..2026-06-18T12:00"),
        ("the last few days", "2026-03-15T12:00..2026-03-18T12:00"),
        ("last couple of years", "2024-03-18T12:00..2026-03-18T12:00"),
        # calendar
        ("this week", "2026-03-16..2026-03-23"),
        ("next week", "2026-03-23..2026-03-30"),
        ("last weekend", "2026-03-14..2026-03-16"),
        ("this weekend", "2026-03-21..2026-03-23"),
        ("next month", "2026-04-01..2026-05-01"),
        ("last quarter", "2025-10-01..2026-01-01"),
        ("this quarter", "2026-01-01..2026-04-01"),
        ("last year", "2025-01-01..2026-01-01"),
        ("next year", "2027-01-01..2028-01-01"),
        # weekdays
        ("it broke Wednesday", "2026-03-18..2026-03-19"),
        ("it broke thursday", "2026-03-12..2026-03-13"),
        ("last Wednesday", "2026-03-11..2026-03-12"),
        ("next Wednesday", "2026-03-25..2026-03-26"),
        ("this Friday", "2026-03-20..2026-03-21"),
        ("this Monday", "2026-03-16..2026-03-17"),
        ("last Friday", "2026-03-13..2026-03-14"),
        ("next week on Friday", "2026-03-27..2026-03-28"),
        ("Thursday of last week", "2026-03-12..2026-03-13"),
        # absolute
        ("2026-03-05", "2026-03-05..2026-03-06"),
        ("2026-03-05T09:30", "2026-03-05T09:30..2026-03-05T09:31"),
        ("2026-03-05 09:30:15Z", "2026-03-05T09:30:15..2026-03-05T09:30:16"),
        ("2026-03-05T09:30+02:00", "2026-03-05T07:30..2026-03-05T07:31"),
        ("5 March 2026", "2026-03-05..2026-03-06"),
        ("5th of March, 2026", "2026-03-05..2026-03-06"),
        ("it broke on March 5", "2026-03-05..2026-03-06"),
        ("March 18", "2026-03-18..2026-03-19"),
        ("March 5th, 2024", "2024-03-05..2024-03-06"),
        ("it broke Mar. 5", "2026-03-05..2026-03-06"),
        ("sept 1 2025", "2025-09-01..2025-09-02"),
        ("it broke on March 20", "2025-03-20..2025-03-21"),
        ("it broke on 29 February", "2024-02-29..2024-03-01"),
        ("it will break on 29 February", "2028-02-29..2028-03-01"),
        ("5-9 March 2026", "2026-03-05..2026-03-10"),
        ("March 5–9, 2026", "2026-03-05..2026-03-10"),
        ("Monday, April 13", "2026-04-13..2026-04-14"),
        ("Monday, March 16, 2026", "2026-03-16..2026-03-17"),
        ("March 2026", "2026-03-01..2026-04-01"),
        ("May 2023", "2023-05-01..2023-06-01"),
        ("in March", "2026-03-01..2026-04-01"),
        ("since April", "2025-04-01..None"),
        ("it broke in december", "2025-12-01..2026-01-01"),
        ("in June last year", "2025-06-01..2025-07-01"),
        ("next year in June", "2027-06-01..2027-07-01"),
        ("last March", "2025-03-01..2025-04-01"),
        ("next May", "2026-05-01..2026-06-01"),
        ("in 2024", "2024-01-01..2025-01-01"),
        ("the spring of 2100", "2100-01-01..2101-01-01"),
        ("it broke in Q3", "2025-07-01..2025-10-01"),
        ("q4 of 2024", "2024-10-01..2025-01-01"),
        # open
        ("until Monday", "None..2026-03-23"),
        ("after yesterday", "2026-03-18..None"),
        ("after 2025", "2026-01-01..None"),
        ("since last week", "2026-03-09..None"),
        ("before the last 7 days", "None..2026-03-11T12:00"),
        ("it rained between March and May", "2025-03-01..2025-06-01"),
        ("it rained between Friday and Monday", "2026-03-13..2026-03-17"),
        ("it will rain between Friday and Monday", "2026-03-20..2026-03-24"),
        ("between 5 March 2025 and April 3", "2025-03-05..2025-04-04"),
        # figures
        ("13/04/2026", "2026-04-13..2026-04-14"),
        ("4/13/2026", "2026-04-13..2026-04-14"),
        ("13.04.2026", "2026-04-13..2026-04-14"),
        ("03.04.2026", "2026-04-03..2026-04-04"),
        ("04-04-2026", "2026-04-04..2026-04-05"),
        # another day than today
        ("two weeks from today", "2026-04-01..2026-04-02"),
        ("a year ago today", "2025-03-18..2025-03-19"),
        ("between 2019 and 2021", "2019-01-01..2022-01-01"),
    ],
)
def test_families_of_temporal_expressions(text: str, window: str) -> None:
    assert windows(text) == [window]


@each(
    "text",
    [
        "the market may march on",
        "They march 5",
        "Fridays are quiet",
        "2000 users and 1999 others",
        "it costs $2000",
        "31 April",
        "31/31/2026",
        "3/4",
        "10.0.13.2026",
        "9-5 March",
        "2026-02-30",
        "2026-13-01",
        "build 2026-03-05-7",
        "v2020 is out",
        "2020-style",
        "decide on the separate market",
        "we met wed",
        "",
    ],
)
def test_texts_without_temporal_expressions(text: str) -> None:
    assert windows(text) == []


def test_may_and_march_are_months_only_in_a_temporal_place() -> None:
    assert windows("May left early") == []
    assert windows("in may") == []
    assert windows("by May") == ["2026-05-01..2026-06-01"]
    assert windows("The march began 5 days ago") == ["2026-03-13..2026-03-14"]


@each(
    ("text", "window"),
    [
        ("Am 3. August 2025 singen wir in Ulm", "2025-08-03..2025-08-04"),
        ("Was war am 1. September 2025?", "2025-09-01..2025-09-02"),
        ("den 3. august 2025", "2025-08-03..2025-08-04"),
        ("vom 3. bis 5. August 2025", "2025-08-03..2025-08-06"),
        ("3.-5. August 2025", "2025-08-03..2025-08-06"),
        ("am 3. und 4. August 2025", "2025-08-04..2025-08-05"),
        ("Sunday, 3. August 2025", "2025-08-03..2025-08-04"),
        ("am 1. Sept. 2025", "2025-09-01..2025-09-02"),
        ("op 3e april 2025, niet later", "2025-04-03..2025-04-04"),
        ("den 3:e april 2025", "2025-04-03..2025-04-04"),
        ("le 1er nov. 2025", "2025-11-01..2025-11-02"),
        ("el 15 de sept. de 2025", "2025-09-15..2025-09-16"),
        ("on the third of August 2025", "2025-08-03..2025-08-04"),
        ("the twenty-first of March 2025", "2025-03-21..2025-03-22"),
        ("August third, 2025", "2025-08-03..2025-08-04"),
    ],
)
def test_a_day_beside_its_month_is_read_however_it_is_written(text: str, window: str) -> None:
    assert windows(text) == [window]
    assert not find_windows(text, NOW)[0].either


def test_a_point_that_may_end_a_sentence_leaves_the_day_open() -> None:
    for text in ("Treffen 3. August 2025", "We met in room 3. August 2025 was hot."):
        assert windows(text) == ["2025-08-01..2025-09-01", "2025-08-03..2025-08-04"]
        assert all(one.either for one in find_windows(text, NOW))
    for text in ("We met in room 3. August was hot.", "1. August"):
        assert windows(text) == ["2025-08-01..2025-09-01", "2026-08-01..2026-09-01"]
        assert all(one.either for one in find_windows(text, NOW))
    # no days
    assert windows("It cost $5. August 2025 was hot.") == ["2025-08-01..2025-09-01"]
    assert windows("a third of August 2025 was hot") == ["2025-08-01..2025-09-01"]
    assert windows("In August 2025 second graders swam") == ["2025-08-01..2025-09-01"]
    assert windows("Mon frère a sept violons et 2 pianos") == []


def test_years_in_a_list_of_dates() -> None:
    assert windows("in 2019, 2020 and 2021") == [
        "2019-01-01..2020-01-01",
        "2020-01-01..2021-01-01",
        "2021-01-01..2022-01-01",
    ]
    assert windows("in 2019 we had 2021 users") == ["2019-01-01..2020-01-01"]


@each(
    ("text", "day", "starts"),
    [
        # Wednesday: this week still brings a Friday and a weekend, not a Monday or a Wednesday
        ("next Friday", "2026-03-18", ["2026-03-20", "2026-03-27"]),
        ("The dentist will come next Friday", "2026-03-18", ["2026-03-20", "2026-03-27"]),
        ("next weekend", "2026-03-18", ["2026-03-21", "2026-03-28"]),
        ("next Monday", "2026-03-18", ["2026-03-23"]),
        ("next Wednesday", "2026-03-18", ["2026-03-25"]),
        ("this Friday", "2026-03-18", ["2026-03-20"]),
        ("this weekend", "2026-03-18", ["2026-03-21"]),
        ("Friday of next week", "2026-03-18", ["2026-03-27"]),
        ("next Friday, 27 March 2026", "2026-03-18", ["2026-03-27"]),
        # Saturday and Sunday
        ("next Friday", "2026-03-21", ["2026-03-27"]),
        ("next weekend", "2026-03-21", ["2026-03-28"]),
        ("next weekend", "2026-03-22", ["2026-03-28"]),
        ("next Sunday", "2026-03-21", ["2026-03-22", "2026-03-29"]),
    ],
)
def test_next_means_two_days_where_this_week_still_brings_one(
    text: str, day: str, starts: list[str]
) -> None:
    found = find_windows(text, parse_time(day, "t_ref"))
    assert [format_us(one.window_start_us)[:10] for one in found if one.window_start_us] == starts
    assert [one.either for one in found] == [len(starts) > 1] * len(starts)


def test_what_is_left_open_has_a_window_on_either_side() -> None:
    sides = ["2026-03-13..2026-03-14", "2026-03-20..2026-03-21"]
    for text in ("Friday's numbers", "The review was moved to Friday.", "on Friday"):
        found = find_windows(text, NOW)
        assert windows(text) == sides
        assert [one.either for one in found] == [True, True]
        assert found[0].text == found[1].text
    assert windows("before Friday") == ["None..2026-03-13", "None..2026-03-20"]
    assert windows("between Friday and Sunday") == [
        "2026-03-13..2026-03-16",
        "2026-03-20..2026-03-23",
    ]
    assert windows("The launch is on May 5.") == [
        "2025-05-05..2025-05-06",
        "2026-05-05..2026-05-06",
    ]


def test_a_date_in_figures_with_two_readings_has_both() -> None:
    assert windows("03/04/2026") == ["2026-03-04..2026-03-05", "2026-04-03..2026-04-04"]
    assert all(one.either for one in find_windows("03-04-2026", NOW))


@each(
    "text",
    [
        "Café Lou in Paris is closed on Monday",
        "every Friday",
        "each Friday and Sunday",
        "on Mondays",
        "usually on Friday",
        "We normally close in August",
        "Tuesday evenings",
        "on a Tuesday",
        "Every March we ski",
        "the first Monday of the month",
        "Good Friday",
        "The library opens at noon on Sunday",
        "I used to swim on Sunday",
    ],
)
def test_a_habit_has_no_window(text: str) -> None:
    assert windows(text) == []
    assert not any(one.resolved for one in find_expressions(text, NOW))


def test_the_words_around_an_expression_say_on_which_side_it_lies() -> None:
    """In a query as in a memory; each expression by its own clause."""
    assert windows("We met on Friday and will meet on Monday") == [
        "2026-03-13..2026-03-14",
        "2026-03-23..2026-03-24",
    ]
    assert windows("Ann said she will come on Friday") == ["2026-03-20..2026-03-21"]
    for cue in ("I am going to call", "They plan to call", "he's about to call", "We'll call"):
        assert windows(f"{cue} Monday") == ["2026-03-23..2026-03-24"]
    assert windows("I called Monday") == ["2026-03-16..2026-03-17"]
    assert windows("What did we decide about Monday?") == windows("on Monday")
    assert windows("Will you call on Wednesday?") == ["2026-03-25..2026-03-26"]
    assert windows("Did you call on Wednesday?") == ["2026-03-18..2026-03-19"]


def test_another_year_or_week_in_the_sentence_leaves_it_open() -> None:
    assert windows("In 2019 they met in October")[1:] == [
        "2025-10-01..2025-11-01",
        "2026-10-01..2026-11-01",
    ]
    assert windows("Next week we will meet again on Friday")[1:] == windows("on Friday")


def test_the_zone_moves_the_days() -> None:
    late = parse_time("2026-03-18T23:30:00Z", "t_ref")
    assert windows("today", ref=late, zone="Europe/Oslo") == ["2026-03-18T23:00..2026-03-19T23:00"]
    assert windows("5 July 2026", zone="America/New_York") == ["2026-07-05T04:00..2026-07-06T04:00"]
    assert windows("2026-03-05T09:30Z", zone="Asia/Tokyo") == ["2026-03-05T09:30..2026-03-05T09:31"]
    with pytest.raises(ValidationError, match="Nowhere/Land"):
        find_windows("today", NOW, zone="Nowhere/Land")


def test_a_fraction_of_a_second_is_as_long_as_its_last_digit() -> None:
    (found,) = find_windows("at 2026-03-05T09:30:15.25Z", NOW)
    assert found.window_start_us is not None
    assert found.window_end_us == found.window_start_us + 10_000


def test_offsets_are_code_points_of_the_text_given() -> None:
    text = "İİ 🙂 — Yesterday, and last Monday"
    found = find_windows(text, NOW)
    assert [text[one.start : one.end] for one in found] == ["Yesterday", "last Monday"]
    assert [one.text for one in found] == ["Yesterday", "last Monday"]
    assert len(lowered(text)) == len(text)


def test_beyond_the_calendar_is_unresolved_and_no_window() -> None:
    (found,) = find_expressions("5000 years ago", NOW)
    assert (found.resolved, found.window_start_us, found.text) == (False, None, "5000 years ago")
    assert find_windows("5000 years ago", NOW) == []
    assert find_windows("tomorrow", parse_time("9999-12-31T23:00Z", "t")) == []


@each(
    ("text", "clock"),
    [
        ("at 14:05", "14:05:00"),
        ("9:07:30", "09:07:30"),
        ("9 am", "09:00:00"),
        ("9pm", "21:00:00"),
        ("12 am", "00:00:00"),
        ("12:30 p.m.", "12:30:00"),
    ],
)
def test_clock_times_have_no_window(text: str, clock: str) -> None:
    (found,) = find_expressions(text, NOW)
    assert (found.clock, found.resolved, found.grain) == (clock, False, "clock")
    assert find_windows(text, NOW) == []


@each("text", ["24:00", "13 pm", "9:75", "0 am", "1:2", "ratio 1:100"])
def test_impossible_clock_times(text: str) -> None:
    assert find_expressions(text, NOW) == []


WORDS = st.lists(
    st.sampled_from(
        word_list(
            "before after between and since in on last next this the 3 30 31 2026 29 12:30 Q1 May"
            " march February days weeks ago from now Monday year weekend 2026-03-05 will , ."
            " a few couple of 5th 99 1999 p.m. : was is every moved 3/4/2026 to said closed shop"
        )
    ),
    max_size=12,
).map(" ".join)


@given(WORDS, st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_any_temporal_words_at_any_time_give_ordered_windows(text: str, ref: int) -> None:
    """Never raises; spans are in order, apart and inside, but that an open one stands twice;
    windows have a direction."""
    for zone in ("UTC", "Europe/Oslo"):
        end, span = 0, (0, 0)
        for found in find_expressions(text, ref, zone=zone):
            assert found.start < found.end <= len(text)
            assert end <= found.start or (found.either and span == (found.start, found.end))
            span = (found.start, found.end)
            assert text[found.start : found.end] == found.text
            end = found.end
            if found.window_start_us is not None and found.window_end_us is not None:
                assert found.window_start_us < found.window_end_us


@given(st.text())
def test_expressions_of_any_text_lie_in_it(text: str) -> None:
    assert find_expressions(text, NOW) == find_expressions(text, NOW)


@each(
    "query",
    ["What does this term mean?", "What is this spring made of?", "Who sells this season ticket?"],
)
def test_a_thing_that_has_the_name_of_a_time_is_none(query: str) -> None:
    assert of_no_known_days(query, find_times(query, 0)) == ()
    assert of_no_known_days("Who led it this spring?", find_times("Who led it this spring?", 0))


@each("text", ["The valve H2 2200 bar", "Heater H1 1500 W", "Pump h2 2000 kg"])
def test_a_code_with_an_amount_is_no_half_year(text: str) -> None:
    assert not find_times(text, 0).windows
