"""Retrieval measured on labelled folders, beside a single recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vestig
from benchmarks import tables
from benchmarks.evaluate import evaluate
from benchmarks.labelled_life import Bench
from vestig.errors import ValidationError
from vestig.testing import HashingEmbedder

TOPICS = ("lantern", "anchor", "barometer", "compass", "sextant", "rudder")


def units(conversation: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"u{number}",
            "text": f"{conversation} stored the {topic} in locker {number} of the harbor",
            "conversation": conversation,
            "speaker": "Ada",
            "turn": number,
        }
        for number, topic in enumerate(TOPICS)
    ]


def questions(conversation: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{conversation}{number}",
            "text": f"Where did {conversation} store the {topic} of the harbor?",
            "relevant": [f"u{number}"],
            "conversation": conversation,
        }
        for number, topic in enumerate(TOPICS[:3])
    ]


@pytest.fixture
def folder(bench: Bench) -> Path:
    names = ("Bergen", "Tromso")
    rows = [row for name in names for row in units(name)]
    return bench(rows, [row for name in names for row in questions(name)])


def measured(folder: Path, **options: Any) -> Any:
    report = evaluate(folder, retrieve=True, embedder=HashingEmbedder(), **options)
    assert report.benchmarks == ()
    (found,) = report.retrieval
    return found


def test_each_question_alone_and_after_turns_own_and_foreign(folder: Path) -> None:
    found = measured(folder)
    assert (found.questions, found.conversations, found.units_missing) == (6, 2, 0)
    assert [row.name for row in found.rows] == ["alone", "after 4 turns"]
    for row in found.rows:
        assert (row.own.retrievals, row.own.labelled) == (6, 6)
        assert (row.foreign.retrievals, row.foreign.labelled) == (6, 0)
        assert row.own.metrics["recall@5"].mean == row.recall["recall@5"].mean == 1
        assert row.against_recall["recall@10"].delta == 0
        assert set(row.foreign.labels) == {"low"}
        assert sum(row.own.stop_reasons.values()) == 6
        assert row.own.enough_queries == 1
    assert found.settings["retrieve.max_facts"] == 30


def test_turns_before_a_question_are_no_evidence_and_no_facts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, Any]] = []
    plain = vestig.Vestig.retrieve

    def recorded(self: Any, messages: Any, **fields: Any) -> Any:
        result = plain(self, messages, **fields)
        asked.append((messages, result))
        return result

    monkeypatch.setattr(vestig.Vestig, "retrieve", recorded)
    measured(folder)
    after = [pair for pair in asked if len(pair[0]) > 1]
    assert len(asked) == 24
    assert len(after) == 12
    for messages, result in after:
        *before, question = messages
        assert 2 <= len(before) <= 4
        texts = [message["content"] for message in before]
        assert not any(text in fact for text in texts for fact in result.facts)
        topic = next(word for word in TOPICS if word in question["content"])
        named = question["content"].split()[2]
        assert f"{named} stored the {topic}" not in " ".join(texts)
    again = len(asked)
    measured(folder)
    assert [pair[0] for pair in asked[again:]] == [pair[0] for pair in asked[:again]]


def test_a_sample_is_drawn_by_a_fixed_seed(folder: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    found = measured(folder, sample=2, progress=lambda done, of: calls.append((done, of)))
    assert found.questions == 2
    assert calls[-1][0] == calls[-1][1] == len(calls)
    assert [row.own for row in measured(folder, sample=99).rows]
    again = measured(folder, sample=2)
    for row, other in zip(found.rows, again.rows, strict=True):
        assert row.own.metrics == other.own.metrics


def test_one_conversation_has_no_foreign_questions(bench: Bench) -> None:
    found = measured(bench(units("Bergen"), questions("Bergen")))
    assert [row.foreign for row in found.rows] == [None, None]


@pytest.mark.parametrize(
    "fields",
    [
        {"gate": True},
        {"ablate": True},
        {"profiles": ["default"]},
        {"confidence": True},
        {"switches": [{"ranking.base": "cosine"}]},
        {"questions": True},
        {"peers": False},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_makes_rows_of_recall_is_refused(folder: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        evaluate(folder, retrieve=True, **fields)


def test_a_sample_goes_with_retrieval_and_is_a_count(folder: Path) -> None:
    with pytest.raises(ValidationError, match="sample"):
        evaluate(folder, sample=3)
    with pytest.raises(ValidationError, match="sample"):
        evaluate(folder, retrieve=True, sample=0)


def test_the_text_shows_every_row(folder: Path) -> None:
    report = evaluate(folder, retrieve=True, embedder=HashingEmbedder())
    text = tables.text(report)
    for words in ("retrieve, alone", "recall, after 4 turns", "alone, foreign", "R@30"):
        assert words in text
    assert report.retrieval[0].digest in text
