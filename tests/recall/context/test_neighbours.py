"""Which neighbours of a result carry its evidence."""

from __future__ import annotations

from typing import Any

from scan_rows import memory
from vestig.recall.context.neighbours import RankedTurn, Sessions, evidence_neighbours
from vestig.types import Memory


def talk(*turns: tuple[str | None, str], session: str | None = "s") -> list[Memory]:
    """One session; turn n has the id of sixteen bytes n."""
    return [
        memory(bytes([place] * 16), author=author, content=text, session_id=session, sequence=place)
        for place, (author, text) in enumerate(turns)
    ]


def chosen(
    turns: list[Memory], *found: int, signals: dict[int, dict[str, float]] | None = None
) -> dict[int, int]:
    """Place of the neighbour → place of its result."""
    places: dict[str, Any] = {one.id: (one.scope, one.session_id, one.sequence) for one in turns}
    sessions = Sessions(places)
    results = [
        RankedTurn(
            memory=turns[place],
            words=values.get("lexical", 0.0),
            words_beside={
                offset: values[f"neighbours.lexical.{offset:+d}"]
                for offset in (-1, 1)
                if f"neighbours.lexical.{offset:+d}" in values
            },
        )
        for place in found
        for values in ((signals or {}).get(place, {}),)
    ]
    by_id = {one.id: one for one in turns}
    at = {one.id: place for place, one in enumerate(turns)}
    return {at[id]: rank for id, rank in evidence_neighbours(results, sessions, by_id)}


def test_an_answer_follows_its_question() -> None:
    turns = talk(("Ann", "Hello"), ("Ann", "Where did you go?"), ("Ben", "Oslo"), ("Ann", "Nice"))
    assert chosen(turns, 1) == {2: 0}
    assert chosen(turns, 2) == {}
    assert chosen(turns, 0) == {}


def test_one_voice_answers_no_question_of_its_own() -> None:
    turns = talk(("Ann", "Where did you go?"), ("Ann", "I was in Oslo"), ("Ben", "So was I"))
    assert chosen(turns, 0) == {}
    assert chosen(talk((None, "Which port?"), (None, "5433")), 0) == {1: 0}


def test_a_turn_with_more_of_the_words_of_the_query_is_beside_its_result() -> None:
    turns = talk(("Ann", "the red pump"), ("Ben", "it failed"), ("Ann", "at night"))
    beneath = {1: {"lexical": 0.6, "neighbours.lexical.-1": 0.5, "neighbours.lexical.+1": 1.0}}
    assert chosen(turns, 1, signals=beneath) == {2: 0}
    assert chosen(turns, 1, signals={1: {"neighbours.lexical.-1": 0.5}}) == {0: 0}
    assert chosen(turns, 1, signals={1: {"lexical": 0.0, "neighbours.lexical.-1": 0.0}}) == {}


def test_a_question_stands_before_an_answer_without_its_words() -> None:
    turns = talk(("Ann", "When did the pump fail?"), ("Ben", "On Monday"), ("Ann", "Again?"))
    for share, expected in ((0.41, {0: 0}), (0.4, {}), (0.0, {})):
        trace = {1: {"lexical": 0.2, "neighbours.lexical.-1": share}}
        assert chosen(turns, 1, signals=trace) == expected
    # one voice answers nobody, and what is asked later explains nothing
    alone = talk(("Ann", "When did the pump fail?"), ("Ann", "On Monday"))
    assert chosen(alone, 1, signals={1: {"neighbours.lexical.-1": 1.0}}) == {}
    assert chosen(turns, 1, signals={1: {"neighbours.lexical.+1": 1.0}}) == {}


def test_results_are_no_neighbours_and_the_best_result_counts() -> None:
    turns = talk(("Ann", "Where to?"), ("Ben", "Oslo, and you?"), ("Ann", "Bergen"))
    assert chosen(turns, 0, 1) == {2: 1}
    assert chosen(turns, 1, 0) == {2: 0}
    assert chosen(turns, 0, 1, 2) == {}


def test_no_session_no_neighbours() -> None:
    assert chosen(talk(("Ann", "Where to?"), ("Ben", "Oslo"), session=None), 0) == {}


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
    assert sessions.around(["a", "b1"]) == ["b1", "b2", "a", "c"]
    assert [sessions.whole(id) for id in ("a", "b1", "c")] == [False, True, False]
