"""A small store behind the command line, with an embedder that needs no model."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_answers import FACTS, Vestig

from command_lines import Answer
from vestig.surfaces.cli import run


@pytest.fixture
def vestig(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Vestig:
    """Runs one command line on the store of this test."""
    config = tmp_path / "vestig.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\nstore: {path: store}\n",
        encoding="utf-8",
    )

    def command(*words: str) -> Answer:
        capfd.readouterr()
        code = run([*words, "--config", str(config)])
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return command


@pytest.fixture
def ids(vestig: Vestig) -> list[str]:
    """Ids of `FACTS`, stored."""
    return [vestig("memory", "add", text, "--json").document["memory_id"] for text in FACTS]
