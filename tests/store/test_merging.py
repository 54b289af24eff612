"""Segments are merged beside readers and writers, and no result changes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import vestig
from tables import each
from vestig.store.projection import keeper as keeping
from vestig.store.projection.background import NICENESS, SEGMENTS_MAX, Merger
from vestig.testing import FrozenClock, HashingEmbedder

QUERIES = ("river port", "which server deploys at night", "coffee in berlin", "token cache")
WORDS = ["river", "port", "server", "deploys", "night", "coffee", "berlin", "token", "cache"]


def opened(path: Path, **options: Any) -> vestig.Vestig:
    config = {"hygiene": {"near_duplicate": {"enabled": False}}}
    return vestig.open(
        path, embedder=HashingEmbedder(32), clock=FrozenClock(), config=config, **options
    )


def text(dice: random.Random, number: int) -> str:
    return f"note {number}: " + " ".join(dice.choices(WORDS, k=8))


def answers(store: vestig.Vestig) -> list[list[tuple[str, float]]]:
    """Every number that ranks, with all its bits."""
    return [
        [(result.id, result.score) for result in store.recall(query, limit=50).results]
        for query in QUERIES
    ]


def keeper(store: vestig.Vestig) -> keeping.ProjectionKeeper:
    return store._session.keeper


@pytest.fixture
def short_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two memories are a long tail."""
    monkeypatch.setattr(keeping, "TAIL_ROWS_MAX", 2)
    monkeypatch.setattr(keeping, "CLOSING_ROWS_MIN", 1)


