"""Filters of time see every day on which a text was stated."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.testing import FrozenClock, vector_at

RAN = "I swam forty lengths today."
MARCH, APRIL, JUNE = "2026-03-02T20:00Z", "2026-04-09T20:00Z", "2026-06-01T08:00Z"


def counts(store: vestig.Vestig, **window: Any) -> set[int]:
    """How many memories each read finds."""
    return {
        store.count(**window),
        store.count(window),
        len(store.list(**window).memories),
        len(store.recall("who swam?", **window)),
        len(store.search("who swam?", **window)),
    }


@pytest.fixture(params=["exact", "near"])
def stated(request: pytest.FixtureRequest, opener: Opener) -> vestig.Vestig:
    """A note stated in March and again in April, in the same words and in nearly the same."""
    again = RAN if request.param == "exact" else "I swam 40 lengths today!"
    store = opener(vectors={text: vector_at(1.0) for text in (RAN, again, "who swam?")})
    first = store.commit(RAN, t_ref=MARCH)
    assert store.commit(again, t_ref=APRIL).memory_id == first.memory_id
    return store


@pytest.mark.parametrize(
    ("window", "found"),
    [
        ({"since": "2026-03-02", "until": "2026-03-03"}, 1),
        ({"since": "2026-04-09", "until": "2026-04-10"}, 1),
        ({"since": "2026-04-01"}, 1),
        ({"until": "2026-03-10"}, 1),
        ({"since": "2026-03-02", "until": "2026-03-02"}, 1),
        ({"since": "2026-03-03", "until": "2026-04-08"}, 0),
        ({"since": "2026-03-03", "until": "2026-04-09T00:00"}, 0),
        ({"since": "2026-04-10"}, 0),
        ({"until": "2026-03-01"}, 0),
    ],
)
def test_since_and_until_see_a_repeat(
    stated: vestig.Vestig, window: dict[str, str], found: int
) -> None:
    assert counts(stated, **window) == {found}


def test_forget_and_retrieve_see_a_repeat(stated: vestig.Vestig) -> None:
    april = {"since": "2026-04-01"}
    assert stated.retrieve([{"author": "Ann", "content": "who swam?"}], where=april).facts
    stated.forget(where=april, all=True)
    assert stated.count() == 0


def test_what_was_not_known_yet_is_no_statement(opener: Opener, clock: FrozenClock) -> None:
    store = opener()
    store.commit(RAN, t_ref=MARCH)
    before = clock()
    clock.move(hours=1)
    store.commit(RAN, t_ref=APRIL)
    assert len(store.recall("who swam?", since="2026-04-01")) == 1
    assert len(store.recall("who swam?", since="2026-04-01", known_at=before)) == 0


def test_a_fact_holds_from_the_first_day_on_which_it_was_stated(opener: Opener) -> None:
    store = opener()
    store.commit(RAN, t_ref=APRIL)
    store.commit(RAN, t_ref=MARCH)
    days = ("2026-03-01", "2026-03-03", "2026-05-01")
    for held in (
        [len(store.recall("who swam?", valid_at=day)) for day in days],
        [store.count(valid_at=day) for day in days],
        [len(store.list(valid_at=day)) for day in days],
    ):
        assert held == [0, 1, 1]


def test_a_fact_stated_behind_its_end_holds_again(opener: Opener) -> None:
    store = opener()
    known = store.commit(RAN, t_ref=MARCH, t_invalid="2026-03-20").memory_id

    def held() -> list[int]:
        days = ("2026-03-10", "2026-03-25", "2026-04-20", "2026-07-01")
        found = [len(store.recall("who swam?", valid_at=day)) for day in days]
        assert [store.count(valid_at=day) for day in days] == found
        return found

    assert held() == [1, 0, 0, 0]
    again = store.commit(RAN, t_ref=APRIL)
    assert (again.revives, again.superseded) == (known, (known,))
    assert held() == [1, 0, 1, 1]
    store.update(str(again.memory_id), t_invalid="2026-04-15")
    assert held() == [1, 0, 0, 0]


def test_the_end_of_a_replaced_fact_stands(opener: Opener) -> None:
    store = opener()
    old = store.commit(RAN, t_ref=MARCH).memory_id
    store.commit(RAN, t_ref=JUNE)
    store.commit("I gave up on swimming.", t_valid=APRIL, supersedes=[old])
    texts = {hit.content for hit in store.recall("who swam?", valid_at="2026-07-01")}
    assert texts == {"I gave up on swimming."}


def test_a_turn_at_its_place_was_stated_there_alone(opener: Opener) -> None:
    store = opener()
    for sequence, moment in enumerate((MARCH, APRIL, JUNE)):
        store.commit(RAN, session_id="pool", sequence=sequence, t_ref=moment)
    assert store.count() == 3
    assert store.count(since="2026-04-01") == 2
    assert store.count(until="2026-04-01") == 1
