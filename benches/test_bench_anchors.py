"""Anchors: a look at those of ten hits, of files as they were and of files that changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.memories.read import anchors_of
from vestig.testing import HashingEmbedder

HITS = 10
LINES = "".join(f"    value_{n} = compute({n}, 'harbour')\n" for n in range(600))


@pytest.mark.parametrize("kind", ["as it was", "moved", "changed"])
def test_ten_hits(benchmark: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    files = [tmp_path / "src" / "deep" / f"part{n}.py" for n in range(HITS)]
    with vestig.open(
        ":memory:", embedder=HashingEmbedder(32), config={"anchors.folder": str(tmp_path)}
    ) as store:
        ids = []
        for number, file in enumerate(files):
            file.write_text(LINES)
            os.utime(file, (1, 1))
            outcome = store.commit(f"Fact {number}", anchor=f"{file}:100-140", on_near_dup="insert")
            ids.append(str(outcome.memory_id))
            if kind != "as it was":
                changed = LINES.replace("compute(120,", "other(120,")
                file.write_text(changed if kind == "changed" else f"first\n{LINES}")
                os.utime(file, (2, 2))
        session = store._session
        with session.ledger.read() as view:
            found = benchmark(anchors_of, session, view, "default", ids)
    assert len(found) == HITS
