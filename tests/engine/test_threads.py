"""One store used by several threads at once (D-12)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from scripted import Opener

import vestig

COMMITS = 40


@pytest.mark.parametrize("path", [":memory:", "store"])
def test_writers_readers_and_rebuilds_at_once(opener: Opener, path: str) -> None:
    """Nobody waits for ever, nothing is lost, and every read is whole."""
    store: vestig.Vestig = opener(path, config={"store": {"lock_timeout_s": 60}})
    store.commit("A first sentence about the harbour")
    failures: list[BaseException] = []
    done = threading.Event()

    def thread(work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as failure:  # whatever it is, the test reports it
                failures.append(failure)
                done.set()

        return threading.Thread(target=guarded, daemon=True)

    def write(name: str) -> None:
        for number in range(COMMITS):
            memory = store.commit(f"{name} wrote line {number} about the harbour").memory_id
            assert memory is not None
            if number % 8 == 0:
                store.pin(memory)

    def read() -> None:
        while not done.is_set():
            result = store.recall("lines about the harbour", limit=7)
            assert len(result) == min(7, result.counts.eligible)
            assert store.list(limit=3).seq >= result.seq

    def rebuild() -> None:
        while not done.is_set():
            store.rebuild()

    writers = [thread(lambda name=name: write(name)) for name in ("Ada", "Bo")]  # type: ignore[misc]
    others = [thread(read), thread(rebuild)]
    for one in (*writers, *others):
        one.start()
    for one in writers:
        one.join(120)
    done.set()
    for one in others:
        one.join(120)
    assert not failures
    assert not any(one.is_alive() for one in (*writers, *others))
    assert store.count() == 2 * COMMITS + 1
    assert store.doctor().exit_code == 0
