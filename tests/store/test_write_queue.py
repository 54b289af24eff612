"""Writers of several processes take turns: who came first is next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import apsw
import pytest

import ledger_rows as made
from vestig.errors import StoreLockedError
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.sqlite import processes
from vestig.store.sqlite.processes import WriteQueue

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the system knows no locks of an open file"
)

LONG_S = 60.0


def test_who_waits_is_seen_by_others_and_not_by_itself(tmp_path: Path) -> None:
    one, other = WriteQueue(tmp_path), WriteQueue(tmp_path)
    assert one.take() == 0
    assert (one.has_no_others(), other.has_no_others()) == (True, False)
    one.leave()
    assert other.has_no_others()
    other.close()
    other.close()
    assert other.has_no_others(), "opened again"


def test_each_is_first_once_all_before_it_have_left(tmp_path: Path) -> None:
    queues = [WriteQueue(tmp_path) for _ in range(4)]
    places = [queue.take() for queue in queues]
    assert places == [0, 1, 2, 3]

    def first() -> list[bool]:
        return [queue.is_first(place) for queue, place in zip(queues, places, strict=True)]

    assert first() == [True, False, False, False]
    queues[1].leave()
    assert first()[2:] == [False, False]
    queues[0].leave()
    assert first()[2:] == [True, False]
    late = WriteQueue(tmp_path)
    assert late.take() == 4, "behind all, although places before are free"
    assert not late.is_first(4)
    queues[2].close()
    assert first()[3], "a folder that is closed holds no place"


def test_a_turn_comes_at_once_when_nobody_waits_and_at_the_deadline(tmp_path: Path) -> None:
    queue = WriteQueue(tmp_path)
    assert len(list(queue.turns(0.0))) == 2
    assert queue.has_no_others()
    ahead = WriteQueue(tmp_path)
    ahead.take()
    assert len(list(queue.turns(0.0))) == 1
    ahead.leave()
    assert ahead.has_no_others(), "the place was left"


def test_turns_come_to_the_first_again_and_again(tmp_path: Path) -> None:
    turns = WriteQueue(tmp_path).turns(time.monotonic() + LONG_S)
    assert [next(turns) for _ in range(5)] == [None] * 5
    assert not WriteQueue(tmp_path).has_no_others()
    turns.close()
    assert WriteQueue(tmp_path).has_no_others()


@pytest.mark.parametrize("name", ["take", "is_first", "leave"])
def test_an_interrupt_leaves_no_place(tmp_path: Path, name: str) -> None:
    """It comes right behind the call of the system."""
    queue, other = WriteQueue(tmp_path), WriteQueue(tmp_path)
    faithful = getattr(WriteQueue, name)

    def interrupted(*given: object) -> None:
        faithful(*given)
        raise KeyboardInterrupt

    with mock.patch.object(WriteQueue, name, interrupted), pytest.raises(KeyboardInterrupt):
        list(queue.turns(time.monotonic() + 0.05))
    assert other.has_no_others()


def test_an_interrupt_leaves_no_transaction(tmp_path: Path) -> None:
    """It comes when the transaction has just begun."""
    store = tmp_path / "store"
    with open_ledger(store) as ledger, open_ledger(store, lock_timeout_s=0.0) as other:
        add(ledger, "one")
        faithful = ledger._queue.leave

        def interrupted() -> None:
            faithful()
            raise KeyboardInterrupt

        held = WriteQueue(store)
        held.take()
        with (
            mock.patch.object(ledger._queue, "leave", interrupted),
            mock.patch.object(ledger._queue, "is_first", return_value=True),
            pytest.raises(KeyboardInterrupt),
            ledger.write(made.NOW),
        ):
            pass
        held.leave()
        add(other, "two")
        add(ledger, "three")
        with other.read() as view:
            assert view.seq == 3


def test_a_queue_that_is_dropped_closes_its_folder(tmp_path: Path) -> None:
    queue = WriteQueue(tmp_path)
    queue.take()
    del queue
    assert WriteQueue(tmp_path).has_no_others()


WAITING = """
import os, sys
from pathlib import Path
from vestig.store.ledger.opening import open_ledger
from vestig.store.sqlite import processes
ledger = open_ledger(Path(sys.argv[1]), lock_timeout_s=60)
with ledger.write(0):
    pass
assert ledger._queue.take() == 0

def child():
    ready, tell = os.pipe()
    if os.fork() == 0:
        os.write(tell, b"1")
        sys.stdin.readline()
        os._exit(0)
    os.read(ready, 1)

if sys.argv[2] == "fork":
    child()
elif sys.argv[2] == "fork inside":
    with processes.inside():
        child()
