"""Small benchmarks in folders of their own."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.labelled_life import Bench

Rows = Sequence[dict[str, Any]]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Writes a benchmark and returns its folder."""

    def write(units: Rows, queries: Rows, *, name: str = "small", packed: bool = False) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for stem, rows in (("corpus", units), ("queries", queries)):
            raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
            if packed:
                (folder / f"{stem}.jsonl.gz").write_bytes(gzip.compress(raw))
            else:
                (folder / f"{stem}.jsonl").write_bytes(raw)
        return folder

    return write


@pytest.fixture(scope="session")
def labelled_data() -> Path:
    """The folder of labelled data sets, from `VESTIG_TEST_DATA`; skips when absent."""
    folder = Path(os.environ.get("VESTIG_TEST_DATA", "absent"))
    if not folder.is_dir():
        pytest.skip("VESTIG_TEST_DATA names no folder of labelled data sets")
    return folder
