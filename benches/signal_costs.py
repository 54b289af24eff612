"""What each signal of the `default` profile costs: time of a recall and bytes of a memory.

    python benches/signal_costs.py [--memories N] [--rounds N]

A store of chats in memory, as `test_bench_chat.py` fills it, is asked every question with all
signals and without each one in turn, in one process: medians of processor time, differences paired
by question, with their quartiles. Bytes are those of the sections of the projection that nothing
but the signal reads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import vestig
from benchmarks.rows import weighing
from chats import fill, queries
from vestig.config import Settings
from vestig.testing import FrozenClock

QUESTIONS = 60
# By the beginning of their names.
SECTIONS = {
    "late": ("piece_",),
    "title": ("titles",),
    "date": ("window_",),
    "entity_walk": ("ways", "way_"),
}
# One word of 32 bits a memory holds what these look at.
OF_FEATURES = ("question", "long", "reply")


def filled(path: Path, size: int) -> Any:
    """The store, opened again so that it lies in segments, and its questions."""
    asked = queries(QUESTIONS)
    embedder = fill(path, size, asked)
    return vestig.open(path, embedder=embedder, clock=FrozenClock()), asked


def took_ms(store: Any, question: str, switches: dict[str, Any]) -> float:
    """Processor time of one recall."""
    start = time.process_time()
    store.recall(question, limit=10, config=switches)
    return 1_000 * (time.process_time() - start)


def without(signal: str | None) -> dict[str, Any]:
    """Configuration of a call."""
    return {} if signal is None else {f"signals.{signal}.enabled": False}


def told(store: Any, asked: Sequence[str], given: argparse.Namespace) -> None:
    """Asks and prints."""
    rows = (None, *weighing(Settings()))
    took: dict[str | None, list[float]] = {row: [] for row in rows}
    for number in range(given.rounds + 1):
        for question in asked:
            for row in rows:
                spent = took_ms(store, question, without(row))
                if number:
                    took[row].append(spent)
    whole = np.array(took[None])
    print(f"all signals, {given.memories} memories: {np.median(whole):.2f} ms\n")
    print("| signal | ms (quartiles) | bytes a memory |\n|---|---|---|")
    sections = store.admin.stats().projection["bytes"]
    for signal in rows[1:]:
        low, middle, high = np.percentile(whole - np.array(took[signal]), (25, 50, 75))
        own = [n for name, n in sections.items() if name.startswith(SECTIONS.get(signal, ("?",)))]
        size = f"{sum(own) / given.memories:.1f}" if own else "0"
        if signal in OF_FEATURES:
            size = f"of the {sections['features'] / given.memories:.0f} of features"
        print(f"| {signal} | {middle:+.2f} ({low:+.2f} … {high:+.2f}) | {size} |")


def main() -> None:
    """A store of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        store, asked = filled(Path(folder) / "store", given.memories)
        with store:
            told(store, asked, given)


if __name__ == "__main__":
    main()
