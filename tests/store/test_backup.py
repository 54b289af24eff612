"""Copies made while the store is in use."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ledger_rows as made
import vestig
from filled_store import doctor, exported, filled, keeper_of, levels
from vestig.errors import ConflictError, VestigError
from vestig.store.ledger.opening import open_ledger
from vestig.store.upkeep.whole_store import backup
from vestig.testing import HashingEmbedder


def test_the_copy_equals_the_store_and_passes_doctor(tmp_path: Path) -> None:
    with filled(tmp_path / "store", jobs=False) as ledger:
        keeper_of(ledger).rebuild()
        report = backup(ledger, tmp_path / "store" / "projection", tmp_path / "copy")
        raw = exported(ledger)
    with open_ledger(tmp_path / "copy") as copy:
        assert exported(copy) == raw
        keeper = keeper_of(copy)
        # The projection came along, so nothing has to be made again.
        assert keeper.take_degraded() == []
        assert keeper.core.rows == 12
        assert levels(doctor(copy)) == {}
    assert report["seq"] == 14
    for path in (tmp_path / "copy").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("inside", ["", "backup 2026", "deep/er", "link/copy"])
def test_no_copy_lies_in_the_folder_of_its_store(tmp_path: Path, inside: str) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        store.commit("The safe of the mill is blue")
        (tmp_path / "link").symlink_to(tmp_path / "store")
        before = sorted((tmp_path / "store").rglob("*"))
        start = tmp_path if inside.startswith("link") else tmp_path / "store"
        with pytest.raises(vestig.ValidationError, match=r"dest: .* outside of the store"):
            store.admin.backup(start / inside)
        assert sorted((tmp_path / "store").rglob("*")) == before


@pytest.mark.parametrize("of", ["store", "other"])
@pytest.mark.parametrize("inside", ["copy", "projection/copy", "deep/er", "link/copy"])
def test_no_export_and_no_restored_store_lies_in_a_store(
    tmp_path: Path, inside: str, of: str
) -> None:
    for name in ("store", "other"):
        with vestig.open(tmp_path / name, embedder=HashingEmbedder(16)) as store:
            store.commit("The safe of the mill is blue")
    (tmp_path / "link").symlink_to(tmp_path / of)
    target = (tmp_path if inside.startswith("link") else tmp_path / of) / inside
    before = sorted((tmp_path / of).rglob("*"))
    for name in ("md", "jsonl", "backup", "restore"):
        with pytest.raises(vestig.ValidationError, match=f"outside of the store, .*{of}"):
            act(name, tmp_path / "store", target)
        assert sorted((tmp_path / of).rglob("*")) == before
    for name in ("md", "jsonl", "backup"):
        act(name, tmp_path / "store", tmp_path / "beside" / name)


def test_a_copy_without_projection_makes_its_own(tmp_path: Path) -> None:
    with filled(tmp_path / "store", jobs=False) as ledger:
        backup(ledger, None, tmp_path / "copy")
    with open_ledger(tmp_path / "copy") as copy:
        assert keeper_of(copy).core.rows == 12
        assert levels(doctor(copy)) == {}


def test_the_copy_is_a_store_of_its_own(tmp_path: Path) -> None:
    """The witness goes by the real path: commits to one are no loss in the other."""
    state = tmp_path / "state"
    with filled(tmp_path / "store", jobs=False, state_dir=state) as ledger:
        backup(ledger, None, tmp_path / "copy")
        with ledger.write(made.NOW + 500) as txn:
            txn.apply(made.added(made.memory("Only in the original")))
    with open_ledger(tmp_path / "copy", state_dir=state) as copy:
        with copy.write(made.NOW + 600) as txn:
            txn.apply(made.added(made.memory("Only in the copy")))
        assert copy.verify_all() == []
    with open_ledger(tmp_path / "store", state_dir=state) as ledger:
        assert ledger.verify_all() == []


@pytest.mark.parametrize("kind", ["file", "full folder"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    dest = tmp_path / "copy"
    if kind == "file":
        dest.write_text("precious")
    else:
        dest.mkdir()
        (dest / "precious").write_text("precious")
    with (
        filled(tmp_path / "store", jobs=False) as ledger,
        pytest.raises(ConflictError, match="empty folder"),
    ):
        backup(ledger, None, dest)
    kept = dest if kind == "file" else dest / "precious"
    assert kept.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "store"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with filled(tmp_path / "store", jobs=False) as ledger:
        backup(ledger, None, tmp_path / "copy")
    assert (tmp_path / "copy" / "ledger.sqlite").is_file()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        filled(tmp_path / "store", jobs=False) as ledger,
        pytest.raises(VestigError, match="no copy can be written there"),
    ):
        backup(ledger, None, tmp_path / "file" / "copy")


def test_a_copy_made_while_another_thread_commits_is_one_state(tmp_path: Path) -> None:
    stop = threading.Event()
    with filled(tmp_path / "store", jobs=False) as ledger:
        keeper = keeper_of(ledger)
        keeper.rebuild()

        def commit() -> None:
            number = 0
            while not stop.is_set():
                with ledger.write(made.NOW + 1_000 + number) as txn:
                    txn.apply(made.added(made.memory(f"While copying {number}")))
                if number % 10 == 0:
                    keeper.rebuild()
                number += 1

        writer = threading.Thread(target=commit)
        writer.start()
        try:
            for number in range(5):
                backup(ledger, tmp_path / "store" / "projection", tmp_path / f"copy{number}")
        finally:
            stop.set()
            writer.join()
    for number in range(5):
        with open_ledger(tmp_path / f"copy{number}") as copy:
            keeper_of(copy)
            assert levels(doctor(copy)) == {}


KILLED = """
import os, sys, signal, vestig
from vestig.store.portable import export
from vestig.store.upkeep import whole_store
from vestig.exchange import export as markdown
from vestig.testing import HashingEmbedder
def stop(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
act, store, target = sys.argv[1:]
if act == "restore":
    whole_store._write_witness = stop
    vestig.restore(store, target)
with vestig.open(store, embedder=HashingEmbedder(16)) as opened:
    whole_store._write_witness = stop
    export.Trailer = stop
    beside, files = markdown._beside, []
    markdown._beside = lambda *of: stop() if files else files.append(1) or beside(*of)
    opened.admin.backup(target) if act == "backup" else opened.export(target, format=act)
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder(16)) as store:
        store.commit_many([{"content": f"The safe of mill {n} is blue"} for n in range(400)])
    return tmp_path / "store"


