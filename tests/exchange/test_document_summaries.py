"""Documents of files that a language model has summed up, and that come again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import vestig
from forget_checks import folder_of
from read_by_model import QUIET, noted, shown
from scripted import Opener
from traces import holding
from vestig.ports import ModelRequest
from vestig.testing import ScriptedModel
from vestig.types import Kind, Memory, Status

TITLE = "How the sluices of the upper canal are kept"
WOODS = ("oak", "elm", "larch", "teak", "ash", "beech", "alder", "spruce")


def answer(request: ModelRequest) -> Any:
    if request.purpose == "extract_claims":
        return noted([{**one, "author": "It"} for one in shown(request)])
    woods = [wood for wood in WOODS if wood in request.user]
    return {
        "title": TITLE,
        "overview": f"The gates are of {' and '.join(woods)}.",
        "bullets": [{"text": "Every gate has its wood", "from": [1, 2, 7]}],
        "themes": ["sluices", "woods", "gates", "canal"],
    }


def written(path: Path, woods: tuple[str, ...], at: int) -> Path:
    parts = [
        f"## Gate {wood}\n\n" + " ".join(f"Plank {n} of it is {wood}." for n in range(25))
        for wood in woods
    ]
    path.write_text("# Sluices\n\n" + "\n\n".join(parts), encoding="utf-8")
    os.utime(path, (at, at))
    return path


def summaries(store: vestig.Vestig, status: str) -> list[Memory]:
    return list(store.list({"kinds": ["SUMMARY"], "statuses": [status]}, limit=10))


def faults(store: vestig.Vestig) -> list[str]:
    """What is wrong with the store; that jobs wait is not."""
    found = [one.check for one in store.admin.doctor().findings if one.level != "ok"]
    return [*(one for one in found if one != "jobs"), *store._session.ledger.verify_all()]


def test_a_summed_up_document_that_changes(opener: Opener, tmp_path: Path) -> None:
    store = opener(llm=ScriptedModel(answer), config=QUIET)
    path = written(tmp_path / "sluices.md", WOODS[:7], 1_770_000_000)
    first = store.import_(path)
    assert store.cognify().summaries_created == 1
    [old] = summaries(store, "active")
    assert "oak and elm" in old.content
    assert [one.id for one in store.show(old.id).sources] == [first.source_id]

    written(path, (*WOODS[:6], WOODS[7]), 1_780_000_000)
    planned = store.import_(path, dry_run=True)
    second = store.import_(path)
    assert (first.passages, second.added, second.kept, second.ended) == (7, 1, 6, 1)
    assert (planned.added, planned.kept, planned.ended) == (1, 6, 1)
    [gone] = store.list({"kinds": ["MEMORY"], "statuses": ["deprecated"]})
    assert "alder" in gone.content
    # the summary says what was read until the document is read anew
    assert store.get(old.id).status is Status.ACTIVE
    assert store.import_(path, force=True).skipped == 1

    assert store.cognify().summaries_created == 1
    [new] = summaries(store, "active")
    assert "spruce" in new.content
    assert "alder" not in new.content
    before = store.get(old.id)
    assert (before.status, before.superseded_by) == (Status.SUPERSEDED, new.id)
    assert [one.id for one in store.show(new.id).sources] == [second.source_id]
    [listed] = store.documents().documents
    assert (listed.id, listed.title, listed.passages) == (second.source_id, "Sluices", 7)
    assert faults(store) == []

    ids = {one.id for one in store.list({"statuses": ["active", "deprecated", "superseded"]},
                                        limit=100)
           if one.kind is Kind.SUMMARY or one.origin_type.value == "document"}  # fmt: skip
    report = store.forget_document(first.source_id or "")
    assert ids <= {*report.memory_ids, *report.summaries_removed}
    assert (report.residues, store.documents().documents) == (0, ())
    assert summaries(store, "active") + summaries(store, "superseded") == []
    needles = [TITLE, "The gates are of", "Every gate has its wood", "Plank 3 of it", str(path)]
    needles += [one.content for one in (old, new)]
    assert holding(folder_of(store), *(text.encode() for text in needles)) == []
    assert store.cognify().summaries_created == 0
    assert faults(store) == []
