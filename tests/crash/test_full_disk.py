"""A disk without a free byte: reading goes on for every process, and forgetting frees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import small_disk, unmount

import vestig
from vestig.errors import StoreFullError
from vestig.testing import HashingEmbedder

TEXTS = [f"Crate {number} went to the harbour of town {number}" for number in range(20)]
LATER = "Kofi owns the search cluster and is on call"
EMBEDDER = HashingEmbedder(64)

# Leaves the log beside the ledger, as a kill does.
KILLED = """
import os, sys, vestig
from vestig.testing import HashingEmbedder
store = vestig.open(sys.argv[1], embedder=HashingEmbedder(64))
for text in sys.argv[2:]:
    store.commit(text)
os._exit(0)
"""
IN_ANOTHER_PROCESS = """
import sys, vestig
from vestig.testing import HashingEmbedder
read_only = sys.argv[2] == "read"
with vestig.open(sys.argv[1], embedder=HashingEmbedder(64), read_only=read_only) as store:
    print(store.count(), store.recall(sys.argv[3])[0].content)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    made = small_disk(tmp_path, 4 << 20)
    try:
        yield made
    finally:
        unmount(made)


def opened(folder: Path, **options: bool) -> vestig.Vestig:
    return vestig.open(folder, embedder=EMBEDDER, **options)  # type: ignore[arg-type]


def fill(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as out:
        for size in (1 << 16, 4096, 1):
            try:
                while True:
                    out.write(bytes(size))
            except OSError:
                continue
    assert shutil.disk_usage(disk).free == 0


def store_of(disk: Path, ended: str) -> Path:
    folder = disk / "store"
    if ended == "closed":
        with opened(folder) as store:
            for text in TEXTS:
                store.commit(text)
        assert not (folder / "ledger.sqlite-wal").exists()
    else:
        subprocess.run([sys.executable, "-c", KILLED, str(folder), *TEXTS], check=True, timeout=120)
        (folder / "ledger.sqlite-shm").unlink()
        assert (folder / "ledger.sqlite-wal").stat().st_size > 0
        with opened(disk / "other") as store:  # the killed one left no reserve behind
            store.commit(LATER)
        (disk / "other" / "reserve").rename(folder / "reserve")
        shutil.rmtree(disk / "other")
    fill(disk)
    return folder


def run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_reading_goes_on_for_every_process(disk: Path, ended: str) -> None:
    folder = store_of(disk, ended)
    for read_only in (True, False):
        with opened(folder, read_only=read_only) as store:
            assert {m.content for m in store.list(limit=100)} == set(TEXTS)
            assert store.recall(TEXTS[7])[0].content == TEXTS[7]
            levels = {f.check: f.level for f in store.admin.doctor().findings}
        assert {check for check, level in levels.items() if level != "ok"} == {"disk_space"}
    for way in ("read", "write"):
        assert run(str(folder), way, TEXTS[7]) == f"20 {TEXTS[7]}\n"


@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_a_commit_says_full_and_forgetting_frees(disk: Path, ended: str) -> None:
    folder = store_of(disk, ended)
    with opened(folder) as store:
        for _ in range(2):
            with pytest.raises(StoreFullError, match="full"):
                store.commit(LATER)
        assert store.count() == 20
        gone = store.list()[0]
        assert store.forget(gone.id).residues == 0
        assert store.count() == 19
    with opened(folder) as store:
        assert {m.content for m in store.list(limit=100)} == set(TEXTS) - {gone.content}
        levels = {f.check: f.level for f in store.admin.doctor().findings}
        assert "damage" not in levels.values()
        assert store.commit(LATER).outcome == "INSERTED_NEW"
        assert store.recall("search cluster")[0].content == LATER


def test_a_store_that_is_open_when_the_disk_fills(disk: Path) -> None:
    folder = disk / "store"
    with opened(folder) as first, opened(folder) as second:
        for text in TEXTS:
            first.commit(text)
        first.admin.compact()
        fill(disk)
        refused = 0
        for number in range(400):
            try:
                first.commit(f"Barrel {number} came back from the island of bay {number}")
            except StoreFullError:
                refused += 1
                break
        assert refused, "a log of an open store has room for some commits, not for all"
        before = first.count()
        assert second.count() == before
        assert second.recall(TEXTS[7])[0].content == TEXTS[7]
        os.unlink(disk / "filler")
        assert first.commit(LATER).outcome == "INSERTED_NEW"
        assert second.count() == before + 1


def test_a_store_that_has_no_room_to_begin(disk: Path) -> None:
    fill(disk)
    with opened(disk / "store") as store:
        assert store.count() == 0
        with pytest.raises(StoreFullError, match="full"):
            store.commit(LATER)
    os.unlink(disk / "filler")
    with opened(disk / "store") as store:
        assert store.commit(LATER).outcome == "INSERTED_NEW"


def test_reading_without_a_shared_file_sees_what_others_write_later(disk: Path) -> None:
    folder = store_of(disk, "killed")
    with opened(folder, read_only=True) as reader:
        assert reader.count() == 20
        os.unlink(disk / "filler")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), LATER], check=False, timeout=120
        )
        assert done.returncode == 0
        assert reader.count() == 21
        assert reader.recall("search cluster")[0].content == LATER
