"""Stores of one user that another one works on: the superuser, or one who may not read a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import vestig
from isolation import as_nobody
from vestig.errors import StoreLockedError, VestigError
from vestig.testing import HashingEmbedder

NOBODY = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")


def opened(path: Path) -> vestig.Vestig:
    return vestig.open(path, embedder=HashingEmbedder(32))


@pytest.fixture
def theirs(tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of nobody."""
    monkeypatch.chdir(isolated)
    for folder in (isolated.parent, isolated):
        folder.chmod(0o755)
    with opened(tmp_path / "store") as store:
        store.commit_many([{"content": f"Lot {n} is kept in room {n}"} for n in range(300)])
    for path in (tmp_path / "store", *(tmp_path / "store").rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return tmp_path / "store"


def compacted(store: vestig.Vestig) -> None:
    store.commit("Lot 900 is kept in room 900")
    store.admin.compact()


def imported(store: vestig.Vestig) -> None:
    store.commit_many([{"content": f"Box {n} holds {n * 7} screws"} for n in range(600)])


def forgotten(store: vestig.Vestig) -> None:
    store.forget(next(iter(store)).id)


ACTS: list[Callable[[vestig.Vestig], object]] = [
    compacted, imported, forgotten, lambda store: store.admin.rebuild(), vestig.Vestig.count,
]  # fmt: skip


@root
@pytest.mark.parametrize("act", ACTS)
def test_what_the_superuser_writes_belongs_to_the_owner(
    theirs: Path, act: Callable[[vestig.Vestig], object]
) -> None:
    (theirs / "reserve").unlink()
    with opened(theirs) as store:
        act(store)
    assert {path.stat().st_uid for path in theirs.rglob("*")} == {NOBODY}
    with as_nobody(theirs / "x"), opened(theirs) as store:
        assert store.count() >= 299


@root
def test_what_is_no_file_of_the_store_stays_the_superusers(theirs: Path) -> None:
    other = theirs.parent / "other"
    for path in (other, theirs / "notes.txt", theirs / "projection" / "notes.txt"):
        path.touch(mode=0o600)
    os.link(other, theirs / "projection" / "seg-9-00000000000000ff")
    with opened(theirs) as store:
        compacted(store)
    for path in (other, theirs / "notes.txt", theirs / "projection" / "notes.txt"):
        assert path.stat().st_uid == 0
    with opened(theirs.parent / "own") as store:
        compacted(store)
    assert {path.stat().st_uid for path in (theirs.parent / "own").rglob("*")} == {0}


@root
def test_a_file_that_the_owner_may_not_read_is_named_with_the_way(theirs: Path) -> None:
    manifest = theirs / "projection" / "manifest"
    os.chown(manifest, 0, 0)
    manifest.chmod(0o600)
    with as_nobody(theirs / "x"):
        with pytest.raises(StoreLockedError) as caught:
            opened(theirs)
        assert str(manifest) in str(caught.value)
        assert f"`sudo chown -R {NOBODY} {theirs / 'projection'}` gives it back" in str(
            caught.value
        )
    os.chown(theirs / "ledger.sqlite", 0, 0)
    (theirs / "ledger.sqlite").chmod(0o644)
    with as_nobody(theirs / "x"), pytest.raises(StoreLockedError, match="as its owner"):
        vestig.open(theirs, embedder=HashingEmbedder(32), read_only=True)


@root
def test_a_folder_that_may_not_be_written_is_not_a_full_disk(theirs: Path) -> None:
    with as_nobody(theirs / "x"), opened(theirs) as store:
        (theirs / "projection").chmod(0o500)
        store.commit("Lot 900 is kept in room 900")
        for act in (store.admin.compact, store.admin.rebuild):
            with pytest.raises(VestigError, match=f"make {theirs / 'projection'} writable"):
                act()
        (theirs / "projection").chmod(0o700)
