"""Forgetting and withdrawing by source what other sources hold too."""

from __future__ import annotations

from pathlib import Path

import pytest

import vestig
from vestig.testing import HashingEmbedder

NOTICE = "## Notice\n\nThe fire doors of the building stay shut at night.\n"
OWN = {
    "A": "# Doc A\n\n## Parties\n\nOst and West are parties to the lease.\n\n",
    "B": "# Doc B\n\n## Parties\n\nNord rents the second floor.\n\n",
}


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(
        ":memory:", embedder=HashingEmbedder(), config={"documents": {"passage_chars": 200}}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "c"
    folder.mkdir()
    for name, text in OWN.items():
        filled = text + "They agree with all the terms of it that follow below. " * 2 + "\n\n"
        (folder / f"{name}.md").write_text(filled + NOTICE, encoding="utf-8")
    return folder


def notices(store: vestig.Vestig) -> list[vestig.Memory]:
    return [one for one in store.list(limit=100) if "fire doors" in one.content]


def test_a_passage_of_another_document_stays(store: vestig.Vestig, folder: Path) -> None:
    store.import_(folder)
    [notice] = notices(store)
    count, a, b = store.count(), str(folder / "A.md"), str(folder / "B.md")
    planned = store.forget(where={"source_ids": [a]}, dry_run=True)
    assert store.count() == count
    report = store.forget(where={"source_ids": [a]})
    assert planned.memory_ids == report.memory_ids
    assert notice.id not in report.memory_ids
    for one in (planned, report):
        [said] = [text for text in one.warnings if notice.id in text]
        assert b in said
        assert a not in said
    [left] = notices(store)
    assert [one.path for one in store.show(left.id).sources] == [b]
    assert "Doc A" not in (left.title or "")
    # nothing else is left of the first, and a second time there is nothing to do
    assert store.count(where={"source_ids": [a]}) == 0
    again = store.forget(where={"source_ids": [a]})
    assert (again.memory_ids, again.warnings) == ((), ())
    assert notice.id in store.forget(where={"source_ids": [b]}).memory_ids
    assert store.admin.doctor().exit_code == 0


def test_what_only_named_sources_hold_goes(store: vestig.Vestig, folder: Path) -> None:
    store.import_(folder)
    both = [str(folder / "A.md"), str(folder / "B.md")]
    report = store.forget(where={"source_ids": both})
    assert (store.count(), report.warnings) == (0, ())
    store.import_(folder, force=True)
    assert store.forget(where={"source_ids": [str(folder)]}).warnings == ()
    assert store.count() == 0


def test_an_earlier_version_is_no_other_source(store: vestig.Vestig, folder: Path) -> None:
    (folder / "B.md").unlink()
    store.import_(folder)
    path = folder / "A.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nThe lift is grey.\n", encoding="utf-8")
    store.import_(folder)
    report = store.forget(where={"source_ids": [str(path)]})
    assert (store.count(), report.warnings) == (0, ())


def test_a_document_that_ended_is_no_other_source(store: vestig.Vestig, folder: Path) -> None:
    store.import_(folder, mirror=True)
    (folder / "B.md").unlink()
    store.import_(folder, mirror=True)
    report = store.forget(where={"source_ids": [str(folder / "A.md")]})
    assert (store.count(), report.warnings) == (0, ())


def test_what_somebody_stated_too_stays(store: vestig.Vestig, folder: Path) -> None:
    (folder / "B.md").unlink()
    store.import_(folder)
    [notice] = notices(store)
    store.commit(notice.content)
    report = store.forget(where={"source_ids": [str(folder / "A.md")]})
    assert notice.id not in report.memory_ids
    assert any(notice.id in one for one in report.warnings)


def test_an_id_in_the_filter_takes_it_all_the_same(store: vestig.Vestig, folder: Path) -> None:
    store.import_(folder)
    [notice] = notices(store)
    where = {"source_ids": [str(folder / "A.md")], "ids": [notice.id]}
    assert store.forget(where=where).memory_ids == (notice.id,)


def test_where_all_is_shared_the_source_no_longer_holds_it(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.md").write_text(NOTICE, encoding="utf-8")
    store.import_(tmp_path)
    a = {"source_ids": [str(tmp_path / "a.md")]}
    assert store.forget(where=a).memory_ids == ()
    assert (store.count(where=a), store.count()) == (0, 1)


def test_a_withdrawal_leaves_what_another_source_holds(store: vestig.Vestig, folder: Path) -> None:
    store.import_(folder)
    [notice] = notices(store)
    report = store.deprecate(where={"source_ids": [str(folder / "A.md")]})
    assert notice.id not in report.memory_ids
    assert len(report.memory_ids) >= 1
    assert any(notice.id in one for one in report.warnings)
    assert notices(store) == [notice]


def test_a_document_that_is_forgotten_says_whose_passages_go_with_it(
    store: vestig.Vestig, folder: Path
) -> None:
    store.import_(folder)
    [notice] = notices(store)
    [a] = [one for one in store.documents().documents if one.path == str(folder / "A.md")]
    for dry_run in (True, False):
        report = store.forget_document(a.id, dry_run=dry_run)
        assert notice.id in report.memory_ids
        [said] = report.warnings
        assert str(folder / "B.md") in said
        assert str(folder / "A.md") not in said
    [b] = store.documents().documents
    assert store.forget_document(b.id).warnings == ()
