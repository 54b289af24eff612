"""`vestig replay` and `vestig eval --retrieve`: text, JSON, exit codes."""

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


def test_retrieve_on_a_labelled_folder(vestig: Vestig, tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    units = ({"id": f"u{n}", "text": f"The key {n} opens door {n}", "turn": n} for n in range(6))
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, units)))
    asked = {"id": "q", "text": "Which door does key 3 open?", "relevant": ["u3"]}
    (folder / "queries.jsonl").write_text(json.dumps(asked))
    answer = vestig("eval", "--retrieve", str(folder), "--json")
    assert answer.code == 0
    document = answer.document
    assert document["benchmarks"] == []
    (found,) = document["retrieval"]
    assert [row["name"] for row in found["rows"]] == ["alone", "after 4 turns"]
    assert found["rows"][0]["own"]["metrics"]["recall@10"]["mean"] == 1.0
    refused = vestig("eval", "--retrieve", str(folder), "--gate")
    assert refused.code == 2
    assert "gate" in refused.err