@each("seed", range(6))
def test_merging_changes_no_bit_of_any_result(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr(keeping, "TAIL_ROWS_MAX", 10_000)
    with opened(tmp_path / "store") as store:
        core, ids = keeper(store).core, []
        for number in range(60):
            ids.append(str(store.commit(text(dice, number)).memory_id))
            deed = dice.randrange(8)
            if deed < 3:
                core.publish()
            elif deed == 3:
                core.merge(dice.choice([1, 2, 3]))
            elif deed == 4:
                store.pin(dice.choice(ids))
            elif deed == 5:
                store.update(dice.choice(ids), tags=[f"tag{number}"])
        before = answers(store)
        assert any(before)
        core.publish()
        core.merge(2)
        assert answers(store) == before
        compacted = store.admin.compact()
        assert compacted.segments == 1
        assert compacted.rows == len(ids)
        assert answers(store) == before
        assert all(finding.level != "damage" for finding in store.admin.doctor().findings)
        store.admin.rebuild()
        assert answers(store) == before


def test_a_commit_pays_for_its_tail_alone_and_the_thread_merges(
    tmp_path: Path, short_tails: None
) -> None:
    store = opened(tmp_path / "store")
    merger = keeper(store).merger
    dice = random.Random(1)
    for number in range(2 * SEGMENTS_MAX):
        store.commit(text(dice, number))
    assert keeper(store).core.segments == SEGMENTS_MAX
    assert merger._thread is None
    for number in range(100, 100 + 2 * SEGMENTS_MAX):
        store.commit(text(dice, number))
    thread = merger._thread
    assert thread is not None
    assert (thread.name, thread.daemon) == ("vestig-merge", True)
    merger.wake()
    merger.wait()
    assert keeper(store).core.segments <= SEGMENTS_MAX
    store.close()
    assert not thread.is_alive()
    before = merger._thread
    merger.wake()
    assert merger._thread is before, "a closed store starts no thread"


def test_the_next_call_reports_what_failed_in_the_merging_thread(
    tmp_path: Path, short_tails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "store") as store:
        store.commit("one note about rivers")

        niceness: list[int] = []

        class Full:
            def merge(self, *_: object) -> int:
                niceness.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
                raise OSError(28, "No space left on device", "/somewhere/private")

            def stop_merging(self) -> None:
                return

        report = keeper(store).merger._report
        merger = Merger(Full, report)  # type: ignore[arg-type]
        merger.wake()
        merger.wait()
        if sys.platform == "linux":
            assert niceness[0] >= NICENESS > 0
        told = store.recall("rivers").degraded
        assert [(d.code, d.detail) for d in told] == [
            ("projection_stale", "segments could not be merged: No space left on device")
        ]
        assert store.recall("rivers").degraded == ()


def test_readers_see_whole_states_while_commits_and_merges_run(
    tmp_path: Path, short_tails: None
) -> None:
    store = opened(tmp_path / "store")
    store.commit("the first note about rivers")
    other = opened(tmp_path / "store", read_only=True)
    done, wrong = threading.Event(), []

    def look(reader: vestig.Vestig) -> None:
        seen = 0
        while not done.is_set():
            found = len(reader.recall("note about rivers", limit=500).results)
            if found < seen:
                wrong.append((seen, found))
            seen = found

    def merge() -> None:
        while not done.is_set():
            keeper(store).core.merge(1)

    threads = [threading.Thread(target=look, args=(r,)) for r in (store, other)]
    threads.append(threading.Thread(target=merge))
    for thread in threads:
        thread.start()
    for number in range(60):
        store.commit(f"note {number} about rivers and item {number * 7}")
        if number % 20 == 0:
            store.admin.compact()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    count = store.count()
    assert len(store.recall("note about rivers", limit=500).results) == count
    assert len(other.recall("note about rivers", limit=500).results) == count
    other.close()
    store.close()


def test_close_merges_what_is_small_and_leaves_what_is_large(
    tmp_path: Path, short_tails: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(3)
    monkeypatch.setattr(keeping, "_PUBLICATIONS_MIN", 10_000)
    for limit, few in ((0, False), (64 << 20, True)):
        monkeypatch.setattr(keeping, "CLOSING_BYTES_MAX", limit)
        with opened(tmp_path / f"store{limit}") as store:
            for number in range(30):
                store.commit(text(dice, number))
        with opened(tmp_path / f"store{limit}", read_only=True) as store:
            assert (keeper(store).core.segments <= SEGMENTS_MAX) is few
            assert store.count() == 30
        manifest = (tmp_path / f"store{limit}" / "projection" / "manifest").read_bytes()
        with opened(tmp_path / f"store{limit}") as store:
            store.recall("river")
        held = (tmp_path / f"store{limit}" / "projection" / "manifest").read_bytes()
        assert held == manifest, "a process that only read changed files"


def test_a_read_only_store_is_not_compacted(tmp_path: Path) -> None:
    with opened(tmp_path / "store") as store:
        store.commit("a note about rivers")
    with (
        opened(tmp_path / "store", read_only=True) as store,
        pytest.raises(vestig.StoreLockedError, match="open it for writing"),
    ):
        store.admin.compact()
    with opened(":memory:") as store:  # type: ignore[arg-type]
        store.commit("a note about rivers")
        assert store.admin.compact().segments == 0
        assert store.recall("rivers").results


_CHILD = """
import sys, vestig
from vestig.testing import HashingEmbedder
from vestig.store.projection import keeper as keeping
keeping.TAIL_ROWS_MAX = 3
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(32))
base = int(sys.argv[2])
for number in range(base, base + 10_000):
    store.commit(f"note {number} of rivers and item {number * 7}")
    print(number, flush=True)
    store._session.keeper.core.merge(1 + number % 3)
"""


@pytest.mark.slow
def test_kill_9_during_merges_leaves_a_good_store(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    for cycle in range(6):
        line = [sys.executable, "-c", _CHILD, str(tmp_path / "store"), str(cycle * 100_000)]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(8 + 3 * cycle):
                acknowledged.append(int(child.stdout.readline()))
            os.kill(child.pid, signal.SIGKILL)
            acknowledged += [int(rest) for rest in child.stdout.read().split("\n") if rest]
    folder = tmp_path / "store" / "projection"
    leftover = folder / "seg-1-00000000000000aa"
    leftover.write_bytes(b"half a segment")
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(32)) as store:
        page = store.list(limit=1000)
        numbers = {int(memory.content.split()[1]) for memory in page.memories}
        assert set(acknowledged) <= numbers
        report = store.admin.doctor()
        assert [f for f in report.findings if f.level == "damage"] == []
        assert "projection_rebuilt" not in [d.code for d in store.recall("rivers").degraded]
        store.commit("one more note, so that there is something to publish")
        store.admin.compact()
        assert not leftover.exists()
        assert len([p for p in folder.iterdir() if p.name.startswith("seg-")]) == 1


@pytest.mark.slow
def test_a_process_ends_while_its_thread_merges(tmp_path: Path) -> None:
    code = (
        _CHILD.replace("10_000", "40")
        .replace("core.merge(1 + number % 3)", "merger.wake()")
        .replace("keeping.TAIL_ROWS_MAX = 3", "keeping.TAIL_ROWS_MAX = 1")
    )
    code += "\nstore._session.keeper.merger.wake()\n"
    for cycle in range(3):
        line = [sys.executable, "-c", code, str(tmp_path / "store"), str(cycle * 1000)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_merges_by_itself(tmp_path: Path, short_tails: None) -> None:
    store = opened(tmp_path / "store")
    for number in range(30):
        store.commit(f"note {number} about rivers and item {number * 7}")
    keeper(store).merger.wake()
    child = os.fork()
    if child == 0:
        try:
            keeper(store).merger.wake()
            keeper(store).merger.wait()
            good = keeper(store).core.segments <= SEGMENTS_MAX
            good = good and len(store.recall("rivers", limit=100).results) == 30
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.recall("rivers", limit=100).results) == 30
    store.close()
