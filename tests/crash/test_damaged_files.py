"""Damage to every file of a store: found, mended from the ledger, or refused; never silent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from damages import (
    REFUSED,
    SAME,
    TARGETS,
    TOLD,
    copied,
    damages,
    judged,
    make_original,
    replaced,
    truth_of,
    without_checksums,
    zeroed_vectors,
)
from writer import open_store, text_of

from vestig.results import DoctorReport


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("original") / "store"
    make_original(store)
    return store


@pytest.mark.slow
def test_no_damage_is_silent(tmp_path: Path) -> None:
    outcome = damages(tmp_path, 60)
    assert outcome.broken == []
    assert outcome.also[SAME] >= 10
    assert outcome.also[REFUSED] >= 10


def test_the_judge_sees_a_store_that_ignores_checksums(original: Path, tmp_path: Path) -> None:
    """The same bits, with and without somebody who compares what was read."""
    quiet = copied(original, tmp_path / "quiet")
    open_store(str(quiet)).close()  # all of the log is in the ledger now
    truth = truth_of(quiet, tmp_path / "truth")
    stored = {m.content: m.id for id, m in truth.items() if id.startswith("mem_")}
    text = text_of("old", 3)
    cases = {text.encode(): "ALTERED TEXT was served"}
    _, vector = truth["vectors"][stored[text]]
    cases[vector] = "SILENT"
    for place, (old, verdict) in enumerate(cases.items()):
        harmed = copied(quiet, tmp_path / f"harmed-{place}")
        replaced(harmed, old)
        again = copied(harmed, tmp_path / f"harmed-{place}-again")
        assert judged(harmed, truth) in (REFUSED, TOLD)
        with without_checksums():
            assert judged(again, truth) == verdict


def test_the_judge_sees_segments_whose_checksums_hide_damage(
    original: Path, tmp_path: Path
) -> None:
    truth = truth_of(original, tmp_path / "truth")
    harmed = copied(original, tmp_path / "harmed")
    zeroed_vectors(harmed)
    blind = DoctorReport(findings=(), seq=0)
    assert judged(harmed, truth, lambda _store: blind) == "SILENT"


@pytest.mark.parametrize("target", TARGETS)
def test_a_deleted_file_is_made_again_or_refused(
    original: Path, tmp_path: Path, target: str
) -> None:
    """Only ledger and log hold truth; without either the store does not open as if nothing was."""
    truth = truth_of(original, tmp_path / "truth")
    folder = copied(original, tmp_path / "store")
    next(folder.glob(target)).unlink()
    expected = REFUSED if target.startswith("ledger") else SAME
    assert judged(folder, truth) == expected


def _sql(folder: Path, *statements: str) -> None:
    with open_store(str(folder)) as store, store._session.ledger.write(0) as txn:
        txn.connection.execute("COMMIT")
        txn.connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            txn.connection.execute(statement)
        txn.connection.execute("BEGIN")


def test_the_judge_sees_silence_and_altered_text(original: Path, tmp_path: Path) -> None:
    truth = truth_of(original, tmp_path / "truth")
    folder = copied(original, tmp_path / "store")
    _sql(folder, "DELETE FROM edges")
    assert judged(folder, truth) == TOLD
    blind = DoctorReport(findings=(), seq=0)
    assert judged(folder, truth, lambda _store: blind) == "SILENT"
    _sql(
        folder,
        "UPDATE memories SET (content, content_hash) ="
        ' (SELECT content, content_hash FROM memories WHERE "row" = 2), t_expired_us = 0'
        ' WHERE "row" = 3',
    )
    assert judged(folder, truth) == REFUSED
    with without_checksums():
        assert judged(folder, truth) == "ALTERED TEXT was served"
    shutil.rmtree(folder)
    assert judged(folder, truth) == "EMPTY STORE in place of a lost one"
