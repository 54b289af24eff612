"""A terminal of 24 × 80: what a result shows there, and that it is whole elsewhere."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from command_answers import Vestig
from test_every_command import (
    a_branch,
    a_document,
    a_rule,
    an_anchored,
    an_edge,
    commands,
    two_entities,
)

import vestig as library
from tables import each
from vestig.language.best_window import best_window
from vestig.surfaces.cli import run
from vestig.surfaces.cli.screen import (
    Screen,
    cut,
    doctor,
    folded,
    found,
    retrieved,
    rows,
    width,
    wrapped,
)
from vestig.testing import HashingEmbedder
from vestig.types import Degradation

COLUMNS, ROWS = 80, 24
NOTE = (
    "The boat was built in 1961 by the yard at Hvaler, of oak on oak. Her sails are tanned every"
    " other spring. The engine was overhauled in March by Kari. It starts badly below zero degrees,"
    " so the heater has to run for ten minutes first. Spare filters lie in the blue box under the"
    " bench. The impeller was changed last autumn. The hull is painted with red paint from the"
    " shed."
)
OnTerminal = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def on_terminal(vestig: Vestig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """Runs one command line with a terminal of 24 × 80 as standard output."""

    def command(*words: str) -> tuple[int, list[str]]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        parts: list[bytes] = []
        # a terminal holds few bytes that nobody has read
        reader = threading.Thread(target=_read, args=(master, parts))
        reader.start()
        with os.fdopen(slave, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            code = run([*words, "--config", str(tmp_path / "vestig.yaml")])
            stream.flush()
        reader.join(30)
        os.close(master)
        return code, b"".join(parts).decode().replace("\r\n", "\n").rstrip("\n").split("\n")

    return command


def _read(terminal: int, parts: list[bytes]) -> None:
    """Reads until the other end is closed."""
    with suppress(OSError):
        while found := os.read(terminal, 65_536):
            parts.append(found)


@pytest.fixture
def filled(vestig: Vestig) -> Vestig:
    vestig("add", NOTE, "--key", "boat")
    for n in range(30):
        vestig(
            "add",
            f"Log {n}: the boat sailed past buoy {n} in a wind of {n} knots, and "
            "nobody on board said a word about the engine all the way home.",
            "--tags",
            "log",
        )
    return vestig


COMMANDS = (
    ("recall", "which boat starts badly below zero degrees?"),
    ("recall", "boat", "--all", "--limit", "10"),
    ("recall", "boat", "--all", "--limit", "31"),
    ("search", "boat", "--all", "--limit", "20"),
    ("list",),
    ("history", "boat"),
    ("document", "list"),
    ("entity", "list", "--limit", "20"),
)


@each("words", COMMANDS, ids=" ".join)
def test_an_answer_fits_24_lines_of_80(
    filled: Vestig, on_terminal: OnTerminal, words: tuple[str, ...]
) -> None:
    code, lines = on_terminal(*words)
    assert code == 0
    assert len(lines) < ROWS
    assert max(map(len, lines)) <= COLUMNS


def test_the_sentences_that_match_are_shown_and_how_sure_it_is_in_words(
    filled: Vestig, on_terminal: OnTerminal
) -> None:
    query = "does the engine start badly below zero degrees?"
    _, lines = on_terminal("recall", query, "--limit", "1", "--all")
    [memory] = filled("list", "--keys", "boat", "--json").document["memories"]
    day = memory["t_valid"][:10]
    head = lines.index(f"{memory['id'][:12]}  {day}  [boat]")
    text = " ".join(line.strip() for line in lines[head + 1 : -2])
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert "It starts badly below zero degrees" in text
    assert len(text) <= 244
    assert "score" not in " ".join(lines)
    _, explained = on_terminal("recall", query, "--limit", "1", "--all", "--explain")
    assert "(score=" in " ".join(explained)
    assert "Hvaler" in " ".join(explained)


def test_what_has_no_room_is_counted(filled: Vestig, on_terminal: OnTerminal) -> None:
    _, lines = on_terminal("recall", "boat", "--all", "--limit", "31")
    shown = sum(line.startswith("mem_") for line in lines)
    assert lines[-1] == f"… and {31 - shown} more: --format list prints all"
    assert all(filled("show", line.split()[0]).code == 0 for line in lines if line[:4] == "mem_")


def test_a_pipe_and_json_get_all_of_it(filled: Vestig, on_terminal: OnTerminal) -> None:
    words = ("recall", "engine zero degrees", "--limit", "1", "--all")
    assert NOTE in filled(*words).out
    _, lines = on_terminal(*words, "--json")
    assert json.loads("".join(lines))["results"][0]["content"] == NOTE
    _, lines = on_terminal(*words, "--format", "text")
    assert f"Content: {NOTE}" in "".join(lines)
    _, lines = on_terminal("list", "--json")
    assert len(json.loads("".join(lines))["memories"]) == 20


def test_a_status_is_named_where_it_is_none_of_an_active_memory(
    vestig: Vestig, ids: list[str], on_terminal: OnTerminal
) -> None:
    vestig("archive", ids[0])
    _, lines = on_terminal("list", "--include-archived")
    assert [line.split()[2] for line in lines if line.startswith(ids[0][:12])] == ["archived"]


def test_a_result_that_is_not_sure_says_so_in_words() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit("The pump failed on Monday")
        result = store.recall("who painted the ceiling?")
    words = found(result, {}, Screen()).split("\n")[0]
    assert words in ("too doubtful; nearest:", "nothing close; nearest:", "No memories found.")
    assert "0." not in words


@each(
    ("query", "shown"),
    [
        ("who overhauled the engine?", "overhauled in March by Kari"),
        ("where are the filters?", "Spare filters lie in the blue box"),
        ("what colour is the paint?", "painted with red paint"),
        ("zzz", "The boat was built in 1961"),
    ],
)
def test_a_window_has_the_words_of_the_query(query: str, shown: str) -> None:
    window = best_window(NOTE, query, 120)
    assert shown in window
    assert len(window) <= 124
    assert window.strip("… ") in NOTE


def test_a_sentence_that_is_too_long_is_shown_around_the_word() -> None:
    long = f"{'and so on ' * 50}the impeller is new {'and so on ' * 50}"
    window = best_window(long, "impeller", 60)
    assert "the impeller is new" in window
    assert window.startswith("… ")
    assert window.endswith(" …")
    assert len(best_window("a" * 500, "a", 60)) <= 64


def test_width_counts_columns() -> None:
    assert [width(text) for text in ("tar", "雪国", "e\u0301")] == [3, 4, 1]
    assert cut("雪国雪国", 5) == "雪国…"
    assert wrapped("雪国雪国 tar", 5) == ["雪国", "雪国", "tar"]


def test_rows_keep_what_names_them() -> None:
    id = "mem_482b5ed0-8a1a-4a99-b822-7842da783e75"
    line = f"learnt | 2026-11-28 19:23:38 UTC | {id} | It says {id}"
    assert rows(line, Screen(200, 24)) == f"learnt | 2026-11-28 19:23 | mem_482b5ed0 | It says {id}"
    assert width(rows(line, Screen(60, 24))) <= 60
    assert rows(f"a | {id} → {id} (key)", Screen()) == "a | mem_482b5ed0 → mem_482b5ed0 (key)"


STYLES = re.compile("\x1b\\[[0-9;]*m")
WIDE = "雪国の長いトンネルを抜けると夜の底が白くなった、" * 12
LONG = (
    f"The staging database runs on port 5433; {NOTE}",
    f"Maria prefers short answers: {WIDE}",
    f"Deploys happen on Tuesdays\n\n    after: {'the stand-up and ' * 12}lunch",
)


def too_wide(line: str) -> bool:
    """Wider than the terminal, and no word that stays whole because it is copied."""
    shown = STYLES.sub("", line)
    return width(shown) > COLUMNS and not (shown.isascii() and len(shown.split()) == 1)


@pytest.fixture
def wordy(vestig: Vestig) -> list[str]:
    """Ids of memories with long texts, wide characters, a long key and a long scope."""
    said = ("--metadata", f"said={NOTE}", "--scope", f"project/{'atlas-' * 25}x")
    ids = [
        str(vestig("memory", "add", text, *said, "--json").document["memory_id"]) for text in LONG
    ]
    vestig("add", f"Her berth: {NOTE}", "--key", "boat." + "berth" * 30, *said)
    return ids


@pytest.mark.slow
def test_no_command_writes_a_line_wider_than_the_terminal(
    vestig: Vestig, wordy: list[str], on_terminal: OnTerminal, tmp_path: Path
) -> None:
    lines = commands(
        tmp_path,
        wordy,
        an_edge(vestig),
        two_entities(vestig),
        a_document(vestig),
        a_rule(vestig),
        anchored=an_anchored(vestig, wordy[0]),
        branch=a_branch(vestig, tmp_path / "mirror"),
    )
    wide = []
    for name, words in lines.items():
        code, shown = on_terminal(*words)
        wide += [(name, line) for line in shown if too_wide(line)]
        assert code == 0, name
    assert not wide


@each(
    ("words", "rows_most"),
    [(("doctor",), ROWS - 1), (("stats",), ROWS - 1), (("rule", "list"), ROWS - 1)],
)
def test_what_a_store_says_of_itself_fits(
    wordy: list[str], on_terminal: OnTerminal, words: tuple[str, ...], rows_most: int
) -> None:
    _, lines = on_terminal(*words)
    assert len(lines) <= rows_most
    assert not [line for line in lines if too_wide(line)]


def test_a_retrieval_fits_and_says_in_words_how_sure_it_is(
    filled: Vestig, on_terminal: OnTerminal, tmp_path: Path
) -> None:
    asked = tmp_path / "asked.json"
    asked.write_text('[{"content": "Which buoy did the boat sail past?"}]', encoding="utf-8")
    _, lines = on_terminal("retrieve", str(asked), "--max-facts", "30")
    assert len(lines) < ROWS
    assert max(map(width, lines)) <= COLUMNS
    assert lines[0] in ("high confidence", "medium confidence", "low confidence")
    facts = filled("retrieve", str(asked), "--max-facts", "30").out.count("- [")
    assert sum(line.startswith("- [") for line in lines) == facts


def test_facts_that_have_no_room_are_counted() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        for n in range(9):
            store.commit(f"Pump {n} of the boat failed on day {n} of the trip")
        result = store.retrieve([{"content": "Which pump of the boat failed?"}])
    lines = retrieved(result, {}, Screen(60, 9)).split("\n")
    assert len(lines) == 8
    assert len([line for line in lines if line.startswith("- [")]) == 4
    assert lines[-1] == f"… and {len(result.facts) - 4} more: a pipe or --json prints all"


def test_a_memory_that_is_shown_keeps_its_whole_text(
    vestig: Vestig, wordy: list[str], on_terminal: OnTerminal
) -> None:
    for id, text in zip(wordy, LONG, strict=True):
        _, lines = on_terminal("show", id)
        assert not [line for line in lines if too_wide(line)]
        assert "".join("".join(lines).split()).startswith("".join(text.split()))
        assert vestig("show", id).out.startswith(f"{text}\n\n")


def test_a_finding_is_said_whole_and_what_is_ok_on_a_line() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        report = store.admin.doctor()
    first, second, *_ = (
        msgspec.structs.replace(one, level=level, detail=NOTE)
        for one, level in zip(report.findings, ("ok", "finding"), strict=False)
    )
    said = doctor(msgspec.structs.replace(report, findings=(first, second)), {}, Screen())
    lines = said.split("\n")
    assert max(map(width, lines)) <= COLUMNS
    assert lines[0].endswith("…")
    assert lines[1].startswith("FINDING")
    assert "".join(NOTE.split()) in "".join("".join(lines[1:]).split())


def test_what_is_ok_is_a_short_line_in_a_pipe_too(vestig: Vestig, ids: list[str]) -> None:
    assert ids
    assert max(map(len, vestig("doctor").out.splitlines())) < 160
    (whole,) = [
        one["detail"]
        for one in vestig("doctor", "--json").document["findings"]
        if one["check"] == "projection"
    ]
    assert "bytes in sections" in whole


def test_a_line_goes_on_below_its_column() -> None:
    screen = Screen(20, 24)
    assert folded("ok   path  a folder of notes", Screen(30, 24)).split("\n") == [
        "ok   path  a folder of notes"
    ]
    assert folded("key   a folder of notes", screen).split("\n") == [
        "key   a folder of",
        "      notes",
    ]
    assert folded("    indented code goes on", screen).split("\n") == [
        "    indented code",
        "    goes on",
    ]
    path = "/srv/" + "notes" * 10
    assert folded(f"in {path}", screen).split("\n") == ["in", path]


def test_what_ended_is_marked_on_a_terminal(vestig: Vestig, on_terminal: OnTerminal) -> None:
    vestig("add", "The pump is red", "--t-valid", "2020-01-01", "--t-invalid", "2021-06-01")
    vestig("add", "The pump is to be green", "--t-valid", "2090-01-01")
    shown = "\n".join(on_terminal("recall", "pump", "--all")[1])
    assert "2020-01-01  (ended 2021-06-01)" in shown
    assert "2090-01-01  (from 2090-01-01)" in shown
    assert "2020-01-01  until 2021-06-01  The pump is red" in "\n".join(on_terminal("list")[1])


def test_a_list_of_several_scopes_names_them(vestig: Vestig, on_terminal: OnTerminal) -> None:
    vestig("add", "The berth is number nine", "--scope", "harbour")
    assert "harbour" not in "\n".join(on_terminal("list")[1])
    vestig("add", "The shed is painted red")
    shown = "\n".join(on_terminal("list")[1])
    assert "  harbour:  The berth is number nine" in shown


def test_a_history_has_each_text_whole(vestig: Vestig, on_terminal: OnTerminal) -> None:
    vestig("add", NOTE, "--key", "boat", "--t-valid", "2024-01-01")
    vestig("add", f"Sold. {NOTE}", "--key", "boat", "--t-valid", "2025-01-01")
    _, lines = on_terminal("history", "boat")
    assert max(map(len, lines)) <= COLUMNS
    assert [line[12:] for line in lines if line.startswith("mem_")] == [
        "  2024-01-01 – 2025-01-01  superseded",
        "  2025-01-01 –",
    ]
    said = " ".join(line.strip() for line in lines if not line.startswith("mem_"))
    assert said == f"{NOTE} Sold. {NOTE}"
    for text in ("The kettle is red", "The kettle is blue"):
        vestig("add", text, "--key", "kettle")
    first = on_terminal("history", "kettle")[1][0]
    assert re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d – \d\d:\d\d  superseded$", first)


def test_what_holds_until_an_announced_value_is_not_superseded_yet(
    vestig: Vestig, on_terminal: OnTerminal
) -> None:
    vestig("add", "A ticket costs 14 pounds", "--key", "ticket", "--t-valid", "2024-01-01")
    code, said = on_terminal(
        "add", "A ticket costs 15 pounds", "--key", "ticket", "--t-valid", "2090-01-01"
    )
    assert code == 0
    assert "which holds until 2090-01-01)" in " ".join(said)
    for words in (("list",), ("history", "ticket"), ("get", "ticket")):
        shown = "\n".join(on_terminal(*words)[1])
        assert "superseded" not in shown.lower()
        assert "2090-01-01" in shown
    assert "2024-01-01  until 2090-01-01  [ticket]  A ticket" in "\n".join(on_terminal("list")[1])
    assert vestig("get", "ticket", "--json").document["status"] == "SUPERSEDED"


def test_how_many_more_there_are_stands_below_the_results(
    filled: Vestig, on_terminal: OnTerminal
) -> None:
    _, lines = on_terminal("search", "boat", "--all", "-n", "3")
    assert lines[-2:] == ["", "at least 7 more: --offset 3"]
    _, lines = on_terminal("search", "boat", "--all", "-n", "20")
    assert lines[-1].endswith(" more: --offset 20")
    assert len(lines) < ROWS


def test_what_is_no_result_or_not_sure_to_follow_is_told_apart() -> None:
    with library.open(":memory:", embedder=HashingEmbedder(64)) as store:
        store.commit_many(["The pump failed on Monday", "The pump works", "The pump is loud"])
        result = store.recall("does the pump work?", limit=2, all=True)
    first, beside = result.results
    late = (Degradation(code="partial_backend", detail="no answer in time"),)
    shown = found(
        msgspec.structs.replace(result, results=(first,), associated=(beside,), degraded=late),
        {},
        Screen(),
    ).split("\n")
    heads = [line for line in shown if line.startswith("mem_")]
    assert ["(linked)" in line for line in heads] == [False, True]
    assert shown[-1] == "perhaps some more: --offset 1"
    # a promise holds where all was read
    assert found(result, {}, Screen()).endswith("1 more: --offset 2")


def test_the_whole_text_of_a_rule_is_shown(vestig: Vestig, on_terminal: OnTerminal) -> None:
    assert on_terminal("rule", "list")[1] == ["No rules found."]
    text = "Never lend the extractor without a deposit, and write down who has it and until when"
    vestig("rule", "add", text, "--when", "text ~ *extractor*")
    _, lines = on_terminal("rule", "list")
    assert lines[0].endswith("  remind  fired 0  when text ~ *extractor*")
    assert " ".join(line.strip() for line in lines[1:]) == text
    assert max(map(len, lines)) <= COLUMNS


def test_each_similar_memory_is_a_line(vestig: Vestig, on_terminal: OnTerminal) -> None:
    old = str(vestig("add", f"The kettle is red. {NOTE}", "--json").document["memory_id"])
    _, lines = on_terminal("add", f"The kettle is blue. {NOTE}")
    assert lines[1] == "Similar memories:"
    assert lines[2].split()[1] == old[:12]
    assert lines[3].startswith("If it replaces one of them: vestig supersede OLD mem_")
    assert max(map(len, lines)) <= COLUMNS
