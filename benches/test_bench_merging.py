"""The cost of a merge for recalls and commits that run meanwhile, in one process.

The merge makes one segment of all, again and again, in a thread as niceness makes it: nobody waits
for it. Napkin: it reads and writes the whole projection, so what it takes is a share of the
memory's and the disk's speed, and on one processor a share of that.
"""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vestig
from calls import committing
from conftest import NO_PASSES, World, fewer, note_line, scripted
from generator import records, vectors
from vestig.store.projection.background import lower_priority
from vestig.testing import FrozenClock

RECALL_BAR = 1.5
COMMIT_BAR = 3.0
ROUNDS = fewer(300, 60)


class Merging:
    """Merges all segments into one, over and over, while it is open."""

    def __init__(self, store: Any, fresh: Iterator[dict[str, Any]]) -> None:
        self._core = store._session.keeper.core
        self._store, self._fresh = store, fresh
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.merges, self.seconds = 0, 0.0

    def _work(self) -> None:
        lower_priority()
        while not self._over.is_set():
            self._store.commit(**committing(next(self._fresh)))
            self._core.publish(False)
            start = time.perf_counter()
            self.merges += self._core.merge(1) > 0
            self.seconds += time.perf_counter() - start

    def __enter__(self) -> Merging:
        self._begin = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.share = self.seconds / (time.perf_counter() - self._begin)


def times_ms(call: Callable[[], Any]) -> np.ndarray[Any, Any]:
    """Wall times of the rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return np.array(times)


def test_recall_and_commit_while_merging(world: World, tmp_path: Path) -> None:
    count = 4 * ROUNDS + 4_000
    fresh = records(count, seed=13)
    embedder = scripted(fresh, vectors(count, seed=13))
    embedder.vectors.update(world.embedder.vectors)
    shutil.copytree(world.path, tmp_path / "store")
    left = iter(fresh)
    config = NO_PASSES | {"entities": {"enabled": False}}
    with vestig.open(
        tmp_path / "store", embedder=embedder, config=config, clock=FrozenClock()
    ) as store:
        questions = itertools.cycle(world.questions)
        lines = []
        for name, call, share, bar in (
            ("recall p50", lambda: store.recall(next(questions), limit=10), 50, RECALL_BAR),
            ("commit p99", lambda: store.commit(**committing(next(left))), 99, COMMIT_BAR),
        ):
            times_ms(call)
            quiet = np.percentile(times_ms(call), share)
            with Merging(store, left) as merging:
                busy = np.percentile(times_ms(call), share)
            assert merging.merges > 0
            met = "met" if busy <= bar * quiet else "MISSED"
            lines.append(
                f"{name} while merging, {world.size}: {busy:.2f} ms, without {quiet:.2f} ms:"
                f" {busy / quiet:.2f} × · bar {bar} × {met} · {merging.merges} merges,"
                f" {merging.share:.0%} of the time"
            )
        for line in lines:
            note_line(line)
