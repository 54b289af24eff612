"""A million memories: one store, one step after the other, each in a process of its own.

    python benches/million.py FOLDER [STEP ...] [--memories N]

Steps, in this order unless named: `write` the file to import, `import` it (duplicate check,
RELATED and names off; also killed halfway and resumed), `figures` (recall beside the yardstick,
cold start, memory, commits), `compact`, `rebuild` (each killed halfway first), `self` (10,000
memories each find themselves), `check` (`doctor`). Needs about 12 GB of disk at a million. Vectors
are hashed from words, 384 dimensions; the time of hashing is reported apart.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vestig
from generator import embedded_text, questions, stream
from yardstick import yardstick_ms

DIMENSIONS = 384
WORD = re.compile(r"\w+")
YARDSTICK_MS = {100_000: 4.5, 1_000_000: 55.0}
RECALL_BAR_MS = {100_000: 6.0, 1_000_000: 60.0}
HELD_BAR_MB = 150.0
SAMPLE = 10_000
SPOTS = 200
NO_PASSES = {
    "hygiene": {"near_duplicate": {"enabled": False}},
    "links": {"related": {"enabled": False}},
    "entities": {"enabled": False},
}
STEPS = ("write", "import", "figures", "compact", "rebuild", "self", "check")


class Timed:
    """Words and pairs of adjacent words hashed into a unit vector; counts its own seconds."""

    model = f"pairs-{DIMENSIONS}"
    dimensions = DIMENSIONS
    fingerprint = hashlib.sha256(model.encode()).hexdigest()

    def __init__(self) -> None:
        self.seconds = 0.0
        self._words: dict[str, int] = {}

    def embed(self, texts: Any) -> list[bytes]:
        """One unit vector per text."""
        start = time.perf_counter()
        made = [self._vector(text) for text in texts]
        self.seconds += time.perf_counter() - start
        return made

    def truncated(self, text: str) -> bool:  # noqa: ARG002 - the port's signature
        """False."""
        return False

    def _vector(self, text: str) -> bytes:
        numbers = np.array([self._number(word) for word in WORD.findall(text.lower())], np.uint64)
        pairs = (numbers[1:] * np.uint64(3) + numbers[:-1]) * np.uint64(0x9E3779B97F4A7C15)
        features = np.concatenate([numbers, pairs]) >> np.uint64(20)
        signs = (features & np.uint64(1)).astype(np.float64) * 2 - 1
        places = (features >> np.uint64(1)) % np.uint64(DIMENSIONS)
        vector = np.bincount(places.astype(np.int64), signs, minlength=DIMENSIONS)
        vector /= max(1e-9, float(np.linalg.norm(vector)))
        return vector.astype("<f4").tobytes()

    def _number(self, word: str) -> int:
        known = self._words.get(word)
        if known is None:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            known = int.from_bytes(digest, "little")
            if not any(letter.isdigit() for letter in word):
                self._words[word] = known
        return known


def anonymous_mb() -> float:
    """Memory of this process that is no page of a file."""
    with open("/proc/self/smaps_rollup") as file:
        lines = (line for line in file if line.startswith("Anonymous:"))
        return int(next(lines).split()[1]) * 1024 / 1e6


class Peak:
    """The peak of anonymous memory while it is open, sampled five times a second."""

    def __enter__(self) -> Peak:
        self.begin = self.most = anonymous_mb()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self.most = max(self.most, anonymous_mb())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.most = max(self.most, anonymous_mb())

    def __str__(self) -> str:
        return f"anonymous memory {self.begin:.0f} → at most {self.most:.0f} MB"


def say(line: str) -> None:
    """One line of the report."""
    print(line, flush=True)


def opened(folder: Path, **options: Any) -> Any:
    """The store with its embedder."""
    options.setdefault("config", NO_PASSES)
    return vestig.open(folder / "store", embedder=options.pop("embedder", Timed()), **options)


def items(folder: Path, every: int = 1) -> Iterator[dict[str, Any]]:
    """What was written, or each n-th of it."""
    with (folder / "items.jsonl").open() as file:
        for number, line in enumerate(file):
            if number % every == 0:
                yield json.loads(line)


def write(folder: Path, memories: int) -> None:
    """The file to import."""
    with (folder / "items.jsonl").open("w") as file:
        for record in stream(memories):
            file.write(json.dumps(record) + "\n")
    say(f"written: {memories} memories")


def import_all(folder: Path, memories: int) -> None:
    """Import to the end; what a run before has stored is skipped."""
    embedder, calls = Timed(), 0
    with opened(folder, embedder=embedder) as store:
        before = store.count()

        def progress(*_: int | None) -> None:
            nonlocal calls
            calls += 1

        start = time.perf_counter()
        with Peak() as peak:
            report = store.import_(folder / "items.jsonl", progress=progress)
        seconds = time.perf_counter() - start
        assert report.failed == report.rejected == report.duplicates == 0, report
        assert (report.memories, store.count()) == (memories - before, memories), report
        start = time.perf_counter()
    closing = time.perf_counter() - start
    rate = report.memories / max(1e-9, seconds - embedder.seconds)
    say(
        f"import of {report.memories} ({report.skipped} skipped): {seconds:.0f} s, of it hashing"
        f" {embedder.seconds:.0f} s · {rate:,.0f} memories/s beside it · {peak} ·"
        f" {calls} calls of progress · close {closing:.1f} s"
    )
    sizes(folder)


def sizes(folder: Path) -> None:
    """Bytes of the store's files."""
    store = folder / "store"
    ledger = sum(path.stat().st_size for path in store.glob("ledger*"))
    segments = sorted(
        (path.stat().st_size for path in store.glob("projection/seg-*")), reverse=True
    )
    shown = ", ".join(f"{size / 1e6:.1f}" for size in segments)
    say(f"ledger {ledger / 1e6:.0f} MB · projection {sum(segments) / 1e6:.0f} MB: {shown}")


