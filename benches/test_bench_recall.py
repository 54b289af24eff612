"""Recall: query vector given by a scripted embedder, k = 10, texts of the results included.

Napkin: n × 384 bytes of the 8-bit pass at about 10 GB/s (0.04 ms at 1k … 4 ms at 100k when
all of it is float32), a few postings, one SQL read of ten rows (20 µs).
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from conftest import YARDSTICK_MS, World, report
from yardstick import yardstick_ms

BARS_MS = {1_000: 0.5, 10_000: 1.2, 100_000: 6.0}


@pytest.mark.parametrize("profile", ["default", "baseline"])
def test_recall(world: World, benchmark: Any, profile: str) -> None:
    with world.open(profile=profile) as store:
        questions = itertools.cycle(world.questions)
        for _ in range(5):
            assert len(store.recall(next(questions), limit=10).results) == 10
        benchmark.pedantic(
            lambda: store.recall(next(questions), limit=10), rounds=200, warmup_rounds=20
        )
    yardstick = yardstick_ms(world.size)
    bar = BARS_MS[world.size] * max(1.0, yardstick / YARDSTICK_MS[world.size])
    report(
        f"recall, {profile}, {world.size}",
        benchmark,
        yardstick=yardstick,
        bar=bar if profile == "default" else None,
        note=f"{world.size * 384 * 4 / 1e6:.1f} MB of float32 vectors",
    )
