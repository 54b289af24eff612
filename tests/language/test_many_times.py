"""Texts of many times: a table, a log, a diary."""

from __future__ import annotations

import pytest

import vestig
from tables import each
from vestig.language.time import direction
from vestig.language.time.cues import Sentence
from vestig.language.time.expressions import find_times

READ = 64


@each(
    "line",
    [
        "On Tuesday the boiler hummed. ",
        "| April 9 | night shift |\n",
        "June 3, ",
        "2026-04-01 ok\n",
        "by Thursday we plan to agree, ",
        "from May 2 to May 9; ",
        "Q3 2024 and ",
    ],
)
def test_the_first_ones_are_read_and_the_others_counted(line: str) -> None:
    one = find_times(line, 0)
    whole = find_times(line * 200, 0)
    each = len({(found.start, found.end) for found in one.expressions})
    read = {(found.start, found.end) for found in whole.expressions}
    assert len(read) == READ
    assert len(read) + whole.unread == 200 * each
    assert f"the first {READ} times" in whole.warnings[0]
    assert str(whole.unread) in whole.warnings[0]
    assert find_times(line * (READ // each // 2), 0).warnings == ()


def test_years_in_a_list_are_read_up_to_the_same_number() -> None:
    found = find_times(", ".join(str(1900 + number) for number in range(150)), 0)
    assert (len(found.expressions), found.unread) == (READ, 150 - READ)
    # numbers that are no years take nobody's place
    shifted = find_times("took 2034 ms; " * 300 + "and we met on Friday", 0)
    assert [one.text for one in shifted.expressions] == ["on Friday"]


def test_no_expression_is_read_with_more_than_a_page_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages: list[int] = []

    class Measured(Sentence):
        def __init__(self, text: str, lower: str, start: int, end: int, places: object) -> None:
            pages.append(end - start)
            super().__init__(text, lower, start, end, places)  # type: ignore[arg-type]

    monkeypatch.setattr(direction, "Sentence", Measured)
    words = "the crew looked at the valve and the pump on "
    find_times("".join(f"{words}{'Monday' if n % 9 == 0 else 'paper'}, " for n in range(2_000)), 0)
    assert pages
    assert max(pages) <= 2_000
    assert len(pages) <= READ, "each page once"


def test_a_sentence_before_decides_nothing_however_far_the_text_goes() -> None:
    tail = "We met on Friday. We will meet on Monday."
    near = find_times(tail, 0).expressions
    far = find_times("Dr. Ray came at 4 p.m. yes! " * 2_000 + tail, 0)
    # clock times of the long part are read first
    assert far.unread == 2_000 + 2 - READ
    later = find_times("Dr. Ray came, yes! " * 2_000 + tail, 0).expressions
    assert [one.window_start_us for one in later] == [one.window_start_us for one in near]


def test_a_commit_and_a_recall_say_that_times_were_not_read() -> None:
    diary = "".join(f"On Monday we baked {n} loaves. " for n in range(100))
    with vestig.open(":memory:") as store:
        outcome = store.commit(diary)
        assert any("36 more were not" in one for one in outcome.warnings)
        assert not store.commit("On Monday we baked 3 loaves of rye.").warnings
        assert any("36 more were not" in one for one in store.recall(diary).warnings)
        assert not any("were not" in one for one in store.recall("who baked on Monday?").warnings)
