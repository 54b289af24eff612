"""Several processes, kills and forks."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

import ledger_rows as made
import vestig
from vestig.errors import ConflictError, StoreLockedError
from vestig.store.ledger.ledger import Ledger
from vestig.store.ledger.opening import open_ledger
from vestig.store.records.rows import Listing, UniquenessCollision
from vestig.store.sqlite import files
from vestig.testing import HashingEmbedder
from vestig.types import EdgeType

NOW = made.NOW
TESTS = Path(__file__).resolve().parent.parent

# Commits for ever; each acknowledgement goes to the parent before the next commit starts.
COMMITTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import ledger_rows as made
from pathlib import Path
from vestig.store.ledger.opening import open_ledger

ledger = open_ledger(Path(sys.argv[2]), lock_timeout_s=30)
related = []
for i in range(100_000):
    new = made.memory(f"text {sys.argv[3]} {i}")
    with ledger.write(made.NOW + i) as txn:
        txn.apply(made.added(new, *related[-3:]))
    related.append(new.id)
    os.write(1, (new.id + chr(10)).encode())
"""

# Commits one text after the other, whoever was first; says how often it was second.
RIVAL = """
import sys
sys.path.insert(0, sys.argv[1])
import ledger_rows as made
from pathlib import Path
from vestig.store.records.rows import UniquenessCollision
from vestig.store.ledger.opening import open_ledger

ledger = open_ledger(Path(sys.argv[2]), lock_timeout_s=60)
sys.stdin.readline()
second = 0
for i in range(int(sys.argv[3])):
    new = made.memory("the same text")
    try:
        with ledger.write(made.NOW) as txn:
            txn.apply(made.added(new))
    except UniquenessCollision:
        second += 1
        with ledger.read() as view:
            (found,) = view.same_text("default", None, None, new.content_hash, None)
        with ledger.write(made.NOW) as txn:
            txn.apply(made.reinforced(found.id))
print(second)
ledger.close()
"""


def start(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(TESTS), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # `communicate` does not see what a buffered `readline` has read beyond its line
        bufsize=0,
    )


def add(ledger: Ledger, text: str) -> str:
    new = made.memory(text)
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new))
    return str(new.id)


def check_whole(ledger: Ledger) -> set[str]:
    """Every memory has its event, its source and its vector; all ids."""
    with ledger.read() as view:
        memories = view.list_memories("default", Listing(limit=None))
        ids = {memory.id for memory in memories}
        assert view.seq == len(ids)
        assert set(view.vectors("default", sorted(ids))) == ids
        for id in ids:
            assert [event.event_type for event in view.events("default", id)] == ["ADD"]
            assert len(view.sources("default", id)) == 1
        assert len(list(view.projection_rows(0))) == len(ids)
    assert ledger.verify_all() == []
    return ids


def kill_cycles(store: Path, cycles: int, writers: int, seed: int) -> None:
    """Kills all writers at a random moment, again and again, and counts what was promised."""
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    for cycle in range(cycles):
        committers = [start(COMMITTER, store, f"{cycle}-{n}") for n in range(writers)]
        for committer in committers:
            assert committer.stdout is not None
            acknowledged.add(committer.stdout.readline().decode().strip())
        time.sleep(chance.random() * 0.05)
        for committer in committers:
            committer.send_signal(signal.SIGKILL)
        for committer in committers:
            out, _ = committer.communicate()
            whole = out.decode().rpartition("\n")[0]
            acknowledged.update(line for line in whole.split("\n") if line)
        with open_ledger(store) as ledger:
            if cycle == cycles - 1:
                assert acknowledged <= check_whole(ledger)
            else:
                with ledger.read() as view:
                    assert view.seq >= len(acknowledged)
    assert len(acknowledged) >= cycles * writers


@pytest.mark.slow
def test_kill_at_random_points(tmp_path: Path) -> None:
    """Each memory is whole or does not exist; every acknowledged one is there."""
    kill_cycles(tmp_path / "store", cycles=20, writers=1, seed=1)


@pytest.mark.torture
def test_kill_at_many_random_points(tmp_path: Path) -> None:
    kill_cycles(tmp_path / "store", cycles=200, writers=3, seed=2)


def test_two_processes_write_one_text(tmp_path: Path) -> None:
    """One memory; of 2 × 20 commits all but the first are told that they are second."""
    store = tmp_path / "store"
    open_ledger(store).close()
    rivals = [start(RIVAL, store, 20) for _ in range(2)]
    seconds = [int(rival.communicate(b"go\n")[0]) for rival in rivals]
    assert sum(seconds) == 39
    with open_ledger(store) as ledger, ledger.read() as view:
        (memory,) = view.list_memories("default", Listing())
        assert memory.reinforce_count == 39
        assert view.seq == 40
        assert ledger.verify_all() == []


