"""Import into a store: exact counts, and a second run that changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

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
