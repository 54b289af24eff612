"""`vestig eval`: formats, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_answers import Vestig

from vestig.config.merge import PROFILES
from vestig.config.weights import KINDS

UNITS = (
    "The red key opens the shed behind the greenhouse",
    "Tomatoes need watering every second evening",
    "The blue key opens the boat house",
)


def _write(folder: Path, units: list[str], queries: list[dict[str, Any]]) -> str:
    folder.mkdir()
    lines = [{"id": str(n), "text": text, "conversation": "c"} for n, text in enumerate(units)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), "utf-8")
    return str(folder)


def _asked(text: str, *relevant: int) -> dict[str, Any]:
    return {
        "id": text,
        "text": text,
        "relevant": [str(n) for n in relevant],
        "category": "all",
        "conversation": "c",
    }


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A benchmark that every row answers."""
    asked = [_asked("which key opens the shed?", 0), _asked("watering of tomatoes?", 1)]
    return _write(tmp_path / "garden", list(UNITS), asked)


def _eval(vestig: Vestig, *words: str) -> Any:
    return vestig("eval", *words, "--profile", "baseline,default")


def test_one_document_of_the_schema(vestig: Vestig, folder: str) -> None:
    for flag in (("--json",), ("--format", "json")):
        found = _eval(vestig, folder, *flag)
        assert found.code == 0
        document = found.document
        assert document["schema"] == "vestig/evaluation/1"
        (benchmark,) = document["benchmarks"]
        names = [row["name"] for row in benchmark["rows"]]
        assert names == ["cosine", "bm25", "hybrid", "baseline", "default"]
        assert benchmark["rows"][4]["metrics"]["recall@5"]["mean"] == 1.0
        assert benchmark["rows"][4]["settings"]["ranking.base"] == "linear"


def test_a_table_on_the_terminal_and_files_in_the_form_of_their_names(
    vestig: Vestig, folder: str, tmp_path: Path
) -> None:
    files = [str(tmp_path / f"report.{end}") for end in ("html", "md", "json", "txt")]
    words = [word for file in files for word in ("--output", file)]
    found = _eval(vestig, folder, *words)
    assert found.code == 0
    assert "R@10" in found.out
    html, markdown, document, text = (Path(file).read_text("utf-8") for file in files)
    assert html.startswith("<!doctype html>")
    assert markdown.startswith("# Evaluation")
    assert json.loads(document)["schema"] == "vestig/evaluation/1"
    assert text == found.out.removesuffix("\n")
    shown = _eval(vestig, folder, "--format", "markdown")
    assert shown.out.startswith("# Evaluation")


def test_the_store_in_use_is_not_touched_and_nothing_is_left(
    vestig: Vestig, folder: str, tmp_path: Path, isolated: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert _eval(vestig, folder).code == 0
    # `tmp_path` holds the folder of the configured store, `isolated` that of the user
    assert sorted(tmp_path.rglob("*")) == before
    assert [path for path in isolated.rglob("*") if path.is_file()] == []


def test_switches_ablations_and_categories(vestig: Vestig, folder: str) -> None:
    found = _eval(
        vestig,
        folder,
        "--json",
        "--no-peers",
        "--ablate",
        "--switch",
        "ranking.base=cosine ranking.tracerank_power=0.0",
        "--switch",
        "signals.late.enabled=false",
        "--leave-out",
        "other",
    )
    (benchmark,) = found.document["benchmarks"]
    names = [row["name"] for row in benchmark["rows"]]
    assert names[:2] == ["baseline", "default"]
    assert 'default ranking.base="cosine" ranking.tracerank_power=0.0' in names
    assert "default signals.late.enabled=false" in names
    assert "default without words" in names


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "nobody"),
        ("--switch", "ranking.base"),
        ("--switch", "ranking.nothing=1"),
        ("--switch", " "),
        ("--leave-out", "all"),
        ("--output", "no/such/folder/report.html"),
        ("--format", "yaml"),
    ],
)
def test_wrong_words_are_exit_2(vestig: Vestig, folder: str, words: tuple[str, ...]) -> None:
    assert vestig("eval", folder, *words).code == 2


def test_no_queries_and_unknown_labels_are_exit_2(vestig: Vestig, tmp_path: Path) -> None:
    empty = _write(tmp_path / "empty", list(UNITS), [])
    assert "nothing to ask" in vestig("eval", empty).err
    assert vestig("eval", empty).code == 2
    astray = _write(tmp_path / "astray", list(UNITS), [_asked("where?", 9)])
    assert vestig("eval", astray, "--json").problem["type"].endswith(":validation")
    assert vestig("eval", str(tmp_path / "nowhere")).code == 2


def test_the_gate_is_exit_1_when_default_is_worse(
    vestig: Vestig, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = _eval(vestig, folder, "--gate")
    assert passed.code == 0
    assert "Gate passed" in passed.out
    others = [f"Nothing of that kind, number {n}" for n in range(8)]
    crowd = _write(tmp_path / "crowd", [*UNITS, *others], [_asked("which key opens the shed?", 0)])
    upside_down = {
        "ranking.base": "linear",
        **{f"ranking.weights.{kind}.topic": -8.0 for kind in KINDS},
        **{f"ranking.weights.{kind}.words": -8.0 for kind in KINDS},
    }
    assert isinstance(PROFILES, dict)
    monkeypatch.setitem(PROFILES, "default", upside_down)
    failed = vestig("eval", crowd, "--gate", "--profile", "default")
    assert failed.code == 1
    assert "Gate failed: crowd: recall@5 of default is 0.00, of baseline 100.00" in failed.out
    assert _eval(vestig, crowd).code == 0
