"""`vestig eval`: rows, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_answers import Vestig

CORPUS = (
    "The red key opens the shed behind the greenhouse",
    "Tomatoes need watering every second evening",
    "The blue key opens the boat house",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Labelled questions beside what they are about."""
    folder = tmp_path / "garden"
    folder.mkdir()
    units = ({"id": str(n), "text": text} for n, text in enumerate(CORPUS))
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, units)), "utf-8")
    asked = (
        {"text": "which key opens the shed?", "relevant": ["0"], "category": "keys"},
        {"text": "watering of tomatoes?", "relevant": ["1"]},
        {"text": "who won the race?", "relevant": []},
    )
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    return folder


def test_rows_of_switches_stand_beside_the_configuration_in_effect(
    vestig: Vestig, folder: Path
) -> None:
    words = ("--switch", "judge.enabled=false ranking.newer_first=false")
    found = vestig("eval", str(folder), *words, "--switch", "recall.profile=baseline")
    assert found.code == 0
    assert "garden: 3 questions, 1 of them without an answer; 3 memories" in found.out
    for word in ("hit@1", "R@10", "MRR", "AUROC", "Against default"):
        assert word in found.out
    document = vestig("eval", str(folder), *words, "--json").document
    assert document["schema"] == "vestig/evaluation/1"
    default, changed = document["rows"]
    assert (default["name"], default["metrics"]["recall@5"]["mean"]) == ("default", 1.0)
    assert changed["name"] == "judge.enabled=false ranking.newer_first=false"
    assert changed["overrides"] == {"judge.enabled": False, "ranking.newer_first": False}
    assert set(changed["differences"]) == set(changed["metrics"])
    assert document["settings"]["recall.profile"] == "default"


def test_a_file_is_asked_of_the_store_in_use(vestig: Vestig, tmp_path: Path) -> None:
    id = vestig("memory", "add", CORPUS[0], "--json").document["memory_id"]
    asked = [
        {"text": "which key opens the shed?", "relevant": [id]},
        {"text": "where is the boat?", "relevant": ["note-7"]},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    seq = vestig("stats", "--json").document["seq"]
    found = vestig("eval", str(file))
    assert found.code == 0
    assert "warning: 1 labels name no memory: they cannot be found" in found.err
    (row,) = vestig("eval", str(file), "--json").document["rows"]
    assert [one["ranks"] for one in row["questions"]] == [{id: 1}, {"note-7": None}]
    assert vestig("stats", "--json").document["seq"] == seq


def test_a_folder_leaves_the_store_in_use_untouched(
    vestig: Vestig, folder: Path, tmp_path: Path, isolated: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert vestig("eval", str(folder)).code == 0
    # `tmp_path` holds the folder of the configured store, `isolated` that of the user
    assert sorted(tmp_path.rglob("*")) == before
    assert [path for path in isolated.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--switch", "ranking.base"),
        ("--switch", "ranking.nothing=1"),
        ("--switch", "recall.profile=nobody"),
        ("--switch", "hygiene.min_chars=3"),
        ("--switch", " "),
    ],
)
def test_wrong_switches_are_exit_2(vestig: Vestig, folder: Path, words: tuple[str, ...]) -> None:
    assert vestig("eval", str(folder), *words).code == 2


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "mine.jsonl:2: expected a JSON object"),
        ("[]", "expected a JSON object"),
        ('{"text": "where?"}', "mine.jsonl:2: relevant"),
        ('{"text": " ", "relevant": []}', "mine.jsonl:2: text"),
        ('{"text": "where?", "relevant": 3.5}', "mine.jsonl:2: relevant"),
        ('{"text": "where?", "relevant": [], "outdatd": []}', "outdated"),
        ('{"text": "where?", "relevant": [], "date": "someday"}', "mine.jsonl:2: date"),
        ('{"text": "where?", "relevant": [], "as_of": true}', "mine.jsonl:2: as_of"),
    ],
)
def test_a_line_that_is_no_question_is_named(
    vestig: Vestig, tmp_path: Path, line: str, named: str
) -> None:
    vestig("memory", "add", CORPUS[0])
    file = tmp_path / "mine.jsonl"
    file.write_text(f'{{"text": "which key?", "relevant": ["a"]}}\n{line}\n', "utf-8")
    found = vestig("eval", str(file))
    assert found.code == 2
    assert named in found.err


def test_nothing_to_ask_and_nothing_there(vestig: Vestig, folder: Path, tmp_path: Path) -> None:
    (folder / "queries.jsonl").write_text('{"text": "who?", "relevant": []}', "utf-8")
    found = vestig("eval", str(folder))
    assert (found.code, "at least one question" in found.err) == (2, True)
    (folder / "queries.jsonl").unlink()
    assert vestig("eval", str(folder)).code == 1
    assert vestig("eval", str(tmp_path / "nowhere")).code == 1
