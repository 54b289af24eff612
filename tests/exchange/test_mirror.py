"""A mirror of a folder: documents end with their files, and move with them."""

from __future__ import annotations

import os
import shutil
import zipfile
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import vestig
from vestig.exchange import inputs
from vestig.results import ImportReport
from vestig.testing import HashingEmbedder
from vestig.types import Status


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(":memory:", embedder=HashingEmbedder())


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "old").mkdir(parents=True)
    written(folder / "keel.md", "# Keel\n\nThe keel is of oak.\n")
    written(folder / "mast.md", "The mast is of larch.\n")
    written(folder / "old" / "sail.md", "# Sail\n\nThe sail is of linen.\n")
    return folder


def written(path: Path, text: str, at: int = 1_770_000_000) -> Path:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def mirror(store: vestig.Vestig, folder: Path, **options: object) -> ImportReport:
    report: ImportReport = store.import_(folder, recursive=True, mirror=True, **options)  # type: ignore[arg-type]
    return report


def texts(store: vestig.Vestig) -> list[str]:
    return sorted(memory.content.splitlines()[-1] for memory in store.list(limit=100))


def paths(store: vestig.Vestig) -> list[str]:
    return sorted(os.path.basename(str(one.path)) for one in store.documents())


def test_a_document_ends_with_its_file_and_its_history_stays(
    store: vestig.Vestig, notes: Path
) -> None:
    mirror(store, notes)
    (notes / "mast.md").unlink()
    shutil.rmtree(notes / "old")
    before = store.admin.stats()
    planned = mirror(store, notes, dry_run=True)
    assert store.admin.stats() == before
    report = mirror(store, notes)
    gone = (str(notes / "mast.md"), str(notes / "old" / "sail.md"))
    for one in (planned, report):
        assert (one.ended_documents, one.ended, one.missing) == (gone, 2, ())
    assert (texts(store), paths(store)) == (["The keel is of oak."], ["keel.md"])
    ended = store.list(where={"statuses": "DEPRECATED"})
    assert len(ended) == 2
    assert store.show(ended[0].id).events[-1].payload["reason"] == "its file is gone"
    # it has ended, so it neither ends again nor is it missing
    again = mirror(store, notes)
    assert (again.ended_documents, again.ended, again.missing) == ((), 0, ())
    assert store.import_(notes, recursive=True).missing == ()
    assert store.admin.doctor().exit_code == 0


def test_without_a_mirror_what_is_missing_stays(store: vestig.Vestig, notes: Path) -> None:
    mirror(store, notes)
    (notes / "mast.md").unlink()
    report = store.import_(notes, recursive=True)
    assert (report.missing, report.ended_documents) == ((str(notes / "mast.md"),), ())
    assert len(texts(store)) == 3


def test_a_file_that_is_there_again_comes_in_again(store: vestig.Vestig, notes: Path) -> None:
    mirror(store, notes)
    aside = notes.parent / "aside.md"
    (notes / "mast.md").rename(aside)
    assert mirror(store, notes).ended == 1
    store.admin.gc()
    aside.rename(notes / "mast.md")
    report = mirror(store, notes)
    assert (report.added, report.skipped) == (1, 2)
    [back] = [one for one in store.list() if "larch" in one.content]
    assert back.revives is not None
    assert mirror(store, notes).skipped == 3


@pytest.mark.parametrize("to", ["old/keel.md", "stem.md", "old/stem.md"])
def test_a_document_moves_with_its_file(store: vestig.Vestig, notes: Path, to: str) -> None:
    mirror(store, notes)
    ids = {memory.id for memory in store.list()}
    (notes / "keel.md").rename(notes / to)
    planned = mirror(store, notes, dry_run=True)
    report = mirror(store, notes)
    for one in (planned, report):
        assert one.moved == {str(notes / "keel.md"): str(notes / to)}
        assert (one.added, one.kept, one.ended, one.missing) == (0, 3, 0, ())
        assert (one.imported, one.skipped) == (1, 2)
    assert {memory.id for memory in store.list()} == ids
    assert paths(store) == sorted([os.path.basename(to), "mast.md", "sail.md"])
    assert mirror(store, notes).skipped == 3
    written(notes / to, "# Keel\n\nThe keel is of elm.\n", at=1_780_000_000)
    edited = mirror(store, notes)
    assert (edited.added, edited.ended, edited.moved) == (1, 1, {})
    assert store.admin.doctor().exit_code == 0


def test_a_document_without_a_title_moves_too(store: vestig.Vestig, notes: Path) -> None:
    mirror(store, notes)
    (notes / "mast.md").rename(notes / "spar.md")
    report = mirror(store, notes)
    assert (report.added, report.ended, len(report.moved)) == (0, 0, 1)
    assert "mast\nThe mast is of larch." in [one.content for one in store.list()]
    written(notes / "spar.md", "The mast is of pine.\n", at=1_780_000_000)
    report = mirror(store, notes)
    assert (report.added, report.ended) == (1, 1)
    assert texts(store)[1] == "The mast is of pine."


