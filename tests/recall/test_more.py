"""How many more memories answer than were returned, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import vestig
from vestig.language.words import asks_for_all
from vestig.recall.request import BUDGET_DEFAULT
from vestig.testing import HashingEmbedder

QUESTION = "Which boats leak at the stern?"


@pytest.fixture(scope="module")
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as opened:
        opened.commit_many([f"Boat number {at} leaks at the stern." for at in range(30)])
        opened.commit_many([f"The cook bought {at} apples for a pie." for at in range(30)])
        yield opened


def test_more_is_exact_or_a_lower_bound(store: vestig.Vestig) -> None:
    for limit in (1, 5, 9, 20, 29, 60, 70):
        found = store.recall(QUESTION, limit=limit)
        whole = store.recall(QUESTION, limit=60, all=True)
        best = whole[0].score
        passing = sum(one.score >= 0.2 * best for one in whole)
        if found.more_is_exact:
            assert len(found) + found.more == max(passing, len(found)), limit
        else:
            assert len(found) + found.more <= passing, limit


def test_the_whole_store_is_counted_exactly(store: vestig.Vestig) -> None:
    found = store.recall(QUESTION, limit=60, all=True)
    assert (len(found), found.more, found.more_is_exact) == (60, 0, True)
    assert "more" not in found.to_dict()
    few = store.recall(QUESTION, limit=5, all=True)
    assert few.more == few.to_dict()["more"] > 0
    assert "more" in repr(few)


def test_pages_are_the_whole(store: vestig.Vestig) -> None:
    whole = [one.id for one in store.recall(QUESTION, limit=60, all=True)]
    pages = [
        one.id
        for offset in range(0, 80, 7)
        for one in store.recall(QUESTION, limit=7, offset=offset, all=True)
    ]
    assert pages == whole
    behind = store.recall(QUESTION, offset=60, all=True)
    assert (len(behind), behind.more, behind.nearest) == (0, 0, ())


def test_a_question_for_all_gets_the_count_in_its_block(store: vestig.Vestig) -> None:
    found = store.recall(QUESTION, all=True, context=True)
    assert found.context is not None
    assert found.more
    least = "" if found.more_is_exact else "at least "
    assert f" 5 are here, {least}{found.more} more bear on it." in found.context.text.split("\n")[0]
    assert found.context.tokens <= BUDGET_DEFAULT
    assert found.context.text.count("more bear on it") == 1
    again = store.commit(found.context.text)
    assert again.echoes
    assert again.seq is None
    one = store.recall("What leaks at the stern of a boat?", all=True, context=True)
    assert one.context is not None
    assert one.more
    assert "bear on it" not in one.context.text
    whole = store.recall(QUESTION, limit=60, all=True, context=True, budget=9_000)
    assert whole.context is not None
    assert "bear on it" not in whole.context.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How many people came?", True),
        ("Which of them rang?", True),
        ("List all the boats", True),
        ("Wie viele Boote gibt es?", True),
        ("\u00bfCu\u00e1ntos barcos hay?", True),
        ("Combien de bateaux y a-t-il ?", True),
        ("Hoeveel boten zijn er?", True),
        ("Where is the list of boats?", False),
        ("What is the whichever rule?", False),
        ("Who came?", False),
        ("", False),
    ],
)
def test_which_questions_ask_for_all(query: str, expected: bool) -> None:
    assert asks_for_all(query) is expected