def act(name: str, store: Path, target: Path) -> None:
    if name == "restore":
        vestig.restore(store, target)
        return
    with vestig.open(store, embedder=HashingEmbedder(16)) as opened:
        opened.admin.backup(target) if name == "backup" else opened.export(target, format=name)


@pytest.mark.parametrize("name", ["backup", "restore", "jsonl", "md"])
def test_the_next_copy_to_a_place_removes_what_killed_ones_left(kept: Path, name: str) -> None:
    place = kept.parent / "to"
    place.mkdir()
    target = place / ("all.jsonl" if name == "jsonl" else "copy")
    for _ in range(2):
        words = [sys.executable, "-c", KILLED, name, str(kept), str(target)]
        done = subprocess.run(words, check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(list(place.iterdir())) == 2, "each left one"
    (left, used) = sorted(place.iterdir())
    others = [
        place / f".other{left.name[-13:]}", place / f"{target.name}.new-01234567",
        place / f".{target.name}.new-0123456", place / f".{target.name}.new-notes123",
    ]  # fmt: skip
    for other in others:
        other.write_text("mine")
    (place / f".{target.name}.new-89abcdef").write_text("a note of somebody")
    held = os.open(used, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    act(name, kept, target)
    assert not left.exists()
    assert used.exists(), "somebody writes it"
    assert all(other.read_text() == "mine" for other in others)
    assert (place / f".{target.name}.new-89abcdef").read_text() == "a note of somebody"
    os.close(held)
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    act(name, kept, target)
    assert not used.exists()
