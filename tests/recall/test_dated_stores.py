"""Questions about days and periods, to notes, rows, chats and sections of documents, written by
hand before anything was run on them: they chose no weight."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import vestig

STORES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("dated_stores.json").read_text(encoding="utf-8")
)["worlds"]
HIT_AT_1_MIN = 0.8


def filled(world: dict[str, Any], folder: Path) -> vestig.Vestig:
    """The store of a world, in memory."""
    store = vestig.open(":memory:")
    now = datetime.fromisoformat(world["now"]).timestamp()
    if world["kind"] in ("sections", "files"):
        for name, text in world["items"]:
            path = folder / name
            path.write_text(text, encoding="utf-8")
            os.utime(path, (now, now))
        store.import_(folder)
    elif world["kind"] == "chat":
        for session, (said_at, turns) in enumerate(world["items"]):
            for number, (author, text) in enumerate(turns):
                store.commit(
                    text, author=author, session_id=str(session), sequence=number, t_ref=said_at
                )
    else:
        for day, text in world["items"]:
            store.commit(text, t_ref=f"{day}T12:00:00Z")
    return store


def first_places(world: dict[str, Any], folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Question, first memory, and whether it holds the answer."""
    with filled(world, folder) as store:
        for one in world["questions"]:
            found = store.recall(one["query"], query_time=world["now"], limit=5)
            text = found[0].content if found else ""
            # a passage of several sections answers no question about one of them
            yield one["query"], text, one["answer"] in text and text.count("\n#") <= 1


@pytest.mark.slow
def test_the_first_memory_answers_a_question_about_a_day_or_a_period(tmp_path: Path) -> None:
    """At least eight of ten over all stores."""
    right, missed = 0, list[str]()
    for number, world in enumerate(STORES):
        folder = tmp_path / str(number)
        folder.mkdir()
        for question, text, hit in first_places(world, folder):
            right += hit
            if not hit:
                missed.append(f"{world['name']}: {question} -> {text!r}")
    asked = right + len(missed)
    assert asked >= 80
    assert right >= HIT_AT_1_MIN * asked, "\n".join(missed)


def first(texts: dict[str, str], query: str) -> str:
    """The first of some notes, each with the day on which it was written."""
    with vestig.open(":memory:") as store:
        for text, day in texts.items():
            store.commit(text, t_ref=f"{day}T12:00:00Z")
        return store.recall(query, query_time="2026-12-01T12:00:00Z")[0].content


def test_a_day_is_met_by_what_is_said_then_by_when_it_was_written_then_by_its_neighbours() -> None:
    said = "The boiler was inspected on 4 May 2026."
    wrote = {"The boiler was inspected at noon.": "2026-05-04"}
    beside = {"The boiler was inspected again.": "2026-05-05"}
    query = "When was the boiler inspected on 4 May 2026?"
    assert first({said: "2026-07-01"} | wrote | beside, query) == said
    assert first(wrote | beside, query) == "The boiler was inspected at noon."


def test_what_states_the_end_of_a_period_is_not_pushed_out_by_it() -> None:
    answer = "Hourly rate since January 2026: 58 euros, earlier 52 euros."
    others = {
        "Engine hours so far: 1800, counted in March 2025.": "2025-03-01",
        "The club met for two hours in May 2025.": "2025-05-02",
        "Heating costs two euros an hour.": "2025-02-02",
    }
    query = "What was my hourly rate before 2026?"
    assert first({answer: "2026-09-01"} | others, query) == answer
