"""Chats that come in several files: each turn has a place of its own, and comes in once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import vestig
from vestig.testing import HashingEmbedder

SAID = {
    "jan": [
        ("Nora", "Is Ben allergic to peanuts?"),
        ("Ben", "Yes, very much."),
        ("Nora", "I see."),
    ],
    "feb": [("Nora", "Is Mia allergic to cats?"), ("Mia", "No, not at all."), ("Nora", "I see.")],
    "mar": [("Nora", "Who waters the roses?"), ("Mia", "I do, on Mondays.")],
}
FORMS = ("lines", "list", "openai-chat", "openai-list", "table")


@pytest.fixture
def store() -> Iterator[vestig.Store]:
    with vestig.open(":memory:", embedder=HashingEmbedder(16)) as opened:
        yield opened


def turns(month: str, *, ids: bool = False, times: bool = True) -> list[dict[str, Any]]:
    day = f"2024-{['jan', 'feb', 'mar'].index(month) + 1:02}-03"
    return [
        {
            "speaker": name, "text": text, "session": "family",
            **({"timestamp": f"{day}T1{place}:00:00Z"} if times else {}),
            **({"id": f"{month}-{place}"} if ids else {}),
        }
        for place, (name, text) in enumerate(SAID[month])
    ]  # fmt: skip


def write(path: Path, rows: Sequence[dict[str, Any]], form: str = "lines") -> Path:
    chat = [
        {"role": "user", "name": one["speaker"], "content": one["text"], "session_id": "family",
         **{key: one[key] for key in ("timestamp", "id") if key in one}}
        for one in rows
    ]  # fmt: skip
    if form == "table":
        cells = [",".join(rows[0]), *('"' + '","'.join(one.values()) + '"' for one in rows)]
        path = path.with_suffix(".csv")
        path.write_text("\n".join(cells))
        return path
    if form == "list":
        path.write_text(json.dumps({"session": "family", "messages": list(rows)}))
    elif form == "openai-list":
        path.write_text(json.dumps({"session_id": "family", "messages": chat}))
    else:
        path.write_text("\n".join(map(json.dumps, rows if form == "lines" else chat)))
    return path


def held(store: vestig.Store) -> list[tuple[int | None, str]]:
    return [(one.sequence, one.content) for one in store.list(order_by="session", limit=100)]


def in_order(*months: str) -> list[tuple[int, str]]:
    return list(enumerate(text for month in months for _, text in SAID[month]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_session_goes_on_in_a_later_file(
    form: str, ids: bool, at_once: bool, store: vestig.Store, tmp_path: Path
) -> None:
    files = [write(tmp_path / f"{one}.json", turns(one, ids=ids), form) for one in ("jan", "feb")]
    calls: list[Any] = [files] if at_once else list(files)
    reports = [store.import_(one) for one in calls]
    assert held(store) == in_order("jan", "feb")
    assert [(one.duplicates, one.warnings) for one in reports] == [(0, ())] * len(reports)
    # again, nothing comes in
    assert store.import_(files).skipped == 6
    assert held(store) == in_order("jan", "feb")


def test_turns_without_times_stand_in_the_order_of_the_imports(
    store: vestig.Store, tmp_path: Path
) -> None:
    for month in ("jan", "feb", "mar"):
        store.import_(write(tmp_path / f"{month}.jsonl", turns(month, times=False)))
    assert held(store) == in_order("jan", "feb", "mar")


def test_an_older_file_stands_behind_and_the_report_says_so(
    store: vestig.Store, tmp_path: Path
) -> None:
    files = [write(tmp_path / f"{one}.jsonl", turns(one)) for one in ("feb", "jan")]
    report = store.import_(files, dry_run=True)
    assert store.count() == 0
    for said in (report, store.import_(files)):
        (warning,) = said.warnings
        assert warning.startswith("3 turns of family have no `sequence`, are older than what the")
    assert held(store) == in_order("feb", "jan")


def test_a_file_that_grew_goes_on_where_its_turns_stand(
    store: vestig.Store, tmp_path: Path
) -> None:
    store.import_(write(tmp_path / "jan.jsonl", turns("jan")))
    both = write(tmp_path / "rest.jsonl", turns("feb"))
    store.import_(both)
    write(tmp_path / "rest.jsonl", [*turns("feb"), *turns("mar")])
    report = store.import_(both)
    assert (report.imported, report.skipped, report.warnings) == (2, 3, ())
    assert held(store) == in_order("jan", "feb", "mar")


@pytest.mark.parametrize("month", ["jan", "feb"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_forgotten_turn_comes_again_at_its_place(
    month: str, place: int, store: vestig.Store, tmp_path: Path
) -> None:
    files = [write(tmp_path / f"{one}.jsonl", turns(one)) for one in ("jan", "feb")]
    store.import_(files)
    gone = next(one for one in store.list() if one.content == SAID[month][place][1]
                and (place != 2 or one.t_valid.month == (1 if month == "jan" else 2)))  # fmt: skip
    store.forget(gone.id)
    report = store.import_(files)
    assert (report.imported, report.skipped, report.warnings) == (1, 5, ())
    assert held(store) == in_order("jan", "feb")


def test_a_newer_text_of_a_turn_stands_where_it_stood(store: vestig.Store, tmp_path: Path) -> None:
    store.import_(write(tmp_path / "jan.jsonl", turns("jan", ids=True)))
    rows = turns("feb", ids=True)
    store.import_(write(tmp_path / "feb.jsonl", rows))
    rows[1] |= {"text": "No, only to dogs.", "edited_at": "2024-03-01T10:00:00Z"}
    assert store.import_(write(tmp_path / "feb.jsonl", rows)).ended == 1
    assert (4, "No, only to dogs.") in held(store)


@pytest.mark.parametrize("form", FORMS)
def test_the_end_of_a_log_that_comes_again_is_skipped(
    form: str, store: vestig.Store, tmp_path: Path
) -> None:
    """Of a log that keeps its last messages, without ids."""
    rows = [*turns("jan"), *turns("feb"), *turns("mar")]
    for end in (5, 7, 8):
        report = store.import_(write(tmp_path / f"{end}.json", rows[end - 5 : end], form))
    assert (report.imported, report.skipped, report.warnings) == (1, 4, ())
    assert held(store) == in_order("jan", "feb", "mar")


APART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ids": ({"id": "1"}, {"id": "2"}),
    "another time": ({}, {"timestamp": "2024-01-03T10:00:01Z"}),
    "another speaker": ({}, {"speaker": "Ben"}),
    "another session": ({}, {"session": "work"}),
    "days without a time": ({"timestamp": "2024-01-03"}, {"timestamp": "2024-01-03"}),
    "no time": ({"timestamp": None}, {"timestamp": None}),
}


@pytest.mark.parametrize("name", APART)
def test_turns_that_may_be_two_come_in_twice(
    name: str, store: vestig.Store, tmp_path: Path
) -> None:
    base = {**turns("jan")[2], "timestamp": "2024-01-03T10:00:00Z"}
    first, second = APART[name]
    store.import_(write(tmp_path / "1.jsonl", [{**base, **first}]))
    other = {**turns("jan")[0], "text": "Does the cat sleep?"}
    assert store.import_(write(tmp_path / "2.jsonl", [other, {**base, **second}])).imported == 2
    assert store.count() == 3


def test_what_is_said_twice_in_one_file_is_said_twice(store: vestig.Store, tmp_path: Path) -> None:
    row = turns("jan")[2]
    file = write(tmp_path / "1.jsonl", [row, row])
    assert store.import_(file).imported == 2
    # of another file with both and one more, one comes in
    assert (
        store.import_(write(tmp_path / "2.jsonl", [turns("jan")[0], row, row, row])).imported == 2
    )
    assert sorted(place for place, _ in held(store) if place is not None) == [0, 1, 2, 3]
