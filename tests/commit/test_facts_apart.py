"""The fact guard through `commit` and `recall`: texts at cosine 0.99 that differ in one fact."""

from __future__ import annotations

import pytest

from scripted import Opener, pair
from vestig.types import CommitOutcomeKind

APART = {
    "clock": ("The window opens at 14:00", "The window opens at 15:00", "times"),
    "direction": ("We will meet next Friday", "We will meet on Friday", "dates"),
    "capitals": ("The key is userId", "The key is userID", "entities"),
    "number": ("The service runs 3 replicas", "The service runs 4 replicas", "numbers"),
    "negation": (
        "The client supports retries",
        "The client does not support retries",
        "negation",
    ),
    "tense": ("The office is in Oslo", "The office was in Oslo", "negation"),
    "order": (
        "Ada Lovelace wrote to Charles Babbage",
        "Charles Babbage wrote to Ada Lovelace",
        "entities",
    ),
    "ticket": ("Look at ticket ABC-123", "Look at ticket ABC-124", "entities"),
    "word": ("Dana prefers dark roast", "Dana prefers light roast", "words"),
    "hedge": ("Dana leads the release", "Dana almost leads the release", "words"),
    "condition": ("Dana leads the release", "Dana leads the release if Sam agrees", "words"),
    "quantity": ("All tests pass today", "Some tests pass today", "numbers"),
}
ALIKE = {
    "thousands": ("There are 1,000 users", "There are 1000 users"),
    "asides": (
        "By the way, Dana is really leading the release.",
        "dana's leading the release",
    ),
}


@pytest.mark.parametrize("case", APART)
def test_facts_that_differ_are_two_memories(opener: Opener, case: str) -> None:
    first, second, differs = APART[case]
    for place, (one, other) in enumerate(((first, second), (second, first))):
        store = opener(f"store{place}", vectors=pair(0.99, one, other, "what is so?"))
        first_id = store.commit(one).memory_id
        outcome = store.commit(other)
        assert outcome.outcome is CommitOutcomeKind.INSERTED_NEW
        assert outcome.possible_update_of is not None
        assert outcome.possible_update_of.memory_id == first_id
        assert outcome.possible_update_of.score == pytest.approx(0.99)
        assert differs in outcome.possible_update_of.differs
        assert {hit.content for hit in store.recall("what is so?")} == {first, second}


@pytest.mark.parametrize("case", ALIKE)
def test_facts_that_agree_are_one_memory(opener: Opener, case: str) -> None:
    first, second = ALIKE[case]
    store = opener(vectors=pair(0.93, first, second))
    first_id = store.commit(first).memory_id
    outcome = store.commit(second)
    assert (outcome.outcome, outcome.memory_id) == (CommitOutcomeKind.NEAR_DUPE, first_id)
    assert store.count() == 1
