"""Retrieval without a model, beside embedding: the whole request over notes, vectors given by a
scripted embedder. One batch of the embedder for each round.

Napkin: three rounds of 13, 12 and 12 queries, each as dear as one of many recalls at one state;
those that found the best facts once more, for turns.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from conftest import World, note_line, slowness

BARS_MS = {1_000: 25.0, 10_000: 50.0, 100_000: 300.0}
ROUNDS = 20
# Tokens for every fact.
WHOLE = 100_000


class _Timed:
    """An embedder whose time is taken."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.spent_s = 0.0
        self.batches = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """As the embedder behind it."""
        started = time.perf_counter()
        found: list[bytes] = self.inner.embed(texts)
        self.spent_s += time.perf_counter() - started
        self.batches += 1
        return found


def test_retrieve(world: World) -> None:
    with world.open() as store:
        timed = store._session.embedder = _Timed(store._session.embedder)
        questions = itertools.cycle(world.questions)
        times, rounds = [], []
        for number in range(ROUNDS + 3):
            timed.spent_s, timed.batches = 0.0, 0
            talk = [{"content": next(questions)} for _ in range(4)]
            started = time.perf_counter()
            found = store.retrieve(talk, budget=WHOLE)
            spent_ms = 1e3 * (time.perf_counter() - started - timed.spent_s)
            made = found.metadata
            assert made.facts_returned == min(30, world.size)
            assert timed.batches == made.iterations_used
            if number >= 3:
                times.append(spent_ms)
                rounds.append(made.iterations_used)
    median, p95 = float(np.median(times)), float(np.percentile(times, 95))
    bar = BARS_MS[world.size] * slowness(world.size)
    note_line(
        f"retrieve, {world.size}: {median:.1f} ms (p95 {p95:.1f}) beside embedding,"
        f" {np.mean(rounds):.1f} rounds · bar {bar:.3g} ms {'met' if p95 <= bar else 'MISSED'}"
    )
