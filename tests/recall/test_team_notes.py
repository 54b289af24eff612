"""Notes of a team, written by hand before anything was run on them: they chose no weight."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.evaluate import evaluate

NOTES = Path(__file__).with_name("team_notes.json")


@pytest.mark.slow
def test_the_best_note_is_found_as_often_as_by_cosine_or_hybrid(tmp_path: Path) -> None:
    """With the built-in embedder; questions that no note answers have no place here."""
    given = json.loads(NOTES.read_text(encoding="utf-8"))
    corpus = [
        {"id": one["id"], "text": one["text"], "timestamp": one["t_valid"], "conversation": "team"}
        for one in given["notes"]
    ]
    queries = [{**one, "conversation": "team"} for one in given["questions"] if one.get("relevant")]
    assert (len(corpus), len(given["questions"])) == (60, 40)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    report = evaluate(tmp_path, profiles=["default"]).benchmarks[0]
    found = {row.name: row.metrics["hit@1"].mean or 0.0 for row in report.rows}
    assert found["default"] >= max(found["cosine"], found["hybrid"]), found
