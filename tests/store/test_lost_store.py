"""Stores that are gone, moved, or elsewhere than they were."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from command_lines import Answer, run_line
from scripted import Opener
from vestig.errors import StoreDamagedError
from vestig.store.ledger.opening import open_ledger
from vestig.store.sqlite import files
from vestig.testing import HashingEmbedder

TEXT = "The vault key lies with Ines in the harbour office"
OTHER = "Kofi owns the search cluster and is on call"


@pytest.fixture(autouse=True)
def lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files lie elsewhere, so that stores below tmp_path are meant to last."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def state(isolated: Path) -> Path:
    """The user's state folder."""
    return Path(os.environ["XDG_STATE_HOME"]) / "vestig"


@pytest.fixture
def folder(opener: Opener, tmp_path: Path) -> Path:
    """A store with two commits, below a folder of its own."""
    (tmp_path / "above").mkdir()
    with opener("above/s") as store:
        store.commit(TEXT)
        store.commit(OTHER)
    return tmp_path / "above" / "s"


def emptied(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def without_ledger(folder: Path) -> None:
    (folder / "ledger.sqlite").unlink()


def without_parent(folder: Path) -> None:
    shutil.rmtree(folder.parent)


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


LOSSES = (emptied, without_ledger, without_parent)
REMOVALS = (moved, removed)


@pytest.mark.parametrize("harm", [*LOSSES, *REMOVALS])
def test_a_lost_store_is_said_to_be_lost(
    opener: Opener, folder: Path, harm: Callable[[Path], None]
) -> None:
    harm(folder)
    before = sorted(folder.parent.rglob("*"))
    said = r"store [0-9a-f]{32} with \d+ transactions, the last at 2026-03-18T12:00:00\.000000Z"
    with pytest.raises(StoreDamagedError, match=said):
        opener("above/s", read_only=True)
    with pytest.raises(StoreDamagedError, match=said):
        opener("above/s").recall("vault")
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize("harm", LOSSES)
def test_no_write_begins_in_the_place_of_a_lost_store(
    opener: Opener, folder: Path, harm: Callable[[Path], None]
) -> None:
    harm(folder)
    with pytest.raises(StoreDamagedError, match="init=True"):
        opener("above/s").commit(TEXT)


@pytest.mark.parametrize("harm", REMOVALS)
def test_where_the_whole_folder_is_gone_the_next_write_begins_a_store_and_says_so(
    opener: Opener, folder: Path, harm: Callable[[Path], None]
) -> None:
    harm(folder)
    store = opener("above/s")
    with pytest.raises(StoreDamagedError):
        store.count()
    first, second = store.commit(TEXT), store.commit(OTHER)
    assert [entry.code for entry in first.degraded] == ["store_replaced"]
    assert "moved or removed" in first.degraded[0].detail
    assert second.degraded == ()
    assert store.count() == 2
    store.close()
    assert opener("above/s", read_only=True).count() == 2


@pytest.mark.parametrize("harm", [*LOSSES, *REMOVALS])
def test_init_begins_anew_wherever_a_store_was_lost(
    opener: Opener, folder: Path, harm: Callable[[Path], None]
) -> None:
    harm(folder)
    with opener("above/s", init=True) as store:
        assert store.count() == 0
        assert store.commit("Deploys happen on Tuesdays after noon").degraded == ()
    with opener("above/s") as store:
        assert [m.content for m in store.list()] == ["Deploys happen on Tuesdays after noon"]
        levels = {f.check: f.level for f in store.admin.doctor().findings}
    assert levels["witness"] == "ok"
    assert "damage" not in levels.values()


def test_init_does_not_take_the_log_of_a_lost_store(opener: Opener, tmp_path: Path) -> None:
    """SQLite would replay it into the new ledger."""
    store = opener("s")
    store.commit(TEXT)
    log = (tmp_path / "s" / "ledger.sqlite-wal").read_bytes()
    assert log
    store.close()
    (tmp_path / "s" / "ledger.sqlite").unlink()
    (tmp_path / "s" / "ledger.sqlite-wal").write_bytes(log)
    with opener("s", init=True) as store:
        store.commit(OTHER)
        assert [m.content for m in store.list()] == [OTHER]
        assert store.admin.doctor().exit_code == 1, "it names what was set aside"
    assert next((tmp_path / "s").glob("set-aside-*/ledger.sqlite-wal")).read_bytes() == log


def on_other_devices(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    """Records as if the store had been on a disk that is not mounted any more."""

    from vestig.store.ledger import absent_store

    for record in list(absent_store.all_records(state)):
        file = absent_store._file(state, record.path)
        changed = file.read_bytes().replace(
            f'"parent_device":{record.parent_device}'.encode(), b'"parent_device":1'
        )
        assert changed != file.read_bytes()
        file.write_bytes(changed)


def test_an_unmounted_disk(
    opener: Opener, folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_other_devices(monkeypatch, state)
    opener("above/s").close()  # numbers of devices change; a store that is there is there
    on_other_devices(monkeypatch, state)
    removed(folder)
    for call in (lambda s: s.count(), lambda s: s.commit(TEXT)):
        with pytest.raises(StoreDamagedError, match="is the disk mounted"):
            call(opener("above/s"))
    assert not folder.exists()


def test_stores_in_the_temporary_folder_leave_no_record(
    opener: Opener, tmp_path: Path, state: Path
) -> None:
    for number in range(50):
        with opener(f"temporary/{number}") as store:
            store.commit(TEXT)
    assert not state.exists() or list(state.iterdir()) == []


# --- while open -------------------------------------------------------------------------------


def replaced(folder: Path) -> None:
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    shutil.rmtree(folder)
    other.rename(folder)


def ledger_replaced(folder: Path) -> None:
    raw = (folder / "ledger.sqlite").read_bytes()
    (folder / "ledger.sqlite").unlink()
    (folder / "ledger.sqlite").write_bytes(raw)


def log_removed(folder: Path) -> None:
    (folder / "ledger.sqlite-wal").unlink()


CALLS: tuple[Callable[[vestig.Vestig], object], ...] = (
    lambda store: store.commit("Invoices are rendered on the first of the month"),
    lambda store: store.recall("vault key"),
    lambda store: store.list(),
)


@pytest.mark.parametrize(
    "harm", [removed, moved, without_ledger, replaced, ledger_replaced, log_removed]
)
def test_what_goes_while_open_acknowledges_nothing(
    opener: Opener, folder: Path, harm: Callable[[Path], None]
) -> None:
    store = opener("above/s")
    store.commit("Deploys happen on Tuesdays after noon")
    assert store.count() == 3
    harm(folder)
    for _ in range(2):
        for call in CALLS:
            with pytest.raises(StoreDamagedError, match=r"(moved|deleted|replaced).* while open"):
                call(store)
    store.admin.backup(folder.with_name("saved"))
    store.close()
    with opener("above/saved") as saved:
        assert saved.count() == 3, "what this process had open is not lost"


@pytest.mark.parametrize("name", ["", "ledger.sqlite", "ledger.sqlite-wal"])
@pytest.mark.parametrize("calls", [0, 1, 3], ids=lambda count: f"{count} calls")
def test_what_comes_back_while_open_is_used_again(
    opener: Opener, folder: Path, name: str, calls: int
) -> None:
    store = opener("above/s")
    store.commit("Deploys happen on Tuesdays after noon")
    away = folder.with_name("away")
    (folder / name).rename(away)
    for call in CALLS[:calls]:
        with pytest.raises(StoreDamagedError, match="put"):
            call(store)
    away.rename(folder / name)
    assert store.recall("vault key").degraded == ()
    assert store.commit("Invoices are rendered on the first of the month").seq is not None
    assert store.count() == 4
    store.close()
    with opener("above/s") as again:
        assert again.count() == 4
        assert again.admin.doctor().exit_code == 0


def test_what_another_process_wrote_elsewhere_meanwhile_is_read(
    opener: Opener, folder: Path
) -> None:
    store = opener("above/s")
    store.commit("Deploys happen on Tuesdays after noon")
    away = folder.with_name("away")
    folder.rename(away)
    with pytest.raises(StoreDamagedError):
        store.count()
    line = (
        "import sys, vestig; from vestig.testing import HashingEmbedder;"
        " vestig.open(sys.argv[1], embedder=HashingEmbedder(64)).commit(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", line, str(away), "The ferry leaves at six"], check=True)
    away.rename(folder)
    assert store.recall("when does the ferry leave?")[0].content == "The ferry leaves at six"
    assert store.commit("Invoices are rendered on the first of the month").seq is not None
    levels = {found.check: found.level for found in store.admin.doctor().findings}
    levels.pop("clock")  # that of this store stands still
    assert set(levels.values()) <= {"ok", "info"}


def test_another_store_in_its_place_is_neither_read_nor_changed(
    opener: Opener, folder: Path
) -> None:
    store = opener("above/s")
    store.commit_many([f"Crate {n} went to the harbour" for n in range(300)])
    moved(folder)
    with opener("above/s", init=True) as other:
        other.commit("Another store lies here now")
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    for call in CALLS:
        with pytest.raises(StoreDamagedError, match="open the path again"):
            call(store)
    store.close()
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before


def _commit_for_ever(store: vestig.Vestig, acknowledged: list[str | None]) -> None:
    for number in range(100_000):
        text = f"Crate {number} went to the harbour of town {number}"
        acknowledged.append(store.commit(text).memory_id)


def test_every_acknowledged_commit_lies_at_the_path(opener: Opener, tmp_path: Path) -> None:
    """The folder is moved at some moment of a loop of commits, by another process."""
    for trial in range(12):
        store = opener(f"t{trial}")
        store.commit(TEXT)
        folder, away = tmp_path / f"t{trial}", tmp_path / f"away{trial}"
        mover = subprocess.Popen(
            ["sh", "-c", f"sleep 0.0{trial % 7 + 1}; mv {folder} {away}"], stdin=subprocess.DEVNULL
        )
        acknowledged: list[str | None] = []
        with pytest.raises(StoreDamagedError):
            _commit_for_ever(store, acknowledged)
        mover.wait()
        store.close()
        with opener(f"away{trial}") as there:
            held = {m.id for m in there.list(limit=1_000)}
        assert set(acknowledged) <= held


# --- the command line -------------------------------------------------------------------------


@pytest.fixture
def line(capfd: pytest.CaptureFixture[str], folder: Path) -> Callable[..., Answer]:
    return lambda *words: run_line(capfd, folder, words)


def test_doctor_forgets_a_lost_store(line: Callable[..., Answer], folder: Path) -> None:
    emptied(folder)
    assert line("memory", "list").code == 3
    assert line("memory", "add", TEXT).code == 3
    assert line("doctor").code == 3
    dropped = line("doctor", "--forget-lost")
    assert dropped.code == 0, dropped
    assert str(folder) in dropped.out
    assert line("memory", "list").code == 0
    assert line("doctor").code == 1
    assert line("memory", "add", TEXT).code == 0


def test_the_ways_out_of_a_lost_ledger_work(
    line: Callable[..., Answer], folder: Path, tmp_path: Path
) -> None:
    backup, before = str(tmp_path / "backup"), line("count").out
    assert line("backup", backup).code == 0
    without_ledger(folder)
    refused = line("count")
    assert refused.code == 3
    # a record that is dropped frees no folder that holds parts of a store
    assert "--forget-lost" not in refused.err
    assert "move what is left there away and bring a backup there" in refused.err
    for _ in range(2):
        left = line("doctor", "--forget-lost")
        assert left.code == 1
        assert "is left there: move it away" in left.out
    folder.rename(tmp_path / "aside")
    assert line("count").out == "0\n"
    assert line("restore", backup).code == 0
    assert line("count").out == before
    without_ledger(folder)
    assert '`vestig add "…" --init`' in line("count").err
    assert line("add", TEXT, "--init").code == 0


def test_doctor_forgets_no_store_that_is_there(
    line: Callable[..., Answer], folder: Path, state: Path
) -> None:
    before = sorted(path.name for path in state.iterdir())
    assert line("doctor", "--forget-lost").code == 0
    assert sorted(path.name for path in state.iterdir()) == before


def test_doctor_lists_all_stores(
    line: Callable[..., Answer], opener: Opener, folder: Path, state: Path, tmp_path: Path
) -> None:
    with opener("kept") as store:
        store.commit(TEXT)
    assert line("doctor", "--global").code == 0
    shutil.rmtree(folder)
    found = line("doctor", "--global")
    assert found.code == 1
    assert str(folder) in found.out
    assert "gone" in found.out
    assert str(tmp_path / "kept") in found.out
    assert line("doctor", "--global", "--forget-lost").code == 0
    assert line("doctor", "--global").code == 0
    assert str(folder) not in line("doctor", "--global").out
    assert len(list(state.iterdir())) == 2, "record and witness of the one that is left"


def test_doctor_gives_no_time_to_a_store_that_an_import_made(
    line: Callable[..., Answer], opener: Opener, folder: Path, tmp_path: Path
) -> None:
    """Its transactions have the times of the file, and none of its own."""
    exported = str(tmp_path / "all.jsonl")
    assert line("export", exported).code == 0
    with opener("copy") as store:
        store.import_(exported)
    rows = line("doctor", "--global").out.splitlines()
    (row,) = [row for row in rows if str(tmp_path / "copy") in row]
    assert "transactions" in row
    assert "the last at" not in row


def test_destroy_removes_a_store_and_nothing_else(
    line: Callable[..., Answer], folder: Path, state: Path
) -> None:
    (folder / "thesis.tex").write_text("x")
    unasked = line("destroy", str(folder))
    assert unasked.code == 2
    assert (folder / "ledger.sqlite").exists()
    report = line("destroy", str(folder), "--yes", "--json").document
    assert report["schema"] == "vestig/destruction/1"
    assert report["transactions"] > 1
    assert len(report["store_uuid"]) == 32
    assert report["bytes"] > 10_000
    assert report["left"] == [str(folder / "thesis.tex")]
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert list(state.iterdir()) == []
    (folder / "thesis.tex").unlink()
    assert line("memory", "list").code == 0


def test_destroy_leaves_the_files_of_others_among_its_own_and_names_them(
    line: Callable[..., Answer], folder: Path
) -> None:
    with vestig.open(folder, embedder=HashingEmbedder(64)) as store:
        store.admin.compact()
    projection = folder / "projection"
    assert (projection / "manifest").exists()
    (projection / "notes.txt").write_text("x")
    (projection / "drafts").mkdir()
    (projection / "drafts" / "seg-1-0000000000000000").write_text("x")
    others = [str(projection / name) for name in ("drafts/seg-1-0000000000000000", "notes.txt")]
    done = line("destroy", str(folder), "--yes")
    assert done.code == 0
    assert all(path in done.out for path in others)
    assert [str(path) for path in sorted(folder.rglob("*")) if path.is_file()] == others


def test_destroy_removes_what_is_left_of_a_store_that_was_lost_there(
    line: Callable[..., Answer], folder: Path
) -> None:
    without_ledger(folder)
    assert line("memory", "add", TEXT, "--init").code == 0
    (aside,) = folder.glob("set-aside-*")
    assert (aside / "witness").exists()
    assert line("destroy", str(folder), "--yes").code == 0
    assert not folder.exists()


def test_destroy_removes_an_empty_folder_and_a_damaged_store(
    line: Callable[..., Answer], folder: Path
) -> None:
    (folder / "ledger.sqlite").write_bytes(b"no ledger at all" * 100)
    done = line("destroy", str(folder), "--yes")
    assert done.code == 0, done
    assert "backups" in done.out
    assert not folder.exists()
    assert line("destroy", str(folder), "--yes").code == 1


def test_destroy_refuses_a_lost_store(line: Callable[..., Answer], folder: Path) -> None:
    shutil.rmtree(folder)
    assert line("destroy", str(folder), "--yes").code == 3


def test_destroy_refuses_a_store_that_somebody_writes(
    line: Callable[..., Answer], folder: Path, opener: Opener
) -> None:
    store = opener("above/s")
    session = store._session
    before = sorted(path.name for path in folder.rglob("*"))
    with session.ledger.write(session.now_us()):
        assert line("destroy", str(folder), "--yes").code == 3
        assert sorted(path.name for path in folder.rglob("*")) == before
    assert store.count() == 2


def test_a_link_that_leads_elsewhere_while_open_moves_nothing(tmp_path: Path) -> None:
    """A store belongs to the folder to which its path led when it was opened."""
    for name in ("x", "y"):
        with vestig.open(tmp_path / name, embedder=HashingEmbedder(8)) as made:
            made.commit(f"The lift of {name} stops at floor two.")
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "x")
    store = vestig.open(link, embedder=HashingEmbedder(8))
    assert store.recall("lift")[0].content.startswith("The lift of x")
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "y").rglob("*"))
    link.unlink()
    link.symlink_to(tmp_path / "y")
    kept = store.commit("Bread is sold out in x.").memory_id
    assert kept is not None
    assert store.forget([kept]).residues == 0
    store.admin.compact()
    store.close()
    after = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "y").rglob("*"))
    assert after == before
    with vestig.open(tmp_path / "x", embedder=HashingEmbedder(8)) as again:
        assert again.admin.doctor().exit_code == 0
        assert again.count() == 1


def test_a_store_that_was_moved_is_gone_even_where_a_link_leads_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = vestig.open(folder, embedder=HashingEmbedder(8))
    store.commit("The lift stops at floor two.")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(vestig.StoreDamagedError, match="moved"):
        store.commit("Bread is sold out.")
    with pytest.raises(vestig.StoreDamagedError, match="moved"):
        store.recall("lift")


def test_a_store_that_another_process_makes_meanwhile_is_taken(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftovers = files.leftovers

    def after_another_made_it(folder: Path) -> str | None:
        monkeypatch.setattr(files, "leftovers", leftovers)
        open_ledger(folder).close()
        return leftovers(folder)

    with opener("s") as store:
        monkeypatch.setattr(files, "leftovers", after_another_made_it)
        store.commit(TEXT)
        assert store.count() == 1
