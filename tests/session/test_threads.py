"""One store used by several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import vestig
from scripted import Opener

COMMITS = 40


@pytest.mark.slow
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
            store.admin.rebuild()

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
    assert store.admin.doctor().exit_code == 0


class Watched:
    """A lock that tells when somebody comes to it."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.reached = threading.Event()

    def acquire(self, timeout: float = -1) -> bool:
        self.reached.set()
        return bool(self._lock.acquire(timeout=timeout))

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def closed_while_waiting(store: vestig.Vestig, call: Callable[[], object]) -> BaseException:
    """What a call raises that waits for the lock of writers while the store is closed."""
    ledger: Any = store._session.ledger
    held, watched = ledger._write_lock, Watched(ledger._write_lock)
    ledger._write_lock = watched
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # the test looks at it
            raised.append(error)

    with held:
        waiting = threading.Thread(target=run, daemon=True)
        waiting.start()
        assert watched.reached.wait(60)
        store.close()
    waiting.join(60)
    assert ledger._writer is None
    [error] = raised
    return error


@pytest.mark.parametrize("path", [":memory:", "store"])
def test_a_write_that_waited_finds_the_store_closed(opener: Opener, path: str) -> None:
    """Use after close is refused, also when the call began before it."""
    store = opener(path)
    memory = store.commit("The harbour froze in January").memory_id
    assert memory is not None
    error = closed_while_waiting(store, lambda: store.pin(memory))
    assert isinstance(error, vestig.ConflictError)


def test_a_read_that_waited_finds_the_store_in_memory_closed(opener: Opener) -> None:
    store = opener(":memory:")
    assert isinstance(closed_while_waiting(store, store.count), vestig.ConflictError)


def test_what_fails_after_a_durable_commit_is_a_degradation(
    store: vestig.Vestig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is returned, with `projection_stale`."""

    def failing(txn: Any) -> bool:
        raise vestig.StoreDamagedError("the ledger cannot be read")

    monkeypatch.setattr(store._session.keeper, "_apply_new_rows", failing)
    outcome = store.commit("The harbour froze in January")
    assert [entry.code for entry in outcome.degraded] == ["projection_stale"]
    monkeypatch.undo()
    assert [hit.id for hit in store.recall("harbour")] == [outcome.memory_id]
