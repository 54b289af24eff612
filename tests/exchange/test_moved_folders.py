"""Documents whose folder was moved, renamed or copied."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import copytree, rmtree

import pytest

import vestig
from vestig.testing import HashingEmbedder

RULES = "# Rules\n\n## Speed\n\nThe speed limit on the quay is 15 km/h for every vehicle.\n"
EDITED = RULES.replace("15", "25")
GATE = "# Gate\n\nThe gate opens at six in the morning.\n"


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(":memory:", embedder=HashingEmbedder())


def put(path: Path, text: str, at: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))


@pytest.fixture
def folder(store: vestig.Vestig, tmp_path: Path) -> Path:
    folder = tmp_path / "a"
    put(folder / "sub" / "rules.md", RULES, 1_770_000_000)
    put(folder / "gate.md", GATE, 1_770_000_000)
    store.import_(folder, recursive=True)
    return folder


def contents(store: vestig.Vestig) -> set[str]:
    return {one.content for one in store.list(limit=100)}


@pytest.mark.parametrize("mirror", [False, True])
def test_an_edited_file_of_a_moved_folder_is_the_document_it_was(
    mirror: bool, store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    now = folder.rename(tmp_path / "b")
    put(now / "sub" / "rules.md", EDITED, 1_780_000_000)
    files = ("sub/rules.md", "gate.md")
    moves = {str(folder / name): str(now / name) for name in files}
    for dry_run in (True, False):
        report = store.import_(now, recursive=True, mirror=mirror, dry_run=dry_run)
        assert (report.moved, report.added, report.ended) == (moves, 1, 1)
    assert contents(store) == {EDITED.strip(), GATE.strip()}
    listed = store.documents()
    assert {one.path for one in listed.documents} == set(moves.values())
    assert store.import_(now, recursive=True, mirror=mirror).skipped == 2
    assert store.admin.doctor().exit_code == 0


def test_a_folder_within_the_one_that_is_read_moves(
    store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    put(folder / "sub" / "crane.md", "# Crane\n\nThe crane is yellow.\n", 1_770_000_000)
    store.import_(tmp_path, recursive=True)
    (folder / "sub").rename(folder / "port")
    put(folder / "port" / "rules.md", EDITED, 1_780_000_000)
    report = store.import_(tmp_path, recursive=True)
    assert len(report.moved) == 2
    assert RULES.strip() not in contents(store)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_copy_is_another_document(
    mirror: bool, store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    copytree(folder, tmp_path / "b")
    put(tmp_path / "b" / "sub" / "rules.md", EDITED, 1_780_000_000)
    report = store.import_(tmp_path / "b", recursive=True, mirror=mirror)
    assert (report.moved, report.ended) == ({}, 0)
    assert contents(store) == {RULES.strip(), EDITED.strip(), GATE.strip()}


def test_two_copies_of_what_is_gone_are_none(
    store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    for name in ("b", "c"):
        copytree(folder, tmp_path / name)
    rmtree(folder)
    put(tmp_path / "b" / "sub" / "rules.md", EDITED, 1_780_000_000)
    report = store.import_([tmp_path / "b", tmp_path / "c"], recursive=True)
    assert (report.moved, report.ended) == ({}, 0)


def test_nothing_is_taken_for_moved_that_did_not_stay_as_it_was(
    store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    now = folder.rename(tmp_path / "b")
    put(now / "sub" / "rules.md", EDITED, 1_780_000_000)
    put(now / "gate.md", GATE, 1_780_000_000)
    assert store.import_(now, recursive=True).moved == {}
    assert contents(store) == {RULES.strip(), EDITED.strip(), GATE.strip()}


@pytest.mark.parametrize("text", ["# House\n\nNo dogs in the house.\n", "No title at all.\n"])
def test_another_text_at_the_same_place_is_another_document(
    text: str, store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    now = folder.rename(tmp_path / "b")
    put(now / "sub" / "rules.md", text, 1_780_000_000)
    report = store.import_(now, recursive=True)
    assert report.moved == {str(folder / "gate.md"): str(now / "gate.md")}
    assert {RULES.strip(), GATE.strip()} < contents(store)


def test_a_common_file_makes_no_folder_the_same(
    store: vestig.Vestig, folder: Path, tmp_path: Path
) -> None:
    put(folder / "third.md", "# Third\n\nThe third of them.\n", 1_770_000_000)
    store.import_(folder, recursive=True)
    rmtree(folder)
    put(tmp_path / "b" / "gate.md", GATE, 1_770_000_000)
    put(tmp_path / "b" / "sub" / "rules.md", EDITED, 1_780_000_000)
    report = store.import_(tmp_path / "b", recursive=True)
    assert (report.moved, report.ended) == ({}, 0)


def test_a_folder_elsewhere_is_another_one(store: vestig.Vestig, tmp_path: Path) -> None:
    # the nearest folder above that is there does not hold the new one, as of a disk not mounted
    for root in ("disk", "home"):
        put(tmp_path / root / "kept.txt", "kept", 1_770_000_000)
    put(tmp_path / "disk" / "a" / "gate.md", GATE, 1_770_000_000)
    store.import_(tmp_path / "disk" / "a")
    (tmp_path / "disk" / "a").rename(tmp_path / "home" / "a")
    assert store.import_(tmp_path / "home" / "a").moved == {}