def test_a_name_that_says_another_day_is_another_document(
    store: vestig.Vestig, notes: Path
) -> None:
    path = written(notes / "2026-01-03.md", "# Log\n\nThe boat leaks.\n")
    mirror(store, notes)
    path.rename(notes / "2026-01-04.md")
    report = mirror(store, notes)
    assert (report.moved, report.ended_documents) == ({}, (str(path),))
    [log] = [one for one in store.list() if "leaks" in one.content]
    assert (log.status, [one.path for one in store.show(log.id).sources][-1]) == (
        Status.ACTIVE,
        str(notes / "2026-01-04.md"),
    )


def test_a_moved_and_edited_document_ends_and_comes_in(store: vestig.Vestig, notes: Path) -> None:
    mirror(store, notes)
    (notes / "mast.md").unlink()
    written(notes / "spar.md", "The mast is of pine, and it is new.\n")
    report = mirror(store, notes)
    assert (report.added, report.ended, report.moved) == (1, 1, {})


def test_one_copy_of_two_takes_the_place_of_the_file_that_is_gone(
    store: vestig.Vestig, notes: Path
) -> None:
    mirror(store, notes)
    shutil.copy2(notes / "keel.md", notes / "stem.md")
    (notes / "keel.md").rename(notes / "sternpost.md")
    report = mirror(store, notes)
    assert (list(report.moved), report.ended) == ([str(notes / "keel.md")], 0)
    assert texts(store).count("The keel is of oak.") == 1
    assert paths(store) == ["mast.md", "sail.md", "stem.md", "sternpost.md"]


def test_a_passage_that_another_document_says_stays(store: vestig.Vestig, notes: Path) -> None:
    shutil.copy2(notes / "keel.md", notes / "old" / "copy.md")
    mirror(store, notes)
    (notes / "keel.md").unlink()
    report = mirror(store, notes)
    assert (len(report.ended_documents), report.ended) == (1, 0)
    assert "The keel is of oak." in texts(store)
    (notes / "old" / "copy.md").unlink()
    assert mirror(store, notes).ended == 1
    assert "The keel is of oak." not in texts(store)


def test_what_two_documents_say_ends_when_both_are_gone(store: vestig.Vestig, notes: Path) -> None:
    shutil.copy2(notes / "keel.md", notes / "old" / "copy.md")
    mirror(store, notes)
    (notes / "keel.md").unlink()
    (notes / "old" / "copy.md").unlink()
    planned, report = mirror(store, notes, dry_run=True), mirror(store, notes)
    for one in (planned, report):
        assert (len(one.ended_documents), one.ended) == (2, 1)
    assert "The keel is of oak." not in texts(store)


def test_only_documents_of_files_below_the_folder_in_the_scope_end(notes: Path) -> None:
    place = notes.parent / "store"
    # the source of a document is short
    with TemporaryDirectory() as short, ExitStack() as stack:
        store, other = (
            stack.enter_context(vestig.open(place, embedder=HashingEmbedder(), namespace=one))
            for one in ("default", "other")
        )
        folder, beside = Path(short) / "n", Path(short) / "n-2"
        shutil.copytree(notes, folder)
        beside.mkdir()
        written(beside / "tar.md", "# Tar\n\nThe tar is black.\n")
        mirror(store, beside)
        mirror(other, folder)
        mirror(store, folder)
        mirror(store, folder, scope="yard")
        store.add_document("The rope is of hemp.", source=str(folder / "rope.md"))
        (beside / "tar.md").unlink()
        (folder / "mast.md").unlink()
        before = store.count()
        report = mirror(store, folder, scope="yard")
        assert report.ended_documents == (str(folder / "mast.md"),)
        assert (store.count(), other.count()) == (before - 1, 3)
        assert mirror(store, folder).ended_documents == (str(folder / "mast.md"),)
        assert texts(store) == [
            "The keel is of oak.",
            "The keel is of oak.",
            "The rope is of hemp.",
            "The sail is of linen.",
            "The sail is of linen.",
            "The tar is black.",
        ]
        assert other.count() == 3


def test_a_flat_mirror_ends_nothing_in_the_folders_of_a_folder(
    store: vestig.Vestig, notes: Path
) -> None:
    mirror(store, notes)
    (notes / "old" / "sail.md").unlink()
    (notes / "mast.md").unlink()
    report = store.import_(notes, mirror=True)
    assert report.ended_documents == (str(notes / "mast.md"),)
    assert report.missing == (str(notes / "old" / "sail.md"),)


