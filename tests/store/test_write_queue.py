"""Writers of several processes take turns: who came first is next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from unittest import mock

import apsw
import pytest

import ledger_rows as made
from vestig.errors import StoreLockedError
from vestig.store.ledger.ledger import SqliteLedger
from vestig.store.ledger.opening import open_ledger
from vestig.store.sqlite import write_queue
from vestig.store.sqlite.write_queue import WriteQueue

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the system knows no locks of an open file"
)

LONG_S = 60.0


def waiting(folder: Path, wait_s: float = LONG_S) -> Generator[None, None, None]:
    """One that waits, and did not find the lock free at once."""
    turns = WriteQueue(folder).turns(time.monotonic() + wait_s)
    if WriteQueue(folder).is_empty:
        next(turns)
    return turns


def gets_a_turn(turns: Iterator[None]) -> bool:
    """Whether the next turn comes before the deadline, at which there is one in any case."""
    began = time.monotonic()
    next(turns)
    return time.monotonic() - began < 0.05


def test_who_waits_is_seen_by_others(tmp_path: Path) -> None:
    queue = WriteQueue(tmp_path)
    turns = waiting(tmp_path)
    assert queue.is_empty
    assert gets_a_turn(turns)
    assert not queue.is_empty
    turns.close()
    assert queue.is_empty
    queue.close()
    queue.close()
    assert queue.is_empty, "opened again"


def test_who_waits_does_not_see_itself(tmp_path: Path) -> None:
    queue = WriteQueue(tmp_path)
    turns = queue.turns(time.monotonic() + LONG_S)
    for _ in range(3):
        next(turns)
    assert queue.is_empty
    assert not WriteQueue(tmp_path).is_empty


def test_each_has_its_turn_once_all_before_it_have_left(tmp_path: Path) -> None:
    with mock.patch.object(write_queue, "lock_holder", return_value="process 1"):
        turns = []
        for number in range(4):
            turns.append(waiting(tmp_path, LONG_S if number == 0 else 0.1))
            assert gets_a_turn(turns[-1]) == (number == 0)
        turns[0].close()
        for number in range(1, 4):
            turns[number].close()
            assert gets_a_turn(waiting(tmp_path, 0.1)) == (number == 3)


def test_without_time_there_is_one_try(tmp_path: Path) -> None:
    assert len(list(WriteQueue(tmp_path).turns(0.0))) == 2
    turns = waiting(tmp_path)
    next(turns)
    assert len(list(WriteQueue(tmp_path).turns(0.0))) == 1


WAITING = """
import sys, time
from pathlib import Path
from vestig.store.sqlite import write_queue
from vestig.store.sqlite.write_queue import WriteQueue
turns = WriteQueue(Path(sys.argv[1])).turns(time.monotonic() + 60)
next(turns), next(turns)
print("waits", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def first(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is the first of those that wait."""
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waits\n"
        yield process
        process.kill()


def test_a_killed_process_leaves_its_place(tmp_path: Path, first: subprocess.Popen[bytes]) -> None:
    assert not WriteQueue(tmp_path).is_empty
    first.kill()
    first.wait()
    assert WriteQueue(tmp_path).is_empty


def test_a_stopped_process_holds_up_nobody(tmp_path: Path, first: subprocess.Popen[bytes]) -> None:
    first.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    with open_ledger(tmp_path, lock_timeout_s=LONG_S) as ledger:
        for number in range(2):
            with ledger.write(made.NOW) as txn:
                txn.apply(made.added(made.memory(f"text {number}")))
    assert time.monotonic() - began < LONG_S / 2
    assert not WriteQueue(tmp_path).is_empty


def test_a_forked_child_waits_for_itself(tmp_path: Path) -> None:
    """It closes what it inherited, and a place of its parent is that of another."""
    with open_ledger(tmp_path, lock_timeout_s=LONG_S) as ledger:
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(made.memory("parent")))
        turns = waiting(tmp_path)
        next(turns)
        child = os.fork()
        if child == 0:
            try:
                with ledger.write(made.NOW) as txn:
                    txn.apply(made.added(made.memory("child")))
            except BaseException:
                os._exit(1)
            os._exit(0)
        time.sleep(0.05)
        turns.close()
        assert os.waitpid(child, 0)[1] == 0
        with ledger.read() as view:
            assert view.seq == 2


@pytest.mark.parametrize("folder", ["absent", "."])
def test_where_no_place_is_to_be_had_the_lock_is_tried_for(tmp_path: Path, folder: str) -> None:
    with mock.patch("fcntl.fcntl", side_effect=OSError):
        queue = WriteQueue(tmp_path / folder)
        assert queue.is_empty
        turns = queue.turns(time.monotonic() + LONG_S)
        assert [next(turns) for _ in range(5)] == [None] * 5
        turns.close()


def test_a_writer_in_a_loop_lets_another_in(tmp_path: Path) -> None:
    """It holds the lock nearly all of the time, and is back at once: the other is next."""
    store = tmp_path / "store"
    commits, over = [0], threading.Event()
    faithful = SqliteLedger._commit

    def slow(ledger: SqliteLedger, conn: apsw.Connection, rows: int) -> None:
        time.sleep(0.02)
        faithful(ledger, conn, rows)

    def write(ledger: SqliteLedger) -> None:
        while not over.is_set() and commits[0] < 2_000:
            with ledger.write(made.NOW) as txn:
                txn.apply(made.added(made.memory(f"text {commits[0]}")))
            commits[0] += 1

    with (
        open_ledger(store, lock_timeout_s=LONG_S) as busy,
        open_ledger(store, lock_timeout_s=LONG_S) as other,
        mock.patch.object(SqliteLedger, "_commit", slow),
    ):
        thread = threading.Thread(target=write, args=(busy,))
        thread.start()
        passed = []
        for number in range(8):
            before = commits[0]
            with other.write(made.NOW) as txn:
                passed.append(commits[0] - before)
                txn.apply(made.added(made.memory(f"other {number}")))
        over.set()
        thread.join()
    # The one that is being written, and one that began before this thread had run again.
    assert max(passed) <= 2, passed


def test_who_waits_behind_others_is_refused_in_time(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with (
        open_ledger(store) as holder,
        open_ledger(store, lock_timeout_s=0.2) as second,
        holder.write(made.NOW),
    ):
        before = waiting(store)
        next(before)
        began = time.monotonic()
        with pytest.raises(StoreLockedError, match="this process"), second.write(made.NOW):
            pass
        assert time.monotonic() - began >= 0.2
        before.close()
    with open_ledger(store) as ledger, ledger.write(made.NOW):
        pass
