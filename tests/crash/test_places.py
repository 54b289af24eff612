"""Full disks, folders that cannot be written, and odd paths."""

from __future__ import annotations

import gc
from contextlib import closing
from pathlib import Path

import pytest
from disks import remount_read_only, small_disk, unmount
from promise import acknowledged, broken_promises, run_writers
from trials import full_disks
from writer import open_store, text_of

from tables import each
from vestig.errors import StoreFullError, StoreLockedError, ValidationError, VestigError


def test_a_full_disk_is_an_error_and_reading_goes_on(tmp_path: Path) -> None:
    outcome = full_disks(tmp_path, 2)
    assert outcome.broken == []
    assert outcome.acknowledged >= 20
    assert outcome.also["refused"] > 0


def test_a_disk_too_small_for_a_store_is_an_error(tmp_path: Path) -> None:
    made = small_disk(tmp_path, 16 * 1024)
    try:
        with open_store(str(made / "store")) as store, pytest.raises(StoreFullError):
            store.commit(text_of("small", 1))
    finally:
        unmount(made)


def _only_reads(folder: Path) -> None:
    with open_store(str(folder), read_only=True) as store:
        assert store.count() == 12
        for number in range(12):
            results = store.recall(text_of("kept", number), limit=1).results
            assert results[0].content == text_of("kept", number)
        with pytest.raises(StoreLockedError):
            store.commit(text_of("kept", 99))
    with pytest.raises(VestigError), open_store(str(folder)) as store:
        store.commit(text_of("kept", 99))


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_a_read_only_disk_serves_reads_and_changes_nothing(tmp_path: Path, ended: str) -> None:
    """A killed writer leaves a log beside the ledger that reads have to see."""
    disk = small_disk(tmp_path, 8 * 1024 * 1024)
    try:
        fault = "rebuild" if ended == "killed" else ""
        texts = acknowledged(run_writers(disk / "store", "kept", count=12, fault=fault))
        assert len(texts) == 12
        assert ((disk / "store" / "ledger.sqlite-wal").exists()) == (ended == "killed")
        remount_read_only(disk)
        _only_reads(disk / "store")
    finally:
        gc.collect()  # maps of the projection go with their store
        unmount(disk)


@each(
    "name",
    [
        "with space",
        "tab\tand\nnewline",
        "größe № \U0001f600",
        "percent%20?mode=rw#x",
        "-dash",
        "'q\"",
    ],
)
def test_odd_paths(tmp_path: Path, name: str) -> None:
    with open_store(str(tmp_path / name)) as store:
        store.commit(text_of("odd", 1))
    assert broken_promises(tmp_path / name, {text_of("odd", 1)}) == []
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_leads_to_one_and_the_same_store(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    with open_store(str(tmp_path / "link")) as one, open_store(str(tmp_path / "real")) as other:
        one.commit(text_of("linked", 1))
        other.commit(text_of("linked", 2))
        assert one.count() == other.count() == 2
    texts = {text_of("linked", 1), text_of("linked", 2)}
    assert broken_promises(tmp_path / "link", texts) == []


def test_long_paths_work_up_to_a_limit_that_is_named(tmp_path: Path) -> None:
    def folder(bytes_max: int) -> Path:
        path = tmp_path
        while len(bytes(path)) + 202 < bytes_max:
            path = path / ("x" * 200)
        return path / ("y" * (bytes_max - len(bytes(path)) - 1))

    longest = folder(490 - len("/ledger.sqlite"))
    with open_store(str(longest)) as store:
        store.commit(text_of("long", 1))
    assert broken_promises(longest, {text_of("long", 1)}) == []
    with pytest.raises(ValidationError, match="490"):
        open_store(str(folder(491 - len("/ledger.sqlite"))))


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(VestigError), closing(open_store(str(tmp_path / "file"))):
        pass
    assert (tmp_path / "file").read_text() == "precious"
