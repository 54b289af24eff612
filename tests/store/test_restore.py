"""Backups brought to a place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ledger_rows as made
from filled_store import doctor, exported, filled, keeper_of, levels
from vestig.errors import ConflictError, NotFoundError, StoreDamagedError
from vestig.store.ledger.opening import open_ledger
from vestig.store.upkeep.whole_store import backup, restore

# The step of a restore in which the process is killed.
STEPS = ("_copy_projection", "_check", "_write_witness", "files.sync_folder", "os.rename")
KILLED = """
import os, signal, sys
from pathlib import Path
from vestig.store.upkeep import whole_store
home, _, name = sys.argv[3].rpartition(".")
home = getattr(whole_store, home) if home else whole_store
setattr(home, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
whole_store.restore(Path(sys.argv[1]), Path(sys.argv[2]), None)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A backup of a store of twelve nodes."""
    with filled(tmp_path / "store", jobs=False) as ledger:
        keeper_of(ledger).rebuild()
        backup(ledger, tmp_path / "store" / "projection", tmp_path / "copy")
    return tmp_path / "copy"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_restored_store_is_the_one_that_was_copied(copy: Path, tmp_path: Path) -> None:
    before = contents(copy)
    report = restore(copy, tmp_path / "again", None)
    assert before.items() <= contents(copy).items()
    with open_ledger(tmp_path / "again") as again, open_ledger(tmp_path / "store") as store:
        assert exported(again) == exported(store)
        keeper = keeper_of(again)
        assert keeper.take_degraded() == []
        assert levels(doctor(again)) == {}
    assert (report["seq"], report["memories"]) == (14, 12)


def test_a_place_that_holds_a_store_is_refused(copy: Path, tmp_path: Path) -> None:
    with filled(tmp_path / "mine", jobs=False):
        pass
    before = contents(tmp_path / "mine")
    with pytest.raises(ConflictError, match="it holds a store; nothing was changed"):
        restore(copy, tmp_path / "mine", None)
    assert contents(tmp_path / "mine") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "mine", "store"]


def test_a_place_that_holds_other_things_is_refused(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one").write_text("precious")
    with pytest.raises(ConflictError, match="it holds something; nothing was changed"):
        restore(copy, tmp_path / "letters", None)
    assert contents(tmp_path / "letters") == {"one": b"precious"}


def test_a_folder_without_a_store_is_no_backup(tmp_path: Path) -> None:
    for name in ("nowhere", "mem_3c0a1bb8", "out.jsonl"):
        with pytest.raises(NotFoundError, match=r"`vestig backup` made.*`vestig unarchive ID`"):
            restore(tmp_path / name, tmp_path / "again", None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "overwritten", "emptied", "changed row", "lost end"])
def test_a_broken_backup_is_refused_before_anything_is_written(
    copy: Path, tmp_path: Path, harm: str
) -> None:
    ledger = copy / "ledger.sqlite"
    raw = ledger.read_bytes()
    if harm == "cut":
        ledger.write_bytes(raw[: len(raw) // 2])
    elif harm == "overwritten":
        ledger.write_bytes(raw[:8_192] + b"\xff" * (len(raw) - 8_192))
    elif harm == "emptied":
        ledger.write_bytes(b"")
    elif harm == "changed row":
        assert raw.count("café № 7".encode()) > 0
        ledger.write_bytes(raw.replace("café № 7".encode(), "cafe! № 7".encode()))
    else:
        with open_ledger(tmp_path / "store") as store, store.write(made.NOW + 500) as txn:
            txn.apply(made.added(made.memory("A later one")))
        (copy / "witness").write_bytes((tmp_path / "store" / "witness").read_bytes())
    with pytest.raises(StoreDamagedError):
        restore(copy, tmp_path / "again", None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "store"]


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_leaves_no_store_at_the_place(copy: Path, tmp_path: Path, step: str) -> None:
    before, place = contents(copy), tmp_path / "again"
    words = [sys.executable, "-c", KILLED, str(copy), str(place), step]
    assert subprocess.run(words, check=False, timeout=60).returncode == -9
    assert not place.exists()
    assert before.items() <= contents(copy).items()
    assert restore(copy, place, None)["memories"] == 12


def test_an_older_backup_takes_the_place_of_a_lost_store(tmp_path: Path) -> None:
    """Its loss was remembered: a restore is the answer to that, and not another loss."""
    state, place = tmp_path / "state", tmp_path / "store"
    with filled(place, jobs=False, state_dir=state) as ledger:
        backup(ledger, None, tmp_path / "copy")
        with ledger.write(made.NOW + 500) as txn:
            txn.apply(made.added(made.memory("Only in the lost one")))
    shutil.rmtree(place)
    place.mkdir()
    with pytest.raises(StoreDamagedError, match=r"with vestig\.restore"):
        open_ledger(place, state_dir=state)
    restore(tmp_path / "copy", place, state)
    with open_ledger(place, state_dir=state) as again:
        assert again.verify_all() == []
        with again.read() as view:
            assert view.seq == 14
