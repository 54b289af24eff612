"""A disk of copies that fills up while tenants are open: nothing is lost, and all goes on when
there is room again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_faults import check_all
from worker import text_of

import vestig
from vestig.errors import ForgetIncompleteError, StoreFullError
from vestig.store.replication.postgres import Database
from vestig.surfaces.http.access import problem_of

Machines = Callable[..., vestig.Vestig]
_PATIENT = {"fleet.max_staleness_s": 0, "fleet.snapshot_bytes": 1 << 30}


class Disk:
    """A small file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Leaves not a byte."""
        with self._filler.open("ab", buffering=0) as out:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        out.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("expected the right to mount a small file system")
    yield Disk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def full(disk: Disk, machine: Machines) -> Iterator[vestig.Vestig]:
    """A machine whose copy lies on the small disk, with one memory."""
    store = machine("full", config={"fleet.cache_dir": str(disk.folder), **_PATIENT})
    store.commit(text_of("ada", 0))
    store.recall("how many parcels?")
    yield store
    store.close()


def test_a_write_is_refused_and_works_again_when_there_is_room(
    disk: Disk, full: vestig.Vestig, machine: Machines
) -> None:
    other = machine("other", config=_PATIENT)
    disk.fill()
    for _ in range(2):
        with pytest.raises(StoreFullError, match="the disk is full; nothing was changed"):
            full.commit(text_of("ada", 1) * 40, on_near_dup="insert")
    assert full.count() == 1
    other.fresh()
    assert other.count() == 1
    disk.free()
    full.commit(text_of("ada", 2), on_near_dup="insert")
    check_all([full, other], [text_of("ada", 0), text_of("ada", 2)])
    assert other.count() == 2


def test_reads_go_on_behind_what_others_write(
    disk: Disk, full: vestig.Vestig, machine: Machines
) -> None:
    other = machine("other", config=_PATIENT)
    disk.fill()
    texts = [text_of("bob", number) for number in range(60)]
    other.commit_many([{"content": text, "on_near_dup": "insert"} for text in texts])
    found = full.recall("how many parcels?")
    (said,) = (one for one in found.degraded if one.code == "copy_behind")
    assert "whose disk is full" in said.detail
    assert full.count() == 1
    with pytest.raises(vestig.StoreLockedError, match="the disk is full"):
        full.fresh(min_position=other.position)
    disk.free()
    full.fresh()
    assert full.recall("how many parcels?").degraded == ()
    check_all([full, other], [text_of("ada", 0), *texts])


def test_a_disk_that_fills_up_after_the_commit_there_says_that_it_is_stored(
    disk: Disk, full: vestig.Vestig, machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Database.append

    def fill(*args: Any) -> None:
        append(*args)
        disk.fill()

    with monkeypatch.context() as patch:
        patch.setattr(Database, "append", fill)
        with pytest.raises(StoreFullError, match=r"stored in PostgreSQL.*do not repeat") as said:
            full.commit(text_of("ada", 1), on_near_dup="insert")
    assert "is stored in PostgreSQL" in problem_of(said.value, "request-1", None)[1]["detail"]
    # it is brought where it fits into the room that the log of the ledger has
    assert full.count() in (1, 2)
    disk.free()
    full.fresh()
    assert full.count() == 2
    full.commit(text_of("ada", 2), on_near_dup="insert")
    check_all([full, machine("other")], [text_of("ada", number) for number in range(3)])


def test_a_forgetting_that_has_no_room_for_its_snapshot_is_finished_later(
    disk: Disk, full: vestig.Vestig, database: Database, tenant: str
) -> None:
    gone = full.commit("The duchess of Quillfeather keeps the spare key").memory_id
    tenant_copy = full._session.tenant
    assert tenant_copy is not None
    snapshot = type(tenant_copy).snapshot

    def on_a_full_disk(*args: Any, **options: Any) -> bool:
        disk.fill()
        try:
            return snapshot(*args, **options)
        finally:
            disk.free()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tenant_copy), "snapshot", on_a_full_disk)
        with pytest.raises(ForgetIncompleteError, match=r"deleted.*forget --finish"):
            full.forget(gone)
    assert database.find(tenant).snapshot < (full.position or 0)
    assert full.admin.forget_finish().machines_open == ()
    assert database.find(tenant).snapshot == full.position


def test_a_snapshot_in_the_background_without_room_is_told_of(
    disk: Disk, full: vestig.Vestig
) -> None:
    tenant_copy = full._session.tenant
    assert tenant_copy is not None
    disk.fill()
    tenant_copy._snapshot(full._session.ledger)
    assert "snapshot_failed" in {one.code for one in full.recall("how many parcels?").degraded}
