"""A question that names a day or a period is answered by what holds in it, first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import vestig
from tables import each
from vestig.recall.named_time import holds_in, named_time
from vestig.testing import FrozenClock
from vestig.types import TemporalWindow

PATIENT = {"judge": {"budget_ms": 60_000.0}}
FILLERS = ("Tess swims on Mondays.", "The kitchen is painted green.", "Backups run at 2.")


@pytest.fixture(scope="module")
def theatre() -> Iterator[vestig.Vestig]:
    """A store on 1 December 2026, with a value that is announced and one that was replaced."""
    clock = FrozenClock("2025-09-02T10:00:00Z")
    with vestig.open(":memory:", clock=clock, config=PATIENT) as store:
        store.commit_many(FILLERS)
        store.commit("Evening performances start at 19:30.", key="start")
        store.commit("Helen Marsh is the director.", key="director", t_valid="2019-08-01")
        clock.set("2026-11-16T10:00:00Z")
        store.commit(
            "From 29 March 2027 evening performances start at 19:00.",
            key="start",
            t_valid="2027-03-29",
        )
        store.commit("Idris Okafor is the director.", key="director", t_valid="2026-08-01")
        clock.set("2026-12-01T12:00:00Z")
        yield store


@pytest.fixture(scope="module")
def directors() -> Iterator[vestig.Vestig]:
    """Values without a key, of which one ended before the next began."""
    clock = FrozenClock("2026-12-01T12:00:00Z")
    with vestig.open(":memory:", clock=clock, config=PATIENT) as store:
        store.commit_many(FILLERS)
        for name, begins, ends in (
            ("Dorothy Lane", "1998-01-01", "2006-12-31"),
            ("Martin Grieve", "2007-01-01", "2019-07-31"),
            ("Idris Okafor", "2026-08-01", None),
        ):
            store.commit(f"The director is {name}.", t_valid=begins, t_invalid=ends)
        yield store


def found(store: vestig.Vestig, query: str, words: tuple[str, ...]) -> list[str]:
    """Which of these words the results hold, in their order."""
    texts = [hit.content for hit in store.recall(query)]
    return [word for text in texts for word in words if word in text]


@each(
    ("query", "first"),
    [
        ("When do evening performances start on 28 March 2027?", "19:30"),
        ("When will evening performances start in February 2027?", "19:30"),
        ("When do evening performances start in December 2026?", "19:30"),
        ("When do evening performances start this month?", "19:30"),
        ("When do evening performances start on 15 January 2027?", "19:30"),
        ("When do evening performances start in April 2027?", "19:00"),
        ("When do evening performances start on 29 March 2027?", "19:00"),
        ("Who was the director in Q2 2026?", "Helen"),
        ("Who was the director in week 20 of 2026?", "Helen"),
        ("Who was the director in the early 2020s?", "Helen"),
        ("Who was the director from 2020 to 2022?", "Helen"),
        ("Who is the director in December 2026?", "Idris"),
        ("Who is the director this year?", "Idris"),
    ],
)
def test_what_holds_on_the_day_comes_first(theatre: vestig.Vestig, query: str, first: str) -> None:
    assert found(theatre, query, ("19:30", "19:00", "Helen", "Idris"))[:1] == [first]


@each(
    ("query", "both"),
    [
        ("When do evening performances start in March 2027?", ["19:30", "19:00"]),
        ("Who was the director in the second half of 2026?", ["Helen", "Idris"]),
        ("Who was the director in 2026?", ["Helen", "Idris"]),
    ],
)
def test_a_period_in_which_it_changes_is_told_both_in_order(
    theatre: vestig.Vestig, query: str, both: list[str]
) -> None:
    assert found(theatre, query, ("19:30", "19:00", "Helen", "Idris"))[:2] == both


@each(
    ("query", "first"),
    [
        ("Who was the director in 2003?", ["Dorothy"]),
        ("Who was the director on 3 May 2003?", ["Dorothy"]),
        ("Who was the director in May 2010?", ["Martin"]),
        ("Who was the director between 2005 and 2009?", ["Dorothy", "Martin"]),
        ("Who was the director in October 2026?", ["Idris"]),
    ],
)
def test_of_like_texts_that_ended_the_one_of_the_time_comes_first(
    directors: vestig.Vestig, query: str, first: list[str]
) -> None:
    assert found(directors, query, ("Dorothy", "Martin", "Idris"))[: len(first)] == first


def test_what_holds_then_answers_no_other_question(theatre: vestig.Vestig) -> None:
    for query in (
        "When does the caretaker leave on 15 January 2027?",
        "What did the new roof cost in Q2 2026?",
    ):
        assert theatre.recall(query).abstained, query


def test_like_texts_about_other_things_keep_their_places() -> None:
    with vestig.open(":memory:", clock=FrozenClock("2026-12-01"), config=PATIENT) as store:
        store.commit_many(FILLERS)
        for hall, fee, begins, ends in (
            ("east", 80, "2019-01-01", "2021-01-01"),
            ("west", 95, "2022-01-01", None),
        ):
            text = f"The fee of the {hall} hall is {fee} euros a day."
            store.commit(text, t_valid=begins, t_invalid=ends)
        assert "west" in store.recall("What was the fee of the west hall in 2020?")[0].content


def test_a_read_of_another_time_stays_as_it_is(theatre: vestig.Vestig) -> None:
    then = theatre.recall("Who is the director in December 2026?", valid_at="2020-05-01")
    assert [hit.content for hit in then] == ["Helen Marsh is the director."]


def window(start: int | None, end: int | None, *, either: bool = False) -> TemporalWindow:
    first, last = (
        None if year is None else datetime(year, 1, 1, tzinfo=UTC) for year in (start, end)
    )
    return TemporalWindow(text="then", start=first, end=last, grain="year", either=either)


@each(
    ("start", "end", "held"),
    [
        (2020, 2021, True),
        (2017, 2019, False),
        (2017, 2020, True),
        (2022, 2023, False),
        (2021, 2023, True),
        # until then
        (None, 2022, True),
        (None, 2021, True),
        (None, 2024, False),
        (None, 2019, False),
        # since then
        (2021, None, True),
        (2022, None, False),
    ],
)
def test_what_holds_in_a_window(start: int | None, end: int | None, held: bool) -> None:
    begins, ends = datetime(2019, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)
    assert holds_in(begins, ends, window(start, end)) is held


def test_one_time_is_named_alone_and_for_certain() -> None:
    sure, open_ = window(2020, 2021), window(2020, 2021, either=True)
    assert named_time([sure]) is sure
    assert [named_time(some) for some in ([], [sure, sure], [open_])] == [None] * 3


@each("time", ["today", "this week", "this year"])
def test_of_a_time_that_is_not_over_what_holds_now_comes_first(time: str) -> None:
    before, since = "Lot C is reserved for guests.", "Lot F is reserved for guests."
    with vestig.open(":memory:", config={"judge": {"budget_ms": 60_000.0}}) as store:
        store.commit(before, t_valid="2026-02-01", t_invalid="2026-06-10T04:00:00Z")
        store.commit(since, t_valid="2026-06-10T04:00:00Z")
        store.commit("Ines prefers calls before noon.", t_valid="2026-01-01")
        asked = {"query_time": "2026-06-10T09:00:00Z"}
        found = store.recall(f"Which lot is reserved for guests {time}?", **asked)
        was = store.recall("Which lot was reserved for guests this week?", **asked)
    assert [hit.content for hit in found[:2]] == [since, before]
    assert [hit.content for hit in was[:2]] == [before, since]
