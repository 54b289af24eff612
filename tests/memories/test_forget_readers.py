"""Forgetting beside readers of older states, other writers, and kills."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forget_checks import OTHER, QUICK, SECRET, clean, commit, folder_of
from scripted import Opener
from traces import holding
from vestig.errors import ForgetIncompleteError, NotFoundError, StoreDamagedError

CHILD = """
import sys, vestig
from vestig.testing import HashingEmbedder
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(64))
if sys.argv[2] == "maps":
    print(len(store.recall("vault").results), flush=True)
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


@pytest.mark.parametrize("how", ["maps", "reads"])
def test_a_reader_of_an_older_state_is_waited_for(opener: Opener, how: str) -> None:
    store = opener(config=QUICK)
    id = commit(store, SECRET)
    commit(store, OTHER)
    store._session.keeper.compact()
    arguments = [sys.executable, "-c", CHILD, str(folder_of(store)), how]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline().strip() == "2"
        with pytest.raises(ForgetIncompleteError, match=rf"{id}.*--finish") as raised:
            store.forget(id)
        assert SECRET not in str(raised.value)
        assert isinstance(raised.value, StoreDamagedError)
        with pytest.raises(NotFoundError, match="forgotten"):
            store.show(id)
        assert [f.check for f in store.admin.doctor().findings if f.level != "ok"] == ["residues"]
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline().strip() in ("1", "let go")
        report = store.admin.forget_finish()
        reader.stdin.write("\n")
        reader.stdin.flush()
    assert report.memory_ids == (id,)
    assert report.residues == 0
    assert holding(folder_of(store), SECRET.encode()) == []
    clean(store)
    assert store.admin.forget_finish().memory_ids == ()


KILLED = """
import os, sys, vestig
from vestig.store.erasure import erase
from vestig.store.ledger.ledger import SqliteLedger
from vestig.store.projection.keeper import ProjectionKeeper
from vestig.testing import FrozenClock, HashingEmbedder
place = {
    "committed": (ProjectionKeeper, "after_commit"),
    "segments": (ProjectionKeeper, "drop_forgotten"),
    "copies": (erase, "remove_copies"),
    "flushed": (SqliteLedger, "checkpoint"),
    "searched": (SqliteLedger, "drop_erasures"),
}[sys.argv[3]]
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(64), clock=FrozenClock())
setattr(*place, lambda *_, **__: os._exit(9))
store.forget(sys.argv[2])
"""


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
