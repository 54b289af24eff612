"""Recall with the query's vector given, k = 10: CPU medians beside numpy's scan of the same
vectors, in one process, in turns of a few calls each.

Napkin: n × 384 bytes of the 8-bit pass at about 10 GB/s (0.04 ms at 1k … 4 ms at 100k when
all of it is float32), a few postings, one SQL read of ten rows (20 µs).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conftest import World, fewer, note_line

# ms where numpy's scan takes so many
BARS_MS = {
    1_000: {"contents read": 0.30, "reasons read": 0.45},
    10_000: {"contents read": 0.90},
    100_000: {"contents read": 5.40},
}
NUMPY_MS = {1_000: 0.04, 10_000: 0.17, 100_000: 13.6}
TURNS = fewer(8, 3)
CALLS = fewer(16, 4)
# Queries of one call of `recall_many`.
TOGETHER = 32


def medians_ms(calls: dict[str, Callable[[int], Any]]) -> dict[str, float]:
    """CPU medians of calls that take turns; the first turn warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 1):
        for name, call in calls.items():
            for at in range(CALLS):
                started = time.thread_time_ns()
                call(turn * CALLS + at)
                if turn:
                    times[name].append((time.thread_time_ns() - started) / 1e6)
    return {name: float(np.median(own)) for name, own in times.items()}


@pytest.mark.parametrize("profile", ["default", "baseline"])
def test_recall(world: World, profile: str) -> None:
    vectors, questions = world.query_vectors, world.questions

    def scan(at: int) -> None:
        scores = world.matrix @ vectors[at % len(vectors)]
        best = np.argpartition(scores, -10)[-10:]
        best[np.argsort(-scores[best])]

    with world.open(profile=profile) as store:

        def found(at: int) -> Any:
            at %= len(questions)
            hits = store.recall(questions[at], query_vector=vectors[at], limit=10)
            assert sum(len(hit.content) > 0 for hit in hits) == 10
            return hits

        def explained(at: int) -> None:
            assert all(hit.reason.final_score == hit.final for hit in found(at))

        took = medians_ms({"numpy": scan, "contents read": found, "reasons read": explained})
    for name, bar_ms in BARS_MS[world.size].items():
        bar = bar_ms * max(1.0, took["numpy"] / NUMPY_MS[world.size])
        met = "met" if took[name] <= bar else "MISSED"
        verdict = f" · bar {bar:.3g} ms {met}" if profile == "default" else ""
        note_line(
            f"recall, {profile}, {world.size}, {name}: CPU median {took[name]:.3f} ms ·"
            f" {took[name] / took['numpy']:.1f} × numpy {took['numpy']:.3f} ms{verdict}"
        )


def test_recall_many(world: World) -> None:
    with world.open() as store:
        asked = list(itertools.islice(itertools.cycle(world.questions), TOGETHER))
        took = medians_ms(
            {
                "together": lambda _: store.recall_many(asked, limit=10),
                "alone": lambda _: [store.recall(query, limit=10) for query in asked],
            }
        )
    note_line(
        f"recall_many, {world.size}: {TOGETHER} queries {took['together']:.1f} ms CPU,"
        f" {took['alone'] / took['together']:.2f} × as fast as one by one"
    )
