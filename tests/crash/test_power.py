"""Loss of power: an ext4 disk shut down without flushing its log (STORE)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import PowerCutDisk
from promise import acknowledged, broken_promises, run_writers, trials, writers
from writer import text_of


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PowerCutDisk]:
    made = PowerCutDisk(tmp_path)
    # All of the store lies on the disk, the second copy of its witness too.
    monkeypatch.setenv("XDG_STATE_HOME", str(made.folder / "state"))
    try:
        yield made
    finally:
        made.close()


@trials(10, 75)
def test_no_acknowledged_commit_is_lost_with_the_power(disk: PowerCutDisk, trials: int) -> None:
    """Two writers are at work at each cut."""
    chance = random.Random(4)
    store = disk.folder / "store"
    texts: set[str] = set()
    for cycle in range(trials):
        lines: list[str] = []
        with writers(store, f"a {cycle}", f"b {cycle}") as running:
            for writer in running:
                lines += writer.lines(chance.randint(2, 10))
            for writer in running:
                lines += writer.ready()
            # Nobody hears what a machine without power says.
            disk.cut()
        disk.power_on()
        texts |= acknowledged(lines)
        assert broken_promises(store, texts) == []
    assert len(texts) > 10


def test_the_checker_sees_what_was_acknowledged_before_it_was_synced(disk: PowerCutDisk) -> None:
    texts = acknowledged(run_writers(disk.folder / "store", "liar", count=9, fault="early"))
    disk.cut()
    disk.power_on()
    found = broken_promises(disk.folder / "store", texts)
    assert found == [f"lost: {text_of('liar', 3)}"]


def test_the_cut_takes_what_was_not_synced(disk: PowerCutDisk) -> None:
    """The means itself: without fsync a file does not survive it."""
    (disk.folder / "unsynced").write_bytes(b"x" * 4096)
    disk.cut()
    disk.power_on()
    lost = disk.folder / "unsynced"
    assert not lost.exists() or lost.read_bytes() != b"x" * 4096