def test_a_collision_leaves_nothing_behind(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "store") as ledger:
        add(ledger, "one")
        with pytest.raises(UniquenessCollision):
            add(ledger, "one")
        with ledger.read() as view:
            assert view.seq == 1
            assert view.stats("default")["events"] == 1
        assert ledger.verify_all() == []


def test_two_processes_make_one_store(tmp_path: Path) -> None:
    """Both go on with the ledger of the first."""
    store = tmp_path / "store"
    rivals = [start(RIVAL, store, 1) for _ in range(2)]
    assert sorted(int(rival.communicate(b"go\n")[0]) for rival in rivals) == [0, 1]
    assert not [path for path in store.iterdir() if ".new-" in path.name]


# --- locks -----------------------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from vestig.store.ledger.opening import open_ledger

with open_ledger(Path(sys.argv[2])) as ledger, ledger.write(0) as txn:
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_held_elsewhere(tmp_path: Path) -> None:
    """StoreLockedError after the time limit, naming store, holder and wait; reads go on."""
    store = tmp_path / "store"
    with open_ledger(store, lock_timeout_s=0.5) as ledger:
        id = add(ledger, "one")
        holder = start(HOLDER, store)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        began = time.monotonic()
        with pytest.raises(StoreLockedError) as caught, ledger.write(NOW):
            pass
        waited = time.monotonic() - began
        with ledger.read() as view:
            assert len(view.memories("default", [id])) == 1
        holder.communicate(b"\n")
        add(ledger, "two")
    assert waited >= 0.4
    message = str(caught.value)
    assert str(store) in message
    assert "within 0.5 s, waited" in message
    if sys.platform.startswith("linux"):
        assert f"process {holder.pid}" in message


def test_a_lock_held_by_a_thread(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "store", lock_timeout_s=0.05) as ledger:
        id = add(ledger, "one")
        caught: list[BaseException] = []

        def other() -> None:
            try:
                add(ledger, "two")
            except StoreLockedError as error:
                caught.append(error)

        with ledger.write(NOW):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            with ledger.read() as view:
                assert len(view.memories("default", [id])) == 1
    assert "another thread of this process" in str(caught[0])


