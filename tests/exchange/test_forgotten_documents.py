"""Documents whose passages were forgotten, one by one or as a whole."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import vestig
from forget_checks import folder_of
from scripted import Opener
from traces import holding

SLUICE = "# Sluice gates\n\nThe upper gate is of larch."
LOCKS = "# Locks\n\n" + " ".join(f"Lock {number} is of elm." for number in range(90))
CHART = "# Chart\n\nThe canal is nine feet deep.\n\n"
CANAL = "# Canal\n\nThe canal is nine feet deep.\n\n# Locks\n\n" + "It has a lock of elm. " * 60


def written(path: Path, text: str, at: int = 1_770_000_000) -> Path:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def faults(store: vestig.Vestig) -> list[str]:
    """What is wrong with the store; that jobs wait is not."""
    found = [one.check for one in store.admin.doctor().findings if one.level != "ok"]
    return [*(one for one in found if one != "jobs"), *store._session.ledger.verify_all()]


def by_ids(store: vestig.Vestig, _: str) -> None:
    for memory in store.list(limit=100):
        store.forget(memory.id)


def by_source(store: vestig.Vestig, source: str) -> None:
    store.forget(where={"source_ids": [source]})


@pytest.mark.parametrize("forget", [by_ids, by_source])
@pytest.mark.parametrize("text", [SLUICE, CANAL])
def test_a_file_whose_passages_are_all_forgotten_is_still_known(
    text: str, forget: Any, opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    path = written(tmp_path / "notes.md", text)
    first = store.import_(path)
    forget(store, first.source_id)
    assert store.count() == 0
    store.admin.gc()
    again, forced = store.import_(path), store.import_(path, force=True)
    assert (again.skipped, again.source_id) == (1, first.source_id)
    assert (forced.added, forced.source_id, store.count()) == (0, first.source_id, 0)
    [listed] = store.documents().documents
    assert (listed.id, listed.path, listed.title) == (first.source_id, str(path), "")
    assert faults(store) == []
    written(path, text, at=1_780_000_000)
    touched = store.import_(path)
    assert (touched.added, touched.ended, store.count()) == (0, 0, 0)
    assert touched.left_out == {"passage that was forgotten": first.passages}
    store.admin.gc()
    [listed] = store.documents().documents
    assert listed.path == str(path)
    assert store.import_(path).skipped == 1
    store.forget_document(listed.id)
    second = store.import_(path)
    assert (second.added, second.ended, store.count()) == (first.passages, 0, first.passages)
    assert faults(store) == []


def copied(path: Path) -> None:
    shutil.copy2(path, path.with_stem("copy"))


def renamed(path: Path) -> None:
    path.rename(path.with_stem("renamed"))


def touched(path: Path) -> None:
    os.utime(path, (1_780_000_000, 1_780_000_000))


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("change", [copied, renamed, touched])
@pytest.mark.parametrize("ending", [".md", ".txt"])
@pytest.mark.parametrize("text", [SLUICE, "The upper gate is of larch.", LOCKS, f"{CHART}{LOCKS}"])
def test_what_is_forgotten_stays_out_of_its_file_however_that_is_moved(
    text: str, ending: str, change: Any, mirror: bool, opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    folder = tmp_path / "notes"
    folder.mkdir()
    path = written(folder / f"notes{ending}", text)
    store.import_(folder)
    gone = store.list(limit=100)[0]
    said = gone.content.removeprefix(f"{gone.title}\n")
    store.forget(gone.id)
    change(path)
    for _ in range(2):
        report = store.import_(folder, mirror=mirror)
        assert report.left_out["passage that was forgotten"] >= 1
        assert not any(said in one.content for one in store.list(limit=100))
    assert faults(store) == []


def test_a_new_file_of_the_size_of_a_forgotten_one_comes_in(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    path = written(tmp_path / "one.md", "# Gate\n\nThe gate is of elm.\n")
    store.import_(path)
    by_ids(store, "")
    written(tmp_path / "two.md", "# Gate\n\nThe gate is of oak.\n", at=1_770_000_001)
    assert store.import_(tmp_path / "two.md").added == 1


def test_equal_lengths_are_told_apart_by_their_places(opener: Opener, tmp_path: Path) -> None:
    def sections(*gates: str) -> str:
        return "".join(f"# Gate {n}\n\n" + f"It is of {n}. " * 45 + "\n\n" for n in gates)

    store = opener()
    path = written(tmp_path / "gates.md", sections("elm", "oak", "ash"))
    store.import_(path)
    [oak] = [one for one in store.list() if "oak" in one.content]
    store.forget(oak.id)
    written(path, sections("fir", "oak", "ash", "yew"), at=1_780_000_000)
    report = store.import_(path)
    assert (report.added, report.kept, report.ended) == (2, 1, 1)
    assert sorted(one.title or "" for one in store.list()) == [
        "gates > Gate ash",
        "gates > Gate fir",
        "gates > Gate yew",
    ]


def test_of_a_forgotten_text_its_title_goes_too(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    path = written(tmp_path / "notes.md", SLUICE)
    store.import_(path)
    [memory] = store.list()
    report = store.forget(memory.id)
    assert report.residues == 0
    assert holding(folder_of(store), b"Sluice gates", b"of larch") == []
    assert holding(folder_of(store), str(path).encode()) != []


@pytest.mark.parametrize("emptied", [False, True])
def test_a_forgotten_document_is_not_known(emptied: bool, opener: Opener, tmp_path: Path) -> None:
    store = opener()
    path = written(tmp_path / "notes.md", SLUICE)
    first = store.import_(path)
    if emptied:
        by_ids(store, "")
    planned = store.forget_document(first.source_id or "", dry_run=True)
    assert store.documents().total == 1
    report = store.forget_document(first.source_id or "")
    assert len(report.memory_ids) == len(planned.memory_ids) == (not emptied)
    assert report.rows_removed["sources"] == planned.rows_removed["sources"] == 1
    assert (report.residues, store.documents().documents) == (0, ())
    assert holding(folder_of(store), b"Sluice", b"of larch", str(path).encode()) == []
    assert faults(store) == []
    with pytest.raises(vestig.NotFoundError):
        store.forget_document(first.source_id or "")
    assert store.import_(path).added == 1


def test_a_forgotten_document_leaves_no_byte_of_any_version(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    kept = written(tmp_path / "kept.md", "# Kept\n\nThe towpath is of gravel.")
    store.import_(kept)
    path = tmp_path / "notes.md"
    woods = ("larch", "elm", "alder", "wych elm")
    for number, wood in enumerate(woods):
        text = f"# Gates of {wood}\n\nGate {number} is of {wood}, says [[Berta {wood}]]."
        source = store.import_(written(path, text, at=1_770_000_000 + number)).source_id
    store.recall("gate of elm")
    store.forget_document(source or "")
    words = [f"of {wood}" for wood in woods] + [f"Berta {wood}" for wood in woods] + [str(path)]
    assert holding(folder_of(store), *(word.encode() for word in words)) == []
    assert holding(folder_of(store), b"towpath") != []
    assert [one.content for one in store.list()] == ["# Kept\n\nThe towpath is of gravel."]
    assert faults(store) == []


def test_another_document_that_loses_its_passages_stays_known(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    one, two = written(tmp_path / "one.md", SLUICE), written(tmp_path / "two.md", SLUICE)
    report = store.import_([one, two])
    first, second = (file.source_id for file in report.files)
    store.forget_document(first or "")
    assert [listed.id for listed in store.documents().documents] == [second]
    assert store.import_(two).skipped == 1
    assert store.import_(one).added == 1


def test_an_export_says_that_a_file_is_known(opener: Opener, tmp_path: Path) -> None:
    store, other = opener(), opener("other")
    path = written(tmp_path / "notes.md", SLUICE)
    store.import_(path)
    before = io.BytesIO()
    store.export(before)
    by_ids(store, "")
    out, back = io.BytesIO(), io.BytesIO()
    store.export(out)
    other.import_(io.BytesIO(out.getvalue()))
    assert other.import_(path).skipped == 1
    other.export(back)
    assert back.getvalue() == out.getvalue()
    # an older export brings nothing of a forgotten document back
    [listed] = other.documents().documents
    other.forget_document(listed.id)
    other.import_(io.BytesIO(before.getvalue()), merge=True)
    assert (other.count(), other.documents().total) == (0, 0)


@pytest.mark.parametrize("where", [{"scope": "b/x"}, {"scope_prefix": "b"}, {"unscoped": True}])
@pytest.mark.parametrize("emptied", [False, True])
def test_a_forgotten_scope_takes_its_documents(
    where: dict[str, Any], emptied: bool, opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    scope = None if "unscoped" in where else "b/x"
    kept = written(tmp_path / "kept.md", "# Kept\n\nThe towpath is of gravel.")
    store.import_(kept, scope="bx")
    path = tmp_path / "notes.md"
    store.import_(written(path, "# Old\n\nThe gate is of oak."), scope=scope)
    newest = store.import_(written(path, SLUICE, at=1_770_000_001), scope=scope).source_id
    if emptied:
        for memory in store.list(where={**where, "include_expired": True}):
            store.forget(memory.id)
    planned = store.forget(where=where, dry_run=True)
    assert store.documents().total == 2
    report = store.forget(where=where)
    assert planned.documents_removed == report.documents_removed == (newest,)
    assert (report.residues, [one.path for one in store.documents()]) == (0, [str(kept)])
    traces = [b"Sluice", b"of larch", b"of oak", str(path).encode()]
    assert holding(folder_of(store), *traces, *([b"b/x"] if scope else [])) == []
    assert faults(store) == []
    assert store.import_(path, scope=scope).added == 1
    assert store.forget(where={**where, "tags": ["none"]}).documents_removed == ()


def test_what_was_forgotten_is_not_counted_as_kept(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    path = written(tmp_path / "notes.md", CANAL + "\n\n# Twice\n\nOf elm.\n\n# Twice\n\nOf elm.")
    first = store.import_(path)
    again = store.import_(path)
    assert (again.kept, again.left_out) == (first.passages, {})
    memories = store.list(limit=100)
    assert store.documents().documents[0].passages == len(memories)
    store.forget(memories[0].id)
    again = store.import_(path)
    assert again.left_out == {"passage that was forgotten": 1}
    assert again.kept == first.passages - 1
    assert store.documents().documents[0].passages == len(memories) - 1
    store.forget([one.id for one in memories[1:]])
    again = store.import_(path)
    assert again.left_out == {"passage that was forgotten": len(memories)}
    assert (store.documents().documents[0].passages, store.count()) == (0, 0)
