"""Processes that fork while threads use a store: a child works or is told why, and never hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from vestig.errors import ConflictError
from vestig.testing import HashingEmbedder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKS = 40
CHILD_S = 60


def forked(child: Callable[[], None]) -> int:
    """How a child of a fork ended: 0, or what it died of."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(CHILD_S)  # a child that hangs dies of it
            child()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


@pytest.mark.slow
def test_a_child_beside_busy_threads_works_and_nothing_is_lost(tmp_path: Path) -> None:
    """It uses the store of its parent, or opens it anew, or just ends."""
    path = tmp_path / "store"
    with vestig.open(path, embedder=HashingEmbedder(64)) as store:
        store.commit("The log of the harbour begins.")
        stop, written = threading.Event(), Counter[str]()

        def write() -> None:
            while not stop.is_set():
                store.commit(f"The pilot boat left for ship {written['parent']}.")
                written["parent"] += 1

        def read() -> None:
            while not stop.is_set():
                store.recall("Which ship did the pilot boat leave for?")

        def use_inherited() -> None:
            store.commit(f"Child {number} saw the boat.")
            assert len(store.recall("pilot boat")) > 0

        def open_anew() -> None:
            with vestig.open(path, embedder=HashingEmbedder(64)) as own:
                own.commit(f"Child {number} saw the boat.")

        threads = [threading.Thread(target=work) for work in (write, read)]
        for thread in threads:
            thread.start()
        ends = Counter[int]()
        for number in range(FORKS):
            time.sleep(0.003 * (number % 5))
            ends[forked((use_inherited, open_anew, store.close)[number % 3])] += 1
        stop.set()
        for thread in threads:
            thread.join(CHILD_S)
        assert ends == {0: FORKS}
        assert not any(thread.is_alive() for thread in threads)
        of_children = sum(1 for number in range(FORKS) if number % 3 < 2)
        assert store.count() == 1 + written["parent"] + of_children
        assert all(one.level == "ok" for one in store.admin.doctor().findings)


def test_a_child_forked_inside_of_a_call_is_refused_at_once(tmp_path: Path) -> None:
    ends: list[int] = []
    store = vestig.open(tmp_path / "store", embedder=HashingEmbedder(64))

    def child() -> None:
        with pytest.raises(ConflictError, match="forked while one was at work; fork before"):
            store.recall("harbour")
        with pytest.raises(ConflictError, match="forked while"):
            vestig.open(tmp_path / "store", embedder=HashingEmbedder(64))
        store.close()

    def hook(outcome: object) -> None:
        ends.append(forked(child))

    with store:
        store.commit("The lighthouse has a new lamp.", on_commit=hook)
        assert ends == [0]
        store.commit("The lamp of the lighthouse is green.")
        assert store.count() == 2
