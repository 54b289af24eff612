"""Every memory finds itself: 1k and 10k with the built-in embedder, 100k with the hashing one.

    python benches/self_recall.py [1k 10k 100k]

The store is filled, its projection rebuilt, and a second process recalls. `baseline` must find
each memory first by `author: text` (100 %); `default` first by its bare text in at least
99.9 % and within three in 100 %. At 100k a sample of 10,000 memories is taken. Exit 1 when a bar
is missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import vestig
from benchmarks.run import CachedEmbedder
from generator import batches, embedded_text, records
from vestig.embedders.builtin import BuiltinEmbedder
from vestig.ports import Embedder
from vestig.testing import HashingEmbedder
from vestig.types import CommitOutcome

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
HASHING_FROM = 100_000
SAMPLE = 10_000
FIRST_SHARE_MIN = 0.999


def embedder_for(size: int) -> Embedder:
    """An embedder with a cache within the process: a batch of queries uses every processor, and its
    vectors equal those of single queries bit by bit."""
    return CachedEmbedder(HashingEmbedder() if size >= HASHING_FROM else BuiltinEmbedder())


def fill(path: Path, items: list[dict[str, Any]]) -> dict[str, str]:
    """Commits all, rebuilds; text → id."""
    ids: dict[str, str] = {}
    with vestig.open(path, embedder=embedder_for(len(items))) as store:
        for batch in batches(items):
            for item, outcome in zip(batch, store.commit_many(batch), strict=True):
                assert isinstance(outcome, CommitOutcome), outcome
                assert outcome.outcome == "INSERTED_NEW", outcome
                assert outcome.memory_id is not None
                ids[embedded_text(item)] = outcome.memory_id
        store.admin.rebuild()
        unknown = store.list(limit=100).memories
        assert all(memory.temporal_stability == "unknown" for memory in unknown)
    return ids


def place(store: Any, query: str, profile: str, wanted: str) -> int | None:
    """Rank of a memory from 1, None when not among three."""
    hits = store.recall(query, limit=3, all=True, profile=profile).results
    return next((rank for rank, hit in enumerate(hits, 1) if hit.id == wanted), None)


def shares_of(path: Path, size: int) -> dict[str, float]:
    """Run in the second process: shares over the sample."""
    ids = json.loads((path.parent / "ids.json").read_text())
    items = records(size)
    sample = items[:: max(1, size // SAMPLE)]
    baseline_first = default_first = default_three = 0
    embedder = embedder_for(size)
    embedder.embed([embedded_text(item) for item in sample])
    embedder.embed([item["content"] for item in sample])
    with vestig.open(path, embedder=embedder, read_only=True) as store:
        for item in sample:
            text = embedded_text(item)
            baseline_first += place(store, text, "baseline", ids[text]) == 1
            rank = place(store, item["content"], "default", ids[text])
            default_first += rank == 1
            default_three += rank is not None
    return {
        "queries": len(sample),
        "baseline first": baseline_first / len(sample),
        "default first": default_first / len(sample),
        "default within three": default_three / len(sample),
    }


def check(size: int) -> bool:
    """One size from filling to the verdict."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        (path.parent / "ids.json").write_text(json.dumps(fill(path, records(size))))
        filled = time.perf_counter() - start
        answer = subprocess.run(
            [sys.executable, __file__, "--second-process", str(path), str(size)],
            check=True,
            stdout=subprocess.PIPE,
        )
    shares = json.loads(answer.stdout)
    met: bool = (
        shares["baseline first"] == 1.0
        and shares["default first"] >= FIRST_SHARE_MIN
        and shares["default within three"] == 1.0
    )
    print(
        f"{size}: {shares['queries']} queries · baseline first {shares['baseline first']:.4%} ·"
        f" default first {shares['default first']:.4%}, within three"
        f" {shares['default within three']:.4%} · {'met' if met else 'MISSED'} ·"
        f" filled in {filled:.0f} s, all in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return met


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--second-process"]:
        print(json.dumps(shares_of(Path(arguments[1]), int(arguments[2]))))
        return 0
    unknown = [name for name in arguments if name not in SIZES]
    if unknown:
        print(f"sizes: {', '.join(SIZES)}", file=sys.stderr)
        return 2
    results = [check(SIZES[name]) for name in arguments or SIZES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
