"""Forgetting beside readers of older states, other writers, and kills."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self, cast

import pytest

import vestig
from forget_checks import OTHER, QUICK, SECRET, clean, commit, folder_of
from scripted import Opener
from traces import holding
from vestig.errors import ForgetIncompleteError, NotFoundError, StoreDamagedError
from vestig.store import erasure
from vestig.store.projection import background
from vestig.store.sqlite import files
from vestig.testing import HashingEmbedder

CHILD = """
import sys, vestig
from vestig.testing import HashingEmbedder
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(64), read_only=sys.argv[3] == "reads")
print(len(store.recall("vault").results), flush=True)
if sys.argv[2] == "idle":
    sys.stdin.readline()
    print(len(store.recall("vault").results), flush=True)
else:
    with store._session.ledger.read() as view:
        print(view.seq, flush=True)
        sys.stdin.readline()
    store.close()
    print("let go", flush=True)
sys.stdin.readline()
"""


class Reader:
    """Another process that has recalled once; then it does what `how` says, until it is told."""

    def __init__(self, folder: Path, how: str, mode: str = "writes") -> None:
        arguments = [sys.executable, "-c", CHILD, str(folder), how, mode]
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["writes", "reads"])
def test_an_idle_process_lets_go_of_an_older_state(opener: Opener, mode: str) -> None:
    store = opener()
    id = commit(store, SECRET)
    commit(store, OTHER)
    store._session.keeper.compact()
    with Reader(folder_of(store), "idle", mode) as reader:
        assert reader.line() == "2"
        # twice: it lets go of what it mapped while it was idle as well
        for gone in (id, None):
            text = gone or commit(store, "Kofi owns the search cluster this month")
            store._session.keeper.compact()
            report = store.forget(text)
            assert (report.memory_ids, report.residues) == ((text,), 0)
        reader.tell()
        assert reader.line() == "1"
        reader.tell()
    assert holding(folder_of(store), SECRET.encode()) == []
    clean(store)


def test_a_view_that_is_open_is_waited_for(opener: Opener) -> None:
    store = opener(config=QUICK)
    id = commit(store, SECRET)
    commit(store, OTHER)
    store._session.keeper.compact()
    with Reader(folder_of(store), "view") as reader:
        assert [reader.line(), reader.line()] == ["2", "2"]
        with pytest.raises(ForgetIncompleteError, match=rf"{id}.*--finish") as raised:
            store.forget(id)
        assert SECRET not in str(raised.value)
        assert isinstance(raised.value, StoreDamagedError)
        with pytest.raises(NotFoundError, match="forgotten"):
            store.show(id)
        assert [f.check for f in store.admin.doctor().findings if f.level != "ok"] == ["residues"]
        reader.tell()
        assert reader.line() == "let go"
        report = store.admin.forget_finish()
        reader.tell()
    assert report.memory_ids == (id,)
    assert report.residues == 0
    assert holding(folder_of(store), SECRET.encode()) == []
    clean(store)
    assert store.admin.forget_finish().memory_ids == ()


def test_a_store_that_is_read_often_is_not_looked_at_besides(opener: Opener) -> None:
    store = opener()
    commit(store, OTHER)
    keeper = store._session.keeper
    seen = Refreshes(keeper.core)
    keeper.core = cast("Any", seen)
    reads, until = 0, time.monotonic() + 3 * background.IDLE_S
    while time.monotonic() < until:
        with store._session.ledger.read() as view:
            keeper.align(view)
        reads += 1
        time.sleep(background.IDLE_S / 10)
    assert seen.count == reads
    assert seen.idle.wait(2.0)
    keeper.core = seen.core


class Refreshes:
    """A projection that counts how often it looks for a newer manifest."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.count = 0
        self.reader = threading.get_ident()
        self.idle = threading.Event()

    def refresh(self) -> bool:
        if threading.get_ident() == self.reader:
            self.count += 1
        else:
            self.idle.set()
        return bool(self.core.refresh())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)


def test_a_closed_store_holds_no_segment_again(opener: Opener) -> None:
    store, other = opener(config=QUICK), opener()
    id = commit(store, SECRET)
    commit(store, OTHER)
    store._session.keeper.compact()
    assert len(other.recall("vault").results) == 2
    other.close()
    commit(store, "Kofi owns the search cluster this month")
    store._session.keeper.compact()
    time.sleep(3 * background.IDLE_S)
    assert store.forget(id).residues == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_idle_process_lets_go_too(opener: Opener) -> None:
    store = opener()
    id = commit(store, SECRET)
    commit(store, OTHER)
    store._session.keeper.compact()
    assert len(store.recall("vault").results) == 2
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        os.read(told, 1)
        os._exit(len(store.recall("vault").results))
    os.close(told)
    try:
        assert store.forget(id).residues == 0
    finally:
        os.close(tell)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


