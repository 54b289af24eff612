"""Titles of passages that several documents hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vestig
from vestig.exchange import documents
from vestig.testing import HashingEmbedder

PAYMENT = "## Payment\n\nInvoices are payable within 38 days of receipt.\n"
FILL = "The parties agree with all the terms of it that follow here. " * 2


@pytest.fixture
def store() -> vestig.Vestig:
    return vestig.open(
        ":memory:", embedder=HashingEmbedder(), config={"documents": {"passage_chars": 200}}
    )


def contract(folder: Path, name: str, payment: str = PAYMENT, at: int = 1_770_000_000) -> Path:
    path = folder / f"{name}.md"
    text = f"# Agreement with {name}\n\n## Parties\n\n{name} supplies. {FILL}\n\n{payment}"
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
    return path


def title(store: vestig.Vestig) -> str | None:
    [found] = [one for one in store.list(limit=100) if "38 days" in one.content]
    return found.title


@pytest.mark.parametrize("group", [250, 1])
@pytest.mark.parametrize("together", [True, False])
def test_a_shared_passage_is_called_by_all_of_its_documents(
    group: int, together: bool, store: vestig.Vestig, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(documents, "_GROUP_PASSAGES", group)
    for name in ("Koppel", "Brannock"):
        path = contract(tmp_path, name)
        if not together:
            store.import_(path)
    if not together:
        assert title(store) == "Agreement with Brannock; Agreement with Koppel > Payment"
    store.import_(tmp_path, mirror=True)
    assert title(store) == "Agreement with Brannock; Agreement with Koppel > Payment"
    # what is unchanged changes nothing
    before = store.admin.stats().seq
    assert store.import_(tmp_path, mirror=True, force=True).imported == 0
    assert store.admin.stats().seq == before
    (tmp_path / "Brannock.md").unlink()
    store.import_(tmp_path, mirror=True)
    assert title(store) == "Agreement with Koppel > Payment"


def test_a_document_that_lost_it_names_it_no_more(store: vestig.Vestig, tmp_path: Path) -> None:
    for name in ("Koppel", "Brannock"):
        contract(tmp_path, name)
    store.import_(tmp_path)
    contract(tmp_path, "Brannock", PAYMENT.replace("38", "60"), 1_780_000_000)
    store.import_(tmp_path)
    assert title(store) == "Agreement with Koppel > Payment"


def test_a_new_title_of_one_takes_the_place_of_its_own(
    store: vestig.Vestig, tmp_path: Path
) -> None:
    for name in ("Koppel", "Brannock"):
        contract(tmp_path, name)
    store.import_(tmp_path)
    path = tmp_path / "Brannock.md"
    path.write_text(path.read_text(encoding="utf-8").replace("# Agreement with", "# Lease of"))
    os.utime(path, (1_780_000_000, 1_780_000_000))
    store.import_(tmp_path)
    assert title(store) == "Agreement with Koppel; Lease of Brannock > Payment"


def test_only_headings_that_all_have_stand_in_it(store: vestig.Vestig, tmp_path: Path) -> None:
    contract(tmp_path, "Koppel")
    contract(tmp_path, "Brannock", "## Terms\n\n#" + PAYMENT)
    text = "Invoices are payable within 38 days of receipt. " + FILL
    for name, above in (("a", "## Terms\n\n### Money"), ("b", "## Money")):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{above}\n\n{FILL}\n\n{text}\n")
    store.import_([tmp_path / "a.md", tmp_path / "b.md"])
    titles = {one.title for one in store.list(limit=100)}
    assert titles >= {"a > Terms > Money", "b > Money"}


def test_equal_titles_are_said_once(store: vestig.Vestig, tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        contract(tmp_path / name, "Koppel")
    store.import_(tmp_path, recursive=True)
    assert title(store) == "Agreement with Koppel > Payment"


def test_of_many_documents_some_are_named(store: vestig.Vestig, tmp_path: Path) -> None:
    for name in "ABCDEF":
        contract(tmp_path, name)
    store.import_(tmp_path)
    named = "Agreement with A; Agreement with B; Agreement with C; 3 more"
    assert title(store) == f"{named} > Payment"
    for name in "ABCD":
        store.forget(where={"source_ids": [str(tmp_path / f"{name}.md")]})
    assert title(store) == "Agreement with E; Agreement with F > Payment"
