"""What somebody changed in the ledger's file is refused by lists, counts and copies too."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import vestig
from tables import each
from vestig.errors import StoreDamagedError
from vestig.testing import HashingEmbedder

EDITS = {
    "author": "UPDATE memories SET author = 'Mallory' WHERE \"row\" = 2",
    "status": "UPDATE memories SET status = 'deprecated' WHERE \"row\" = 2",
    "valid time": 'UPDATE memories SET t_valid_us = t_valid_us + 1000000 WHERE "row" = 2',
    "namespace": "UPDATE memories SET namespace = 'elsewhere' WHERE \"row\" = 2",
    "title": "UPDATE memories SET title = 'A title' WHERE \"row\" = 2",
    "row": 'DELETE FROM memories WHERE "row" = 2',
}
BEYOND = {
    "tags": "DELETE FROM tags",
    "events": "DELETE FROM events",
    "sources": "DELETE FROM sources",
    "one tag": "UPDATE tags SET tag = 'b' WHERE memory = 1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "store"
    with vestig.open(place, embedder=HashingEmbedder(32)) as store:
        for number in range(5):
            store.commit(
                f"Berth {number * 37} of the harbour is let to boat {number * 91}.",
                author="Ann",
                tags=["a"],
                t_valid=f"2026-01-0{number + 1}",
            )
    return place


def _edit(folder: Path, sql: str) -> None:
    with apsw.Connection(str(folder / "ledger.sqlite")) as conn:
        conn.execute("PRAGMA foreign_keys = off")
        conn.execute("PRAGMA ignore_check_constraints = on")
        conn.execute(sql)


CALLS: dict[str, Callable[[vestig.Vestig, Path], Any]] = {
    "list": lambda store, _: store.list(),
    "a page": lambda store, _: store.list(limit=1, offset=3),
    "list of kinds": lambda store, _: store.list({"kinds": "MEMORY"}),
    "count": lambda store, _: store.count(),
    "count of all": lambda store, _: store.count({"include_expired": True}),
    "backup": lambda store, place: store.admin.backup(place / "copy"),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("call", CALLS)
def test_an_edited_memory_is_refused(folder: Path, tmp_path: Path, edit: str, call: str) -> None:
    _edit(folder, EDITS[edit])
    if (edit, call) == ("status", "count of all"):
        pytest.skip("counts it either way")
    with (
        vestig.open(folder, embedder=HashingEmbedder(32)) as store,
        pytest.raises(StoreDamagedError, match="vestig doctor"),
    ):
        CALLS[call](store, tmp_path)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("edit", BEYOND)
def test_a_copy_of_an_edited_ledger_is_refused(folder: Path, tmp_path: Path, edit: str) -> None:
    _edit(folder, BEYOND[edit])
    with vestig.open(folder, embedder=HashingEmbedder(32)) as store:
        with pytest.raises(StoreDamagedError, match="nothing was copied"):
            store.admin.backup(tmp_path / "copy")
        assert not list(tmp_path.glob("*copy*"))


@pytest.mark.parametrize("edit", ["status", "namespace", "row"])
def test_a_row_that_went_after_it_was_read_is_missed(folder: Path, edit: str) -> None:
    with vestig.open(folder, embedder=HashingEmbedder(32)) as store:
        assert store.count() == store.list().total == 5
        _edit(folder, EDITS[edit])
        for call in (store.count, store.list):
            with pytest.raises(StoreDamagedError, match="4 memories of such a listing where 5"):
                call()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose projection is in files, so that no process reads its rows again."""
    place = tmp_path_factory.mktemp("published") / "store"
    with vestig.open(place, embedder=HashingEmbedder(8)) as store:
        store.commit_many(
            {"content": f"Berth {n * 37} is let to boat {n * 91}.", "author": "Ann"}
            for n in range(400)
        )
    return place


OF_PAGES = ("author", "status", "valid time", "namespace", "title", "row")


@pytest.mark.slow
@each("edit", OF_PAGES)
@each("where", [{}, {"authors": "Ann"}])
@each("opened", ["before", "behind"])
def test_a_page_with_an_edited_memory_is_refused(
    published: Path, tmp_path: Path, edit: str, where: dict[str, Any], opened: str
) -> None:
    place = tmp_path / "store"
    shutil.copytree(published, place)
    if opened == "behind":
        _edit(place, EDITS[edit])
    with vestig.open(place, embedder=HashingEmbedder(8)) as store:
        if opened == "before":
            assert store.list(where, limit=1000).total == 400
            _edit(place, EDITS[edit])
        with pytest.raises(StoreDamagedError, match="vestig doctor"):
            store.list(where, limit=1000)


def test_what_others_write_is_no_edit(published: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"
    shutil.copytree(published, place)
    with (
        vestig.open(place, embedder=HashingEmbedder(8)) as store,
        vestig.open(place, embedder=HashingEmbedder(8)) as other,
    ):
        for number in range(3):
            id = store.list(limit=1000).memories[number].id
            other.update(id, tags=[f"t{number}"])
            other.commit(f"Crane {number} is out of order.")
            store.recall("berth")
            assert store.list(limit=1000).total == store.count() == 401 + number


@pytest.mark.parametrize("edit", ["namespace", "row"])
def test_a_memory_that_is_found_and_gone_is_a_damaged_store(
    published: Path, tmp_path: Path, edit: str
) -> None:
    place = tmp_path / "store"
    shutil.copytree(published, place)
    with vestig.open(place, embedder=HashingEmbedder(8)) as store:
        _edit(place, EDITS[edit])
        for ask in (
            lambda: store.recall("Berth 37 is let to boat 91."),
            lambda: store.retrieve([{"content": "Berth 37 is let to boat 91."}]),
        ):
            with pytest.raises(StoreDamagedError, match="vestig doctor"):
                ask()


def test_a_row_that_went_before_it_was_ever_read_is_missed(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with vestig.open(place, embedder=HashingEmbedder(8)) as store:
        store.commit("The harbour has one crane.")
    _edit(place, 'DELETE FROM memories WHERE "row" = 1')
    with (
        vestig.open(place, embedder=HashingEmbedder(8)) as store,
        pytest.raises(StoreDamagedError, match="0 memories where 1 were written"),
    ):
        store.count()
