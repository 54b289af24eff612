"""Memory that a process allocates for an open store, beyond the page cache.

Napkin: mapped sections belong to the page cache; allocated are the tail (at most 2,048 rows of
2.3 KB), the order of ids (4 bytes a row) and masks (a bit a row): a few MB at 100,000.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import World, note_line

# Anonymous memory of a process that has recalled, without and with the store.
MEASURED = """
import sys, vestig
class Named:
    model, dimensions, fingerprint = sys.argv[2], int(sys.argv[3]), sys.argv[4]
    def embed(self, texts): raise AssertionError
    def truncated(self, text): return False
def anonymous():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:"))
vector = open(sys.argv[5], "rb").read()
with vestig.open(":memory:", embedder=Named()) as empty:
    empty.recall("warm", query_vector=vector)
    before = anonymous()
with vestig.open(sys.argv[1], embedder=Named(), read_only=True) as store:
    for word in ("kettle", "harbour", "label", "crane"):
        assert store.recall(word, query_vector=vector, limit=10).results
    print(anonymous() - before)
"""
BAR_MB_PER_100K = 150.0


def test_memory_of_an_open_store(world: World, benchmark: Any, tmp_path: Path) -> None:
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("no /proc/self/smaps_rollup on this system")
    vector = tmp_path / "vector"
    vector.write_bytes(world.query_vectors[0].tobytes())
    named = world.embedder
    arguments = [str(world.path), named.model, str(named.dimensions), named.fingerprint]

    def anonymous_kib() -> int:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments, str(vector)],
            check=True,
            capture_output=True,
            text=True,
        )
        return int(done.stdout)

    kib = benchmark.pedantic(anonymous_kib, rounds=1)
    mb = kib * 1024 / 1e6
    share = mb * 100_000 / world.size
    large = world.size >= 100_000
    verdict = ("met" if share <= BAR_MB_PER_100K else "MISSED") if large else "judged at 100k"
    note_line(
        f"allocated beyond the page cache, {world.size}: {mb:.1f} MB, {share:.0f} MB per 100,000 ·"
        f" bar {BAR_MB_PER_100K:.0f} MB {verdict}"
    )
