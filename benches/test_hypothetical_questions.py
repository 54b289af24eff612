"""The questions of the scripted model keep their rules."""

from __future__ import annotations

import json

from benchmarks.reader import SHIPPED, read_benchmark
from hypothetical_questions import shared_runs, stored_questions
from vestig.commit.item import usable_questions


def test_every_memory_with_the_trigger_has_questions_and_no_other() -> None:
    lines = (SHIPPED / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    triggers = {row["id"]: row["trigger"] for row in map(json.loads, lines) if "trigger" in row}
    assert set(triggers) == set(stored_questions())
    assert set(triggers.values()) == {"problem-solution"}
    assert len(triggers) >= 40


def test_each_has_one_or_two_usable_questions() -> None:
    for unit, questions in stored_questions().items():
        assert 1 <= len(questions) <= 2, unit
        assert usable_questions(questions, 9) == tuple(questions), unit


def test_no_question_shares_four_words_with_a_query() -> None:
    queries = [query.text for query in read_benchmark(SHIPPED).queries]
    assert shared_runs(queries, stored_questions()) == {}
    assert shared_runs(["Why is the sky so blue?"], {"u": ["So, is the sky so dark?"]}) == {"u": 1}
