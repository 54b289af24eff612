"""A cold command line over a thousand memories; how fast it is, `benches/` measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder

CALL = "import sys; from vestig.surfaces.cli import run; sys.exit(run(sys.argv[1:]))"


@pytest.mark.slow
def test_cold_process_recalls_from_a_thousand(tmp_path: Path) -> None:
    path = tmp_path / "store"
    texts = [f"Crate number {number} holds part {number * 7919 % 1000}" for number in range(1_000)]
    with vestig.open(path, embedder=HashingEmbedder(64)) as store:
        for outcome in store.commit_many(texts):
            assert isinstance(outcome, vestig.CommitOutcome)
            assert outcome.memory_id is not None
    config = tmp_path / "vestig.yaml"
    config.write_text(
        "embedding: {provider: hashing, dimension: 64}\n"
        f"store: {{path: {json.dumps(str(path))}}}\n",
        encoding="utf-8",
    )
    words = ["memory", "recall", texts[421], "--limit", "3", "--json", "--config", str(config)]
    answer = subprocess.run(
        [sys.executable, "-c", CALL, *words], check=True, capture_output=True, text=True
    )
    result = json.loads(answer.stdout)
    assert result["results"][0]["content"] == texts[421]
    assert len(result["results"]) == 3
    assert result["counts"]["eligible"] == result["counts"]["stored"] == 1_000
