"""Small benchmarks in folders of their own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from labelled_life import Bench

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
