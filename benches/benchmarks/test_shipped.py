"""The shipped benchmark is whole: fields, ids, evidence, categories, wording."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from itertools import pairwise

import pytest

from benchmarks.reader import SHIPPED
from vestig.language.words import STOPWORDS, terms

MEMORY_FIELDS = ["id", "text", "timestamp", "session", "speaker", "conversation", "turn"]
QUERY_FIELDS = ["id", "text", "date", "relevant", "category", "answer", "conversation"]
CATEGORIES = {
    "aggregate",
    "changed_preference",
    "multi_hop",
    "near_duplicate",
    "paraphrase",
    "people",
    "problem_fix",
    "single_fact",
    "temporal",
}


def rows(name: str) -> list[dict[str, object]]:
    lines = (SHIPPED / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def memories() -> list[dict[str, object]]:
    return rows("corpus.jsonl")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, object]]:
    return rows("queries.jsonl")


def content_terms(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {term for word in words if word not in STOPWORDS for term in terms(word)}


def test_fields_and_types(memories, queries):
    for row in memories:
        assert [name for name in row if name != "trigger"] == MEMORY_FIELDS
        assert row.get("trigger") in (None, "problem-solution")
        assert isinstance(row["turn"], int)
        assert row["speaker"] is None or isinstance(row["speaker"], str)
        strings = set(MEMORY_FIELDS) - {"turn", "speaker"}
        assert all(isinstance(row[name], str) and row[name] for name in strings)
        datetime.fromisoformat(row["timestamp"])
    for row in queries:
        assert list(row) == QUERY_FIELDS
        strings = set(QUERY_FIELDS) - {"date", "relevant"}
        assert all(isinstance(row[name], str) and row[name] for name in strings)
        assert row["date"] is None or datetime.fromisoformat(row["date"])


def test_the_shipped_benchmark_has_enough_units_and_questions(memories, queries):
    assert len(memories) >= 300
    assert len(queries) >= 150
    assert min(Counter(row["conversation"] for row in memories).values()) >= 110


def test_every_category_is_there_with_enough_questions(queries):
    counts = Counter(row["category"] for row in queries)
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 15


def test_ids_and_texts_are_unique(memories, queries):
    for table in (memories, queries):
        assert len({row["id"] for row in table}) == len(table)
        assert len({row["text"].casefold() for row in table}) == len(table)
    texts = {row["text"].casefold() for row in queries}
    assert not texts & {row["text"].casefold() for row in memories}


def test_evidence_is_in_the_questions_own_conversation(memories, queries):
    home = {row["id"]: row["conversation"] for row in memories}
    for row in queries:
        assert row["relevant"]
        assert len(set(row["relevant"])) == len(row["relevant"])
        assert {home[name] for name in row["relevant"]} == {row["conversation"]}


def test_number_of_evidence_fits_the_category(queries):
    spans = {"multi_hop": (2, 3), "aggregate": (2, 6)}
    for row in queries:
        low, high = spans.get(row["category"], (1, 3))
        assert low <= len(row["relevant"]) <= high, row["id"]


def test_paraphrases_share_no_content_word_with_their_evidence(memories, queries):
    spoken = {row["id"]: f"{row['speaker'] or ''} {row['text']}" for row in memories}
    for row in queries:
        if row["category"] == "paraphrase":
            for name in row["relevant"]:
                assert not content_terms(row["text"]) & content_terms(spoken[name]), row["id"]


def test_time_runs_forward(memories):
    """Inside a session and from session to session; no question is asked before the last memory."""
    for before, after in pairwise(memories):
        if before["conversation"] == after["conversation"]:
            assert before["timestamp"] < after["timestamp"]
        if before["session"] == after["session"]:
            assert after["turn"] == before["turn"] + 1
        else:
            assert after["turn"] == 0
    assert all(row["timestamp"].startswith("2026-") for row in memories)


def test_questions_are_dated_after_all_memories(memories, queries):
    last = max(row["timestamp"] for row in memories)
    assert all(row["date"] is None or row["date"] > last for row in queries)


def test_the_readme_counts_what_is_there(memories, queries):
    text = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert text.count(f"{len(memories)} memories and {len(queries)} questions") == 1
    table = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    assert {name: int(count) for name, count in table.items()} == Counter(
        row["category"] for row in queries
    )
    sizes = re.findall(r"^\| `(\w+)` \| .+ \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    kept = Counter(row["conversation"] for row in memories)
    counts = Counter(row["conversation"] for row in queries)
    assert {(name, int(m), int(q)) for name, m, q in sizes} == {
        (name, kept[name], counts[name]) for name in kept
    }
