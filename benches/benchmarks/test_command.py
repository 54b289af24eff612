"""`benches/evaluate.py`: words, text, JSON, exit status."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.labelled_life import Bench, module_of, queries, units
from vestig.config.merge import PROFILES
from vestig.config.signals import KINDS

SCRIPT = Path(__file__).resolve().parent.parent / "evaluate.py"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a configuration of its own in its place."""
    config = tmp_path / "vestig.yaml"
    config.write_text("embedding: {provider: hashing, dimension: 64}\n", encoding="utf-8")
    monkeypatch.setenv("VESTIG_CONFIG", str(config))
    return module_of(SCRIPT)


def test_recall_is_measured_by_rows(
    command: Any, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(bench(units(), queries()))
    words = [
        folder,
        "--profile",
        "baseline",
        "default",
        "--switch",
        "ranking.base=cosine",
        "--json",
    ]
    assert command.main([*words, "--leave-out", "other"]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in document["benchmarks"][0]["rows"]]
    assert names[:5] == ["cosine", "bm25", "hybrid", "baseline", "default"]
    assert 'default ranking.base="cosine"' in names
    assert command.main([folder, "--profile", "default", "--no-peers", "--ablate"]) == 0
    assert "default without words" in capsys.readouterr().out


def test_retrieval_and_the_firewall_are_measured(
    command: Any, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(bench(units(), queries()))
    assert command.main([folder, "--retrieve", "--sample", "2"]) == 0
    assert "retrieve, alone" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="gate"):
        command.main([folder, "--retrieve", "--gate"])
    assert command.main(["--firewall", "--seed", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["precision"] >= 0.95


def test_the_gate_is_exit_1_when_default_is_worse(
    command: Any,
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = str(bench(units(), queries()))
    assert command.main([folder, "--gate", "--no-peers"]) == 0
    assert "Gate passed" in capsys.readouterr().out
    upside_down = {
        "ranking.base": "linear",
        **{f"ranking.weights.{kind}.topic": -8.0 for kind in KINDS},
        **{f"ranking.weights.{kind}.words": -8.0 for kind in KINDS},
    }
    monkeypatch.setitem(PROFILES, "default", upside_down)  # type: ignore[arg-type]
    assert command.main([folder, "--gate", "--no-peers", "--profile", "default"]) == 1
    assert "Gate failed: small: recall@5 of default" in capsys.readouterr().out
