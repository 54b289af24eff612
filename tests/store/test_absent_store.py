"""Handles on a path without a store: empty until the first write, by whichever process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vestig
from isolation import as_nobody
from scripted import Opener
from vestig.errors import (
    ConflictError,
    EmbeddingMismatchError,
    NotFoundError,
    StoreDamagedError,
    StoreLockedError,
)
from vestig.testing import HashingEmbedder

TEXT = "The vault key lies with Ines in the harbour office"
OTHER = "Kofi owns the search cluster and is on call"
ABSENT = "mem_00000000-0000-4000-8000-000000000000"


def test_reads_answer_as_an_empty_store_and_make_nothing(opener: Opener, tmp_path: Path) -> None:
    store = opener("s")
    assert len(store.recall("vault")) == 0
    assert len(store.search("vault")) == 0
    assert len(store.list()) == 0
    assert store.count() == 0
    assert store.admin.stats().memories == 0
    assert len(store.graph.entities()) == 0
    assert store.commit(TEXT, dry_run=True).memory_id is None
    assert store.commit("ok").outcome == "REJECTED_HYGIENE"
    assert store.admin.gc().sources_removed == 0
    assert store.admin.enrich().taken == 0
    with pytest.raises(NotFoundError):
        store.show(ABSENT)
    with pytest.raises(NotFoundError):
        store.forget(ABSENT)
    for needs_files in (store.admin.doctor, store.admin.rebuild, store.admin.compact):
        with pytest.raises(NotFoundError, match="no store at"):
            needs_files()
    with pytest.raises(NotFoundError, match="no store at"):
        store.admin.backup(tmp_path / "copy")
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_the_first_write_makes_a_store_as_any_other(opener: Opener, tmp_path: Path) -> None:
    with opener("s") as store:
        assert store.count() == 0
        first = store.commit(TEXT)
        assert first.degraded == ()
        assert [hit.id for hit in store.recall("vault key")] == [first.memory_id]
        assert store.commit(TEXT).memory_id == first.memory_id
        assert store.admin.doctor().exit_code == 0
        assert store.admin.stats().projection["segments"] >= 0
    assert (tmp_path / "s" / "projection" / "manifest").exists()
    with opener("s", read_only=True) as again:
        assert [hit.id for hit in again.recall("vault key")] == [first.memory_id]


def test_a_store_that_another_handle_makes_is_seen_at_once(opener: Opener) -> None:
    waiting, maker = opener("s"), opener("s")
    assert waiting.count() == 0
    made = maker.commit(TEXT)
    assert [hit.id for hit in waiting.recall("vault key")] == [made.memory_id]
    assert waiting.commit(TEXT).outcome == "EXACT_DUPE"
    assert waiting.commit(OTHER).outcome == "INSERTED_NEW"
    assert maker.count() == 2


def test_two_handles_that_wait_make_one_store(opener: Opener) -> None:
    first, second = opener("s"), opener("s")
    assert (first.count(), second.count()) == (0, 0)
    outcomes = [first.commit(TEXT).outcome, second.commit(TEXT).outcome]
    assert outcomes == ["INSERTED_NEW", "EXACT_DUPE"]
    assert first.admin.doctor().exit_code == 0


def test_a_store_of_another_model_that_came_meanwhile_is_refused(opener: Opener) -> None:
    waiting, maker = opener("s"), opener("s", embedder=HashingEmbedder(32))
    maker.commit(TEXT)
    for _ in range(2):
        with pytest.raises(EmbeddingMismatchError):
            waiting.recall("vault key")
    with pytest.raises(EmbeddingMismatchError, match="another process has made it or embedded it"):
        waiting.commit(OTHER)
    assert maker.admin.doctor().exit_code == 0


def test_a_child_of_a_fork_may_make_the_store(opener: Opener) -> None:
    store = opener("s")
    assert store.count() == 0
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if store.commit(TEXT).outcome == "INSERTED_NEW" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [hit.content for hit in store.recall("vault key")] == [TEXT]


def test_a_read_only_handle_needs_a_store(opener: Opener, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no store at .*/s yet"):
        opener("s", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_other_things(opener: Opener, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "thesis.tex").write_text("x")
    store = opener("s")
    with pytest.raises(NotFoundError, match="other files"):
        store.recall("vault")
    with pytest.raises(ConflictError, match="init=True"):
        store.commit(TEXT)
    with pytest.raises(NotFoundError):
        opener("s", read_only=True)
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["thesis.tex"]
    assert opener("s", init=True).commit(TEXT).outcome == "INSERTED_NEW"
    assert store.count() == 1, "the first handle sees it as well"
    assert (tmp_path / "s" / "thesis.tex").read_text() == "x"


# --- links ------------------------------------------------------------------------------------

PLACES = (
    "ledger.sqlite",
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "witness",
    "projection",
    "projection/manifest",
    "projection/lock",
    "projection/merging",
    "projection/seg-",
)


@pytest.fixture
def filled(opener: Opener, tmp_path: Path) -> Path:
    with opener("s") as store:
        store.commit(TEXT)
        store.admin.compact()
    return tmp_path / "s"


@pytest.mark.parametrize("place", PLACES)
def test_no_link_inside_a_store_is_followed(
    filled: Path, opener: Opener, tmp_path: Path, place: str
) -> None:
    path = filled / place
    if place.endswith("seg-"):
        path = next(filled.glob(f"{place}*"))
    target = tmp_path / "target"
    if path.exists():
        path.rename(target)
    else:
        target.write_bytes(b"of somebody else")
    target.chmod(0o755)
    path.symlink_to(target)
    before = target.read_bytes() if target.is_file() else sorted(target.rglob("*"))
    for read_only in (False, True):
        with pytest.raises(StoreDamagedError, match=r"expected a regular file, found a symbolic"):
            opener("s", read_only=read_only)
    assert target.stat().st_mode & 0o777 == 0o755
    assert (target.read_bytes() if target.is_file() else sorted(target.rglob("*"))) == before


def test_a_link_put_into_an_open_store_is_not_followed(
    filled: Path, opener: Opener, tmp_path: Path
) -> None:
    store = opener("s")
    manifest = filled / "projection" / "manifest"
    target = tmp_path / "target"
    target.write_bytes(manifest.read_bytes())
    manifest.unlink()
    manifest.symlink_to(target)
    with pytest.raises(StoreDamagedError, match="symbolic link"):
        store.recall("vault")


def test_the_folder_itself_may_be_a_link(filled: Path, opener: Opener, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(filled)
    assert opener("linked").count() == 1


# --- permissions ------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["ledger", "folder"])
def test_a_store_that_may_not_be_read_is_no_damaged_disk(
    filled: Path,
    harm: str,
    isolated: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # that user may not be allowed to read the folder that the tests run in
    monkeypatch.chdir(isolated)
    for folder in (isolated.parent, isolated):
        folder.chmod(0o755)
    filled.chmod(0o000 if harm == "folder" else 0o755)
    (filled / "ledger.sqlite").chmod(0o000)
    for read_only in (False, True):
        with (
            as_nobody(filled),
            pytest.raises(StoreLockedError, match="permission denied"),
        ):
            vestig.open(filled, embedder=HashingEmbedder(64), read_only=read_only)