@pytest.mark.parametrize("fault", ["no UTF-8", "a cut archive", "a folder", "a file"])
def test_nothing_ends_when_something_could_not_be_read(
    store: vestig.Vestig, notes: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror(store, notes)
    (notes / "mast.md").unlink()
    if fault == "no UTF-8":
        (notes / "odd.md").write_bytes(b"Die F\xe4hre")
    elif fault == "a cut archive":
        (notes / "all.zip").write_bytes(b"PK\x03\x04cut")
    else:
        bad = "old" if fault == "a folder" else "keel.md"
        name, real = ("iterdir" if fault == "a folder" else "lstat"), inputs.Path

        def refusing(path: Path) -> object:
            if path.name == bad:
                raise PermissionError(13, "Permission denied")
            return before(path)

        before = getattr(real, name)
        monkeypatch.setattr(inputs.Path, name, refusing)
    for dry_run in (True, False):
        report = mirror(store, notes, dry_run=dry_run)
        assert (report.ended, report.ended_documents) == (0, ())
        assert report.failed == 1
        assert str(notes / "mast.md") in report.missing
        assert any("no document ended" in one for one in report.warnings)
    assert len(texts(store)) == 3


def test_an_empty_folder_and_none_end_nothing(store: vestig.Vestig, notes: Path) -> None:
    mirror(store, notes)
    aside = notes.rename(notes.parent / "aside")
    with pytest.raises((FileNotFoundError, vestig.ValidationError)):
        mirror(store, notes)
    notes.mkdir()
    with pytest.raises(vestig.ValidationError, match=r"empty folder.*no document ended"):
        mirror(store, notes)
    (notes / "hull.png").write_bytes(b"\x89PNG")
    with pytest.raises(vestig.ValidationError, match="none of its files"):
        mirror(store, notes)
    assert len(texts(store)) == 3
    with pytest.raises(vestig.ValidationError, match="mirror: expected a folder"):
        store.import_(aside / "keel.md", mirror=True)


def test_members_of_archives_and_mails_end_with_their_places(
    store: vestig.Vestig, notes: Path
) -> None:
    mail = "From a@example.org Fri Mar  6 10:00:00 2026\nSubject: {0}\n\nThe {0} is here.\n\n"
    (notes / "m.mbox").write_text(mail.format("anchor") + mail.format("chain"))
    with zipfile.ZipFile(notes / "n.zip", "w") as archive:
        archive.writestr("one.md", "The rope is of hemp.")
        archive.writestr("two.md", "The rope is of flax.")
    assert mirror(store, notes).added == 7
    (notes / "m.mbox").write_text(mail.format("chain"))
    os.utime(notes / "m.mbox", (1_780_000_000, 1_780_000_000))
    with zipfile.ZipFile(notes / "n.zip", "w") as archive:
        archive.writestr("two.md", "The rope is of flax.")
    report = mirror(store, notes)
    assert (len(report.ended_documents), report.ended) == (2, 2)
    (notes / "n.zip").unlink()
    assert mirror(store, notes).ended_documents == (str(notes / "n.zip" / "two.md"),)
    assert "The anchor is here." not in texts(store)
    assert "The chain is here." in texts(store)


def test_a_forgotten_passage_does_not_come_back_with_a_new_name(
    store: vestig.Vestig, notes: Path
) -> None:
    path = written(notes / "two.md", "# Tar\n\nTar is black.\n\n# Oil\n\n" + "Oil is clear. " * 60)
    mirror(store, notes)
    [tar] = [one.id for one in store.list() if "Tar is black" in one.content]
    store.forget(tar)
    path.rename(notes / "three.md")
    report = mirror(store, notes)
    assert (list(report.moved), report.added, report.ended) == ([str(path)], 0, 0)
    assert report.left_out["passage that was forgotten"] == 1
    assert not any("Tar is black" in one.content for one in store.list())


def test_a_moved_document_is_forgotten_with_all_its_versions(tmp_path: Path, notes: Path) -> None:
    with vestig.open(tmp_path / "store", embedder=HashingEmbedder()) as store:
        mirror(store, notes)
        written(notes / "keel.md", "# Keel\n\nThe keel is of elm.\n", at=1_780_000_000)
        mirror(store, notes)
        (notes / "keel.md").rename(notes / "stem.md")
        mirror(store, notes)
        # another document of the name that is free now
        written(notes / "keel.md", "# Tar\n\nThe tar is black.\n")
        mirror(store, notes)
        [stem] = [one for one in store.documents() if str(one.path).endswith("stem.md")]
        report = store.forget_document(stem.id)
        assert len(report.memory_ids) == 2
        assert paths(store) == ["keel.md", "mast.md", "sail.md"]
        assert "The tar is black." in texts(store)
        assert store.count(where={"statuses": "DEPRECATED"}) == 0