def spots(store: Any, folder: Path, memories: int) -> int:
    """How many of the spots are not found first by their own text."""
    missed = 0
    for item in items(folder, max(1, memories // SPOTS)):
        hits = store.recall(embedded_text(item), limit=1, profile="baseline").results
        missed += [hit.content for hit in hits] != [item["content"]]
    return missed


def spread(times: list[float]) -> str:
    """Median and 99th percentile of seconds, in ms."""
    p50, p99 = np.percentile(np.array(times) * 1000, [50, 99])
    return f"median {p50:.2f} ms, p99 {p99:.2f} ms"


def timed(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


COLD = """
import sys, time
start = time.perf_counter()
import vestig
imported = time.perf_counter()
class Named:
    model, dimensions, fingerprint = sys.argv[2], int(sys.argv[3]), sys.argv[4]
    def embed(self, texts): raise AssertionError
    def truncated(self, text): return False
with vestig.open(sys.argv[1], embedder=Named(), read_only=True) as store:
    opened = time.perf_counter()
    vector = [1.0] * Named.dimensions
    assert store.recall("who repaired the crane?", query_vector=vector, limit=10).results
    print(imported - start, opened - imported, time.perf_counter() - opened)
"""


def figures(folder: Path, memories: int) -> None:
    """Recall beside N, cold start, memory, commits."""
    n = yardstick_ms(memories)
    slow = max(1.0, n / YARDSTICK_MS.get(memories, n))
    say(f"N = {n:.1f} ms at {memories}")
    named = [Timed.model, str(DIMENSIONS), Timed.fingerprint]
    command = [sys.executable, "-c", COLD, str(folder / "store"), *named]
    cold = [subprocess.check_output(command, text=True) for _ in range(3)]
    for line in cold:
        imports, opening, first = (1000 * float(part) for part in line.split())
        say(f"cold: imports {imports:.0f} ms, open {opening:.0f} ms, first recall {first:.0f} ms")
    queries = questions(400, seed=5)
    with vestig.open(":memory:", embedder=Timed()) as empty:
        empty.recall("warm")
        before = anonymous_mb()
    embedder = Timed()
    with opened(folder, embedder=embedder, read_only=True) as store:
        for text in queries[:20]:
            store.recall(text, limit=10)
        allocated = anonymous_mb() - before
        share = allocated * 100_000 / memories
        say(
            f"allocated beyond the page cache: {allocated:.0f} MB, {share:.1f} MB per 100,000"
            f" (bar {HELD_BAR_MB:.0f})"
        )
        for profile in ("default", "baseline"):
            times = []
            for text in queries[20:220]:
                embedder.seconds = 0.0
                ask = functools.partial(store.recall, text, limit=10, profile=profile)
                whole = timed(ask)
                times.append(whole - embedder.seconds)
            bar = RECALL_BAR_MS.get(memories, 0) * slow
            say(f"recall, {profile}: {spread(times)} (bar {bar:.0f})")
    with opened(folder, embedder=embedder) as store:
        times = []
        for number, text in enumerate(queries[:300]):
            embedder.seconds = 0.0
            whole = timed(functools.partial(store.commit, f"{number} {text} in the second week"))
            times.append(whole - embedder.seconds)
        say(f"commit, duplicate check, RELATED and names off: {spread(times[20:])}")
    with opened(folder, embedder=embedder, config={}) as store:
        times = []
        for number, text in enumerate(queries[:60]):
            embedder.seconds = 0.0
            whole = timed(functools.partial(store.commit, f"{text} in week {number}"))
            times.append(whole - embedder.seconds)
        say(f"commit, whole pipeline: {spread(times[5:])}")


def rebuild(folder: Path, memories: int) -> None:
    """From the ledger alone."""
    with opened(folder) as store:
        count = store.count()
        with Peak() as peak:
            seconds = timed(store.rebuild)
        assert store.count() == count
        say(f"rebuild: {seconds:.0f} s, {count / seconds:,.0f} memories/s · {peak}")
        say(f"after rebuild, spots missed: {spots(store, folder, memories)}")
    sizes(folder)


def compact(folder: Path, memories: int) -> None:
    """All segments into one."""
    with opened(folder) as store:
        with Peak() as peak:
            seconds = timed(lambda: say(f"compact: {store.admin.compact()}"))
        say(f"compact: {seconds:.0f} s · {peak}")
        say(f"after compact, spots missed: {spots(store, folder, memories)}")
    sizes(folder)


def killed(step: str, folder: Path, memories: int, after: float) -> None:
    """The step in a process that is killed after so many seconds; then the store is looked at."""
    worker = subprocess.Popen(
        [sys.executable, __file__, str(folder), step, "--memories", str(memories), "--plain"],
        stdout=subprocess.DEVNULL,
    )
    try:
        worker.wait(after)
        say(f"{step}: over before the kill")
    except subprocess.TimeoutExpired:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    start = time.perf_counter()
    with opened(folder) as store:
        opening = time.perf_counter() - start
        first = timed(lambda: store.recall("who repaired the harbour crane?"))
        count = store.count()
        missed = spots(store, folder, count) if step != "import" else 0
        codes = sorted({entry.code for entry in store.recall("crane").degraded})
    say(
        f"{step} killed after {after:.0f} s: {count} memories, opened in {opening:.1f} s, first"
        f" recall {first:.1f} s, spots missed {missed}, degraded {codes}"
    )


def self_recall(folder: Path, memories: int) -> None:
    """A sample finds itself."""
    found = {"baseline first": 0, "default first": 0, "default within three": 0}
    queried = 0
    start = time.perf_counter()
    with opened(folder, read_only=True) as store:
        for item in items(folder, max(1, memories // SAMPLE)):
            queried += 1
            own = item["content"]
            hits = store.recall(embedded_text(item), limit=1, profile="baseline").results
            found["baseline first"] += hits[0].content == own
            hits = [hit.content for hit in store.recall(own, limit=3).results]
            found["default first"] += hits[:1] == [own]
            found["default within three"] += own in hits
    shares = " · ".join(f"{name} {count / queried:.4%}" for name, count in found.items())
    seconds = time.perf_counter() - start
    say(f"{queried} memories queried by their own text: {shares} ({seconds:.0f} s)")


def check(folder: Path, memories: int) -> None:  # noqa: ARG001 - a step like the others
    """`doctor`, whole."""
    with opened(folder, read_only=True) as store:
        start = time.perf_counter()
        report = store.admin.doctor()
        say(f"doctor: {time.perf_counter() - start:.0f} s, {report}")


WORK: dict[str, Callable[[Path, int], None]] = {
    "write": write,
    "import": import_all,
    "figures": figures,
    "rebuild": rebuild,
    "compact": compact,
    "self": self_recall,
    "check": check,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", nargs="*", default=[])
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--plain", action="store_true", help="here, without kills")
    given = parser.parse_args()
    unknown = set(given.steps) - set(STEPS)
    if unknown:
        parser.error(f"steps: {', '.join(STEPS)}")
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.plain:
        for step in given.steps:
            WORK[step](given.folder, given.memories)
        return
    rng = random.Random(0)
    share = given.memories / 1_000_000
    for step in given.steps or STEPS:
        if step in ("import", "rebuild", "compact"):
            kills = {"import": 15, "rebuild": 40, "compact": 8}[step] * share
            killed(step, given.folder, given.memories, 1.0 + kills * (1 + rng.random()))
        subprocess.run(
            [
                sys.executable,
                __file__,
                str(given.folder),
                step,
                "--memories",
                str(given.memories),
                "--plain",
            ],
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )


if __name__ == "__main__":
    main()
