"""Loss of power: an ext4 disk shut down without flushing its log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import PowerCutDisk
from promise import acknowledged, broken_promises, run_writers
from trials import power, power_cut_disk
from writer import open_store, text_of

from vestig.store.integrity.chain import read_witness


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[PowerCutDisk]:
    with power_cut_disk(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_no_acknowledged_commit_is_lost_with_the_power(tmp_path: Path) -> None:
    """Two writers are at work at each cut."""
    outcome = power(tmp_path, 10)
    assert outcome.broken == []
    assert outcome.acknowledged > 10


@pytest.mark.slow
def test_the_cut_leaves_a_slot_of_the_witness_whole(disk: PowerCutDisk) -> None:
    """The first commit is cut, and later ones, when either slot may be the one in writing."""
    store = disk.folder / "store"
    for cut in range(8):
        texts = acknowledged(run_writers(store, f"cut {cut}", count=cut + 1, fault="rebuild"))
        assert len(texts) == cut + 1
        disk.cut()
        disk.power_on()
        found = read_witness(store / "witness")
        assert found is not None
        with open_store(str(store)) as opened:
            levels = {f.check: f.level for f in opened.admin.doctor().findings}
        assert levels["witness"] == "ok"


def test_the_checker_sees_what_was_acknowledged_before_it_was_synced(disk: PowerCutDisk) -> None:
    texts = acknowledged(run_writers(disk.folder / "store", "liar", count=9, fault="early"))
    disk.cut()
    disk.power_on()
    found = broken_promises(disk.folder / "store", texts)
    assert found == [f"lost: {text_of('liar', 3)}"]


def test_the_checker_sees_a_store_that_skips_fsync(disk: PowerCutDisk) -> None:
    """Its process ended well, each commit was acknowledged, and nothing was asked of the disk."""
    store = disk.folder / "store"
    texts = acknowledged(run_writers(store, "faithful", count=3, fault="rebuild"))
    careless = acknowledged(run_writers(store, "careless", count=9, fault="unsynced"))
    assert len(careless) == 9
    assert broken_promises(store, texts | careless) == []
    again = acknowledged(run_writers(store, "careless again", count=9, fault="unsynced"))
    disk.cut()
    disk.power_on()
    found = broken_promises(store, texts | careless | again)
    assert any(what.startswith("lost: ") for what in found)


def test_the_cut_takes_what_was_not_synced(disk: PowerCutDisk) -> None:
    """The means itself: without fsync a file does not survive it."""
    (disk.folder / "unsynced").write_bytes(b"x" * 4096)
    disk.cut()
    disk.power_on()
    lost = disk.folder / "unsynced"
    assert not lost.exists() or lost.read_bytes() != b"x" * 4096
