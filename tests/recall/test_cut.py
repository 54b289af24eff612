"""`cut` keeps what comes near the best result."""

from __future__ import annotations

from typing import Any

import pytest

import vestig
from scripted import Opener
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.testing import HashingEmbedder

ASKED = "where does Maria live?"
TEXTS = (
    "Maria lives in Lisbon, near the river",
    "The invoice of March was paid late",
    "Bread is baked before six at the mill",
    "The ferry to Grey Island leaves at nine",
    "A brass gasket was ordered from the works",
)


@pytest.fixture
def store(opener: Opener) -> vestig.Vestig:
    made = opener(embedder=BuiltinEmbedder())
    for text in TEXTS:
        made.commit(text)
    return made


def test_a_list_is_whole_and_what_is_made_for_a_prompt_is_not(store: vestig.Vestig) -> None:
    every = store.recall(ASKED)
    assert (len(every), every.counts.cut) == (5, 0)
    least = 0.35 * every[0].score
    wanted = [hit.id for hit in every if hit.score >= least]
    assert 0 < len(wanted) < 5
    near = store.recall(ASKED, cut="auto")
    assert [hit.id for hit in near] == wanted
    assert (near.counts.cut, near.counts.returned) == (5 - len(wanted), len(wanted))
    block = store.recall(ASKED, context=True)
    assert [hit.id for hit in block] == wanted
    assert block.context is not None
    assert list(block.context.ids) == wanted
    assert len(store.recall(ASKED, context=True, cut=0)) == 5


def test_several_right_ones_stay_together(store: vestig.Vestig) -> None:
    prices = [
        store.commit(f"The Pro plan costs {price} EUR.", t_valid=f"2025-0{month}-01").memory_id
        for month, price in ((3, 29), (4, 34), (5, 39))
    ]
    every = store.recall("How much is the Pro plan?", limit=8)
    assert every[2].score < 0.75 * every[0].score
    found = store.recall("How much is the Pro plan?", limit=8, cut="auto")
    assert [hit.id for hit in found] == prices[::-1]


@pytest.mark.parametrize("question", ["What should I not cook for her?", "asdf jkl", "C++"])
def test_the_best_comes_however_unlikely_it_is(store: vestig.Vestig, question: str) -> None:
    every = store.recall(question)
    assert every[0].score < 0.1
    found = store.recall(question, context=True)
    assert found[0].id == every[0].id
    assert found.context is not None
    assert found[0].content in found.context.text


def test_a_number_is_the_least_score(store: vestig.Vestig) -> None:
    every = store.recall(ASKED)
    for place, hit in enumerate(every, 1):
        found = store.recall(ASKED, cut=hit.score)
        assert [one.id for one in found] == [one.id for one in every[:place]]
        assert [one.score for one in found] == [one.score for one in every[:place]]
        assert found.counts.cut == len(every) - place


def test_the_best_may_be_cut_too_and_the_line_says_so(store: vestig.Vestig) -> None:
    found = store.recall(ASKED, cut=1, context=True)
    assert len(found) == 0
    assert found.counts.cut == 5
    assert found.context is not None
    assert found.context.note.startswith("no score above 1 (best 0.")


@pytest.mark.parametrize("profile", ["reference", "baseline"])
def test_without_a_confidence_nothing_is_cut_by_itself(store: vestig.Vestig, profile: str) -> None:
    assert len(store.recall(ASKED, profile=profile, cut="auto")) == 5
    assert len(store.recall(ASKED, profile=profile, context=True)) == 5


@pytest.mark.parametrize(
    "question", ["where does Maria live?", "which ferry leaves at nine?", "who bakes bread?"]
)
def test_where_word_pieces_are_not_compared_nothing_is_cut_by_itself(
    opener: Opener, question: str
) -> None:
    """Their scores say which is better, and not how likely it is."""
    store = opener(embedder=HashingEmbedder())
    for text in TEXTS:
        store.commit(text)
    assert len(store.recall(question, cut="auto")) == 5
    block = store.recall(question, context=True)
    assert (len(block), block.counts.cut) == (5, 0)


def test_of_a_vector_alone_nothing_is_cut_by_itself(store: vestig.Vestig) -> None:
    (vector,) = BuiltinEmbedder().embed([ASKED])
    assert len(store.recall(query_vector=vector, cut="auto")) == 5


def test_why_not_names_it(store: vestig.Vestig) -> None:
    last = store.recall(ASKED)[4]
    found = store.recall(ASKED, cut="auto", expect=last.id)
    assert found.why_not is not None
    (entry,) = found.why_not
    assert entry.stage == "below_min_score"
    assert entry.change is not None
    assert (entry.change.kind, entry.change.key) == ("threshold", "cut")
    assert entry.change.after == last.score


@pytest.mark.parametrize("bad", [-0.1, 1.1, "much", True, "nan", [0.5]])
def test_what_is_no_cut_is_refused(store: vestig.Vestig, bad: Any) -> None:
    with pytest.raises(vestig.ValidationError, match="auto, or a number from 0 to 1"):
        store.recall(ASKED, cut=bad)


def test_what_a_newer_word_took_the_place_of_is_not_cut_for_it(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    store.commit("Nora works as a nurse at the clinic.", t_valid="2025-01-10")
    store.commit("Nora has the flu and stays at home.", t_valid="2025-08-10")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    found = store.recall("What is Nora's job?", cut="auto")
    assert "Nora works as a nurse at the clinic." in [hit.content for hit in found]


def test_a_newest_version_that_came_first_is_not_cut(opener: Opener) -> None:
    store = opener(embedder=BuiltinEmbedder())
    store.commit("The monthly rent of the workshop is 900 euros.", t_valid="2025-01-01")
    newest = store.commit("The monthly workshop rent is 980 euros by now.", t_valid="2025-08-01")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    question = "What is the monthly rent of the workshop in euros?"
    first, second = store.recall(question)[:2]
    assert (first.id, first.reason.newer_than) == (newest.memory_id, second.id)
    kept = [hit.id for hit in store.recall(question, cut="auto")]
    assert kept == [first.id, second.id]


@pytest.mark.parametrize(
    ("said", "later", "question"),
    [
        (
            "The printer in the hall is a Brother HL-2350.",
            "The printer in the hall was cleaned by Otto.",
            "Which model is the printer in the hall?",
        ),
        (
            "Ben's passport expires in March 2031.",
            "Ben left his passport at the hotel.",
            "When does Ben's passport expire?",
        ),
        (
            "The bike lock code is 4471.",
            "The bike lock was oiled.",
            "What is the code of the bike lock?",
        ),
    ],
)
def test_a_later_word_without_a_number_is_no_version_of_one_with_a_number(
    opener: Opener, said: str, later: str, question: str
) -> None:
    store = opener(embedder=BuiltinEmbedder())
    store.commit(said, t_valid="2025-01-10")
    store.commit(later, t_valid="2025-08-10")
    for text in TEXTS:
        store.commit(text, t_valid="2025-05-01")
    hit = store.recall(question)[0]
    assert (hit.content, hit.reason.older_than) == (said, None)
