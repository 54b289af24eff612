"""Forgetting one memory with its proof, in processor time: at 300 memories and at ten times as
many, beside plainly reading the files that the proof searches.

Napkin: what is removed and written anew costs the same in every store; the search reads some
10 kB a memory, at about 4 GB/s with the copies out of the page cache.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vestig
from conftest import fewer, note_line
from generator import batches, embedded_text, records, vectors
from vestig.testing import HashingEmbedder, ScriptedEmbedder

FEW, MANY = 300, 3_000
FORGOTTEN = fewer(30, 10)
# times the cost at FEW
GROWTH_MAX = 1.5


def cpu_ms(call: Any) -> float:
    """Processor time of one call."""
    started = time.process_time_ns()
    call()
    return (time.process_time_ns() - started) / 1e6


def read_all(folder: Path) -> None:
    """Reads every file of the store once."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(256 << 10):
                    pass


def dense(items: list[dict[str, Any]]) -> ScriptedEmbedder:
    """Vectors without zeros, as a model makes them."""
    made = vectors(len(items))
    return ScriptedEmbedder(
        {embedded_text(item): made[row].tobytes() for row, item in enumerate(items)}
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_forget(tmp_path: Path, kind: str) -> None:
    took, reads = dict[int, float](), dict[int, float]()
    for size in (FEW, MANY):
        items = records(size)
        embedder = dense(items) if kind == "dense" else HashingEmbedder()
        folder = tmp_path / f"{size}"
        # names in texts have no vectors of a script
        config = {"entities": {"enabled": False}} if kind == "dense" else None
        with vestig.open(folder, embedder=embedder, config=config) as store:
            for batch in batches(items):
                store.commit_many(batch)
            ids = [memory.id for memory in store.list(limit=FORGOTTEN)]
            times = [cpu_ms(partial(store.forget, id)) for id in ids]
        took[size] = float(np.median(times))
        reads[size] = float(np.median([cpu_ms(partial(read_all, folder)) for _ in range(9)]))
    growth = took[MANY] / took[FEW]
    note_line(
        f"forget, {kind} vectors: CPU median {took[FEW]:.1f} ms of {FEW}, {took[MANY]:.1f} ms of"
        f" {MANY} memories · reading the files {reads[FEW]:.1f} and {reads[MANY]:.1f} ms · grows"
        f" {growth:.2f} × · bar {GROWTH_MAX} × {'met' if growth <= GROWTH_MAX else 'MISSED'}"
    )
