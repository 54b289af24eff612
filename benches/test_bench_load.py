"""Load on a server, in short: what is accepted stays quick, the rest is told when to come again,
and what was acknowledged is there. `python benches/load.py` is the long form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from conftest import note_line
from load import described, filled, measured

SECONDS = {"small": 3.0}.get(os.environ.get("VESTIG_TEST_BENCH", ""), 10.0)
BAR = 3.0


def test_load_beyond_the_capacity(benchmark: Any, tmp_path: Path) -> None:
    store = filled(tmp_path, 1_000)
    found = benchmark.pedantic(lambda: measured(store, SECONDS), rounds=1)
    _, unloaded, overloaded, share = found
    assert share == 1.0, "every acknowledged commit is found"
    assert overloaded.refused > 0
    assert overloaded.without_retry_after == 0
    assert [run.failed for run in found[:3]] == [0, 0, 0]
    times = overloaded.quantile_ms(0.99) / unloaded.quantile_ms(0.99)
    note_line(described(*found) + f" · bar {BAR:g} × {'met' if times <= BAR else 'MISSED'}")
