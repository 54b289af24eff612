"""Commits, one at a time and in batches, durable to power loss.

What the processor spends on a batch with vectors given, on an import of chats and on a commit with
the built-in embedder stands beside bars of its own.

Napkin: a single commit is one fsync (0.04–4 ms by load), about 0.15 ms of SQLite rows, and
the passes over the vectors. A batch pays the fsync once per 1,000.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from calls import committing
from chats import turns
from conftest import NO_PASSES, SIZES, World, fewer, fsync_ms, note_line, report, scripted, slowness
from generator import batches, records, vectors
from vestig.testing import FrozenClock

BAR_OVER_FSYNC_MS = {1_000: 2.0, 10_000: 2.0, 100_000: 5.0}
ROUNDS = 100
# Memories a second of the processor.
GIVEN_VECTORS_BAR = {1_000: 5_000, 10_000: 5_000, 100_000: 2_500}
GIVEN_BATCHES = fewer(5, 2)
IMPORT_BAR, IMPORTED = 180, fewer(1_200, 300)
KEYED_BAR, GET_BAR_MS = 1.1, 0.2
COMMIT_BAR_MS, PIECES, COMMITS = 6.0, range(36, 45), 40


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


def test_commit_of_the_values_of_one_key(world: World, tmp_path: Path) -> None:
    """Beside plain commits, one after the other, and reads of the current value."""
    path = Path(shutil.copytree(world.path, tmp_path / "store"))
    fresh = records(world.size + 4 * ROUNDS, seed=17)[world.size :]
    embedder = scripted(fresh, vectors(len(fresh), seed=19))
    spent: dict[str | None, list[float]] = {None: [], "one.key": []}
    with vestig.open(path, embedder=embedder, clock=FrozenClock()) as store:
        for number, record in enumerate(fresh):
            key = "one.key" if number % 2 else None
            start = time.process_time()
            store.commit(**committing(record), key=key)
            spent[key].append(time.process_time() - start)
        start = time.process_time()
        for _ in range(ROUNDS):
            store.get("one.key")
        read_ms = 1e3 * (time.process_time() - start) / ROUNDS
    plain, keyed = (1e3 * float(np.median(times)) for times in spent.values())
    verdict = "met" if keyed <= KEYED_BAR * plain and read_ms <= GET_BAR_MS else "MISSED"
    note_line(
        f"commit under one key at {world.size}: {keyed:.2f} ms of the processor, plain {plain:.2f}"
        f" · bar × {KEYED_BAR}; get {read_ms:.3f} ms · bar {GET_BAR_MS} {verdict}"
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


def test_batch_with_vectors_given(world: World, tmp_path: Path) -> None:
    """The whole pipeline in a store of this size; what the embedder of the bench takes is not
    counted."""
    path = Path(shutil.copytree(world.path, tmp_path / "store"))
    items = records(world.size + 1_000 * GIVEN_BATCHES, seed=5)[world.size :]
    embedder = scripted(items, vectors(len(items), seed=5))
    embedding = 0.0
    embed = embedder.embed

    def counted(texts: Sequence[str]) -> list[bytes]:
        nonlocal embedding
        start = time.process_time()
        made = embed(texts)
        embedding += time.process_time() - start
        return made

    embedder.embed = counted  # type: ignore[method-assign]
    spent: list[float] = []
    with vestig.open(path, embedder=embedder, clock=FrozenClock()) as store:
        for batch in batches(items):
            start, embedding = time.process_time(), 0.0
            store.commit_many(batch)
            spent.append((time.process_time() - start - embedding) / len(batch))
        assert store.count() == world.size + len(items)
    _rate(
        f"batch with vectors given at {world.size}",
        1 / float(np.median(spent)),
        GIVEN_VECTORS_BAR[world.size] / slowness(world.size, cpu=True),
        GIVEN_VECTORS_BAR[world.size],
    )


def test_import_and_commits_with_the_built_in_embedder(tmp_path: Path) -> None:
    chats = list(turns(IMPORTED + 4 * COMMITS, seed=11))
    keys = {"content", "author", "session_id", "sequence"}
    chosen = [{key: turn[key] for key in keys} for turn in chats[:IMPORTED]]
    file = io.BytesIO("\n".join(map(json.dumps, chosen)).encode())
    slow = slowness(1_000, cpu=True)
    with vestig.open(tmp_path / "store") as store:
        start = time.process_time()
        report = store.import_(file, format="messages")
        spent = time.process_time() - start
        assert report.imported + report.duplicates == IMPORTED
        _rate("import of chats, built-in", IMPORTED / spent, IMPORT_BAR / slow, IMPORT_BAR)
        embedder: Any = store._session.embedder
        took: list[tuple[float, float]] = []
        for turn in chats[IMPORTED:]:
            text = f"{turn['author']}: {turn['content']}"
            start = time.process_time()
            ((_, pieces),) = embedder.embed_codes([text])
            own = time.process_time() - start
            if len(pieces.ids) // 4 in PIECES:
                start = time.process_time()
                store.commit(turn["content"], author=turn["author"])
                took.append((time.process_time() - start, own))
        whole, own = (1e3 * float(np.median(times)) for times in zip(*took, strict=True))
        bar = COMMIT_BAR_MS * slow
        note_line(
            f"commit of {PIECES[0]} to {PIECES[-1]} word pieces, built-in: {whole:.2f} ms of the"
            f" processor, of it embedding {own:.2f} · bar {bar:.3g} (of {COMMIT_BAR_MS})"
            f" {'met' if whole <= bar else 'MISSED'} · {len(took)} commits"
        )
        assert took


def _rate(name: str, rate: float, bar: float, unscaled: float) -> None:
    verdict = "met" if rate >= bar else "MISSED"
    note_line(
        f"{name}: {rate:,.0f} a second of the processor · bar {bar:,.0f} (of {unscaled:,})"
        f" {verdict} · {1e6 / rate:.0f} µs each"
    )
