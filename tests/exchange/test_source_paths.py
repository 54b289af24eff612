"""What a file brought is listed, recalled and forgotten by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "boats").mkdir(parents=True)
    (folder / "boats" / "keel.md").write_text("# Keel\n\nThe keel was replaced in 2011.\n")
    (folder / "mast.md").write_text("# Mast\n\nThe mast is eleven metres high.\n")
    return folder


def texts(page: vestig.RecallResult | list[vestig.Memory]) -> set[str]:
    return {one.content.splitlines()[-1] for one in page}


def test_the_filter_takes_the_path_of_a_file_or_folder(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keel, mast = "The keel was replaced in 2011.", "The mast is eleven metres high."
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit("The boat is red and old")
        store.import_(notes, recursive=True)
        monkeypatch.chdir(notes)
        for path in ("boats/keel.md", str(notes / "boats"), "boats"):
            assert texts(store.list({"source_ids": [path]})) == {keel}
        assert texts(store.list({"source_ids": [str(notes)]})) == {keel, mast}
        [document] = store.documents(source="mast.md")
        assert texts(store.list({"source_ids": ["boats", document.id]})) == {keel, mast}
        assert texts(store.recall("mast", where={"source_ids": ["boats"]}, all=True)) == {keel}
        assert texts(store.list({"source_ids": ["boat"]})) == set()
        assert len(store.forget(where={"source_ids": ["boats/keel.md"]}).memory_ids) == 1
        assert store.count() == 2


def test_a_path_as_a_source_word_is_told_where_paths_go(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    with vestig.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.import_(notes, recursive=True)
        found = store.list({"sources": ["mast.md"]})
        assert len(found) == 0
        assert found.warnings == (
            "sources: 'mast.md' is the path of a document and no source word; source_ids"
            " (--source-ids) takes paths",
        )
        assert store.list({"sources": ["import"]}).warnings == ()
        assert store.list({"sources": ["slack/general"]}).warnings == (
            "sources: no memory was stated by the source 'slack/general'",
        )