def test_two_ledgers_of_one_process(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with open_ledger(store) as first, open_ledger(store, lock_timeout_s=0.05) as second:
        add(first, "one")
        with first.write(NOW), pytest.raises(StoreLockedError), second.write(NOW):
            pass
        # Looking for the holder must not have dropped the locks of this process.
        with first.write(NOW) as txn:
            txn.apply(made.added(made.memory("two")))
            with pytest.raises(StoreLockedError), second.write(NOW):
                pass
        with second.read() as view:
            assert view.seq == 2


def test_one_write_transaction_per_thread(tmp_path: Path) -> None:
    for path in (tmp_path / "store", None):
        with open_ledger(path) as ledger:
            with ledger.write(NOW) as txn:
                with pytest.raises(ConflictError), ledger.write(NOW):
                    pass
                txn.apply(made.added(made.memory("one")))
            with ledger.read() as view:
                assert view.seq == 1


def test_the_lock_holder_is_empty_where_the_system_does_not_say(tmp_path: Path) -> None:
    assert files.lock_holder(tmp_path / "nothing") == ""


# --- forks -----------------------------------------------------------------------------------


def in_child(ledger: Ledger, known: str, out: multiprocessing.SimpleQueue[object]) -> None:
    with ledger.read() as view:
        seen = len(view.memories("default", [known]))
    new = made.memory("from the child")
    with ledger.write(NOW) as txn:
        txn.apply(made.added(new, edges=(made.edge(new.id, known, EdgeType.RELATED),)))
    ledger.close()
    out.put((seen, new.id))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_no_connection_survives_a_fork(tmp_path: Path) -> None:
    """A child opens its own; both go on writing and nothing is lost."""
    context = multiprocessing.get_context("fork")
    out: multiprocessing.SimpleQueue[object] = context.SimpleQueue()
    with open_ledger(tmp_path / "store") as ledger:
        known = add(ledger, "one")
        with ledger.read():
            pass
        child = context.Process(target=in_child, args=(ledger, known, out))
        child.start()
        child.join()
        assert child.exitcode == 0
        seen, id = out.get()  # type: ignore[misc]
        assert seen == 1
        add(ledger, "two")
        with ledger.read() as view:
            assert view.seq == 3
            assert len(view.memories("default", [id])) == 1
        assert ledger.verify_all() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_the_transactions_of_other_threads(tmp_path: Path) -> None:
    """The child starts from a store at rest, though threads of the parent never stop."""
    context = multiprocessing.get_context("fork")
    out: multiprocessing.SimpleQueue[object] = context.SimpleQueue()
    stop = threading.Event()
    with open_ledger(tmp_path / "store") as ledger:
        known = add(ledger, "one")
        written: list[str] = []

        def work() -> None:
            while not stop.is_set():
                written.append(add(ledger, f"parent {len(written)}"))
                with ledger.read() as view:
                    view.stats("default")

        thread = threading.Thread(target=work)
        thread.start()
        child = context.Process(target=in_child, args=(ledger, known, out))
        child.start()
        child.join()
        stop.set()
        thread.join()
        assert child.exitcode == 0
        assert len(check_memories(ledger)) == len(written) + 2
        assert ledger.verify_all() == []


def check_memories(ledger: Ledger) -> set[str]:
    with ledger.read() as view:
        return {m.id for m in view.list_memories("default", Listing(limit=None))}


def slow_child(ledger: Ledger, opened: Event, closed: Event) -> None:
    with ledger.read():
        pass
    opened.set()
    closed.wait()
    add(ledger, "from the child")
    ledger.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_holds_locks_of_its_own(tmp_path: Path) -> None:
    """A parent that closes first must not take the WAL away from its child."""
    context = multiprocessing.get_context("fork")
    opened, closed = context.Event(), context.Event()
    ledger = open_ledger(tmp_path / "store")
    add(ledger, "one")
    child = context.Process(target=slow_child, args=(ledger, opened, closed))
    child.start()
    opened.wait()
    ledger.close()
    closed.set()
    child.join()
    assert child.exitcode == 0
    with open_ledger(tmp_path / "store") as again:
        assert len(check_memories(again)) == 2
        assert again.verify_all() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_of_a_fork_inside_a_transaction_refuses_stores(tmp_path: Path) -> None:
    """It is told so, and the parent goes on."""
    with open_ledger(tmp_path / "store") as ledger:
        id = add(ledger, "one")
        with ledger.write(NOW) as txn:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    with ledger.read():
                        pass
                except ConflictError:
                    try:
                        open_ledger(tmp_path / "store")
                    except ConflictError as error:
                        code = 0 if "forked while" in str(error) else 2
                finally:
                    os._exit(code)
            txn.apply(made.reinforced(id))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        with ledger.read() as view:
            assert view.seq == 2
        add(ledger, "two")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_memory_store_is_not_shared_over_a_fork() -> None:
    context = multiprocessing.get_context("fork")
    out: multiprocessing.SimpleQueue[object] = context.SimpleQueue()
    with open_ledger(None) as ledger:
        id = add(ledger, "one")
        child = context.Process(target=in_child, args=(ledger, id, out))
        child.start()
        child.join()
        assert child.exitcode == 1


# Commits turns of a conversation, one after the other, as another process does; says what became
# of each.
TELLER = """
import json, sys
import vestig
from vestig.testing import HashingEmbedder

store = vestig.open(sys.argv[2], embedder=HashingEmbedder(64), config={"store.lock_timeout_s": 60})
sys.stdin.readline()
found = []
for place in range(int(sys.argv[3])):
    outcome = store.commit("Yes, please do that.", session_id="s1", sequence=place)
    found.append((outcome.outcome.value, outcome.memory_id))
print(json.dumps(found))
store.close()
"""


def test_two_processes_that_commit_the_same_turn_make_one_memory(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        store.commit("The office is in Oslo, near the harbour")
    turns = 12
    tellers = [start(TELLER, tmp_path / "store", turns) for _ in range(3)]
    for teller in tellers:
        assert teller.stdin is not None
        teller.stdin.write(b"\n")
        teller.stdin.flush()
    told = [json.loads(teller.communicate(timeout=120)[0]) for teller in tellers]
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(64)) as store:
        ids = {memory.sequence: memory.id for memory in store.list(session_ids="s1", limit=100)}
        assert len(ids) == store.count(session_ids="s1") == turns
        for place in range(turns):
            kinds = sorted(one[place][0] for one in told)
            assert kinds == ["EXACT_DUPE", "EXACT_DUPE", "INSERTED_NEW"]
            assert {one[place][1] for one in told} == {ids[place]}
        first = store.show(ids[0]).memory
        assert first.reinforce_count == turns - 1 + 2
        assert store.admin.doctor().exit_code == 0
