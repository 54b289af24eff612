"""Recall and commit in a store of chats: every default signal on, token vectors of 40 word pieces a
memory and 13 a query, `late.pool` 128, k = 10, texts of the results included.

Napkin, beside what recall of notes costs: words of sessions (three windows a memory), 15 terms a
memory, the best 128 compared by token vectors (13 × 120 × 64 products each: 13 million, 0.2 ms).
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from calls import committing
from chats import PIECES_OF_MEMORY, ChatEmbedder, fill, queries, turns
from conftest import (
    QUESTIONS,
    SIZES,
    YARDSTICK_MS,
    fsync_ms,
    median_ms,
    note_line,
    report,
    slowness,
)
from vestig.testing import FrozenClock
from yardstick import yardstick_ms

BARS_MS = {1_000: 0.5, 10_000: 1.2, 100_000: 6.0}
COMMIT_BAR_OVER_FSYNC_MS = 12.0
# 4 KB with late interaction, 2.5 KB without, of 1,024 bytes.
BYTES_BAR, BYTES_BAR_WITHOUT_LATE = 4_096, 2_560
ROUNDS = 100
STAGES = ("embed", "analyse", "score", "rank", "format")
# Sections that only late interaction needs.
LATE = "piece_"


@dataclass(frozen=True)
class Chats:
    """A filled store and its questions. `sections`: bytes of its projection by section."""

    path: Path
    size: int
    questions: list[str]
    embedder: ChatEmbedder
    sections: dict[str, int]
    entities: int

    def open(self, **options: Any) -> Any:
        """The store, opened again."""
        options.setdefault("clock", FrozenClock())
        return vestig.open(self.path, embedder=self.embedder, **options)


_STORES: dict[int, Chats] = {}


@pytest.fixture(scope="session", params=SIZES, ids=lambda size: f"{size // 1000}k")
def chats(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Chats:
    """A store of this size, filled by batches; one of each size in a session."""
    size: int = request.param
    if size not in _STORES:
        _STORES[size] = _filled(tmp_path_factory.mktemp("chats") / "store", size)
    return _STORES[size]


def _filled(path: Path, size: int) -> Chats:
    questions = queries(QUESTIONS)
    embedder = fill(path, size, questions)
    with vestig.open(path, embedder=embedder, read_only=True) as store:
        stats = store.admin.stats()
    sections = {name: n for name, n in stats.projection["bytes"].items() if name != "tail"}
    return Chats(path, size, questions, embedder, sections, stats.entities)


def test_recall_of_chats(chats: Chats, benchmark: Any) -> None:
    stages: dict[str, list[float]] = {name: [] for name in (*STAGES, "processor")}
    with chats.open() as store:
        questions = itertools.cycle(chats.questions)

        def once() -> None:
            start = time.process_time()
            took = store.recall(next(questions), limit=10).timings_ms
            stages["processor"].append(1_000 * (time.process_time() - start))
            for name in STAGES:
                stages[name].append(took[name])

        for _ in range(5):
            found = store.recall(next(questions), limit=10)
            signals = found.results[0].reason.signals
            assert len(found.results) == 10
            assert signals["late"].raw > 0
            assert signals["words"].weight != 0
        benchmark.pedantic(once, rounds=200, warmup_rounds=20)
    yardstick = yardstick_ms(chats.size)
    shares = ", ".join(f"{name} {float(np.median(took)):.2f}" for name, took in stages.items())
    report(
        f"recall of chats, default, {chats.size}",
        benchmark,
        yardstick=yardstick,
        bar=BARS_MS[chats.size] * max(1.0, yardstick / YARDSTICK_MS[chats.size]),
        note=f"medians in ms: {shares}",
    )


def test_commit_of_chats(chats: Chats, benchmark: Any, tmp_path: Path) -> None:
    fresh = turns(ROUNDS + 25, seed=7)
    left = iter(fresh)
    after: list[float] = []
    with chats.open() as store:
        questions = itertools.cycle(chats.questions)
        for _ in range(5):
            store.commit(**committing(next(left)))
        benchmark.pedantic(lambda: store.commit(**committing(next(left))), rounds=ROUNDS)
        for _ in range(20):
            store.commit(**committing(next(left)))
            start = time.perf_counter()
            store.recall(next(questions), limit=10)
            after.append(1_000 * (time.perf_counter() - start))
        for memory in store.list(limit=len(fresh)).memories:
            store.deprecate(memory.id, reason="bench")
    sync, slow = fsync_ms(tmp_path), slowness(chats.size)
    texts = itertools.cycle([f"{item['author']}: {item['content']}" for item in fresh])
    other = ChatEmbedder(chats.questions)
    embedder = median_ms(lambda: other.embed_tokens([next(texts)]))
    report(
        f"commit of a turn, whole pipeline, at {chats.size}",
        benchmark,
        yardstick=sync,
        bar=sync + embedder + COMMIT_BAR_OVER_FSYNC_MS * slow,
        note=f"yardstick: one fsync; embedder {embedder:.2f} ms; the rest of the bar × {slow:.1f};"
        f" the first recall after a commit {float(np.median(after)):.2f} ms",
    )


def test_bytes_of_chats(chats: Chats) -> None:
    late = sum(size for name, size in chats.sections.items() if name.startswith(LATE))
    rest = sum(chats.sections.values()) - late
    # an entity is a row with a vector too, and a small store has many for each memory
    rows = chats.size + chats.entities
    assert (late + rest) / chats.size <= BYTES_BAR
    assert rest / rows <= BYTES_BAR_WITHOUT_LATE
    note_line(
        f"projection, {chats.size} chats and {chats.entities} entities:"
        f" {(rest + late) / chats.size:,.0f} bytes a memory of {PIECES_OF_MEMORY} word pieces · bar"
        f" {BYTES_BAR:,}; {rest / chats.size:,.0f} without late interaction · bar"
        f" {BYTES_BAR_WITHOUT_LATE:,} ({rest / rows:,.0f} a row)"
    )