print("waits", flush=True)
sys.stdin.readline()
"""


def waiting(folder: Path, kind: str = "alone") -> subprocess.Popen[bytes]:
    """A process that holds the first place; its child, if it has one, lives on until the pipe
    is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(folder), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"waits\n"
    return process


@pytest.mark.parametrize("kind", ["alone", "fork", "fork inside"])
def test_a_killed_process_leaves_its_place(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "store"
    process = waiting(store, kind)
    with process:
        assert not WriteQueue(store).has_no_others()
        process.kill()
        process.wait()
        assert WriteQueue(store).has_no_others()


def test_a_stopped_process_is_passed_over(tmp_path: Path) -> None:
    """Once, not at each write."""
    store = tmp_path / "store"
    process = waiting(store)
    with process, open_ledger(store, lock_timeout_s=LONG_S) as ledger:
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with mock.patch.object(processes, "lock_holder", return_value="") as looked:
            add(ledger, "one")
            assert looked.call_count == 2
            add(ledger, "two")
            assert looked.call_count == 2
        assert time.monotonic() - began < LONG_S / 2
        behind = WriteQueue(store)
        assert behind.take() == 1
        assert not ledger._queue.has_no_others(), "who waits behind it is seen"
        process.kill()
        process.wait()
        behind.leave()
        assert ledger._queue.take() == 0
        assert ledger._queue._passed == {0}
        ledger._queue.leave()
        assert ledger._queue.has_no_others()
        assert ledger._queue._passed == set()


def test_a_forked_child_has_a_queue_of_its_own(tmp_path: Path) -> None:
    with open_ledger(tmp_path, lock_timeout_s=LONG_S) as ledger:
        add(ledger, "parent")
        ahead = WriteQueue(tmp_path)
        ahead.take()
        child = os.fork()
        if child == 0:
            try:
                add(ledger, "child")
            except BaseException:
                os._exit(1)
            os._exit(0)
        time.sleep(0.05)
        ahead.leave()
        assert os.waitpid(child, 0)[1] == 0
        with ledger.read() as view:
            assert view.seq == 2


@pytest.mark.parametrize("folder", ["absent", "."])
def test_where_no_place_is_to_be_had_the_lock_is_tried_for(tmp_path: Path, folder: str) -> None:
    with mock.patch("fcntl.fcntl", side_effect=OSError):
        queue = WriteQueue(tmp_path / folder)
        assert queue.has_no_others()
        turns = queue.turns(time.monotonic() + LONG_S)
        assert [next(turns) for _ in range(5)] == [None] * 5
        turns.close()


def test_a_writer_in_a_loop_lets_another_in(tmp_path: Path) -> None:
    """It holds the lock nearly all of the time, and is back at once: the other is next."""
    store = tmp_path / "store"
    commits, over = [0], threading.Event()
    faithful = Ledger._commit

    def slow(ledger: Ledger, conn: apsw.Connection, rows: int) -> None:
        time.sleep(0.02)
        faithful(ledger, conn, rows)

    def write(ledger: Ledger) -> None:
        while not over.is_set() and commits[0] < 2_000:
            add(ledger, f"text {commits[0]}")
            commits[0] += 1

    with (
        open_ledger(store, lock_timeout_s=LONG_S) as busy,
        open_ledger(store, lock_timeout_s=LONG_S) as other,
        mock.patch.object(Ledger, "_commit", slow),
    ):
        at_place = []
        take = other._queue.take

        def noted() -> int | None:
            place = take()
            at_place.append(commits[0])
            return place

        passed = []
        with mock.patch.object(other._queue, "take", noted):
            thread = threading.Thread(target=write, args=(busy,))
            thread.start()
            for number in range(8):
                at_place.clear()
                with other.write(made.NOW) as txn:
                    # none where the lock was free at once
                    passed.append(commits[0] - at_place[0] if at_place else 0)
                    txn.apply(made.added(made.memory(f"other {number}")))
            over.set()
            thread.join()
    # That which is being written, and one whose end was not counted yet.
    assert max(passed) <= 2, passed


def test_who_waits_behind_others_is_refused_in_time(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with (
        open_ledger(store) as holder,
        open_ledger(store, lock_timeout_s=0.2) as second,
        holder.write(made.NOW),
    ):
        ahead = WriteQueue(store)
        ahead.take()
        began = time.monotonic()
        with pytest.raises(StoreLockedError, match="this process"), second.write(made.NOW):
            pass
        assert 0.2 <= time.monotonic() - began < LONG_S / 2
        ahead.leave()
    with open_ledger(store) as ledger:
        add(ledger, "afterwards")


def add(ledger: Ledger, text: str) -> None:
    with ledger.write(made.NOW) as txn:
        txn.apply(made.added(made.memory(text)))
