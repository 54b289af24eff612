"""Import into a store: exact counts, and a second run that changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import vestig
from scripted import Opener

LINES = [
    {"speaker": "Ada", "text": "The boat leaves from the north pier", "turn": 0, "id": "m-1"},
    {"speaker": "Ben", "text": "Then I take the early tram", "turn": 1, "id": "m-2"},
    {"speaker": "Ada", "text": "ok", "turn": 2, "id": "m-3"},
]


def written(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_an_interrupted_import_goes_on(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    begun = store.import_(written(tmp_path / "begun.jsonl", LINES[:2]), scope="harbour")
    assert (begun.lines, begun.imported, begun.skipped) == (2, 2, 0)
    whole = store.import_(written(tmp_path / "whole.jsonl", LINES), scope="harbour")
    assert (whole.lines, whole.imported, whole.skipped, whole.duplicates) == (3, 1, 2, 0)
    before = store.admin.stats()
    again = store.import_(tmp_path / "whole.jsonl", scope="harbour")
    assert (again.lines, again.imported, again.skipped) == (3, 0, 3)
    assert store.admin.stats() == before
    assert {memory.reinforce_count for memory in store.list()} == {0}


def test_a_reference_is_known_within_its_scope(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    path = written(tmp_path / "talk.jsonl", LINES)
    assert store.import_(path, scope="one").imported == 3
    assert store.import_(path, scope="two").imported == 3
    assert store.count(scope="one") == store.count(scope="two") == 3


def log(path: Path, texts: list[str], *, sessions: int = 1) -> Path:
    """Lines of a transcript whose records have no id."""
    path.write_text(
        "".join(
            json.dumps({"speaker": "Ann", "text": text, "session": f"s{place % sessions}"}) + "\n"
            for place, text in enumerate(texts)
        )
    )
    return path


def kinds_of_events(store: vestig.Vestig) -> set[str]:
    listed = store.list(limit=100)
    return {event.event_type.value for one in listed for event in store.events(one.id)}


def test_a_log_that_has_grown_brings_in_its_new_lines_only(opener: Opener, tmp_path: Path) -> None:
    store = opener()
    texts = [f"line {place} of a long conversation" for place in range(25)]
    first = store.import_(log(tmp_path / "log.jsonl", texts[:15]))
    assert (first.imported, first.skipped) == (15, 0)
    grown = log(tmp_path / "log.jsonl", texts)
    second = store.import_(grown)
    assert (second.imported, second.skipped, second.duplicates) == (10, 15, 0)
    again = store.import_(grown)
    assert (again.imported, again.skipped) == (0, 25)
    assert kinds_of_events(store) == {"IMPORT"}
    assert store.count() == 25


def test_turns_of_a_transcript_that_say_the_same_are_all_kept(
    opener: Opener, tmp_path: Path
) -> None:
    store = opener()
    report = store.import_(log(tmp_path / "log.jsonl", ["yes"] * 40, sessions=4))
    assert (report.imported, report.memories, report.duplicates) == (40, 40, 0)
    for session in range(4):
        assert store.count(session_ids=f"s{session}") == 10
    found = store.recall("yes", session_ids="s3")
    assert (len(found), found.counts.folded) == (1, 9)
    assert found[0].memory.session_id == "s3"
    assert store.import_(tmp_path / "log.jsonl").skipped == 40
