"""When a section of a document was written, and what is known where nothing tells it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import vestig
from tables import each
from vestig.exchange.passages import Passage, cut_document
from vestig.testing import HashingEmbedder
from vestig.times import from_us
from vestig.types import Memory

COPIED = datetime(2027, 6, 1, 12, tzinfo=UTC).timestamp()


def imported(folder: Path, text: str, name: str = "notes.md") -> list[Memory]:
    """The passages of a document whose file was copied in June 2027."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    os.utime(path, (COPIED, COPIED))
    with vestig.open(":memory:", embedder=HashingEmbedder()) as store:
        store.import_(path)
        return sorted(store.list(limit=100), key=lambda one: int(one.metadata["passage"]))


def days(passages: tuple[Passage, ...]) -> list[str | None]:
    return [None if one.day_us is None else f"{from_us(one.day_us):%Y-%m-%d}" for one in passages]


@each(
    ("text", "wanted"),
    [
        (
            "# Log\n\n## 2026-05-17 Marstal\n\nSoup.\n\n## 2026-05-18\n\nRain.",
            ["2026-05-17", "2026-05-18"],
        ),
        ("# Log\n\n## Monday, 4 May 2026\n\nCold.\n\n### Noon\n\nWarm.", ["2026-05-04"]),
        ("# Log 2026\n\n## May 4\n\nCold.\n\n## 5 May\n\nWarm.", ["2026-05-04", "2026-05-05"]),
        ("# Log 2025 and 2026\n\n## 4 May\n\nCold.\n\n## 5 May\n\nWarm.", [None, None]),
        ("# Log\n\n## Minutes of 3 May 2026\n\nOne.\n\n## Rules\n\nTwo.", [None, None]),
        ("# Log\n\n## 4 May 2026\n\nCold.\n\n## Rules\n\nNo music.", ["2026-05-04", None]),
        ("# Log\n\n## May\n\nCold.\n\n## Rules\n\nNo music.", [None]),
        ("# Log\n\n## 4 May 2026\n\n## 5 May 2026\n\nWarm.", ["2026-05-04", "2026-05-05"]),
    ],
)
def test_a_heading_that_begins_with_a_day_dates_its_section(
    text: str, wanted: list[str | None]
) -> None:
    assert days(cut_document(text).passages) == wanted


def test_sections_of_different_days_are_different_passages(tmp_path: Path) -> None:
    text = (
        "# Log\n\nOf the sloop.\n\n## 2026-05-17\n\nYesterday we left.\n\n## 2026-05-18\n\nRain.\n"
    )
    begin, first, second = imported(tmp_path, text)
    assert begin.metadata["time_from"] == "file_time"
    assert [one.metadata["time_from"] for one in (first, second)] == ["heading", "heading"]
    assert [f"{one.t_valid:%m-%d}" for one in (first, second)] == ["05-17", "05-18"]
    told = [f"{one.start:%Y-%m-%d}" for one in first.times if one.text == "Yesterday"]
    assert told == ["2026-05-16"]


def test_a_day_behind_the_file_is_a_plan_and_dates_nothing(tmp_path: Path) -> None:
    (plan,) = imported(tmp_path, "## 2030-01-05\n\nThe lease ends.\n")
    assert plan.metadata["time_from"] == "file_time"
    assert f"{plan.t_valid:%Y-%m}" == "2027-06"


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ("Appointment tomorrow at nine.", []),
        ("We met last Friday, and two days ago too.", []),
        ("It was on 3 May 2025.", ["2025-05-03"]),
        ("Delivery on 14 October, not before.", ["2026-10-14", "2027-10-14"]),
        ("In June last year it rained.", ["2026-06-01", "2027-06-01"]),
    ],
)
def test_the_time_of_a_file_gives_relative_words_no_date(
    said: str, stated: list[str], tmp_path: Path
) -> None:
    (memory,) = imported(tmp_path, said)
    assert [f"{one.start:%Y-%m-%d}" for one in memory.times] == stated


def test_a_block_prints_no_date_that_only_a_file_tells(tmp_path: Path) -> None:
    said = "Appointment tomorrow at the clinic; the books come on 14 October."
    for name, is_printed in (("clinic.md", False), ("2026-03-02 clinic.md", True)):
        path = tmp_path / name
        path.write_text(said, encoding="utf-8")
        os.utime(path, (COPIED, COPIED))
        with vestig.open(":memory:") as store:
            store.import_(path)
            found = store.recall("When is the appointment at the clinic?", context=True)
            assert found.context is not None
            assert ("tomorrow [" in found.context.text) is is_printed
            assert ("14 October [" in found.context.text) is is_printed


def test_the_time_of_a_file_meets_no_date_of_a_question(tmp_path: Path) -> None:
    said = "The tar of the hull is dry."
    for name, text, meets in (
        ("copied.md", said, None),
        ("dated.md", f"---\ndate: 2027-06-01\n---\n{said}", 0.8),
    ):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (COPIED, COPIED))
        with vestig.open(":memory:") as store:
            store.import_(path)
            (hit,) = store.recall("What dried on 1 June 2027?", all=True)
            date = hit.reason.signals.get("date")
            assert (date and date.raw) == meets
            assert (date and date.matched) == (meets and ("on 1 June 2027",))
