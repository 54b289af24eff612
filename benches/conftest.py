"""Benches: one core, default durability, a yardstick of the same run beside every figure.

`VESTIG_TEST_BENCH` chooses the sizes: `small` (1k and fewer rounds; what CI runs), `full` (1k, 10k,
100k), else 1k and 10k. Figures are medians with the 99th percentile beside them; a bench never
fails for being slow. Bars were set where the yardstick N took 0.02, 0.17 and 4.5 ms at 1k, 10k and
100k memories; on a slower machine a bar is multiplied by N of this run ÷ that N (`slowness`): a
duration above its floor grows by it, a rate shrinks by it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vestig
from generator import batches, embedded_text, questions, records, vectors
from vestig.testing import FrozenClock, ScriptedEmbedder
from yardstick import yardstick_ms

SIZES = {"small": (1_000,), "full": (1_000, 10_000, 100_000)}.get(
    os.environ.get("VESTIG_TEST_BENCH", ""), (1_000, 10_000)
)
SMALL = os.environ.get("VESTIG_TEST_BENCH") == "small"
YARDSTICK_MS = {1_000: 0.02, 10_000: 0.17, 100_000: 4.5}
DIMENSIONS = 384
QUESTIONS = 64
NO_PASSES = {
    "hygiene": {"near_duplicate": {"enabled": False}},
    "links": {"related": {"enabled": False}},
}
_LINES: list[str] = []


@dataclass(frozen=True)
class World:
    """A filled store, its records, and questions with their vectors."""

    path: Path
    size: int
    records: list[dict[str, Any]]
    questions: list[str]
    matrix: NDArray[np.float32]
    query_vectors: NDArray[np.float32]
    embedder: ScriptedEmbedder

    def open(self, **options: Any) -> Any:
        """The store, opened again."""
        return vestig.open(
            self.path, embedder=self.embedder, config=NO_PASSES, clock=FrozenClock(), **options
        )


_WORLDS: dict[int, World] = {}


class Scripted(ScriptedEmbedder):
    """A `ScriptedEmbedder` that gives texts without a script, such as names in texts, a random
    vector seeded by the text."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector per text."""
        for text in texts:
            if text not in self.vectors:
                seed = hashlib.blake2b(text.encode(), digest_size=8).digest()
                rng = np.random.default_rng(int.from_bytes(seed, "little"))
                made = rng.standard_normal(self.dimensions, dtype=np.float32)
                self.vectors[text] = (made / np.linalg.norm(made)).astype("<f4").tobytes()
        return super().embed(texts)


def scripted(
    items: list[dict[str, Any]], matrix: NDArray[np.float32], queries: list[str] | None = None
) -> ScriptedEmbedder:
    """Precomputed vectors for records and, from another seed, for questions."""
    script = {embedded_text(item): matrix[row].tobytes() for row, item in enumerate(items)}
    for text, vector in zip(queries or [], vectors(QUESTIONS, seed=1), strict=False):
        script[text] = vector.tobytes()
    return Scripted(script)


@pytest.fixture(scope="session", params=SIZES, ids=lambda size: f"{size // 1000}k")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A store of this size, filled by batches; one of each size in a session."""
    size: int = request.param
    if size in _WORLDS:
        return _WORLDS[size]
    items, queries = records(size), questions(QUESTIONS)
    matrix = vectors(size)
    embedder = scripted(items, matrix, queries)
    made = World(
        tmp_path_factory.mktemp("world") / "store",
        size,
        items,
        queries,
        matrix,
        vectors(QUESTIONS, seed=1),
        embedder,
    )
    with made.open() as store:
        for batch in batches(items):
            store.commit_many(batch)
        assert store.count() == size
    _WORLDS[size] = made
    return made


def fewer(count: int, small: int) -> int:
    """`count`, or `small` where sizes are small."""
    return small if SMALL else count


def median_ms(call: Callable[[], Any], rounds: int = 60, warm: int = 5) -> float:
    """Median wall time of a call."""
    for _ in range(warm):
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))


def fsync_ms(folder: Path) -> float:
    """Median of appending 4 KiB and syncing it."""
    with (folder / "probe").open("ab") as probe:

        def once() -> None:
            probe.write(b"x" * 4096)
            probe.flush()
            os.fsync(probe.fileno())

        return median_ms(once, rounds=50)


def slowness(size: int, *, cpu: bool = False) -> float:
    """The factor of a bar in this run: N measured now over the N of the bars, at least 1. `cpu`:
    for bars on time of the processor."""
    return max(1.0, yardstick_ms(size, cpu=cpu) / YARDSTICK_MS[size])


def report(name: str, benchmark: Any, *, yardstick: float, bar: float | None, note: str) -> None:
    """A line of the summary. `yardstick` and `bar` in ms; bar already scaled."""
    stats = benchmark.stats.stats
    median = 1000 * stats.median
    p99 = 1000 * float(np.percentile(stats.sorted_data, 99))
    benchmark.extra_info.update(yardstick_ms=yardstick, ratio=median / yardstick, bar_ms=bar)
    verdict = "" if bar is None else f" · bar {bar:.3g} ms {'met' if median <= bar else 'MISSED'}"
    _LINES.append(
        f"{name}: median {median:.3f} ms, p99 {p99:.3f} ms ·"
        f" {median / yardstick:.2f} × yardstick {yardstick:.3f} ms{verdict} · {note}"
    )


def note_line(line: str) -> None:
    """A free line of the summary."""
    _LINES.append(line)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The figures, after the table of pytest-benchmark."""
    if _LINES:
        terminalreporter.section("figures beside their yardsticks")
        for line in sorted(_LINES):
            terminalreporter.write_line(line)
