"""`vestig replay`: text, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from command_answers import Vestig


def requests(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "requests.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def line(text: str, **fields: object) -> str:
    return json.dumps({"messages": [{"content": text}], **fields})


def test_two_configurations_side_by_side(vestig: Vestig, tmp_path: Path) -> None:
    id = vestig("memory", "add", "The red key opens the shed", "--json").document["memory_id"]
    file = requests(tmp_path, line("Which key opens the shed?", relevant=[id]))
    new = tmp_path / "new.yaml"
    new.write_text(
        "embedding: {provider: hashing, dimension: 64}\nretrieve: {max_iterations: 1}\n",
        encoding="utf-8",
    )
    answer = vestig("replay", file, "--new", str(new), "--no-llm")
    assert answer.code == 0
    assert "old: the configuration in effect" in answer.out
    assert f"new: {new}" in answer.out
    for words in ("R@10", "New against old", "Stop reasons", "max_iterations", "expected high"):
        assert words in answer.out
    document = vestig("replay", file, "--new", str(new), "--json").document
    assert document["schema"] == "vestig/retrieval_replay/1"
    assert document["new"]["figures"]["stop_reasons"] == {"max_iterations": 1}
    assert document["new"]["settings"]["retrieve.max_iterations"] == 1
    assert document["old"]["settings"]["retrieve.max_iterations"] == 10


def test_a_missing_file_and_a_bad_line(vestig: Vestig, tmp_path: Path) -> None:
    vestig("memory", "add", "The red key opens the shed")
    gone = vestig("replay", str(tmp_path / "gone.jsonl"))
    assert gone.code == 1
    assert "gone.jsonl" in gone.err
    bad = vestig("replay", requests(tmp_path, line("a"), '{"messages": 5}'))
    assert bad.code == 2
    assert "requests.jsonl:2" in bad.err
    config = vestig("replay", requests(tmp_path, line("a")), "--old", str(tmp_path / "gone.yaml"))
    assert config.code == 2
