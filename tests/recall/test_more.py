"""How many more memories answer than were returned, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import vestig
from vestig.language.words import asks_for_all
from vestig.recall.layouts import render
from vestig.recall.request import BUDGET_DEFAULT
from vestig.testing import HashingEmbedder

QUESTION = "Which boats leak at the stern?"


BRANCHES = "List all branches of the bakery."


@pytest.fixture(scope="module")
def bakery() -> Iterator[vestig.Vestig]:
    """14 branches among 26 memories, with the built-in embedder, which tells them apart."""
    towns = "Aarhus Bergen Cork Dresden Essen Faro Genoa Hamar Izmir Jena Kiel Lodz Malmo Nantes"
    with vestig.open(":memory:") as opened:
        for at, town in enumerate(towns.split()):
            opened.commit(f"Our bakery opened a branch in {town} in {2000 + at}.", role="user")
        for at in range(12):
            opened.commit(f"The kiln number {at} was fired at {900 + at} degrees.", role="user")
        yield opened


@pytest.fixture(scope="module")
def store() -> Iterator[vestig.Vestig]:
    with vestig.open(":memory:", embedder=HashingEmbedder()) as opened:
        opened.commit_many([f"Boat number {at} leaks at the stern." for at in range(30)])
        opened.commit_many([f"The cook bought {at} apples for a pie." for at in range(30)])
        yield opened


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
    behind = store.recall(QUESTION, offset=60, all=True, context=True)
    assert (len(behind), behind.more, behind.nearest) == (0, 0, ())


def test_an_offset_behind_all_says_how_many_there_are(
    store: vestig.Vestig, bakery: vestig.Vestig
) -> None:
    said = "No memories here: the offset lies behind all {}."
    for behind in (
        store.recall(QUESTION, offset=60, all=True, context=True),
        *store.recall_many([QUESTION], offset=77, all=True, context=True),
    ):
        assert isinstance(behind, vestig.RecallResult)
        assert behind.before == behind.to_dict()["before"] == 60
        assert "offset behind all 60" in repr(behind)
        for format in ("text", "compact", "explain", "list"):
            assert render(behind, format) == said.format(60)
        assert behind.context is not None
        assert (behind.context.text, behind.context.note) == ("", said.format(60))
    # what the cut leaves out is before no offset
    assert bakery.recall(BRANCHES, offset=50).before == 14
    last = store.recall(QUESTION, offset=59, all=True)
    assert (len(last), last.before, "before" in last.to_dict()) == (1, 0, False)


@pytest.mark.parametrize("fields", [{}, {"all": True}, {"context": True}, {"silence": 0.9}])
@pytest.mark.parametrize("limit", [3, 5, 7, 12])
def test_the_last_page_alone_says_that_there_is_no_more(
    store: vestig.Vestig, bakery: vestig.Vestig, fields: dict[str, Any], limit: int
) -> None:
    for question in (QUESTION, "What leaks at the stern of a boat?"):
        _check_pages(store, question, limit, fields)
    for own in (BRANCHES, "Where is a branch of the bakery?", "bakery"):
        _check_pages(bakery, own, limit, fields)


def _check_pages(store: vestig.Vestig, question: str, limit: int, fields: dict[str, Any]) -> None:
    pages = list[vestig.RecallResult]()
    while not pages or len(pages[-1]):
        pages.append(store.recall(question, limit=limit, offset=limit * len(pages), **fields))
    held = [len(page) for page in pages]
    for at, page in enumerate(pages[:-1]):
        behind = sum(held[at + 1 :])
        assert bool(page.more) == bool(behind), at
        assert page.more == behind if page.more_is_exact else page.more < behind, at


def test_all_that_are_asked_for_are_counted_to_a_hundred(store: vestig.Vestig) -> None:
    found = store.recall(QUESTION, all=True)
    assert (len(found), found.more, found.more_is_exact) == (5, 55, True)
    other = store.recall("What leaks at the stern of a boat?", all=True)
    assert not other.more_is_exact


def _first_line(found: vestig.RecallResult) -> str:
    assert found.context is not None
    return found.context.text.split("\n")[0]


def test_a_question_for_all_gets_the_count_in_its_block(bakery: vestig.Vestig) -> None:
    found = bakery.recall(BRANCHES, context=True)
    assert (len(found), found.more, found.more_is_exact) == (5, 9, True)
    assert found.context is not None
    here = len(found.context.ids) + len(found.context.associated)
    assert f" Memories here: {here}; {14 - here} more may bear on it." in _first_line(found)
    assert found.context.tokens <= BUDGET_DEFAULT
    assert found.context.text.count("may bear on it") == 1
    again = bakery.commit(found.context.text)
    assert again.echoes
    assert again.seq is None
    one = bakery.recall("Where is a branch of the bakery?", context=True)
    assert one.more
    assert "bear on it" not in _first_line(one)
    # where nothing is cut, not all that ranks bears on it
    every = bakery.recall(BRANCHES, all=True, context=True)
    assert (every.more, "bear on it" in _first_line(every)) == (21, False)
    # what was on earlier pages is not counted
    second = bakery.recall(BRANCHES, offset=5, context=True)
    assert (second.more, "bear on it" in _first_line(second)) == (4, False)


def test_where_all_that_pass_are_in_the_block_others_may_answer(bakery: vestig.Vestig) -> None:
    whole = bakery.recall(BRANCHES, limit=20, context=True)
    assert " Memories here: 14; others may bear on it." in _first_line(whole)
    again = bakery.commit(whole.context.text if whole.context else "")
    assert (bool(again.echoes), again.seq) == (True, None)
    # a line that has no room is not here
    small = bakery.recall(BRANCHES, limit=20, context=True, budget=200)
    assert small.context is not None
    assert small.context.left_out
    here = len(small.context.ids)
    assert f" Memories here: {here}; {14 - here} more may bear on it." in _first_line(small)
    assert small.context.tokens <= 200
    # what the caller leaves out may be more of the same
    without = [one.id for one in whole[:4]]
    rest = bakery.recall(BRANCHES, where={"exclude_ids": without}, limit=20, context=True)
    assert " Memories here: 10; others may bear on it." in _first_line(rest)


def test_a_count_claims_nothing_of_what_was_left_out() -> None:
    promises = [
        "I promised Juno a trip to the aquarium when she has her swimming diploma.",
        "I promised Tess to send the contact sheet on Friday.",
        "Promised Elin to photograph her ceramics for free, sometime in spring.",
        "Promised Mika that he may hold the second camera at the wedding.",
    ]
    with vestig.open(":memory:") as store:
        store.commit_many([*promises, "Juno was born in 2019.", "Mika was born in 2016."])
        found = store.recall("Which promises have I made to the children?", context=True)
    assert 0 < len(found) < 4
    assert f" Memories here: {len(found)}; others may bear on it." in _first_line(found)


def test_what_a_block_shows_or_what_only_asks_is_no_more() -> None:
    towns = [
        "Hamburg",
        "Sevilla",
        "Bergen",
        "Poznan",
        "Lyon",
        "Cork",
        "Verona",
        "Oulu",
        "Jena",
        "Gent",
        "Turku",
        "Basel",
        "Leeds",
    ]
    with vestig.open(":memory:") as store:
        for at, town in enumerate(towns):
            session: dict[str, Any] = {"session_id": f"s{at // 3}", "scope": "project:fleet"}
            text = f"A customer in {town} runs {at + 5} trucks with our tracker."
            store.commit(text, role="user", sequence=2 * (at % 3), **session)
            store.commit("Noted.", role="assistant", sequence=2 * (at % 3) + 1, **session)
        store.commit("Which customers run our tracker?", role="user", session_id="q", sequence=0)
        found = store.recall("Which customers run trucks with our tracker?", context=True)
        assert found.context is not None
        shown = {*found.context.ids, *found.context.neighbours, *found.context.associated}
        stated = [one for one in store.list(limit=50) if "customer in" in one.content]
        here = sum(one.id in shown for one in stated)
        assert 5 < here < 13
        assert f" Memories here: {here}; {13 - here} more may bear on it." in _first_line(found)
        found = store.recall("Which customers run trucks with our tracker?", limit=13, context=True)
        assert " Memories here: 13; others may bear on it." in _first_line(found)


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
        ("Name every customer with vans.", True),
        ("In which towns did the bakery open?", True),
        ("count the branches", True),
        ("list all customers with vans", True),
        ("Can you please tell me how many branches there are?", True),
        ("Do you know which open tickets are blocked?", True),
        ("What towns does the bakery have?", True),
        ("Which people came?", True),
        ("Show me each of them", True),
        ("For how many customers do we run it?", True),
        ("In welchen Städten sind wir?", True),
        ("Dans quelles villes ?", True),
        ("In quali città?", True),
        ("Em quais cidades?", True),
        ("In welke steden?", True),
        ("Elenca i clienti", True),
        ("Combien d’huile ?", True),
        ("Where is the list of boats?", False),
        ("Which port does staging use?", False),
        ("Which Postgres version does production run?", False),
        ("Which Redis holds the queue?", False),
        ("Which bus goes there?", False),
        ("Which customer runs tankers?", False),
        ("Which customer has vans?", False),
        ("What was the port?", False),
        ("What leaks at the stern?", False),
        ("In which region is the bucket?", False),
        ("Show me the port", False),
        ("Name the host of staging", False),
        ("Can you restart it?", False),
        ("Please", False),
        ("for", False),
        ("What is the whichever rule?", False),
        ("Who came?", False),
        ("", False),
    ],
)
def test_which_questions_ask_for_all(query: str, expected: bool) -> None:
    assert asks_for_all(query) is expected


@pytest.fixture(scope="module")
def garden() -> Iterator[vestig.Vestig]:
    """60 plots, of which every third got another tenant under the same key."""
    with vestig.open(":memory:", embedder=HashingEmbedder()) as opened:
        for at in range(60):
            opened.commit(f"Plot {at} is rented by tenant {7 * at % 60}.", key=f"plot.{at}")
        for at in range(0, 60, 3):
            opened.commit(f"Family {at} took over the lease, and pays monthly.", key=f"plot.{at}")
        opened.commit_many([f"Who rents plot {at}?" for at in range(4)])
        yield opened


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 7, 10])
@pytest.mark.parametrize(
    "question", ["Who rents plot 12?", "List every plot that is rented.", "plot rented by tenant"]
)
def test_pages_of_any_size_hold_each_memory_once(
    garden: vestig.Vestig, question: str, limit: int
) -> None:
    shown = list[str]()
    while page := garden.recall(question, limit=limit, offset=len(shown), all=True):
        shown += [one.id for one in page]
    assert len(shown) == len(set(shown)) == len(garden)
    assert shown[:50] == [one.id for one in garden.recall(question, limit=50, all=True)]