KILLED = """
import os, sys, vestig
from vestig.store import erasure
from vestig.store.ledger.ledger import Ledger
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.testing import FrozenClock, HashingEmbedder
place = {
    "committed": (ProjectionKeeper, "after_commit"),
    "segments": (ProjectionKeeper, "drop_forgotten"),
    "copies": (erasure, "remove_copies"),
    "flushed": (Ledger, "checkpoint"),
    "searched": (erasure, "drop_patterns"),
}[sys.argv[3]]
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(64), clock=FrozenClock())
setattr(*place, lambda *_, **__: os._exit(9))
store.forget(sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["committed", "segments", "copies", "flushed", "searched"])
def test_a_forgetting_that_was_killed_is_finished_later(opener: Opener, step: str) -> None:
    store = opener()
    id = commit(store, SECRET)
    commit(store, OTHER)
    folder = folder_of(store)
    (folder / "ledger.bak-1").write_bytes(SECRET.encode())
    store._session.keeper.compact()
    store.close()
    child = subprocess.run([sys.executable, "-c", KILLED, str(folder), id, step], check=False)
    assert child.returncode == 9
    store = opener()
    assert len(store.recall("vault code").results) == 1
    (residues,) = (f for f in store.admin.doctor().findings if f.check == "residues")
    assert residues.level == "finding"
    assert "--finish" in residues.detail
    assert store.admin.forget_finish().memory_ids == (id,)
    assert holding(folder, SECRET.encode()) == []
    clean(store)


def test_another_process_sees_it_gone_before_anything_is_published(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = opener(), opener()
    id, kept = commit(store, SECRET), commit(store, OTHER)
    store._session.keeper.compact()
    assert len(other.recall("vault").results) == 2
    with store._session.ledger.write(0) as txn:
        txn.forget("default", [id], actor=None)
    assert [hit.id for hit in other.recall("vault").results] == [kept]
    # A tail that is published by somebody else does not bring it back.
    commit(other, "Kofi owns the search cluster this month")
    other._session.keeper._publish(False)
    assert id not in {hit.id for hit in opener().recall("vault").results}


def test_a_rebuild_of_an_older_state_brings_nothing_back(opener: Opener) -> None:
    """One process reads everything; another forgets and publishes; then the first publishes."""
    store, other = opener(), opener()
    id = commit(store, SECRET)
    commit(store, OTHER)
    slow = other._session.keeper
    with other._session.ledger.read() as view:
        slow.align(view)
        slow.core.reset()
        slow._fill(view, None)
    store.forget(id)
    slow._publish(True)
    assert holding(folder_of(store), b"ximena") == []
    assert len(other.recall("vault").results) == 1


def test_a_store_opened_right_after_the_last_one_closed_is_looked_after() -> None:
    class Counted:
        """Notices that it was refreshed."""

        def __init__(self) -> None:
            self.refreshed = threading.Event()

        def refresh_if_idle(self) -> None:
            self.refreshed.set()

    first, second = Counted(), Counted()
    background.watch_idle(first)
    background.unwatch_idle(first)
    background.watch_idle(second)
    try:
        assert second.refreshed.wait(30)
    finally:
        background.unwatch_idle(second)


def test_a_file_of_somebody_else_is_named_as_what_is_to_go(tmp_path: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        id = store.commit("The safe of the mill is blue and its code is 4711").memory_id
        store.export(tmp_path / "all.jsonl")
        place = tmp_path / "store" / "projection" / "all.jsonl"
        (tmp_path / "all.jsonl").rename(place)
        with pytest.raises(ForgetIncompleteError) as caught:
            store.forget(id)
        assert "Move projection/all.jsonl out of the store, then run" in str(caught.value)
        assert "readers" not in str(caught.value)
        place.unlink()
        store.admin.forget_finish()


@pytest.mark.parametrize("error", [files.full(Path("x")), OSError(errno.ENOSPC, "No space")])
def test_a_full_disk_is_said_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_of: object) -> None:
        raise error

    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        id = store.commit("The safe of the mill is blue and its code is 4711").memory_id
        with monkeypatch.context() as patch:
            patch.setattr(erasure, "remove_copies", fails)
            with pytest.raises(ForgetIncompleteError) as caught:
                store.forget(id)
        said = str(caught.value)
        assert "found: a full disk; the memories are deleted. Free some space, then run" in said
        assert "nothing was changed" not in said
        store.admin.forget_finish()


def test_forgetting_is_named_on_a_full_disk_while_space_is_kept_for_it(tmp_path: Path) -> None:
    assert "memory forget" not in str(files.full(tmp_path / "ledger.sqlite"))
    (tmp_path / files.RESERVE_FILE).touch()
    for path in (tmp_path, tmp_path / "ledger.sqlite"):
        assert "`vestig memory forget`, for which some is kept, may work" in str(files.full(path))
