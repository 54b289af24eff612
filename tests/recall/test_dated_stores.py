"""Questions about days and periods, to notes, rows, chats and sections of documents, written by
hand before anything was run on them: they chose no weight."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any


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
