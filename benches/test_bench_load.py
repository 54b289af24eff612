"""Load on a server, in short: clients that wait for each answer are served, what is accepted beyond
the capacity waits no longer than the queue lets it, the rest is told when to come again, and what
was acknowledged is there. `python benches/load.py` is the long form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from conftest import note_line
from load import described, filled, measured

SECONDS = {"small": 1.0}.get(os.environ.get("VESTIG_TEST_BENCH", ""), 10.0)
# of what is accepted within the capacity
RATE_BAR = 0.7


def test_load_beyond_the_capacity(benchmark: Any, tmp_path: Path) -> None:
    store = filled(tmp_path, 1_000)
    found = benchmark.pedantic(lambda: measured(store, SECONDS), rounds=1)
    assert found.found == 1.0, "every acknowledged commit is found"
    assert (found.crowd.refused, found.crowd.failed) == (0, 0)
    assert found.overloaded.refused > 0
    assert found.overloaded.without_retry_after == 0
    runs = (found.capacity, found.unloaded, found.overloaded)
    assert [run.failed for run in runs] == [0, 0, 0]
    slow, bar = found.overloaded.quantile_ms(0.99), found.wait_bar_ms
    note_line(
        f"{described(found)} · p99 bar {bar:.0f} ms {'met' if slow <= bar else 'MISSED'},"
        f" rate bar {RATE_BAR:.0%} {'met' if found.keeps_its_rate >= RATE_BAR else 'MISSED'}"
    )
