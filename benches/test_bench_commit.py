"""Commits, one at a time and in batches, durable to power loss.

Napkin: a single commit is one fsync (0.04–4 ms by load), about 0.15 ms of SQLite rows, and
the passes over the vectors. A batch pays the fsync once per 1,000.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from calls import committing
from conftest import NO_PASSES, SIZES, World, fsync_ms, note_line, report, scripted, slowness
from generator import batches, records, vectors
from vestig.testing import FrozenClock

BAR_OVER_FSYNC_MS = {1_000: 2.0, 10_000: 2.0, 100_000: 5.0}
ROUNDS = 100


def test_commit_one_at_a_time(world: World, benchmark: Any, tmp_path: Path) -> None:
    fresh = records(world.size + ROUNDS + 10, seed=7)[world.size :]
    extra = vectors(len(fresh), seed=9)
    embedder = scripted(fresh, extra)
    embedder.vectors.update(world.embedder.vectors)
    left = iter(fresh)
    with vestig.open(world.path, embedder=embedder, clock=FrozenClock()) as store:
        for _ in range(5):
            store.commit(**committing(next(left)))
        benchmark.pedantic(lambda: store.commit(**committing(next(left))), rounds=ROUNDS)
        for memory in store.list(limit=ROUNDS + 5).memories:
            store.deprecate(memory.id, reason="bench")
    sync, slow = fsync_ms(tmp_path), slowness(world.size)
    report(
        f"commit, whole pipeline, at {world.size}",
        benchmark,
        yardstick=sync,
        bar=sync + BAR_OVER_FSYNC_MS[world.size] * slow,
        note=f"yardstick: one fsync; the rest of the bar × {slow:.1f}",
    )


@pytest.mark.parametrize(
    ("name", "config", "group", "bar_per_s"),
    [
        ("duplicate check and RELATED off", NO_PASSES, None, 5_000),
        ("whole pipeline", {}, 12, 2_000),
    ],
)
def test_batch_from_empty(
    name: str, config: dict[str, Any], group: int | None, bar_per_s: int, tmp_path: Path
) -> None:
    size = min(10_000, max(SIZES))
    items = records(size, seed=3)
    embedder = scripted(items, vectors(size, seed=3, group=group))
    with vestig.open(
        tmp_path / "store", embedder=embedder, config=config, clock=FrozenClock()
    ) as store:
        start = time.perf_counter()
        for batch in batches(items):
            store.commit_many(batch)
        seconds = time.perf_counter() - start
        assert store.count() == size
    rate, bar = size / seconds, bar_per_s / slowness(size)
    verdict = "met" if rate >= bar else "MISSED"
    note_line(
        f"batch 0 → {size}, {name}: {rate:,.0f} memories/s · bar {bar:,.0f}"
        f" (of {bar_per_s:,}) {verdict} · {1e6 / rate:.0f} µs a memory"
    )
    assert np.isfinite(rate)
