"""Benchmarks whose corpus is a folder of documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vestig
from benchmarks.evaluate import evaluate
from benchmarks.reader import passages, quoted, read_benchmark
from vestig.errors import ValidationError
from vestig.testing import HashingEmbedder

HARBOUR = """---
title: Harbour rules
---
# Boats

Larch floats and is tarred
twice a year.

## Berths

{filler}

The berth of the ferry is closed on Mondays.
"""


def _folder(place: Path, *questions: dict[str, object]) -> Path:
    documents = place / "documents" / "north"
    documents.mkdir(parents=True)
    filler = "\n\n".join(f"Berth {n} has a bollard and a ladder of iron." for n in range(30))
    (documents / "harbour.md").write_text(HARBOUR.format(filler=filler))
    (documents.parent / "tar.txt").write_text("Tar is boiled from pine, twice a year.")
    lines = [json.dumps({"id": str(n), **one}) for n, one in enumerate(questions)]
    (place / "queries.jsonl").write_text("\n".join(lines))
    return place


def test_passages_are_units_and_a_quotation_names_them(tmp_path: Path) -> None:
    ferry = {
        "text": "when can I not cross?",
        "document": "north/harbour.md",
        "quote": "ferry is closed on Mondays",
    }
    wood = {"text": "which wood?", "document": "north/harbour.md", "quote": "tarred twice a year"}
    found = read_benchmark(_folder(tmp_path, ferry, wood))
    [units] = found.units.values()
    assert {unit.id.partition("#")[0] for unit in units} == {"north/harbour.md", "tar.txt"}
    assert not any("title: Harbour rules" in unit.text for unit in units)
    by_id = {unit.id: unit.text for unit in units}
    [[crossing], [first]] = [sorted(query.relevant) for query in found.queries]
    assert "closed on Mondays" in by_id[crossing]
    assert first == "north/harbour.md#1"


def test_only_markdown_has_front_matter_as_in_an_import(tmp_path: Path) -> None:
    text = "---\ntitle: Tar\n---\nTar is boiled from pine."
    for name in ("a.md", "b.rst"):
        (tmp_path / name).write_text(text)
    with vestig.open(":memory:", embedder=HashingEmbedder(8)) as store:
        store.import_(tmp_path)
        imported = {one.content for one in store.list()}
    assert {row["text"] for _, row in passages(tmp_path)} == imported
    assert len([one for one in imported if "title: Tar" in one]) == 1


def test_a_quotation_that_is_cut_is_where_more_of_it_stands() -> None:
    texts = [("a#1", "Larch floats and is"), ("a#2", "Boats\ntarred twice a year."), ("b#1", "x")]
    row = {"document": "a", "quote": "floats and is\n  tarred"}
    assert quoted(row, "", texts) == ["a#1"]
    assert quoted({**row, "quote": "is tarred twice a year"}, "", texts) == ["a#2"]


def test_it_is_measured_like_another_benchmark_and_its_passages_are_documents(
    tmp_path: Path,
) -> None:
    question = {"text": "boiled pine tar", "document": "tar.txt", "quote": "boiled from pine"}
    for world in ("harbour", "quay"):
        _folder(tmp_path / world, question)
    report = evaluate(tmp_path, profiles=["default"], embedder=HashingEmbedder(64))
    [benchmark] = report.benchmarks
    assert benchmark.queries == 2
    assert benchmark.rows[-1].metrics["recall@1"].mean == 1.0


def test_the_digest_is_that_of_documents_and_questions(tmp_path: Path) -> None:
    question = {"text": "tar?", "document": "tar.txt", "quote": "boiled from pine"}
    folder = _folder(tmp_path, question)
    before = read_benchmark(folder).digest
    (folder / "documents" / "more.md").write_text("Ropes are of hemp.")
    assert read_benchmark(folder).digest != before


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"document": "tar.txt", "quote": "boiled from beech"}, "stands in tar.txt"),
        ({"document": "none.txt", "quote": "boiled"}, "stands in none.txt"),
        ({"document": "tar.txt"}, "a document and a quote"),
        ({"quote": "boiled from pine"}, "a document and a quote"),
        ({"document": "tar.txt", "quote": " "}, "a document and a quote"),
    ],
)
def test_a_question_without_its_passage_is_refused(
    tmp_path: Path, question: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        read_benchmark(_folder(tmp_path, {"text": "tar?", **question}))


def test_a_document_that_is_no_text_is_refused(tmp_path: Path) -> None:
    question = {"text": "tar?", "document": "tar.txt", "quote": "boiled from pine"}
    folder = _folder(tmp_path, question)
    (folder / "documents" / "photo.md").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(ValidationError, match=r"photo\.md"):
        read_benchmark(folder)
